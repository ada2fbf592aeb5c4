//! `proofmark verify-replay` and `proofmark hash`.

mod cases;
mod hashing;
mod output;
mod own;
mod states;
mod strange;

use std::process::Command;

use proofmark_testkit::command::TestEnv;
use serde_json::{Value, json};

use crate::support::empty;

/// The digest of bytes, in text.
fn digest(bytes: &[u8]) -> String {
    proofmark_canon::Digest::of(bytes).to_string()
}

const SUITE: &str = "name: s\ntasks: []\n";
const SUITE_CANONICAL: &str = r#"{"name":"s","tasks":[]}"#;
const DATA: &str = "id,question\n1,why\n";

/// A block of ours about `evals/suite.yaml` and `evals/data.csv`, seen from `evals/runs/a`.
fn block() -> Value {
    json!({
        "schema_version": 1,
        "kind": "eval-live",
        "proofmark_version": "0.1.0",
        "repo_commit": null,
        "git_dirty": null,
        "toolchain": "rustc",
        "platform": "linux-x86_64",
        "invoked_at": "2026-04-22T10:00:00Z",
        "argv": ["proofmark", "run", "suite.yaml"],
        "root": "../..",
        "suite": {"path": "suite.yaml", "hash": digest(SUITE_CANONICAL.as_bytes()), "mode": "structured"},
        "inputs": [
            {"role": "suite", "path": "suite.yaml", "hash": digest(SUITE_CANONICAL.as_bytes()), "mode": "structured"},
            {"role": "dataset", "path": "data.csv", "hash": digest(DATA.as_bytes()), "mode": "raw"},
        ],
        "sampling": {"n": 1, "temperature": null, "seed": 7},
        "models": [{"id": "m", "provider": "openai", "model": "openai:m", "provider_request_ids": ["req_1", "req_2"]}],
        "conditions": {"requested": ["raw"], "effective": ["raw"]},
        "submittable": false,
        "judge_cache_integrity_events": [],
        "artifacts": {"records.jsonl": digest(b"x")},
    })
}

/// The markdown that fits [`block`].
fn markdown() -> String {
    let suite = &digest(SUITE_CANONICAL.as_bytes())[..19];
    let data = &digest(DATA.as_bytes())[..19];
    format!(
        "# s\n\n```yaml proofmark-replay\nschema_version: 1\nkind: eval-live\nproofmark_version: 0.1.0\n\
         suite: {{path: suite.yaml, hash: '{suite}', mode: structured}}\n\
         inputs:\n  - {{role: suite, path: suite.yaml, hash: '{suite}'}}\n  - {{role: dataset, path: data.csv, hash: '{data}'}}\n\
         models:\n  - {{id: m, provider_request_ids: 2}}\n```\n"
    )
}

/// A run in `evals/runs/a` with its inputs, in no repository.
fn laid_out(block: &Value) -> TestEnv {
    let env = empty();
    env.put("evals/suite.yaml", SUITE);
    env.put("evals/data.csv", DATA);
    put_block(&env, block);
    env.put("evals/runs/a/report.md", markdown());
    env
}

fn put_block(env: &TestEnv, block: &Value) {
    env.put("evals/runs/a/report.replay.json", block.to_string());
}

const RUN: &str = "evals/runs/a";

/// Runs git in the folder of a test and returns what it says.
pub(crate) fn git(env: &TestEnv, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"])
        .args(["-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(env.root())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git is there");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
