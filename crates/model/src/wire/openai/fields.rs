//! Reading members of a reply: a missing one and null are the same, anything unexpected is malformed.

use proofmark_artefact::record::{TokenLogprob, TopLogprob};
use proofmark_canon::{Map, Value, json};

use crate::wire::WireError;

/// No reply has a trillion tokens; and a sum of such counts never overflows.
const MAX_COUNT: u64 = 1 << 40;

/// How deep a call's arguments may nest and still be read as JSON. A record holds them some levels down, and its
/// readers stop at 128.
const MAX_ARGUMENT_DEPTH: usize = 64;

pub(super) fn member<'a>(of: &'a Value, name: &str) -> Option<&'a Value> {
    of.get(name).filter(|value| !value.is_null())
}

pub(super) fn text<'a>(of: &'a Value, name: &str) -> Result<Option<&'a str>, WireError> {
    match member(of, name) {
        None => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or_else(|| unexpected(name, value, "a text")),
    }
}

/// An empty list when there is none.
pub(super) fn list<'a>(of: &'a Value, name: &str) -> Result<&'a [Value], WireError> {
    match member(of, name) {
        None => Ok(&[]),
        Some(value) => value.as_array().ok_or_else(|| unexpected(name, value, "a list")),
    }
}

pub(super) fn object<'a>(of: &'a Value, name: &str) -> Result<Option<&'a Value>, WireError> {
    match member(of, name) {
        None => Ok(None),
        Some(value @ Value::Object(_)) => Ok(Some(value)),
        Some(value) => Err(unexpected(name, value, "an object")),
    }
}

pub(super) fn count(of: &Value, name: &str) -> Result<Option<u64>, WireError> {
    match member(of, name) {
        None => Ok(None),
        Some(value) => match value.as_u64().filter(|count| *count <= MAX_COUNT) {
            Some(count) => Ok(Some(count)),
            None => Err(unexpected(name, value, "a count")),
        },
    }
}

pub(super) fn unexpected(name: &str, value: &Value, expected: &str) -> WireError {
    WireError::malformed(format!("`{name}` of the reply is {}, expected {expected}", value.kind()))
}

/// The arguments of a call, which come as JSON text. Text that is no JSON stays as the model wrote it, and so does
/// a JSON string: a text then always means "as written", and [`arguments_text`] gives it back unchanged.
pub(super) fn arguments(text: &str) -> Value {
    // Some servers write nothing for a tool without parameters.
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match json::parse(text.as_bytes()) {
        Ok(value) if value.as_str().is_none() && !is_deeper(&value, MAX_ARGUMENT_DEPTH) => value,
        _ => Value::String(text.to_owned()),
    }
}

/// The JSON text of a call's arguments, to be sent back.
pub(super) fn arguments_text(arguments: &Value) -> String {
    arguments.to_plain_text()
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| is_deeper(item, levels - 1)),
        Value::Object(map) => levels == 0 || map.iter().any(|(_, item)| is_deeper(item, levels - 1)),
        _ => false,
    }
}

/// Appends the log-probabilities of tokens.
pub(super) fn logprobs(items: &[Value], into: &mut Vec<TokenLogprob>) -> Result<(), WireError> {
    for item in items {
        let (token, logprob) = token(item)?;
        let top = list(item, "top_logprobs")?.iter().map(|other| {
            let (token, logprob) = self::token(other)?;
            Ok(TopLogprob { logprob, token })
        });
        into.push(TokenLogprob { logprob, token, top: top.collect::<Result<_, WireError>>()? });
    }
    Ok(())
}

fn token(item: &Value) -> Result<(String, f64), WireError> {
    let token = text(item, "token")?;
    let logprob = item.get("logprob").and_then(Value::as_f64);
    match (token, logprob) {
        (Some(token), Some(logprob)) => Ok((token.to_owned(), logprob)),
        _ => Err(WireError::malformed("a log-probability of the reply has no `token` or no `logprob`")),
    }
}

/// The model that the provider names.
pub(super) fn model(of: &Value) -> Result<Option<String>, WireError> {
    Ok(text(of, "model")?.filter(|name| !name.is_empty()).map(str::to_owned))
}

/// A word of the provider that ends up in a record, never longer than a word.
pub(super) fn word(text: &str) -> String {
    text.chars().take(64).collect()
}
