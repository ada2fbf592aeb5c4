//! Failing answers of a finished run, to be attacked.

use std::collections::BTreeMap;
use std::path::Path;

use proofmark_artefact::record::{Record, Stage};
use proofmark_artefact::store::{LineError, OpenError, RunDir, names};
use proofmark_artefact::suite::judge::JudgeMode;
use proofmark_canon::json;
use proofmark_canon::seed::derive;
use proofmark_model::Hint;

use super::find::Found;
use super::probe::ProbeCase;
use crate::judge::Case;
use crate::sample::task_and_item;

/// The records of a run cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OfRunError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Line(#[from] LineError),
    #[error("line {line} of {} is not a record: {why}", names::RECORDS)]
    Malformed { line: u64, why: String },
}

/// An answer that the judges of a scorer failed.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedAnswer {
    record: Record,
    other: Option<String>,
}

impl FailedAnswer {
    pub fn case(&self) -> ProbeCase<'_> {
        let record = &self.record;
        let case = Case {
            task_id: task_and_item(record.key.as_str()),
            question: &record.input.messages,
            answer: record.output.as_ref().map_or("", |output| output.text.as_str()),
            pictures: &[],
            expected: &record.expected,
            other: self.other.as_deref(),
            seed: record.seed,
            hint: Hint {
                key: record.key.as_str(),
                ordinal: record.ordinal,
                item_id: &record.item_id,
                item_index: 0,
                sample: record.sample,
                attempt: 0,
                expected: &record.expected,
                choices: None,
            },
        };
        ProbeCase { id: record.key.as_str(), case }
    }
}

/// Answers with text that the judges of a scorer failed, at most so many: chosen by the digests of their keys, so that
/// neither order nor chance matters.
///
/// Answers that were compared with a column of the dataset are left out: the record does not hold it.
pub fn failed_answers(run_dir: &Path, found: Found<'_>, most: usize) -> Result<Vec<FailedAnswer>, OfRunError> {
    let dir = RunDir::open(run_dir)?;
    let mut lines = dir.lines(names::RECORDS)?;
    let mut chosen = BTreeMap::new();
    let plan = &found.scorer.plan;
    while let Some(line) = lines.next_line()? {
        let malformed = |why: String| OfRunError::Malformed { line: line.number, why };
        let value = json::parse(line.bytes).map_err(|error| malformed(error.to_string()))?;
        let record: Record = json::from_value(&value).map_err(|error| malformed(error.to_string()))?;
        let is_failed = record.scores.iter().any(|score| {
            let is_judged = score.judge.as_ref().is_some_and(|judged| judged.stage == Stage::Judge);
            score.scorer == plan.name && !score.passed && is_judged
        });
        let has_text = record.output.as_ref().is_some_and(|output| !output.text.trim().is_empty());
        if record.task != found.task || !is_failed || !has_text {
            continue;
        }
        let other = match plan.mode {
            JudgeMode::Single => None,
            JudgeMode::Pairwise if plan.against.is_some() => continue,
            JudgeMode::Pairwise => Some(record.expected.to_plain_text()),
        };
        let place = derive("proofmark.probe/1", &[record.key.as_str().as_bytes()]);
        chosen.insert(place, FailedAnswer { record, other });
        if chosen.len() > most {
            chosen.pop_last();
        }
    }
    let mut chosen: Vec<FailedAnswer> = chosen.into_values().collect();
    chosen.sort_by_key(|answer| answer.record.ordinal);
    Ok(chosen)
}
