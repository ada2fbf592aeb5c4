//! AUD-1: the gold answer reached the agent from a leak; AUD-3: it stands in what the agent was given.

use std::io;

use super::{Checking, Outcome, Scene, Sighted, Subject};
use crate::kept::Kept;
use crate::sample::Mark;
use crate::seen::{Found, LEAK, ORACLE, Seen, Sight};

/// Whether answers that were credited came from somewhere else than work.
pub(super) struct Leakage {
    sighted: Sighted,
    check: &'static str,
    sight: fn(&Seen) -> Sight,
    found: fn(&Found) -> &Kept,
}

impl Leakage {
    /// From what tools returned.
    pub(super) fn of_results() -> Self {
        Self { sighted: Sighted::default(), check: LEAK, sight: |seen| seen.leak, found: |found| &found.leaks }
    }

    /// From what the agent was given.
    pub(super) fn of_prompts() -> Self {
        Self { sighted: Sighted::default(), check: ORACLE, sight: |seen| seen.oracle, found: |found| &found.oracles }
    }
}

impl Checking for Leakage {
    fn take(&mut self, _: &Scene<'_>, subject: &Subject<'_>) -> io::Result<()> {
        // A sample without a mark is still to be scored by somebody, so where its answer is from matters as much.
        if subject.credit.is_in_question() || subject.sample.mark == Mark::Missing {
            self.sighted.take(subject.seen, (self.sight)(subject.seen));
        }
        Ok(())
    }

    fn finish(self: Box<Self>, scene: &Scene<'_>) -> io::Result<Outcome> {
        let mut outcome = self.sighted.finish(self.check, scene.found);
        outcome.kept.append((self.found)(scene.found).clone());
        Ok(outcome)
    }
}
