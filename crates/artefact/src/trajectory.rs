//! One line of `trajectories.jsonl`: the evidence of how an answer was earned.

use proofmark_canon::{Digest, RunId, SampleKey, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Role, Usage};

/// How much of a prompt or a model's output is kept in the clear.
pub const PROMPT_HEAD: usize = 2 * 1024;
/// How much of a tool's result is kept in the clear.
pub const RESULT_HEAD: usize = 4 * 1024;
/// How much of a tool call's arguments is kept in the clear.
pub const ARGS_HEAD: usize = 8 * 1024;

/// The steps of one sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trajectory {
    pub final_answer: Option<String>,
    #[schemars(with = "String")]
    pub key: SampleKey,
    pub model: String,
    #[schemars(with = "String")]
    pub run_id: RunId,
    pub steps: Vec<Step>,
    pub task_id: String,
    pub turns: u32,
    pub usage: Usage,
}

/// One thing that happened. Content is hashed whole; the head is what an auditor reads first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    Prompt {
        bytes: u64,
        #[schemars(with = "String")]
        content_sha256: Digest,
        head: String,
        role: Role,
    },
    ModelOutput {
        bytes: u64,
        #[schemars(with = "String")]
        content_sha256: Digest,
        head: String,
    },
    ToolCall {
        #[schemars(with = "serde_json::Value")]
        args: Value,
        args_truncated: bool,
        name: String,
    },
    ToolResult {
        bytes: u64,
        head: String,
        is_error: bool,
        name: String,
        #[schemars(with = "String")]
        output_sha256: Digest,
        source: Option<String>,
    },
}

impl Step {
    pub fn prompt(role: Role, content: &str) -> Self {
        Self::Prompt {
            bytes: content.len() as u64,
            content_sha256: Digest::of(content.as_bytes()),
            head: head(content, PROMPT_HEAD).to_owned(),
            role,
        }
    }

    pub fn model_output(content: &str) -> Self {
        Self::ModelOutput {
            bytes: content.len() as u64,
            content_sha256: Digest::of(content.as_bytes()),
            head: head(content, PROMPT_HEAD).to_owned(),
        }
    }
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
}
