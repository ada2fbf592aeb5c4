//! Looking at runs and comparing them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::TextOrJson;

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The run to compare with, or a sealed package
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// The run in question, or a sealed package
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Exit 1 when there are changes of these kinds (repeatable, or separated by commas)
    ///
    /// changes (any sample), regressions, improvements, trajectory, bytes (any byte of a plane-1 file), or the name of a
    /// class: output_changed, status_changed, score_changed, input_changed, only_in_a, only_in_b, usage_changed.
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub fail_on: Vec<String>,
    /// Exit 1 when B is worse than A by the paired test at this level, such as 0.05
    #[arg(long, value_name = "P", value_parser = parse_probability)]
    pub fail_on_significant: Option<f64>,
    /// Score values that move by at most this much have not changed
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = parse_tolerance)]
    pub tolerance: f64,
    /// Show at most this many samples of each class
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub limit: usize,
    /// Show every changed sample
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
    /// Same as `--fail-on changes`
    #[arg(long)]
    pub fail_on_changes: bool,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = DiffFormat::Text, value_name = "FORMAT")]
    pub format: DiffFormat,
}

fn parse_probability(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    (value > 0.0 && value < 1.0).then_some(value).ok_or_else(|| format!("{value} is not between 0 and 1"))
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    (0.0..=1.0).contains(&value).then_some(value).ok_or_else(|| format!("{value} is not from 0 to 1"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// For people, with coloured word differences
    Text,
    /// One stable JSON document
    Json,
    /// Ready for a pull request comment
    Markdown,
    /// For CI systems that read test reports
    Junit,
    /// Annotations of a GitHub workflow
    Github,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The run directory
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The sample's key (task/item/model/condition/sample), or a part of it that no other key has
    #[arg(value_name = "KEY")]
    pub key: Option<String>,
    /// Show this attempt alone, counted from 0, where answers were voted on
    #[arg(long, value_name = "N", requires = "key")]
    pub attempt: Option<u32>,
    /// Print texts as far as they were recorded, not only their first lines; whole where the run keeps bodies
    #[arg(long, requires = "key")]
    pub full: bool,
    /// List only samples that did not pass
    #[arg(long, conflicts_with = "key")]
    pub failed: bool,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run directory; or a sealed package, with --out
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Write the files here instead, whatever the run says of them
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// A suite or a run directory
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Where a suite's paths start [default: the suite's folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// How to print the findings
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// Write the JSON lines that GAIA's leaderboard takes
    ///
    /// One line an item, in the run's order: `task_id`, `model_answer` and, where evidence was recorded,
    /// `reasoning_trace`. An item without an answer has an empty one. How many there are goes to stderr.
    ///
    /// Exits 2 when the run is unfinished, was changed, or has more than one of what must be chosen.
    Gaia(ExportGaiaArgs),
}

#[derive(Debug, Args)]
pub struct ExportGaiaArgs {
    /// The run directory
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Write here instead of to stdout
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Whose answers, when the run has several tasks with GAIA's questions
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Whose answers, when the run has several models
    #[arg(long, value_name = "ID")]
    pub model: Option<String>,
    /// Under which condition, when the run has several
    #[arg(long, value_name = "ID")]
    pub condition: Option<String>,
    /// Which sample of every item, counted from 0, when the run has several
    #[arg(long, value_name = "N")]
    pub sample: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub enum RegionCommand {
    /// Show a part of what a tool returned, with what ties it to the evidence
    ///
    /// For who was asked for it. The whole result is taken from the run's `bodies/`, or from a file.
    Show(RegionShowArgs),
    /// Check a part that somebody showed against the evidence
    ///
    /// Needs the run's trajectories, or a package, and not the result. Prints the part. Exits 1 when it is not what the
    /// tool returned.
    Check(RegionCheckArgs),
}

#[derive(Debug, Args)]
pub struct RegionShowArgs {
    /// The run directory
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The sample's key, or a part of it that no other key has
    #[arg(value_name = "KEY")]
    pub key: String,
    /// Which step of its trajectory, counted from 0: the result of a tool
    #[arg(long, value_name = "N")]
    pub step: u64,
    /// The first byte of the part
    #[arg(long, value_name = "BYTE")]
    pub offset: u64,
    /// How many bytes
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub length: u64,
    /// Which attempt, counted from 0, where answers were voted on
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub attempt: u32,
    /// The whole result, where the run does not keep it
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,
    /// Write here instead of to stdout
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct RegionCheckArgs {
    /// A run directory, or a sealed package
    #[arg(value_name = "RUN|PACKAGE")]
    pub run: PathBuf,
    /// The part, as `region show` wrote it
    #[arg(value_name = "FILE")]
    pub region: PathBuf,
}
