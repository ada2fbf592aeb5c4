//! Judges held against people, and attacked.
//!
//! - `find` which scorer of a suite is meant, and what it is; `cases` labels made to cases that can be judged;
//! - `desk` where judges are asked outside of a run; `at_once` a bounded number of questions under way;
//! - `rule` one answer before one judge; `labelled` all labels before all judges, which gives a
//!   [`Calibration`](proofmark_artefact::calibration::Calibration);
//! - `of_run` failing answers of a finished run;
//! - [`attacks`] what is put into failing answers; `probe` how often that turns the judge.
//!
//! What follows from the verdicts is in `proofmark_artefact::calibration`.

mod at_once;
pub mod attacks;
mod cases;
mod desk;
mod find;
mod labelled;
mod of_run;
mod probe;
mod rule;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use proofmark_artefact::calibration::LabelError;
use proofmark_model::Stop;

use crate::dataset::DatasetError;
use crate::judge::{Desk, JudgeError, JudgeScorer};
use crate::prompt::PromptError;

pub use cases::{LabelledCase, labelled_cases};
pub use desk::ShelfDesk;
pub use find::{Found, all, find, subject};
pub use labelled::{Wish, calibrate};
pub use of_run::{FailedAnswer, OfRunError, failed_answers};
pub use probe::{ProbeCase, choose, probe};

/// Who is asked, and how many questions are under way at once.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    pub scorer: &'a JudgeScorer,
    pub desk: &'a dyn Desk,
    /// At least 1.
    pub at_once: usize,
    /// Hears of everything that was settled: how much of how much.
    pub tell: &'a dyn Fn(u64, u64),
}

/// There is no calibration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrateError {
    #[error("the suite has no judge scorer")]
    NoJudge,
    #[error("the suite has no judge scorer {wanted}")]
    NotThere { wanted: String, have: Vec<String> },
    #[error("the suite has several judge scorers: {}", have.join(", "))]
    Several { have: Vec<String> },
    #[error(transparent)]
    Label(#[from] LabelError),
    #[error("line {line} names item `{item}`, which task `{task}` does not have")]
    NoItem { line: u64, item: String, task: String },
    #[error("line {line} cannot be judged")]
    Case { line: u64, source: JudgeError },
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Judge(JudgeError),
    /// Nothing will come of any question.
    #[error(transparent)]
    Stop(Stop),
}

impl CalibrateError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoJudge => Some("add a scorer with `type: judge` to a task".to_owned()),
            Self::NotThere { have, .. } => Some(format!("it has {}", have.join(", "))),
            Self::Several { .. } => Some("choose one with `--task` and `--scorer`".to_owned()),
            Self::Label(error) => error.hint(),
            Self::NoItem { .. } => {
                Some("items are named by their id, of those that the suite's `limit` leaves".to_owned())
            }
            Self::Case { source: JudgeError::NoTarget(_), .. } => {
                Some("the judge is shown a target: give `expected`, or name an `item` that has one".to_owned())
            }
            Self::Case { .. } => Some("give the `other` answer, or name an `item` that has one".to_owned()),
            Self::Dataset(error) => error.hint(),
            Self::Prompt(error) => error.hint.clone(),
            Self::Stop(stop) => stop.hint.clone(),
            Self::Judge(_) => None,
        }
    }
}

impl From<JudgeError> for CalibrateError {
    fn from(error: JudgeError) -> Self {
        match error {
            JudgeError::Stop(stop) => Self::Stop(stop),
            other => Self::Judge(other),
        }
    }
}
