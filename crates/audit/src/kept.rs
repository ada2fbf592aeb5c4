//! Findings of one check: bounded, counted, in the order in which they were made.

use proofmark_artefact::audit::{Evidence, Severity};
use proofmark_artefact::text::excerpt;
use proofmark_canon::Digest;

use crate::sample::Sample;

/// The most entries that are kept of one check.
pub const MAX_EVIDENCE: usize = 100;
/// The most of these that fail nothing.
const MAX_INFO: usize = 20;

/// What one check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    severe: Vec<Evidence>,
    info: Vec<Evidence>,
    omitted: u64,
    worst: Option<Severity>,
}

impl Kept {
    pub fn push(&mut self, evidence: Evidence) {
        self.worst = self.worst.max(Some(evidence.severity));
        let (list, most) = match evidence.severity {
            Severity::Info => (&mut self.info, MAX_INFO),
            _ => (&mut self.severe, MAX_EVIDENCE),
        };
        if list.len() < most {
            list.push(evidence);
        } else {
            self.omitted += 1;
        }
    }

    pub fn extend(&mut self, more: impl IntoIterator<Item = Evidence>) {
        more.into_iter().for_each(|evidence| self.push(evidence));
    }

    /// Puts what was found elsewhere behind.
    pub fn append(&mut self, other: Kept) {
        self.omitted += other.omitted;
        self.worst = self.worst.max(other.worst);
        for evidence in other.severe.into_iter().chain(other.info) {
            self.push(evidence);
        }
    }

    /// Counts findings that somebody else has left out already.
    pub fn omit(&mut self, omitted: u64) {
        self.omitted += omitted;
    }

    /// The severity of the worst finding.
    pub fn worst(&self) -> Option<Severity> {
        self.worst
    }

    pub fn is_empty(&self) -> bool {
        self.worst.is_none()
    }

    /// The entries, those that count first, and how many are missing.
    pub fn into_parts(self) -> (Vec<Evidence>, u64) {
        let mut all = self.severe;
        let room = MAX_EVIDENCE - all.len().min(MAX_EVIDENCE);
        let omitted = self.omitted + self.info.len().saturating_sub(room) as u64;
        all.extend(self.info.into_iter().take(room));
        (all, omitted)
    }
}

/// Makes a finding about a sample.
pub fn finding(severity: Severity, finding: &str, sample: &Sample, message: impl Into<String>) -> Evidence {
    Evidence {
        finding: finding.to_owned(),
        gold: None,
        message: message.into(),
        place: None,
        sample: Some(excerpt(&sample.id, 200)),
        severity,
    }
}

/// Makes a finding about the whole.
pub fn finding_of_all(severity: Severity, finding: &str, message: impl Into<String>) -> Evidence {
    Evidence { finding: finding.to_owned(), gold: None, message: message.into(), place: None, sample: None, severity }
}

/// Whether gold answers may be shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reveal {
    Gold,
    /// Their digests alone.
    #[default]
    Digests,
}

impl Reveal {
    /// A gold answer as evidence shows it.
    pub fn gold(self, sample: &Sample) -> Option<String> {
        let golds = sample.golds();
        if golds.is_empty() {
            return None;
        }
        let text = golds.join(" | ");
        Some(match self {
            Self::Gold => excerpt(&text, 200),
            Self::Digests => Digest::of(text.as_bytes()).to_string(),
        })
    }

    /// A text as evidence shows it: not where the gold answer could be read out of it.
    pub fn text(self, sample: &Sample, text: &str, limit: usize) -> String {
        let folded = fold(text);
        let shows = |gold: String| {
            let gold = fold(&gold);
            !gold.is_empty() && folded.contains(&gold)
        };
        match self {
            Self::Digests if sample.golds().into_iter().any(shows) => {
                format!("a text of digest {}", Digest::of(text.as_bytes()).short())
            }
            _ => format!("`{}`", excerpt(text, limit)),
        }
    }
}

/// Letters and digits in lower case.
fn fold(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_is_kept_before_what_is_only_worth_knowing() {
        let mut kept = Kept::default();
        let add = |kept: &mut Kept, severity, count: usize| {
            (0..count).for_each(|at| kept.push(finding_of_all(severity, "x", at.to_string())));
        };
        add(&mut kept, Severity::Info, 30);
        assert_eq!(kept.worst(), Some(Severity::Info));
        add(&mut kept, Severity::Critical, 90);
        add(&mut kept, Severity::Warn, 20);
        assert_eq!(kept.worst(), Some(Severity::Critical));
        let (list, omitted) = kept.into_parts();
        assert_eq!((list.len(), omitted), (100, 40));
        assert!(list.iter().all(|evidence| evidence.severity != Severity::Info));
    }

    #[test]
    fn the_gold_answer_is_not_readable_unless_that_was_asked_for() {
        let sample = Sample { gold: "St. Étienne".into(), ..Sample::default() };
        let text = "i think it is ST ÉTIENNE!";
        assert!(!Reveal::Digests.text(&sample, text, 90).contains("TIENNE"));
        assert_eq!(Reveal::Digests.text(&sample, "Lyon", 90), "`Lyon`");
        assert_eq!(Reveal::Gold.text(&sample, text, 90), format!("`{text}`"));
        assert!(Reveal::Digests.gold(&sample).unwrap().starts_with("sha256:"));
        assert_eq!(Reveal::Gold.gold(&sample).unwrap(), "St. Étienne");
        assert_eq!(Reveal::Gold.gold(&Sample::default()), None);
    }
}
