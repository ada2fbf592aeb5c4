//! Two runs compared, sample by sample and byte by byte.
//!
//! Samples are matched by key, so that runs of two versions of a suite or a dataset can be compared:
//! what was added, removed or edited is a class of its own. The comparison is a value; [`gate()`] judges
//! it and [`mod@format`] shows it.
//!
//! - `class` the ways in which a sample can differ; `classify` the rules.
//! - `scan` members of a line without parsing; `read` a file on its own thread; `join` lines matched by key.
//! - `kind` the ways in which trajectories can differ; `steps` the rules; `tell` what it was, for examples.
//! - `records` what is done with a pair; `change` examples with their texts; `tally` counts by cell;
//!   `significance` the paired tests.
//! - `files` which plane-1 files differ.
//!
//! Memory: a few blocks, and up to 8 MB a run to find keys that stand twice. Beyond that it grows
//! with differences only: 18 bytes for a sample with another trajectory, up to 300 for one that has
//! moved to another place or is on one side only.

mod change;
mod class;
mod classify;
mod error;
mod files;
pub mod format;
mod gate;
mod join;
mod kind;
mod read;
mod records;
#[cfg(test)]
mod sample;
mod scan;
mod significance;
mod steps;
mod tally;
mod tell;

use std::collections::BTreeMap;

use proofmark_canon::RunId;
use schemars::JsonSchema;
use serde::Serialize;

pub use change::{Change, Excerpt, Keep, Sample, TrajectoryChange, TrajectoryDifference};
pub use class::{Class, ClassCounts, ClassError};
pub use error::DiffError;
pub use files::{FileDifference, FileSide};
pub use gate::{Gate, GateError, GateFailure, Gates, gate};
pub use kind::TrajectoryKind;
pub use significance::Significance;
pub use tally::{CellDifference, CellSide};

use crate::store::{RunDir, names};

/// How to compare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Values of a score that are no further apart are the same.
    pub tolerance: f64,
    pub keep: Keep,
    /// How many bytes of each text are kept.
    pub excerpt_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { tolerance: 0.0, keep: Keep::First(20), excerpt_bytes: 16 * 1024 }
    }
}

/// What two runs have in common and what not. A is the base, B the head.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub a: RunSide,
    pub b: RunSide,
    /// In the order of A's suite, then of B's.
    pub cells: Vec<CellDifference>,
    /// Samples in at least one class.
    pub changed: u64,
    /// Examples, as many as were to be kept: in the order of A's records, then those only in B.
    pub changes: Vec<Change>,
    pub counts: ClassCounts,
    /// Plane-1 files that are not the same byte for byte.
    pub files: Vec<FileDifference>,
    /// Whether all plane-1 files are the same byte for byte.
    pub identical: bool,
    /// Improvements whose sample was not asked the same in both runs.
    pub improvements_with_other_input: u64,
    /// Samples that both runs have.
    pub matched: u64,
    /// Regressions whose sample was not asked the same in both runs.
    pub regressions_with_other_input: u64,
    pub significance: Significance,
    pub trajectories: Trajectories,
    /// Of the samples in `trajectory_changed`, how many differ in each kind. A sample counts once in each of its kinds.
    pub trajectory_kinds: BTreeMap<String, u64>,
    /// Matched samples in no class.
    pub unchanged: u64,
    /// What a reader should know before trusting the rest.
    pub warnings: Vec<String>,
}

/// One of the two runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSide {
    /// The suite's name.
    pub name: String,
    /// Samples whose first scorer passed.
    pub passed: u64,
    /// The directory as it was given.
    pub path: String,
    pub record_count: u64,
    #[schemars(with = "String")]
    pub run_id: RunId,
    /// Samples that have a score.
    pub scored: u64,
}

/// Whether trajectories could be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trajectories {
    Compared,
    /// Recorded in A only, so that they say nothing.
    OnlyInA,
    OnlyInB,
    NotRecorded,
}

/// Compares two runs.
pub fn diff(a: &RunDir, b: &RunDir, options: &Options) -> Result<Comparison, DiffError> {
    let recorded = |run: &RunDir| run.manifest().evidence.recorded;
    let trajectories = match (recorded(a), recorded(b)) {
        (true, true) => Trajectories::Compared,
        (true, false) => Trajectories::OnlyInA,
        (false, true) => Trajectories::OnlyInB,
        (false, false) => Trajectories::NotRecorded,
    };
    let (mut other_trajectories, mut same_trajectories) = (records::OtherTrajectories::new(), None);
    if trajectories == Trajectories::Compared {
        let joined = records::compare_trajectories(a, b, &mut other_trajectories)?;
        same_trajectories = Some(joined.identical);
    }
    let mut found = records::compare_records(a, b, other_trajectories, options)?;
    if trajectories == Trajectories::Compared {
        tell::tell(a, b, &mut found.changes)?;
    }

    let (mut files, mut warnings) = (Vec::new(), Vec::new());
    for name in names::PLANE_1 {
        let known = match name {
            names::RECORDS => Some(found.identical),
            names::TRAJECTORIES => same_trajectories,
            _ => None,
        };
        let difference = files::compare(name, a, b, known)?;
        warnings.extend(files::contradiction(name, a, b, difference.is_some()));
        files.extend(difference);
    }

    let side = |run: &RunDir, of: fn(&CellDifference) -> &CellSide| RunSide {
        name: run.manifest().name.clone(),
        passed: found.cells.iter().map(|cell| of(cell).passed).sum(),
        path: run.path().display().to_string(),
        record_count: run.manifest().record_count,
        run_id: run.manifest().run_id,
        scored: found.cells.iter().map(|cell| of(cell).scored).sum(),
    };
    Ok(Comparison {
        a: side(a, |cell| &cell.a),
        b: side(b, |cell| &cell.b),
        changed: found.changed,
        changes: found.changes,
        counts: found.counts,
        identical: files.is_empty(),
        files,
        improvements_with_other_input: found.improvements_with_other_input,
        matched: found.cells.iter().map(|cell| cell.matched).sum(),
        regressions_with_other_input: found.regressions_with_other_input,
        significance: found.significance,
        trajectories,
        trajectory_kinds: found.trajectory_kinds,
        unchanged: found.cells.iter().map(|cell| cell.unchanged).sum(),
        cells: found.cells,
        warnings,
    })
}

/// The text of a canonical string; what is none comes as it is.
fn text_of(canonical: &[u8]) -> String {
    match proofmark_canon::json::parse(canonical) {
        Ok(proofmark_canon::Value::String(text)) => text,
        _ => String::from_utf8_lossy(canonical).into_owned(),
    }
}
