//! One suite through many wires.

use std::collections::{BTreeMap, BTreeSet};

use proofmark_serve::mock::Config;
use serde_json::Value;

use super::{call_live, env, lines, outcomes, provider, questions, suite};

const WIRES: &[(&str, &str)] = &[
    ("openai", "{id: openai, model: \"openai:mock-1\"}"),
    ("responses", "{id: responses, model: \"openai:mock-1\", api: responses}"),
    ("anthropic", "{id: anthropic, model: \"anthropic:mock-1\"}"),
    ("gemini", "{id: gemini, model: \"gemini:mock-1\"}"),
    ("mistral", "{id: mistral, model: \"mistral:mock-1\"}"),
    ("cohere", "{id: cohere, model: \"cohere:mock-1\"}"),
    ("ollama", "{id: ollama, model: \"ollama:mock-1\"}"),
    ("cloudflare", "{id: cloudflare, model: \"cloudflare:@cf/mock/mock-1\"}"),
];

/// A model for each wire.
pub(super) fn models() -> String {
    WIRES.iter().map(|(_, line)| format!("  - {line}\n")).collect()
}

/// What may differ between two wires: who was asked, and what follows from the key.
fn same_answer(record: &Value) -> Value {
    let mut record = record.clone();
    let members = record.as_object_mut().expect("a record");
    for name in ["key", "model", "provider", "ordinal", "seed", "started_at"] {
        members.remove(name);
    }
    members["input"].as_object_mut().expect("an input").remove("fingerprint");
    if let Some(output) = members["output"].as_object_mut() {
        output.remove("answered_by");
    }
    record
}

#[test]
fn the_same_answers_give_the_same_records_on_every_wire_streamed_or_not() {
    let server = provider(Config::default());
    let env = env();
    questions(&env, 6);
    let mut runs = Vec::new();
    for (name, more) in [("whole", ""), ("streamed", "conditions: {default: {params: {stream: true}}}")] {
        suite(&env, &models(), more);
        let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", name]).run();
        assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
        let records = lines(&env, &format!("{name}/records.jsonl"));
        assert_eq!(records.len(), 6 * WIRES.len());
        assert_eq!(outcomes(&records).get("success"), Some(&(6 * WIRES.len())), "{:?}", outcomes(&records));
        for item in records.chunks(WIRES.len()) {
            let mut distinct = BTreeMap::<String, Vec<&str>>::new();
            for (record, (wire, _)) in item.iter().zip(WIRES) {
                distinct.entry(same_answer(record).to_string()).or_default().push(wire);
            }
            assert_eq!(distinct.len(), 1, "{name}: {distinct:#?}");
        }
        runs.push(records.iter().map(|record| record["output"]["text"].clone()).collect::<Vec<_>>());
        let validated = env.run(&["validate", name]);
        assert_eq!(validated.code, 0, "{}", validated.stdout);
    }
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn every_call_is_in_telemetry_with_its_request_id_and_nothing_of_it_in_plane_1() {
    let server = provider(Config::default());
    let env = env();
    questions(&env, 3);
    suite(&env, &models(), "");
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run();
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let attempts = lines(&env, "run/telemetry.jsonl");
    assert_eq!(attempts.len(), 3 * WIRES.len());
    let mut ids = BTreeSet::new();
    for attempt in &attempts {
        assert_eq!((&attempt["outcome"], &attempt["status"]), (&Value::from("answered"), &Value::from(200)));
        assert!(attempt["latency_ms"].as_f64().is_some_and(|ms| ms > 0.0));
        if let Some(id) = attempt["request_id"].as_str() {
            assert!(ids.insert(id.to_owned()), "{id} stands twice");
        }
    }
    // Ollama and Cohere send none.
    assert!(ids.len() >= 3 * 6, "{ids:?}");
    let plane_1: String = ["records.jsonl", "manifest.json", "summary.json", "report.html"]
        .iter()
        .map(|name| env.text(&format!("run/{name}")))
        .collect();
    assert!(ids.iter().all(|id| !plane_1.contains(id.as_str())));
}

#[test]
fn a_provider_that_answers_with_another_model_is_found_out() {
    let server = provider(Config { answer_as: Some("mock-2-mini".to_owned()), ..Config::default() });
    let env = env();
    questions(&env, 2);
    suite(&env, "  - {id: big, model: \"openai:mock-1\"}", "");
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run();
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    for record in lines(&env, "run/records.jsonl") {
        assert_eq!(record["output"]["answered_by"], "mock-2-mini");
    }
    let summary: Value = serde_json::from_str(&env.text("run/summary.json")).unwrap();
    assert_eq!(summary["answered_by"], serde_json::json!([{"model": "big", "name": "mock-2-mini", "samples": 2}]));
    assert!(env.text("run/report.html").contains("mock-2-mini"));
    assert!(ran.stdout.contains("mock-2-mini"), "{}", ran.stdout);
    // A number behind the name is a version, not a date.
    let server = provider(Config { answer_as: Some("mock-1.1-2025-04-14".to_owned()), ..Config::default() });
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "other"]).run().expect(0);
    assert!(ran.stdout.contains("asked for openai:mock-1, but 2 samples answered by mock-1.1"), "{}", ran.stdout);
    assert!(env.text("other/report.md").contains("**another model**"));
}
