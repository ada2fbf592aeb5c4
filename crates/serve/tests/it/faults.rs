//! Every way to fail, on every wire.

use std::time::{Duration, Instant};

use proofmark_serve::mock::{Config, Fault, Faults, Server, Times};
use serde_json::{Value, json};

use crate::client::{Client, Reply, post, questions, start, streamed};

fn failing(fault: Fault) -> Server {
    start(Config { faults: Faults::every(fault), fault_times: Times::Always, ..Config::default() })
}

#[test]
fn statuses_come_in_the_shape_of_the_wire() {
    let cases = [
        (Fault::RateLimited, 429, ["rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"]),
        (Fault::ServerError, 500, ["server_error", "api_error", "INTERNAL"]),
        (Fault::Overloaded, 529, ["overloaded", "overloaded_error", "UNAVAILABLE"]),
    ];
    for (fault, status, words) in cases {
        let config = Config { retry_after_secs: Some(7), ..Config::default() };
        let server = start(Config { faults: Faults::every(fault), fault_times: Times::Always, ..config });
        for (path, headers, body) in questions("hi").into_iter().chain(streamed("hi")) {
            let reply = post(&server, path, headers, &body);
            assert_eq!(reply.status, status, "{path}");
            assert_eq!(reply.header("retry-after"), (status == 429).then_some("7"), "{path}");
            let word = match path {
                "/v1/chat/completions" | "/v1/responses" => Some(words[0]),
                "/v1/messages" => Some(words[1]),
                _ if path.starts_with("/v1beta") => Some(words[2]),
                _ => None,
            };
            reply.json();
            assert!(word.is_none_or(|word| reply.text().contains(&format!("\"{word}\""))), "{path}: {}", reply.text());
        }
    }
}

#[test]
fn a_truncated_reply_has_fewer_bytes_than_it_announced() {
    let server = failing(Fault::Truncated);
    for (path, headers, body) in questions("a text of some length").into_iter().chain(streamed("a text of some length"))
    {
        let reply = post(&server, path, headers, &body);
        assert_eq!(reply.status, 200, "{path}");
        assert!(!reply.is_complete && !reply.body.is_empty(), "{path}: {}", reply.text());
    }
}

#[test]
fn a_reset_connection_gives_no_reply() {
    let server = failing(Fault::Reset);
    for (path, headers, body) in questions("hi") {
        let mut client = Client::new(server.address());
        client.send("POST", path, headers, body.to_string().as_bytes());
        let error = client.receive().expect_err("no reply");
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{path}");
    }
}

#[test]
fn a_malformed_reply_is_complete_and_no_json() {
    let server = failing(Fault::Malformed);
    for (path, headers, body) in questions("hi") {
        let reply = post(&server, path, headers, &body);
        assert_eq!((reply.status, reply.is_complete), (200, true), "{path}");
        assert!(serde_json::from_slice::<Value>(&reply.body).is_err(), "{path}");
    }
    for (path, headers, body) in streamed("hi") {
        let reply = post(&server, path, headers, &body);
        assert!(reply.is_complete, "{path}");
        let lines = reply
            .text()
            .lines()
            .filter_map(|line| line.strip_prefix("data: ").or(path.starts_with("/api").then_some(line)));
        let broken = lines.filter(|data| *data != "[DONE]" && serde_json::from_str::<Value>(data).is_err()).count();
        assert_eq!(broken, 1, "{path}: {}", reply.text());
    }
}

#[test]
fn a_cut_stream_ends_in_good_order_before_its_last_event() {
    let (server, whole) = (failing(Fault::StreamCut), start(Config::default()));
    for (path, headers, body) in streamed("a text of some length, so that there are pieces") {
        let [cut, all] = [&server, &whole].map(|server| post(server, path, headers, &body));
        assert!(cut.is_complete, "{path}");
        assert!(!cut.body.is_empty() && all.body.starts_with(&cut.body[..cut.body.len() / 4]), "{path}");
        for end in ["[DONE]", "message_stop", "response.completed", "finishReason", "\"done\":true", "message-end"] {
            assert!(!cut.text().contains(end), "{path}: {}", cut.text());
        }
    }
    // What is not streamed cannot be cut.
    let (path, headers, body) = questions("hi").remove(0);
    assert!(post(&server, path, headers, &body).json()["choices"].is_array());
    assert_eq!(server.stats().by_fault["stream-cut"], 7);
}

#[test]
fn an_empty_answer_is_a_good_reply_without_text() {
    let server = failing(Fault::Empty);
    for (path, headers, body) in questions("hello there").into_iter().chain(streamed("hello there")) {
        let reply = post(&server, path, headers, &body);
        assert_eq!((reply.status, reply.is_complete), (200, true), "{path}");
        assert!(!reply.text().contains("hello"), "{path}: {}", reply.text());
    }
}

#[test]
fn refusals_and_filters_have_the_shape_of_the_wire() {
    let shapes = [
        ("/v1/chat/completions", Fault::Refusal, "/choices/0/message/refusal", "I cannot help with that."),
        ("/v1/chat/completions", Fault::Filter, "/choices/0/finish_reason", "content_filter"),
        ("/v1/responses", Fault::Refusal, "/output/0/content/0/type", "refusal"),
        ("/v1/responses", Fault::Filter, "/incomplete_details/reason", "content_filter"),
        ("/v1/messages", Fault::Refusal, "/stop_reason", "refusal"),
        ("/v1/messages", Fault::Filter, "/stop_reason", "refusal"),
        ("/v1beta/models/m:generateContent", Fault::Refusal, "/promptFeedback/blockReason", "PROHIBITED_CONTENT"),
        ("/v1beta/models/m:generateContent", Fault::Filter, "/candidates/0/finishReason", "SAFETY"),
    ];
    for (path, fault, place, word) in shapes {
        let (_, headers, body) = questions("hi").into_iter().find(|(have, ..)| *have == path).unwrap();
        let reply = post(&failing(fault), path, headers, &body);
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(reply.json().pointer(place), Some(&json!(word)), "{path}: {}", reply.text());
    }
    for (path, headers, body) in questions("hi").into_iter().skip(4) {
        let server = failing(Fault::Refusal);
        assert!(post(&server, path, headers, &body).text().contains("\"hi\""), "{path} has no shape for it");
        assert!(server.stats().by_fault.is_empty());
    }
    let picture = json!({"model": "m", "prompt": "x"});
    let reply = post(&failing(Fault::Filter), "/v1/images/generations", &[], &picture);
    assert_eq!((reply.status, reply.json()["error"]["code"].clone()), (400, json!("moderation_blocked")));
}

#[test]
fn refusals_and_filters_are_streamed_too() {
    let ask = |fault, at: usize| -> (Vec<String>, Vec<Value>) {
        let (path, headers, body) = streamed("hi").remove(at);
        post(&failing(fault), path, headers, &body).events().into_iter().unzip()
    };
    let (_, chat) = ask(Fault::Refusal, 0);
    let refusal: String = chat.iter().filter_map(|e| e.pointer("/choices/0/delta/refusal")?.as_str()).collect();
    assert_eq!(refusal, "I cannot help with that.");
    let (_, chat) = ask(Fault::Filter, 0);
    assert!(chat.iter().any(|e| e.pointer("/choices/0/finish_reason") == Some(&json!("content_filter"))));
    let (names, _) = ask(Fault::Refusal, 1);
    assert!(names.contains(&"response.refusal.done".to_owned()), "{names:?}");
    let (names, _) = ask(Fault::Filter, 1);
    assert_eq!(names.last().unwrap(), "response.incomplete");
    let (_, events) = ask(Fault::Refusal, 2);
    assert!(events.iter().any(|e| e.pointer("/delta/stop_reason") == Some(&json!("refusal"))));
    let (_, events) = ask(Fault::Filter, 3);
    assert_eq!(events[0].pointer("/candidates/0/finishReason"), Some(&json!("SAFETY")));
}

#[test]
fn a_gateway_answers_with_a_page() {
    let (path, headers, body) = questions("hi").remove(0);
    let reply = post(&failing(Fault::Html), path, headers, &body);
    assert_eq!((reply.status, reply.header("content-type")), (502, Some("text/html")));
    assert!(reply.text().starts_with("<html>"));
}

#[test]
fn a_slow_body_comes_late_and_whole() {
    let slow = Some(Duration::from_millis(200));
    let config = Config { faults: Faults::every(Fault::Slow), fault_times: Times::Always, slow, ..Config::default() };
    let server = start(config);
    for (path, headers, body) in [questions("hi").remove(0), streamed("hi").remove(2)] {
        let start = Instant::now();
        let reply = post(&server, path, headers, &body);
        assert!(start.elapsed() >= Duration::from_millis(190), "{path}: {:?}", start.elapsed());
        assert!(reply.is_complete && reply.text().contains("hi"), "{path}");
    }
}

#[test]
fn a_stalled_request_gets_nothing_and_does_not_keep_the_server_from_stopping() {
    let server = failing(Fault::Stall);
    let (path, headers, body) = questions("hi").remove(0);
    let mut client = Client::new(server.address());
    client.send("POST", path, headers, body.to_string().as_bytes());
    while server.stats().by_fault.get("stall") != Some(&1) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let stats = server.stop().unwrap();
    assert_eq!(stats.by_status.len(), 0);
    assert!(client.receive().is_err());
}

#[test]
fn a_request_fails_as_often_as_it_is_told_to_and_then_succeeds() {
    let statuses = |times: Times| -> Vec<u16> {
        let server =
            start(Config { faults: Faults::every(Fault::ServerError), fault_times: times, ..Config::default() });
        let (path, headers, body) = questions("hi").remove(0);
        (0..4).map(|_| post(&server, path, headers, &body).status).collect()
    };
    assert_eq!(statuses(Times::default()), [500, 200, 200, 200]);
    assert_eq!(statuses(Times::AtMost(3)), [500, 500, 500, 200]);
    assert_eq!(statuses(Times::AtMost(0)), [200, 200, 200, 200]);
    assert_eq!(statuses(Times::Always), [500, 500, 500, 500]);
}

#[test]
fn the_same_requests_fail_on_every_server() {
    let run = || -> Vec<u16> {
        let server = start(Config { faults: "429=30,500=20".parse().unwrap(), ..Config::default() });
        let mut client = Client::new(server.address());
        let ask = |n| client.ask("/v1/responses", &[], &json!({"model": "m", "input": format!("question {n}")}));
        (0..100).map(ask).map(|reply: Reply| reply.status).collect()
    };
    let statuses = run();
    assert_eq!(run(), statuses);
    let share = |status: u16| statuses.iter().filter(|have| **have == status).count();
    assert!(share(429) > 15 && share(500) > 8 && share(200) > 35, "{statuses:?}");
}
