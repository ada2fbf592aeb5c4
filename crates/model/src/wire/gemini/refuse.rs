//! What Gemini's errors mean.

use proofmark_canon::Value;

use super::super::{Refused, Then, parse_reply, refused_by_status};
use crate::class::Class;

pub(super) fn refuse(status: u16, body: &[u8]) -> Refused {
    let reply = parse_reply(body).unwrap_or_default();
    let error = error_of(&reply);
    let part = |name| error.and_then(|error| error.get(name)).and_then(Value::as_str);
    let word = part("status").unwrap_or_default();
    let message = part("message").unwrap_or(if word.is_empty() { NO_REASON } else { word });
    let (class, then) = match word {
        _ if error.is_some_and(is_wrong_key) => (Class::Auth, Then::Stop),
        "UNAUTHENTICATED" | "PERMISSION_DENIED" => (Class::Auth, Then::Stop),
        "NOT_FOUND" => (Class::BadRequest, Then::Stop),
        "RESOURCE_EXHAUSTED" => (Class::RateLimited, Then::Retry),
        "UNAVAILABLE" | "INTERNAL" | "CANCELLED" => (Class::Server, Then::Retry),
        "DEADLINE_EXCEEDED" => (Class::Timeout, Then::Retry),
        // Not a matter of the request, but of where it comes from.
        "FAILED_PRECONDITION" if message.contains("location is not supported") => (Class::Auth, Then::Stop),
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" => (Class::BadRequest, Then::Fail),
        _ => return refused_by_status(status, message),
    };
    Refused { class, message: message.to_owned(), then }
}

/// What an error inside of a reply says about itself; `None` when the reply is none.
pub(super) fn error_text(reply: &Value) -> Option<String> {
    let error = error_of(reply)?;
    let part = |name| error.get(name).and_then(Value::as_str);
    Some(match (part("status"), part("message")) {
        (Some(word), Some(message)) => format!("{word}: {message}"),
        (Some(only), None) | (None, Some(only)) => only.to_owned(),
        (None, None) => "an error without a reason".to_owned(),
    })
}

/// The error of a reply; a stream's comes in a list of one.
fn error_of(reply: &Value) -> Option<&Value> {
    match reply {
        Value::Array(items) => items.first()?.get("error"),
        other => other.get("error"),
    }
}

/// A wrong key is an invalid argument by its status; the details say which.
fn is_wrong_key(error: &Value) -> bool {
    let details = error.get("details").and_then(Value::as_array).unwrap_or_default();
    let reason = |detail: &Value| detail.get("reason").and_then(Value::as_str) == Some("API_KEY_INVALID");
    let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
    details.iter().any(reason) || message.contains("API key not valid")
}

const NO_REASON: &str = "the provider gave no reason that can be read";
