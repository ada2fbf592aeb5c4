//! Requests, streams and mutations that the tests of wires share.

use std::sync::Arc;

use proofmark_artefact::record::{Attachment, Message, Role, ToolCall};
use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, Map, Value, json};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

use super::super::{Class, Completion, Framing, Wire, WireError};
use crate::ask::{File, Request, Turn};

/// A system prompt, a question, and parameters in JSON. The sample's own seed is 704460341.
pub(in super::super) fn request(params: &str) -> Request {
    let messages = vec![Message::new(Role::System, "Be brief."), Message::new(Role::User, "Why?")];
    Request::new(messages, map(params), SampleSeed::derive(7, "key"))
}

/// The question with one attachment.
pub(in super::super) fn attached(name: &str, media_type: &str, bytes: &[u8]) -> Request {
    let mut request = request(r#"{"seed":false}"#);
    let digest = Digest::of(bytes);
    let (media_type, name) = (media_type.to_owned(), name.to_owned());
    let mut message = Message::new(Role::User, "Look.");
    message.attachments = vec![Attachment { bytes: bytes.len() as u64, digest, media_type, name }];
    request.messages = vec![message].into();
    request.files = vec![File { digest, bytes: Arc::from(bytes) }].into();
    request
}

/// A conversation in which the model asked for a tool and got a result; `id` as the provider gave it.
pub(in super::super) fn conversation(id: &str, keep: Option<Value>) -> Request {
    let mut request = request(r#"{"seed":false}"#);
    request.messages = vec![Message::new(Role::User, "Weather?")].into();
    let parameters = map(r#"{"type":"object","properties":{"city":{"type":"string"}}}"#);
    let (name, description) = ("weather".to_owned(), "Tells the weather.".to_owned());
    request.tools = vec![ToolPlan { name: name.clone(), description, parameters }].into();
    let call = ToolCall { arguments: Value::Object(map(r#"{"city":"Oslo"}"#)), name: name.clone() };
    request.turns = vec![
        Turn::Model { text: "Let me look.".to_owned(), calls: vec![(id.to_owned(), call)], keep },
        Turn::Tool { call_id: id.to_owned(), name, output: "4 degrees".to_owned(), is_error: false },
    ];
    request
}

/// The body of a call as text, with its path in front.
pub(in super::super) fn encoded(wire: &dyn Wire, model: &str, request: &Request) -> String {
    let call = wire.encode(model, request).unwrap();
    assert_eq!(call.streamed, request.is_streamed());
    assert_eq!(json::check_canonical(&call.body), Ok(()));
    format!("{} {}", call.path, String::from_utf8(call.body).unwrap())
}

/// Feeds a stream to a wire, as the transport does.
pub(in super::super) fn feed(wire: &dyn Wire, stream: &str) -> Result<Completion, WireError> {
    feed_parts(wire, &parts(wire, stream))
}

/// Every beginning of a stream is known to be one.
pub(in super::super) fn every_cut_is_found(wire: &dyn Wire, stream: &str) {
    let parts = parts(wire, stream);
    for end in 0..parts.len() {
        let error = feed_parts(wire, &parts[..end]).unwrap_err();
        assert_eq!(error.class, Class::StreamCut, "after {end} of {} parts", parts.len());
    }
    feed_parts(wire, &parts).unwrap();
}

/// Mutations and cuts of replies and streams end in an answer or an error, never in a panic.
pub(in super::super) fn survives(wire: &dyn Wire, replies: &[&[u8]], streams: &[&str]) {
    let mutation = prop::collection::vec((any::<Index>(), prop::sample::select(BYTES)), 0..4);
    let strategy = (any::<Index>(), mutation, any::<Index>(), 400u16..600);
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(400) });
    let result = runner.run(&strategy, |(which, mutations, cut, status)| {
        let mutated = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            for (place, byte) in &mutations {
                let at = place.index(bytes.len());
                bytes[at] = *byte;
            }
            bytes.truncate(cut.index(bytes.len() * 2 + 1));
            bytes
        };
        if !replies.is_empty() {
            let bytes = mutated(replies[which.index(replies.len())]);
            let _ = wire.decode(&bytes);
            let refused = wire.refuse(status, &bytes);
            prop_assert!(!refused.message.is_empty());
        }
        if !streams.is_empty() {
            let bytes = mutated(streams[which.index(streams.len())].as_bytes());
            let _ = feed(wire, &String::from_utf8_lossy(&bytes));
        }
        Ok(())
    });
    result.unwrap();
    // Bytes rarely hit what is read deep inside; a value of another kind in every place does.
    for reply in replies {
        for variant in json::parse(reply).iter().flat_map(variants) {
            let _ = wire.decode(&variant.to_canonical());
            let _ = wire.refuse(400, &variant.to_canonical());
        }
    }
    for stream in streams {
        let parts = parts(wire, stream);
        for at in 0..parts.len() {
            for variant in json::parse(parts[at].1.as_bytes()).iter().flat_map(variants) {
                let mut parts = parts.clone();
                parts[at].1 = variant.to_string();
                let _ = feed_parts(wire, &parts);
            }
        }
    }
}

/// The value with one place of it missing or replaced by each kind of value.
fn variants(value: &Value) -> Vec<Value> {
    let kinds = [r#"null"#, "true", "1e300", "-1", r#""text""#, r#"["text"]"#, "[{}]", r#"{"message":7}"#];
    let mut all: Vec<Value> = kinds.iter().map(|kind| json::parse(kind.as_bytes()).unwrap()).collect();
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                all.extend(variants(item).into_iter().map(|variant| {
                    let mut items = items.clone();
                    items[at] = variant;
                    Value::Array(items)
                }));
            }
        }
        Value::Object(map) => {
            for (name, item) in map.iter() {
                let mut without = map.clone();
                without.remove(name);
                all.push(Value::Object(without));
                all.extend(variants(item).into_iter().map(|variant| {
                    let mut map = map.clone();
                    map.insert(name, variant);
                    Value::Object(map)
                }));
            }
        }
        _ => {}
    }
    all
}

const BYTES: &[u8] = b"{}[]\",:0-9e.ntf\\ \n<\xff\x00";

pub(in super::super) fn map(text: &str) -> Map {
    match json::parse(text.as_bytes()).unwrap() {
        Value::Object(map) => map,
        other => panic!("{other}"),
    }
}

fn feed_parts(wire: &dyn Wire, parts: &[(String, String)]) -> Result<Completion, WireError> {
    let mut assemble = wire.assemble();
    for (event, data) in parts {
        if assemble.take(event, data)? {
            break;
        }
    }
    assemble.finish()
}

/// The parts of a stream: the events of well-formed fixtures, or lines.
fn parts(wire: &dyn Wire, stream: &str) -> Vec<(String, String)> {
    if wire.framing() == Framing::Lines {
        return stream.lines().map(|line| (String::new(), line.to_owned())).collect();
    }
    let field = |block: &str, name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap_or_default().to_owned()
    };
    let blocks = stream.split("\n\n").filter(|block| block.contains("data:"));
    blocks.map(|block| (field(block, "event:"), field(block, "data:"))).collect()
}
