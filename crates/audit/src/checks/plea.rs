//! AUD-9: texts that address the grader.

use proofmark_artefact::audit::Coverage;

use super::{Outcome, Scene};
use crate::seen::pleas_of;

pub(super) fn run(scene: &Scene<'_>) -> Outcome {
    let of = scene.samples.len() as u64;
    let mut outcome = Outcome { coverage: Coverage { of, seen: 0 }, ..Outcome::default() };
    for (sample, ..) in scene.all() {
        // Where there is no answer there is nothing to say to a grader.
        outcome.coverage.seen += 1;
        let Some(answer) = &sample.answer else { continue };
        let place = format!("{}, result {}", scene.facts.results_name, sample.number);
        outcome.kept.extend(pleas_of(scene.reveal, sample, answer, &place));
    }
    outcome.kept.append(scene.found.pleas.clone());
    outcome
}
