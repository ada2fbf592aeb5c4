//! Whatever a server sends, there is an answer or an error.

use proofmark_canon::{Map, json};
use proptest::prelude::*;

use super::*;
use crate::wire::openai::{Images, Responses};

const WHOLE: &[&str] = &[
    fixture!("chat_tools.json"),
    fixture!("chat_logprobs.json"),
    fixture!("chat_azure_filtered.json"),
    fixture!("chat_compatible.json"),
    fixture!("chat_error.json"),
    fixture!("responses_tools.json"),
    fixture!("responses_logprobs.json"),
    fixture!("responses_length.json"),
    fixture!("responses_failed.json"),
    fixture!("images.json"),
];

const STREAMS: &[&str] = &[
    fixture!("chat_stream.sse"),
    fixture!("chat_stream_tools.sse"),
    fixture!("chat_stream_logprobs.sse"),
    fixture!("chat_stream_filtered.sse"),
    fixture!("chat_stream_reasoning.sse"),
    fixture!("chat_stream_error.sse"),
    fixture!("responses_stream.sse"),
    fixture!("responses_stream_failed.sse"),
];

const WIRES: [&dyn Wire; 4] = [&OPENAI, &COMPATIBLE, &Responses, &Images];

/// A value of another kind than most that stand in a reply.
fn strange() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u32>().prop_map(Value::from),
        Just(value("1.8446744073709552e19")),
        Just(value("-1.5")),
        "\\PC{0,8}".prop_map(Value::from),
        Just(Value::Array(Vec::new())),
        Just(value(r#"[{"type":"text"},null,[1]]"#)),
        Just(Value::Object(Map::new())),
        Just(value(r#"{"index":3,"type":"message","content":[{"type":"output_text"}]}"#)),
    ]
}

/// Puts a value in the place of the nth one, counted in the order of reading; or leaves out that member or item.
fn mutate(value: &Value, nth: &mut usize, with: &Option<Value>) -> Option<Value> {
    if *nth == 0 {
        *nth = usize::MAX;
        return with.clone();
    }
    *nth -= 1;
    Some(match value {
        Value::Array(items) => Value::Array(items.iter().filter_map(|item| mutate(item, nth, with)).collect()),
        Value::Object(map) => {
            let mut changed = Map::new();
            for (name, item) in map.iter() {
                if let Some(item) = mutate(item, nth, with) {
                    changed.insert(name, item);
                }
            }
            Value::Object(changed)
        }
        other => other.clone(),
    })
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(map) => map.iter().map(|(_, item)| size(item)).sum(),
        _ => 0,
    }
}

fn read_everywhere(body: &[u8]) {
    for wire in WIRES {
        // Whatever comes out can be written to a record.
        if let Ok(answer) = wire.decode(body) {
            assert!(proofmark_canon::to_vec(&answer.logprobs).is_ok());
            assert!(answer.usage.input_tokens.checked_add(answer.usage.output_tokens).is_some());
        }
        for status in [400, 401, 403, 429, 500] {
            assert!(!wire.refuse(status, body).message.is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_reply_with_something_strange_in_it(
        which in 0..WHOLE.len(), at in any::<prop::sample::Index>(), with in prop::option::of(strange()),
    ) {
        let whole = value(WHOLE[which]);
        let mut nth = at.index(size(&whole));
        let changed = mutate(&whole, &mut nth, &with).unwrap_or_default();
        read_everywhere(changed.to_string().as_bytes());
    }

    #[test]
    fn a_reply_with_other_bytes_in_it(
        which in 0..WHOLE.len(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let mut bytes = WHOLE[which].as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.truncate(at + 1);
        }
        read_everywhere(&bytes);
    }

    #[test]
    fn a_stream_that_ends_anywhere(which in 0..STREAMS.len(), at in any::<prop::sample::Index>()) {
        let sse = STREAMS[which];
        let mut end = at.index(sse.len());
        while !sse.is_char_boundary(end) {
            end -= 1;
        }
        for wire in WIRES {
            let cut = assembled(wire, &events(&sse[..end]));
            // What is left of a stream is never another answer than the whole of it.
            if let (Ok(cut), Ok(whole)) = (cut, assembled(wire, &events(sse))) {
                prop_assert_eq!(cut, whole);
            }
        }
    }

    #[test]
    fn a_stream_with_something_strange_in_it(
        which in 0..STREAMS.len(), event in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(),
        with in prop::option::of(strange()),
    ) {
        let mut events: Vec<(&str, String)> =
            events(STREAMS[which]).into_iter().map(|(event, data)| (event, data.to_owned())).collect();
        let event = event.index(events.len());
        if let Ok(whole) = json::parse(events[event].1.as_bytes()) {
            let mut nth = at.index(size(&whole));
            events[event].1 = mutate(&whole, &mut nth, &with).unwrap_or_default().to_string();
        }
        let events: Vec<(&str, &str)> = events.iter().map(|(event, data)| (*event, data.as_str())).collect();
        for wire in WIRES {
            let _ = assembled(wire, &events);
        }
    }
}
