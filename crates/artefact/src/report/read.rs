//! The selection of a finished run, out of its `records.jsonl`.

use std::borrow::Cow;

use serde::Deserialize;

use super::select::{BadRecord, Facts, Grid, Limits, Selection, Selector};
use crate::axes::Axes;
use crate::record::Status;
use crate::store::{LineError, OpenError, RunDir, names};
use crate::text::excerpt;

/// Reads every record of a run and chooses as the run itself did.
pub fn select_records(dir: &RunDir, limits: Limits) -> Result<Selection, ReadError> {
    let axes = Axes::of_manifest(dir.manifest());
    let mut selector = Selector::new(Grid::of(dir.manifest()), limits);
    let mut lines = dir.lines(names::RECORDS)?;
    while let Some(line) = lines.next_line()? {
        let glance: Glance<'_> = serde_json::from_slice(line.bytes)
            .map_err(|source| ReadError::Malformed { line: line.number, source: Box::new(source) })?;
        let facts = facts(&axes, &glance, line.number)?;
        selector
            .push(&facts, || Cow::Borrowed(line.bytes))
            .map_err(|source| ReadError::BadRecord { line: line.number, source })?;
    }
    Ok(selector.finish())
}

/// The records of a run cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("cannot read `records.jsonl`")]
    Line(#[from] LineError),
    #[error("`records.jsonl` line {line} is not a record")]
    Malformed { line: u64, source: Box<serde_json::Error> },
    #[error("`records.jsonl` line {line} is not a record")]
    BadRecord { line: u64, source: BadRecord },
    #[error("`records.jsonl` line {line} names the {axis} `{name}`, which is not in the manifest")]
    Unknown { line: u64, axis: &'static str, name: String },
}

impl ReadError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Open(error) => error.hint(),
            _ => Some("`proofmark validate` lists everything that is wrong with a run directory".to_owned()),
        }
    }
}

/// As much of a record as the choice needs. Records that are kept are read in full, and strictly.
#[derive(Deserialize)]
struct Glance<'a> {
    #[serde(borrow)]
    condition: Cow<'a, str>,
    #[serde(borrow)]
    error: Option<GlanceError<'a>>,
    #[serde(borrow)]
    model: Cow<'a, str>,
    scores: Vec<GlanceScore>,
    status: Status,
    #[serde(borrow)]
    task: Cow<'a, str>,
}

#[derive(Deserialize)]
struct GlanceError<'a> {
    #[serde(borrow)]
    class: Cow<'a, str>,
}

#[derive(Deserialize)]
struct GlanceScore {
    passed: bool,
}

fn facts<'g>(axes: &Axes<'_>, glance: &'g Glance<'_>, line: u64) -> Result<Facts<'g>, ReadError> {
    let unknown = |axis, name: &str| ReadError::Unknown { line, axis, name: excerpt(name, 80) };
    Ok(Facts {
        task: axes.task(&glance.task).ok_or_else(|| unknown("task", &glance.task))?,
        model: axes.model(&glance.model).ok_or_else(|| unknown("model", &glance.model))?,
        condition: axes.condition(&glance.condition).ok_or_else(|| unknown("condition", &glance.condition))?,
        status: glance.status,
        passed: glance.scores.first().map(|score| score.passed),
        error_class: glance.error.as_ref().map(|error| error.class.as_ref()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use crate::report::fixture;
    use crate::store::write_atomic;

    fn run_with(records: &[u8]) -> (tempfile::TempDir, RunDir) {
        let dir = tempfile::tempdir().unwrap();
        let manifest = proofmark_canon::to_vec(&fixture::manifest()).unwrap();
        write_atomic(&dir.path().join(names::MANIFEST), &manifest).unwrap();
        write_atomic(&dir.path().join(names::RECORDS), records).unwrap();
        let run = RunDir::open(dir.path()).unwrap();
        (dir, run)
    }

    fn lines(records: &[Record]) -> Vec<u8> {
        records.iter().flat_map(|record| [proofmark_canon::to_vec(record).unwrap(), vec![b'\n']].concat()).collect()
    }

    #[test]
    fn a_finished_run_gives_the_selection_of_the_live_one() {
        let records = fixture::records();
        let (_kept, run) = run_with(&lines(&records));
        assert_eq!(select_records(&run, Limits::default()).unwrap(), fixture::selection(&records));
    }

    #[test]
    fn a_record_of_an_unknown_model_is_an_error_with_its_line() {
        let mut records = fixture::records();
        records[1].model = "elsewhere".to_owned();
        let (_kept, run) = run_with(&lines(&records));
        let error = select_records(&run, Limits::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`records.jsonl` line 2 names the model `elsewhere`, which is not in the manifest"
        );
    }

    #[test]
    fn bytes_that_are_no_record_are_an_error_with_their_line() {
        let mut bytes = lines(&fixture::records()[..1]);
        bytes.extend_from_slice(b"[1]\n");
        let (_kept, run) = run_with(&bytes);
        let error = select_records(&run, Limits::default()).unwrap_err();
        assert!(matches!(error, ReadError::Malformed { line: 2, .. }), "{error}");
    }
}
