//! Calls of tools: in steps of their own, or within what the model said.

use std::borrow::Cow;

use proofmark_canon::{Digest, Map, Value, json};

use super::{digest, is_about, plain};
use crate::input::fields::first;

/// A call of a tool.
#[derive(Debug)]
pub struct Call<'v> {
    pub name: &'v str,
    /// Everything that the step says of what was asked, each under the name of its member; arguments proper under none.
    pub args: Vec<(&'v str, Cow<'v, Value>)>,
    pub extent: Args,
}

/// How much of the arguments is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Args {
    Whole,
    Part,
    Absent,
}

const NAME: &[&str] = &["name", "tool", "tool_name", "function_name", "function", "action"];
const ARGS: &[&str] = &["args", "arguments", "input", "parameters"];
/// Members of a call that are what came of it.
pub(super) const CAME_BACK: &[&str] = &["output", "result", "observation", "tool_output", "response", "error"];
/// Members of a call that are about why it was made.
const THOUGHTS: &[&str] =
    &["thought", "thoughts", "reason", "reasoning", "description", "explanation", "log", "comment"];
const CALLS: &[&str] = &["tool_calls", "toolCalls", "function_call", "functionCall", "tool_uses"];

impl<'v> Call<'v> {
    /// Reads a call. A command may stand under any name: whatever is not about the step is an argument.
    pub fn of(map: &'v Map) -> Self {
        // Some wrap name and arguments once more.
        let inner = map.get("function").and_then(Value::as_object);
        let name = inner.and_then(|inner| first(inner, NAME)).or_else(|| first(map, NAME));
        let mut args = Vec::new();
        for (name, value) in inner.into_iter().flat_map(Map::iter).chain(map.iter()) {
            let is_name = NAME.contains(&name) && value.as_str().is_some() || name == "function" && inner.is_some();
            let is_number = matches!(value, Value::Bool(_) | Value::Number(_) | Value::Null) && !ARGS.contains(&name);
            if is_name || is_number || is_about(name, value) || CAME_BACK.contains(&name) {
                continue;
            }
            args.push((if ARGS.contains(&name) { "" } else { name }, read(value)));
        }
        let is_bare = args.iter().all(|(name, _)| THOUGHTS.contains(name));
        let extent = extent(inner.unwrap_or(map), map, is_bare);
        Self { name: name.and_then(|(_, value)| value.as_str()).unwrap_or_default(), args, extent }
    }
}

/// Arguments that are JSON in a text are what that says.
fn read(value: &Value) -> Cow<'_, Value> {
    match value {
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            json::parse(text.as_bytes()).map_or(Cow::Borrowed(value), Cow::Owned)
        }
        _ => Cow::Borrowed(value),
    }
}

fn extent(inner: &Map, map: &Map, is_bare: bool) -> Args {
    let is_cut =
        ["args_truncated", "truncated"].iter().any(|name| map.get(name).and_then(Value::as_bool) == Some(true));
    if is_cut {
        return Args::Part;
    }
    let recorded = map.get("args_sha256").and_then(Value::as_str);
    let agrees = |text: &str| match recorded {
        Some(recorded) => digest(recorded).is_some_and(|recorded| recorded == Digest::of(text.as_bytes())),
        None => false,
    };
    match (first(inner, ARGS), map.get("head")) {
        // The digest of a text is that of its bytes. Nobody knows how somebody else wrote down a structure.
        (Some((_, Value::String(text))), _) if recorded.is_some() && !agrees(text) => Args::Part,
        (Some(_), _) => Args::Whole,
        // A head alone is not seen, unless the digest is its own.
        (None, Some(Value::String(head))) if agrees(head) => Args::Whole,
        (None, Some(_)) => Args::Part,
        (None, None) if recorded.is_some() => Args::Part,
        (None, None) if is_bare && !ARGS.iter().any(|name| inner.contains(name)) => Args::Absent,
        (None, None) => Args::Whole,
    }
}

/// The calls within something that the model said: lists of them, and blocks that say so.
pub(super) fn find<'v>(name: &str, value: &'v Value, calls: &mut Vec<Call<'v>>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| find(name, item, calls)),
        Value::Object(map) => {
            let kind = plain(map.get("type").and_then(Value::as_str).unwrap_or_default());
            if CALLS.contains(&name) || matches!(kind.as_str(), "tooluse" | "functioncall" | "toolcall") {
                calls.push(Call::of(map));
            } else {
                map.iter().for_each(|(name, value)| find(name, value, calls));
            }
        }
        _ => {}
    }
}
