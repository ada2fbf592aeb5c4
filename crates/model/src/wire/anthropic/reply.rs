//! A message that came whole, and what its parts mean.

use std::collections::BTreeMap;

use proofmark_artefact::record::{ToolCall, Usage};
use proofmark_canon::Value;
use proofmark_canon::json::{self, Integers};

use super::super::body::{count_of, object, text_of};
use super::super::{Completion, Finish, WireError, parse_reply};

pub(super) fn decode(body: &[u8]) -> Result<Completion, WireError> {
    let reply = parse_reply(body)?;
    if reply.get("type").and_then(Value::as_str) == Some("error") {
        return Err(WireError::server(error_text(&reply)));
    }
    let Some(blocks) = reply.get("content").and_then(Value::as_array) else {
        return Err(WireError::malformed("the reply has no list `content`"));
    };
    let mut message = Message::default();
    message.begin(&reply)?;
    for (index, block) in (0..).zip(blocks) {
        message.blocks.insert(index, Block::read(block)?);
    }
    message.end(&reply)?;
    message.into_completion()
}

/// What an error says about itself: its type and its message.
pub(super) fn error_text(reply: &Value) -> String {
    let error = reply.get("error");
    let part = |name| error.and_then(|error| error.get(name)).and_then(Value::as_str);
    match (part("type"), part("message")) {
        (Some(kind), Some(message)) => format!("{kind}: {message}"),
        (Some(only), None) | (None, Some(only)) => only.to_owned(),
        (None, None) => "an error without a reason".to_owned(),
    }
}

/// A message as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Message {
    /// By their number, which is their order.
    pub(super) blocks: BTreeMap<u64, Block>,
    model: Option<String>,
    /// Why it ended; none until it did.
    pub(super) finish: Option<Finish>,
    tokens: Tokens,
}

/// Each count is cumulative, so the largest one that was heard is the latest.
#[derive(Debug, Default)]
struct Tokens {
    input: u64,
    cache_written: u64,
    cache_read: Option<u64>,
    output: u64,
}

impl Message {
    /// Takes what is known from the start: who answers, and the input's tokens.
    pub(super) fn begin(&mut self, message: &Value) -> Result<(), WireError> {
        if !matches!(message, Value::Object(_)) {
            return Err(WireError::malformed("the reply has no `message`"));
        }
        if let Some(model) = message.get("model").and_then(Value::as_str) {
            self.model = Some(model.to_owned());
        }
        self.count(message)
    }

    /// Takes `stop_reason`, which is null until the end.
    pub(super) fn end(&mut self, message: &Value) -> Result<(), WireError> {
        match message.get("stop_reason") {
            None | Some(Value::Null) => {}
            Some(Value::String(reason)) => self.finish = Some(finish(reason, message.get("stop_details"))),
            Some(other) => {
                return Err(WireError::malformed(format!("`stop_reason` is {}, expected a text", other.kind())));
            }
        }
        Ok(())
    }

    /// Takes `usage`.
    pub(super) fn count(&mut self, message: &Value) -> Result<(), WireError> {
        let usage = match message.get("usage") {
            None | Some(Value::Null) => return Ok(()),
            Some(usage @ Value::Object(_)) => usage,
            Some(other) => return Err(WireError::malformed(format!("`usage` is {}, expected counts", other.kind()))),
        };
        let tokens = &mut self.tokens;
        tokens.input = tokens.input.max(count_of(usage, "input_tokens")?.unwrap_or(0));
        tokens.cache_written = tokens.cache_written.max(count_of(usage, "cache_creation_input_tokens")?.unwrap_or(0));
        tokens.cache_read = tokens.cache_read.max(count_of(usage, "cache_read_input_tokens")?);
        tokens.output = tokens.output.max(count_of(usage, "output_tokens")?.unwrap_or(0));
        Ok(())
    }

    pub(super) fn into_completion(self) -> Result<Completion, WireError> {
        let Some(finish) = self.finish else { return Err(WireError::malformed("the reply has no `stop_reason`")) };
        let tokens = &self.tokens;
        let input_tokens =
            tokens.input.saturating_add(tokens.cache_written).saturating_add(tokens.cache_read.unwrap_or(0));
        let mut completion = Completion {
            finish,
            usage: Usage { input_tokens, output_tokens: tokens.output },
            cached: tokens.cache_read,
            model: self.model,
            ..Completion::default()
        };
        let (mut keep, mut reasoning) = (Vec::new(), String::new());
        for block in self.blocks.into_values() {
            match block {
                Block::Text(text) => completion.text.push_str(&text),
                Block::Thinking { text, signature } => {
                    if !reasoning.is_empty() && !text.is_empty() {
                        reasoning.push_str("\n\n");
                    }
                    reasoning.push_str(&text);
                    keep.push(object([
                        ("type", "thinking".into()),
                        ("thinking", text.into()),
                        ("signature", signature.into()),
                    ]));
                }
                Block::Redacted(block) => keep.push(block),
                Block::Call { id, name, input, partial } => {
                    completion.calls.push((id, ToolCall { name, arguments: arguments(input, partial) }));
                }
                Block::Other => {}
            }
        }
        completion.reasoning = (!reasoning.is_empty()).then_some(reasoning);
        // Reasoning has to go back only with the calls that came out of it.
        completion.keep = (!keep.is_empty() && !completion.calls.is_empty()).then(|| keep.into());
        Ok(completion)
    }
}

fn finish(reason: &str, details: Option<&Value>) -> Finish {
    let detail = |name| details.and_then(|details| details.get(name)).and_then(Value::as_str);
    match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "tool_use" => Finish::ToolCalls,
        "refusal" => Finish::Refused(detail("explanation").or(detail("category")).unwrap_or(reason).to_owned()),
        // The provider's own tools are not done; what came is the beginning of an answer.
        "pause_turn" => Finish::Failed("the turn was paused and not ended".to_owned()),
        other => Finish::Other(other.to_owned()),
    }
}

/// One block of a message's content.
#[derive(Debug)]
pub(super) enum Block {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    /// Reasoning that only the provider can read; goes back as it came.
    Redacted(Value),
    Call {
        id: String,
        name: String,
        input: Value,
        /// The input's JSON, as far as a stream has brought it.
        partial: String,
    },
    /// Something of the provider's own tools.
    Other,
}

impl Block {
    pub(super) fn read(block: &Value) -> Result<Self, WireError> {
        Ok(match text_of(block, "type")? {
            "text" => Self::Text(text_of(block, "text")?.to_owned()),
            "thinking" => Self::Thinking {
                text: text_of(block, "thinking")?.to_owned(),
                signature: block.get("signature").and_then(Value::as_str).unwrap_or_default().to_owned(),
            },
            "redacted_thinking" => Self::Redacted(block.clone()),
            "tool_use" => Self::Call {
                id: text_of(block, "id")?.to_owned(),
                name: text_of(block, "name")?.to_owned(),
                input: block.get("input").cloned().unwrap_or_default(),
                partial: String::new(),
            },
            _ => Self::Other,
        })
    }
}

/// The input of a call: as it came whole, or out of the JSON that a stream brought.
fn arguments(input: Value, partial: String) -> Value {
    match (input, partial.is_empty()) {
        (Value::Null, true) => object([]),
        (input, true) => input,
        (_, false) => json::parse_with(partial.as_bytes(), Integers::AsText).unwrap_or(Value::String(partial)),
    }
}
