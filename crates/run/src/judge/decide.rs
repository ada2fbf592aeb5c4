//! What needs no judge, and how opinions become one verdict.

use proofmark_artefact::record::{Opinion, Order, Stage};

use super::reply::Spoken;
use super::{Case, JudgeError, JudgeScorer};

/// What is decided without a judge: the stage, and whether the answer passes. `Err` when the case cannot be judged.
pub(crate) fn before(scorer: &JudgeScorer, case: &Case<'_>) -> Result<Option<(Stage, bool)>, JudgeError> {
    let _ = (scorer, case);
    Ok(None)
}

/// What one reply is worth: value, and whether it passes.
pub(crate) fn worth(scorer: &JudgeScorer, spoken: &Spoken, order: Option<Order>) -> (f64, bool) {
    let _ = order;
    let value = scorer.plan.verdicts.get(&spoken.verdict).copied().unwrap_or(0.0);
    (value, value >= scorer.plan.pass)
}

/// One verdict out of all opinions: value, whether it passes, how many are against it, and why in one line.
pub(crate) fn verdict(scorer: &JudgeScorer, opinions: &[Opinion]) -> (f64, bool, u32, String) {
    let _ = scorer;
    (opinions[0].value, opinions[0].passed, 0, String::new())
}
