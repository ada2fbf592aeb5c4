//! The comparison as one stable JSON document.

use std::collections::BTreeMap;

use proofmark_canon::json::EncodeError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::diff::{
    CellDifference, Change, ClassCounts, Comparison, FileDifference, GateFailure, RunSide, Significance, Trajectories,
};

/// The version of the document's shape.
pub const DIFF_SCHEMA: u32 = 1;

/// What `diff --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Diff")]
pub struct Document<'a> {
    /// The base.
    pub a: &'a RunSide,
    /// The head.
    pub b: &'a RunSide,
    /// Task × model × condition, in the order of A's suite, then of B's.
    pub cells: &'a [CellDifference],
    /// Samples in at least one class.
    pub changed: u64,
    /// Examples: the first ones of each class, in the order of A's records, then those only in B.
    pub changes: &'a [Change],
    pub counts: &'a ClassCounts,
    /// Plane-1 files that are not the same byte for byte.
    pub files: &'a [FileDifference],
    /// Gates that did not hold.
    pub gates: &'a [GateFailure],
    /// Whether all plane-1 files are the same byte for byte.
    pub identical: bool,
    /// Improvements whose sample was not asked the same in both runs.
    pub improvements_with_other_input: u64,
    /// Samples that both runs have.
    pub matched: u64,
    /// Regressions whose sample was not asked the same in both runs.
    pub regressions_with_other_input: u64,
    pub schema_version: u32,
    pub significance: &'a Significance,
    pub trajectories: Trajectories,
    /// Of the samples in `trajectory_changed`, how many differ in each kind. A sample counts once in each of its kinds.
    pub trajectory_kinds: &'a BTreeMap<String, u64>,
    /// Matched samples in no class.
    pub unchanged: u64,
    /// What a reader should know before trusting the rest.
    pub warnings: &'a [String],
}

impl<'a> Document<'a> {
    pub fn new(comparison: &'a Comparison, failures: &'a [GateFailure]) -> Self {
        Self {
            a: &comparison.a,
            b: &comparison.b,
            cells: &comparison.cells,
            changed: comparison.changed,
            changes: &comparison.changes,
            counts: &comparison.counts,
            files: &comparison.files,
            gates: failures,
            identical: comparison.identical,
            improvements_with_other_input: comparison.improvements_with_other_input,
            matched: comparison.matched,
            regressions_with_other_input: comparison.regressions_with_other_input,
            schema_version: DIFF_SCHEMA,
            significance: &comparison.significance,
            trajectories: comparison.trajectories,
            trajectory_kinds: &comparison.trajectory_kinds,
            unchanged: comparison.unchanged,
            warnings: &comparison.warnings,
        }
    }
}

/// Returns the canonical text of the document and a line end.
pub fn json(comparison: &Comparison, failures: &[GateFailure]) -> Result<String, EncodeError> {
    let mut bytes = proofmark_canon::to_vec(&Document::new(comparison, failures))?;
    bytes.push(b'\n');
    // Canonical text is UTF-8: nothing is lost.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
