//! The shape of every tool.

use std::future::Future;
use std::pin::Pin;

use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_canon::Value;
use serde::{Deserialize, Serialize};

use crate::workspace::Workspace;

/// Something an agent may do.
pub trait Tool: Send + Sync {
    /// Name, description and JSON Schema of the arguments, as the model is told.
    fn definition(&self) -> &ToolPlan;

    /// Carries out one call. It keeps to its own timeout, and a future that is dropped leaves nothing running.
    fn call<'a>(&'a self, call: Call<'a>) -> Calling<'a>;
}

/// One call of a tool.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The arguments, whatever the model wrote: nothing about them was checked.
    pub args: &'a Value,
    /// The files of the sample that calls.
    pub workspace: &'a Workspace,
}

/// A future that a tool returns.
pub type Calling<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// What a tool gives back. It is at most as long as the tool's `max_output` and says so when it was cut.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolOutput {
    /// Bytes as they came. The model is shown them as text.
    pub content: Vec<u8>,
    /// Where the content is from: an address after all redirects, a file's name.
    pub source: Option<String>,
    /// The tool ran and says that it failed: a program that ended with an error, a page that is not there.
    pub is_error: bool,
}

impl ToolOutput {
    pub fn of_text(text: impl Into<String>) -> Self {
        Self { content: text.into().into_bytes(), ..Self::default() }
    }
}

/// A call that came to nothing. The model is told; the sample goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    pub failure: Failure,
    /// For the model to read: what went wrong and what to do instead. No path of this machine is in it.
    pub message: String,
}

impl ToolError {
    pub fn new(failure: Failure, message: impl Into<String>) -> Self {
        Self { failure, message: message.into() }
    }

    pub fn bad_arguments(message: impl Into<String>) -> Self {
        Self::new(Failure::BadArguments, message)
    }
}

/// The ways in which a call can come to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The arguments do not fit the tool's schema.
    BadArguments,
    /// There is no such tool, or it may not be called.
    UnknownTool,
    /// What was asked for is not allowed: a private address, a file that is not the item's, a blocked domain.
    Refused,
    /// What was asked for is not there.
    NotFound,
    /// It took longer than the tool's timeout.
    Timeout,
    /// More came than may be read at all.
    TooLarge,
    /// The network, the server or the program behind the tool failed.
    Unavailable,
    /// Nobody tried: the attempt was over before its turn came.
    NotCarriedOut,
}

impl Failure {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadArguments => "bad_arguments",
            Self::UnknownTool => "unknown_tool",
            Self::Refused => "refused",
            Self::NotFound => "not_found",
            Self::Timeout => "timeout",
            Self::TooLarge => "too_large",
            Self::Unavailable => "unavailable",
            Self::NotCarriedOut => "not_carried_out",
        }
    }
}
