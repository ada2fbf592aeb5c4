//! Runs on disk compared, gated and shown: the runs, and what all of these tests do with them.

mod comparisons;
mod formats;
mod properties;
mod trajectories;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use proofmark_artefact::diff::{self, Class, Comparison, DiffError, Gate, Gates, Keep, Options, Trajectories, format};
use proofmark_artefact::manifest::{
    Conditions, Determinism, Evidence, Harness, MANIFEST_SCHEMA, Manifest, ModelEntry, Sampling, TaskEntry,
};
use proofmark_artefact::record::{
    Input, Message, Output, RECORD_SCHEMA, Record, Role, SampleError, Score, Status, Usage, output_fingerprint,
};
use proofmark_artefact::store::{RunDir, names};
use proofmark_artefact::trajectory::{Step, Trajectory};
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, Map, RunId, SampleKey, Value};
use proptest::prelude::*;
use tempfile::TempDir;

/// A run under construction.
#[derive(Clone)]
struct Run {
    suite: &'static str,
    records: Vec<Record>,
    trajectories: Option<Vec<Trajectory>>,
}

impl Run {
    /// Three items, asked of two models, all answered rightly.
    fn new() -> Self {
        let mut records = Vec::new();
        for (item, answer) in [("de", "Berlin"), ("fr", "Paris"), ("it", "Rome")] {
            for model in ["small", "large"] {
                records.push(record(item, model, answer));
            }
        }
        Self { suite: "one", records, trajectories: None }
    }

    fn with_trajectories(mut self) -> Self {
        self.trajectories = Some(self.records.iter().map(trajectory).collect());
        self
    }

    fn record(&mut self, key: &str) -> &mut Record {
        self.records.iter_mut().find(|record| record.key.as_str() == key).expect("the run has the key")
    }

    fn change(mut self, key: &str, change: impl FnOnce(&mut Record)) -> Self {
        change(self.record(key));
        self
    }

    fn write(&self, dir: &Path) -> RunDir {
        std::fs::create_dir_all(dir).unwrap();
        let run_id = RunId::from_digest(&Digest::of(self.suite.as_bytes()));
        let mut records = self.records.clone();
        for (ordinal, record) in records.iter_mut().enumerate() {
            record.run_id = run_id;
            record.ordinal = ordinal as u64;
            record.started_at = run_id.spine(ordinal as u64);
            let (output, error) = (record.output.as_ref(), record.error.as_ref());
            record.output_fingerprint = output_fingerprint(output, record.finish_reason.as_deref(), error).unwrap();
        }
        let mut trajectories = self.trajectories.clone().unwrap_or_default();
        trajectories.iter_mut().for_each(|trajectory| trajectory.run_id = run_id);
        let mut artifacts = BTreeMap::new();
        for (name, bytes) in [
            (names::RECORDS, lines(&records)),
            (names::TRAJECTORIES, lines(&trajectories)),
            (names::CONFIG, format!("name: {}\n", self.suite).into_bytes()),
        ] {
            artifacts.insert(name.to_owned(), put(&dir.join(name), &bytes));
        }
        let manifest = manifest(run_id, records.len() as u64, self.trajectories.is_some(), artifacts);
        put(&dir.join(names::MANIFEST), &proofmark_canon::to_vec(&manifest).unwrap());
        RunDir::open(dir).unwrap()
    }
}

/// Writes a file without syncing it: there are hundreds of them.
fn put(path: &Path, bytes: &[u8]) -> Digest {
    std::fs::File::create(path).unwrap().write_all(bytes).unwrap();
    Digest::of(bytes)
}

fn lines<T: serde::Serialize>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|value| [proofmark_canon::to_vec(value).unwrap(), b"\n".to_vec()].concat()).collect()
}

fn manifest(run_id: RunId, record_count: u64, recorded: bool, artifacts: BTreeMap<String, Digest>) -> Manifest {
    let model = |id: &str| ModelEntry {
        asked: None,
        price: None,
        seed: None,
        id: id.to_owned(),
        model: format!("test:{id}"),
        params: Map::new(),
        provider: "test".to_owned(),
    };
    let raw = vec!["raw".to_owned()];
    Manifest {
        judges: Vec::new(),
        assets: Vec::new(),
        artifacts,
        command: None,
        conditions: Conditions { effective: raw.clone(), requested: raw },
        created_at: run_id.spine(0),
        datasets: Vec::new(),
        determinism: Determinism { deterministic_artifacts: true, strict_serialization: true },
        evidence: Evidence { full_bodies: false, recorded },
        harness: Harness { name: "proofmark".to_owned(), version: "0.1.0".to_owned() },
        models: vec![model("small"), model("large")],
        name: "capitals".to_owned(),
        platform: None,
        record_count,
        records_file: names::RECORDS.to_owned(),
        run_id,
        sampling: Sampling { n: 1, seed: 7, temperature: None, voting_attempts: None },
        schema_version: MANIFEST_SCHEMA,
        status_counts: BTreeMap::new(),
        tasks: vec![TaskEntry {
            judged: Vec::new(),
            agent: None,
            id: "capitals".to_owned(),
            items: 3,
            scorers: vec!["exact".to_owned()],
        }],
        unicode_version: "17.0.0".to_owned(),
    }
}

fn record(item: &str, model: &str, answer: &str) -> Record {
    let key = SampleKey::new("capitals", item, model, "raw", 0);
    let mut record = Record {
        voting: None,
        condition: "raw".to_owned(),
        error: None,
        expected: Value::String(answer.to_owned()),
        finish_reason: Some("stop".to_owned()),
        input: Input {
            fingerprint: Digest::of(key.as_str().as_bytes()),
            messages: vec![Message::new(Role::User, format!("What is the capital of {item}?"))],
        },
        item_id: item.to_owned(),
        latency_ms: None,
        model: model.to_owned(),
        ordinal: 0,
        output: None,
        output_fingerprint: Digest::of(b""),
        provider: "test".to_owned(),
        run_id: RunId::from_digest(&Digest::of(b"")),
        sample: 0,
        schema_version: RECORD_SCHEMA,
        scores: Vec::new(),
        seed: SampleSeed::derive(7, key.as_str()),
        started_at: String::new(),
        status: Status::Success,
        task: "capitals".to_owned(),
        tool_calls: 0,
        turns: 1,
        usage: Usage { input_tokens: 8, output_tokens: 1 },
        key,
    };
    answered(&mut record, answer);
    record
}

/// Gives a record an answer and judges it.
fn answered(record: &mut Record, text: &str) {
    let passed = record.expected.as_str() == Some(text);
    let explanation = if passed { "equal".to_owned() } else { format!("found `{text}`") };
    record.output = Some(Output::of_text(text.to_owned()));
    record.scores = vec![Score {
        explanation,
        judge: None,
        passed,
        scorer: "exact".to_owned(),
        value: if passed { 1.0 } else { 0.0 },
    }];
}

fn failed(record: &mut Record) {
    record.status = Status::Timeout;
    record.error = Some(SampleError { class: "timeout".to_owned(), message: "no answer in 30 s".to_owned() });
    record.output = None;
    record.finish_reason = None;
    record.scores.clear();
}

fn trajectory(record: &Record) -> Trajectory {
    let answer = record.output.as_ref().map(|output| output.text.clone());
    Trajectory {
        attempt: None,
        no_answer: None,
        stop: None,
        steps: vec![Step::prompt(Role::User, "?"), Step::model_output(answer.as_deref().unwrap_or_default(), None)],
        final_answer: answer,
        key: record.key.clone(),
        model: record.model.clone(),
        run_id: record.run_id,
        task_id: record.task.clone(),
        turns: record.turns,
        usage: record.usage,
    }
}

fn compare_with(a: &Run, b: &Run, options: &Options) -> Result<Comparison, DiffError> {
    let dir = TempDir::new().unwrap();
    let (a, b) = (a.write(&dir.path().join("a")), b.write(&dir.path().join("b")));
    let mut comparison = diff::diff(&a, &b, options)?;
    // The only thing that the temporary directory leaves its name in.
    comparison.a.path = "runs/a".to_owned();
    comparison.b.path = "runs/b".to_owned();
    Ok(comparison)
}

fn compare(a: &Run, b: &Run) -> Comparison {
    compare_with(a, b, &Options::default()).unwrap()
}

/// The classes that have samples, with how many.
fn found(comparison: &Comparison) -> String {
    let count = |class: Class| Some((class, comparison.counts.of(class))).filter(|(_, count)| *count > 0);
    let found: Vec<String> =
        Class::ALL.into_iter().filter_map(count).map(|(class, count)| format!("{class} {count}")).collect();
    found.join(", ")
}

fn gates(names: &[&str]) -> Gates {
    Gates { fail_on: names.iter().map(|name| name.parse().unwrap()).collect(), fail_on_significant: None }
}
