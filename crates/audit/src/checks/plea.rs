//! AUD-9: texts that address the grader.

use std::io;

use super::{Checking, Outcome, Scene, Subject};
use crate::seen::pleas_of;

#[derive(Default)]
pub(super) struct Pleas(Outcome);

impl Checking for Pleas {
    fn take(&mut self, scene: &Scene<'_>, subject: &Subject<'_>) -> io::Result<()> {
        let (outcome, sample) = (&mut self.0, subject.sample);
        // Where there is no answer there is nothing to say to a grader.
        outcome.coverage.of += 1;
        outcome.coverage.seen += 1;
        if let Some(answer) = &sample.answer {
            let place = format!("{}, result {}", scene.facts.results_name, sample.number);
            outcome.kept.extend(pleas_of(scene.reveal, sample, answer, &place));
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, scene: &Scene<'_>) -> io::Result<Outcome> {
        self.0.kept.append(scene.found.pleas.clone());
        Ok(self.0)
    }
}
