//! AUD-1: the gold answer reached the agent from a leak.

use std::io;

use super::{Checking, Outcome, Scene, Sighted, Subject};
use crate::sample::Mark;
use crate::seen::LEAK;

#[derive(Default)]
pub(super) struct Leakage(Sighted);

impl Checking for Leakage {
    fn take(&mut self, _: &Scene<'_>, subject: &Subject<'_>) -> io::Result<()> {
        // A sample without a mark is still to be scored by somebody, so where its answer is from matters as much.
        if subject.credit.is_in_question() || subject.sample.mark == Mark::Missing {
            self.0.take(subject.seen, subject.seen.leak);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, scene: &Scene<'_>) -> io::Result<Outcome> {
        let mut outcome = self.0.finish(LEAK, scene.found);
        outcome.kept.append(scene.found.leaks.clone());
        Ok(outcome)
    }
}
