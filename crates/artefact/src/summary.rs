//! `summary.json`: the numbers people read, each with its interval.

use std::collections::BTreeMap;

use proofmark_canon::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Usage;

/// The version of the summary's shape.
pub const SUMMARY_SCHEMA: u32 = 1;

/// Aggregates of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Which models the providers say have answered; absent when none says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered_by: Vec<AnsweredBy>,
    /// Task × model × condition × scorer, in the suite's order.
    pub cells: Vec<Cell>,
    /// Each condition against the suite's first one, item by item.
    pub comparisons: Vec<Comparison>,
    /// What judges did; absent when the suite has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judging: Option<Judging>,
    /// Model × condition over all tasks, by each task's first scorer: the headline table.
    pub models: Vec<ModelRow>,
    pub name: String,
    #[schemars(with = "String")]
    pub run_id: RunId,
    /// What must be disclosed with the numbers; absent when there were no agents, no votes, no GAIA and no named split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Disclosed>,
    pub schema_version: u32,
    /// Task over all models and conditions, by the task's first scorer.
    pub tasks: Vec<TaskRow>,
    pub totals: Totals,
}

/// What must be disclosed with the numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disclosed {
    /// By task: the split of its dataset, null when nobody named one.
    pub splits: BTreeMap<String, Option<String>>,
    pub voting_attempts: u32,
}

/// What judges did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judging {
    /// Verdicts that not all opinions share.
    pub dissent: u64,
    /// In the suite's order.
    pub judges: Vec<JudgeRow>,
    pub stages: Stages,
}

/// How many verdicts of judge scorers were decided by what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stages {
    /// There was no answer.
    pub empty: u64,
    /// The answer was the target.
    pub exact: u64,
    /// By the judges.
    pub judge: u64,
    /// The answer was the target but for case, punctuation and white space.
    pub normalised: u64,
}

/// One judge's work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeRow {
    /// In US dollars, as if nothing had been known before; null when its price is not known.
    pub cost_usd: Option<f64>,
    /// The judge's id in the suite.
    pub id: String,
    pub opinions: u64,
    pub usage: Usage,
}

/// A model as its provider names it in replies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnsweredBy {
    /// The model's id in the suite.
    pub model: String,
    /// The name that came back.
    pub name: String,
    pub samples: u64,
}

/// How many samples came to what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    pub attempted: u64,
    /// Without an answer, or with one that could not be scored.
    pub errored: u64,
    pub passed: u64,
    pub scored: u64,
}

impl Counts {
    /// Samples with an answer that nobody has a gold answer for: neither errored nor scored.
    pub fn unscored(&self) -> u64 {
        self.attempted.saturating_sub(self.errored).saturating_sub(self.scored)
    }
}

/// A mean over items and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    pub interval: Interval,
    /// Items that have at least one scored sample: the independent units behind the interval.
    pub items: u64,
    /// The mean over items of each item's mean over its scored samples.
    pub mean: f64,
}

/// A confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    pub high: f64,
    /// Coverage, 0.95.
    pub level: f64,
    pub low: f64,
    pub method: Method,
}

/// How an interval was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Wilson score interval: pass or fail with one sample an item, fewer than 10 items, or items that are all alike.
    Wilson,
    /// Percentile bootstrap over items, from a seed that the run fixes.
    Bootstrap,
    /// Normal approximation over items, where they are too many for resampling to differ.
    Normal,
}

/// One task × model × condition × scorer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    pub condition: String,
    /// Absent when the model's price is not known. Tokens from a provider's cache count in full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    pub counts: Counts,
    /// Null when nothing was scored.
    pub estimate: Option<Estimate>,
    pub model: String,
    /// Whether this is the task's first scorer.
    pub primary: bool,
    pub scorer: String,
    pub task: String,
    pub usage: Usage,
}

/// One row of the headline table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelRow {
    pub condition: String,
    /// Absent when the model's price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    pub counts: Counts,
    pub estimate: Option<Estimate>,
    pub model: String,
    pub usage: Usage,
}

/// One task over all models and conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRow {
    pub counts: Counts,
    pub estimate: Option<Estimate>,
    pub task: String,
}

/// A condition against the baseline, paired by item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The suite's first condition.
    pub baseline: String,
    pub condition: String,
    /// Mean of (condition − baseline) over items that both answered.
    pub difference: f64,
    pub interval: Interval,
    pub items: u64,
    /// Items on which the condition scored lower.
    pub losses: u64,
    pub model: String,
    /// Null for all tasks together.
    pub task: Option<String>,
    pub ties: u64,
    /// Items on which the condition scored higher.
    pub wins: u64,
}

/// The whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Null unless the price of every model is known.
    pub cost_usd: Option<f64>,
    pub counts: Counts,
    pub items: u64,
    pub usage: Usage,
}
