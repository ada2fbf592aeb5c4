//! Chat Completions: `POST /chat/completions`.

use std::collections::VecDeque;

use proofmark_artefact::record::{Message, ToolCall};
use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_canon::{Number, Value};

use super::attach::{Part, parts};
use super::fault;
use super::fields::arguments_text;
use super::gather::{self, Stream};
use crate::ask::{Request, Turn};
use crate::wire::{Assemble, Body, Call, Completion, Refused, Wire, WireError};

/// Chat Completions, as OpenAI speaks it or as the servers do that follow it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chat {
    pub(crate) dialect: Dialect,
}

/// Whose Chat Completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// OpenAI's own, and Azure's.
    OpenAi,
    /// vLLM, llama.cpp, OpenRouter, Together, Groq, Hugging Face's router, LM Studio, DeepSeek, …
    Compatible,
}

const OPENAI_PARAMS: &[&str] = &[
    "reasoning_effort",
    "frequency_penalty",
    "presence_penalty",
    "logprobs",
    "top_logprobs",
    "response_schema",
    "tool_choice",
    "parallel_tool_calls",
    "service_tier",
];

const COMPATIBLE_PARAMS: &[&str] = &[
    "reasoning_effort",
    "frequency_penalty",
    "presence_penalty",
    "logprobs",
    "top_logprobs",
    "response_schema",
    "tool_choice",
    "parallel_tool_calls",
    "service_tier",
    "top_k",
    "min_p",
    "repetition_penalty",
];

impl Wire for Chat {
    fn params(&self) -> &'static [&'static str] {
        match self.dialect {
            Dialect::OpenAi => OPENAI_PARAMS,
            Dialect::Compatible => COMPATIBLE_PARAMS,
        }
    }

    fn takes_seed(&self) -> bool {
        true
    }

    fn encode(&self, model: &str, request: &Request) -> Result<Call, String> {
        let mut body = Body::new();
        body.set("model", model).set("messages", messages(request)?);
        body.copy(request, &["temperature", "top_p", "stop", "reasoning_effort", "service_tier"]);
        body.copy(request, &["frequency_penalty", "presence_penalty", "logprobs", "top_logprobs"]);
        if request.params.contains("top_logprobs") {
            body.set("logprobs", true);
        }
        match self.dialect {
            Dialect::OpenAi => {
                // Stored by default for new accounts otherwise.
                body.copy_as(request, "max_tokens", "max_completion_tokens").set("store", false);
            }
            Dialect::Compatible => {
                body.copy(request, &["max_tokens", "top_k", "min_p", "repetition_penalty"]);
            }
        }
        if let Some(seed) = request.seed_to_send().and_then(Number::from_u64) {
            body.set("seed", Value::Number(seed));
        }
        if let Some(schema) = request.params.get("response_schema") {
            let mut named = Body::new();
            named.set("name", "answer").set("schema", schema.clone()).set("strict", true);
            let mut format = Body::new();
            format.set("type", "json_schema").set("json_schema", named);
            body.set("response_format", format);
        }
        // Servers refuse a word about tools where there are none.
        if !request.tools.is_empty() {
            body.set("tools", request.tools.iter().map(tool).collect::<Vec<_>>());
            body.copy(request, &["parallel_tool_calls"]);
            if let Some(choice) = request.params.get("tool_choice") {
                body.set("tool_choice", tool_choice(choice));
            }
        }
        let streamed = request.is_streamed();
        if streamed {
            let mut options = Body::new();
            options.set("include_usage", true);
            body.set("stream", true).set("stream_options", options);
        }
        body.merge_extra(request);
        Ok(Call { path: "/chat/completions".to_owned(), body: body.to_bytes(), streamed })
    }

    fn decode(&self, body: &[u8]) -> Result<Completion, WireError> {
        gather::decode(body)
    }

    fn assemble(&self) -> Box<dyn Assemble> {
        Box::new(Stream::default())
    }

    fn refuse(&self, status: u16, body: &[u8]) -> Refused {
        fault::refuse(status, body)
    }
}

fn messages(request: &Request) -> Result<Vec<Value>, String> {
    let mut messages = Vec::with_capacity(request.messages.len() + request.turns.len());
    for message in request.messages.iter() {
        messages.push(prompt(message, request)?);
    }
    // Calls that wait for their result, by the name of the tool and the id that was sent for them.
    let mut waiting = VecDeque::new();
    for (at, turn) in request.turns.iter().enumerate() {
        messages.push(match turn {
            Turn::Model { text, calls, keep } => {
                let calls = calls.iter().enumerate().map(|(nth, (id, call))| {
                    // A result must name its call, also where the server gave no id.
                    let id = if id.is_empty() { format!("call_{at}_{nth}") } else { id.clone() };
                    waiting.push_back((call.name.clone(), id.clone()));
                    called(id, call)
                });
                spoken(text, calls.collect(), keep.as_ref())
            }
            Turn::User { text } => {
                let mut message = Body::new();
                message.set("role", "user").set("content", text.as_str());
                message.into()
            }
            Turn::Tool { call_id, name, output, .. } => {
                let same = |(tool, id): &(String, String)| match call_id.is_empty() {
                    true => tool == name,
                    false => id == call_id,
                };
                let waited = waiting.iter().position(same).and_then(|at| waiting.remove(at));
                let id = waited.map_or_else(|| call_id.clone(), |(_, id)| id);
                let mut message = Body::new();
                message.set("role", "tool").set("tool_call_id", id).set("content", output.as_str());
                message.into()
            }
        });
    }
    Ok(messages)
}

fn prompt(message: &Message, request: &Request) -> Result<Value, String> {
    let mut body = Body::new();
    body.set("role", message.role.as_str());
    if message.attachments.is_empty() {
        body.set("content", message.content.as_str());
    } else {
        let parts = parts(message, request)?;
        body.set("content", parts.into_iter().map(content_part).collect::<Vec<_>>());
    }
    Ok(body.into())
}

fn content_part(part: Part) -> Value {
    let mut body = Body::new();
    match part {
        Part::Text(text) => {
            body.set("type", "text").set("text", text);
        }
        Part::Image(url) => {
            let mut image = Body::new();
            image.set("url", url);
            body.set("type", "image_url").set("image_url", image);
        }
        // OpenAI's and OpenRouter's form; other servers refuse it with a reason.
        Part::File(name, data) => {
            let mut file = Body::new();
            file.set("filename", name).set("file_data", data);
            body.set("type", "file").set("file", file);
        }
    }
    body.into()
}

/// What the model said in an earlier turn.
fn spoken(text: &str, calls: Vec<Value>, keep: Option<&Value>) -> Value {
    let mut body = Body::new();
    body.set("role", "assistant");
    match text.is_empty() && !calls.is_empty() {
        true => body.set("content", Value::Null),
        false => body.set("content", text),
    };
    if !calls.is_empty() {
        body.set("tool_calls", calls);
    }
    for name in ["reasoning_content", "reasoning_details"] {
        if let Some(kept) = keep.and_then(|keep| keep.get(name)) {
            body.set(name, kept.clone());
        }
    }
    body.into()
}

fn called(id: String, call: &ToolCall) -> Value {
    let (mut function, mut body) = (Body::new(), Body::new());
    function.set("name", call.name.as_str()).set("arguments", arguments_text(&call.arguments));
    body.set("id", id).set("type", "function").set("function", function);
    body.into()
}

fn tool(tool: &ToolPlan) -> Value {
    let (mut function, mut body) = (Body::new(), Body::new());
    function.set("name", tool.name.as_str()).set("description", tool.description.as_str());
    function.set("parameters", tool.parameters.clone());
    body.set("type", "function").set("function", function);
    body.into()
}

/// `auto`, `none`, `required`, an object as it is, or the name of the tool to be called.
fn tool_choice(choice: &Value) -> Value {
    match choice.as_str() {
        None | Some("auto" | "none" | "required") => choice.clone(),
        Some(name) => {
            let (mut function, mut body) = (Body::new(), Body::new());
            function.set("name", name);
            body.set("type", "function").set("function", function);
            body.into()
        }
    }
}
