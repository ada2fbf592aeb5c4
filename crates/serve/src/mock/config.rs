//! What can be set.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use proofmark_model::Secret;
use proofmark_model::offline::Script;

use super::{Faults, Latency};

/// How a mock provider behaves. The default answers everybody at once, with an echo, on a free port.
#[derive(Default)]
pub struct Config {
    /// On loopback; 0 takes a free one.
    pub port: u16,
    /// How many threads serve; 0 and 1 are one.
    pub threads: usize,
    pub answers: Answers,
    /// The model that replies name, instead of the one that was asked for.
    pub answer_as: Option<String>,
    /// The one key that is let in; any, or none, otherwise.
    pub key: Option<Secret>,
    pub latency: Latency,
    pub faults: Faults,
    /// How often a request that has a fault fails before it succeeds.
    pub fault_times: Times,
    /// Over how long a [`super::Fault::Slow`] body is spread.
    pub slow: Option<Duration>,
    /// Sent with status 429.
    pub retry_after_secs: Option<u32>,
    /// Requests a second above which status 429 comes.
    pub rate_limit: Option<u32>,
    /// Requests at once above which status 529 (Anthropic) or 429 comes.
    pub max_concurrent: Option<u32>,
    /// Where the counts are written at the end.
    pub stats: Option<PathBuf>,
    /// Where a line for every request is appended.
    pub log: Option<PathBuf>,
}

impl Config {
    pub(super) fn slow(&self) -> Duration {
        self.slow.unwrap_or(Duration::from_secs(2))
    }
}

/// What is answered to a prompt.
#[derive(Default)]
pub enum Answers {
    /// The prompt.
    #[default]
    Echo,
    /// What the script has for it, or else the prompt.
    Script(Box<Script>),
}

/// How often something happens to the same request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    AtMost(u32),
    Always,
}

impl Default for Times {
    fn default() -> Self {
        Self::AtMost(1)
    }
}

impl FromStr for Times {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "always" => Ok(Self::Always),
            number => {
                number.parse().map(Self::AtMost).map_err(|_| format!("`{number}` is neither a number nor `always`"))
            }
        }
    }
}
