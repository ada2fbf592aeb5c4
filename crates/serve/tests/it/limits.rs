//! Limits, counts, the log, and many clients at once.

use std::time::{Duration, Instant};

use proofmark_canon::Digest;
use proofmark_serve::mock::{Config, Latency, Stats};
use serde_json::{Value, json};

use crate::client::{Client, get, post, questions, start};

fn body(n: usize) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": format!("question {n}")}]})
}

#[test]
fn two_thousand_requests_over_sixteen_connections_all_come_back() {
    for threads in [1, 2] {
        let server = start(Config { threads, ..Config::default() });
        let address = server.address();
        std::thread::scope(|scope| {
            for lane in 0..16 {
                scope.spawn(move || {
                    let mut client = Client::new(address);
                    for n in 0..125 {
                        let n = lane * 125 + n;
                        let reply = client.ask("/v1/chat/completions", &[], &body(n)).json();
                        assert_eq!(reply["choices"][0]["message"]["content"], json!(format!("question {n}")));
                    }
                });
            }
        });
        let stats = server.stop().unwrap();
        assert_eq!((stats.requests, stats.connections), (2_000, 16));
        assert_eq!(stats.by_status[&200], 2_000);
        assert!((1..=16).contains(&stats.most_at_once), "{stats:?}");
    }
}

#[test]
fn more_requests_a_second_than_allowed_are_refused() {
    let server = start(Config { rate_limit: Some(5), retry_after_secs: Some(1), ..Config::default() });
    let mut client = Client::new(server.address());
    let replies: Vec<_> = (0..20).map(|n| client.ask("/v1/chat/completions", &[], &body(n))).collect();
    assert!(replies[..5].iter().all(|reply| reply.status == 200));
    let refused: Vec<_> = replies.iter().filter(|reply| reply.status == 429).collect();
    assert!(refused.len() >= 10, "{}", refused.len());
    assert!(refused.iter().all(|reply| reply.header("retry-after") == Some("1")));
    assert_eq!(server.stats().by_fault["rate-limit"], refused.len() as u64);
}

#[test]
fn more_requests_at_once_than_allowed_are_refused() {
    let latency = Latency::Fixed(Duration::from_millis(300));
    let server = start(Config { max_concurrent: Some(2), latency, ..Config::default() });
    let questions = questions("hi");
    let (chat, messages) = (&questions[0], &questions[2]);
    let mut busy: Vec<Client> = (0..2).map(|_| Client::new(server.address())).collect();
    for client in &mut busy {
        client.send("POST", chat.0, &[], chat.2.to_string().as_bytes());
    }
    while server.stats().requests < 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(post(&server, chat.0, chat.1, &chat.2).status, 429);
    assert_eq!(post(&server, messages.0, messages.1, &messages.2).status, 529);
    assert!(busy.iter_mut().all(|client| client.receive().unwrap().status == 200));
    assert_eq!(post(&server, chat.0, chat.1, &chat.2).status, 200);
    assert_eq!(server.stats().by_fault["max-concurrent"], 2);
}

#[test]
fn an_answer_takes_as_long_as_it_is_told_to() {
    let server = start(Config { latency: "80".parse().unwrap(), ..Config::default() });
    let start = Instant::now();
    post(&server, "/v1/chat/completions", &[], &body(0));
    assert!(start.elapsed() >= Duration::from_millis(80));
}

#[test]
fn the_log_has_a_line_for_every_request_and_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let (log, stats) = (folder.path().join("log.jsonl"), folder.path().join("stats.json"));
    let config = Config { log: Some(log.clone()), stats: Some(stats.clone()), ..Config::default() };
    let server = start(Config { faults: "500=100".parse().unwrap(), ..config });
    let gemini = questions("hi").remove(3).2;
    for _ in 0..2 {
        post(&server, "/v1/chat/completions", &[("authorization", "Bearer canary-key")], &body(1));
        post(&server, "/v1beta/models/m:generateContent?key=canary-key", &[], &gemini);
    }
    get(&server, "/nowhere", &[]);
    let shown = get(&server, "/__stats", &[]).json();
    let counted = server.stop().unwrap();
    assert_eq!(serde_json::from_value::<Stats>(shown).unwrap(), counted);
    let written = std::fs::read_to_string(&stats).unwrap();
    assert_eq!(serde_json::from_str::<Stats>(&written).unwrap(), counted);
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(!log.contains("canary") && !written.contains("canary"));
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let digest = Digest::of(body(1).to_string().as_bytes()).to_string();
    let expected = json!({"request": 1, "method": "POST", "path": "/v1/chat/completions", "body": digest, "attempt": 1,
        "key": true, "stream": false, "fault": "500", "status": 500});
    assert_eq!(lines[0], expected);
    let told: Vec<_> =
        lines.iter().map(|line| (line["attempt"].clone(), line["fault"].clone(), line["status"].clone())).collect();
    let expected = [
        json!([1, "500", 500]),
        json!([1, "500", 500]),
        json!([2, null, 200]),
        json!([2, null, 200]),
        json!([1, null, 404]),
    ];
    assert_eq!(told, expected.map(|one| (one[0].clone(), one[1].clone(), one[2].clone())));
}

#[test]
fn a_request_that_is_too_long_is_refused_before_it_is_read() {
    let server = start(Config::default());
    let mut client = Client::new(server.address());
    // Only the head: the server must not wait for the rest.
    client.write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: mock\r\ncontent-length: 67108865\r\n\r\n");
    let reply = client.receive().unwrap();
    assert_eq!((reply.status, reply.json()["error"]["type"].clone()), (413, json!("invalid_request_error")));
}

#[test]
fn a_client_that_goes_away_leaves_nothing_behind() {
    let server = start(Config { latency: "60000".parse().unwrap(), max_concurrent: Some(1), ..Config::default() });
    let mut client = Client::new(server.address());
    client.send("POST", "/v1/chat/completions", &[], body(0).to_string().as_bytes());
    while server.stats().by_status.get(&200) != Some(&1) {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(client);
    // The place is free again once the server has noticed.
    let deadline = Instant::now() + crate::client::PATIENCE;
    while server.stats().at_once > 0 {
        assert!(Instant::now() < deadline, "{:?}", server.stats());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let server = start(Config::default());
    let error = proofmark_serve::mock::serve(Config { port: server.address().port(), ..Config::default() });
    assert!(error.err().unwrap().to_string().starts_with("cannot listen on 127.0.0.1:"));
}
