//! AUD-1: the gold answer reached the agent from a leak.

use super::{Outcome, Scene};
use crate::seen::LEAK;

pub(super) fn run(scene: &Scene<'_>) -> Outcome {
    // A sample without a mark is still to be scored by somebody, so where its answer is from matters as much.
    let is_due = |sample: &crate::sample::Sample, credit: &crate::credit::Credit| {
        credit.is_in_question() || sample.mark == crate::sample::Mark::Missing
    };
    let mut outcome = scene.coverage_of(LEAK, is_due, |_, seen| seen.leak);
    outcome.kept.append(scene.found.leaks.clone());
    outcome
}
