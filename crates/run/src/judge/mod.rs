//! Answers judged by models.
//!
//! - [`case`](Case) what is judged, and [`JudgeScorer`] by which rubric and whom;
//! - `decide` what needs no judge, over `same`, and how opinions become one verdict;
//! - `prompt` what a judge is sent, with every untrusted `part` fenced in; `neutral` look-alike markup made harmless, over
//!   `looks`, what characters can be taken for;
//! - `reply` what a judge said, held against the declared form;
//! - `hear` asks all judges of a scorer about one answer, over a [`Desk`] that knows earlier judgments;
//! - `desk` the desks of a run under way and of a finished one; `judgments` a file of judgments.

pub(crate) mod decide;
mod desk;
mod hear;
mod judgments;
mod looks;
mod neutral;
mod part;
mod prompt;
mod reply;
mod same;
#[cfg(test)]
mod testing;

use std::sync::Arc;

use proofmark_artefact::judgment::{Entry, Judgment, Question};
use proofmark_artefact::record::{Image, Judged, Message};
use proofmark_artefact::suite::judge::JudgePlan;
use proofmark_artefact::suite::plan::ModelPlan;
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, Map, Value};
use proofmark_model::{Asking, Hint, Model, Request, Stop};

pub(crate) use desk::{FreshDesk, Judged as JudgedFile, NOT_RECORDED, RecordedDesk, RunDesk};
pub use desk::{NoShelf, Shelf};
pub use hear::hear;
pub(crate) use hear::opinion;
pub(crate) use judgments::{Form, MAX_JUDGMENT};
pub use judgments::{Judgments, JudgmentsError};
pub(crate) use prompt::PROMPT_VERSION;

/// A model that judges.
pub struct Judge {
    pub plan: ModelPlan,
    pub model: Arc<dyn Model>,
    pub params: Arc<Map>,
    /// What decides how it is reached besides its name, as canonical text; empty when nothing does.
    pub serving: String,
}

/// A judge scorer, compiled once for a task.
#[derive(Debug)]
pub struct JudgeScorer {
    pub plan: JudgePlan,
    pub rubric: String,
    pub rubric_digest: Digest,
    /// Which of the suite's judges are asked, in the scorer's order.
    pub judges: Vec<usize>,
}

/// One answer that is judged. Everything in it but the rubric is untrusted.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The task's and the item's id: `task/item`, each part percent-encoded.
    pub task_id: &'a str,
    /// What the model was asked.
    pub question: &'a [Message],
    pub answer: &'a str,
    pub pictures: &'a [Picture],
    /// Null when the item has no gold answer.
    pub expected: &'a Value,
    /// The answer it is compared with, for comparisons.
    pub other: Option<&'a str>,
    /// Of the sample: what is fresh in prompts comes from it.
    pub seed: SampleSeed,
    pub hint: Hint<'a>,
}

/// A picture that is judged.
#[derive(Debug, Clone)]
pub struct Picture {
    pub facts: Image,
    pub bytes: Arc<[u8]>,
}

/// Where judges are asked and judgments are kept.
pub trait Desk: Sync {
    fn judge(&self, at: usize) -> &Judge;

    /// A judgment that is there already and can be believed.
    fn known(&self, key: &Digest, question: &Question) -> Option<Entry>;

    /// Asks; writes down the attempts and counts what they cost.
    fn ask<'a>(&'a self, judge: usize, request: &'a Request, hint: Hint<'a>) -> Asking<'a>;

    /// Signs and keeps what was said; returns what others will find.
    fn keep(&self, key: &Digest, judgment: Judgment) -> Result<Entry, String>;

    /// When the run was started: RFC 3339 in UTC.
    fn judged_at(&self) -> &str;
}

/// What judging came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    pub passed: bool,
    /// From 0 to 1.
    pub value: f64,
    pub explanation: String,
    pub judged: Judged,
    /// The judgments it rests on, each once, in the order of the opinions.
    pub entries: Vec<Entry>,
}

/// There is no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    #[error("item `{0}` has no target to judge by")]
    NoTarget(String),
    #[error("item `{item}` has no `{column}` to compare with")]
    NoOther { item: String, column: String },
    #[error("judge `{judge}` gave no verdict: {message}")]
    Failed { judge: String, class: String, message: String },
    /// Asked twice.
    #[error("the reply of judge `{judge}` does not have the declared form: {why}")]
    Misfit { judge: String, why: String },
    #[error("a judgment cannot be kept: {0}")]
    Keep(String),
    #[error("{0}")]
    Encode(String),
    /// Nothing will come of any question: the run stops.
    #[error(transparent)]
    Stop(#[from] Stop),
}

impl JudgeError {
    /// Whether it comes from a judge that nobody could ask, because the run is over.
    pub(crate) fn is_not_recorded(&self) -> bool {
        matches!(self, Self::Failed { message, .. } if message == NOT_RECORDED)
    }
}
