//! Limits, dead endpoints, kills.

use std::time::{Duration, Instant};

use proofmark_serve::mock::{Config, Latency};
use serde_json::Value;

use super::{call_live, env, lines, outcomes, provider, questions, suite};

#[test]
fn it_finds_the_limit_of_an_endpoint_and_keeps_below_it() {
    let server = provider(Config {
        max_concurrent: Some(8),
        latency: Latency::Fixed(Duration::from_millis(20)),
        ..Config::default()
    });
    let env = env();
    questions(&env, 1500);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "");
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let refused = server.stop().unwrap().by_fault.get("max-concurrent").copied().unwrap_or(0);
    assert!(refused > 0, "the limit was never reached");
    assert!(refused < 400, "{refused} of 1500 requests were refused");
}

#[test]
fn no_more_than_max_connections_are_open() {
    let server = provider(Config { latency: Latency::Fixed(Duration::from_millis(5)), ..Config::default() });
    let env = env();
    questions(&env, 300);
    suite(&env, "  - {id: m, model: \"openai:mock-1\", limits: {max_connections: 3}}", "");
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let stats = server.stop().unwrap();
    assert_eq!((stats.most_at_once, stats.requests), (3, 300));
    assert!(stats.connections <= 4, "{} connections for 300 requests", stats.connections);
}

#[test]
fn requests_per_minute_are_kept() {
    let server = provider(Config::default());
    let env = env();
    questions(&env, 80);
    // 600 a minute: 60 at once, then 10 a second.
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "limits: {requests_per_minute: 600}");
    let start = Instant::now();
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let seconds = start.elapsed().as_secs_f64();
    assert!((1.8..6.0).contains(&seconds), "{seconds}");
}

#[test]
fn a_pause_that_the_provider_asks_for_is_kept() {
    let server =
        provider(Config { faults: "429=100".parse().unwrap(), retry_after_secs: Some(2), ..Config::default() });
    let env = env();
    questions(&env, 1);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "");
    let start = Instant::now();
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(start.elapsed() >= Duration::from_secs(2));
    let attempts = lines(&env, "run/telemetry.jsonl");
    assert_eq!(attempts[0]["retry_after_ms"], 2000);
    assert_eq!((&attempts[1]["attempt"], &attempts[1]["outcome"]), (&Value::from(2), &Value::from("answered")));
}

#[test]
fn a_provider_that_wants_to_be_left_alone_for_an_hour_is() {
    let server =
        provider(Config { faults: "429=100".parse().unwrap(), retry_after_secs: Some(3600), ..Config::default() });
    let env = env();
    questions(&env, 200);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "");
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run();
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("left alone for 3600 s") && ran.stderr.contains("--resume"), "{}", ran.stderr);
    assert!(server.stats().requests <= 16, "{}", server.stats().requests);
}

#[test]
fn a_dead_endpoint_holds_up_no_other_and_burns_no_retries() {
    let server = provider(Config::default());
    let env = env();
    questions(&env, 400);
    // Nobody listens on port 9 of this machine.
    let models = "  - {id: dead, model: \"compatible:x\", base_url: \"http://127.0.0.1:9/v1\"}\n  \
                  - {id: alive, model: \"openai:mock-1\"}\n";
    suite(&env, models, "");
    let start = Instant::now();
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    let records = lines(&env, "run/records.jsonl");
    let (dead, alive): (Vec<Value>, Vec<Value>) = records.into_iter().partition(|record| record["model"] == "dead");
    assert_eq!(outcomes(&alive).into_iter().collect::<Vec<_>>(), [("success".to_owned(), 400)]);
    let found = outcomes(&dead);
    assert_eq!(found.values().sum::<usize>(), 400);
    assert!(found["skipped/endpoint_down"] > 300, "{found:?}");
    let attempts = lines(&env, "run/telemetry.jsonl").into_iter().filter(|a| a["model"] == "dead").count();
    assert!(attempts < 200, "{attempts} attempts on a dead endpoint");
}

#[test]
fn a_run_whose_only_endpoint_is_dead_stops_and_can_be_resumed() {
    let env = env();
    questions(&env, 50);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "");
    let dead = env
        .call(&["run", "suite.yaml", "--run-dir", "run"])
        .env("OPENAI_API_KEY", "k")
        .env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        .run();
    assert_eq!(dead.code, 2);
    assert!(dead.stderr.contains("had stopped answering") && dead.stderr.contains("--resume"), "{}", dead.stderr);
    let server = provider(Config::default());
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run", "--resume"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let outcomes = outcomes(&lines(&env, "run/records.jsonl"));
    assert!(outcomes["success"] > 0);
}

#[test]
fn a_kill_loses_no_answer_and_no_attempt() {
    let server = provider(Config { latency: Latency::Fixed(Duration::from_millis(5)), ..Config::default() });
    let env = env();
    questions(&env, 600);
    suite(&env, "  - {id: m, model: \"gemini:mock-1\"}", "");
    let running = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run", "--concurrency", "8"]).start();
    while server.stats().requests < 200 {
        std::thread::sleep(Duration::from_millis(5));
    }
    running.kill();
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run", "--resume"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let requests = server.stop().unwrap().requests;
    // At most those under way were asked twice.
    assert!((600..=616).contains(&requests), "{requests}");
    let attempts = lines(&env, "run/telemetry.jsonl");
    let answered: std::collections::BTreeSet<u64> = attempts.iter().map(|a| a["ordinal"].as_u64().unwrap()).collect();
    assert_eq!(answered.len(), 600);
    assert_eq!(outcomes(&lines(&env, "run/records.jsonl"))["success"], 600);
}
