//! A suite as a person writes it.
//!
//! Options are options here, and nothing has been looked up yet. [`super::resolve`] turns it to a
//! [`super::plan::Plan`], which is what can be run and hashed.

use proofmark_canon::{Digest, Map, Value};
use schemars::JsonSchema;
use serde::Deserialize;

use super::judge::{JudgeMode, ScoreRange};
use super::solver::Solver;
use super::text::{PromptSource, TextSource};
use crate::audit::policy::PolicyConfig;
use crate::path::RelPath;
use crate::picture;

/// A Proofmark suite: which models answer which tasks, under which conditions, and how answers are scored.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Marks a suite whose defaults were made explicit by a run; do not write it by hand.
    #[serde(default)]
    pub resolved: Option<String>,
    /// Names the suite in reports and run directories.
    pub name: String,
    /// One line for readers of the report.
    #[serde(default)]
    pub description: Option<String>,
    /// Every sample's seed is derived from this one. Default: 0.
    #[serde(default)]
    pub seed: Option<u64>,
    #[serde(default)]
    pub sampling: Option<Sampling>,
    #[schemars(length(min = 1))]
    pub models: Vec<Model>,
    /// Models that judge answers; `judge` scorers name them by id.
    #[serde(default)]
    pub judges: Option<Vec<Model>>,
    /// Where judgments are kept: a folder, relative to the suite's or absolute, or `off`. Default: the user's cache.
    #[serde(default)]
    pub judge_cache: Option<String>,
    /// Named prompt arms. Default: one, called `default`, that changes nothing.
    #[serde(default)]
    pub conditions: Option<Conditions>,
    #[schemars(length(min = 1))]
    pub tasks: Vec<Task>,
    #[serde(default)]
    pub determinism: Option<Determinism>,
    #[serde(default)]
    pub evidence: Option<Evidence>,
    /// Manners towards every endpoint.
    #[serde(default)]
    pub limits: Option<Limits>,
    /// What the checks of `proofmark audit` weigh; `--policy` wins over it.
    #[serde(default)]
    pub audit: Option<PolicyConfig>,
}

/// How answers are drawn from every model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Samples for each item, model and condition. Default: 1.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10000))]
    pub n: Option<u32>,
    /// Sent to the model when set; the provider's default otherwise.
    #[serde(default)]
    pub temperature: Option<f64>,
    #[serde(default)]
    pub top_p: Option<f64>,
    /// The most tokens an answer may have.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// The model stops before it writes one of these.
    #[serde(default)]
    pub stop: Option<Vec<String>>,
    /// Attempts at each sample, of which the answer that most of them give counts. Default: 1.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100))]
    pub voting_attempts: Option<u32>,
    /// Whose answer counts when several answers have equally many votes. Default: `first`.
    #[serde(default)]
    pub voting_tie: Option<Tie>,
}

/// Whose answer counts when several answers have equally many votes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tie {
    /// The one that was given first.
    #[default]
    First,
    /// The one that was given last.
    Last,
    /// Nobody's: the sample has no answer.
    NoAnswer,
}

/// One model through one serving path.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Names the model in keys and tables. 1 to 128 letters, digits and `-_.:/@+`.
    pub id: String,
    /// `provider:model-id`, for example `offline:noisy`.
    pub model: String,
    /// Parameters of this model; they win over `sampling`.
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub params: Option<Map>,
    /// Where the API is, when it is not where the provider's preset says: `http://localhost:8000/v1`.
    #[serde(default)]
    pub base_url: Option<String>,
    /// Which API of the provider is spoken, where there are two. Default: `chat`.
    #[serde(default)]
    pub api: Option<Api>,
    /// The environment variable that holds the key, when it is not the provider's usual one. Its name must end in
    /// `_API_KEY` or `_API_TOKEN`. The same name with `_FILE` at its end may name a file that only you can read.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// Further HTTP headers, such as `api-version`. A key does not belong here.
    #[serde(default)]
    pub headers: Option<std::collections::BTreeMap<String, String>>,
    /// What the model makes. Default: `text`.
    #[serde(default)]
    pub output: Option<OutputKind>,
    /// The program behind a `command:` model.
    #[serde(default)]
    pub command: Option<Runner>,
    /// US dollars a million tokens; wins over the built-in table.
    #[serde(default)]
    pub price: Option<Price>,
    /// Manners towards this model's endpoint; they win over the suite's.
    #[serde(default)]
    pub limits: Option<Limits>,
}

/// Which API of a provider is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// OpenAI's Chat Completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
}

/// What a model makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputKind {
    Text,
    Image,
}

/// A program that answers: `command:claude-code` and its like need none of this, `command:anything` needs `run`.
#[derive(Debug, Clone, PartialEq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Runner {
    /// Program and arguments, no shell. `{prompt}` and `{system}` stand for the prompt's texts, `{model}` for the model
    /// that is asked for. Default: what the preset says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Vec<String>>,
    /// How the prompt is given. Default: `stdin`, unless an argument holds `{prompt}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptBy>,
    /// What the program writes to stdout. Default: `text`, or what the preset says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<RunnerOutput>,
    /// For `json`: where the answer is in the document, as a JSON pointer. Default: `/result`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// For `json`: where the name of the model that answered is, as a JSON pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_pointer: Option<String>,
    /// Which model the program is asked to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Environment variables that the program may see, besides PATH, HOME and LANG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<String>>,
    /// How the program's version is asked for. Default: `--version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Vec<String>>,
    /// Seconds until it is killed with everything it started. Default: 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
}

/// How a program is given its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptBy {
    Stdin,
    Argument,
}

/// What a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunnerOutput {
    /// All of stdout is the answer.
    Text,
    /// One JSON document.
    Json,
}

/// What tokens cost, in US dollars a million.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
}

/// How we behave towards an endpoint. Nothing of it is part of the run's identity: a run may be resumed with other limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Questions under way at once, at most. Default: `--concurrency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4096))]
    pub max_connections: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Input and output tokens together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
    /// Attempts after the first one. Default: 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 20))]
    pub max_retries: Option<u32>,
    /// Seconds until a connection must be there. Default: 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_timeout: Option<f64>,
    /// Seconds until the first byte of a reply must be there. Default: 300.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_timeout: Option<f64>,
    /// Seconds until the last byte of a reply must be there. Default: 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_timeout: Option<f64>,
}

/// A tool that a model may ask for. It is not run: the call itself is the answer.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// 1 to 64 letters, digits, `_` and `-`.
    pub name: String,
    #[serde(default)]
    pub description: Option<String>,
    /// A JSON Schema of the arguments. Default: no arguments.
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub parameters: Option<Map>,
}

/// A named prompt arm, so that one item is asked with and without an intervention.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The system prompt of this arm; it wins over the task's.
    #[serde(default)]
    pub system: Option<TextSource>,
    /// The prompt of this arm; it wins over the task's.
    #[serde(default)]
    pub prompt: Option<PromptSource>,
    /// Parameters of this arm; they win over the model's.
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub params: Option<Map>,
    /// A structured YAML file whose fields templates can use as `token.*`.
    #[serde(default)]
    pub token: Option<RelPath>,
}

/// A condition in a list, with its name.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedCondition {
    pub id: String,
    #[serde(default)]
    pub system: Option<TextSource>,
    #[serde(default)]
    pub prompt: Option<PromptSource>,
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub params: Option<Map>,
    #[serde(default)]
    pub token: Option<RelPath>,
}

/// Conditions in the order in which they are written: a mapping by name, or a list with `id`s.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conditions(pub Vec<(String, Condition)>);

/// A dataset, a prompt and the scorers of its answers.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Names the task in keys and tables. 1 to 128 letters, digits and `-_.:/@+`.
    pub id: String,
    pub dataset: Dataset,
    /// What is asked, as structured YAML (`brief.*` in templates) or plain markdown (`brief`).
    #[serde(default)]
    pub brief: Option<RelPath>,
    /// A strict template over the row's fields. Default: `{{ input }}`.
    #[serde(default)]
    pub prompt: Option<PromptSource>,
    #[serde(default)]
    pub system: Option<TextSource>,
    /// Tools that the model may ask for; a call of one is the answer.
    #[serde(default)]
    pub tools: Option<Vec<Tool>>,
    /// How answers are come by. Default: one question.
    #[serde(default)]
    pub solver: Option<Solver>,
    /// At least one; the first is the headline.
    #[schemars(length(min = 1))]
    pub scorers: Vec<Scorer>,
}

/// Where a task's rows come from and what their fields mean.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    pub format: Format,
    /// The file, for `jsonl`, `csv` and `parquet`; the folder that holds `2023/`, for `gaia`.
    #[serde(default)]
    pub path: Option<RelPath>,
    /// The rows themselves, for `inline`.
    #[serde(default)]
    #[schemars(with = "Option<Vec<serde_json::Map<String, serde_json::Value>>>")]
    pub rows: Option<Vec<Value>>,
    /// `owner/name` on the hub, for `hf` and `gaia`.
    #[serde(default)]
    pub repo: Option<String>,
    /// A commit, tag or branch on the hub. Required for `hf` unless `dataset_hash` is given or strictness is off.
    #[serde(default)]
    pub revision: Option<String>,
    /// The configuration (subset) on the hub. For `gaia`: `2023_all` or `2023_level1` to `2023_level3`. Default for
    /// `gaia`: `2023_all`.
    #[serde(default)]
    pub config: Option<String>,
    /// The split on the hub. Default: `test`; for `gaia` `validation`, because `test` has no gold answers.
    #[serde(default)]
    pub split: Option<String>,
    /// For `gaia`: only questions of these levels, from 1 to 3. Default: all.
    #[serde(default)]
    pub level: Option<Vec<u32>>,
    /// Files of the hub repository to read instead of those found by config and split.
    #[serde(default)]
    pub data_files: Option<Vec<String>>,
    /// Checked against what is read, never trusted.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub dataset_hash: Option<Digest>,
    /// The field that names a row. Default: the digest of the row.
    #[serde(default)]
    pub id: Option<String>,
    /// The field that templates see as `input`. Default: `input` when rows have it.
    #[serde(default)]
    pub input: Option<String>,
    /// The field that holds the gold answer; templates cannot see it. Default: `target` when rows have it.
    #[serde(default)]
    pub target: Option<String>,
    /// The field that holds a list of options. Default: `choices` when rows have it.
    #[serde(default)]
    pub choices: Option<String>,
    /// Fields that name attachments.
    #[serde(default)]
    pub files: Option<Vec<String>>,
    /// Fields that are carried along and shown, but not given to templates.
    #[serde(default)]
    pub metadata: Option<Vec<String>>,
    /// At most this many items, taken after the shuffle.
    #[serde(default)]
    pub limit: Option<u64>,
    /// Puts items in an order that the suite's seed (or this number) fixes. Default: the file's order.
    #[serde(default)]
    pub shuffle: Option<Shuffle>,
    /// What a malformed row does. Default: `fail`.
    #[serde(default)]
    pub on_bad_row: Option<OnBadRow>,
    /// The separator of a `csv` file. Default: `,`.
    #[serde(default)]
    pub delimiter: Option<String>,
}

/// How a dataset is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// One JSON object a line.
    Jsonl,
    /// A header line, then rows.
    Csv,
    Parquet,
    /// Rows in the suite itself.
    Inline,
    /// A dataset of the Hugging Face hub.
    Hf,
    /// GAIA in its published layout, in a folder or on the hub.
    Gaia,
}

impl Format {
    /// The format as suites write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Inline => "inline",
            Self::Hf => "hf",
            Self::Gaia => "gaia",
        }
    }
}

/// Whether and how rows are shuffled: `true` for the suite's seed, a number for a seed of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shuffle {
    Off,
    SuiteSeed,
    Seed(u64),
}

/// What a malformed row does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnBadRow {
    /// Stops before anything is asked, naming the line.
    #[default]
    Fail,
    /// Leaves the row out and counts it in the manifest.
    Skip,
}

/// Strictness, on by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Determinism {
    /// Refuse what has no deterministic form: integers that lose digits, hub datasets without a pin. Default: true.
    #[serde(default)]
    pub strict_serialization: Option<bool>,
    /// Keep the host out of the manifest. Default: as `strict_serialization`.
    #[serde(default)]
    pub deterministic_artifacts: Option<bool>,
}

/// Whether trajectories are recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Default: false.
    #[serde(default)]
    pub record: Option<bool>,
    /// Keep whole prompts, outputs and results of tools in `bodies/`. Default: false.
    #[serde(default)]
    pub full_bodies: Option<bool>,
}

/// How an answer is scored. Every scorer gives a value from 0 to 1, pass or fail, and a reason.
///
/// Serde sees an externally tagged enum; the YAML layer reads the `type` member as its tag, so
/// that errors inside a scorer keep their place.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(
    tag = "type",
    description = "How an answer is scored. Every scorer gives a value from 0 to 1, pass or fail, and a reason."
)]
pub enum Scorer {
    /// The answer is the target.
    Exact {
        #[serde(default)]
        name: Option<String>,
        /// Compare without regard to case. Default: false.
        #[serde(default)]
        ignore_case: Option<bool>,
        /// Strip white space from both ends first. Default: true.
        #[serde(default)]
        trim: Option<bool>,
        /// Drop punctuation and fold runs of white space first. Default: false.
        #[serde(default)]
        ignore_punctuation: Option<bool>,
    },
    /// The answer contains the target, or every one of a list of targets.
    Includes {
        #[serde(default)]
        name: Option<String>,
        #[serde(default)]
        ignore_case: Option<bool>,
    },
    /// A regular expression finds something in the answer; its group is compared with the target.
    Regex {
        #[serde(default)]
        name: Option<String>,
        /// Rust regex syntax: linear time, no look-around.
        pattern: String,
        /// Which group (number or name) must equal the target. Without it a match is a pass.
        #[serde(default)]
        group: Option<Group>,
        /// Which match counts. Default: `last`.
        #[serde(default)]
        take: Option<Take>,
        #[serde(default)]
        ignore_case: Option<bool>,
    },
    /// A number in the answer is the target within a tolerance.
    Numeric {
        #[serde(default)]
        name: Option<String>,
        /// Largest absolute difference. Default: 0.
        #[serde(default)]
        tolerance: Option<f64>,
        /// Largest difference as a part of the target. Default: 0.
        #[serde(default)]
        relative_tolerance: Option<f64>,
        /// Which number of the answer counts. Default: `last`.
        #[serde(default)]
        take: Option<Take>,
    },
    /// The answer names the right option, by letter or by its text.
    Choice {
        #[serde(default)]
        name: Option<String>,
    },
    /// The answer as a set of entries: the value is F1 against the target's set.
    Set {
        #[serde(default)]
        name: Option<String>,
        /// What separates entries. Default: comma, semicolon or line end.
        #[serde(default)]
        separator: Option<String>,
        #[serde(default)]
        ignore_case: Option<bool>,
        /// F1 from which the answer passes. Default: 1.
        #[serde(default)]
        threshold: Option<f64>,
    },
    /// The answer is JSON that a schema accepts.
    JsonSchema {
        #[serde(default)]
        name: Option<String>,
        /// The schema itself.
        #[serde(default)]
        #[schemars(with = "Option<serde_json::Value>")]
        schema: Option<Value>,
        /// Or a file that holds it.
        #[serde(default)]
        file: Option<RelPath>,
        /// Also require the parsed answer to equal the target. Default: false.
        #[serde(default)]
        match_target: Option<bool>,
    },
    /// GAIA's official quasi-exact match, of what follows the last `FINAL ANSWER:` when the answer has one.
    Gaia {
        #[serde(default)]
        name: Option<String>,
    },
    /// The answer is a picture with these properties; those that are left out do not matter.
    Image {
        #[serde(default)]
        name: Option<String>,
        #[serde(default)]
        format: Option<picture::Format>,
        /// In pixels, exactly.
        #[serde(default)]
        width: Option<u32>,
        #[serde(default)]
        height: Option<u32>,
        #[serde(default)]
        min_width: Option<u32>,
        #[serde(default)]
        min_height: Option<u32>,
        /// The largest file.
        #[serde(default)]
        max_bytes: Option<u64>,
        /// Width to height, such as `16:9`; a hundredth more or less is forgiven.
        #[serde(default)]
        aspect_ratio: Option<String>,
    },
    /// The answer is a picture that looks like the one that the target names.
    ImageHash {
        #[serde(default)]
        name: Option<String>,
        /// How many of the 64 bits of the perceptual hashes may differ. Default: 10.
        #[serde(default)]
        #[schemars(range(max = 63))]
        max_distance: Option<u32>,
    },
    /// A model grades the answer by a rubric.
    Judge {
        #[serde(default)]
        name: Option<String>,
        /// What a good answer is, for the judge to read.
        rubric: TextSource,
        /// Ids of the suite's `judges`; several are a panel, whose majority decides. Default: all of them.
        #[serde(default)]
        judges: Option<Vec<String>>,
        /// Default: `single`.
        #[serde(default)]
        mode: Option<JudgeMode>,
        /// For `pairwise`: the column with the other answer. Default: the target.
        #[serde(default)]
        against: Option<String>,
        /// Whether the judge is shown the target. Default: true, and false for `pairwise`.
        #[serde(default)]
        reference: Option<bool>,
        /// The words a judge may say, and what each is worth from 0 to 1. Default: `{pass: 1, fail: 0}`.
        #[serde(default)]
        verdicts: Option<std::collections::BTreeMap<String, f64>>,
        /// Ask for a number too, which then gives the value.
        #[serde(default)]
        score: Option<ScoreRange>,
        /// The value from which an answer passes. Default: 1.
        #[serde(default)]
        pass: Option<f64>,
        /// How often each judge is asked; its majority counts. Default: 1.
        #[serde(default)]
        #[schemars(range(min = 1, max = 25))]
        votes: Option<u32>,
        /// Whether an answer that is the target, or is it without case and punctuation, passes without a judge.
        /// Default: true where the judge is shown the target.
        #[serde(default)]
        first: Option<bool>,
        /// A report of `proofmark calibrate` on this judge and rubric, for readers of the run's report.
        #[serde(default)]
        calibration: Option<RelPath>,
    },
    /// Any program: one JSON request a line on stdin, one JSON verdict a line on stdout.
    Command {
        #[serde(default)]
        name: Option<String>,
        /// Program and arguments; run in the suite's folder, no shell.
        #[schemars(length(min = 1))]
        command: Vec<String>,
        /// Seconds until an answer must come. Default: 30.
        #[serde(default)]
        timeout: Option<f64>,
        /// Files of the program, hashed as inputs.
        #[serde(default)]
        files: Option<Vec<RelPath>>,
    },
}

/// A group of a regular expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Group {
    Number(u32),
    Name(String),
}

/// Which of several finds counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    First,
    #[default]
    Last,
}
