//! A suite with every default made explicit: what is run, hashed and written to `config.resolved.yaml`.
//!
//! A plan's canonical JSON is itself a valid suite. Reading it back gives the same plan, so that
//! running `config.resolved.yaml` gives the same `run_id`.

use std::collections::BTreeMap;

use proofmark_canon::{Digest, Map, Value};
use serde::Serialize;

use super::config::{Api, Format, Group, Limits, OnBadRow, OutputKind, Price, Runner, Take, Tie};
use super::judge::JudgePlan;
use super::solver::SolverPlan;
use super::text::{PromptSource, TextSource};
use crate::audit::policy::PolicyConfig;
use crate::path::RelPath;
use crate::picture;

/// Written as `resolved:`, and refused when it names another version.
pub const RESOLVED_MARK: &str = "proofmark.suite/1";

/// Everything a run does, before anything is done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    pub resolved: &'static str,
    pub name: String,
    pub description: Option<String>,
    pub seed: u64,
    pub sampling: SamplingPlan,
    pub models: Vec<ModelPlan>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<ModelPlan>,
    /// A folder, or `off`. Not part of the run's identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_cache: Option<String>,
    pub conditions: Vec<ConditionPlan>,
    pub tasks: Vec<TaskPlan>,
    pub determinism: DeterminismPlan,
    pub evidence: EvidencePlan,
    /// Not part of the run's identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Not part of the run's identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<PolicyConfig>,
}

impl Plan {
    /// Whether its numbers come with how they were had: those of agents and of votes, those of GAIA, one of whose splits is
    /// public, and those of any dataset whose split is named.
    pub fn discloses(&self) -> bool {
        let must_be = |task: &TaskPlan| {
            task.solver.is_some() || task.dataset.format == Format::Gaia || task.dataset.split.is_some()
        };
        self.sampling.voting_attempts > 1 || self.tasks.iter().any(must_be)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SamplingPlan {
    pub n: u32,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub max_tokens: Option<u32>,
    pub stop: Option<Vec<String>>,
    /// Left out when it is 1: a suite without it keeps its run id.
    #[serde(skip_serializing_if = "is_one")]
    pub voting_attempts: u32,
    #[serde(skip_serializing_if = "is_first")]
    pub voting_tie: Tie,
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

fn is_first(tie: &Tie) -> bool {
    *tie == Tie::First
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelPlan {
    pub id: String,
    /// `provider:model-id`.
    pub model: String,
    pub params: Map,
    // What only some models have is left out when it is not there: a suite without it keeps its run id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<Api>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Runner>,
    /// Not part of the run's identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Not part of the run's identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

impl ModelPlan {
    /// A model that says nothing but its name.
    pub fn named(id: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            model: model.into(),
            params: Map::new(),
            base_url: None,
            api: None,
            api_key_env: None,
            headers: BTreeMap::new(),
            output: None,
            command: None,
            price: None,
            limits: None,
        }
    }

    /// Whether the model makes pictures.
    pub fn makes_images(&self) -> bool {
        self.output == Some(OutputKind::Image)
    }

    /// The part before the first colon.
    pub fn provider(&self) -> &str {
        self.model.split_once(':').map_or(self.model.as_str(), |(provider, _)| provider)
    }

    /// The part after the first colon.
    pub fn model_id(&self) -> &str {
        self.model.split_once(':').map_or("", |(_, id)| id)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionPlan {
    pub id: String,
    pub system: Option<TextSource>,
    pub prompt: Option<PromptSource>,
    pub params: Map,
    pub token: Option<RelPath>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskPlan {
    pub id: String,
    pub dataset: DatasetPlan,
    pub brief: Option<RelPath>,
    pub prompt: PromptSource,
    pub system: Option<TextSource>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolPlan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solver: Option<SolverPlan>,
    pub scorers: Vec<ScorerPlan>,
}

/// A tool with every default filled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolPlan {
    pub name: String,
    pub description: String,
    /// A JSON Schema.
    pub parameters: Map,
}

/// Where rows come from. Fields that do not belong to the format are `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DatasetPlan {
    pub format: Format,
    pub path: Option<RelPath>,
    pub rows: Option<Vec<Value>>,
    pub repo: Option<String>,
    /// For `hf`: the commit that the revision named when the run was planned.
    pub revision: Option<String>,
    pub config: Option<String>,
    pub split: Option<String>,
    /// For `gaia`. Left out when all levels are wanted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub level: Vec<u32>,
    pub data_files: Option<Vec<String>>,
    /// What was read. `None` until the data has been read once; never `None` in a plan that runs.
    pub dataset_hash: Option<Digest>,
    pub id: Option<String>,
    pub input: Option<String>,
    pub target: Option<String>,
    pub choices: Option<String>,
    pub files: Vec<String>,
    pub metadata: Vec<String>,
    pub limit: Option<u64>,
    /// `None` for the file's order, otherwise the seed of the shuffle.
    pub shuffle: Option<u64>,
    pub on_bad_row: OnBadRow,
    pub delimiter: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DeterminismPlan {
    pub strict_serialization: bool,
    pub deterministic_artifacts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EvidencePlan {
    pub record: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub full_bodies: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A scorer with every default filled.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ScorerPlan {
    Exact {
        name: String,
        ignore_case: bool,
        trim: bool,
        ignore_punctuation: bool,
    },
    Includes {
        name: String,
        ignore_case: bool,
    },
    Regex {
        name: String,
        pattern: String,
        group: Option<Group>,
        take: Take,
        ignore_case: bool,
    },
    Numeric {
        name: String,
        tolerance: f64,
        relative_tolerance: f64,
        take: Take,
    },
    Choice {
        name: String,
    },
    Set {
        name: String,
        separator: Option<String>,
        ignore_case: bool,
        threshold: f64,
    },
    JsonSchema {
        name: String,
        schema: Option<Value>,
        file: Option<RelPath>,
        match_target: bool,
    },
    Gaia {
        name: String,
    },
    Image {
        name: String,
        format: Option<picture::Format>,
        width: Option<u32>,
        height: Option<u32>,
        min_width: Option<u32>,
        min_height: Option<u32>,
        max_bytes: Option<u64>,
        aspect_ratio: Option<String>,
    },
    ImageHash {
        name: String,
        max_distance: u32,
    },
    Command {
        name: String,
        command: Vec<String>,
        timeout: f64,
        files: Vec<RelPath>,
    },
    Judge(Box<JudgePlan>),
}

impl ScorerPlan {
    pub fn name(&self) -> &str {
        match self {
            Self::Exact { name, .. }
            | Self::Includes { name, .. }
            | Self::Regex { name, .. }
            | Self::Numeric { name, .. }
            | Self::Choice { name }
            | Self::Set { name, .. }
            | Self::JsonSchema { name, .. }
            | Self::Gaia { name }
            | Self::Image { name, .. }
            | Self::ImageHash { name, .. }
            | Self::Command { name, .. } => name,
            Self::Judge(plan) => &plan.name,
        }
    }
}
