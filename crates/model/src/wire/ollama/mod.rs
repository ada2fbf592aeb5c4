//! Ollama's native chat.
//!
//! A stream is one JSON document a line, and is what the server sends unless it is told otherwise.

mod reply;
#[cfg(test)]
mod tests;

use proofmark_canon::Value;

use super::parts::{self, object, refused};
use super::{
    Assemble, Body, Call, Class, Completion, Framing, Refused, Then, Wire, WireError, one_of, refused_by_status,
};
use crate::ask::{Request, Turn};

/// `POST /api/chat`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chat;

impl Wire for Chat {
    fn params(&self) -> &'static [&'static str] {
        &[
            "top_k",
            "min_p",
            "num_ctx",
            "repetition_penalty",
            "frequency_penalty",
            "presence_penalty",
            "reasoning_effort",
            "think",
            "keep_alive",
            "response_schema",
            "logprobs",
            "top_logprobs",
        ]
    }

    fn check_value(&self, name: &str, value: &Value) -> Result<(), String> {
        if name == "reasoning_effort" { one_of(&EFFORTS, value) } else { Ok(()) }
    }

    fn takes_seed(&self) -> bool {
        true
    }

    fn encode(&self, model: &str, request: &Request) -> Result<Call, String> {
        let streamed = request.is_streamed();
        let mut body = Body::new();
        body.set("model", model).set("messages", messages(request)?).set("stream", streamed);
        let options = options(request);
        if options.as_object().is_some_and(|options| !options.is_empty()) {
            body.set("options", options);
        }
        body.copy(request, &["keep_alive", "logprobs", "top_logprobs"]).copy_as(request, "response_schema", "format");
        if let Some(think) = think(request)? {
            body.set("think", think);
        }
        if let Some(tools) = parts::tools(request) {
            body.set("tools", tools);
        }
        body.merge_extra(request);
        Ok(Call { path: "/api/chat".to_owned(), body: body.to_bytes(), streamed })
    }

    fn decode(&self, body: &[u8]) -> Result<Completion, WireError> {
        reply::decode(body)
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn assemble(&self) -> Box<dyn Assemble> {
        Box::<reply::Stream>::default()
    }

    fn refuse(&self, status: u16, body: &[u8]) -> Refused {
        let message = match parts::refusal(status, body) {
            Ok(value) => reply::error_text(&value).unwrap_or_else(|| parts::silent(status)),
            Err(message) => return refused_by_status(status, message),
        };
        match status {
            404 if message.contains("not found") => {
                refused(Class::BadRequest, Then::Stop, format!("{message} (pull it first)"))
            }
            // The queue of the server is full: what helps is to ask less often.
            503 => refused(Class::RateLimited, Then::Retry, message),
            _ => refused_by_status(status, message),
        }
    }
}

fn messages(request: &Request) -> Result<Vec<Value>, String> {
    let prompt = request.messages.iter().map(|message| {
        let content = parts::content(request, message)?;
        let mut body = Body::new();
        body.set("role", message.role.as_str()).set("content", content.text);
        if !content.images.is_empty() {
            body.set("images", content.images.iter().map(|image| image.base64().into()).collect::<Vec<Value>>());
        }
        Ok(body.into())
    });
    prompt.chain(request.turns.iter().map(|said| Ok(turn(said)))).collect()
}

/// One turn after the prompt. Arguments are JSON here, not text.
fn turn(turn: &Turn) -> Value {
    let mut message = Body::new();
    match turn {
        Turn::Model { text, calls, keep } => {
            message.set("role", "assistant").set("content", text.as_str());
            if let Some(thinking) = keep {
                message.set("thinking", thinking.clone());
            }
            let calls = calls.iter().map(|(id, call)| {
                let function = object([("arguments", call.arguments.clone()), ("name", call.name.as_str().into())]);
                let mut body = Body::new();
                body.set("function", function);
                set_id(&mut body, "id", id);
                body.into()
            });
            let calls: Vec<Value> = calls.collect();
            if !calls.is_empty() {
                message.set("tool_calls", calls);
            }
        }
        Turn::User { text } => {
            message.set("role", "user").set("content", text.as_str());
        }
        Turn::Tool { call_id, name, output, .. } => {
            message.set("role", "tool").set("tool_name", name.as_str()).set("content", output.as_str());
            set_id(&mut message, "tool_call_id", call_id);
        }
    }
    message.into()
}

/// Older servers give calls no ids.
fn set_id(body: &mut Body, name: &str, id: &str) {
    if !id.is_empty() {
        body.set(name, id);
    }
}

fn options(request: &Request) -> Value {
    let mut options = Body::new();
    options.copy(request, &["temperature", "top_p", "top_k", "min_p", "num_ctx", "stop"]);
    options.copy(request, &["presence_penalty", "frequency_penalty"]);
    options.copy_as(request, "max_tokens", "num_predict").copy_as(request, "repetition_penalty", "repeat_penalty");
    if let Some(seed) = parts::seed(request) {
        options.set("seed", seed);
    }
    options.into()
}

/// Whether and how hard to think: what `think` says, else the effort in the words that there are.
fn think(request: &Request) -> Result<Option<Value>, String> {
    if let Some(think) = request.params.get("think") {
        return Ok(Some(think.clone()));
    }
    match request.params.get("reasoning_effort").and_then(Value::as_str) {
        None => Ok(None),
        Some("none") => Ok(Some(false.into())),
        Some(effort) if EFFORTS.contains(&effort) => Ok(Some(effort.into())),
        Some(other) => Err(format!("`reasoning_effort` is `{other}`, expected none, low, medium or high")),
    }
}

const EFFORTS: [&str; 4] = ["none", "low", "medium", "high"];
