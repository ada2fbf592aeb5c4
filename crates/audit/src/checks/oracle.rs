//! AUD-3: the gold answer stands in what the agent was given.

use std::io;

use super::{Checking, Outcome, Scene, Sighted, Subject};
use crate::sample::Mark;
use crate::seen::ORACLE;

#[derive(Default)]
pub(super) struct Oracle(Sighted);

impl Checking for Oracle {
    fn take(&mut self, _: &Scene<'_>, subject: &Subject<'_>) -> io::Result<()> {
        if subject.credit.is_in_question() || subject.sample.mark == Mark::Missing {
            self.0.take(subject.seen, subject.seen.oracle);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, scene: &Scene<'_>) -> io::Result<Outcome> {
        let mut outcome = self.0.finish(ORACLE, scene.found);
        outcome.kept.append(scene.found.oracles.clone());
        Ok(outcome)
    }
}
