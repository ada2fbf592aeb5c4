//! Runs against the mock provider, over real connections.

mod classes;
mod faults;
mod features;
mod manners;
mod money;
mod net;
mod secrets;
mod wires;
mod witness;

use std::collections::BTreeMap;

use proofmark_serve::mock::{Config, Server, serve};
use proofmark_testkit::command::{Call, TestEnv};
use serde_json::Value;

/// Starts a provider on a free port.
pub(crate) fn provider(config: Config) -> Server {
    serve(config).expect("a mock provider")
}

/// A call with every provider's address set to the server, and a key for each.
pub(crate) fn call_live(env: &TestEnv, server: &Server, arguments: &[&str]) -> Call {
    let base = server.base_url();
    let mut call = env.call(arguments);
    for (name, path) in [
        ("OPENAI_BASE_URL", "/v1"),
        ("ANTHROPIC_BASE_URL", ""),
        ("GEMINI_BASE_URL", ""),
        ("MISTRAL_BASE_URL", ""),
        ("COHERE_BASE_URL", ""),
        ("OLLAMA_BASE_URL", ""),
        ("CLOUDFLARE_BASE_URL", "/client/v4/accounts/me/ai"),
    ] {
        call = call.env(name, format!("{base}{path}"));
    }
    for name in [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "MISTRAL_API_KEY",
        "COHERE_API_KEY",
        "CLOUDFLARE_API_TOKEN",
    ] {
        call = call.env(name, "sk-test-key-0123456789");
    }
    call
}

/// Lines of a JSONL file.
pub(crate) fn lines(env: &TestEnv, name: &str) -> Vec<Value> {
    env.text(name).lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// A dataset of numbered questions, and their answers under an echo.
pub(crate) fn questions(env: &TestEnv, count: usize) {
    let rows: String = (0..count)
        .map(|n| format!("{{\"id\":\"q{n:05}\",\"input\":\"item {n}\",\"target\":\"item {n}\"}}\n"))
        .collect();
    env.put("data.jsonl", rows);
}

/// A suite of one task over `data.jsonl`. `models` and `more` are YAML.
pub(crate) fn suite(env: &TestEnv, models: &str, more: &str) {
    env.put(
        "suite.yaml",
        format!(
            "name: live\nmodels:\n{models}\ntasks:\n  - id: echo\n    dataset: {{format: jsonl, path: data.jsonl, id: id}}\n    \
             scorers: [{{type: exact}}]\n{more}\n"
        ),
    );
}

/// How many records there are of each status and class.
pub(crate) fn outcomes(records: &[Value]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for record in records {
        let status = record["status"].as_str().expect("a status");
        let name = match record["error"]["class"].as_str() {
            Some(class) => format!("{status}/{class}"),
            None => status.to_owned(),
        };
        *counts.entry(name).or_default() += 1;
    }
    counts
}

pub(crate) fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_proofmark"))
}
