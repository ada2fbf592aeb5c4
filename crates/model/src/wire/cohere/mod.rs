//! Cohere's chat, version 2 of its API.
//!
//! The reply does not name the model. What a model plans before it calls tools comes in a field of its own.

mod reply;
#[cfg(test)]
mod tests;

use proofmark_canon::Value;

use super::parts::{self, object, refused};
use super::{Assemble, Body, Call, Class, Completion, Refused, Then, Wire, WireError, refused_by_status};
use crate::ask::{Request, Turn};

/// `POST /v2/chat`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chat;

impl Wire for Chat {
    fn params(&self) -> &'static [&'static str] {
        &[
            "top_k",
            "frequency_penalty",
            "presence_penalty",
            "response_schema",
            "tool_choice",
            "thinking_budget",
            "safety_mode",
            "logprobs",
        ]
    }

    fn check_value(&self, name: &str, value: &Value) -> Result<(), String> {
        match name {
            "tool_choice" => tool_choice(value).map(drop).map_err(|_| "one of auto, required, none".to_owned()),
            _ => Ok(()),
        }
    }

    fn takes_seed(&self) -> bool {
        true
    }

    fn encode(&self, model: &str, request: &Request) -> Result<Call, String> {
        let mut messages = parts::prompt(request)?;
        messages.extend(request.turns.iter().map(turn));
        let mut body = Body::new();
        body.set("model", model).set("messages", messages);
        body.copy(request, &["temperature", "max_tokens", "frequency_penalty", "presence_penalty"]);
        body.copy(request, &["safety_mode", "logprobs"]);
        body.copy_as(request, "top_p", "p").copy_as(request, "top_k", "k").copy_as(request, "stop", "stop_sequences");
        if let Some(seed) = parts::seed(request) {
            body.set("seed", seed);
        }
        if let Some(schema) = request.params.get("response_schema") {
            let format = object([("json_schema", schema.clone()), ("type", "json_object".into())]);
            body.set("response_format", format);
        }
        if let Some(budget) = request.params.get("thinking_budget") {
            body.set("thinking", thinking(budget));
        }
        if let Some(tools) = parts::tools(request) {
            body.set("tools", tools);
            if let Some(choice) = request.params.get("tool_choice").map(tool_choice).transpose()?.flatten() {
                body.set("tool_choice", choice);
            }
        }
        let streamed = request.is_streamed();
        body.set("stream", streamed);
        body.merge_extra(request);
        Ok(Call { path: "/v2/chat".to_owned(), body: body.to_bytes(), streamed })
    }

    fn decode(&self, body: &[u8]) -> Result<Completion, WireError> {
        reply::decode(body)
    }

    fn assemble(&self) -> Box<dyn Assemble> {
        Box::<reply::Stream>::default()
    }

    fn refuse(&self, status: u16, body: &[u8]) -> Refused {
        let message = match parts::refusal(status, body) {
            Ok(value) => {
                let said = ["message", "detail", "error"].iter().find_map(|name| value.get(name)?.as_str());
                said.map_or_else(|| parts::silent(status), str::to_owned)
            }
            Err(message) => message,
        };
        match status {
            498 => refused(Class::ContentFilter, Then::Fail, message),
            // The request was cancelled on the way, or its stream broke: nothing that it asked for was wrong.
            499 => refused(Class::Server, Then::Retry, message),
            // A trial key's limit of a month does not pass while a run waits.
            429 if message.contains("/ month") || message.contains("per month") => {
                refused(Class::Auth, Then::Stop, message)
            }
            _ => refused_by_status(status, message),
        }
    }
}

/// One turn after the prompt. A text beside calls is the model's plan.
fn turn(turn: &Turn) -> Value {
    let mut message = Body::new();
    match turn {
        Turn::Model { text, calls, keep } => {
            message.set("role", "assistant");
            let kept = |name| keep.as_ref().and_then(|keep| keep.get(name)).cloned();
            match kept("content") {
                Some(content) => {
                    message.set("content", content);
                }
                None if !text.is_empty() || calls.is_empty() => {
                    message.set("content", text.as_str());
                }
                None => {}
            }
            if let Some(plan) = kept("tool_plan") {
                message.set("tool_plan", plan);
            }
            if !calls.is_empty() {
                message.set("tool_calls", parts::called(calls));
            }
        }
        Turn::User { text } => {
            message.set("role", "user").set("content", text.as_str());
        }
        Turn::Tool { call_id, output, .. } => {
            message.set("role", "tool").set("tool_call_id", call_id.as_str()).set("content", output.as_str());
        }
    }
    message.into()
}

/// A budget of nothing turns thinking off.
fn thinking(budget: &Value) -> Value {
    if budget.as_u64() == Some(0) {
        return object([("type", "disabled".into())]);
    }
    object([("token_budget", budget.clone()), ("type", "enabled".into())])
}

/// `None` for what is so anyway.
fn tool_choice(choice: &Value) -> Result<Option<Value>, String> {
    match choice.as_str().map(str::to_ascii_lowercase).as_deref() {
        Some("auto") => Ok(None),
        Some("required" | "any") => Ok(Some("REQUIRED".into())),
        Some("none") => Ok(Some("NONE".into())),
        _ => Err(format!("`tool_choice` is {choice}, expected auto, required or none")),
    }
}
