//! What came of a sample besides its reply, as the journal keeps it.

use proofmark_artefact::record::{Output, Status, Usage, Voting};
use proofmark_artefact::trajectory::{Step, StopReason};
use proofmark_model::Reply;
use serde::{Deserialize, Serialize};

/// How an answer was earned: every attempt at it, and how one was chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Earned {
    pub attempts: Vec<Attempt>,
    /// `None` when there was one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voting: Option<Voting>,
}

/// One attempt at a sample.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failed>,
    pub final_answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_answer: Option<String>,
    pub steps: Vec<Step>,
    /// Always there once the attempt has ended.
    pub stop: Option<StopReason>,
    pub tool_calls: u32,
    pub turns: u32,
    pub usage: Usage,
}

/// A question that failed, and ended the attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failed {
    pub class: String,
    pub message: String,
    pub status: Status,
}

impl Earned {
    pub fn turns(&self) -> u32 {
        self.attempts.iter().map(|attempt| attempt.turns).sum()
    }

    pub fn tool_calls(&self) -> u32 {
        self.attempts.iter().map(|attempt| attempt.tool_calls).sum()
    }

    /// What the sample came to: the chosen attempt's answer, an empty one when no attempt gave any, or a failure when
    /// every attempt failed.
    pub fn reply(&self) -> Reply {
        let usage = self.attempts.iter().fold(Usage::default(), |sum, attempt| Usage {
            input_tokens: sum.input_tokens + attempt.usage.input_tokens,
            output_tokens: sum.output_tokens + attempt.usage.output_tokens,
        });
        if let Some(first) = self.attempts.first().and_then(|attempt| attempt.failed.as_ref())
            && self.attempts.iter().all(|attempt| attempt.failed.is_some())
        {
            let Failed { class, message, status } = first.clone();
            return Reply::Failed { class, message, status, usage };
        }
        let chosen = match &self.voting {
            None => self.attempts.first(),
            Some(voting) => voting.chosen.and_then(|at| self.attempts.get(at as usize)),
        };
        let text = chosen.and_then(|attempt| attempt.final_answer.clone()).unwrap_or_default();
        let stop = match chosen.map(|attempt| (attempt.stop, &attempt.final_answer)) {
            // It ended by itself, with a text that holds no answer. Every other reason to stop says why there is none.
            None | Some((None, _) | (Some(StopReason::Answered), None)) => "no_answer",
            Some((Some(stop), _)) => stop.as_str(),
        };
        let answered_by = chosen.or(self.attempts.last()).and_then(|attempt| attempt.answered_by.clone());
        let output = Output { answered_by, ..Output::of_text(text) };
        Reply::Answered { finish_reason: stop.to_owned(), output, usage }
    }
}
