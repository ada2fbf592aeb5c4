//! Mistral's replies, whole and in chunks.

use proofmark_canon::Value;

use super::super::parts::{self, Calls, append, non_empty, object};
use super::super::{Assemble, Completion, Finish, WireError, parse_reply};

/// Reads a whole reply.
pub(super) fn decode(body: &[u8]) -> Result<Completion, WireError> {
    let reply = parse_reply(body)?;
    if let Some(error) = reported(&reply) {
        return Err(error);
    }
    let choice = reply.get("choices").and_then(Value::as_array).and_then(<[Value]>::first);
    let choice = choice.ok_or_else(|| WireError::malformed("the reply has no `choices`"))?;
    let message = choice.get("message").ok_or_else(|| WireError::malformed("the choice has no `message`"))?;
    let mut stream = Stream::default();
    stream.take_content(message.get("content"))?;
    stream.calls.take_all(message.get("tool_calls"))?;
    stream.take_frame(&reply, choice);
    stream.complete().ok_or_else(|| WireError::malformed("the choice has no `finish_reason`"))?
}

/// A reply as it comes.
#[derive(Debug, Default)]
pub(super) struct Stream {
    text: String,
    thinking: String,
    calls: Calls,
    finish: Option<Finish>,
    /// What is left: model and usage.
    rest: Completion,
    done: bool,
}

impl Assemble for Stream {
    fn take(&mut self, _event: &str, data: &str) -> Result<bool, WireError> {
        if data.trim() == "[DONE]" {
            self.done = true;
            return Ok(true);
        }
        let chunk = parse_reply(data.as_bytes())?;
        if let Some(error) = reported(&chunk) {
            return Err(error);
        }
        let choice = chunk.get("choices").and_then(Value::as_array).and_then(<[Value]>::first).unwrap_or(&Value::Null);
        if let Some(delta) = choice.get("delta") {
            self.take_content(delta.get("content"))?;
            self.calls.take_fragments(delta.get("tool_calls"))?;
        }
        self.take_frame(&chunk, choice);
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<Completion, WireError> {
        if self.done { self.complete().unwrap_or(Err(WireError::cut())) } else { Err(WireError::cut()) }
    }
}

impl Stream {
    /// A text, or parts of which some are thinking.
    fn take_content(&mut self, content: Option<&Value>) -> Result<(), WireError> {
        let Some(parts) = content.and_then(Value::as_array) else { return append(&mut self.text, content, "content") };
        for part in parts {
            match part.get("type").and_then(Value::as_str) {
                Some("text") => append(&mut self.text, part.get("text"), "text")?,
                Some("thinking") => match part.get("thinking") {
                    Some(Value::Array(texts)) => {
                        for text in texts {
                            append(&mut self.thinking, text.get("text"), "text")?;
                        }
                    }
                    thinking => append(&mut self.thinking, thinking, "thinking")?,
                },
                // References and whatever is new are not part of the answer's text.
                Some(_) => {}
                None => return Err(WireError::malformed("a part of the content has no `type`")),
            }
        }
        Ok(())
    }

    /// What stands around the message.
    fn take_frame(&mut self, frame: &Value, choice: &Value) {
        if let Some(word) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(finish(word));
        }
        if let Some(model) = frame.get("model").and_then(Value::as_str) {
            self.rest.model = Some(model.to_owned());
        }
        parts::take_usage(&mut self.rest, frame);
    }

    /// `None` when nothing said why it ended.
    fn complete(self) -> Option<Result<Completion, WireError>> {
        let finish = parts::finish_with_calls(self.finish?, &self.calls);
        let keep = (!self.thinking.is_empty()).then(|| kept(&self.thinking, &self.text));
        Some(self.calls.finish().map(|calls| Completion {
            text: self.text,
            reasoning: non_empty(self.thinking),
            calls,
            finish,
            keep,
            ..self.rest
        }))
    }
}

/// The content that the next turn gives back: its thinking belongs to it.
fn kept(thinking: &str, text: &str) -> Value {
    let inner = object([("text", thinking.into()), ("type", "text".into())]);
    let mut content = vec![object([("thinking", vec![inner].into()), ("type", "thinking".into())])];
    if !text.is_empty() {
        content.push(object([("text", text.into()), ("type", "text".into())]));
    }
    content.into()
}

fn finish(word: &str) -> Finish {
    match word {
        "stop" => Finish::Stop,
        "length" | "model_length" => Finish::Length,
        "tool_calls" => Finish::ToolCalls,
        "content_filter" => Finish::Filtered(String::new()),
        "error" => Finish::Failed("the provider ended the answer with an error".to_owned()),
        other => Finish::Other(other.to_owned()),
    }
}

/// An error where a reply was expected.
fn reported(reply: &Value) -> Option<WireError> {
    let is_error = reply.get("object").and_then(Value::as_str) == Some("error") || reply.get("error").is_some();
    is_error.then(|| WireError::server(error_text(reply).unwrap_or_else(|| "an error without a message".to_owned())))
}

/// The message of an error in any of its forms: `{message}`, `{message: {detail}}`, `{detail}`, `{error}`.
pub(super) fn error_text(value: &Value) -> Option<String> {
    let said = ["message", "detail", "error"].iter().find_map(|name| value.get(name).filter(|said| !said.is_null()))?;
    match said {
        Value::String(text) => non_empty(text.clone()),
        Value::Object(_) => error_text(said),
        Value::Array(details) => non_empty(details.iter().take(4).filter_map(detail).collect::<Vec<_>>().join("; ")),
        _ => None,
    }
}

/// One finding of a request's validation: where, and what.
fn detail(value: &Value) -> Option<String> {
    let what = value.get("msg").and_then(Value::as_str)?;
    let place: Vec<String> = value.get("loc")?.as_array()?.iter().map(Value::to_plain_text).collect();
    Some(format!("{}: {what}", place.join(".")))
}
