//! The ways in which a question can fail.

use proofmark_artefact::record::Status;

/// Why there is no answer. Each has one word in records and one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// The key is missing, wrong, or not allowed to do this.
    Auth,
    /// The provider says that the request is wrong.
    BadRequest,
    /// The provider's filter stopped the prompt or the answer.
    ContentFilter,
    /// The model declined, and the provider says so.
    Refusal,
    /// The provider failed (5xx, or an error in the middle of a stream).
    Server,
    /// No connection, or it broke before an answer began.
    Network,
    /// A deadline passed.
    Timeout,
    /// The limit was still exceeded after every retry.
    RateLimited,
    /// A body that is not what the provider documents.
    Malformed,
    /// A body that ended before its end.
    Truncated,
    /// A stream that ended before its last event.
    StreamCut,
    /// An answer without text, tool call or picture.
    Empty,
    /// A program that was asked ended badly.
    Runner,
    /// Not asked: the model cannot take this input.
    Unsupported,
    /// Not asked: the endpoint had stopped answering.
    EndpointDown,
}

impl Class {
    pub const ALL: [Self; 15] = [
        Self::Auth,
        Self::BadRequest,
        Self::ContentFilter,
        Self::Refusal,
        Self::Server,
        Self::Network,
        Self::Timeout,
        Self::RateLimited,
        Self::Malformed,
        Self::Truncated,
        Self::StreamCut,
        Self::Empty,
        Self::Runner,
        Self::Unsupported,
        Self::EndpointDown,
    ];

    /// The class that a word in records names.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == word)
    }

    /// The word in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::BadRequest => "bad_request",
            Self::ContentFilter => "content_filter",
            Self::Refusal => "refusal",
            Self::Server => "server",
            Self::Network => "network",
            Self::Timeout => "timeout",
            Self::RateLimited => "rate_limited",
            Self::Malformed => "malformed",
            Self::Truncated => "truncated",
            Self::StreamCut => "stream_cut",
            Self::Empty => "empty",
            Self::Runner => "runner",
            Self::Unsupported => "unsupported",
            Self::EndpointDown => "endpoint_down",
        }
    }

    pub fn status(self) -> Status {
        match self {
            Self::Timeout => Status::Timeout,
            Self::RateLimited => Status::RateLimited,
            Self::Unsupported | Self::EndpointDown => Status::Skipped,
            _ => Status::Error,
        }
    }
}
