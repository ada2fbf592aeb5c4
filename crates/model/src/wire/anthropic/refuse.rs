//! What Anthropic's errors mean.

use proofmark_canon::Value;

use super::super::{Refused, Then, parse_reply, refused_by_status};
use crate::class::Class;

pub(super) fn refuse(status: u16, body: &[u8]) -> Refused {
    let reply = parse_reply(body).unwrap_or_default();
    let error = reply.get("error");
    let part = |name| error.and_then(|error| error.get(name)).and_then(Value::as_str);
    let kind = part("type").unwrap_or_default();
    let message = part("message").unwrap_or(if kind.is_empty() { NO_REASON } else { kind });
    let (class, then) = match kind {
        "authentication_error" | "permission_error" | "billing_error" => (Class::Auth, Then::Stop),
        "not_found_error" => (Class::BadRequest, Then::Stop),
        "rate_limit_error" | "overloaded_error" => (Class::RateLimited, Then::Retry),
        "api_error" => (Class::Server, Then::Retry),
        "timeout_error" => (Class::Timeout, Then::Retry),
        "invalid_request_error" if is_money(message) => (Class::Auth, Then::Stop),
        "invalid_request_error" if is_filter(message) => (Class::ContentFilter, Then::Fail),
        "invalid_request_error" | "request_too_large" => (Class::BadRequest, Then::Fail),
        _ => return refused_by_status(status, message),
    };
    Refused { class, message: message.to_owned(), then }
}

/// No credit, or a spend limit: the provider calls both an invalid request.
fn is_money(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("credit balance is too low") || message.contains("specified api usage limits")
}

/// The output filter has no error type of its own.
pub(super) fn is_filter(message: &str) -> bool {
    message.to_ascii_lowercase().contains("blocked by content filtering policy")
}

const NO_REASON: &str = "the provider gave no reason that can be read";
