//! Gemini's generateContent.
//!
//! - [`request`] our request as theirs;
//! - [`reply`] a reply, whole or in chunks: each chunk has the shape of a whole one;
//! - [`refuse`] what their errors mean.

mod refuse;
mod reply;
mod request;
#[cfg(test)]
mod tests;

use proofmark_canon::Value;

use super::{Assemble, Call, Completion, Refused, Wire, WireError, one_of};
use crate::ask::Request;

/// `POST /v1beta/models/{model}:generateContent`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Generate {
    /// Whether pictures are asked for.
    pub(crate) images: bool,
}

impl Wire for Generate {
    fn params(&self) -> &'static [&'static str] {
        if self.images { &WITH_IMAGES } else { WITH_IMAGES.split_last().map_or(&[], |(_, rest)| rest) }
    }

    fn check_value(&self, name: &str, value: &Value) -> Result<(), String> {
        if name == "reasoning_effort" { one_of(&request::LEVELS, value) } else { Ok(()) }
    }

    fn takes_seed(&self) -> bool {
        true
    }

    fn encode(&self, model: &str, request: &Request) -> Result<Call, String> {
        request::encode(model, request, self.images)
    }

    fn decode(&self, body: &[u8]) -> Result<Completion, WireError> {
        reply::decode(body)
    }

    fn assemble(&self) -> Box<dyn Assemble> {
        Box::<reply::Chunks>::default()
    }

    fn refuse(&self, status: u16, body: &[u8]) -> Refused {
        refuse::refuse(status, body)
    }
}

/// Only the last one is about pictures.
const WITH_IMAGES: [&str; 10] = [
    "top_k",
    "presence_penalty",
    "frequency_penalty",
    "reasoning_effort",
    "thinking_budget",
    "response_schema",
    "logprobs",
    "top_logprobs",
    "tool_choice",
    "aspect_ratio",
];
