//! Pieces that several wires are made of: attachments, tools, turns, calls, usage, the text of a refusal.
//!
//! Only what these providers write in the same way; where one differs, it has its own.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use proofmark_artefact::record::{Message, Role, ToolCall, Usage};
use proofmark_canon::{Number, Value, json};

use super::{Body, Class, Completion, Finish, Refused, Then, WireError, parse_reply};
use crate::ask::{Request, Turn};

/// A message's content as it can be sent.
pub(super) struct Content<'a> {
    /// The message and its text files, one after the other.
    pub(super) text: String,
    pub(super) images: Vec<Image<'a>>,
}

/// A picture that goes out with a message.
pub(super) struct Image<'a> {
    media_type: &'a str,
    bytes: &'a [u8],
}

impl Image<'_> {
    pub(super) fn base64(&self) -> String {
        BASE64.encode(self.bytes)
    }

    fn data_url(&self) -> String {
        let mut url = format!("data:{};base64,", self.media_type);
        BASE64.encode_append(self.bytes, &mut url);
        url
    }
}

/// Reads a message's attachments: pictures stay what they are, text files become text, and anything else cannot be sent.
pub(super) fn content<'a>(request: &'a Request, message: &'a Message) -> Result<Content<'a>, String> {
    let mut content = Content { text: message.content.clone(), images: Vec::new() };
    for attachment in &message.attachments {
        let name = &attachment.name;
        let bytes = request.file(&attachment.digest).ok_or_else(|| format!("the bytes of `{name}` are missing"))?;
        let media_type = attachment.media_type.as_str();
        if IMAGES.contains(&media_type) {
            if message.role != Role::User {
                return Err(format!("`{name}` is an image, which only a user's message can hold"));
            }
            content.images.push(Image { media_type, bytes });
        } else if media_type.starts_with("text/") || TEXTS.contains(&media_type) {
            let text = std::str::from_utf8(bytes).map_err(|_| format!("`{name}` is not UTF-8"))?;
            if !content.text.is_empty() {
                content.text.push_str("\n\n");
            }
            content.text.push_str(text);
        } else {
            return Err(format!("`{name}` is {media_type}, which this provider cannot take"));
        }
    }
    Ok(content)
}

const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const TEXTS: [&str; 3] = ["application/json", "application/xml", "application/yaml"];

/// The prompt as messages whose content is a text, or a list of parts once there is a picture.
pub(super) fn prompt(request: &Request) -> Result<Vec<Value>, String> {
    let messages = request.messages.iter().map(|message| {
        let content = content(request, message)?;
        let value = if content.images.is_empty() {
            Value::from(content.text)
        } else {
            let mut parts = Vec::with_capacity(content.images.len() + 1);
            if !content.text.is_empty() {
                parts.push(object([("text", content.text.into()), ("type", "text".into())]));
            }
            parts.extend(content.images.iter().map(|image| {
                let url = object([("url", image.data_url().into())]);
                object([("image_url", url), ("type", "image_url".into())])
            }));
            Value::from(parts)
        };
        Ok(object([("content", value), ("role", message.role.as_str().into())]))
    });
    messages.collect()
}

/// What was said after the prompt: the model's calls with arguments as text, results tied to them by id. An id that the
/// provider never gave is left out.
pub(super) fn turns(request: &Request) -> impl Iterator<Item = Value> {
    request.turns.iter().map(|turn| {
        let mut message = Body::new();
        match turn {
            Turn::Model { text, calls, keep } => {
                message.set("role", "assistant");
                message.set("content", keep.clone().unwrap_or_else(|| text.as_str().into()));
                if !calls.is_empty() {
                    message.set("tool_calls", called(calls));
                }
            }
            Turn::User { text } => {
                message.set("role", "user").set("content", text.as_str());
            }
            Turn::Tool { call_id, name, output, .. } => {
                message.set("role", "tool").set("name", name.as_str()).set("content", output.as_str());
                if !call_id.is_empty() {
                    message.set("tool_call_id", call_id.as_str());
                }
            }
        }
        message.into()
    })
}

/// Calls that the model made, as they are given back to it.
pub(super) fn called(calls: &[(String, ToolCall)]) -> Value {
    let calls = calls.iter().map(|(id, call)| {
        let arguments = call.arguments.to_plain_text();
        let function = object([("arguments", arguments.into()), ("name", call.name.as_str().into())]);
        let mut body = Body::new();
        body.set("type", "function").set("function", function);
        if !id.is_empty() {
            body.set("id", id.as_str());
        }
        body.into()
    });
    Value::Array(calls.collect())
}

/// The tools that the model may ask for; `None` when there are none.
pub(super) fn tools(request: &Request) -> Option<Value> {
    let tools = request.tools.iter().map(|tool| {
        let function = object([
            ("description", tool.description.as_str().into()),
            ("name", tool.name.as_str().into()),
            ("parameters", tool.parameters.clone().into()),
        ]);
        object([("function", function), ("type", "function".into())])
    });
    (!request.tools.is_empty()).then(|| Value::Array(tools.collect()))
}

/// An object out of members that are named once.
pub(super) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let mut body = Body::new();
    for (name, value) in members {
        body.set(name, value);
    }
    body.into()
}

/// The seed, where one is sent.
pub(super) fn seed(request: &Request) -> Option<Value> {
    request.seed_to_send().and_then(Number::from_u64).map(Value::Number)
}

/// Calls that come whole or in fragments, in the order of their index.
#[derive(Debug, Default)]
pub(super) struct Calls(BTreeMap<u64, Fragment>);

#[derive(Debug, Default)]
struct Fragment {
    id: String,
    name: String,
    arguments: Arguments,
}

#[derive(Debug)]
enum Arguments {
    /// Grows until the stream ends.
    Text(String),
    /// Came as JSON.
    Whole(Value),
}

impl Default for Arguments {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Calls {
    /// Takes one entry of a `tool_calls` list: `{id, function: {name, arguments}}`, or the same without `function`.
    /// `index` says which call it goes on with; `None` makes it a new one.
    pub(super) fn take(&mut self, index: Option<u64>, entry: &Value) -> Result<(), WireError> {
        let Some(entry) = entry.as_object() else {
            return Err(WireError::malformed(format!("a tool call is {}, expected a mapping", entry.kind())));
        };
        let next = self.0.last_key_value().map_or(0, |(last, _)| last + 1);
        let index = index.unwrap_or(next);
        if index >= MAX_CALLS {
            return Err(WireError::malformed(format!("more than {MAX_CALLS} tool calls")));
        }
        let function = entry.get("function").and_then(Value::as_object).unwrap_or(entry);
        let call = self.0.entry(index).or_default();
        if let Some(id) = entry.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()) {
            id.clone_into(&mut call.id);
        }
        // Some providers repeat the name in every fragment, none sends half of one.
        if let Some(name) = function.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) {
            name.clone_into(&mut call.name);
        }
        match (function.get("arguments"), &mut call.arguments) {
            (None | Some(Value::Null), _) => {}
            (Some(Value::String(more)), Arguments::Text(text)) => text.push_str(more),
            (Some(whole), arguments) => *arguments = Arguments::Whole(whole.clone()),
        }
        Ok(())
    }

    /// Takes a whole list; absent or null is none.
    pub(super) fn take_all(&mut self, list: Option<&Value>) -> Result<(), WireError> {
        match list {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Array(entries)) => entries.iter().try_for_each(|entry| self.take(None, entry)),
            Some(other) => Err(WireError::malformed(format!("`tool_calls` is {}, expected a list", other.kind()))),
        }
    }

    /// Takes a list out of a stream, whose entries say which call they go on with.
    pub(super) fn take_fragments(&mut self, list: Option<&Value>) -> Result<(), WireError> {
        let Some(entries) = list.and_then(Value::as_array) else { return self.take_all(list) };
        entries.iter().try_for_each(|entry| {
            // A closing fragment in which everything is null opens no call.
            if ["id", "function", "name", "arguments"].iter().all(|name| entry.get(name).is_none_or(is_blank)) {
                return Ok(());
            }
            let named = entry.get("function").unwrap_or(entry).get("name").is_some_and(|name| !is_blank(name));
            let index = entry.get("index").and_then(Value::as_u64);
            // Without an index, a name begins a call and anything else goes on with the last one.
            let last = self.0.last_key_value().map(|(last, _)| *last);
            self.take(index.or(if named { None } else { last }), entry)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The calls, or why one of them is none.
    pub(super) fn finish(self) -> Result<Vec<(String, ToolCall)>, WireError> {
        let calls = self.0.into_values().map(|Fragment { id, name, arguments }| {
            if name.is_empty() {
                return Err(WireError::malformed("a tool call has no name"));
            }
            let arguments = match arguments {
                Arguments::Text(text) => parse_arguments(text),
                Arguments::Whole(value) => value,
            };
            Ok((id, ToolCall { arguments, name }))
        });
        calls.collect()
    }
}

const MAX_CALLS: u64 = 1024;

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(map) => map.iter().all(|(_, value)| is_blank(value)),
        _ => false,
    }
}

/// A call's arguments; a text that is not JSON stays what the model wrote.
fn parse_arguments(text: String) -> Value {
    json::parse(text.as_bytes()).unwrap_or(Value::String(text))
}

/// Appends a text that may be absent or null.
pub(super) fn append(text: &mut String, more: Option<&Value>, name: &str) -> Result<(), WireError> {
    match more {
        None | Some(Value::Null) => {}
        Some(Value::String(more)) => text.push_str(more),
        Some(other) => return Err(WireError::malformed(format!("`{name}` is {}, expected a text", other.kind()))),
    }
    Ok(())
}

/// `None` for a text that nothing was written to.
pub(super) fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// The token counts of an object; what it does not count is zero.
pub(super) fn usage(counts: Option<&Value>, input: &str, output: &str) -> Usage {
    let counted = |name| count(counts.and_then(|counts| counts.get(name))).unwrap_or(0);
    Usage { input_tokens: counted(input), output_tokens: counted(output) }
}

/// A number of tokens. One that no reply can have is none: it would be added to others and overflow.
pub(super) fn count(value: Option<&Value>) -> Option<u64> {
    value.and_then(Value::as_u64).filter(|count| *count < 1 << 40)
}

/// What a chunk or a reply in OpenAI's form says of usage.
pub(super) fn take_usage(completion: &mut Completion, reply: &Value) {
    if let Some(counts @ Value::Object(_)) = reply.get("usage") {
        completion.usage = usage(Some(counts), "prompt_tokens", "completion_tokens");
        let details = counts.get("prompt_tokens_details").and_then(|details| details.get("cached_tokens"));
        completion.cached = count(details.or_else(|| counts.get("num_cached_tokens")));
    }
}

/// An answer that ended by itself and asks for tools ended because of them.
pub(super) fn finish_with_calls(finish: Finish, calls: &Calls) -> Finish {
    if finish == Finish::Stop && !calls.is_empty() { Finish::ToolCalls } else { finish }
}

/// The JSON object of a refusal, or what is said instead of it: a proxy's HTML is never passed on.
pub(super) fn refusal(status: u16, body: &[u8]) -> Result<Value, String> {
    let parsed = if body.len() <= MAX_REFUSAL { parse_reply(body).ok() } else { None };
    parsed
        .filter(|value| value.as_object().is_some())
        .ok_or_else(|| format!("the server answered with status {status} and no JSON"))
}

const MAX_REFUSAL: usize = 1 << 20;

/// A refusal by its parts.
pub(super) fn refused(class: Class, then: Then, message: impl Into<String>) -> Refused {
    Refused { class, message: message.into(), then }
}

/// What a refusal says when it says nothing.
pub(super) fn silent(status: u16) -> String {
    format!("the server answered with status {status} and no message")
}

#[cfg(test)]
pub(super) mod testing;

#[cfg(test)]
mod tests {
    use super::testing::{attached, map};
    use super::*;

    fn list(text: &str) -> Value {
        json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn fragments_without_an_index_go_on_with_the_last_call() {
        let mut calls = Calls::default();
        let fragments = [
            r#"[{"id":"a","function":{"name":"f","arguments":"{\"x\""}}]"#,
            r#"[{"function":{"arguments":":1}"}}]"#,
            r#"[{"id":null,"type":null,"function":{"name":null,"arguments":""}}]"#,
            r#"[{"name":"g","arguments":{"y":2}}]"#,
        ];
        for fragment in fragments {
            calls.take_fragments(Some(&list(fragment))).unwrap();
        }
        let calls: Vec<_> =
            calls.finish().unwrap().into_iter().map(|(id, call)| (id, call.name, call.arguments)).collect();
        let call = |id: &str, name: &str, arguments| (id.to_owned(), name.to_owned(), Value::Object(map(arguments)));
        assert_eq!(calls, [call("a", "f", r#"{"x":1}"#), call("", "g", r#"{"y":2}"#)]);
    }

    #[test]
    fn calls_are_in_the_order_of_their_index() {
        let mut calls = Calls::default();
        let mixed = r#"[{"index":1,"function":{"name":"b"}},{"index":0,"function":{"name":"a"}}]"#;
        calls.take_fragments(Some(&list(mixed))).unwrap();
        let names: Vec<String> = calls.finish().unwrap().into_iter().map(|(_, call)| call.name).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn there_is_an_end_to_calls() {
        let call = list(r#"{"name":"f"}"#);
        let mut calls = Calls::default();
        for _ in 0..MAX_CALLS {
            calls.take(None, &call).unwrap();
        }
        assert_eq!(calls.take(None, &call), Err(WireError::malformed("more than 1024 tool calls")));
    }

    #[test]
    fn only_a_users_message_holds_images() {
        let mut request = attached("a.png", "image/png", b"\x89PNG");
        let mut message = request.messages[0].clone();
        message.role = Role::System;
        request.messages = vec![message].into();
        let error = prompt(&request).unwrap_err();
        assert_eq!(error, "`a.png` is an image, which only a user's message can hold");
    }

    #[test]
    fn a_count_is_a_plain_number() {
        let counts = list(r#"{"a":3,"b":1e19,"c":-1,"d":1.5,"e":"7","f":null}"#);
        for (name, tokens) in [("a", 3), ("b", 0), ("c", 0), ("d", 0), ("e", 0), ("f", 0), ("g", 0)] {
            assert_eq!(usage(Some(&counts), name, name).output_tokens, tokens, "{name}");
        }
    }

    #[test]
    fn a_page_of_a_proxy_is_not_passed_on() {
        let large = format!(r#"{{"message":"{}"}}"#, "x".repeat(MAX_REFUSAL));
        for body in ["<html>secret</html>", "", "[]", "\"text\"", &large] {
            assert_eq!(refusal(502, body.as_bytes()).unwrap_err(), "the server answered with status 502 and no JSON");
        }
    }
}
