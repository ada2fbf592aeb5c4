//! The languages of providers: our request to their JSON, their reply to ours.
//!
//! Pure functions. A wire knows no host, no key, no clock and no network; [`crate::transport`] has those.
//! Each is tested against fixtures of the provider's documented formats in its folder's `fixtures/`.

pub(crate) mod anthropic;
mod body;
pub(crate) mod cloudflare;
pub(crate) mod cohere;
pub(crate) mod frame;
pub(crate) mod gemini;
pub(crate) mod mistral;
pub(crate) mod ollama;
pub(crate) mod openai;
mod parts;
#[cfg(test)]
mod testing;

use std::fmt;

use proofmark_artefact::record::{TokenLogprob, ToolCall, Usage};
use proofmark_canon::Value;

use crate::ask::{CUT, Request};
use crate::class::Class;

pub(crate) use body::{Body, parse_reply};

/// One provider's language.
pub(crate) trait Wire: Send + Sync + fmt::Debug {
    /// Parameters that it has a word for, besides those that all have (`params::COMMON`).
    fn params(&self) -> &'static [&'static str];

    /// Parameters that all others have and this one has no word for.
    fn lacks(&self) -> &'static [&'static str] {
        &[]
    }

    /// Says what is expected instead of a value that can never be sent, whatever the task: it is refused before the
    /// first call.
    fn check_value(&self, name: &str, value: &Value) -> Result<(), String> {
        let _ = (name, value);
        Ok(())
    }

    /// Whether a seed can be sent.
    fn takes_seed(&self) -> bool;

    /// Headers that are always sent.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Our request as theirs. `Err` says why this model cannot take it; the sample is skipped then.
    fn encode(&self, model: &str, request: &Request) -> Result<Call, String>;

    /// A whole reply to a request that was not streamed.
    fn decode(&self, body: &[u8]) -> Result<Completion, WireError>;

    /// How the parts of a streamed reply are told apart.
    fn framing(&self) -> Framing {
        Framing::Sse
    }

    /// Puts the parts of a streamed reply together.
    fn assemble(&self) -> Box<dyn Assemble>;

    /// What a reply with an HTTP status of 400 and above means.
    fn refuse(&self, status: u16, body: &[u8]) -> Refused;
}

/// [`Wire::check_value`] for a word out of a list.
fn one_of(words: &[&str], value: &Value) -> Result<(), String> {
    let is_known = value.as_str().is_some_and(|word| words.contains(&word));
    if is_known { Ok(()) } else { Err(format!("one of {}", words.join(", "))) }
}

/// A request in the provider's language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// After the base URL, with a leading slash; may have a query.
    pub(crate) path: String,
    /// Canonical JSON.
    pub(crate) body: Vec<u8>,
    /// Whether the reply is a stream.
    pub(crate) streamed: bool,
}

/// How the parts of a stream are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Sse,
    /// One JSON document a line.
    Lines,
}

/// Puts a streamed reply together.
pub(crate) trait Assemble: Send {
    /// Takes one part: the event's name (empty when it has none) and its data. Returns true when it was the last one.
    fn take(&mut self, event: &str, data: &str) -> Result<bool, WireError>;

    /// The reply, once [`Assemble::take`] returned true or the stream ended. A stream that ended too early is
    /// [`WireError::cut`].
    fn finish(self: Box<Self>) -> Result<Completion, WireError>;
}

/// What a model answered, in our words.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Completion {
    pub(crate) text: String,
    pub(crate) reasoning: Option<String>,
    /// With the provider's ids; empty ids where it gives none.
    pub(crate) calls: Vec<(String, ToolCall)>,
    pub(crate) images: Vec<Picture>,
    pub(crate) logprobs: Vec<TokenLogprob>,
    pub(crate) finish: Finish,
    /// As the provider counted; reasoning counts as output, cached input as input.
    pub(crate) usage: Usage,
    /// How much of the input came from the provider's cache.
    pub(crate) cached: Option<u64>,
    /// The model that the provider names.
    pub(crate) model: Option<String>,
    /// What the next turn must give back unchanged.
    pub(crate) keep: Option<Value>,
}

/// A picture as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) bytes: Vec<u8>,
}

/// Why an answer ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Finish {
    /// It was complete, or a stop text came.
    #[default]
    Stop,
    /// The limit of tokens was reached.
    Length,
    ToolCalls,
    /// The provider's filter stopped it; never an answer.
    Filtered(String),
    /// The model declined, and the provider says so in a field of its own; never an answer.
    Refused(String),
    /// The provider reports that it failed in the middle; never an answer.
    Failed(String),
    /// Something else, in the provider's words; an answer.
    Other(String),
}

impl Finish {
    /// The word in records.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => CUT,
            Self::ToolCalls => "tool_calls",
            Self::Filtered(_) => "content_filter",
            Self::Refused(_) => "refusal",
            Self::Failed(_) => "error",
            Self::Other(word) => word,
        }
    }
}

/// A reply that is not what the provider documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WireError {
    /// [`Class::Malformed`], [`Class::Truncated`], [`Class::StreamCut`] or [`Class::Server`].
    pub(crate) class: Class,
    pub(crate) message: String,
}

impl WireError {
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self { class: Class::Malformed, message: message.into() }
    }

    /// The body ended inside of a value.
    pub(crate) fn truncated() -> Self {
        Self { class: Class::Truncated, message: "the reply ends inside of a value".to_owned() }
    }

    /// The stream ended before its last event.
    pub(crate) fn cut() -> Self {
        Self { class: Class::StreamCut, message: "the stream ended before its last event".to_owned() }
    }

    /// The provider reports a failure of its own inside of a reply or a stream that began well.
    pub(crate) fn server(message: impl Into<String>) -> Self {
        Self { class: Class::Server, message: message.into() }
    }
}

/// What a refused request means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) class: Class,
    /// The provider's own words, as they came; the transport shortens and redacts them.
    pub(crate) message: String,
    /// What to do next.
    pub(crate) then: Then,
}

/// What to do after a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// It may work later.
    Retry,
    /// It will never work for this sample.
    Fail,
    /// It will never work for any sample: wrong key, no credit, no such model.
    Stop,
}

/// What an HTTP status means when the provider says nothing more precise.
pub(crate) fn refused_by_status(status: u16, message: impl Into<String>) -> Refused {
    let (class, then) = match status {
        401..=403 => (Class::Auth, Then::Stop),
        408 | 504 | 524 => (Class::Timeout, Then::Retry),
        409 | 425 | 500..=503 | 505..=528 | 530..=599 => (Class::Server, Then::Retry),
        429 | 529 => (Class::RateLimited, Then::Retry),
        404 => (Class::BadRequest, Then::Stop),
        _ => (Class::BadRequest, Then::Fail),
    };
    Refused { class, message: message.into(), then }
}
