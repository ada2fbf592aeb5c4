//! Every way to fail has its own class and is never counted as an answer.

use proofmark_model::offline::Script;
use proofmark_serve::mock::{Answers, Config, Fault, Faults, Times};
use serde_json::Value;

use super::wires::models;
use super::{call_live, env, lines, outcomes, provider, questions, suite};

const MODELS: &str = "  - {id: openai, model: \"openai:mock-1\"}\n  \
                      - {id: responses, model: \"openai:mock-1\", api: responses}\n  \
                      - {id: anthropic, model: \"anthropic:mock-1\"}\n  - {id: gemini, model: \"gemini:mock-1\"}\n";

/// Runs items through wires against a provider that always fails in one way.
fn fails_with(fault: Fault, streamed: bool, models: &str, items: usize) -> Vec<Value> {
    let server = provider(Config { faults: Faults::every(fault), fault_times: Times::Always, ..Config::default() });
    let env = env();
    questions(&env, items);
    let limits = "limits: {max_retries: 1, total_timeout: 1, first_byte_timeout: 0.5}";
    suite(&env, models, &format!("{limits}\nconditions: {{c: {{params: {{stream: {streamed}}}}}}}"));
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run();
    assert_eq!(ran.code, 1, "{fault}, streamed: {streamed}: {}\n{}", ran.stdout, ran.stderr);
    let all = models.lines().count() * items;
    assert!(ran.stderr.contains(&format!("{all} of {all} samples errored")), "{}", ran.stderr);
    let records = lines(&env, "run/records.jsonl");
    for record in &records {
        assert!(record["output"].is_null() && record["scores"].as_array().unwrap().is_empty(), "{record}");
        let message = record["error"]["message"].as_str().unwrap();
        assert!(!message.is_empty() && !message.contains('<') && message.len() < 400, "{message}");
    }
    assert_eq!(env.run(&["validate", "run"]).code, 0);
    // Each attempt is on record with the same class as the sample.
    for attempt in lines(&env, "run/telemetry.jsonl") {
        let record = &records[attempt["ordinal"].as_u64().unwrap() as usize];
        assert_eq!(attempt["class"], record["error"]["class"]);
    }
    records
}

#[test]
fn each_fault_ends_in_its_class_on_every_wire() {
    // What comes of it when the reply is whole, and when it is streamed.
    for (fault, whole, streamed) in [
        (Fault::RateLimited, "rate_limited/rate_limited", "rate_limited/rate_limited"),
        (Fault::Overloaded, "rate_limited/rate_limited", "rate_limited/rate_limited"),
        (Fault::ServerError, "error/server", "error/server"),
        (Fault::Html, "error/server", "error/server"),
        (Fault::BadRequest, "error/bad_request", "error/bad_request"),
        (Fault::ContextLength, "error/context_length", "error/context_length"),
        (Fault::Truncated, "error/truncated", "error/stream_cut"),
        (Fault::StreamCut, "", "error/stream_cut"),
        (Fault::Malformed, "error/malformed", "error/malformed"),
        (Fault::Empty, "error/empty", "error/empty"),
        (Fault::Stall, "timeout/timeout", "timeout/timeout"),
        (Fault::Slow, "timeout/timeout", "timeout/timeout"),
        (Fault::Reset, "error/network", "error/network"),
    ] {
        // Eight resets in a row would be taken for a dead endpoint.
        let items = if fault == Fault::Reset { 1 } else { 2 };
        for (is_streamed, expected) in
            [(false, whole), (true, streamed)].into_iter().filter(|(_, word)| !word.is_empty())
        {
            for record in fails_with(fault, is_streamed, &models(), items) {
                let found = outcomes(std::slice::from_ref(&record));
                assert!(found.keys().eq([expected]), "{fault}, streamed: {is_streamed}: {record}");
            }
        }
    }
}

#[test]
fn a_refusal_and_a_filter_are_told_apart_where_the_wire_does() {
    for streamed in [false, true] {
        // The other wires have no shape for either.
        let with_mistral = format!("{MODELS}  - {{id: mistral, model: \"mistral:mock-1\"}}\n");
        for record in fails_with(Fault::Filter, streamed, &with_mistral, 2) {
            // Anthropic has one word for both.
            let expected = if record["model"] == "anthropic" { "refusal" } else { "content_filter" };
            assert_eq!(record["error"]["class"], expected, "{record}");
        }
        for record in fails_with(Fault::Refusal, streamed, MODELS, 2) {
            // Gemini has none of its own: it stops with a filter's word.
            let expected = if record["model"] == "gemini" { "content_filter" } else { "refusal" };
            assert_eq!(record["error"]["class"], expected, "{record}");
        }
    }
}

#[test]
fn white_space_is_no_answer_on_any_wire() {
    let script = Script::load_bytes(br#"{"default": "  \n "}"#, "answers.json").unwrap();
    let server = provider(Config { answers: Answers::Script(Box::new(script)), ..Config::default() });
    for streamed in [false, true] {
        let env = env();
        questions(&env, 1);
        suite(&env, &models(), &format!("conditions: {{c: {{params: {{stream: {streamed}}}}}}}"));
        call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run().expect(1);
        let found = outcomes(&lines(&env, "run/records.jsonl"));
        assert!(found.keys().eq(["error/empty"]), "streamed: {streamed}: {found:?}");
    }
}

#[test]
fn a_wrong_key_stops_the_run_at_once_with_a_hint() {
    let key = proofmark_model::Secret::new("the-right-key-0123456789");
    for model in ["openai:mock-1", "anthropic:mock-1", "gemini:mock-1", "mistral:m", "cohere:m", "cloudflare:@cf/a/b"] {
        let server = provider(Config { key: Some(key.clone()), ..Config::default() });
        let env = env();
        questions(&env, 500);
        suite(&env, &format!("  - {{id: m, model: \"{model}\"}}"), "");
        let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run();
        assert_eq!(ran.code, 2, "{model}: {}", ran.stdout);
        assert!(ran.stderr.contains("hint: check the key"), "{model}: {}", ran.stderr);
        assert!(!ran.stderr.contains("sk-test") && !ran.stderr.contains("0123456789"), "{model}: {}", ran.stderr);
        let asked = server.stats().requests;
        assert!(asked <= 16, "{model}: {asked} requests after the first refusal");
        assert!(!env.path("run/records.jsonl").exists());
    }
}

#[test]
fn a_missing_key_is_said_before_anything_is_asked() {
    let env = env();
    questions(&env, 1);
    suite(&env, "  - {id: m, model: \"openai:gpt-x\"}", "");
    let ran = env.run(&["run", "suite.yaml", "--run-dir", "run"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("the variable OPENAI_API_KEY is not set"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: export OPENAI_API_KEY"), "{}", ran.stderr);
    assert!(!env.path("run").exists());
    // A suite can be looked at without its keys.
    assert_eq!(env.run(&["validate", "suite.yaml"]).code, 0);
    assert_eq!(env.run(&["run", "suite.yaml", "--dry-run"]).code, 0);
}

#[test]
fn a_parameter_that_a_provider_does_not_have_is_an_error_before_the_first_call() {
    let env = env();
    questions(&env, 1);
    for (model, params, expected) in [
        ("anthropic:x", "{presence_penalty: 1}", "has no parameter `presence_penalty`"),
        ("anthropic:x", "{seed: 4}", "takes no seed"),
        ("openai:x", "{temprature: 1}", "did you mean `temperature`?"),
        ("openai:x", "{extra_body: {model: y}}", "`extra_body` cannot set `model`"),
        ("openai:x", "{temperature: hot}", "expected a number from 0 to 10"),
        ("anthropic:x", "{reasoning_effort: none}", "is \"none\", expected one of low, medium, high, xhigh, max"),
        ("gemini:x", "{reasoning_effort: max}", "expected one of minimal, low, medium, high"),
        ("ollama:x", "{reasoning_effort: xhigh}", "expected one of none, low, medium, high"),
        ("mistral:x", "{tool_choice: weather}", "expected auto, none, required or a mapping"),
        ("cohere:x", "{tool_choice: weather}", "expected one of auto, required, none"),
        ("gemini:x", "{num_ctx: 5}", "has no parameter `num_ctx`"),
        ("opneai:x", "{}", "did you mean `openai`?"),
        ("compatible:x", "{}", "needs an address"),
    ] {
        suite(&env, &format!("  - {{id: m, model: \"{model}\", params: {params}}}"), "");
        let ran = env.call(&["run", "suite.yaml"]).env("OPENAI_API_KEY", "k").run();
        assert_eq!(ran.code, 2, "{model} {params}");
        assert!(ran.stderr.contains(expected), "{model} {params}: {}", ran.stderr);
    }
}

#[test]
fn the_manifest_says_what_became_of_the_seed() {
    let server = provider(Config::default());
    let env = env();
    questions(&env, 1);
    let models = format!("{MODELS}  - {{id: off, model: \"openai:mock-1\", params: {{seed: false}}}}\n");
    suite(&env, &models, "");
    assert_eq!(call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run().code, 0);
    let manifest: Value = serde_json::from_str(&env.text("run/manifest.json")).unwrap();
    let seeds: Vec<_> = manifest["models"].as_array().unwrap().iter().map(|m| m["seed"].as_str().unwrap()).collect();
    assert_eq!(seeds, ["sent", "ignored", "ignored", "sent", "withheld"]);
}
