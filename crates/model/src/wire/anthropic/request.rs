//! Our request as a body of `/v1/messages`.

use data_encoding::BASE64;
use proofmark_artefact::record::{Attachment, Message, Role};
use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_canon::{Map, Number, Value};

use super::super::body::{object, system_text};
use super::super::{Body, Call};
use crate::ask::{Request, Turn};

pub(super) fn encode(model: &str, request: &Request) -> Result<Call, String> {
    let mut body = Body::new();
    body.set("model", model).set("messages", messages(request)?).set("max_tokens", max_tokens(request));
    if let Some(system) = system_text(request)? {
        body.set("system", system);
    }
    body.copy(request, &["temperature", "top_p", "top_k", "service_tier"]).copy_as(request, "stop", "stop_sequences");
    if let Some(thinking) = thinking(request) {
        body.set("thinking", thinking);
    }
    if let Some(config) = output_config(request)? {
        body.set("output_config", config);
    }
    if !request.tools.is_empty() {
        body.set("tools", request.tools.iter().map(tool).collect::<Vec<_>>());
        if let Some(choice) = tool_choice(request)? {
            body.set("tool_choice", choice);
        }
    }
    let streamed = request.is_streamed();
    if streamed {
        body.set("stream", true);
    }
    body.merge_extra(request);
    Ok(Call { path: "/v1/messages".to_owned(), body: body.to_bytes(), streamed })
}

fn messages(request: &Request) -> Result<Vec<Value>, String> {
    let mut messages = Vec::new();
    for message in request.messages.iter().filter(|message| message.role != Role::System) {
        messages.push(speech(message.role.as_str(), content(message, request)?));
    }
    // Results of one turn go back together: a call whose result is not in the very next message is refused.
    let mut results = Vec::new();
    for turn in &request.turns {
        match turn {
            Turn::Tool { call_id, output, is_error, .. } => results.push(tool_result(call_id, output, *is_error)),
            // Behind the results, in the same message: two messages of one speaker in a row are frowned upon.
            Turn::User { text } => results.push(text_block(text)),
            Turn::Model { text, calls, keep } => {
                flush(&mut results, &mut messages);
                let mut blocks = keep.as_ref().and_then(Value::as_array).unwrap_or_default().to_vec();
                // A text block may not be empty.
                if !text.is_empty() {
                    blocks.push(text_block(text));
                }
                blocks.extend(calls.iter().map(|(id, call)| tool_use(id, &call.name, &call.arguments)));
                if !blocks.is_empty() {
                    messages.push(speech("assistant", blocks.into()));
                }
            }
        }
    }
    flush(&mut results, &mut messages);
    Ok(messages)
}

fn flush(results: &mut Vec<Value>, messages: &mut Vec<Value>) {
    if !results.is_empty() {
        messages.push(speech("user", std::mem::take(results).into()));
    }
}

fn speech(role: &str, content: Value) -> Value {
    object([("role", role.into()), ("content", content)])
}

/// A message's files, then its text: the order that the provider recommends.
fn content(message: &Message, request: &Request) -> Result<Value, String> {
    if message.attachments.is_empty() {
        return Ok(message.content.as_str().into());
    }
    if message.role != Role::User {
        return Err("only a user's message can carry a file".to_owned());
    }
    let mut blocks = Vec::with_capacity(message.attachments.len() + 1);
    for attachment in &message.attachments {
        blocks.push(file_block(attachment, request)?);
    }
    if !message.content.is_empty() {
        blocks.push(text_block(&message.content));
    }
    Ok(blocks.into())
}

fn file_block(attachment: &Attachment, request: &Request) -> Result<Value, String> {
    let name = &attachment.name;
    let media_type = attachment.media_type.split(';').next().unwrap_or_default().trim();
    let Some(bytes) = request.file(&attachment.digest) else {
        return Err(format!("the bytes of `{name}` are not at hand"));
    };
    let in_base64 = || {
        object([("type", "base64".into()), ("media_type", media_type.into()), ("data", BASE64.encode(bytes).into())])
    };
    match media_type {
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" => {
            Ok(object([("type", "image".into()), ("source", in_base64())]))
        }
        "application/pdf" => Ok(document(name, in_base64())),
        text if is_text(text) => {
            let text = std::str::from_utf8(bytes).map_err(|_| format!("the text file `{name}` is not UTF-8"))?;
            let source = [("type", "text".into()), ("media_type", "text/plain".into()), ("data", text.into())];
            Ok(document(name, object(source)))
        }
        other => Err(format!(
            "the file `{name}` is `{other}`; images (png, jpeg, gif, webp), PDF and text files can be sent"
        )),
    }
}

fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/")
        || matches!(
            media_type,
            "application/json" | "application/x-ndjson" | "application/csv" | "application/xml" | "application/yaml"
        )
}

fn document(title: &str, source: Value) -> Value {
    object([("type", "document".into()), ("title", title.into()), ("source", source)])
}

fn text_block(text: &str) -> Value {
    object([("type", "text".into()), ("text", text.into())])
}

fn tool_use(id: &str, name: &str, arguments: &Value) -> Value {
    let input = match arguments {
        Value::Object(_) => arguments.clone(),
        // `input` must be an object; this is the provider's own way to hand back what was not JSON.
        other => object([("INVALID_JSON", other.to_plain_text().into())]),
    };
    object([("type", "tool_use".into()), ("id", id.into()), ("name", name.into()), ("input", input)])
}

fn tool_result(call_id: &str, output: &str, is_error: bool) -> Value {
    let mut block = Body::new();
    block.set("type", "tool_result").set("tool_use_id", call_id).set("content", output);
    if is_error {
        block.set("is_error", true);
    }
    block.into()
}

fn tool(tool: &ToolPlan) -> Value {
    let mut schema = tool.parameters.clone();
    // Required by the provider, and what every list of parameters is.
    if !schema.contains("type") {
        schema.insert("type", "object");
    }
    let mut body = Body::new();
    body.set("name", tool.name.as_str()).set("input_schema", schema);
    if !tool.description.is_empty() {
        body.set("description", tool.description.as_str());
    }
    body.into()
}

fn tool_choice(request: &Request) -> Result<Option<Value>, String> {
    let wanted = request.params.get("tool_choice");
    let one_at_a_time = request.params.get("parallel_tool_calls").and_then(Value::as_bool) == Some(false);
    let mut choice = match wanted {
        None if !one_at_a_time => return Ok(None),
        None => kind("auto"),
        Some(Value::Object(theirs)) => theirs.clone(),
        Some(value) => match value.as_str().unwrap_or_default() {
            "auto" => kind("auto"),
            "none" => kind("none"),
            "required" | "any" => kind("any"),
            name if request.tools.iter().any(|tool| tool.name == name) => {
                let mut choice = kind("tool");
                choice.insert("name", name);
                choice
            }
            other => return Err(format!("`tool_choice` is `{other}`, but there is no such tool")),
        },
    };
    let may_call = choice.get("type").and_then(Value::as_str) != Some("none");
    if one_at_a_time && may_call && !choice.contains("disable_parallel_tool_use") {
        choice.insert("disable_parallel_tool_use", true);
    }
    Ok(Some(choice.into()))
}

fn kind(name: &str) -> Map {
    let mut map = Map::new();
    map.insert("type", name);
    map
}

/// The limit is required by the provider. Reasoning counts towards it, so a budget for that comes on top of the default.
fn max_tokens(request: &Request) -> Value {
    if let Some(limit) = request.params.get("max_tokens") {
        return limit.clone();
    }
    let budget = request.params.get("thinking_budget").and_then(Value::as_u64).unwrap_or(0);
    Value::from(Number::from_u64(DEFAULT_MAX_TOKENS.saturating_add(budget)).map(Value::Number))
}

fn thinking(request: &Request) -> Option<Value> {
    let budget = request.params.get("thinking_budget")?;
    Some(match budget.as_u64() {
        Some(0) => object([("type", "disabled".into())]),
        _ => object([("type", "enabled".into()), ("budget_tokens", budget.clone())]),
    })
}

fn output_config(request: &Request) -> Result<Option<Value>, String> {
    let mut config = Body::new();
    if let Some(effort) = request.params.get("reasoning_effort").and_then(Value::as_str) {
        if !EFFORTS.contains(&effort) {
            return Err(format!("`reasoning_effort` is `{effort}`; this provider knows {}", EFFORTS.join(", ")));
        }
        config.set("effort", effort);
    }
    if let Some(schema) = request.params.get("response_schema") {
        config.set("format", object([("type", "json_schema".into()), ("schema", schema.clone())]));
    }
    let config = config.into_map();
    Ok((!config.is_empty()).then(|| config.into()))
}

const DEFAULT_MAX_TOKENS: u64 = 4096;

pub(super) const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];
