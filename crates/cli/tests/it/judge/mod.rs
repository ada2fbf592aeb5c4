//! Judges in runs: who is asked, what is kept, and what a cache that was tampered with can do. Nothing.

mod runs;
mod tamper;

use proofmark_artefact::judgment::Entry;
use proofmark_testkit::command::{Call, TestEnv};
use proofmark_trust::key::PrivateKey;
use proofmark_trust::keyfile::seal;
use serde_json::Value;

use crate::support::{empty, json};

/// Three answers that need a judge, of which one is right, and one that needs none.
const SUITE: &str = r#"name: judged
seed: 3
models:
  - {id: bot, model: "offline:scripted", params: {file: answers.yaml}}
judges:
  - {id: umpire, model: "offline:judge"}
judge_cache: cache
tasks:
  - id: help
    dataset: {format: jsonl, path: data.jsonl, id: id, target: answer}
    prompt: "{{ question }}"
    scorers:
      - {type: judge, rubric: "Is the answer right?"}
"#;

const ANSWERS: &str = "answers:
  a: It takes thirty days, I think.
  b: No idea.
  c: Nobody knows.
  d: blue
";

const DATA: &str = r#"{"id":"a","question":"How long?","answer":"thirty days"}
{"id":"b","question":"How far?","answer":"nine miles"}
{"id":"c","question":"How deep?","answer":"a fathom"}
{"id":"d","question":"Which colour?","answer":"blue"}
"#;

fn judged() -> TestEnv {
    let env = empty();
    env.put("suite.yaml", SUITE);
    env.put("answers.yaml", ANSWERS);
    env.put("data.jsonl", DATA);
    env
}

fn key(seed: u8) -> PrivateKey {
    PrivateKey::from_secret(&[seed; 32])
}

/// A call that signs with a key.
fn signing(env: &TestEnv, arguments: &[&str], seed: u8) -> Call {
    let pem = seal(&key(seed), None, &[0; 32]);
    env.call(arguments).env("PROOFMARK_JUDGE_KEY", pem.as_str()).env("PROOFMARK_OFFLINE_ASK_LOG", env.path("asked.log"))
}

/// Runs the suite with the usual key; returns how many questions were put to the judge.
#[track_caller]
fn run(env: &TestEnv, dir: &str) -> usize {
    run_with(env, dir, &[])
}

#[track_caller]
fn run_with(env: &TestEnv, dir: &str, more: &[&str]) -> usize {
    let _ = std::fs::remove_file(env.path("asked.log"));
    let arguments = [&["run", "suite.yaml", "--run-dir", dir], more].concat();
    signing(env, &arguments, 1).run().expect(0);
    asked(env) - json(env, &format!("{dir}/manifest.json"))["record_count"].as_u64().unwrap() as usize
}

/// Questions that offline models were asked, also as judges.
fn asked(env: &TestEnv) -> usize {
    std::fs::read_to_string(env.path("asked.log")).unwrap_or_default().lines().count()
}

fn events(env: &TestEnv, dir: &str) -> Vec<Value> {
    json(env, &format!("{dir}/report.replay.json"))["judge_cache_integrity_events"].as_array().unwrap().clone()
}

/// The reasons of the events, each once.
fn reasons(env: &TestEnv, dir: &str) -> Vec<String> {
    let mut all: Vec<String> =
        events(env, dir).iter().map(|event| event["reason"].as_str().unwrap().to_owned()).collect();
    all.sort();
    all.dedup();
    all
}

fn judgments(env: &TestEnv, dir: &str) -> Vec<Entry> {
    let text = env.text(&format!("{dir}/judgments.jsonl"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
