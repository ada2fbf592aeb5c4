//! Suites and small questions that several tests share.

use std::path::Path;

use proofmark_testkit::command::TestEnv;
use serde_json::Value;

/// The six files that are the same for the same answers, everywhere.
pub(crate) const PLANE_1: [&str; 6] =
    ["records.jsonl", "trajectories.jsonl", "manifest.json", "config.resolved.yaml", "summary.json", "report.html"];

/// The two files that say what happened this time.
pub(crate) const WITNESS: [&str; 2] = ["report.md", "report.replay.json"];

/// An empty folder and the program.
pub(crate) fn empty() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_proofmark"))
}

/// A folder with a small suite that runs: four items, one model, one condition, one scorer.
pub(crate) fn small() -> TestEnv {
    let env = empty();
    env.put("suite.yaml", SMALL);
    env.put("data.jsonl", SMALL_DATA);
    env
}

pub(crate) const SMALL: &str = r#"name: small
models:
  - {id: echo, model: "offline:echo"}
tasks:
  - id: words
    dataset: {format: jsonl, path: data.jsonl, id: id}
    prompt: "{{ input }}"
    scorers: [{type: exact}]
"#;

pub(crate) const SMALL_DATA: &str = r#"{"id":"a","input":"one","target":"one"}
{"id":"b","input":"two","target":"two"}
{"id":"c","input":"three","target":"four"}
{"id":"d","input":"five","target":"five"}
"#;

/// Panics when two run directories do not hold the same files with the same bytes.
#[track_caller]
pub(crate) fn assert_same_run(a: &Path, b: &Path, context: &str) {
    for name in PLANE_1 {
        let [left, right] = [a, b].map(|dir| std::fs::read(dir.join(name)).ok());
        if left == right && left.is_some() {
            continue;
        }
        let show = |side: &Option<Vec<u8>>, at: usize| match side {
            None => "no such file".to_owned(),
            Some(bytes) => {
                let around = &bytes[at.saturating_sub(120).min(bytes.len())..(at + 120).min(bytes.len())];
                format!("{} bytes, …{}…", bytes.len(), String::from_utf8_lossy(around))
            }
        };
        let at = match (&left, &right) {
            (Some(l), Some(r)) => l.iter().zip(r).take_while(|(l, r)| l == r).count(),
            _ => 0,
        };
        panic!("{context}: `{name}` differs at byte {at}\n  {}\n  {}", show(&left, at), show(&right, at));
    }
}

/// A JSON file of a run.
#[track_caller]
pub(crate) fn json(env: &TestEnv, name: &str) -> Value {
    serde_json::from_slice(&env.bytes(name)).unwrap_or_else(|error| panic!("`{name}` is not JSON: {error}"))
}

/// The lines of a JSONL file.
#[track_caller]
pub(crate) fn json_lines(env: &TestEnv, name: &str) -> Vec<Value> {
    env.text(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The id of the run in a directory.
#[track_caller]
pub(crate) fn run_id(env: &TestEnv, dir: &str) -> String {
    json(env, &format!("{dir}/manifest.json"))["run_id"].as_str().unwrap().to_owned()
}
