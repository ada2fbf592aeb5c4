//! A small made-up run: two models, two conditions, three tasks.

use std::collections::BTreeMap;

use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, Map, RunId, SampleKey};

use super::select::{Facts, Grid, Limits, Selection, Selector};
use crate::manifest::{
    Conditions, DatasetEntry, Determinism, Evidence, Harness, MANIFEST_SCHEMA, Manifest, ModelEntry, Sampling,
    TaskEntry,
};
use crate::record::{Input, Message, Output, RECORD_SCHEMA, Record, Role, SampleError, Score, Status, Usage};
use crate::summary::{
    Cell, Comparison, Counts, Estimate, Interval, Method, ModelRow, SUMMARY_SCHEMA, Summary, TaskRow, Totals,
};

pub(super) const TASKS: [&str; 3] = ["capitals", "sums", "colours"];
pub(super) const MODELS: [&str; 2] = ["small", "large"];
pub(super) const CONDITIONS: [&str; 2] = ["raw", "compiled"];

pub(super) fn run_id() -> RunId {
    RunId::from_digest(&Digest::of(b"fixture"))
}

pub(crate) fn manifest() -> Manifest {
    let model = |id: &str| ModelEntry {
        asked: None,
        price: None,
        seed: None,
        id: id.to_owned(),
        model: format!("noisy:{id}"),
        params: Map::new(),
        provider: "noisy".to_owned(),
    };
    let task = |id: &str| TaskEntry {
        judged: Vec::new(),
        agent: None,
        id: id.to_owned(),
        items: 4,
        scorers: vec!["exact".into(), "includes".into()],
    };
    let dataset = |task: &str| DatasetEntry {
        digest: Digest::of(task.as_bytes()),
        format: "jsonl".to_owned(),
        path: Some(format!("data/{task}.jsonl")),
        repo: None,
        revision: None,
        rows: 4,
        rows_skipped: 0,
        split: None,
        task: task.to_owned(),
    };
    let conditions: Vec<String> = CONDITIONS.map(str::to_owned).into();
    Manifest {
        judges: Vec::new(),
        assets: Vec::new(),
        artifacts: BTreeMap::new(),
        command: None,
        conditions: Conditions { effective: conditions.clone(), requested: conditions },
        created_at: run_id().spine(0),
        datasets: TASKS.map(dataset).into(),
        determinism: Determinism { deterministic_artifacts: true, strict_serialization: true },
        evidence: Evidence { full_bodies: false, recorded: false },
        harness: Harness { name: "proofmark".to_owned(), version: "0.1.0".to_owned() },
        models: MODELS.map(model).into(),
        name: "small world".to_owned(),
        platform: None,
        record_count: 48,
        records_file: "records.jsonl".to_owned(),
        run_id: run_id(),
        sampling: Sampling { n: 1, seed: 7, temperature: Some(0.7), voting_attempts: None },
        schema_version: MANIFEST_SCHEMA,
        status_counts: BTreeMap::new(),
        tasks: TASKS.map(task).into(),
        unicode_version: "17.0.0".to_owned(),
    }
}

pub(super) fn estimate(mean: f64, low: f64, high: f64) -> Estimate {
    Estimate { interval: Interval { high, level: 0.95, low, method: Method::Wilson }, items: 4, mean }
}

pub(crate) fn summary() -> Summary {
    let counts = Counts { attempted: 4, errored: 1, passed: 2, scored: 3 };
    let usage = Usage { input_tokens: 1200, output_tokens: 34 };
    let some = Some(estimate(2.0 / 3.0, 0.208, 0.939));
    let mut cells = Vec::new();
    for task in TASKS {
        for (model, condition) in rows() {
            for (scorer, primary) in [("exact", true), ("includes", false)] {
                let (task, model, condition) = (task.to_owned(), model.to_owned(), condition.to_owned());
                let scorer = scorer.to_owned();
                cells.push(Cell {
                    condition,
                    cost_usd: None,
                    counts,
                    estimate: some,
                    model,
                    primary,
                    scorer,
                    task,
                    usage,
                });
            }
        }
    }
    let model_row = |(model, condition): (&str, &str)| ModelRow {
        cost_usd: None,
        condition: condition.to_owned(),
        counts,
        estimate: some,
        model: model.to_owned(),
        usage,
    };
    let comparison = |model: &str, task: Option<&str>| Comparison {
        baseline: "raw".to_owned(),
        condition: "compiled".to_owned(),
        difference: 0.12,
        interval: Interval { high: 0.204, level: 0.95, low: 0.031, method: Method::Bootstrap },
        items: 40,
        losses: 4,
        model: model.to_owned(),
        task: task.map(str::to_owned),
        ties: 26,
        wins: 10,
    };
    Summary {
        judging: None,
        sampling: None,
        answered_by: Vec::new(),
        cells,
        comparisons: MODELS.iter().flat_map(|m| [comparison(m, None), comparison(m, Some("sums"))]).collect(),
        models: rows().map(model_row).into(),
        name: "small world".to_owned(),
        run_id: run_id(),
        schema_version: SUMMARY_SCHEMA,
        tasks: TASKS.map(|task| TaskRow { counts, estimate: some, task: task.to_owned() }).into(),
        totals: Totals {
            cost_usd: None,
            counts: Counts { attempted: 48, errored: 12, passed: 24, scored: 36 },
            items: 12,
            usage,
        },
    }
}

fn rows() -> [(&'static str, &'static str); 4] {
    [(MODELS[0], CONDITIONS[0]), (MODELS[0], CONDITIONS[1]), (MODELS[1], CONDITIONS[0]), (MODELS[1], CONDITIONS[1])]
}

pub(crate) fn record(ordinal: u64, status: Status, passed: Option<bool>) -> Record {
    let item = format!("item-{ordinal}");
    let key = SampleKey::new(TASKS[0], &item, MODELS[0], CONDITIONS[0], 0);
    let score = |passed: bool| Score {
        explanation: "compared with the target".to_owned(),
        judge: None,
        passed,
        scorer: "exact".to_owned(),
        value: f64::from(u8::from(passed)),
    };
    let error = (status != Status::Success)
        .then(|| SampleError { class: "server".to_owned(), message: "the server said 503".to_owned() });
    Record {
        condition: CONDITIONS[0].to_owned(),
        error,
        expected: "Paris".into(),
        finish_reason: Some("stop".to_owned()),
        input: Input {
            fingerprint: Digest::of(b"in"),
            messages: vec![Message::new(Role::User, "What is the capital of France?".to_owned())],
        },
        item_id: item,
        key: key.clone(),
        latency_ms: None,
        model: MODELS[0].to_owned(),
        ordinal,
        output: (status == Status::Success).then(|| Output::of_text("Paris".to_owned())),
        output_fingerprint: Digest::of(b"out"),
        provider: "noisy".to_owned(),
        run_id: run_id(),
        sample: 0,
        schema_version: RECORD_SCHEMA,
        scores: passed.map(score).into_iter().collect(),
        seed: SampleSeed::derive(7, key.as_str()),
        started_at: run_id().spine(ordinal),
        status,
        task: TASKS[0].to_owned(),
        tool_calls: 0,
        turns: 1,
        usage: Usage { input_tokens: 12, output_tokens: 1 },
        voting: None,
    }
}

/// One record a cell and item: some errors, some failures, some passes.
pub(crate) fn records() -> Vec<Record> {
    let mut records = Vec::new();
    for task in TASKS {
        for item in 0..4 {
            for (model, condition) in rows() {
                let ordinal = records.len() as u64;
                let (status, passed) = match ordinal % 4 {
                    0 => (Status::Timeout, None),
                    1 => (Status::Success, Some(false)),
                    _ => (Status::Success, Some(true)),
                };
                let key = SampleKey::new(task, &format!("item-{item}"), model, condition, 0);
                records.push(Record {
                    task: task.to_owned(),
                    model: model.to_owned(),
                    condition: condition.to_owned(),
                    item_id: format!("item-{item}"),
                    key,
                    ..record(ordinal, status, passed)
                });
            }
        }
    }
    records
}

/// Chooses from records at hand, as a live run does.
pub(super) fn selection(records: &[Record]) -> Selection {
    let mut selector = Selector::new(Grid::of(&manifest()), Limits::default());
    let place = |names: &[&str], name: &str| names.iter().position(|known| *known == name).unwrap_or(0);
    for record in records {
        let (task, model) = (place(&TASKS, &record.task), place(&MODELS, &record.model));
        let facts = Facts::of(record, task, model, place(&CONDITIONS, &record.condition));
        selector.push_record(&facts, record);
    }
    selector.finish()
}
