//! Models that write text.

use proofmark_canon::Value;

use super::super::parts::{self, object};
use super::super::{Assemble, Body, Call, Completion, Refused, Wire, WireError};
use super::reply;
use crate::ask::Request;

/// `POST /run/{model}` for text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run;

impl Wire for Run {
    fn params(&self) -> &'static [&'static str] {
        &["top_k", "repetition_penalty", "frequency_penalty", "presence_penalty", "response_schema"]
    }

    fn lacks(&self) -> &'static [&'static str] {
        &["stop"]
    }

    fn takes_seed(&self) -> bool {
        true
    }

    fn encode(&self, model: &str, request: &Request) -> Result<Call, String> {
        let mut messages = parts::prompt(request)?;
        messages.extend(parts::turns(request));
        let mut body = Body::new();
        body.set("messages", messages);
        body.copy(request, &["temperature", "top_p", "top_k", "max_tokens"]);
        body.copy(request, &["repetition_penalty", "frequency_penalty", "presence_penalty"]);
        if let Some(seed) = parts::seed(request) {
            body.set("seed", seed);
        }
        if let Some(schema) = request.params.get("response_schema") {
            body.set("response_format", response_format(schema));
        }
        if let Some(tools) = parts::tools(request) {
            body.set("tools", tools);
        }
        let streamed = request.is_streamed();
        body.set("stream", streamed);
        body.merge_extra(request);
        Ok(Call { path: super::path(model)?, body: body.to_bytes(), streamed })
    }

    fn decode(&self, body: &[u8]) -> Result<Completion, WireError> {
        reply::decode(body)
    }

    fn assemble(&self) -> Box<dyn Assemble> {
        Box::<reply::Stream>::default()
    }

    fn refuse(&self, status: u16, body: &[u8]) -> Refused {
        super::refuse(status, body)
    }
}

/// The schema stands bare here; OpenAI wraps it in an object with a name.
fn response_format(schema: &Value) -> Value {
    object([("json_schema", schema.clone()), ("type", "json_schema".into())])
}
