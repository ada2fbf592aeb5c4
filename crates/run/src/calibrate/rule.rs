//! One answer before one judge, or before all of them.

use std::ops::Range;

use proofmark_artefact::calibration::Ruling;
use proofmark_artefact::calibration::measure::Lean;
use proofmark_artefact::record::{Opinion, Order};
use proofmark_artefact::suite::judge::{JudgeMode, JudgePlan};

use super::CalibrateError;
use crate::judge::{Case, Desk, JudgeError, JudgeScorer, decide, opinion};

/// What a judge said in one repeat, or why it said nothing.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    Opinions(Vec<Opinion>),
    Failed,
    Misfit,
}

impl Said {
    /// Lets go of the judge's words, which nothing here counts, where many answers are held.
    pub(super) fn forget_reasons(&mut self) {
        if let Self::Opinions(opinions) = self {
            opinions.iter_mut().for_each(|opinion| opinion.reason = String::new());
        }
    }
}

/// The scorer without its first stage: every answer is put before the judge.
pub(super) fn without_first(scorer: &JudgeScorer) -> JudgeScorer {
    JudgeScorer {
        plan: JudgePlan { first: false, ..scorer.plan.clone() },
        rubric: scorer.rubric.clone(),
        rubric_digest: scorer.rubric_digest,
        judges: scorer.judges.clone(),
    }
}

/// The votes of one repeat. The first has those of a run, so that both find each other's judgments.
pub(super) fn votes(scorer: &JudgeScorer, repeat: u32) -> Range<u32> {
    let votes = scorer.plan.votes;
    let start = repeat.saturating_mul(votes);
    start..start.saturating_add(votes)
}

/// Asks one judge for all votes of a repeat. A judge that fails is a result; only what ends everything is an error.
pub(super) async fn ask(
    scorer: &JudgeScorer,
    case: &Case<'_>,
    desk: &dyn Desk,
    judge: usize,
    repeat: u32,
) -> Result<Said, CalibrateError> {
    let orders: &[Option<Order>] = match scorer.plan.mode {
        JudgeMode::Single => &[None],
        JudgeMode::Pairwise => &[Some(Order::AnswerFirst), Some(Order::AnswerSecond)],
    };
    let mut opinions = Vec::new();
    for vote in votes(scorer, repeat) {
        for order in orders {
            match opinion(scorer, case, desk, judge, vote, *order).await {
                Ok((opinion, _)) => opinions.push(opinion),
                Err(JudgeError::Failed { .. }) => return Ok(Said::Failed),
                Err(JudgeError::Misfit { .. }) => return Ok(Said::Misfit),
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(Said::Opinions(opinions))
}

/// What judges together rule, and why. One that has no verdict leaves all without one, as in a run.
pub(super) fn rule<'a>(scorer: &JudgeScorer, said: impl IntoIterator<Item = &'a Said>) -> (Ruling, String) {
    let mut all: Vec<Opinion> = Vec::new();
    for said in said {
        match said {
            Said::Opinions(opinions) => all.extend(opinions.iter().cloned()),
            Said::Failed => return (Ruling::Failed, String::new()),
            Said::Misfit => return (Ruling::Misfit, String::new()),
        }
    }
    if all.is_empty() {
        return (Ruling::Failed, String::new());
    }
    let (value, passed, _, explanation) = decide::verdict(scorer, &all);
    let (word, lean) = match scorer.plan.mode {
        JudgeMode::Single => {
            let first = &all[0].verdict;
            (all.iter().all(|opinion| opinion.verdict == *first).then(|| first.clone()), None)
        }
        JudgeMode::Pairwise => {
            let word = match value.total_cmp(&0.5) {
                std::cmp::Ordering::Greater => "first",
                std::cmp::Ordering::Equal => "tie",
                std::cmp::Ordering::Less => "second",
            };
            let lean = match all.as_slice() {
                [one, other, ..] => Some(Lean::of(&one.verdict, &other.verdict)),
                _ => None,
            };
            (Some(word.to_owned()), lean)
        }
    };
    (Ruling::Ruled { passed, word, lean }, explanation)
}
