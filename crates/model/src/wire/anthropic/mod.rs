//! Anthropic's Messages.
//!
//! - [`request`] our request as theirs;
//! - [`reply`] a message that came whole, and what its parts mean;
//! - [`stream`] a message that came in events;
//! - [`refuse`] what their errors mean.

mod refuse;
mod reply;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use proofmark_canon::Value;

use super::{Assemble, Call, Completion, Refused, Wire, WireError, one_of};
use crate::ask::Request;

/// `POST /v1/messages`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Messages;

impl Wire for Messages {
    fn params(&self) -> &'static [&'static str] {
        &[
            "top_k",
            "reasoning_effort",
            "thinking_budget",
            "response_schema",
            "tool_choice",
            "parallel_tool_calls",
            "service_tier",
        ]
    }

    fn check_value(&self, name: &str, value: &Value) -> Result<(), String> {
        if name == "reasoning_effort" { one_of(&request::EFFORTS, value) } else { Ok(()) }
    }

    fn takes_seed(&self) -> bool {
        false
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn encode(&self, model: &str, request: &Request) -> Result<Call, String> {
        request::encode(model, request)
    }

    fn decode(&self, body: &[u8]) -> Result<Completion, WireError> {
        reply::decode(body)
    }

    fn assemble(&self) -> Box<dyn Assemble> {
        Box::<stream::Events>::default()
    }

    fn refuse(&self, status: u16, body: &[u8]) -> Refused {
        refuse::refuse(status, body)
    }
}
