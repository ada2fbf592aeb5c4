//! Our request as a body of `generateContent`.

use std::fmt::Write as _;

use data_encoding::BASE64;
use proofmark_artefact::record::{Attachment, Message, Role, ToolCall};
use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_canon::{Number, Value};

use super::super::body::{object, system_text};
use super::super::{Body, Call};
use crate::ask::{Request, Turn};

pub(super) fn encode(model: &str, request: &Request, images: bool) -> Result<Call, String> {
    let mut body = Body::new();
    body.set("contents", contents(request)?);
    if let Some(system) = system_text(request)? {
        body.set("systemInstruction", object([("parts", vec![text_part(&system)].into())]));
    }
    if !request.tools.is_empty() {
        let declarations: Vec<Value> = request.tools.iter().map(declaration).collect();
        body.set("tools", vec![object([("functionDeclarations", declarations.into())])]);
        if let Some(config) = calling_config(request)? {
            body.set("toolConfig", object([("functionCallingConfig", config)]));
        }
    }
    let config = generation_config(request, images)?.into_map();
    if !config.is_empty() {
        body.set("generationConfig", config);
    }
    body.merge_extra(request);
    let streamed = request.is_streamed();
    Ok(Call { path: path(model, streamed), body: body.to_bytes(), streamed })
}

fn path(model: &str, streamed: bool) -> String {
    let mut path = "/v1beta/models/".to_owned();
    for byte in model.strip_prefix("models/").unwrap_or(model).bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            path.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path.push_str(if streamed { ":streamGenerateContent?alt=sse" } else { ":generateContent" });
    path
}

fn contents(request: &Request) -> Result<Vec<Value>, String> {
    let mut contents = Vec::new();
    for message in request.messages.iter() {
        let role = match message.role {
            Role::System => continue,
            Role::User => "user",
            Role::Assistant => "model",
        };
        contents.push(content(role, parts(message, request)?));
    }
    // As many responses as calls are expected in the one content after the calls.
    let mut responses = Vec::new();
    for turn in &request.turns {
        match turn {
            Turn::Tool { call_id, name, output, is_error } => {
                responses.push(function_response(call_id, name, output, *is_error));
            }
            Turn::User { text } => {
                flush(&mut responses, &mut contents);
                contents.push(content("user", vec![text_part(text)]));
            }
            Turn::Model { text, calls, keep } => {
                flush(&mut responses, &mut contents);
                let parts = match keep {
                    // Signatures belong to their parts, so that all of them go back as they came.
                    Some(Value::Array(parts)) => parts.clone(),
                    _ => turn_parts(text, calls),
                };
                if !parts.is_empty() {
                    contents.push(content("model", parts));
                }
            }
        }
    }
    flush(&mut responses, &mut contents);
    Ok(contents)
}

fn flush(responses: &mut Vec<Value>, contents: &mut Vec<Value>) {
    if !responses.is_empty() {
        contents.push(content("user", std::mem::take(responses)));
    }
}

fn content(role: &str, parts: Vec<Value>) -> Value {
    object([("role", role.into()), ("parts", parts.into())])
}

/// A message's files, then its text: the order that the provider recommends.
fn parts(message: &Message, request: &Request) -> Result<Vec<Value>, String> {
    let mut parts = Vec::with_capacity(message.attachments.len() + 1);
    for attachment in &message.attachments {
        parts.push(inline_data(attachment, request)?);
    }
    if parts.is_empty() || !message.content.is_empty() {
        parts.push(text_part(&message.content));
    }
    Ok(parts)
}

fn turn_parts(text: &str, calls: &[(String, ToolCall)]) -> Vec<Value> {
    let text = (!text.is_empty()).then(|| text_part(text));
    text.into_iter().chain(calls.iter().map(|(id, call)| function_call(id, call))).collect()
}

fn text_part(text: &str) -> Value {
    object([("text", text.into())])
}

fn inline_data(attachment: &Attachment, request: &Request) -> Result<Value, String> {
    let name = &attachment.name;
    let Some(mime_type) = mime_type(&attachment.media_type) else {
        return Err(format!(
            "the file `{name}` is `{}`; images (png, jpeg, webp, heic, heif), PDF, audio, video and text files can be sent",
            attachment.media_type
        ));
    };
    let Some(bytes) = request.file(&attachment.digest) else {
        return Err(format!("the bytes of `{name}` are not at hand"));
    };
    Ok(object([("inlineData", object([("mimeType", mime_type.into()), ("data", BASE64.encode(bytes).into())]))]))
}

/// The documented type that stands for a media type; none for what cannot be sent.
fn mime_type(media_type: &str) -> Option<&str> {
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    match media_type {
        "audio/x-wav" => Some("audio/wav"),
        "audio/x-flac" => Some("audio/flac"),
        documented if DOCUMENTED.contains(&documented) => Some(documented),
        "application/json" | "application/x-ndjson" | "application/csv" | "application/xml" | "application/yaml" => {
            Some("text/plain")
        }
        other => other.starts_with("text/").then_some("text/plain"),
    }
}

fn function_call(id: &str, call: &ToolCall) -> Value {
    let mut body = Body::new();
    body.set("name", call.name.as_str()).set("args", as_object(&call.arguments));
    if !id.is_empty() {
        body.set("id", id);
    }
    object([("functionCall", body.into())])
}

/// `args` must be an object.
fn as_object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        other => object([("INVALID_JSON", other.to_plain_text().into())]),
    }
}

fn function_response(id: &str, name: &str, output: &str, is_error: bool) -> Value {
    let mut body = Body::new();
    body.set("name", name).set("response", object([(if is_error { "error" } else { "output" }, output.into())]));
    if !id.is_empty() {
        body.set("id", id);
    }
    object([("functionResponse", body.into())])
}

fn declaration(tool: &ToolPlan) -> Value {
    let mut body = Body::new();
    body.set("name", tool.name.as_str()).set("description", tool.description.as_str());
    // `parameters` knows a part of OpenAPI's schemas only; a tool without parameters has neither.
    if !tool.parameters.is_empty() {
        body.set("parametersJsonSchema", tool.parameters.clone());
    }
    body.into()
}

fn calling_config(request: &Request) -> Result<Option<Value>, String> {
    let mode = |mode: &str| object([("mode", mode.into())]);
    Ok(Some(match request.params.get("tool_choice") {
        None => return Ok(None),
        Some(theirs @ Value::Object(_)) => theirs.clone(),
        Some(value) => match value.as_str().unwrap_or_default() {
            "auto" => mode("AUTO"),
            "none" => mode("NONE"),
            "required" | "any" => mode("ANY"),
            name if request.tools.iter().any(|tool| tool.name == name) => {
                object([("mode", "ANY".into()), ("allowedFunctionNames", vec![name.into()].into())])
            }
            other => return Err(format!("`tool_choice` is `{other}`, but there is no such tool")),
        },
    }))
}

fn generation_config(request: &Request, images: bool) -> Result<Body, String> {
    let mut config = Body::new();
    for (ours, theirs) in SAME_MEANING {
        config.copy_as(request, ours, theirs);
    }
    if let Some(seed) = request.seed_to_send().and_then(Number::from_u64) {
        config.set("seed", Value::Number(seed));
    }
    if let Some(schema) = request.params.get("response_schema") {
        config.set("responseMimeType", "application/json").set("responseJsonSchema", schema.clone());
    }
    let top = request.params.get("top_logprobs");
    if request.params.get("logprobs").map_or(top.is_some(), |wanted| wanted.as_bool() == Some(true)) {
        config.set("responseLogprobs", true).copy_as(request, "top_logprobs", "logprobs");
    }
    if let Some(thinking) = thinking_config(request)? {
        config.set("thinkingConfig", thinking);
    }
    if images {
        config.set("responseModalities", vec!["TEXT".into(), "IMAGE".into()]);
        if let Some(ratio) = request.params.get("aspect_ratio") {
            config.set("imageConfig", object([("aspectRatio", ratio.clone())]));
        }
    }
    Ok(config)
}

fn thinking_config(request: &Request) -> Result<Option<Value>, String> {
    let mut config = Body::new();
    config.copy_as(request, "thinking_budget", "thinkingBudget");
    if let Some(effort) = request.params.get("reasoning_effort").and_then(Value::as_str) {
        if !LEVELS.contains(&effort) {
            return Err(format!("`reasoning_effort` is `{effort}`; this provider knows {}", LEVELS.join(", ")));
        }
        config.set("thinkingLevel", effort);
    }
    let config = config.into_map();
    Ok((!config.is_empty()).then(|| config.into()))
}

const SAME_MEANING: [(&str, &str); 7] = [
    ("temperature", "temperature"),
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("max_tokens", "maxOutputTokens"),
    ("stop", "stopSequences"),
    ("presence_penalty", "presencePenalty"),
    ("frequency_penalty", "frequencyPenalty"),
];

pub(super) const LEVELS: [&str; 4] = ["minimal", "low", "medium", "high"];

const DOCUMENTED: [&str; 42] = [
    "image/png",
    "image/jpeg",
    "image/webp",
    "image/heic",
    "image/heif",
    "application/pdf",
    "audio/aac",
    "audio/aiff",
    "audio/flac",
    "audio/m4a",
    "audio/mp3",
    "audio/mp4",
    "audio/mpeg",
    "audio/mpga",
    "audio/ogg",
    "audio/opus",
    "audio/pcm",
    "audio/wav",
    "audio/webm",
    "video/3gpp",
    "video/avi",
    "video/mov",
    "video/mp4",
    "video/mpeg",
    "video/mpegps",
    "video/mpg",
    "video/quicktime",
    "video/webm",
    "video/wmv",
    "video/x-flv",
    "text/css",
    "text/csv",
    "text/html",
    "text/javascript",
    "text/md",
    "text/plain",
    "text/rtf",
    "text/x-python",
    "text/x-typescript",
    "text/xml",
    "application/x-javascript",
    "application/x-python",
];
