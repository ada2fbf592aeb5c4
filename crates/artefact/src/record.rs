//! One line of `records.jsonl`: what was asked, answered and scored for one sample.
//!
//! Fields are declared in canonical order, so that encoding one needs no sorting.

use std::borrow::Cow;

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
    /// Why the model stopped: `stop`, `length` or `tool_calls`, whatever its provider calls it; else in its own words.
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
    /// How the answer was chosen among several attempts; absent when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voting: Option<Voting>,
}

/// How an answer was chosen among several attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Voting {
    /// What each attempt answered, in order; null for one without an answer.
    pub answers: Vec<Option<String>>,
    /// Which attempt's answer counts; null when none does.
    pub chosen: Option<u32>,
    pub rule: VotingRule,
    /// How many attempts gave that answer, under the comparison that votes use.
    pub votes: u32,
}

/// How an attempt was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VotingRule {
    /// Its answer had more votes than any other.
    Majority,
    /// Several answers had equally many votes; the one given first counts.
    TieFirst,
    /// Several answers had equally many votes; the one given last counts.
    TieLast,
    /// Several answers had equally many votes, and the suite says that none counts then.
    TieNoAnswer,
    /// No attempt had an answer.
    NoAnswers,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voting: Option<&'a Voting>,
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
    /// Images and files that are sent with the text; absent when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    pub content: String,
    pub role: Role,
}

impl Message {
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self { attachments: Vec::new(), content: content.into(), role }
    }
}

/// A file that is sent with a message. Its bytes stay where they are; the digest pins them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    pub bytes: u64,
    #[schemars(with = "String")]
    pub digest: Digest,
    /// `image/png`, `application/pdf`, …
    pub media_type: String,
    /// The file's path, relative to the suite's root.
    pub name: String,
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

/// What came back. Members other than the text are absent when there is nothing to say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The model that the provider says has answered, word for word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// Pictures that the model made; the bytes are in `outputs/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Log-probabilities of the tokens of the text, where they were asked for and given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logprobs: Vec<TokenLogprob>,
    /// What the model wrote before its answer, where the provider shows it. It is not scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    pub text: String,
    /// Tools that the model wants called, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
}

impl Output {
    /// A plain answer.
    pub fn of_text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// What scorers see: the text, or the tool calls as canonical JSON when there is no text.
    pub fn answer(&self) -> Cow<'_, str> {
        if !self.text.is_empty() || self.tool_calls.is_empty() {
            return Cow::Borrowed(&self.text);
        }
        let bytes = proofmark_canon::to_vec(&self.tool_calls).unwrap_or_default();
        Cow::Owned(String::from_utf8(bytes).unwrap_or_default())
    }
}

/// A picture that a model made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Image {
    pub bytes: u64,
    /// Names the file: `outputs/<64 hex digits>.<extension>`.
    #[schemars(with = "String")]
    pub digest: Digest,
    pub height: u32,
    pub media_type: String,
    pub width: u32,
}

/// How likely a token was, and what else was likely.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenLogprob {
    pub logprob: f64,
    pub token: String,
    /// The likeliest tokens at this place; absent when they were not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<TopLogprob>,
}

/// One token that could have stood there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopLogprob {
    pub logprob: f64,
    pub token: String,
}

/// A tool that the model wants called. The provider's id of the call is telemetry, not canon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// As parsed; a text when the model wrote something that is not JSON.
    #[schemars(with = "serde_json::Value")]
    pub arguments: Value,
    pub name: String,
}

/// The verdict of one scorer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// Why, in one line.
    pub explanation: String,
    /// How a judge scorer came to it; absent for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<Judged>,
    pub passed: bool,
    /// The scorer's name in the suite.
    pub scorer: String,
    /// From 0 to 1.
    pub value: f64,
}

/// How a judge scorer came to its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judged {
    /// How many opinions are against the verdict.
    pub dissent: u32,
    /// What each judge said, by judge, then by vote, then by order; empty when no judge was asked.
    pub opinions: Vec<Opinion>,
    pub stage: Stage,
}

/// What decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// There is no answer to judge.
    Empty,
    /// The answer is the target.
    Exact,
    /// They are the same without case, punctuation and further white space.
    Normalised,
    /// The judges.
    Judge,
}

/// One judgment, as it counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Opinion {
    /// The judge's id in the suite.
    pub judge: String,
    /// Names the judgment in `judgments.jsonl`.
    #[schemars(with = "String")]
    pub key: Digest,
    /// Where the answer stood in a comparison of two; absent for a single answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    pub passed: bool,
    pub reason: String,
    /// The number it gave, where the suite asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    pub usage: Usage,
    /// From 0 to 1.
    pub value: f64,
    pub verdict: String,
    pub vote: u32,
}

/// Where the answer stands when two are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    AnswerFirst,
    AnswerSecond,
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

/// Returns the digest of what came back: the answer, why it ended, or the error.
///
/// Who answered and how likely each token was are left out: they may change while the answer does not.
pub fn output_fingerprint(
    output: Option<&Output>,
    finish_reason: Option<&str>,
    error: Option<&SampleError>,
) -> Result<Digest, proofmark_canon::json::EncodeError> {
    #[derive(Serialize)]
    struct CameBack<'a> {
        error: Option<&'a SampleError>,
        finish_reason: Option<&'a str>,
        output: Option<Answer<'a>>,
    }
    #[derive(Serialize)]
    struct Answer<'a> {
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        images: &'a [Image],
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<&'a str>,
        text: &'a str,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        tool_calls: &'a [ToolCall],
    }
    let output = output.map(|output| Answer {
        images: &output.images,
        reasoning: output.reasoning.as_deref(),
        text: &output.text,
        tool_calls: &output.tool_calls,
    });
    // A scoring error is ours, not something that came back.
    let error = error.filter(|error| error.class != SCORER_ERROR);
    proofmark_canon::to_vec(&CameBack { error, finish_reason, output }).map(|bytes| Digest::of(&bytes))
}

/// The error class of a sample whose answer came but could not be scored.
pub const SCORER_ERROR: &str = "scorer";
/// The error class of a sample for which given outputs have no answer.
pub const MISSING_OUTPUT: &str = "missing_output";
/// The error class of a sample for which given outputs have an error without a class of ours.
pub const REPORTED_ERROR: &str = "reported";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_record_are_one_text() {
        let run_id = RunId::from_digest(&Digest::of(b"x"));
        let key = SampleKey::new("t", "i", "m", "c", 0);
        let expected = Value::from("gold");
        let messages = [Message::new(Role::User, "q")];
        let output = Output::of_text("a");
        let error = SampleError { class: "scorer".into(), message: "broke".into() };
        let scores = [Score { explanation: "e".into(), judge: None, passed: true, scorer: "exact".into(), value: 0.5 }];
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
            voting: None,
        })
        .unwrap();
        let record: Record = serde_json::from_slice(&line).unwrap();
        assert_eq!(proofmark_canon::to_vec(&record).unwrap(), line);
        assert_eq!(record.error, Some(error));
    }
}
