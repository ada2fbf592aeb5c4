//! The shape of `report.replay.json`.
//!
//! Unknown fields are ignored on reading: a field may be added without a new version, and a reader of today must not
//! stumble over one of tomorrow. What is removed, renamed or given another meaning is a new version.

use std::collections::BTreeMap;

use proofmark_canon::{Digest, RunId, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::HashMode;

/// The version of the block's shape.
pub const REPLAY_SCHEMA: u32 = 1;

/// What a run ate, what it was told and what it left: the witness of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// The command as it was typed, without secrets and without paths outside the root. Empty when backfilled.
    pub argv: Vec<String>,
    /// Every other file of the run by its name in the run directory, with the digest of its bytes.
    #[schemars(with = "BTreeMap<String, String>")]
    pub artifacts: BTreeMap<String, Digest>,
    /// True when the block was reconstructed later; absent otherwise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub backfilled: bool,
    pub conditions: Conditions,
    /// Whether the work tree differed from the commit before the run started; null when that is not known, or there is
    /// no commit.
    pub git_dirty: Option<bool>,
    /// Every file the run read, the suite first.
    pub inputs: Vec<Input>,
    /// Every start of a run that was interrupted and resumed, the first one included; absent otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invocations: Vec<Start>,
    /// When the run started, RFC 3339 in UTC, from this machine's clock. When backfilled, when the commit was made.
    pub invoked_at: String,
    /// Entries of the judge cache that were not what they should be.
    #[schemars(with = "Vec<std::collections::BTreeMap<String, serde_json::Value>>")]
    pub judge_cache_integrity_events: Vec<Value>,
    pub kind: Kind,
    pub models: Vec<ModelEntry>,
    /// Why the run cannot be submitted; absent when it can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_submittable: Vec<String>,
    /// Operating system and processor, such as `linux-x86_64`; `unknown` when backfilled.
    pub platform: String,
    /// Of the program that started the run; `unknown` when backfilled.
    pub proofmark_version: String,
    /// The commit of the repository that holds the suite, before the run started; null outside of one.
    pub repo_commit: Option<String>,
    /// True when the run was interrupted and resumed; absent otherwise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub resumed: bool,
    /// The way from the folder of this file to the root, such as `../..`; null when that would say something about
    /// the machine.
    pub root: Option<String>,
    /// Where the root is in the repository that holds it, `.` for its top; null outside of one.
    #[serde(default)]
    pub root_in_repo: Option<String>,
    /// As in the manifest; absent when backfilled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub run_id: Option<RunId>,
    pub sampling: Sampling,
    pub schema_version: u32,
    /// Whether the evidence that a submission needs was recorded.
    pub submittable: bool,
    pub suite: SuiteEntry,
    /// What the run was made with; `unknown` when backfilled.
    pub toolchain: String,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Models were asked for texts.
    EvalLive,
    /// Answers that were there already were scored.
    Critique,
    /// At least one model was asked for pictures.
    EvalImage,
}

/// The suite that was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteEntry {
    #[schemars(with = "String")]
    pub hash: Digest,
    pub mode: HashMode,
    /// Relative to the root; null when the suite is not under it.
    #[schemars(regex(pattern = PATH))]
    pub path: Option<String>,
}

/// Something the run read: a file under the root, or a dataset of the hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// For a dataset of the hub, the files that were read; absent otherwise. Its canonical JSON is what was hashed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<HubFile>,
    #[schemars(with = "String")]
    pub hash: Digest,
    pub mode: HashMode,
    /// Relative to the root; `owner/name@commit` for a dataset of the hub; null for a suite that is not under it.
    #[schemars(regex(pattern = PATH))]
    pub path: Option<String>,
    /// `owner/name` of a dataset of the hub; absent for a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The commit of a dataset of the hub; absent for a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    pub role: Role,
}

/// What an input is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Suite,
    Dataset,
    /// A file that rows name, sent with their prompt.
    Attachment,
    Brief,
    /// How far a judge agrees with people.
    Calibration,
    Model,
    /// Answers that were there already and were scored.
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

/// One file of a dataset of the hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HubFile {
    /// In the hub's repository.
    pub path: String,
    /// 64 hex digits.
    pub sha256: String,
}

/// Which arms were asked for, and which really produced scored samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    pub effective: Vec<String>,
    pub requested: Vec<String>,
}

/// How answers were drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sampling {
    pub n: u32,
    /// The suite's; each sample's own is derived from it and stands in its record. Null when backfilled.
    pub seed: Option<u64>,
    /// Null when it is not set (the provider's default), and when backfilled.
    pub temperature: Option<f64>,
}

/// One model, and how its provider names the calls that it answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelEntry {
    /// The names under which the provider answered, where it gives one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered_by: Vec<String>,
    /// The model that a program was told to use; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Where it was asked, without user and query; absent for offline models and programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    pub id: String,
    /// `provider:model-id`, as the suite says it.
    pub model: String,
    /// The program of a `command` model; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    pub provider: String,
    /// One for each successful call whose provider gave one, in record order. Empty for programs: there is no HTTP
    /// envelope to read.
    pub provider_request_ids: Vec<String>,
    /// What the program says its version is; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// One start of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Start {
    pub argv: Vec<String>,
    pub git_dirty: Option<bool>,
    pub invoked_at: String,
    pub proofmark_version: String,
    pub repo_commit: Option<String>,
}

/// Relative, and without a step upwards.
const PATH: &str = r"^(?!/)(?!(.*/)?\.\.(/|$))";

fn is_false(value: &bool) -> bool {
    !value
}
