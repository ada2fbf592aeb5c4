//! Records and trajectories for tests.

use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, RunId, SampleKey, Value};

use crate::record::{Input, Message, Output, RECORD_SCHEMA, Record, Role, Score, Status, Usage, output_fingerprint};
use crate::trajectory::{Step, Trajectory};

pub(super) fn run_id() -> RunId {
    RunId::from_digest(&Digest::of(b"sample"))
}

/// A sample that was answered `yes` and passed.
pub(super) fn record(task: &str, item: &str, model: &str, condition: &str, sample: u32) -> Record {
    let key = SampleKey::new(task, item, model, condition, sample);
    let output = Some(Output::of_text("yes".to_owned()));
    Record {
        condition: condition.to_owned(),
        error: None,
        expected: Value::String("yes".to_owned()),
        finish_reason: Some("stop".to_owned()),
        input: Input {
            fingerprint: Digest::of(key.as_str().as_bytes()),
            messages: vec![Message::new(Role::User, format!("is \"{item}\" so?"))],
        },
        item_id: item.to_owned(),
        latency_ms: None,
        model: model.to_owned(),
        ordinal: 0,
        output_fingerprint: output_fingerprint(output.as_ref(), Some("stop"), None).unwrap(),
        output,
        provider: "test".to_owned(),
        run_id: run_id(),
        sample,
        schema_version: RECORD_SCHEMA,
        scores: vec![score("exact", true, 1.0)],
        seed: SampleSeed::derive(7, key.as_str()),
        started_at: run_id().spine(0),
        status: Status::Success,
        task: task.to_owned(),
        tool_calls: 0,
        turns: 1,
        usage: Usage { input_tokens: 5, output_tokens: 1 },
        voting: None,
        key,
    }
}

pub(super) fn score(scorer: &str, passed: bool, value: f64) -> Score {
    Score { explanation: format!("{scorer} says {passed}"), judge: None, passed, scorer: scorer.to_owned(), value }
}

pub(super) fn trajectory(key: &str, answer: &str) -> Trajectory {
    Trajectory {
        attempt: None,
        final_answer: Some(answer.to_owned()),
        key: proofmark_canon::json::from_value(&Value::String(key.to_owned())).unwrap(),
        model: "m".to_owned(),
        no_answer: None,
        run_id: run_id(),
        stop: None,
        steps: vec![Step::prompt(Role::User, "so?"), Step::model_output(answer, None)],
        task_id: "t".to_owned(),
        turns: 1,
        usage: Usage::default(),
    }
}
