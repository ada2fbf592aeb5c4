//! `models` and `doctor`: what can be asked, and why something cannot.

use std::time::{Duration, Instant};

use proofmark_model::Secret;
use proofmark_model::offline::Script;
use proofmark_serve::mock::{Answers, Config, Fault, Faults, Server, Times, serve};
use proofmark_testkit::command::{Call, Ran, TestEnv};
use serde_json::Value;

use crate::support::empty;

const CANARY: &str = "canary-41d7c0ffee9b3a52";

/// A folder with a suite of these models, written as YAML list entries.
fn suite(models: &[&str]) -> TestEnv {
    let env = empty();
    let models: String = models.iter().map(|model| format!("  - {model}\n")).collect();
    env.put(
        "suite.yaml",
        format!(
            "name: live\nmodels:\n{models}tasks:\n  - id: t\n    dataset: {{format: inline, rows: [{{input: the \
             suite's own prompt, target: x}}]}}\n    scorers: [{{type: exact}}]\n"
        ),
    );
    env
}

fn provider(config: Config) -> Server {
    serve(config).expect("a mock provider")
}

fn failing(fault: Fault) -> Server {
    provider(Config { faults: Faults::every(fault), fault_times: Times::Always, ..Config::default() })
}

/// Sends three providers to the server, with the canary as their key.
fn towards(call: Call, server: &Server) -> Call {
    let base = server.base_url();
    call.env("OPENAI_BASE_URL", format!("{base}/v1"))
        .env("ANTHROPIC_BASE_URL", &base)
        .env("GEMINI_BASE_URL", &base)
        .env("OPENAI_API_KEY", CANARY)
        .env("ANTHROPIC_API_KEY", CANARY)
        .env("GEMINI_API_KEY", CANARY)
}

/// Runs the doctor in both formats. They must agree about the exit code, show no key and leave no file.
#[track_caller]
fn doctor(env: &TestEnv, server: &Server, more: &[&str], code: i32) -> (Ran, Value) {
    let run = |format: &str| {
        let arguments = [&["doctor", "suite.yaml", "--format", format], more].concat();
        let ran = towards(env.call(&arguments), server).run().expect(code);
        assert!(!ran.stdout.contains("canary-4") && !ran.stderr.contains("canary-4"), "{ran}");
        ran
    };
    let text = run("text");
    let json = run("json").json();
    assert_eq!(env.tree("").files().len(), 1, "the doctor left something behind");
    assert_eq!((json["format"].as_str(), json["version"].as_u64()), (Some("proofmark.doctor"), Some(1)));
    (text, json)
}

const WIRES: [&str; 3] = ["openai:mock-1", "anthropic:mock-1", "gemini:mock-1"];

fn one(model: &str) -> TestEnv {
    suite(&[&format!("{{id: m, model: \"{model}\"}}")])
}

#[test]
fn a_good_model_is_asked_once_and_never_with_the_suites_prompt() {
    for model in WIRES {
        let env = one(model);
        let log = empty();
        let server = provider(Config { log: Some(log.path("log")), ..Config::default() });
        let (text, json) = doctor(&env, &server, &[], 0);
        text.says(&["ok    m (", "answered by mock-1", "tokens in and", "request", "1 ok; nothing was written"]);
        let check = &json["models"][0];
        assert_eq!(check["result"], "ok", "{check}");
        assert_eq!((check["answered_by"].as_str(), check["status"].as_i64()), (Some("mock-1"), Some(200)));
        assert!(check["request_id"].is_string() && check["latency_ms"].is_number(), "{check}");
        // The echo of `Reply with the word OK.` has six tokens; the suite's prompt would have another number.
        assert_eq!(check["usage"], serde_json::json!({"input_tokens": 6, "output_tokens": 6}));
        // Twice, once for each format.
        assert_eq!(server.stop().unwrap().requests, 2, "{model}");
        assert_eq!(log.text("log").lines().count(), 2);
    }
}

#[test]
fn every_failure_has_its_class_and_its_advice() {
    for (fault, class, attempts, hint) in [
        (Fault::RateLimited, "rate_limited", 2, "lower `limits`"),
        (Fault::Overloaded, "rate_limited", 2, "check the account's quota"),
        (Fault::ServerError, "server", 2, "is there and fails"),
        (Fault::Html, "server", 2, "is there and fails"),
        (Fault::Malformed, "malformed", 1, "is this really the API of"),
        (Fault::Truncated, "truncated", 2, "breaks off"),
        (Fault::Reset, "network", 2, "is the server up?"),
        (Fault::Empty, "empty", 1, "said nothing"),
    ] {
        let server = failing(fault);
        for model in WIRES {
            let start = Instant::now();
            let (text, json) = doctor(&one(model), &server, &[], 1);
            let check = &json["models"][0];
            assert_eq!((&check["result"], &check["class"]), (&"failed".into(), &class.into()), "{fault} {check}");
            assert_eq!(check["attempts"], attempts, "{fault} {check}");
            assert!(check["hint"].as_str().unwrap().contains(hint), "{fault} {check}");
            assert!(!check["message"].as_str().unwrap().contains('<'), "{fault} {check}");
            text.says(&["FAIL  m (", class, "hint: ", "1 failed"]);
            assert!(start.elapsed() < Duration::from_secs(20), "{fault} took too long");
        }
    }
}

#[test]
fn a_wrong_key_is_named_by_its_variable() {
    let server = provider(Config { key: Some(Secret::new("the-right-one-0123")), ..Config::default() });
    for (model, variable) in
        [("openai:m", "OPENAI_API_KEY"), ("anthropic:m", "ANTHROPIC_API_KEY"), ("gemini:m", "GEMINI_API_KEY")]
    {
        let (text, json) = doctor(&one(model), &server, &[], 1);
        assert_eq!(json["models"][0]["class"], "auth", "{json}");
        assert_eq!(json["models"][0]["attempts"], 1);
        text.says(&["FAIL", "auth", &format!("hint: check the key in {variable}")]);
    }
}

#[test]
fn a_missing_key_is_said_without_asking() {
    let server = provider(Config::default());
    let env = suite(&["{id: m, model: \"mistral:m\"}", "{id: n, model: \"azure:m\"}"]);
    let (text, json) = doctor(&env, &server, &[], 1);
    assert_eq!(json["models"][0]["class"], "not_ready");
    assert_eq!(json["models"][0]["attempts"], 0);
    text.says(&["MISTRAL_API_KEY is not set", "hint: export MISTRAL_API_KEY", "AZURE_OPENAI_ENDPOINT"]);
    assert_eq!(server.stats().requests, 0);
    // One that is set and stays at home is another matter.
    let env = suite(&["{id: m, model: \"anthropic:m\", base_url: \"https://elsewhere.example\"}"]);
    let ran = env.call(&["doctor", "suite.yaml"]).env("ANTHROPIC_API_KEY", CANARY).run().expect(1);
    ran.says(&["ANTHROPIC_API_KEY is set, but", "`api_key_env`", "ANTHROPIC_BASE_URL"]);
}

#[test]
fn a_dead_address_is_found_quickly_and_says_who_named_it() {
    let server = provider(Config::default());
    let address = server.base_url();
    server.stop().unwrap();
    let env = suite(&[
        &format!("{{id: suites, model: \"vllm:q\", base_url: \"{address}/v1\"}}"),
        "{id: mine, model: \"ollama:q\"}",
    ]);
    let start = Instant::now();
    let ran = env.call(&["doctor", "suite.yaml"]).env("OLLAMA_BASE_URL", &address).run().expect(1);
    assert!(start.elapsed() < Duration::from_secs(10));
    ran.says(&["network", "the connection was refused", "is the server up?", "(from the suite)", "OLLAMA_BASE_URL)"]);
}

#[test]
fn a_wrong_name_fails_alone_and_is_no_matter_of_keys() {
    let server = provider(Config::default());
    let base = server.base_url();
    // Asked side by side: what one of them does must not touch the other.
    let env = suite(&[
        &format!("{{id: lost, model: \"compatible:x\", base_url: \"{base}/nowhere\"}}"),
        &format!("{{id: found, model: \"compatible:x\", base_url: \"{base}/v1\"}}"),
    ]);
    let (_, json) = doctor(&env, &server, &[], 1);
    let (lost, found) = (&json["models"][0], &json["models"][1]);
    assert_eq!((lost["id"].as_str(), lost["class"].as_str()), (Some("lost"), Some("bad_request")), "{json}");
    assert!(lost["hint"].as_str().unwrap().contains("check the model's name `x` and the address"), "{json}");
    assert_eq!(found["result"], "ok", "{json}");
}

#[test]
fn another_model_that_answers_is_a_warning() {
    let server = provider(Config { answer_as: Some("mock-tiny".to_owned()), ..Config::default() });
    let (text, json) = doctor(&one("openai:mock-1"), &server, &[], 0);
    text.says(&["ok    m", "warning: asked for `mock-1`, but `mock-tiny` answered", "1 with a warning"]);
    assert_eq!(json["counts"]["warnings"], 1);
    // A dated snapshot of the same model is none.
    let server = provider(Config { answer_as: Some("mock-1-2026-01-31".to_owned()), ..Config::default() });
    let (_, json) = doctor(&one("openai:mock-1"), &server, &[], 0);
    assert_eq!(json["models"][0]["warnings"].as_array().map(Vec::len), Some(0));
}

#[test]
fn pictures_are_not_bought_unless_asked_for_and_offline_models_need_no_doctor() {
    let server = provider(Config::default());
    let env = suite(&["{id: p, model: \"openai:gpt-image-1\", output: image}", "{id: e, model: \"offline:faulty\"}"]);
    let (text, json) = doctor(&env, &server, &[], 0);
    text.says(&["skip  p (openai:gpt-image-1): it makes pictures", "skip  e (offline:faulty)"]);
    assert_eq!((json["counts"]["skipped"].as_u64(), server.stats().requests), (Some(2), 0));
    let (_, json) = doctor(&env, &server, &["--images", "--model", "p"], 0);
    assert_eq!((json["models"].as_array().unwrap().len(), &json["models"][0]["result"]), (1, &"ok".into()));
    assert_eq!(server.stats().requests, 2);
}

#[test]
fn a_program_is_asked_too() {
    let server = provider(Config::default());
    let env = suite(&[
        "{id: good, model: \"command:cat\", command: {run: [cat]}}",
        "{id: bad, model: \"command:no\", command: {run: [sh, -c, \"echo gone wrong >&2; exit 3\"]}}",
    ]);
    let (text, json) = doctor(&env, &server, &[], 1);
    text.says(&["ok    good (command:cat)", "FAIL  bad", "exit status 3", "gone wrong", "run the program by hand"]);
    assert_eq!(json["models"][1]["class"], "runner");
}

#[test]
fn what_cannot_be_checked_exits_with_2() {
    let env = suite(&["{id: m, model: \"openai:m\"}"]);
    env.run(&["doctor", "nothing.yaml"]).expect(2).complains(&["nothing.yaml"]);
    env.run(&["doctor", "suite.yaml", "--model", "x"]).expect(2).complains(&["`x`", "hint: the suite has m"]);
    env.run(&["doctor", "--images"]).expect(2);
    let env = suite(&["{id: m, model: \"opneai:m\"}"]);
    env.run(&["doctor", "suite.yaml"]).expect(2).complains(&["did you mean `openai`?"]);
}

/// Copies the example, with another port in its suite.
fn example(server: &Server) -> TestEnv {
    let env = empty();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/live-mock");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    env.put("suite.yaml", read("suite.yaml").replace("http://127.0.0.1:8099", &server.base_url()));
    env.put("data/capitals.jsonl", read("data/capitals.jsonl"));
    env
}

#[test]
fn the_example_runs_as_its_page_says_in_any_weather() {
    let script = include_bytes!("../../../../examples/live-mock/answers.yaml");
    let script = || Answers::Script(Box::new(Script::load_bytes(script, "answers.yaml").unwrap()));
    let calm = provider(Config { answers: script(), ..Config::default() });
    let env = example(&calm);
    env.run(&["doctor", "suite.yaml"]).expect(0).says(&["ok    chat", "ok    native", "2 ok"]);
    let ran = env.run(&["run", "suite.yaml", "--run-dir", "calm"]).expect(0);
    assert_eq!(ran.stdout.matches("62.5%").count(), 4, "{ran}");
    let faults = "429=20,500=10,truncated=10".parse().unwrap();
    let stormy = provider(Config { answers: script(), faults, ..Config::default() });
    // The same place, so that the suite is the same.
    let mut call = env.call(&["run", "suite.yaml", "--run-dir", "stormy"]);
    for name in ["PROOFMARK_COMPATIBLE_BASE_URL", "OLLAMA_BASE_URL"] {
        let path = if name.starts_with("OLLAMA") { "" } else { "/v1" };
        call = call.env(name, format!("{}{path}", stormy.base_url()));
    }
    call.run().expect(0);
    env.run(&["diff", "calm", "stormy", "--fail-on", "bytes"]).expect(0);
    let attempts = |dir: &str| env.text(&format!("{dir}/telemetry.jsonl")).lines().count();
    assert_eq!((attempts("calm"), attempts("stormy")), (32, 45));
}

#[test]
fn without_a_suite_the_surroundings_are_looked_at() {
    let env = empty();
    let look = |cache: &str, format: &str| {
        env.call(&["doctor", "--format", format])
            .env("PROOFMARK_CACHE_DIR", env.path(cache))
            .env("OPENAI_API_KEY", CANARY)
            .env("HTTPS_PROXY", format!("http://me:{CANARY}@proxy.example:8080"))
            .run()
    };
    let ran = look("cache", "text").expect(0);
    assert!(!ran.stdout.contains("canary"), "{ran}");
    ran.says(&["ok    cache: ", "keys: set: OPENAI_API_KEY", "proxies: HTTPS_PROXY", "name a suite"]);
    assert_eq!(env.tree("").files().len(), 0);
    env.put("file", "");
    let json = look("file/cache", "json").expect(1).json();
    let cache = &json["surroundings"][0];
    assert_eq!((&cache["name"], &cache["result"]), (&"cache".into(), &"failed".into()), "{json}");
    assert!(cache["hint"].as_str().unwrap().contains("PROOFMARK_CACHE_DIR"));
}

#[test]
fn models_shows_keys_by_name_and_never_by_value() {
    let env = empty();
    env.put("key", CANARY);
    let call = |arguments: &[&str]| {
        env.call(arguments)
            .env("ANTHROPIC_API_KEY", CANARY)
            .env("CO_API_KEY", CANARY)
            .env("GROQ_API_KEY_FILE", env.path("key"))
            .env("OPENAI_BASE_URL", format!("https://me:{CANARY}@gateway.example/v1?key={CANARY}"))
            .env("CLOUDFLARE_ACCOUNT_ID", "me")
            .run()
            .expect(0)
    };
    let text = call(&["models"]);
    let json = call(&["models", "--format", "json"]);
    for ran in [&text, &json] {
        assert!(!ran.stdout.contains("canary-") && !ran.stderr.contains("canary-"), "{ran}");
    }
    text.says(&[
        "ANTHROPIC_API_KEY is set",
        "CO_API_KEY is set",
        "GROQ_API_KEY_FILE is set",
        "OPENAI_API_KEY is not set",
        "https://gateway.example/v1 (from OPENAI_BASE_URL)",
        "accounts/me/ai",
        "needs the variable AZURE_OPENAI_ENDPOINT",
        "VLLM_API_KEY is not set and not needed",
        "command:claude-code",
        "offline:painter",
    ]);
    let document = json.json();
    assert_eq!(document["format"], "proofmark.models");
    let of = |name: &str| {
        let all = document["providers"].as_array().unwrap();
        all.iter().find(|provider| provider["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    assert_eq!(of("anthropic")["key_set_in"], "ANTHROPIC_API_KEY");
    assert_eq!(of("groq")["key_set_in"], "GROQ_API_KEY_FILE");
    assert_eq!(of("cohere")["key_variables"], serde_json::json!(["COHERE_API_KEY", "CO_API_KEY"]));
    assert_eq!(of("openai")["address_from"], "OPENAI_BASE_URL");
    assert!(of("openai")["key_set_in"].is_null() && of("azure")["address"].is_null());
}

#[test]
fn models_stays_within_a_narrow_terminal() {
    for columns in ["60", "100"] {
        for arguments in [&["models"][..], &["models", "--prices"], &["doctor"]] {
            let ran = empty().call(arguments).env("COLUMNS", columns).env("HOME", "/h").run().expect(0);
            let width = columns.parse::<usize>().unwrap();
            for line in ran.stdout.lines() {
                assert!(line.chars().count() <= width, "{arguments:?}: {line}");
            }
        }
    }
}

#[test]
fn prices_come_with_their_date() {
    let env = empty();
    let json = env.run(&["models", "--prices", "--format", "json"]).expect(0).json();
    assert_eq!((&json["format"], &json["unit"]), (&"proofmark.prices".into(), &"usd_per_million_tokens".into()));
    let date = json["as_of"].as_str().unwrap();
    let all = json["prices"].as_array().unwrap();
    let gpt = all.iter().find(|price| price["model"] == "gpt-4.1-mini").unwrap();
    assert_eq!((gpt["provider"].as_str(), gpt["input"].as_f64()), (Some("openai"), Some(0.4)));
    let text = env.run(&["models", "--prices"]).expect(0).says(&[date, "gpt-4.1-mini", "0.40", "1.60"]);
    assert_eq!(text.stdout.lines().filter(|line| line.starts_with("openai ")).count(), 15);
}
