//! Streams of every wire.

use proofmark_serve::mock::Config;
use serde_json::{Value, json};

use crate::client::{Reply, post, start, streamed};

const TEXT: &str = "An answer that takes more than one piece: é, 漢字 and the rest.";

/// The texts of a stream put together, and whether it ended as it should.
fn joined(path: &str, reply: &Reply) -> (String, bool) {
    let join = |events: &[Value], place: &str| -> String {
        events.iter().filter_map(|event| event.pointer(place).and_then(Value::as_str)).collect()
    };
    if path == "/api/chat" {
        assert_eq!(reply.header("content-type"), Some("application/x-ndjson"));
        let lines: Vec<Value> = reply.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let last = lines.last().unwrap();
        return (join(&lines, "/message/content"), last["done"] == json!(true) && last["eval_count"].is_u64());
    }
    let (names, events): (Vec<String>, Vec<Value>) = reply.events().into_iter().unzip();
    let last = events.last().unwrap();
    match path {
        "/v1/chat/completions" => (join(&events, "/choices/0/delta/content"), *last == json!("[DONE]")),
        "/v1/responses" => {
            let numbers: Vec<u64> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
            assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
            assert!(names.iter().zip(&events).all(|(name, event)| event["type"] == json!(name)));
            let deltas: Vec<Value> =
                events.iter().filter(|event| event["type"] == "response.output_text.delta").cloned().collect();
            let whole = last.pointer("/response/output/0/content/0/text").and_then(Value::as_str).unwrap();
            assert_eq!(join(&deltas, "/delta"), whole);
            (whole.to_owned(), last["type"] == "response.completed")
        }
        "/v1/messages" => {
            assert_eq!(names[0], "message_start");
            assert_eq!(names[names.len() - 2], "message_delta");
            (join(&events, "/delta/text"), last["type"] == "message_stop")
        }
        "/v2/chat" => (join(&events, "/delta/message/content/text"), last["type"] == "message-end"),
        "/client/v4/accounts/acc/ai/run/m" => (join(&events, "/response"), *last == json!("[DONE]")),
        _ => (
            join(&events, "/candidates/0/content/parts/0/text"),
            last.pointer("/candidates/0/finishReason") == Some(&json!("STOP")),
        ),
    }
}

#[test]
fn every_stream_makes_up_the_same_answer() {
    let server = start(Config::default());
    for (path, headers, body) in streamed(TEXT) {
        let reply = post(&server, path, headers, &body);
        assert!(reply.is_complete, "{path}");
        assert_eq!(joined(path, &reply), (TEXT.to_owned(), true), "{path}");
        let pieces = reply.text().matches(if path == "/api/chat" { "\n" } else { "data: " }).count();
        assert!(pieces > 4, "{path}: {pieces}");
    }
}

#[test]
fn counts_come_at_the_end_of_a_chat_stream_when_they_are_asked_for() {
    let server = start(Config::default());
    let (path, headers, mut body) = streamed(TEXT).remove(0);
    let usages = |body: &Value| -> Vec<Value> {
        post(&server, path, headers, body)
            .events()
            .iter()
            .filter_map(|(_, event)| event.get("usage").cloned())
            .collect()
    };
    assert_eq!(usages(&body), Vec::<Value>::new());
    body["stream_options"] = json!({"include_usage": true});
    let usages = usages(&body);
    assert!(usages[..usages.len() - 1].iter().all(Value::is_null));
    assert_eq!(usages[usages.len() - 1]["completion_tokens"], json!(TEXT.len().div_ceil(4)));
}

#[test]
fn tool_calls_are_streamed() {
    let server = start(Config::default());
    for (path, headers, mut body) in streamed(r#"call:look_up {"city": "N'Djamena", "units": "metric"}"#) {
        body["tools"] = json!([{}]);
        let reply = post(&server, path, headers, &body);
        if path == "/api/chat" {
            let first: Value = serde_json::from_str(reply.text().lines().next().unwrap()).unwrap();
            assert_eq!(first["message"]["tool_calls"][0]["function"]["arguments"]["units"], "metric");
            continue;
        }
        let events: Vec<Value> = reply.events().into_iter().map(|(_, event)| event).collect();
        let place = match path {
            "/v1/chat/completions" => "/choices/0/delta/tool_calls/0/function/arguments",
            "/v1/messages" => "/delta/partial_json",
            "/v1/responses" => "/delta",
            "/v2/chat" => "/delta/message/tool_calls/function/arguments",
            "/client/v4/accounts/acc/ai/run/m" => "/tool_calls/0/arguments",
            _ => "/candidates/0/content/parts/0/functionCall/args",
        };
        let parts = events.iter().filter_map(|event| event.pointer(place));
        let text: String = parts.map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned)).collect();
        let arguments: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(arguments, json!({"city": "N'Djamena", "units": "metric"}), "{path}");
    }
}

#[test]
fn gemini_streams_a_list_without_alt_sse() {
    let server = start(Config::default());
    let (_, _, body) = streamed(TEXT).remove(3);
    let reply = post(&server, "/v1beta/models/m:streamGenerateContent", &[], &body);
    let list = reply.json();
    let texts = list.as_array().unwrap().iter().filter_map(|one| one.pointer("/candidates/0/content/parts/0/text"));
    assert_eq!(texts.filter_map(Value::as_str).collect::<String>(), TEXT);
}

#[test]
fn ollama_streams_unless_it_is_told_not_to() {
    let server = start(Config::default());
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(post(&server, "/api/chat", &[], &body).text().lines().count(), 2);
}
