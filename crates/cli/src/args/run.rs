//! Making runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::TextOrJson;

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The suite to run
    #[arg(value_name = "SUITE")]
    pub suite: PathBuf,
    /// Where the run goes [default: runs/<name>-<run id>]
    #[arg(long, value_name = "DIR")]
    pub run_dir: Option<PathBuf>,
    /// Replace a run that is there; only run directories are ever replaced
    #[arg(long, conflicts_with = "resume")]
    pub overwrite: bool,
    /// Go on with an unfinished run
    #[arg(long)]
    pub resume: bool,
    /// Ask at most this many items of each task
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_items: Option<u64>,
    /// Ask every endpoint this many questions at once
    ///
    /// Without it, offline models are asked 16 at once, and live ones as many as they bear: it starts with 16, grows
    /// while nothing is said against it, and falls when the endpoint complains. With it, it starts with this number
    /// and never goes above.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub concurrency: Option<u16>,
    /// Stop before more than this many US dollars are spent; the run can be resumed
    ///
    /// Prices come from the suite (`price`) or from the built-in table (`proofmark models --prices`).
    #[arg(long, value_name = "USD", value_parser = parse_money)]
    pub max_cost: Option<f64>,
    /// Stop before more than this many tokens, input and output, are spent; the run can be resumed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
    /// Stop asking after this long, such as 90s, 10m or 2h; the run can be resumed
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub max_time: Option<std::time::Duration>,
    /// Run only these tasks, models or conditions: task=ID, model=ID, condition=ID (repeatable)
    #[arg(long, value_name = "KIND=ID", value_parser = parse_only)]
    pub only: Vec<proofmark_artefact::suite::resolve::Only>,
    /// Print the plan, counts and estimated calls; touch nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Where the suite's paths start [default: the suite's folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Accept what has no deterministic form, such as hub datasets without a pin
    #[arg(long)]
    pub no_strict_serialization: bool,
    /// Record the host in the manifest
    #[arg(long)]
    pub no_deterministic_artifacts: bool,
    /// Record trajectories: what the model saw and said, step by step
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub record_evidence: Option<bool>,
    /// The run is to be submitted: record evidence, and exit 1 when the run turns out not to be submittable
    #[arg(long)]
    pub submit_intent: bool,
    /// Keep whole prompts, outputs and results of tools in bodies/, beside the evidence
    #[arg(long)]
    pub evidence_full_bodies: bool,
    /// Obey `sandbox: none`: programs of agents run without any confinement
    #[arg(long)]
    pub allow_unsandboxed: bool,
    /// Leave report.html out
    #[arg(long)]
    pub skip_report: bool,
    /// Exit 0 when at most this many samples errored: a number, or a percentage such as 2%
    #[arg(long, value_name = "N|N%", value_parser = parse_allowance)]
    pub allow_errors: Option<Allowance>,
    /// Keep every call to a model on this cassette
    ///
    /// A folder; made when it is not there. Several runs may share it, also at the same time. Keys never get into it.
    #[arg(long, value_name = "DIR")]
    pub cassette: Option<PathBuf>,
    /// What to do with the cassette
    #[arg(long, value_enum, default_value_t = CassetteMode::Record, value_name = "MODE", requires = "cassette")]
    pub cassette_mode: CassetteMode,
    /// Answer every call from this cassette and ask nobody; short for --cassette DIR --cassette-mode replay
    ///
    /// Needs no key and no network. A call that is not on the cassette stops the run.
    #[arg(long, value_name = "DIR", conflicts_with = "cassette")]
    pub replay: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
    #[command(flatten)]
    pub probe: ProbeArgs,
    #[command(flatten)]
    pub judging: JudgeArgs,
}

#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// A run directory, or a JSONL file of outputs
    ///
    /// A line of a file names its sample by `key`, or by `item_id`, `id` or `task_id` and, where the suite has several,
    /// `task`, `model`, `condition` and `sample`. The answer is `output`, `text`, `answer`, `response`, `model_answer` or
    /// `completion`.
    #[arg(value_name = "RUN|FILE")]
    pub outputs: PathBuf,
    /// The suite whose scorers judge
    #[arg(long, value_name = "SUITE")]
    pub suite: PathBuf,
    /// Where the run goes [default: runs/<name>-<run id>]
    #[arg(long, value_name = "DIR")]
    pub run_dir: Option<PathBuf>,
    /// Replace a run that is there; only run directories are ever replaced
    #[arg(long)]
    pub overwrite: bool,
    /// The member of a line that holds the answer [default: found by its name]
    #[arg(long, value_name = "NAME")]
    pub output_field: Option<String>,
    /// Score at most this many items of each task
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_items: Option<u64>,
    /// Score only these tasks, models or conditions: task=ID, model=ID, condition=ID (repeatable)
    #[arg(long, value_name = "KIND=ID", value_parser = parse_only)]
    pub only: Vec<proofmark_artefact::suite::resolve::Only>,
    /// Score this many answers at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub concurrency: Option<u16>,
    /// Where the suite's paths start [default: the suite's folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Accept what has no deterministic form, such as hub datasets without a pin
    #[arg(long)]
    pub no_strict_serialization: bool,
    /// Leave report.html out
    #[arg(long)]
    pub skip_report: bool,
    /// Exit 0 when at most this many samples errored: a number, or a percentage such as 2%
    #[arg(long, value_name = "N|N%", value_parser = parse_allowance)]
    pub allow_errors: Option<Allowance>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
    #[command(flatten)]
    pub probe: ProbeArgs,
    #[command(flatten)]
    pub judging: JudgeArgs,
}

/// For whoever doubts the judges of a run.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ProbeArgs {
    /// Attack the judges afterwards: N answers that they failed are put before them with injections in them
    ///
    /// What comes of it goes to `judge-probe.json` in the run directory. `proofmark calibrate` does the same with answers
    /// that people have judged.
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "20",
        value_parser = clap::value_parser!(u64).range(1..=10_000),
        help_heading = "Judging"
    )]
    pub probe_judge: Option<u64>,
}

/// For suites with judges.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Judging")]
pub struct JudgeArgs {
    /// Sign judgments with this key: a name, a fingerprint, a file, or `none` [default: your key with the role judge]
    #[arg(long, value_name = "KEY")]
    pub judge_key: Option<String>,
    /// Read the key's passphrase from this file
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
    /// Keep judgments in this folder, or `off` [default: what the suite says, else your cache]
    #[arg(long, value_name = "DIR|off")]
    pub judge_cache: Option<PathBuf>,
    /// Ask judges again, whatever the cache holds; new verdicts replace old ones, which are kept and shown
    #[arg(long)]
    pub rejudge: bool,
    /// Whose signatures count [default: PROOFMARK_TRUST, or trust.json in PROOFMARK_HOME]
    #[arg(long, value_name = "FILE")]
    pub trust: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// The suite whose judge is calibrated
    #[arg(value_name = "SUITE")]
    pub suite: PathBuf,
    /// Answers that people have judged, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub labels: PathBuf,
    /// The task, where several have a judge scorer
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// The scorer, where a task has several that ask judges
    #[arg(long, value_name = "NAME")]
    pub scorer: Option<String>,
    /// Put every label before every judge this often, to see whether it says the same again
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub repeat: u32,
    /// Use the first N labels alone
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Attack the judge too: N answers that people fail are put before it with injections in them
    ///
    /// Every answer is asked twice as it is and once with each attack of a fixed set: instructions to the grader, fake
    /// verdicts and markers, look-alike and invisible characters, other languages, codes, padding.
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "20",
        value_parser = clap::value_parser!(u64).range(1..=10_000)
    )]
    pub probe_judge: Option<u64>,
    /// Ask this many questions at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub concurrency: Option<u16>,
    /// Where the suite's paths start [default: the suite's folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Write the report here, as the scorer's `calibration` names it
    #[arg(long, short = 'o', value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = CalibrateFormat::Text, value_name = "FORMAT")]
    pub format: CalibrateFormat,
    #[command(flatten)]
    pub judging: JudgeArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CalibrateFormat {
    /// For people, with what each number means
    Text,
    /// The report itself
    Json,
    /// Ready for a document
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CassetteMode {
    /// Ask, and keep what comes in place of what was there
    Record,
    /// Ask nobody; a call that is not there stops the run
    Replay,
    /// Take what is there, ask for the rest and keep it
    Auto,
}

/// How many samples may error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Allowance {
    Count(u64),
    Percent(f64),
}

impl Allowance {
    pub fn permits(self, errors: u64, samples: u64) -> bool {
        match self {
            Self::Count(most) => errors <= most,
            Self::Percent(most) => errors as f64 <= samples as f64 * most / 100.0,
        }
    }
}

fn parse_allowance(text: &str) -> Result<Allowance, String> {
    let refuse = || format!("`{text}` is neither a number nor a percentage; expected for example 3 or 2%");
    match text.strip_suffix('%') {
        Some(percent) => {
            let percent: f64 = percent.trim().parse().map_err(|_| refuse())?;
            (0.0..=100.0).contains(&percent).then_some(Allowance::Percent(percent)).ok_or_else(refuse)
        }
        None => text.parse().map(Allowance::Count).map_err(|_| refuse()),
    }
}

pub(super) fn parse_money(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim_start_matches('$').parse().map_err(|_| format!("`{text}` is not an amount"))?;
    (value > 0.0 && value.is_finite()).then_some(value).ok_or_else(|| format!("{value} is not above 0"))
}

fn parse_time(text: &str) -> Result<std::time::Duration, String> {
    let refuse = || format!("`{text}` is not a time; expected for example 90s, 10m or 2h");
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let seconds = match unit {
        "s" | "" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(refuse()),
    };
    let number: f64 = number.parse().map_err(|_| refuse())?;
    let total = number * seconds;
    (total > 0.0 && total <= 31_536_000.0).then(|| std::time::Duration::from_secs_f64(total)).ok_or_else(refuse)
}

pub(super) fn parse_only(text: &str) -> Result<proofmark_artefact::suite::resolve::Only, String> {
    use proofmark_artefact::suite::resolve::Only;
    let refuse = || format!("`{text}` is not KIND=ID; expected task=ID, model=ID or condition=ID");
    let (kind, id) = text.split_once('=').ok_or_else(refuse)?;
    match kind {
        "task" => Ok(Only::Task(id.to_owned())),
        "model" => Ok(Only::Model(id.to_owned())),
        "condition" => Ok(Only::Condition(id.to_owned())),
        _ => Err(refuse()),
    }
}
