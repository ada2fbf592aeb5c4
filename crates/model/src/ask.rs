//! What is sent to a model and what comes back.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use proofmark_artefact::record::{Message, Output, SampleError, Status, Usage};
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Map, Value};
use serde::{Deserialize, Serialize};

/// Everything a model is sent for one sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub messages: Arc<[Message]>,
    /// Merged: the condition's win over the model's, which win over the suite's.
    pub params: Arc<Map>,
    pub seed: SampleSeed,
}

/// What the harness knows about the item. Offline models look at it in order to play their part;
/// nothing of it is ever sent anywhere.
#[derive(Debug, Clone, Copy)]
pub struct Hint<'a> {
    pub key: &'a str,
    pub item_id: &'a str,
    /// Position of the item in its task, from 0.
    pub item_index: u64,
    pub sample: u32,
    pub expected: &'a Value,
    pub choices: Option<&'a [Value]>,
}

/// One question.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    pub request: &'a Request,
    pub hint: Hint<'a>,
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// The model answered.
    Answered { finish_reason: String, text: String, usage: Usage },
    /// It did not; the run goes on.
    Failed { class: String, message: String, status: Status, usage: Usage },
}

impl Reply {
    pub fn status(&self) -> Status {
        match self {
            Self::Answered { .. } => Status::Success,
            Self::Failed { status, .. } => *status,
        }
    }

    pub fn usage(&self) -> Usage {
        match self {
            Self::Answered { usage, .. } | Self::Failed { usage, .. } => *usage,
        }
    }

    /// Splits the reply into the fields of a record: output, finish reason, error.
    pub fn into_parts(self) -> (Option<Output>, Option<String>, Option<SampleError>) {
        match self {
            Self::Answered { finish_reason, text, .. } => (Some(Output { text }), Some(finish_reason), None),
            Self::Failed { class, message, .. } => (None, None, Some(SampleError { class, message })),
        }
    }
}

/// A future that a model returns.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

/// Something that answers.
pub trait Model: Send + Sync {
    /// Asks once. A failure is a reply, not an error: it becomes the sample's record.
    fn ask<'a>(&'a self, ask: Ask<'a>) -> Asking<'a>;
}
