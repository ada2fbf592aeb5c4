//! `manifest.json`: what a run directory holds and what it was made from.

use std::collections::BTreeMap;

use proofmark_canon::{Digest, Map, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answerer::{Answerer, answerer};
use crate::record::Never;
use crate::suite::judge::JudgeMode;
use crate::suite::solver::{Protocol, SandboxKind};

/// The version of the manifest's shape.
pub const MANIFEST_SCHEMA: u32 = 1;

/// Binds the files of a run together. It is written last: a directory that has one is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Every other plane-1 file by name, with the digest of its bytes.
    #[schemars(with = "BTreeMap<String, String>")]
    pub artifacts: BTreeMap<String, Digest>,
    /// Every file the suite names besides its datasets. With the resolved suite and the digests of
    /// the datasets they give the run id.
    pub assets: Vec<AssetEntry>,
    /// Always null: the command line is witness, not canon.
    pub command: Option<Never>,
    pub conditions: Conditions,
    /// A moment on the time spine, never a clock's.
    pub created_at: String,
    pub datasets: Vec<DatasetEntry>,
    pub determinism: Determinism,
    pub evidence: Evidence,
    pub harness: Harness,
    /// Models that judged answers; absent when there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<ModelEntry>,
    pub models: Vec<ModelEntry>,
    /// The suite's name.
    pub name: String,
    /// Null unless `determinism.deterministic_artifacts` is off.
    pub platform: Option<Platform>,
    pub record_count: u64,
    pub records_file: String,
    #[schemars(with = "String")]
    pub run_id: RunId,
    pub sampling: Sampling,
    pub schema_version: u32,
    pub status_counts: BTreeMap<String, u64>,
    /// The suite's tasks in order, with the scorers whose verdicts the records hold.
    pub tasks: Vec<TaskEntry>,
    /// The version of Unicode behind case folding and normalisation.
    pub unicode_version: String,
}

/// One file that the suite names: a prompt, a brief, a token, a schema, a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssetEntry {
    #[schemars(with = "String")]
    pub digest: Digest,
    pub mode: HashMode,
    /// Relative to the suite's root.
    pub path: String,
    pub role: AssetRole,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssetRole {
    /// A file that rows name, sent with their prompt.
    Attachment,
    Brief,
    /// How far a judge agrees with people.
    Calibration,
    Model,
    /// Answers that were there already and are scored. Their path is a name alone: where they are does not count.
    Outputs,
    Prompt,
    /// What a judge goes by.
    Rubric,
    Scorer,
    System,
    Token,
    /// A file of an MCP server's program.
    Tool,
}

/// How a file was hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HashMode {
    /// The exact bytes.
    Raw,
    /// The canonical JSON of the parsed value: comments, white space and key order do not matter.
    Structured,
}

/// Which arms were asked for, and which really produced scored samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    pub effective: Vec<String>,
    pub requested: Vec<String>,
}

/// One dataset as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasetEntry {
    #[schemars(with = "String")]
    pub digest: Digest,
    pub format: String,
    /// Relative to the suite's root; null for inline rows and hub datasets.
    pub path: Option<String>,
    pub repo: Option<String>,
    pub revision: Option<String>,
    /// Rows that became items.
    pub rows: u64,
    /// Rows left out because they were bad and the suite said `on_bad_row: skip`.
    pub rows_skipped: u64,
    pub split: Option<String>,
    pub task: String,
}

/// What was asked of determinism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Determinism {
    pub deterministic_artifacts: bool,
    pub strict_serialization: bool,
}

/// Whether trajectories were recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    pub full_bodies: bool,
    pub recorded: bool,
}

/// The program that made the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Harness {
    pub name: String,
    pub version: String,
}

/// One model as the suite names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// The model that a program was told to use; absent when it was told none, and for models that are no programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    pub id: String,
    /// `provider:model-id`.
    pub model: String,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub params: Map,
    /// What its tokens cost; absent when that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceEntry>,
    pub provider: String,
    /// What became of the samples' seeds; absent for models that are not asked over a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<SeedUse>,
}

impl ModelEntry {
    /// What was asked for, as the suite says it; for a program the model that it was told to use, where there is one.
    pub fn asked_for(&self) -> &str {
        self.asked.as_deref().unwrap_or(&self.model)
    }

    /// Whether a name that came back is the model that was asked for.
    pub fn answerer(&self, name: &str) -> Answerer {
        answerer(&self.model, self.asked.as_deref(), name)
    }
}

/// US dollars a million tokens, and where they come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceEntry {
    /// The day on which the table was true; null for prices that the suite gives.
    pub as_of: Option<String>,
    pub input: f64,
    pub output: f64,
}

impl PriceEntry {
    /// What tokens cost, in US dollars.
    pub fn cost(&self, usage: crate::record::Usage) -> f64 {
        (usage.input_tokens as f64 * self.input + usage.output_tokens as f64 * self.output) / 1e6
    }
}

/// What became of the samples' seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeedUse {
    /// They went out with the requests.
    Sent,
    /// The provider has no place for one: samples are not tied to their seeds.
    Ignored,
    /// The suite says not to send them.
    Withheld,
}

/// The host, for people who asked to have it recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    pub arch: String,
    pub os: String,
}

/// How answers were drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    pub n: u32,
    pub seed: u64,
    pub temperature: Option<f64>,
    /// Attempts at each sample, of which one answer was chosen. Null: a single question, asked once.
    pub voting_attempts: Option<u32>,
}

/// One task and its scorers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskEntry {
    /// How an agent worked at it; absent when a single question was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentEntry>,
    pub id: String,
    pub items: u64,
    /// Scorers that ask judges; absent when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<JudgedScorer>,
    /// Names in the order in which records hold their scores; the first one is the headline.
    pub scorers: Vec<String>,
}

/// A scorer that asks judges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgedScorer {
    /// What is known of its agreement with people; null when nothing is.
    pub calibration: Option<CalibrationNote>,
    /// Ids of the judges.
    pub judges: Vec<String>,
    pub mode: JudgeMode,
    /// Digest of the rubric's text.
    #[schemars(with = "String")]
    pub rubric: Digest,
    pub scorer: String,
    pub votes: u32,
}

/// What a calibration says of a judge scorer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrationNote {
    /// Of the calibration's file.
    #[schemars(with = "String")]
    pub digest: Digest,
    /// Whether it is of this judge, rubric and form.
    pub fits: bool,
    /// In one line; why it does not fit, when it does not.
    pub text: String,
}

/// How an agent worked at a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentEntry {
    pub protocol: Protocol,
    /// Everything the model was told that it could do, in the order in which it was told.
    pub tools: Vec<ToolEntry>,
}

/// A tool as the model was told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolEntry {
    pub description: String,
    pub name: String,
    /// A JSON Schema of the arguments.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub parameters: Map,
    /// What confined the program behind it; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxKind>,
    /// The MCP server that has it; absent for our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}
