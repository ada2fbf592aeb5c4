//! What a run costs, and that it stops in time.

use std::time::{Duration, Instant};

use proofmark_serve::mock::{Config, Latency};
use serde_json::Value;

use super::{call_live, env, lines, provider, questions, suite};

/// A token of input costs a thousandth of a dollar, a token of output a hundredth.
const PRICED: &str = "  - {id: m, model: \"openai:mock-1\", price: {input: 1000, output: 10000}}";

#[test]
fn a_run_says_what_it_cost_by_cell_and_in_total() {
    let server = provider(Config::default());
    let env = env();
    questions(&env, 10);
    suite(&env, PRICED, "");
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let records = lines(&env, "run/records.jsonl");
    let sum = |name: &str| records.iter().map(|record| record["usage"][name].as_f64().unwrap()).sum::<f64>();
    let expected = sum("input_tokens") * 0.001 + sum("output_tokens") * 0.01;
    let summary: Value = serde_json::from_str(&env.text("run/summary.json")).unwrap();
    for place in ["/totals/cost_usd", "/cells/0/cost_usd", "/models/0/cost_usd"] {
        let cost = summary.pointer(place).unwrap().as_f64().unwrap();
        assert!((cost - expected).abs() < 1e-9 && expected > 0.0, "{place}: {cost}, expected {expected}");
    }
    assert!(ran.stdout.contains(&format!("cost: ${expected:.4}")), "{}", ran.stdout);
    assert_eq!(env.run(&["validate", "run"]).code, 0);
    let rebuilt = env.run(&["report", "run", "--out", "again"]);
    assert_eq!(rebuilt.code, 0, "{}", rebuilt.stderr);
    assert_eq!(env.bytes("again/summary.json"), env.bytes("run/summary.json"));
}

#[test]
fn limits_on_cost_and_tokens_stop_cleanly_and_the_run_can_be_resumed() {
    for (limit, most) in [("--max-cost", "1"), ("--max-tokens", "200")] {
        let server = provider(Config { latency: Latency::Fixed(Duration::from_millis(2)), ..Config::default() });
        let env = env();
        questions(&env, 400);
        suite(&env, PRICED, "");
        let run = ["run", "suite.yaml", "--run-dir", "run"];
        let stopped = call_live(&env, &server, &[&run[..], &[limit, most]].concat()).run();
        assert_eq!(stopped.code, 2, "{}", stopped.stderr);
        assert!(stopped.stderr.contains("are spent") && stopped.stderr.contains("--resume"), "{}", stopped.stderr);
        let asked = server.stats().requests;
        // Two tokens in and two out for each question: 2.2 cents. Many are asked at once, and none too many.
        assert_eq!(asked, if limit == "--max-cost" { 45 } else { 50 }, "{limit}");
        assert!(!env.path("run/manifest.json").exists());
        let ran = call_live(&env, &server, &[&run[..], &["--resume"]].concat()).run();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(server.stop().unwrap().requests, 400);

        // The same bytes as in one go.
        let server = provider(Config::default());
        assert_eq!(call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "whole"]).run().code, 0);
        assert_eq!(env.bytes("run/records.jsonl"), env.bytes("whole/records.jsonl"));
    }
}

#[test]
fn a_limit_on_time_stops_asking() {
    let server = provider(Config { latency: Latency::Fixed(Duration::from_millis(50)), ..Config::default() });
    let env = env();
    questions(&env, 2000);
    suite(&env, PRICED, "");
    let start = Instant::now();
    let run = ["run", "suite.yaml", "--run-dir", "run", "--concurrency", "4", "--max-time", "1s"];
    let stopped = call_live(&env, &server, &run).run();
    assert_eq!(stopped.code, 2, "{}", stopped.stderr);
    assert!(stopped.stderr.contains("1 s have passed"), "{}", stopped.stderr);
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_limit_on_cost_needs_prices() {
    let env = env();
    questions(&env, 1);
    suite(&env, "  - {id: m, model: \"openai:made-up-model\"}", "");
    let ran = env.call(&["run", "suite.yaml", "--max-cost", "1"]).env("OPENAI_API_KEY", "k").run();
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("the price of `m` is not known"), "{}", ran.stderr);
}

#[test]
fn a_dry_run_estimates_what_it_would_cost() {
    let env = env();
    questions(&env, 1000);
    suite(&env, PRICED, "sampling: {n: 2, max_tokens: 10}");
    let ran = env.run(&["run", "suite.yaml", "--dry-run"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // 2,000 questions of about 6 tokens with their frame, and at most 10 tokens each back: 12 dollars and up to 200.
    assert!(ran.stdout.contains("at most $21"), "{}", ran.stdout);
    let json = env.run(&["run", "suite.yaml", "--dry-run", "--format", "json"]);
    let plan: Value = serde_json::from_str(&json.stdout).unwrap();
    let estimate = &plan["estimates"][0];
    assert_eq!(estimate["model"], "m");
    assert!(estimate["input_tokens"].as_u64().is_some_and(|n| (8000..=14_000).contains(&n)), "{estimate}");
    assert_eq!(estimate["most_output_tokens"], 20_000);
}

#[test]
fn nothing_is_sent_when_the_time_is_up_however_many_wait_for_their_turn() {
    let server = provider(Config::default());
    let env = env();
    questions(&env, 300);
    suite(&env, "  - {id: m, model: \"openai:mock-1\", limits: {requests_per_minute: 60}}", "");
    let start = Instant::now();
    let stopped = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run", "--max-time", "2s"]).run();
    assert_eq!(stopped.code, 2, "{}", stopped.stderr);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let answered = lines(&env, "run/.proofmark/telemetry.jsonl").len();
    assert!(
        stopped.stderr.contains(&format!("stopped after {answered} of 300 samples: 2 s have passed")),
        "{}",
        stopped.stderr
    );
    assert_eq!(server.stop().unwrap().requests as usize, answered);
}
