//! One line of `records.jsonl`: what was asked, answered and scored for one sample.
//!
//! Fields are declared in canonical order, so that encoding one needs no sorting.

use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, RunId, SampleKey, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the record's shape.
pub const RECORD_SCHEMA: u32 = 1;

/// One sample of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The prompt arm.
    pub condition: String,
    /// Why there is no answer or no score; null for a success.
    pub error: Option<SampleError>,
    /// The gold answer, or null when the item has none.
    #[schemars(with = "serde_json::Value")]
    pub expected: Value,
    /// Why the model stopped, in its own words.
    pub finish_reason: Option<String>,
    pub input: Input,
    /// Names the dataset row: its id column, or the digest of the row.
    pub item_id: String,
    /// `task/item/model/condition/sample`, each part percent-encoded.
    #[schemars(with = "String")]
    pub key: SampleKey,
    /// Always null: latency is telemetry, not canon.
    pub latency_ms: Option<Never>,
    /// The model's id in the suite.
    pub model: String,
    /// Position in the run, from 0, in the suite's order.
    pub ordinal: u64,
    /// What came back; null when nothing did.
    pub output: Option<Output>,
    /// Digest of output, finish reason and error.
    #[schemars(with = "String")]
    pub output_fingerprint: Digest,
    /// The provider part of the model's name.
    pub provider: String,
    #[schemars(with = "String")]
    pub run_id: RunId,
    /// Index among the n samples of this item, model and condition.
    pub sample: u32,
    pub schema_version: u32,
    /// One entry a scorer, in the suite's order; the first one is the headline. Empty without an answer.
    pub scores: Vec<Score>,
    /// Derived from the suite's seed and the key.
    #[schemars(with = "u32")]
    pub seed: SampleSeed,
    /// A moment on the time spine, never a clock's.
    pub started_at: String,
    pub status: Status,
    pub task: String,
    pub tool_calls: u32,
    pub turns: u32,
    pub usage: Usage,
}

/// A record whose parts are still elsewhere: what a run encodes, without copying texts.
///
/// Same names in the same order as [`Record`]; a test keeps them together.
#[derive(Debug, Clone, Serialize)]
pub struct RecordRef<'a> {
    pub condition: &'a str,
    pub error: Option<&'a SampleError>,
    pub expected: &'a Value,
    pub finish_reason: Option<&'a str>,
    pub input: InputRef<'a>,
    pub item_id: &'a str,
    pub key: &'a SampleKey,
    pub latency_ms: Option<Never>,
    pub model: &'a str,
    pub ordinal: u64,
    pub output: Option<&'a Output>,
    pub output_fingerprint: Digest,
    pub provider: &'a str,
    pub run_id: RunId,
    pub sample: u32,
    pub schema_version: u32,
    pub scores: &'a [Score],
    pub seed: SampleSeed,
    pub started_at: &'a str,
    pub status: Status,
    pub task: &'a str,
    pub tool_calls: u32,
    pub turns: u32,
    pub usage: Usage,
}

/// See [`Input`].
#[derive(Debug, Clone, Serialize)]
pub struct InputRef<'a> {
    pub fingerprint: Digest,
    pub messages: &'a [Message],
}

/// How a sample ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Success,
    Error,
    Timeout,
    RateLimited,
    Skipped,
}

impl Status {
    pub const ALL: [Self; 5] = [Self::Success, Self::Error, Self::Timeout, Self::RateLimited, Self::Skipped];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::RateLimited => "rate_limited",
            Self::Skipped => "skipped",
        }
    }
}

/// What was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Digest of everything sent for the sample, secrets excepted.
    #[schemars(with = "String")]
    pub fingerprint: Digest,
    pub messages: Vec<Message>,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub content: String,
    pub role: Role,
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    System,
    User,
    Assistant,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    pub text: String,
}

/// The verdict of one scorer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// Why, in one line.
    pub explanation: String,
    pub passed: bool,
    /// The scorer's name in the suite.
    pub scorer: String,
    /// From 0 to 1.
    pub value: f64,
}

/// Tokens as the model counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
}

/// Why a sample has no answer or no score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleError {
    /// A stable word: `server`, `network`, `timeout`, `rate_limited`, `scorer`, …
    pub class: String,
    pub message: String,
}

/// A field that is present and always null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Never {}

/// Returns the digest of what came back.
pub fn output_fingerprint(
    output: Option<&Output>,
    finish_reason: Option<&str>,
    error: Option<&SampleError>,
) -> Result<Digest, proofmark_canon::json::EncodeError> {
    #[derive(Serialize)]
    struct CameBack<'a> {
        error: Option<&'a SampleError>,
        finish_reason: Option<&'a str>,
        output: Option<&'a Output>,
    }
    // A scoring error is ours, not something that came back.
    let error = error.filter(|error| error.class != SCORER_ERROR);
    proofmark_canon::to_vec(&CameBack { error, finish_reason, output }).map(|bytes| Digest::of(&bytes))
}

/// The error class of a sample whose answer came but could not be scored.
pub const SCORER_ERROR: &str = "scorer";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_record_are_one_text() {
        let run_id = RunId::from_digest(&Digest::of(b"x"));
        let key = SampleKey::new("t", "i", "m", "c", 0);
        let expected = Value::from("gold");
        let messages = [Message { content: "q".into(), role: Role::User }];
        let output = Output { text: "a".into() };
        let error = SampleError { class: "scorer".into(), message: "broke".into() };
        let scores = [Score { explanation: "e".into(), passed: true, scorer: "exact".into(), value: 0.5 }];
        let line = proofmark_canon::to_vec(&RecordRef {
            condition: "c",
            error: Some(&error),
            expected: &expected,
            finish_reason: Some("stop"),
            input: InputRef { fingerprint: Digest::of(b"in"), messages: &messages },
            item_id: "i",
            key: &key,
            latency_ms: None,
            model: "m",
            ordinal: 3,
            output: Some(&output),
            output_fingerprint: Digest::of(b"out"),
            provider: "offline",
            run_id,
            sample: 0,
            schema_version: RECORD_SCHEMA,
            scores: &scores,
            seed: SampleSeed::derive(0, "k"),
            started_at: "2000-01-01T00:00:00.000Z",
            status: Status::Error,
            task: "t",
            tool_calls: 0,
            turns: 1,
            usage: Usage::default(),
        })
        .unwrap();
        let record: Record = serde_json::from_slice(&line).unwrap();
        assert_eq!(proofmark_canon::to_vec(&record).unwrap(), line);
        assert_eq!(record.error, Some(error));
    }
}
