//! The providers' languages: their request to ours, our answer to theirs, whole and as a stream.
//!
//! Pure functions, written from what the providers document and not from `proofmark_model`'s wires, so that a
//! misunderstanding there does not meet the same misunderstanding here.

mod anthropic;
mod chat;
mod cloudflare;
mod cohere;
mod error;
mod gemini;
mod images;
mod models;
mod ollama;
mod responses;

use serde_json::Value;

use super::answer::{Answer, Said};
use super::ask::Asked;
use super::fault::Fault;
use super::route::{Endpoint, Provider, Route};

pub(super) use error::{Problem, error};
pub(super) use models::models;

/// What a reply holds.
pub(super) enum Content {
    Json(Value),
    /// Something that is no JSON, with its media type.
    Bytes(&'static str, Vec<u8>),
    /// Framed parts, with their media type.
    Stream(&'static str, Vec<Vec<u8>>),
}

const SSE: &str = "text/event-stream; charset=utf-8";

/// Reads a request; the error is for the client.
pub(super) fn read(route: &Route, body: &Value) -> Result<Asked, String> {
    let model = route.model.as_deref().unwrap_or_default();
    match route.endpoint {
        Endpoint::Responses => responses::read(body),
        Endpoint::Images => images::read(body),
        Endpoint::Messages => anthropic::read(body),
        Endpoint::Generate => gemini::read(model, body, false),
        Endpoint::StreamGenerate => gemini::read(model, body, true),
        Endpoint::Ollama => ollama::read(body),
        Endpoint::Cohere => cohere::read(body),
        Endpoint::Cloudflare => cloudflare::read(model, body),
        _ => chat::read(body),
    }
}

/// Writes an answer; `Err` where the provider has an error for it.
pub(super) fn write(route: &Route, is_streamed: bool, answer: &Answer) -> Result<Content, Problem> {
    Ok(match route.endpoint {
        Endpoint::Images if matches!(answer.said, Said::Filtered | Said::Refused) => return Err(Problem::Moderated),
        Endpoint::Images => Content::Json(images::whole(answer)),
        Endpoint::Responses if is_streamed => Content::Stream(SSE, responses::stream(answer)),
        Endpoint::Responses => Content::Json(responses::whole(answer)),
        Endpoint::Messages if is_streamed => Content::Stream(SSE, anthropic::stream(answer)),
        Endpoint::Messages => Content::Json(anthropic::whole(answer)),
        Endpoint::StreamGenerate if route.is_sse => Content::Stream(SSE, gemini::events(answer)),
        Endpoint::StreamGenerate => Content::Stream("application/json; charset=utf-8", gemini::list(answer)),
        Endpoint::Generate => Content::Json(gemini::whole(answer)),
        Endpoint::Ollama if is_streamed => Content::Stream("application/x-ndjson", ollama::stream(answer)),
        Endpoint::Ollama => Content::Json(ollama::whole(answer)),
        Endpoint::Cohere if is_streamed => Content::Stream(SSE, cohere::stream(answer)),
        Endpoint::Cohere => Content::Json(cohere::whole(answer)),
        Endpoint::Cloudflare => cloudflare::write(route.model.as_deref().unwrap_or_default(), is_streamed, answer),
        _ if is_streamed => Content::Stream(SSE, chat::stream(answer)),
        _ => Content::Json(chat::whole(answer)),
    })
}

/// Whether a fault can happen to a request: some providers have no shape for it.
pub(super) fn can_fail(route: &Route, asked: &Asked, fault: Fault) -> bool {
    match fault {
        Fault::StreamCut => asked.is_streamed,
        Fault::Filter | Fault::Refusal => {
            !matches!(route.endpoint.provider(), Provider::Ollama | Provider::Cohere | Provider::Cloudflare)
        }
        _ => true,
    }
}

/// The header in which a provider names the request.
pub(super) fn request_id(provider: Provider, number: u64) -> Option<(&'static str, String)> {
    Some(match provider {
        Provider::OpenAi => ("x-request-id", format!("req_{number:032x}")),
        Provider::Anthropic => ("request-id", format!("req_{number:024x}")),
        Provider::Gemini => ("x-goog-request-id", format!("{number:016x}")),
        Provider::Cloudflare => ("cf-ray", format!("{number:016x}-LHR")),
        Provider::Ollama | Provider::Cohere => return None,
    })
}

/// One server-sent event. A name of "" leaves the name out.
fn event(name: &str, data: &Value) -> Vec<u8> {
    raw_event(name, &data.to_string())
}

fn raw_event(name: &str, data: &str) -> Vec<u8> {
    if name.is_empty() { format!("data: {data}\n\n") } else { format!("event: {name}\ndata: {data}\n\n") }.into_bytes()
}

fn base64(bytes: &[u8]) -> String {
    data_encoding::BASE64.encode(bytes)
}
