//! Mistral's chat, where it differs from OpenAI's.
//!
//! Its seed is `random_seed`, a thinking model's content is a list of parts, and there are no log-probabilities.

mod reply;
#[cfg(test)]
mod tests;

use proofmark_canon::{Map, Value};

use super::parts::{self, object, refused};
use super::{Assemble, Body, Call, Class, Completion, Refused, Then, Wire, WireError, refused_by_status};
use crate::ask::Request;

/// `POST /v1/chat/completions`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chat;

impl Wire for Chat {
    fn params(&self) -> &'static [&'static str] {
        &[
            "frequency_penalty",
            "presence_penalty",
            "reasoning_effort",
            "response_schema",
            "tool_choice",
            "parallel_tool_calls",
            "safe_prompt",
        ]
    }

    fn check_value(&self, name: &str, value: &Value) -> Result<(), String> {
        match name {
            "tool_choice" => tool_choice(value).map(drop).map_err(|_| "auto, none, required or a mapping".to_owned()),
            _ => Ok(()),
        }
    }

    fn takes_seed(&self) -> bool {
        true
    }

    fn encode(&self, model: &str, request: &Request) -> Result<Call, String> {
        let mut messages = parts::prompt(request)?;
        messages.extend(parts::turns(request));
        let mut body = Body::new();
        body.set("model", model).set("messages", messages);
        body.copy(request, &["temperature", "top_p", "max_tokens", "stop", "frequency_penalty", "presence_penalty"]);
        body.copy(request, &["reasoning_effort", "safe_prompt"]);
        if let Some(seed) = parts::seed(request) {
            body.set("random_seed", seed);
        }
        if let Some(Value::Object(schema)) = request.params.get("response_schema") {
            body.set("response_format", response_format(schema));
        }
        if let Some(tools) = parts::tools(request) {
            body.set("tools", tools).copy(request, &["parallel_tool_calls"]);
            if let Some(choice) = request.params.get("tool_choice") {
                body.set("tool_choice", tool_choice(choice)?);
            }
        }
        let streamed = request.is_streamed();
        body.set("stream", streamed);
        body.merge_extra(request);
        Ok(Call { path: "/v1/chat/completions".to_owned(), body: body.to_bytes(), streamed })
    }

    fn decode(&self, body: &[u8]) -> Result<Completion, WireError> {
        reply::decode(body)
    }

    fn assemble(&self) -> Box<dyn Assemble> {
        Box::<reply::Stream>::default()
    }

    fn refuse(&self, status: u16, body: &[u8]) -> Refused {
        let value = match parts::refusal(status, body) {
            Ok(value) => value,
            Err(message) => return refused_by_status(status, message),
        };
        let message = reply::error_text(&value).unwrap_or_else(|| parts::silent(status));
        let word = |name| value.get(name).map(Value::to_plain_text).unwrap_or_default();
        let (kind, code) = (word("type"), word("code"));
        if kind == "invalid_model" || code == "1500" {
            return refused(Class::BadRequest, Then::Stop, message);
        }
        // Guardrails block with 403, which would otherwise be taken for a wrong key and stop the run.
        let said = message.to_ascii_lowercase();
        if status == 403 && ["guardrail", "moderation"].iter().any(|word| kind.contains(word) || said.contains(word)) {
            return refused(Class::ContentFilter, Then::Fail, message);
        }
        refused_by_status(status, message)
    }
}

fn response_format(schema: &Map) -> Value {
    let named = object([("name", "response".into()), ("schema", schema.clone().into()), ("strict", true.into())]);
    object([("json_schema", named), ("type", "json_schema".into())])
}

/// Mistral's word for a call that must come is `any`.
fn tool_choice(choice: &Value) -> Result<Value, String> {
    match choice.as_str() {
        None | Some("auto" | "none" | "any") => Ok(choice.clone()),
        Some("required") => Ok("any".into()),
        Some(other) => Err(format!("`tool_choice` is `{other}`, expected auto, none, any or a mapping")),
    }
}
