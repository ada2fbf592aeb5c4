//! One line of `trajectories.jsonl`: the evidence of how an answer was earned.

mod single;

use proofmark_canon::json::{self, EncodeError};
use proofmark_canon::{Digest, RunId, SampleKey, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Role, Usage};
use crate::scan::Needles;

pub use single::SingleRef;

/// How much of a prompt or a model's output is kept in the clear.
pub const PROMPT_HEAD: usize = 2 * 1024;
/// How much of a tool's result is kept in the clear.
pub const RESULT_HEAD: usize = 4 * 1024;
/// How much of a tool call's arguments is kept in the clear.
pub const ARGS_HEAD: usize = 8 * 1024;

/// The steps of one attempt at a sample; there is one attempt unless the suite lets answers be voted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trajectory {
    /// Which attempt this is, from 0; absent when there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    pub final_answer: Option<String>,
    #[schemars(with = "String")]
    pub key: SampleKey,
    pub model: String,
    /// Why an agent has no final answer; absent when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_answer: Option<String>,
    #[schemars(with = "String")]
    pub run_id: RunId,
    pub steps: Vec<Step>,
    /// Why an agent stopped; absent for a single question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopReason>,
    pub task_id: String,
    pub turns: u32,
    pub usage: Usage,
}

/// Why an agent stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It gave an answer and called no tool.
    Answered,
    /// The same, but its text was cut at the most tokens that it may have.
    Length,
    /// It called the tool that hands in an answer.
    Submitted,
    MaxTurns,
    MaxToolCalls,
    MaxTokens,
    /// The sample's time was up.
    Timeout,
    /// The conversation no longer fitted into the model.
    ContextOverflow,
    /// A question to the model failed; the record says how.
    ModelError,
}

impl StopReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Length => "length",
            Self::Submitted => "submitted",
            Self::MaxTurns => "max_turns",
            Self::MaxToolCalls => "max_tool_calls",
            Self::MaxTokens => "max_tokens",
            Self::Timeout => "timeout",
            Self::ContextOverflow => "context_overflow",
            Self::ModelError => "model_error",
        }
    }
}

/// One thing that happened. Content is hashed whole; the head is what an auditor reads first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Something that the model was shown: what stands before the first answer, and what was put in later.
    Prompt {
        bytes: u64,
        #[schemars(with = "String")]
        content_sha256: Digest,
        head: String,
        role: PromptRole,
    },
    ModelOutput {
        bytes: u64,
        #[schemars(with = "String")]
        content_sha256: Digest,
        head: String,
        /// Tokens of this turn; absent for a single question, whose tokens are the trajectory's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    ToolCall {
        /// Whole, or the beginning of their canonical JSON as a string when they are longer than 8 KiB.
        #[schemars(with = "serde_json::Value")]
        args: Value,
        /// How long the canonical JSON of the arguments is; absent when they are whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args_bytes: Option<u64>,
        /// The digest of that JSON; absent when they are whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<String>")]
        args_sha256: Option<Digest>,
        args_truncated: bool,
        name: String,
    },
    ToolResult {
        /// Whether the bytes are not UTF-8; the head is what can be read of them. Absent when they are.
        #[serde(default, skip_serializing_if = "is_false")]
        binary: bool,
        bytes: u64,
        /// A commitment to the parts of the content, so that one of them can be demanded and checked; absent when the
        /// head is the whole content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chunks: Option<Chunks>,
        /// How the call failed, when it came to nothing: `timeout`, `refused`, …
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        head: String,
        is_error: bool,
        name: String,
        #[schemars(with = "String")]
        output_sha256: Digest,
        /// What was found in the whole content; absent when nothing was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scan: Option<Scan>,
        source: Option<String>,
    },
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Who speaks in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptRole {
    System,
    User,
    Assistant,
    /// What stands in the place of a tool's result.
    Tool,
}

impl PromptRole {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

impl From<Role> for PromptRole {
    fn from(role: Role) -> Self {
        match role {
            Role::System => Self::System,
            Role::User => Self::User,
            Role::Assistant => Self::Assistant,
        }
    }
}

/// A commitment to the parts of a body: the root of an RFC 6962 tree over its chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chunks {
    /// How long every chunk but the last is.
    pub chunk_bytes: u32,
    #[schemars(with = "String")]
    pub root: Digest,
}

/// What a whole content holds of the gold answer and of the question, found while it was in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scan {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gold: Vec<Hit>,
    /// Finds beyond those that are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub question: Vec<Hit>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Scan {
    pub fn is_empty(&self) -> bool {
        self.gold.is_empty() && self.question.is_empty() && self.more == 0
    }
}

/// One find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hit {
    /// The form in which it stands there.
    pub form: Form,
    /// How many bytes of the content it takes.
    pub length: u64,
    /// The first of these bytes.
    pub offset: u64,
}

/// The form in which a text was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Byte for byte.
    Verbatim,
    /// Under case, compatibility forms, diacritics, invisible characters, white space and punctuation.
    Folded,
    /// A number written otherwise: grouped digits, another number of zeros, an exponent.
    Number,
    /// The entries of a list with other separators.
    List,
    /// With HTML entities or tags.
    Html,
    /// Percent-encoded.
    Url,
    /// With JSON escapes.
    Json,
    Base64,
    Hex,
}

impl Step {
    pub fn prompt(role: impl Into<PromptRole>, content: &str) -> Self {
        Self::Prompt {
            bytes: content.len() as u64,
            content_sha256: Digest::of(content.as_bytes()),
            head: head(content, PROMPT_HEAD).to_owned(),
            role: role.into(),
        }
    }

    pub fn model_output(content: &str, usage: Option<Usage>) -> Self {
        Self::ModelOutput {
            bytes: content.len() as u64,
            content_sha256: Digest::of(content.as_bytes()),
            head: head(content, PROMPT_HEAD).to_owned(),
            usage,
        }
    }

    /// A call with its arguments, whole when their canonical JSON is short enough.
    pub fn tool_call(name: &str, args: &Value) -> Result<Self, EncodeError> {
        let bytes = json::to_vec(args)?;
        let name = name.to_owned();
        if bytes.len() <= ARGS_HEAD {
            let (args_bytes, args_sha256) = (None, None);
            return Ok(Self::ToolCall { args: args.clone(), args_bytes, args_sha256, args_truncated: false, name });
        }
        Ok(Self::ToolCall {
            args: readable_head(&bytes, ARGS_HEAD).into(),
            args_bytes: Some(bytes.len() as u64),
            args_sha256: Some(Digest::of(&bytes)),
            args_truncated: true,
            name,
        })
    }

    /// A tool's result, looked through while it is in memory. Without needles nothing is looked for.
    pub fn tool_result(
        name: &str,
        content: &[u8],
        source: Option<&str>,
        is_error: bool,
        error_class: Option<&str>,
        needles: Option<&Needles>,
    ) -> Self {
        let binary = std::str::from_utf8(content).is_err();
        let is_whole = !binary && content.len() <= RESULT_HEAD;
        Self::ToolResult {
            binary,
            bytes: content.len() as u64,
            chunks: (!is_whole).then(|| Chunks::of(content)),
            error: error_class.map(str::to_owned),
            head: readable_head(content, RESULT_HEAD),
            is_error,
            name: name.to_owned(),
            output_sha256: Digest::of(content),
            scan: needles.map(|needles| needles.scan(content)).filter(|scan| !scan.is_empty()),
            source: source.map(str::to_owned),
        }
    }
}

/// The head of bytes that need not be text: what is none is replaced, and the head is never longer than the limit.
pub fn readable_head(content: &[u8], limit: usize) -> String {
    let mut beginning = &content[..content.len().min(limit)];
    // The last character may have been cut; that alone is no reason to show a replacement for it.
    if beginning.len() < content.len()
        && let Err(error) = std::str::from_utf8(beginning)
        && error.error_len().is_none()
    {
        beginning = &beginning[..error.valid_up_to()];
    }
    let text = String::from_utf8_lossy(beginning);
    head(&text, limit).to_owned()
}

/// Returns the longest beginning of the text that has at most `limit` bytes and ends between characters.
pub fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_cut_between_characters() {
        assert_eq!(head("aé", 2), "a");
        assert_eq!(head("aé", 3), "aé");
        assert_eq!(head("", 3), "");
    }

    #[test]
    fn a_head_of_bytes_shows_no_replacement_for_a_character_that_was_cut_and_keeps_to_its_limit() {
        assert_eq!(readable_head("aé".as_bytes(), 2), "a");
        assert_eq!(readable_head("aé".as_bytes(), 3), "aé");
        assert_eq!(readable_head(b"a\xFFb", 8), "a\u{FFFD}b");
        assert_eq!(readable_head(b"a\xFFb", 3), "a", "the replacement has three bytes");
        assert_eq!(readable_head(b"", 4), "");
    }

    #[test]
    fn a_result_commits_to_its_chunks_unless_its_head_is_whole() {
        let head_of = |content: &[u8]| {
            let step = Step::tool_result("t", content, None, false, None, None);
            let Step::ToolResult { binary, bytes, chunks, head, output_sha256, scan, .. } = step else { panic!() };
            assert_eq!((bytes, output_sha256, scan), (content.len() as u64, Digest::of(content), None));
            assert_eq!(chunks, (binary || content.len() > RESULT_HEAD).then(|| Chunks::of(content)));
            (head, binary)
        };
        assert_eq!(head_of(b""), (String::new(), false));
        assert_eq!(head_of(b"a\xFF"), ("a\u{FFFD}".to_owned(), true));
        assert_eq!(head_of(&vec![b'x'; RESULT_HEAD]), ("x".repeat(RESULT_HEAD), false));
        assert_eq!(head_of(&vec![b'x'; RESULT_HEAD + 1]), ("x".repeat(RESULT_HEAD), false));
        let cut = format!("{}é", "x".repeat(RESULT_HEAD - 1));
        assert_eq!(head_of(cut.as_bytes()), ("x".repeat(RESULT_HEAD - 1), false), "the last character does not fit");
    }

    #[test]
    fn a_result_says_what_it_holds_beyond_its_head() {
        let needles = Needles::new(&Value::from("Paris"), "");
        let content = format!("{} PARIS", "x".repeat(5000));
        let step =
            Step::tool_result("fetch", content.as_bytes(), Some("https://x"), true, Some("timeout"), Some(&needles));
        let bytes = json::to_vec(&step).unwrap();
        let Step::ToolResult { scan, error, source, name, is_error, .. } = &step else { panic!() };
        assert_eq!(
            (name.as_str(), source.as_deref(), error.as_deref(), *is_error),
            ("fetch", Some("https://x"), Some("timeout"), true)
        );
        assert_eq!(scan.as_ref().unwrap().gold, [Hit { form: Form::Folded, length: 5, offset: 5001 }]);
        assert_eq!(serde_json::from_slice::<Step>(&bytes).unwrap(), step);
        let nothing = Step::tool_result("fetch", b"nothing", None, false, None, Some(&needles));
        assert_eq!(json::to_vec(&nothing).unwrap().windows(6).filter(|part| part == b"\"scan\"").count(), 0);
    }

    #[test]
    fn arguments_are_whole_up_to_exactly_eight_kib() {
        // The quotation marks count too.
        for (length, is_cut) in [(ARGS_HEAD - 2, false), (ARGS_HEAD - 1, true), (ARGS_HEAD * 3, true)] {
            let value = Value::from("x".repeat(length));
            let step = Step::tool_call("t", &value).unwrap();
            let Step::ToolCall { args, args_bytes, args_sha256, args_truncated, .. } = step else { panic!() };
            assert_eq!(args_truncated, is_cut, "{length}");
            assert_eq!(args_bytes, is_cut.then_some(length as u64 + 2));
            assert_eq!(args_sha256.is_some(), is_cut);
            let text = args.as_str().unwrap();
            assert!(text.len() <= ARGS_HEAD);
            assert_eq!(text == "x".repeat(length), !is_cut);
        }
    }
}
