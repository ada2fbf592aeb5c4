//! Which of several judgments of one question counts.

use proofmark_artefact::judgment::{Entry, Judgment};
use proofmark_canon::Digest;

/// A judgment that is believed.
#[derive(Debug, Clone)]
pub(super) struct Believed {
    pub(super) entry: Entry,
    /// The judgment's canonical bytes.
    pub(super) canonical: Vec<u8>,
}

impl Believed {
    /// What a later judgment names when it replaces this one.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(&self.canonical)
    }
}

/// What a new judgment is beside those that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// There is none.
    First,
    /// It says what this one says.
    Same(usize),
    /// It says something else than this one, which stood so far.
    Against(usize),
}

/// The one that counts: the first that no other replaces. None when there are none.
pub(super) fn standing(all: &[Believed]) -> Option<usize> {
    let replaced: Vec<Digest> = all.iter().filter_map(|one| one.entry.judgment.supersedes).collect();
    // A digest cannot be known before there is what it is of, so that there is always one that nothing replaces.
    let counts = all.iter().position(|one| replaced.is_empty() || !replaced.contains(&one.digest()));
    counts.or(if all.is_empty() { None } else { Some(0) })
}

/// Which of the judgments of one question counts, for those who show all of them.
pub fn which_counts(entries: &[Entry]) -> Option<usize> {
    let believed = entries.iter().map(|entry| {
        let canonical = entry.judgment.canonical().unwrap_or_default();
        Believed { entry: entry.clone(), canonical }
    });
    standing(&believed.collect::<Vec<_>>())
}

/// Sorts a new judgment in.
pub(super) fn beside(all: &[Believed], new: &Judgment) -> Beside {
    let Some(stands) = standing(all) else { return Beside::First };
    let agrees = |at: &usize| all[*at].entry.judgment.said.agrees_with(&new.said);
    if agrees(&stands) {
        return Beside::Same(stands);
    }
    // What was asked to replace another is kept even when an earlier one said the same: it is the one that counts now.
    let same = (0..all.len()).filter(|_| new.supersedes.is_none()).find(agrees);
    same.map_or(Beside::Against(stands), Beside::Same)
}

#[cfg(test)]
mod tests {
    use super::super::testing::judgment;
    use super::*;

    fn believed(judgment: Judgment) -> Believed {
        let canonical = judgment.canonical().unwrap();
        Believed { entry: Entry { judgment, signature: None }, canonical }
    }

    fn replacing(verdict: &str, earlier: &Believed) -> Judgment {
        Judgment { supersedes: Some(earlier.digest()), ..judgment(1, verdict) }
    }

    #[test]
    fn the_first_stands_until_another_replaces_it() {
        let first = believed(judgment(1, "pass"));
        let other = believed(judgment(1, "fail"));
        let later = believed(replacing("fail", &first));
        let last = believed(replacing("pass", &later));
        assert_eq!(standing(&[]), None);
        assert_eq!(standing(&[first.clone(), other.clone()]), Some(0));
        assert_eq!(standing(&[first.clone(), other, later.clone()]), Some(1));
        assert_eq!(standing(&[first.clone(), later.clone()]), Some(1));
        assert_eq!(standing(&[first, later, last]), Some(2));
    }

    #[test]
    fn what_is_said_already_is_not_kept_twice_unless_it_replaces() {
        let first = believed(judgment(1, "pass"));
        let later = believed(replacing("fail", &first));
        let both = [first.clone(), later.clone()];
        assert_eq!(beside(&[], &judgment(1, "pass")), Beside::First);
        assert_eq!(beside(&both[..1], &judgment(1, "pass")), Beside::Same(0));
        assert_eq!(beside(&both[..1], &judgment(1, "fail")), Beside::Against(0));
        assert_eq!(beside(&both, &judgment(1, "fail")), Beside::Same(1));
        assert_eq!(beside(&both, &judgment(1, "pass")), Beside::Same(0));
        assert_eq!(beside(&both, &replacing("pass", &later)), Beside::Against(1));
    }
}
