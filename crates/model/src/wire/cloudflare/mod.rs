//! Cloudflare's Workers AI, by its own REST interface: `/run/{model}` after a base URL that ends in `/ai`.
//!
//! - `run` models that write text; `reply` what they answer;
//! - `paint` models that make pictures;
//! - here, what both have in common: the path, the envelope, and what its errors mean.

mod paint;
mod reply;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use paint::Paint;
use proofmark_canon::Value;
pub(crate) use run::Run;

use super::parts::{self, refused};
use super::{Class, Refused, Then, refused_by_status};

/// The path of a model, whose name has slashes of its own.
fn path(model: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@/._:-".contains(c);
    if model.is_empty() || !model.chars().all(plain) || model.split('/').any(|part| part == "." || part == "..") {
        return Err(format!("`{model}` cannot be the name of a model"));
    }
    Ok(format!("/run/{model}"))
}

/// One entry of an envelope's `errors`.
struct Reported {
    code: u64,
    message: String,
}

impl Reported {
    /// The first error of an envelope: `{errors: [{code, message}]}`, or `{error}` from a gateway in front.
    fn of(envelope: &Value) -> Option<Self> {
        let errors = ["errors", "error"].iter().filter_map(|name| envelope.get(name));
        errors.map(|errors| errors.as_array().map_or(Some(errors), <[Value]>::first)).find_map(|error| {
            let error = error?;
            let message = error.get("message").unwrap_or(error).as_str()?.to_owned();
            // Some ways in put a word into `code` and leave the number in front of the message.
            let numbered = || message.split(": ").find_map(|part| part.parse().ok());
            let code = error.get("code").and_then(Value::as_u64).or_else(numbered).unwrap_or(0);
            (!message.is_empty()).then_some(Self { code, message })
        })
    }

    fn text(&self) -> String {
        if self.code == 0 { self.message.clone() } else { format!("{} (code {})", self.message, self.code) }
    }

    /// Whether a filter stopped it. The codes are shared with other failures; the words are not.
    fn is_filter(&self) -> bool {
        let said = self.message.to_ascii_lowercase();
        ["nsfw", "flagged"].iter().any(|word| said.contains(word))
    }
}

fn refuse(status: u16, body: &[u8]) -> Refused {
    let reported = match parts::refusal(status, body).map(|envelope| Reported::of(&envelope)) {
        Ok(Some(reported)) => reported,
        Ok(None) => return refused_by_status(status, parts::silent(status)),
        Err(message) => return refused_by_status(status, message),
    };
    let message = reported.text();
    if reported.is_filter() {
        return refused(Class::ContentFilter, Then::Fail, message);
    }
    match reported.code {
        // Authentication, an invalid token, a token in the wrong form.
        10_000 | 9109 | 6003 => refused(Class::Auth, Then::Stop, message),
        // An account that may not use the model, or has not agreed to its terms.
        3023 | 3041 | 5016 | 5018 => refused(Class::Auth, Then::Stop, message),
        // What the account may use in a day is used up: waiting out the retries does not help.
        3036 | 4006 => refused(Class::Auth, Then::Stop, message),
        // No such model or task; no such account.
        3042 | 5007 | 7000 | 7003 => refused(Class::BadRequest, Then::Stop, message),
        // Said of a path that leads nowhere and of a service that is down: only the words tell them apart.
        7009 if message.contains("model") => refused(Class::BadRequest, Then::Stop, message),
        7009 => refused(Class::Server, Then::Retry, message),
        3007..=3008 => refused(Class::Timeout, Then::Retry, message),
        3040 => refused(Class::RateLimited, Then::Retry, message),
        _ => refused_by_status(status, message),
    }
}
