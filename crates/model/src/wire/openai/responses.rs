//! Responses: `POST /responses`.

use proofmark_artefact::record::{Message, Role, ToolCall, Usage};
use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_canon::Value;

use super::attach::{Part, parts};
use super::fault::{self, Fault};
use super::fields::{self, arguments_text};
use super::gather::parse_chunk;
use crate::ask::{Request, Turn};
use crate::wire::{Assemble, Body, Call, Completion, Finish, Refused, Wire, WireError, parse_reply};

/// OpenAI's Responses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Responses;

impl Wire for Responses {
    fn params(&self) -> &'static [&'static str] {
        &[
            "reasoning_effort",
            "logprobs",
            "top_logprobs",
            "response_schema",
            "tool_choice",
            "parallel_tool_calls",
            "service_tier",
        ]
    }

    fn lacks(&self) -> &'static [&'static str] {
        &["stop"]
    }

    fn takes_seed(&self) -> bool {
        false
    }

    fn encode(&self, model: &str, request: &Request) -> Result<Call, String> {
        let mut body = Body::new();
        // Nothing is to be kept at the provider.
        body.set("model", model).set("store", false);
        body.copy(request, &["temperature", "top_p", "service_tier", "top_logprobs"]);
        body.copy_as(request, "max_tokens", "max_output_tokens");
        let (instructions, input) = input(request)?;
        body.set("input", input);
        if !instructions.is_empty() {
            body.set("instructions", instructions);
        }
        if let Some(effort) = request.params.get("reasoning_effort") {
            let mut reasoning = Body::new();
            reasoning.set("effort", effort.clone());
            body.set("reasoning", reasoning);
        }
        if let Some(schema) = request.params.get("response_schema") {
            let (mut format, mut text) = (Body::new(), Body::new());
            format.set("type", "json_schema").set("name", "answer").set("schema", schema.clone()).set("strict", true);
            text.set("format", format);
            body.set("text", text);
        }
        if !request.tools.is_empty() {
            body.set("tools", request.tools.iter().map(tool).collect::<Vec<_>>());
            body.copy(request, &["parallel_tool_calls"]);
            if let Some(choice) = request.params.get("tool_choice") {
                body.set("tool_choice", tool_choice(choice));
            }
        }
        let include = include(request);
        if !include.is_empty() {
            body.set("include", include);
        }
        let streamed = request.is_streamed();
        if streamed {
            body.set("stream", true);
        }
        body.merge_extra(request);
        Ok(Call { path: "/responses".to_owned(), body: body.to_bytes(), streamed })
    }

    fn decode(&self, body: &[u8]) -> Result<Completion, WireError> {
        let reply = parse_reply(body)?;
        // A response has a member `error` of its own, which goes with its status.
        match Fault::inside(&reply) {
            Some(fault) if fields::member(&reply, "status").is_none() => fault.into_reply(),
            _ => read(&reply),
        }
    }

    fn assemble(&self) -> Box<dyn Assemble> {
        Box::new(Stream::default())
    }

    fn refuse(&self, status: u16, body: &[u8]) -> Refused {
        fault::refuse(status, body)
    }
}

/// What else the reply is to hold.
fn include(request: &Request) -> Vec<Value> {
    let wants = |name| request.params.get(name).is_some_and(|value| value.as_bool() != Some(false));
    let mut include = Vec::new();
    if wants("logprobs") || wants("top_logprobs") {
        include.push(Value::from("message.output_text.logprobs"));
    }
    // Only with tools is there a next turn that must give reasoning back, and models that do not reason refuse this.
    if wants("reasoning_effort") && !request.tools.is_empty() {
        include.push(Value::from("reasoning.encrypted_content"));
    }
    include
}

/// The instructions, out of the system messages at the start, and the items after them.
fn input(request: &Request) -> Result<(String, Vec<Value>), String> {
    let is_plain_system = |message: &&Message| message.role == Role::System && message.attachments.is_empty();
    let start: Vec<&str> = request.messages.iter().take_while(is_plain_system).map(|m| m.content.as_str()).collect();
    let mut items = Vec::with_capacity(request.messages.len() + request.turns.len());
    for message in request.messages.iter().skip(start.len()) {
        items.push(prompt(message, request)?);
    }
    for turn in &request.turns {
        match turn {
            // The turn's own items, reasoning among them, in their order.
            Turn::Model { keep: Some(Value::Array(kept)), .. } => items.extend(kept.iter().cloned()),
            Turn::Model { text, calls, .. } => {
                if !text.is_empty() {
                    let mut message = Body::new();
                    message.set("role", "assistant").set("content", text.as_str());
                    items.push(message.into());
                }
                items.extend(calls.iter().map(|(id, call)| called(id, call)));
            }
            Turn::User { text } => {
                let mut message = Body::new();
                message.set("role", "user").set("content", text.as_str());
                items.push(message.into());
            }
            Turn::Tool { call_id, output, .. } => {
                let mut result = Body::new();
                result.set("type", "function_call_output").set("call_id", call_id.as_str());
                result.set("output", output.as_str());
                items.push(result.into());
            }
        }
    }
    Ok((start.join("\n\n"), items))
}

fn prompt(message: &Message, request: &Request) -> Result<Value, String> {
    let mut body = Body::new();
    body.set("role", message.role.as_str());
    if message.attachments.is_empty() {
        body.set("content", message.content.as_str());
        return Ok(body.into());
    }
    let text_type = if message.role == Role::Assistant { "output_text" } else { "input_text" };
    let parts = parts(message, request)?.into_iter().map(|part| {
        let mut body = Body::new();
        match part {
            Part::Text(text) => body.set("type", text_type).set("text", text),
            Part::Image(url) => body.set("type", "input_image").set("image_url", url),
            Part::File(name, data) => body.set("type", "input_file").set("filename", name).set("file_data", data),
        };
        Value::from(body)
    });
    body.set("content", parts.collect::<Vec<_>>());
    Ok(body.into())
}

fn called(id: &str, call: &ToolCall) -> Value {
    let mut body = Body::new();
    body.set("type", "function_call").set("call_id", id).set("name", call.name.as_str());
    body.set("arguments", arguments_text(&call.arguments));
    body.into()
}

fn tool(tool: &ToolPlan) -> Value {
    let mut body = Body::new();
    body.set("type", "function").set("name", tool.name.as_str()).set("description", tool.description.as_str());
    // Strict is the default here and would change what a schema may say; Chat Completions is not.
    body.set("parameters", tool.parameters.clone()).set("strict", false);
    body.into()
}

fn tool_choice(choice: &Value) -> Value {
    match choice.as_str() {
        None | Some("auto" | "none" | "required") => choice.clone(),
        Some(name) => {
            let mut body = Body::new();
            body.set("type", "function").set("name", name);
            body.into()
        }
    }
}

/// Reads a response, whole or out of a stream's last event.
fn read(reply: &Value) -> Result<Completion, WireError> {
    let status = fields::text(reply, "status")?;
    let status = status.ok_or_else(|| WireError::malformed("the reply has no `status`"))?;
    let mut answer = Completion { model: fields::model(reply)?, ..Completion::default() };
    let (mut refusal, mut reasoning) = (String::new(), Vec::new());
    let output = fields::list(reply, "output")?;
    for item in output {
        match fields::text(item, "type")?.unwrap_or_default() {
            "message" => read_message(item, &mut answer, &mut refusal)?,
            "function_call" => answer.calls.push(read_call(item)?),
            "reasoning" => {
                for part in fields::list(item, "summary")?.iter().chain(fields::list(item, "content")?) {
                    reasoning.extend(fields::text(part, "text")?);
                }
            }
            // The work of tools that run at the provider; nothing of it is an answer.
            _ => {}
        }
    }
    answer.reasoning = Some(reasoning.join("\n\n")).filter(|text| !text.is_empty());
    if let Some(usage) = fields::object(reply, "usage")? {
        let tokens = |name| fields::count(usage, name).map(Option::unwrap_or_default);
        answer.usage = Usage { input_tokens: tokens("input_tokens")?, output_tokens: tokens("output_tokens")? };
        if let Some(details) = fields::object(usage, "input_tokens_details")? {
            answer.cached = fields::count(details, "cached_tokens")?;
        }
    }
    answer.finish = match status {
        "completed" if !refusal.is_empty() => Finish::Refused(refusal),
        "completed" if !answer.calls.is_empty() => Finish::ToolCalls,
        "completed" => Finish::Stop,
        "incomplete" => incomplete(reply)?,
        "failed" | "cancelled" => failed(reply),
        other => {
            let other = fields::word(other);
            return Err(WireError::malformed(format!("the reply's `status` is `{other}`, which is not an end")));
        }
    };
    if !answer.calls.is_empty() {
        answer.keep = keep(output);
    }
    Ok(answer)
}

fn read_message(item: &Value, answer: &mut Completion, refusal: &mut String) -> Result<(), WireError> {
    for part in fields::list(item, "content")? {
        match fields::text(part, "type")?.unwrap_or_default() {
            "output_text" => {
                answer.text.push_str(fields::text(part, "text")?.unwrap_or_default());
                fields::logprobs(fields::list(part, "logprobs")?, &mut answer.logprobs)?;
            }
            "refusal" => refusal.push_str(fields::text(part, "refusal")?.unwrap_or_default()),
            other => {
                let other = fields::word(other);
                return Err(WireError::malformed(format!("the reply's `content` has a part of the type `{other}`")));
            }
        }
    }
    Ok(())
}

fn read_call(item: &Value) -> Result<(String, ToolCall), WireError> {
    let (Some(id), Some(name)) = (fields::text(item, "call_id")?, fields::text(item, "name")?) else {
        return Err(WireError::malformed("a `function_call` of the reply has no `call_id` or no `name`"));
    };
    let arguments = fields::arguments(fields::text(item, "arguments")?.unwrap_or_default());
    Ok((id.to_owned(), ToolCall { arguments, name: name.to_owned() }))
}

fn incomplete(reply: &Value) -> Result<Finish, WireError> {
    let details = fields::object(reply, "incomplete_details")?;
    let reason = details.map(|details| fields::text(details, "reason")).transpose()?.flatten();
    Ok(match reason {
        Some("max_output_tokens") => Finish::Length,
        Some("content_filter") => Finish::Filtered(String::new()),
        Some(other) => Finish::Other(fields::word(other)),
        None => Finish::Failed("the answer is incomplete and the provider does not say why".to_owned()),
    })
}

fn failed(reply: &Value) -> Finish {
    let fault = Fault::inside(reply).unwrap_or_default();
    if fault.is_filter() { Finish::Filtered(fault.into_message()) } else { Finish::Failed(fault.into_message()) }
}

/// The items that the next turn gives back when reasoning is among them: a piece of reasoning is valid only in front
/// of the item that it led to. Reasoning without its content is a mere reference to what was not stored.
fn keep(output: &[Value]) -> Option<Value> {
    let is_reasoning = |item: &Value| item.get("type").and_then(Value::as_str) == Some("reasoning");
    let has_content = |item: &Value| item.get("encrypted_content").is_some_and(|content| content.as_str().is_some());
    if !output.iter().any(|item| is_reasoning(item) && has_content(item)) {
        return None;
    }
    let kept = output.iter().filter(|item| !is_reasoning(item) || has_content(item));
    Some(Value::Array(kept.cloned().collect()))
}

/// Waits for the last event of a stream: it holds the whole response, of which the others are pieces.
#[derive(Debug, Default)]
struct Stream {
    end: Option<End>,
}

#[derive(Debug)]
enum End {
    Response(Value),
    Fault(Fault),
}

impl Assemble for Stream {
    fn take(&mut self, event: &str, data: &str) -> Result<bool, WireError> {
        if data.trim() == "[DONE]" {
            return Ok(true);
        }
        let part = parse_chunk(data)?;
        let name = fields::text(&part, "type")?.unwrap_or(event);
        self.end = Some(match name {
            "response.completed" | "response.incomplete" | "response.failed" => {
                let response = if let Value::Object(mut members) = part { members.remove("response") } else { None };
                End::Response(response.ok_or_else(|| WireError::malformed("the last event has no `response`"))?)
            }
            "error" | "response.error" => End::Fault(Fault::inside(&part).unwrap_or_else(|| Fault::read(&part))),
            // An error of something in between, which knows no events.
            "" => match Fault::inside(&part) {
                Some(fault) => End::Fault(fault),
                None => return Ok(false),
            },
            _ => return Ok(false),
        });
        Ok(true)
    }

    fn finish(self: Box<Self>) -> Result<Completion, WireError> {
        match self.end {
            None => Err(WireError::cut()),
            Some(End::Response(response)) => read(&response),
            Some(End::Fault(fault)) => fault.into_reply(),
        }
    }
}
