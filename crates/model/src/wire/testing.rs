//! What the tests of wires have in common.

use std::sync::Arc;

use proofmark_artefact::record::{Attachment, Message, Role, ToolCall};
use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, Map, Value, json};
use proptest::prelude::*;

use super::{Completion, Wire, WireError};
use crate::ask::{File, Request};

/// A value out of its JSON.
pub(super) fn value(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap()
}

pub(super) fn map(text: &str) -> Map {
    match value(text) {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

/// A request of one question.
pub(super) fn ask(question: &str, params: &str) -> Request {
    Request::new([Message::new(Role::User, question)], map(params), SampleSeed::derive(7, "key"))
}

/// The same request with a file in front of its question.
pub(super) fn with_file(mut request: Request, name: &str, media_type: &str, bytes: &[u8]) -> Request {
    let digest = Digest::of(bytes);
    let mut messages = request.messages.to_vec();
    messages.last_mut().unwrap().attachments.push(Attachment {
        bytes: bytes.len() as u64,
        digest,
        media_type: media_type.to_owned(),
        name: name.to_owned(),
    });
    request.messages = messages.into();
    let mut files = request.files.to_vec();
    files.push(File { digest, bytes: Arc::from(bytes) });
    request.files = files.into();
    request
}

pub(super) fn weather_tool() -> ToolPlan {
    ToolPlan {
        name: "get_weather".to_owned(),
        description: "Tells the weather of a city.".to_owned(),
        parameters: map(r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#),
    }
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> (String, ToolCall) {
    (id.to_owned(), ToolCall { name: name.to_owned(), arguments: value(arguments) })
}

/// The name and the data of every event of a stream's text.
pub(super) fn events(text: &str) -> Vec<(&str, &str)> {
    let mut events = Vec::new();
    for block in text.split("\n\n") {
        let part = |name| block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim_start);
        if let Some(data) = part("data:") {
            events.push((part("event:").unwrap_or_default(), data));
        }
    }
    events
}

/// Puts a stream together as the transport does.
pub(super) fn assemble(wire: &dyn Wire, events: &[(&str, &str)]) -> Result<Completion, WireError> {
    let mut assembler = wire.assemble();
    for (event, data) in events {
        if assembler.take(event, data)? {
            break;
        }
    }
    assembler.finish()
}

/// A JSON text in which one place holds something else.
pub(super) fn damaged(text: &'static str) -> impl Strategy<Value = String> {
    let odd = prop_oneof![
        Just("null"),
        Just("true"),
        Just("-1"),
        Just("1e300"),
        Just("\"x\""),
        Just("\"\""),
        Just("[]"),
        Just("[[]]"),
        Just("{}"),
        Just("[{\"type\":\"text\"}]"),
    ];
    (any::<prop::sample::Index>(), odd).prop_map(|(place, odd)| {
        let mut tree = value(text);
        let mut place = place.index(count(&tree));
        replace(&mut tree, &mut place, &value(odd));
        tree.to_string()
    })
}

/// A text in which bytes were changed or lost.
pub(super) fn garbled(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), any::<u8>(), any::<bool>());
    prop::collection::vec(change, 1..4).prop_map(|changes| {
        let mut bytes = text.as_bytes().to_vec();
        for (place, byte, lose) in changes {
            if bytes.is_empty() {
                break;
            }
            let place = place.index(bytes.len());
            if lose {
                bytes.remove(place);
            } else {
                bytes[place] = byte;
            }
        }
        bytes
    })
}

fn count(tree: &Value) -> usize {
    1 + match tree {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.iter().map(|(_, member)| count(member)).sum(),
        _ => 0,
    }
}

fn replace(tree: &mut Value, place: &mut usize, odd: &Value) {
    if *place == 0 {
        *tree = odd.clone();
    }
    *place = place.wrapping_sub(1);
    match tree {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, place, odd)),
        Value::Object(members) => {
            let names: Vec<String> = members.iter().map(|(name, _)| name.to_owned()).collect();
            for name in names {
                let mut member = members.remove(&name).unwrap();
                replace(&mut member, place, odd);
                members.insert(name, member);
            }
        }
        _ => {}
    }
}
