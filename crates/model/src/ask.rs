//! What is sent to a model and what comes back.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use proofmark_artefact::picture::{PictureError, sniff};
use proofmark_artefact::record::{Image, Message, Output, SampleError, Status, ToolCall, Usage};
use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_artefact::telemetry::Attempt;
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, Map, Value};
use serde::{Deserialize, Serialize};

use crate::class::Class;

/// Everything a model is sent for one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The prompt.
    pub messages: Arc<[Message]>,
    /// The bytes of the attachments that messages name.
    pub files: Arc<[File]>,
    /// What was said after the prompt; empty for a task of a single turn.
    pub turns: Vec<Turn>,
    /// Tools that the model may ask for.
    pub tools: Arc<[ToolPlan]>,
    /// Merged: the condition's win over the model's, which win over the suite's.
    pub params: Arc<Map>,
    pub seed: SampleSeed,
}

/// An attachment's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub digest: Digest,
    pub bytes: Arc<[u8]>,
}

impl Request {
    /// A prompt and nothing else.
    pub fn new(messages: impl Into<Arc<[Message]>>, params: Map, seed: SampleSeed) -> Self {
        let (files, tools) = (Arc::default(), Arc::default());
        Self { messages: messages.into(), files, turns: Vec::new(), tools, params: Arc::new(params), seed }
    }

    /// The seed that goes out with it: the sample's own, unless the `seed` parameter fixes one or turns it off.
    pub fn seed_to_send(&self) -> Option<u64> {
        match self.params.get("seed") {
            None => Some(u64::from(self.seed.get())),
            Some(value) => match value.as_bool() {
                Some(wanted) => wanted.then(|| u64::from(self.seed.get())),
                None => value.as_u64(),
            },
        }
    }

    /// Whether the reply is to come as a stream.
    pub fn is_streamed(&self) -> bool {
        self.params.get("stream").and_then(Value::as_bool).unwrap_or(false)
    }

    /// The bytes of an attachment.
    pub fn file(&self, digest: &Digest) -> Option<&[u8]> {
        self.files.iter().find(|file| file.digest == *digest).map(|file| &*file.bytes)
    }
}

/// Something said after the prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// By the model: a text, calls of tools, or both.
    Model {
        text: String,
        /// With the provider's ids, so that results can be tied to them.
        calls: Vec<(String, ToolCall)>,
        /// What the provider wants back unchanged, such as signed reasoning; in the wire's own form.
        keep: Option<Value>,
    },
    /// By the harness, in the user's place: a reminder, or the results of tools for a model that has none of its own.
    User { text: String },
    /// By a tool.
    Tool { call_id: String, name: String, output: String, is_error: bool },
}

/// What the harness knows about the item. Offline models look at it in order to play their part;
/// nothing of it is ever sent anywhere.
#[derive(Debug, Clone, Copy)]
pub struct Hint<'a> {
    pub key: &'a str,
    pub ordinal: u64,
    pub item_id: &'a str,
    /// Position of the item in its task, from 0.
    pub item_index: u64,
    pub sample: u32,
    /// Which attempt at the sample it is, from 0, where answers are voted on.
    pub attempt: u32,
    pub expected: &'a Value,
    pub choices: Option<&'a [Value]>,
}

/// One question.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    pub request: &'a Request,
    pub hint: Hint<'a>,
    /// Hears of every attempt, whatever came of it.
    pub log: &'a dyn AttemptLog,
}

/// Someone who writes down every attempt to get an answer.
pub trait AttemptLog: Sync {
    fn attempt(&self, attempt: &Attempt);

    /// An attempt leaves the house now. What waits for its turn has not.
    fn sent(&self) {}
}

/// The `finish_reason` of an answer that was cut at the most tokens that it may have.
pub const CUT: &str = "length";

/// What came of a question, and is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// The model answered.
    Answered { finish_reason: String, output: Output, usage: Usage },
    /// It did not; the run goes on.
    Failed { class: String, message: String, status: Status, usage: Usage },
}

impl Reply {
    /// A plain answer.
    pub fn of_text(text: impl Into<String>, usage: Usage) -> Self {
        Self::Answered { finish_reason: "stop".to_owned(), output: Output::of_text(text), usage }
    }

    /// A failure of a class that decides the sample's status.
    pub fn failed(class: Class, message: impl Into<String>) -> Self {
        let (message, usage) = (message.into(), Usage::default());
        Self::Failed { class: class.as_str().to_owned(), message, status: class.status(), usage }
    }

    /// The same failure, with tokens that were spent all the same.
    #[must_use]
    pub fn with_usage(mut self, spent: Usage) -> Self {
        match &mut self {
            Self::Answered { usage, .. } | Self::Failed { usage, .. } => *usage = spent,
        }
        self
    }

    pub fn status(&self) -> Status {
        match self {
            Self::Answered { .. } => Status::Success,
            Self::Failed { status, .. } => *status,
        }
    }

    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Answered { .. })
    }

    pub fn usage(&self) -> Usage {
        match self {
            Self::Answered { usage, .. } | Self::Failed { usage, .. } => *usage,
        }
    }

    /// Splits the reply into the fields of a record: output, finish reason, error.
    pub fn into_parts(self) -> (Option<Output>, Option<String>, Option<SampleError>) {
        match self {
            Self::Answered { finish_reason, output, .. } => (Some(output), Some(finish_reason), None),
            Self::Failed { class, message, .. } => (None, None, Some(SampleError { class, message })),
        }
    }
}

/// A reply and what does not fit into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub reply: Reply,
    /// The bytes of the output's images, to be stored before the reply counts.
    pub blobs: Vec<Blob>,
    /// For whoever goes on with the conversation: the calls with their ids, and what the provider
    /// wants back unchanged. `None` when there is nothing to go on with.
    pub next: Option<Turn>,
}

/// Bytes that are stored under their digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    pub digest: Digest,
    pub media_type: String,
    pub bytes: Vec<u8>,
}

impl Blob {
    /// Looks at a picture and returns what a record says of it, and what is stored.
    pub fn picture(bytes: Vec<u8>) -> Result<(Image, Self), PictureError> {
        let facts = sniff(&bytes)?;
        let digest = Digest::of(&bytes);
        let image = Image {
            bytes: bytes.len() as u64,
            digest,
            height: facts.height,
            media_type: facts.media_type.to_owned(),
            width: facts.width,
        };
        Ok((image, Self { digest, media_type: facts.media_type.to_owned(), bytes }))
    }
}

impl From<Reply> for Asked {
    fn from(reply: Reply) -> Self {
        Self { reply, blobs: Vec::new(), next: None }
    }
}

/// Nothing will come of this or any other question: the run stops where it is and can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Stop {
    pub message: String,
    pub hint: Option<String>,
}

/// A future that a model returns.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Asked, Stop>> + Send + 'a>>;

/// Something that answers.
pub trait Model: Send + Sync {
    /// Asks once, with as many attempts as that takes. A failure is a reply, not an error: it becomes
    /// the sample's record.
    fn ask<'a>(&'a self, ask: Ask<'a>) -> Asking<'a>;

    /// Says what is missing before anything can be asked, such as a key.
    fn check_ready(&self) -> Result<(), Stop> {
        Ok(())
    }

    /// Models of one lane share an endpoint: what slows one down slows the others down, and nobody else.
    fn lane(&self) -> &str {
        "offline"
    }

    /// How many questions it is worth having under way at once; `None` for as many as there may be.
    fn max_in_flight(&self) -> Option<usize> {
        None
    }

    /// Whether a question may start a program or change files of this machine.
    fn leaves_traces(&self) -> bool {
        true
    }

    /// Facts about the serving path that only this machine knows, for the witness: a program's version, an
    /// address from the environment.
    fn surroundings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Closes the connections that nobody uses; nobody is about to ask again.
    fn hang_up(&self) {}
}

/// Milliseconds as telemetry has them: three digits after the point are enough, and keep lines short.
pub(crate) fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
