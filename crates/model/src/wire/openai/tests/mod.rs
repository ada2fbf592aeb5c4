//! The wires against fixtures of the documented formats.

mod chat;
mod faults;
mod images;
mod never_panics;
mod requests;
mod responses;
mod streams;

use proofmark_artefact::record::{ToolCall, Usage};
use proofmark_canon::{Value, json};

use super::{Chat, Dialect};
use crate::wire::{Completion, Wire, WireError};

pub(super) const OPENAI: Chat = Chat { dialect: Dialect::OpenAi };
pub(super) const COMPATIBLE: Chat = Chat { dialect: Dialect::Compatible };

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../fixtures/", $name))
    };
}
pub(super) use fixture;

/// What every fixture of an answer counts.
pub(super) const USAGE: Usage = Usage { input_tokens: 19, output_tokens: 10 };

/// The events of a stream, as the framing gives them.
pub(super) fn events(sse: &str) -> Vec<(&str, &str)> {
    sse.split("\n\n")
        .filter(|block| !block.is_empty())
        .map(|block| {
            let line = |name| block.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            (line("event: "), line("data: "))
        })
        .collect()
}

/// Puts a stream together the way the transport does: until the last event, or the end.
pub(super) fn assembled(wire: &dyn Wire, events: &[(&str, &str)]) -> Result<Completion, WireError> {
    let mut assemble = wire.assemble();
    for (event, data) in events {
        if assemble.take(event, data)? {
            break;
        }
    }
    assemble.finish()
}

pub(super) fn value(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap()
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> (String, ToolCall) {
    let arguments = json::parse(arguments.as_bytes()).unwrap_or_else(|_| Value::from(arguments));
    (id.to_owned(), ToolCall { arguments, name: name.to_owned() })
}
