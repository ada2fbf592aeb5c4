//! `metadata.json`: what was run, with what and at what cost, for whoever lists results.

use std::collections::BTreeMap;

use proofmark_canon::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::predicate::{Allowance, Inputs};
use crate::manifest::{Conditions, DatasetEntry, Harness, ModelEntry, Sampling, ToolEntry};
use crate::record::Usage;
use crate::summary::{AnsweredBy, Counts};

pub const METADATA_FORMAT: &str = "proofmark.package-metadata";
pub const METADATA_VERSION: u32 = 1;

/// What a package is about. Everything in it follows from the files of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// What was known to be wrong and was let pass.
    pub allowances: Vec<Allowance>,
    /// Which models the providers say have answered.
    pub answered_by: Vec<AnsweredBy>,
    pub conditions: Conditions,
    /// In US dollars; null unless the price of every model is known.
    pub cost_usd: Option<f64>,
    pub counts: Counts,
    /// As they were read, with their digests and revisions.
    pub datasets: Vec<DatasetEntry>,
    /// Always `proofmark.package-metadata`.
    #[schemars(regex(pattern = r"^proofmark\.package-metadata$"))]
    pub format: String,
    /// The split of GAIA's questions; null when the suite has none of them, or of several splits.
    pub gaia_split: Option<String>,
    pub git: GitEntry,
    /// The program that made the run.
    pub harness: Harness,
    pub inputs: Inputs,
    /// When the run was started, by the clock of its machine.
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$"))]
    pub invoked_at: String,
    /// Models that judged answers.
    pub judges: Vec<ModelEntry>,
    pub models: Vec<ModelEntry>,
    /// What the submitter calls it; null when that was not said.
    pub name: Option<String>,
    /// Whether the run was interrupted and gone on with.
    pub resumed: bool,
    #[schemars(with = "String")]
    pub run_id: RunId,
    pub sampling: Sampling,
    /// The program that made the package.
    pub sealed_with: Harness,
    /// The suite's name.
    pub suite: String,
    /// By task: everything that agents were told they could do.
    pub tools: BTreeMap<String, Vec<ToolEntry>>,
    pub usage: Usage,
    /// Always 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    /// Attempts at each sample, of which one answer was chosen.
    pub voting_attempts: u32,
}

/// The repository that held the suite when the run was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitEntry {
    /// Null outside of a repository.
    pub commit: Option<String>,
    /// Whether the work tree differed from the commit; null when that is not known.
    pub dirty: Option<bool>,
}
