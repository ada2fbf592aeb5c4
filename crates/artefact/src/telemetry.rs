//! One line of `telemetry.jsonl`: an attempt to get an answer, with its timing. Plane 2: nothing of it is canon.

use proofmark_canon::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One attempt: a request that was sent, or a program that was started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// When it began, RFC 3339, from this machine's clock.
    pub at: String,
    /// From 1; a retry is the next attempt of the same call.
    pub attempt: u32,
    /// Input tokens that the provider took from its cache, where it says so.
    pub cached_input_tokens: Option<u64>,
    /// Which call of the sample, from 0: a task of several turns makes several.
    pub call: u32,
    /// What went wrong, as in records; null for an answer.
    pub class: Option<String>,
    /// Scheme, host and path; never a query.
    pub endpoint: String,
    /// Milliseconds until the first byte of the reply; null when none came.
    pub first_byte_ms: Option<f64>,
    /// The sample's key.
    pub key: String,
    /// Milliseconds from the first byte sent to the last byte read.
    pub latency_ms: f64,
    /// The model's id in the suite.
    pub model: String,
    /// The model that the provider says has answered.
    pub model_returned: Option<String>,
    /// The sample's position in the run.
    pub ordinal: u64,
    /// What came of it.
    pub outcome: AttemptOutcome,
    pub request_bytes: u64,
    /// The request's name in a cassette; left out when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub request_digest: Option<Digest>,
    /// The provider's own name of the request, to ask it about.
    pub request_id: Option<String>,
    pub response_bytes: u64,
    /// The pause that the provider asked for.
    pub retry_after_ms: Option<f64>,
    /// HTTP status, or a program's exit code; null when there was none.
    pub status: Option<i32>,
    /// Milliseconds spent waiting for a place under the limits, before it began.
    pub waited_ms: f64,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// The reply counts.
    Answered,
    /// The sample failed with it.
    Failed,
    /// Another attempt follows.
    Retried,
    /// The run stopped with it.
    Stopped,
}
