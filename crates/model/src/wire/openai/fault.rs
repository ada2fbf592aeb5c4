//! What an error of an OpenAI server means, with a status of its own or inside of a reply.

use proofmark_canon::Value;

use super::fields::member;
use crate::class::Class;
use crate::wire::{Completion, Finish, Refused, Then, WireError, parse_reply, refused_by_status};

/// An error as the server tells it.
#[derive(Debug, Default)]
pub(super) struct Fault {
    message: String,
    /// `type`, `code` and their like: stable words, unlike the message.
    words: Vec<String>,
    /// OpenRouter's moderation names what it did not like.
    flagged: bool,
}

/// Words for: the prompt or the answer is against a policy.
const FILTER: &[&str] = &[
    "content_filter",
    "content_policy_violation",
    "image_content_policy_violation",
    "invalid_prompt",
    "moderation_blocked",
    "ResponsibleAIPolicyViolation",
];

/// Words for: nobody pays. Some come with status 429, where waiting does not help.
const NO_CREDIT: &[&str] =
    &["insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "payment_required"];

/// Words for: there is no such model.
const NO_MODEL: &[&str] = &["model_not_found", "model_not_supported", "model_decommissioned", "DeploymentNotFound"];

/// What a reply with an HTTP status of 400 and above means.
pub(super) fn refuse(status: u16, body: &[u8]) -> Refused {
    let Ok(reply) = parse_reply(body) else {
        // A proxy's page, or nothing at all; its text helps nobody.
        return refused_by_status(status, format!("the server answered {status} with a body that is not JSON"));
    };
    let fault = Fault::told(&reply).unwrap_or_default();
    let message = match fault.message.is_empty() {
        true => format!("the server answered {status} and gave no reason"),
        false => fault.message.clone(),
    };
    let known = if fault.is(NO_CREDIT) || fault.is(&["invalid_api_key"]) {
        Some((Class::Auth, Then::Stop))
    } else if fault.is(NO_MODEL) {
        Some((Class::BadRequest, Then::Stop))
    } else if fault.is_filter() && status < 500 {
        Some((Class::ContentFilter, Then::Fail))
    } else if fault.is(&["context_length_exceeded"]) {
        Some((Class::BadRequest, Then::Fail))
    } else {
        None
    };
    match known {
        Some((class, then)) => Refused { class, message, then },
        None => refused_by_status(status, message),
    }
}

impl Fault {
    /// An error in the place of an answer, or beside one, although the status was 200.
    pub(super) fn inside(reply: &Value) -> Option<Self> {
        if let Some(error) = member(reply, "error") {
            return Some(Self::read(error));
        }
        let is_error = reply.get("object").and_then(Value::as_str) == Some("error");
        is_error.then(|| Self::read(reply))
    }

    /// An error in the body of a refusal, in whichever of the usual shapes.
    fn told(reply: &Value) -> Option<Self> {
        let reply = reply.as_array().and_then(<[Value]>::first).unwrap_or(reply);
        Self::inside(reply).or_else(|| {
            let message = ["message", "detail"].iter().find_map(|name| reply.get(name)?.as_str())?;
            Some(Self { message: message.to_owned(), ..Self::default() })
        })
    }

    /// Reads an error object, or a text that stands for one.
    pub(super) fn read(error: &Value) -> Self {
        if let Some(message) = error.as_str() {
            return Self { message: message.to_owned(), ..Self::default() };
        }
        let metadata = error.get("metadata");
        // OpenRouter's `invalid_prompt` is a wrong message; OpenAI's, which is a `code`, is one against its policy.
        let deep = metadata.and_then(|metadata| metadata.get("error_type"));
        let deep = deep.filter(|word| word.as_str() != Some("invalid_prompt"));
        let inner = error.get("innererror").and_then(|inner| inner.get("code"));
        let words = [error.get("code"), error.get("type"), inner, deep];
        let words: Vec<String> = words.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
        let message = if message.is_empty() { words.join(", ") } else { message.to_owned() };
        let flagged = metadata.is_some_and(|metadata| {
            member(metadata, "flagged_input").is_some()
                || metadata.get("reasons").and_then(Value::as_array).is_some_and(|reasons| !reasons.is_empty())
        });
        Self { message, words, flagged }
    }

    pub(super) fn is_filter(&self) -> bool {
        self.flagged || self.is(FILTER)
    }

    fn is(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(&word.as_str()))
    }

    pub(super) fn into_message(self) -> String {
        if self.message.is_empty() { "the provider reports an error without a reason".to_owned() } else { self.message }
    }

    /// An error in the place of an answer: a filter's work is an end like others, the rest is the server's failure.
    pub(super) fn into_reply(self) -> Result<Completion, WireError> {
        if self.is_filter() {
            let finish = Finish::Filtered(self.into_message());
            return Ok(Completion { finish, ..Completion::default() });
        }
        Err(WireError::server(self.into_message()))
    }
}
