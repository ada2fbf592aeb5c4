//! The finds that are listed, and how many more there are.

use memchr::memmem;

use crate::trajectory::{Form, Hit, Scan};

/// The most finds of each kind that are listed.
pub(super) const LISTED: usize = 16;

/// Some more are kept until all are known, so that one find can stand for those inside it.
const KEPT: usize = 4 * LISTED;

/// A find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    pub from: usize,
    pub form: Form,
    pub to: usize,
}

impl Found {
    pub(super) fn holds(&self, other: &Self) -> bool {
        self.from <= other.from && other.to <= self.to
    }
}

/// The earliest finds and the number of all.
#[derive(Debug, Default)]
pub(super) struct Finds {
    /// Sorted; at most [`KEPT`].
    kept: Vec<Found>,
    total: u64,
}

impl Finds {
    pub(super) fn add(&mut self, found: Found) {
        if self.kept.len() == KEPT && self.kept.last().is_some_and(|last| *last < found) {
            self.total += 1;
            return;
        }
        // The same place may have been found in another form.
        if let Some(same) = self.kept.iter_mut().find(|kept| (kept.from, kept.to) == (found.from, found.to)) {
            same.form = same.form.min(found.form);
            return;
        }
        self.total += 1;
        let at = self.kept.partition_point(|kept| *kept < found);
        if at < KEPT {
            self.kept.insert(at, found);
            self.kept.truncate(KEPT);
        }
    }

    /// Makes one find of those that touch: passes see different parts of one place.
    fn join(&mut self) {
        let mut joined: Vec<Found> = Vec::new();
        for found in self.kept.drain(..) {
            match joined.last_mut() {
                Some(last) if found.from <= last.to => {
                    // The longer one says more about the form.
                    if found.to - found.from > last.to - last.from {
                        last.form = found.form;
                    }
                    last.to = last.to.max(found.to);
                    self.total -= 1;
                }
                _ => joined.push(found),
            }
        }
        self.kept = joined;
    }

    /// The finds that are listed and the number of the others.
    fn list(self) -> (Vec<Hit>, u64) {
        let is_inside = |found: &Found| self.kept.iter().any(|other| other != found && other.holds(found));
        let outermost: Vec<&Found> = self.kept.iter().filter(|found| !is_inside(found)).collect();
        let inside = (self.kept.len() - outermost.len()) as u64;
        let listed: Vec<Hit> = outermost
            .into_iter()
            .take(LISTED)
            .map(|found| Hit { form: found.form, length: (found.to - found.from) as u64, offset: found.from as u64 })
            .collect();
        let more = self.total - inside - listed.len() as u64;
        (listed, more)
    }
}

/// What was found of the answer and of the question.
#[derive(Debug, Default)]
pub(super) struct Hits {
    pub gold: Finds,
    pub question: Finds,
}

impl Hits {
    /// Lists what was found in a content.
    pub(super) fn into_scan(mut self, content: &[u8], question_text: &str) -> Scan {
        self.question.join();
        for found in &mut self.question.kept {
            if memmem::find(question_text.as_bytes(), &content[found.from..found.to]).is_some() {
                found.form = Form::Verbatim;
            }
        }
        let (gold, more_gold) = self.gold.list();
        let (question, more_question) = self.question.list();
        Scan { gold, more: more_gold + more_question, question }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(from: usize, to: usize, form: Form) -> Found {
        Found { from, form, to }
    }

    #[test]
    fn the_earliest_are_listed_whatever_the_order_and_the_rest_is_counted() {
        let mut hits = Hits::default();
        for at in (0..100).rev() {
            hits.gold.add(found(at * 10, at * 10 + 5, Form::Folded));
        }
        hits.question.add(found(7, 9, Form::Verbatim));
        let scan = hits.into_scan(&[b'x'; 2000], "");
        assert_eq!(
            scan.gold.iter().map(|hit| hit.offset).collect::<Vec<_>>(),
            (0..16).map(|at| at * 10).collect::<Vec<_>>()
        );
        assert_eq!((scan.question.len(), scan.more), (1, 84));
    }

    #[test]
    fn one_place_is_one_find_in_its_plainest_form() {
        let mut hits = Hits::default();
        for (from, to, form) in [(3, 8, Form::Html), (3, 8, Form::Folded), (4, 8, Form::Verbatim), (8, 9, Form::Hex)] {
            hits.gold.add(found(from, to, form));
        }
        let scan = hits.into_scan(&[b'x'; 2000], "");
        let want = [(3, 5, Form::Folded), (8, 1, Form::Hex)];
        assert_eq!(scan.gold.iter().map(|hit| (hit.offset, hit.length, hit.form)).collect::<Vec<_>>(), want);
        assert_eq!(scan.more, 0);
    }
}
