//! AUD-3: the gold answer stands in what the agent was given.

use super::{Outcome, Scene};
use crate::credit::Credit;
use crate::sample::{Mark, Sample};
use crate::seen::ORACLE;

pub(super) fn run(scene: &Scene<'_>) -> Outcome {
    let is_due = |sample: &Sample, credit: &Credit| credit.is_in_question() || sample.mark == Mark::Missing;
    let mut outcome = scene.coverage_of(ORACLE, is_due, |_, seen| seen.oracle);
    outcome.kept.append(scene.found.oracles.clone());
    outcome
}
