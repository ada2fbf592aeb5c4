//! A provider that fails now and then leaves no trace in plane 1.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proofmark_serve::mock::{Config, Faults};

use super::wires::models;
use super::{call_live, env, lines, outcomes, provider, questions, suite};

const SAMPLES: usize = 5_000;

#[test]
fn faults_that_retries_overcome_change_no_byte_of_plane_1() {
    let env = env();
    questions(&env, SAMPLES);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "limits: {max_retries: 8, total_timeout: 20}");
    let calm = provider(Config::default());
    let ran = call_live(&env, &calm, &["run", "suite.yaml", "--run-dir", "calm", "--concurrency", "64"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);

    let faults: Faults = "429=10,500=5,truncated=2,slow=2,reset=1".parse().unwrap();
    let rough = provider(Config { faults, slow: Some(Duration::from_millis(300)), ..Config::default() });
    let ran = call_live(&env, &rough, &["run", "suite.yaml", "--run-dir", "rough", "--concurrency", "64"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);

    for name in ["records.jsonl", "manifest.json", "summary.json", "config.resolved.yaml", "report.html"] {
        assert!(env.bytes(&format!("calm/{name}")) == env.bytes(&format!("rough/{name}")), "{name} differs");
    }
    // Every fault really happened, once each, and every sample was answered exactly once.
    let stats = rough.stop().unwrap();
    for (fault, percent) in [("429", 10.0), ("500", 5.0), ("truncated", 2.0), ("slow", 2.0), ("reset", 1.0)] {
        let share = stats.by_fault[fault] as f64 / SAMPLES as f64 * 100.0;
        assert!((share - percent).abs() < percent / 2.0, "{fault}: {share} %");
    }
    let mut answered = BTreeMap::<u64, u32>::new();
    let mut retried = BTreeMap::<String, u64>::new();
    for attempt in lines(&env, "rough/telemetry.jsonl") {
        match attempt["outcome"].as_str().unwrap() {
            "answered" => *answered.entry(attempt["ordinal"].as_u64().unwrap()).or_default() += 1,
            "retried" => *retried.entry(attempt["class"].as_str().unwrap().to_owned()).or_default() += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!(answered.len(), SAMPLES);
    assert!(answered.values().all(|times| *times == 1));
    assert_eq!(retried["rate_limited"], stats.by_fault["429"]);
    assert_eq!(retried["server"], stats.by_fault["500"]);
    assert_eq!(retried["truncated"], stats.by_fault["truncated"]);
    assert_eq!(retried["network"], stats.by_fault["reset"]);
    assert_eq!(calm.stop().unwrap().requests, SAMPLES as u64);
}

#[test]
fn every_wire_recovers_whole_and_streamed() {
    const ITEMS: usize = 60;
    for streamed in [false, true] {
        let env = env();
        questions(&env, ITEMS);
        let more = format!("limits: {{max_retries: 8}}\nconditions: {{c: {{params: {{stream: {streamed}}}}}}}");
        suite(&env, &models(), &more);
        let (calm, rough) = (provider(Config::default()), {
            let faults = "429=10,500=5,529=5,truncated=10,stream-cut=5,reset=10,html=5";
            provider(Config { faults: faults.parse().unwrap(), ..Config::default() })
        });
        call_live(&env, &calm, &["run", "suite.yaml", "--run-dir", "calm"]).run().expect(0);
        call_live(&env, &rough, &["run", "suite.yaml", "--run-dir", "rough"]).run().expect(0);
        assert!(env.bytes("calm/records.jsonl") == env.bytes("rough/records.jsonl"), "streamed: {streamed}");
        // Each wire had its share of each class.
        let mut retried = BTreeMap::<String, BTreeSet<String>>::new();
        for attempt in lines(&env, "rough/telemetry.jsonl") {
            if attempt["outcome"] == "retried" {
                let word = |name: &str| attempt[name].as_str().unwrap().to_owned();
                retried.entry(word("class")).or_default().insert(word("model"));
            }
        }
        let cut = if streamed { "stream_cut" } else { "truncated" };
        for class in ["rate_limited", "server", "network", cut] {
            assert_eq!(retried[class].len(), models().lines().count(), "{class}, streamed: {streamed}: {retried:?}");
        }
    }
}

#[test]
fn what_is_not_overcome_is_one_error_record_and_the_rest_is_untouched() {
    let env = env();
    questions(&env, 400);
    suite(&env, "  - {id: m, model: \"anthropic:mock-1\"}", "limits: {max_retries: 0, total_timeout: 4}");
    let faults = "429=5,529=5,500=5,truncated=5,malformed=5,empty=5,slow=3,reset=3,400=3,context=3";
    let slow = Some(Duration::from_secs(60));
    let server = provider(Config { faults: faults.parse().unwrap(), slow, ..Config::default() });
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run();
    assert_eq!(ran.code, 1);
    let records = lines(&env, "run/records.jsonl");
    let stats = server.stop().unwrap();
    assert_eq!(stats.requests, 400);
    let found = outcomes(&records);
    let fault = |name: &str| stats.by_fault[name] as usize;
    assert_eq!(found["rate_limited/rate_limited"], fault("429") + fault("529"));
    assert_eq!(found["timeout/timeout"], fault("slow"));
    assert_eq!(found["error/network"], fault("reset"));
    assert_eq!(found["error/bad_request"], fault("400"));
    assert_eq!(found["error/context_length"], fault("context"));
    assert_eq!(found["error/server"], fault("500"));
    assert_eq!(found["error/truncated"], fault("truncated"));
    assert_eq!(found["error/malformed"], fault("malformed"));
    assert_eq!(found["error/empty"], fault("empty"));
    assert_eq!(found.values().sum::<usize>(), 400);
}
