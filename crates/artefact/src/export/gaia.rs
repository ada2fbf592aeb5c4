//! The JSON lines that GAIA's leaderboard takes: one object an item, in the order of the run.
//!
//! `{"model_answer": …, "reasoning_trace": …, "task_id": …}`; the trace is left out where no trajectory was recorded.

use std::io;

use proofmark_canon::Digest;
use proofmark_canon::json::{self, EncodeError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::trace::render_trace;
use crate::manifest::Manifest;
use crate::record::Record;
use crate::store::{LineError, Lines, OpenError, RunDir, digest_file, names};
use crate::suite::config::Format;
use crate::suite::gaia::final_answer;
use crate::text::excerpt;
use crate::trajectory::Trajectory;

/// Which samples of a run are exported. What a run has only one of need not be chosen.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    pub task: Option<String>,
    pub model: Option<String>,
    pub condition: Option<String>,
    /// The index among the n samples of an item.
    pub sample: Option<u32>,
}

/// One set of answers: what a leaderboard takes as one submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub task: String,
    pub model: String,
    pub condition: String,
    pub sample: u32,
}

/// What was exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exported {
    pub items: u64,
    /// Items whose answer is empty, because there is none.
    pub without_answer: u64,
    /// Items without a trajectory.
    pub without_trace: u64,
}

/// The run cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the run has no task with a dataset of format `gaia`")]
    NoTask,
    #[error("the run has several {kind}s: {}", names.join(", "))]
    Several { kind: &'static str, names: Vec<String> },
    #[error("the run has no {kind} `{name}`; it has {}", names.join(", "))]
    Unknown { kind: &'static str, name: String, names: Vec<String> },
    #[error("the run has {n} samples of every item")]
    SeveralSamples { n: u32 },
    #[error("the run has no sample {sample}; every item has {n}, counted from 0")]
    NoSample { sample: u32, n: u32 },
    #[error("digest of `{name}` is {found}, but the manifest says {expected}")]
    Changed { name: &'static str, found: Digest, expected: Digest },
    #[error("cannot read `{name}`")]
    Read { name: &'static str, source: io::Error },
    #[error("cannot read `{name}`")]
    Line { name: &'static str, source: LineError },
    #[error("line {line} of `{name}` is not JSON")]
    Malformed { name: &'static str, line: u64, source: json::ParseError },
    #[error("line {line} of `{name}` does not have the expected shape")]
    Shape { name: &'static str, line: u64, source: json::ShapeError },
    #[error("line {line} of `trajectories.jsonl` is of sample `{found}`, but the record is of `{expected}`")]
    OutOfStep { line: u64, found: String, expected: String },
    #[error("an answer has no canonical form")]
    Encode(#[from] EncodeError),
    #[error("cannot write")]
    Write(#[source] io::Error),
}

impl ExportError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Open(error) => error.hint(),
            Self::NoTask => {
                Some("the leaderboard takes answers to GAIA's questions: `dataset: {format: gaia, …}`".into())
            }
            Self::Several { kind, .. } => Some(format!("choose one with `--{kind} ID`")),
            Self::SeveralSamples { .. } => Some("choose one with `--sample N`, counted from 0".to_owned()),
            Self::Changed { .. } | Self::Malformed { .. } | Self::Shape { .. } | Self::OutOfStep { .. } => {
                Some("`proofmark validate` lists everything that is wrong with the run".to_owned())
            }
            _ => None,
        }
    }
}

/// All sets of answers of a run, in the suite's order; none where no task has GAIA's questions. `Err` says how many there
/// are when they are more than wanted.
pub fn cells(manifest: &Manifest, most: usize) -> Result<Vec<Cell>, u64> {
    let tasks: Vec<&str> = gaia_tasks(manifest).collect();
    let counts = [tasks.len(), manifest.models.len(), manifest.conditions.requested.len()];
    let count = counts.iter().fold(u64::from(manifest.sampling.n), |all, count| all.saturating_mul(*count as u64));
    if count > most as u64 {
        return Err(count);
    }
    let mut cells = Vec::with_capacity(count as usize);
    for task in tasks {
        for model in &manifest.models {
            for condition in &manifest.conditions.requested {
                cells.extend((0..manifest.sampling.n).map(|sample| Cell {
                    task: task.to_owned(),
                    model: model.id.clone(),
                    condition: condition.clone(),
                    sample,
                }));
            }
        }
    }
    Ok(cells)
}

fn gaia_tasks(manifest: &Manifest) -> impl Iterator<Item = &str> {
    let datasets = manifest.datasets.iter().filter(|dataset| dataset.format == Format::Gaia.as_str());
    datasets.map(|dataset| dataset.task.as_str())
}

/// Writes the lines of one set of answers, one call of `write` each.
pub fn export(
    run: &RunDir,
    choice: &Choice,
    write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<Exported, ExportError> {
    let chosen = choose(run.manifest(), choice)?;
    export_all(run, &[chosen], &mut |_, line| write(line))
}

/// Writes the lines of several sets in one go, each with the number of its set.
pub fn export_all(
    run: &RunDir,
    cells: &[Cell],
    write: &mut dyn FnMut(usize, &[u8]) -> io::Result<()>,
) -> Result<Exported, ExportError> {
    let manifest = run.manifest();
    check_digest(run, names::RECORDS)?;
    let mut trajectories = match manifest.artifacts.contains_key(names::TRAJECTORIES) {
        true => {
            check_digest(run, names::TRAJECTORIES)?;
            Some(Trajectories { lines: run.lines(names::TRAJECTORIES)?, next: None, over: false })
        }
        false => None,
    };
    let mut exported = Exported::default();
    let mut records = run.lines(names::RECORDS)?;
    while let Some((record, _)) = next::<Record>(&mut records, names::RECORDS)? {
        let trajectory = match &mut trajectories {
            Some(trajectories) => trajectories.of(&record)?,
            None => None,
        };
        let Some(cell) = cells.iter().position(|cell| cell.takes(&record)) else { continue };
        let text = record.output.as_ref().map(|output| output.answer().into_owned()).unwrap_or_default();
        let answer = final_answer(&text).trim();
        let line = AnswerLine {
            model_answer: answer,
            reasoning_trace: trajectory.as_ref().map(render_trace),
            task_id: &record.item_id,
        };
        exported.items += 1;
        exported.without_answer += u64::from(answer.is_empty());
        exported.without_trace += u64::from(line.reasoning_trace.is_none());
        let mut bytes = json::to_vec(&line)?;
        bytes.push(b'\n');
        write(cell, &bytes).map_err(ExportError::Write)?;
    }
    Ok(exported)
}

#[derive(Serialize)]
struct AnswerLine<'a> {
    model_answer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_trace: Option<String>,
    task_id: &'a str,
}

/// One of everything.
fn choose(manifest: &Manifest, choice: &Choice) -> Result<Cell, ExportError> {
    let tasks: Vec<&str> = gaia_tasks(manifest).collect();
    if tasks.is_empty() {
        return Err(ExportError::NoTask);
    }
    let n = manifest.sampling.n;
    let sample = match choice.sample {
        None if n > 1 => return Err(ExportError::SeveralSamples { n }),
        Some(sample) if sample >= n => return Err(ExportError::NoSample { sample, n }),
        sample => sample.unwrap_or(0),
    };
    let models = manifest.models.iter().map(|model| model.id.as_str());
    let conditions = manifest.conditions.requested.iter().map(String::as_str);
    Ok(Cell {
        task: one_of("task", tasks, choice.task.as_deref())?.to_owned(),
        model: one_of("model", models, choice.model.as_deref())?.to_owned(),
        condition: one_of("condition", conditions, choice.condition.as_deref())?.to_owned(),
        sample,
    })
}

impl Cell {
    fn takes(&self, record: &Record) -> bool {
        record.task == self.task
            && record.model == self.model
            && record.condition == self.condition
            && record.sample == self.sample
    }
}

fn one_of<'m>(
    kind: &'static str,
    all: impl IntoIterator<Item = &'m str>,
    wanted: Option<&str>,
) -> Result<&'m str, ExportError> {
    let all: Vec<&str> = all.into_iter().collect();
    let names = || all.iter().take(20).map(|name| format!("`{}`", excerpt(name, 80))).collect();
    match (wanted, all.as_slice()) {
        (None, [only]) => Ok(only),
        (None, _) => Err(ExportError::Several { kind, names: names() }),
        (Some(name), _) => all.iter().find(|known| **known == name).copied().ok_or_else(|| ExportError::Unknown {
            kind,
            name: excerpt(name, 80),
            names: names(),
        }),
    }
}

/// An answer that was changed after the run must not be handed in as the run's.
fn check_digest(run: &RunDir, name: &'static str) -> Result<(), ExportError> {
    let (found, _) = digest_file(&run.file(name)).map_err(|source| ExportError::Read { name, source })?;
    match run.manifest().artifacts.get(name) {
        Some(expected) if *expected != found => Err(ExportError::Changed { name, found, expected: *expected }),
        _ => Ok(()),
    }
}

/// Trajectories, which stand in the order of their records, one line an attempt.
struct Trajectories {
    lines: Lines,
    /// Read, but of a later record.
    next: Option<(Trajectory, u64)>,
    over: bool,
}

impl Trajectories {
    /// The trajectory of the attempt whose answer counts. Those of the other attempts are passed over.
    fn of(&mut self, record: &Record) -> Result<Option<Trajectory>, ExportError> {
        let wanted = record.voting.as_ref().map(|voting| voting.chosen.unwrap_or(0));
        let (mut found, mut is_first) = (None, true);
        while let Some((trajectory, line)) = self.take()? {
            if trajectory.key != record.key {
                if is_first {
                    let (found, expected) = (trajectory.key.to_string(), record.key.to_string());
                    return Err(ExportError::OutOfStep {
                        line,
                        found: excerpt(&found, 200),
                        expected: excerpt(&expected, 200),
                    });
                }
                self.next = Some((trajectory, line));
                break;
            }
            is_first = false;
            if found.is_none() && (wanted.is_none() || trajectory.attempt == wanted) {
                found = Some(trajectory);
            }
        }
        Ok(found)
    }

    fn take(&mut self) -> Result<Option<(Trajectory, u64)>, ExportError> {
        if let Some(next) = self.next.take() {
            return Ok(Some(next));
        }
        let next = if self.over { None } else { next(&mut self.lines, names::TRAJECTORIES)? };
        self.over = next.is_none();
        Ok(next)
    }
}

fn next<T: DeserializeOwned>(lines: &mut Lines, name: &'static str) -> Result<Option<(T, u64)>, ExportError> {
    let Some(line) = lines.next_line().map_err(|source| ExportError::Line { name, source })? else { return Ok(None) };
    let number = line.number;
    let value = json::parse(line.bytes).map_err(|source| ExportError::Malformed { name, line: number, source })?;
    let read = json::from_value(&value).map_err(|source| ExportError::Shape { name, line: number, source })?;
    Ok(Some((read, number)))
}
