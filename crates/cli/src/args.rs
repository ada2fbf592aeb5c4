//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use proofmark_serve::mock::{Faults, Latency, Times};
use proofmark_trust::policy::{KeyName, Reason, Role};

/// Benchmarks with proof: run LLM evaluations whose every number can be challenged
///
/// A suite names models, conditions and tasks. `run` asks every sample and leaves a run directory that is byte for
/// byte the same on any machine for the same answers; `diff` compares two of them and gates CI; `validate` checks
/// one. Start with `proofmark demo` or `proofmark init`.
///
/// Exit codes: 0 what was asked holds; 1 it was checked and does not hold; 2 it could not be checked.
#[derive(Debug, Parser)]
#[command(name = "proofmark", version, propagate_version = true, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// When to colour output
    ///
    /// `auto` colours when a terminal is there and `NO_COLOR` is not set.
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a commented suite and a small dataset that run as they are
    Init(InitArgs),
    /// Run a suite into a run directory
    ///
    /// Asks tasks × items × models × conditions × n samples, scores the answers and writes the run directory. Every
    /// finished sample is journalled: after a kill, `--resume` goes on without asking a finished sample again and ends
    /// in the same bytes.
    ///
    /// Exits 1 when samples errored, unless `--allow-errors` permits them.
    #[command(visible_alias = "harness")]
    Run(RunArgs),
    /// Score outputs that are there already, and ask no model
    ///
    /// Takes the answers of a finished run, or of a file with one JSON object a line, and scores them with a suite: with
    /// another scorer, another target, or answers that were made elsewhere. Leaves a whole run directory; for a run it
    /// shows what changed. A sample without an answer is an error, never a pass.
    ///
    /// Exits 1 when samples errored, unless `--allow-errors` permits them; a changed score is no failure.
    Score(ScoreArgs),
    /// Hold a judge against people: agreement, biases, steadiness, and resistance to injection
    ///
    /// Takes answers that people have judged, one JSON object a line, and puts every one of them before the judges of a
    /// scorer, with the prompts of a run and its cache; no answer is decided without a judge. Reports accuracy, Cohen's
    /// kappa, false passes and false fails with intervals, bias for length, position and the judge's own family, and
    /// whether it says the same again. A run whose scorer names the report shows what its numbers rest on.
    ///
    /// A label: {"answer": "…", "label": true, "question": "…", "expected": "…"}. `label` is true, false or a verdict of the
    /// scorer; `item` names a row of the task's dataset instead of `question` and `expected`; `author` is the model that
    /// wrote the answer; comparisons have `other`, and first, second or tie as label.
    ///
    /// Exits 1 when no judge gave a single verdict.
    Calibrate(CalibrateArgs),
    /// Run a small suite with offline models and show what a run leaves
    Demo(DemoArgs),
    /// Compare two runs and gate on the difference
    ///
    /// Samples are matched by key, also when the dataset or the suite changed. Without a gate (`--fail-on`,
    /// `--fail-on-significant`) the exit code is 0 whatever differs.
    Diff(DiffArgs),
    /// Print one sample of a run: the question, how it was answered step by step, the scores
    ///
    /// Without KEY, lists the samples.
    Show(ShowArgs),
    /// Rebuild summary and report from the records of a run
    Report(ReportArgs),
    /// Check a suite or a run directory and list every finding
    Validate(ValidateArgs),
    /// List providers, their addresses and which keys are set
    ///
    /// A model is named `provider:model-id`. Keys are shown by the name of their variable, never by their value.
    Models(ModelsArgs),
    /// Check a suite's models with one tiny call each
    ///
    /// Each model is asked to reply with one word, with its own parameters; no prompt of the suite is sent and nothing is
    /// written. Says what is wrong and what to do about it. Without a suite, looks at the surroundings: which keys are
    /// set, the cache, proxies, programs.
    ///
    /// Exits 1 when a model cannot be asked, 2 when the suite cannot be read.
    Doctor(DoctorArgs),
    /// Check that the inputs a report names are the ones that are there
    ///
    /// Takes a report (`x.md`), its sidecar (`x.replay.json`) or a run directory, several at once, and patterns with `*`,
    /// `?` and `**`. Every input of the block is hashed and compared, in the work tree and at the recorded commit; the
    /// markdown is compared with the sidecar. Blocks of AHD are read too.
    ///
    /// Exits 1 when anything differs, 2 when nothing differs and something could not be checked.
    VerifyReplay(VerifyReplayArgs),
    /// Reconstruct the sidecar of a report that predates replay blocks
    ///
    /// Writes `x.replay.json` beside `x.md` with the hashes of the suite and of every file it names as they were at the
    /// report's commit: the one that added it, unless `--commit` names another. The block says that it was backfilled;
    /// the report itself is not touched. Everything comes out of git: nothing is read from the work tree, asked of a
    /// model, or fetched. Given again, it changes nothing.
    ///
    /// Exits 2 when the commit or an input cannot be found. The sidecar of a run is never replaced.
    Backfill(BackfillArgs),
    /// Check how far a run can be trusted, rung by rung
    ///
    /// Takes a run directory, its report.md or its report.replay.json, several at once, and patterns. Climbs until a rung
    /// does not hold, prints a line for each check, the rung reached, what that proves and what it does not:
    ///
    /// 1 inputs: the inputs here, or at the recorded commit, are the ones the run ate. 2 artefacts: no byte of the run's
    /// files changed since. 3 scores: every score and total follows from the recorded answers. 4 re-execution
    /// (--reexecute): the run made again from its cassette comes out byte for byte. 5 live (--live K): samples that are
    /// asked again agree with the record.
    ///
    /// Without --rung it goes as far as the evidence allows, up to rung 3. Nothing is written into the run directory,
    /// nothing of the suite is executed without --run-commands, and only --live uses the network.
    ///
    /// Takes a sealed package too, as a folder or an archive: checks who signed it and whether the trust file believes him,
    /// that every file is there unchanged and no other, climbs to rung 3 with the inputs in the package, and makes the audit
    /// again. A signer whom the trust file does not know is no pass.
    ///
    /// Exits 0 when every rung asked for holds, 1 when a check failed, 2 when it could not be checked.
    Verify(VerifyArgs),
    /// Look for signs that a score was not earned
    ///
    /// Takes a run directory, or the results of another harness in the shapes that GAIA's harnesses write. Runs eleven
    /// checks: leaked answers, credit for no work, gold in prompts, calls that reach the grader, answers that the scorer
    /// cannot tell apart, undisclosed attempts, the split, marks and totals scored again, pleas to the grader, signs of
    /// fabrication, and what agents that do nothing would get. Each says how much of what it had to see it saw; a critical
    /// check that saw less than all is not a pass.
    ///
    /// Asks no model, uses no network and no clock: the same files give the same bytes anywhere. Programs of a suite are
    /// not started without --run-commands.
    ///
    /// Exits 0 when clean, 1 when not (with --strict, also on warnings), 2 when something cannot be read.
    Audit(AuditArgs),
    /// Seal a run for strangers: one signed package that can be checked offline
    ///
    /// Verifies and audits the run first, then writes `submission-<date>-<id>/` and `submission-<date>-<id>.tar` of it: the
    /// run directory, what the run was fed, the audit report, metadata, a README, a list of all files, and signatures that
    /// `proofmark verify`, cosign, Python's securesystemslib and ssh-keygen check. Neither is ever written over another one.
    ///
    /// Refuses a run that does not verify; and, unless --allow-dirty, one that says it is not submittable (make it with
    /// `run --submit-intent`), that was started from a work tree with changes or outside of git, or whose audit is not clean.
    /// What was allowed stands in the package, and every later verification shows it.
    ///
    /// The package holds questions, gold answers, and beginnings of what tools returned: think before you publish it.
    ///
    /// Exits 1 when the run is refused, 2 when it could not be sealed.
    Seal(SealArgs),
    /// Print the digest that the contract gives a file
    ///
    /// Structured: SHA-256 of the canonical JSON of what the YAML or JSON says, so that comments, white space and the order
    /// of keys do not matter. Raw: SHA-256 of the bytes. Without `--mode`, files that end in .yml, .yaml or .json are
    /// structured and all others raw.
    Hash(HashArgs),
    /// Serve a provider that is none, to try and test pipelines
    ///
    /// Speaks the languages of OpenAI, Anthropic, Gemini, Ollama, Mistral, Cohere and Cloudflare on loopback. The answer
    /// is a function of the last user message, the same in every language: by default that message itself. Prints
    /// `listening on http://127.0.0.1:PORT` and serves until Ctrl-C.
    MockProvider(MockProviderArgs),
    /// Look at cassettes: calls to models that were kept
    ///
    /// `run --cassette DIR` fills one, `run --replay DIR` answers from it.
    #[command(subcommand)]
    Cassette(CassetteCommand),
    /// Look after judge caches: signed verdicts that were kept
    ///
    /// A judge's verdict is kept with a signature, and found again by everything it depends on: answer, gold, rubric, prompt,
    /// judge, parameters, task. Whatever was altered, cut off, moved, or signed by a key that `trust.json` does not name as
    /// judge is not believed: the judge is asked again.
    #[command(after_long_help = CACHE_EXAMPLES)]
    Cache(CacheArgs),
    /// Make keys, keep them, and say whose signatures are believed
    ///
    /// A private key signs; its public half checks. Keys are Ed25519 in PEM files that OpenSSL reads, behind a passphrase,
    /// named by the fingerprint that `ssh-keygen -l` shows. `trust.json` says which key may act as judge, runner, submitter or
    /// verifier, from when to when. Nothing is sent anywhere.
    #[command(after_long_help = KEYS_EXAMPLES)]
    Keys(KeysArgs),
    /// Write a finished run in a form that others take
    #[command(subcommand)]
    Export(ExportCommand),
    /// Print a JSON Schema
    ///
    /// Without a name, lists the schemas there are.
    Schema(SchemaArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Where to write; created when it does not exist
    #[arg(default_value = ".", value_name = "DIR")]
    pub dir: PathBuf,
}

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
    #[command(flatten)]
    pub judging: JudgeArgs,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TextOrJson {
    Text,
    Json,
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

fn parse_money(text: &str) -> Result<f64, String> {
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

fn parse_only(text: &str) -> Result<proofmark_artefact::suite::resolve::Only, String> {
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

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Where to put the demo's suite, data and runs
    #[arg(default_value = "proofmark-demo", value_name = "DIR")]
    pub dir: PathBuf,
}

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

#[derive(Debug, Args)]
pub struct ModelsArgs {
    /// Print the built-in price table instead
    ///
    /// List prices in US dollars a million tokens, true on the day that the table names. A suite's `price` wins over it.
    #[arg(long)]
    pub prices: bool,
    /// How to print the list
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The suite whose models are asked
    #[arg(value_name = "SUITE")]
    pub suite: Option<PathBuf>,
    /// Ask only these models (repeatable)
    #[arg(long, value_name = "ID", requires = "suite")]
    pub model: Vec<String>,
    /// Ask models that make pictures too; each makes one, which costs money
    #[arg(long, requires = "suite")]
    pub images: bool,
    /// Where the suite's paths start [default: the suite's folder]
    #[arg(long, value_name = "DIR", requires = "suite")]
    pub root: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

#[derive(Debug, Args)]
pub struct VerifyReplayArgs {
    /// Reports, sidecars, run directories or patterns
    #[arg(value_name = "REPORT", required = true)]
    pub reports: Vec<String>,
    /// Which state of the inputs to check [default: both where the commit can be found, else worktree]
    #[arg(long, value_enum, value_name = "STATE")]
    pub at: Option<ReplayState>,
    /// Where the paths of the blocks start, whatever they say
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = ReplayFormat::Text, value_name = "FORMAT")]
    pub format: ReplayFormat,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Run directories, reports, sidecars or patterns; or one sealed package
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<String>,
    /// Climb to this rung and no higher, and fail when it cannot be reached
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=5))]
    pub rung: Option<u8>,
    /// Climb to rung 4: run the suite again from the cassette, without a network
    #[arg(long)]
    pub reexecute: bool,
    /// The run's cassette [default: `cassette` in the run directory]
    #[arg(long, value_name = "DIR")]
    pub cassette: Option<PathBuf>,
    /// Climb to rung 5: ask this many samples of the live models again, chosen by chance
    ///
    /// Needs keys and costs money. The rung does not hold when, by McNemar's exact test, samples that passed then and fail
    /// now and samples that failed then and pass now are divided more unevenly than chance explains at 1 %; that takes 8
    /// samples or more that changed. Rung 4 is climbed first where there is a cassette.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub live: Option<u64>,
    /// Choose the live samples with this seed, to repeat an earlier choice [default: chance]
    #[arg(long, value_name = "S", requires = "live", value_parser = clap::value_parser!(u64).range(..1 << 53))]
    pub seed: Option<u64>,
    /// Ask no further live sample when this many US dollars might be exceeded
    #[arg(long, value_name = "USD", value_parser = parse_money, requires = "live")]
    pub max_cost: Option<f64>,
    /// Start programs that the suite names: `command` scorers, and `command:` models with --live
    ///
    /// They can do anything that you can. Only for suites that you trust.
    #[arg(long)]
    pub run_commands: bool,
    /// Which state of the inputs to check [default: both where the commit can be found, else worktree]
    #[arg(long, value_enum, value_name = "STATE")]
    pub at: Option<ReplayState>,
    /// Where the paths of the blocks start, whatever they say
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Whose signatures count [default: PROOFMARK_TRUST, or trust.json in PROOFMARK_HOME]
    #[arg(long, value_name = "FILE")]
    pub trust: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = ReplayFormat::Text, value_name = "FORMAT")]
    pub format: ReplayFormat,
    #[command(flatten)]
    pub package: VerifyPackageArgs,
}

/// Options that are about packages alone.
#[derive(Debug, Args)]
#[command(next_help_heading = "Packages")]
pub struct VerifyPackageArgs {
    /// Audit against the dataset's own answers too: JSON or JSON lines, or a split's folder of GAIA
    #[arg(long, value_name = "DATASET")]
    pub gold: Option<PathBuf>,
    /// Accept what the package says was wrong when it was sealed with --allow-dirty
    #[arg(long)]
    pub allow_dirty: bool,
    /// Fail on warnings of the audit too
    #[arg(long)]
    pub strict: bool,
    /// Accept a signer whom the trust file does not know: the signature must fit, whose it is stays open
    #[arg(long)]
    pub any_signer: bool,
    /// Sign the verdict with this key, in the role verifier, when it holds: a name, a fingerprint or a file
    ///
    /// Writes an in-toto Simple Verification Result in a Sigstore bundle.
    #[arg(long, value_name = "KEY", requires = "output")]
    pub attest: Option<String>,
    /// Where to write the signed verdict
    #[arg(short, long, value_name = "FILE", requires = "attest")]
    pub output: Option<PathBuf>,
    /// When the verdict was signed, RFC 3339 in UTC [default: now]
    #[arg(long, value_name = "TIME", requires = "attest")]
    pub signed_at: Option<String>,
    /// Read the key's passphrase from this file
    #[arg(long, value_name = "FILE", requires = "attest")]
    pub passphrase_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct SealArgs {
    /// The run directory
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Sign with this key: a name, a fingerprint or a file [default: your key with the role submitter]
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// The folder to put the package in [default: the current folder]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// What to call the submission, in the package's README and metadata
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Refuse warnings of the audit too
    #[arg(long, conflicts_with = "allow_dirty")]
    pub strict: bool,
    /// Seal although the run is not submittable, its work tree had changes, or its audit is not clean
    ///
    /// It is recorded in the package and shown by every verification, which fails unless --allow-dirty is given there too.
    #[arg(long)]
    pub allow_dirty: bool,
    /// Leave datasets and other inputs out, when they may not be given away
    ///
    /// A stranger can then check signatures and files, and reaches rung 2; whoever has the inputs reaches rung 3 with
    /// `verify --root DIR`. The records still hold the questions and gold answers.
    #[arg(long)]
    pub without_inputs: bool,
    /// Where the paths of the run's inputs start [default: where the witness says]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// When it was signed, RFC 3339 in UTC [default: now]
    ///
    /// The same run sealed twice with the same key and time gives the same bytes.
    #[arg(long, value_name = "TIME")]
    pub signed_at: Option<String>,
    /// Read the key's passphrase from this file
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
    /// Whose signatures count [default: PROOFMARK_TRUST, or trust.json in PROOFMARK_HOME]
    #[arg(long, value_name = "FILE")]
    pub trust: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// The run directory, or a sealed package
    #[arg(value_name = "RUN", required_unless_present = "results", conflicts_with = "results")]
    pub run: Option<PathBuf>,
    /// Results of another harness: a JSON object with `results`, a list, or JSON lines
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,
    /// Their trajectories: JSON lines, one a task
    #[arg(long, value_name = "FILE", requires = "results")]
    pub trajectories: Option<PathBuf>,
    /// What their harness says of the whole: split, attempts, totals
    #[arg(long, value_name = "FILE", requires = "results")]
    pub metadata: Option<PathBuf>,
    /// The dataset's own answers, to hold the results against: JSON or JSON lines, or a split's folder of GAIA
    #[arg(long, value_name = "DATASET")]
    pub gold: Option<PathBuf>,
    /// Fail on warnings too
    #[arg(long)]
    pub strict: bool,
    /// Severities that differ from ours, in YAML or JSON; what is turned down is recorded and shown
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Show gold answers instead of their digests
    #[arg(long)]
    pub reveal_gold: bool,
    /// The moment to put into the report, RFC 3339 [default: none]
    #[arg(long, value_name = "TIME")]
    pub audited_at: Option<String>,
    /// Where the suite's paths start, to make every record again [default: where the witness says]
    #[arg(long, value_name = "DIR", conflicts_with = "results")]
    pub root: Option<PathBuf>,
    /// Start programs of `command` scorers to score again
    ///
    /// They can do anything that you can. Only for suites that you trust.
    #[arg(long, conflicts_with = "results")]
    pub run_commands: bool,
    /// How to print the report
    #[arg(long, value_enum, default_value_t = AuditFormat::Text, value_name = "FORMAT")]
    pub format: AuditFormat,
    /// Write it to a file instead
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    /// A line for each check with its evidence, then the verdict
    Text,
    /// `audit-report.json`: canonical, with all evidence that is kept
    Json,
    /// Ready for a pull request comment
    Markdown,
    /// For code scanning
    Sarif,
    /// For CI systems that read test reports
    Junit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReplayState {
    /// The inputs as they are on disk
    Worktree,
    /// The inputs as they were at the recorded commit
    Commit,
    /// Both, with a verdict for each
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReplayFormat {
    /// A line for each check, then the verdict
    Text,
    /// One stable JSON document
    Json,
    /// Annotations of a GitHub workflow
    Github,
}

#[derive(Debug, Args)]
pub struct BackfillArgs {
    /// The report, such as docs/evals/x.md
    #[arg(value_name = "REPORT")]
    pub report: PathBuf,
    /// The suite that was run, by the path that it had at the commit
    #[arg(long, value_name = "SUITE")]
    pub suite: PathBuf,
    /// The commit that the run was made at [default: the one that added the report]
    #[arg(long, value_name = "REV")]
    pub commit: Option<String>,
    /// What the report is about [default: eval-image when a model of the suite makes pictures, else eval-live]
    #[arg(long, value_enum, value_name = "KIND")]
    pub kind: Option<KindArg>,
    /// Only these tasks, models or conditions were run: task=ID, model=ID, condition=ID (repeatable)
    #[arg(long, value_name = "KIND=ID", value_parser = parse_only)]
    pub only: Vec<proofmark_artefact::suite::resolve::Only>,
    /// Where the suite's paths start [default: the suite's folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Replace a sidecar that was backfilled before and says something else
    #[arg(long)]
    pub overwrite: bool,
    /// Print what would be written; write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    /// Models were asked for texts
    EvalLive,
    /// Answers that were there already were scored
    Critique,
    /// Models were asked for pictures
    EvalImage,
}

#[derive(Debug, Args)]
pub struct HashArgs {
    /// The files to hash
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// How to hash [default: by the end of the name]
    #[arg(long, value_enum, value_name = "MODE")]
    pub mode: Option<ModeArg>,
    /// Print the bytes that are hashed instead of their digest
    #[arg(long)]
    pub canonical: bool,
    /// Compute the structured hash as the JavaScript reference of the replay contract does, for old blocks
    ///
    /// Warns where that hash does not pin the content.
    #[arg(long)]
    pub js_compat: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// The bytes of the file
    Raw,
    /// The canonical JSON of what the file says
    Structured,
}

#[derive(Debug, Args)]
pub struct MockProviderArgs {
    /// Listen on this port of 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Serve with this many threads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: u16,
    /// Answer from a script with patterns and a default, as `offline:scripted` has it
    #[arg(long, value_name = "FILE")]
    pub answers: Option<PathBuf>,
    /// Name this model in every reply, as a provider that silently answers with another one
    #[arg(long, value_name = "NAME")]
    pub answer_as: Option<String>,
    /// Demand this key; without it any key will do, and none
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Take this long for an answer: milliseconds, or a range such as 20..80
    #[arg(long, value_name = "MS|LOW..HIGH", conflicts_with = "latency_dist")]
    pub latency: Option<Latency>,
    /// Take as long as this distribution says: lognormal:MEDIAN,SIGMA, with the median in milliseconds
    #[arg(long, value_name = "DIST", value_parser = Latency::parse_distribution)]
    pub latency_dist: Option<Latency>,
    /// Fail this percentage of requests in this way, such as 429=10,500=5
    ///
    /// 429, 500 and 529 are statuses; truncated (fewer bytes than announced), slow, reset, malformed (no JSON), empty,
    /// filter, refusal, stall (nothing comes), stream-cut (a stream without its end), html (a 502 page). Which requests
    /// fail depends on their path and body alone.
    #[arg(long, value_name = "FAULT=PERCENT,…")]
    pub fault: Option<Faults>,
    /// Fail a request this often before it succeeds; `always` never lets it
    #[arg(long, value_name = "N|always", default_value = "1")]
    pub fault_times: Times,
    /// Spread the body of a slow reply over this many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(..=600_000))]
    pub slow: u64,
    /// Send this `Retry-After` with status 429
    #[arg(long, value_name = "SECONDS")]
    pub retry_after: Option<u32>,
    /// Answer with status 429 above this many requests a second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rate_limit: Option<u32>,
    /// Answer with status 529 (Anthropic) or 429 above this many requests at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_concurrent: Option<u32>,
    /// Write the counts to this file at the end; GET /__stats shows them at any time
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
    /// Append a line of JSON for every request to this file; never the key
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Stop when stdin closes, so that nothing stays behind when the caller ends
    #[arg(long)]
    pub exit_with_stdin: bool,
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
pub enum CassetteCommand {
    /// List what is on a cassette, by model
    Ls(CassetteLsArgs),
    /// Show one entry: the request and what came of it
    Show(CassetteShowArgs),
    /// Check every entry
    ///
    /// Exits 1 when an entry was altered or cut, or answers another request than its name says.
    Verify(CassetteLsArgs),
    /// Remove the entries that none of these runs used
    ///
    /// What a run used is in its telemetry.jsonl. Do not do it while somebody records.
    Gc(CassetteGcArgs),
}

#[derive(Debug, Args)]
pub struct CassetteLsArgs {
    /// The cassette
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

#[derive(Debug, Args)]
pub struct CassetteShowArgs {
    /// The cassette
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The request's digest, or its first digits
    #[arg(value_name = "DIGEST")]
    pub digest: String,
    /// How to print the entry
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

#[derive(Debug, Args)]
pub struct CassetteGcArgs {
    /// The cassette
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// A run whose entries stay (repeatable)
    #[arg(long, value_name = "RUN", required = true)]
    pub keep_run: Vec<PathBuf>,
    /// Say what would go, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

const KEYS_EXAMPLES: &str = "\
Examples:
  proofmark keys new judge-2026 --role judge              make a key and believe it as judge
  proofmark keys ls                                       your keys, and those you believe
  proofmark keys export judge-2026 > judge-2026.pub       hand out the public half
  proofmark keys trust ada.pub --role submitter --until 2027-06-30
  proofmark keys rotate judge-2026                        a new key takes over, the old one is dated
  proofmark keys revoke ada --reason compromised          believe nothing it ever signed
  proofmark keys export --allowed-signers > signers       for `ssh-keygen -Y verify -f signers`";

#[derive(Debug, Args)]
pub struct KeysArgs {
    #[command(subcommand)]
    pub command: KeysCommand,
    /// The trust file [default: PROOFMARK_TRUST, or trust.json in PROOFMARK_HOME]
    #[arg(long, global = true, value_name = "FILE")]
    pub trust: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Make a key and believe it in a role
    ///
    /// Asks for a passphrase, twice. The private half goes to NAME.pem (mode 600), the public one to NAME.pub beside it; no
    /// file is ever written over. Back it up: no copy is kept and nobody can open it without its passphrase.
    New(KeysNewArgs),
    /// List your keys and those that you believe
    Ls(KeysLsArgs),
    /// Show one key, or the one that would sign in a role
    Show(KeysShowArgs),
    /// Print the public half of a key, or the keys you believe as OpenSSH's allowed signers
    Export(KeysExportArgs),
    /// Take a private key in that was made elsewhere
    ///
    /// Reads PKCS#8 PEM (`openssl genpkey -algorithm ed25519`), with a passphrase or without, and OpenSSH's own form without
    /// one. Writes it as `keys new` does; the file itself is not touched.
    Import(KeysImportArgs),
    /// Put a new key in the place of an old one
    ///
    /// The new key has the roles of the old one and is believed from now on; the old one is marked as superseded: what it
    /// signed until now is still believed.
    Rotate(KeysRotateArgs),
    /// Stop believing a key
    ///
    /// As compromised, nothing it ever signed is believed. As superseded or retired, what it signed before the date is. A
    /// revocation can be made worse later, never better.
    Revoke(KeysRevokeArgs),
    /// Believe a key of somebody else, or change what is believed of one
    ///
    /// Takes a file with a public key, the line `ssh-ed25519 …` itself, or the name or fingerprint of a key that is known. Check
    /// the fingerprint with its owner first.
    Trust(KeysTrustArgs),
}

#[derive(Debug, Args)]
pub struct PassphraseArgs {
    /// Read the passphrase from the first line of this file, which only you can read
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct RoleArgs {
    /// Believe it as this: judge, runner, submitter or verifier (repeatable)
    #[arg(long = "role", value_name = "ROLE")]
    pub roles: Vec<Role>,
    /// Believe it for nothing before this day or moment (UTC), such as 2026-11-16 or 2026-11-16T09:30:00Z
    #[arg(long, value_name = "WHEN", value_parser = proofmark_trust::moment::Moment::from_start)]
    pub from: Option<proofmark_trust::moment::Moment>,
    /// Believe it for nothing after this day or moment (UTC)
    #[arg(long, value_name = "WHEN", value_parser = proofmark_trust::moment::Moment::from_end)]
    pub until: Option<proofmark_trust::moment::Moment>,
    /// Let one key be judge and submitter
    ///
    /// Whoever hands in answers can then grade them too, and a verifier cannot tell.
    #[arg(long)]
    pub allow_self_judging: bool,
}

#[derive(Debug, Args)]
pub struct KeysNewArgs {
    /// What to call it: up to 64 letters, digits and ._@+-
    #[arg(value_name = "NAME")]
    pub name: KeyName,
    #[command(flatten)]
    pub role: RoleArgs,
    #[command(flatten)]
    pub passphrase: PassphraseArgs,
    /// Write it without a passphrase: whoever reads the file has the key
    #[arg(long, conflicts_with = "passphrase_file")]
    pub no_passphrase: bool,
}

#[derive(Debug, Args)]
pub struct KeysLsArgs {
    /// How to print the list
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

#[derive(Debug, Args)]
pub struct KeysShowArgs {
    /// Its name, its fingerprint, the beginning of one, or a file with a private key
    #[arg(value_name = "KEY", required_unless_present = "role")]
    pub key: Option<String>,
    /// Show the key that would sign in this role: from the environment, or the only one of your keys that may
    #[arg(long, value_name = "ROLE", conflicts_with = "key")]
    pub role: Option<Role>,
    /// Open the private half, to see that the passphrase is right
    #[arg(long)]
    pub open: bool,
    #[command(flatten)]
    pub passphrase: PassphraseArgs,
    /// How to print it
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

#[derive(Debug, Args)]
pub struct KeysExportArgs {
    /// Its name, its fingerprint, or the beginning of one
    #[arg(value_name = "KEY", required_unless_present = "allowed_signers", conflicts_with = "allowed_signers")]
    pub key: Option<String>,
    /// In which form
    #[arg(long, value_enum, default_value_t = KeyForm::Ssh, value_name = "FORM")]
    pub form: KeyForm,
    /// Print all keys that you believe in a role, for `ssh-keygen -Y verify -f`
    #[arg(long)]
    pub allowed_signers: bool,
    /// In which role: OpenSSH's file knows none
    #[arg(long, value_name = "ROLE", default_value_t = Role::Submitter, requires = "allowed_signers")]
    pub role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeyForm {
    /// The line of an OpenSSH `.pub` file
    Ssh,
    /// PEM, as OpenSSL, cosign and Python read it
    Pem,
}

#[derive(Debug, Args)]
pub struct KeysImportArgs {
    /// The file with the private key; only you can read it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What to call it [default: the file's name without its end]
    #[arg(long, value_name = "NAME")]
    pub name: Option<KeyName>,
    #[command(flatten)]
    pub role: RoleArgs,
    #[command(flatten)]
    pub passphrase: PassphraseArgs,
    /// Write it without a passphrase: whoever reads the file has the key
    #[arg(long)]
    pub no_passphrase: bool,
}

#[derive(Debug, Args)]
pub struct KeysRotateArgs {
    /// The old key: its name, its fingerprint, or the beginning of one
    #[arg(value_name = "KEY")]
    pub key: String,
    /// What to call the new one [default: the old name with the next number]
    #[arg(long, value_name = "NAME")]
    pub name: Option<KeyName>,
    #[command(flatten)]
    pub passphrase: PassphraseArgs,
    /// Write it without a passphrase: whoever reads the file has the key
    #[arg(long, conflicts_with = "passphrase_file")]
    pub no_passphrase: bool,
}

#[derive(Debug, Args)]
pub struct KeysRevokeArgs {
    /// Its name, its fingerprint, or the beginning of one
    #[arg(value_name = "KEY")]
    pub key: String,
    /// Why: compromised, superseded or retired
    #[arg(long, value_name = "REASON")]
    pub reason: Reason,
    /// From which day or moment on (UTC) [default: now]
    #[arg(long, value_name = "WHEN", value_parser = proofmark_trust::moment::Moment::from_start)]
    pub at: Option<proofmark_trust::moment::Moment>,
}

#[derive(Debug, Args)]
pub struct KeysTrustArgs {
    /// A file, a line `ssh-ed25519 …`, or the name or fingerprint of a key that is known
    #[arg(value_name = "KEY")]
    pub key: String,
    /// What to call it [default: the comment of the line, or the file's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<KeyName>,
    #[command(flatten)]
    pub role: RoleArgs,
    /// Forget the key, as if it had never been believed; mostly, revoke is what is wanted
    #[arg(long, conflicts_with_all = ["name", "roles", "from", "until", "allow_self_judging"])]
    pub remove: bool,
}

const CACHE_EXAMPLES: &str = "\
Examples:
  proofmark cache stats                                   what there is, of whom, since when
  proofmark cache ls --task essays --judge openai:        the verdicts on a task
  proofmark cache show 3fa9                               one question: every verdict on it, and why
  proofmark cache verify --cache judgments                check every signature
  proofmark cache export -o judgments.jsonl               take it along
  proofmark cache import judgments.jsonl                  take it in; entries keep their signers
  proofmark cache gc --older-than 180 --dry-run           what would go";

#[derive(Debug, Args)]
pub struct CacheArgs {
    #[command(subcommand)]
    pub command: CacheCommand,
    /// The folder of the cache [default: judgments in PROOFMARK_CACHE_DIR]
    #[arg(long, global = true, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// The trust file [default: PROOFMARK_TRUST, or trust.json in PROOFMARK_HOME]
    #[arg(long, global = true, value_name = "FILE")]
    pub trust: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Count what there is: entries, conflicts, signers, judges
    Stats(CacheStatsArgs),
    /// List entries by the key of their question
    Ls(CacheLsArgs),
    /// Show every verdict on one question
    Show(CacheShowArgs),
    /// Check every signature, every list, and that nothing seen before is gone
    ///
    /// Names whatever is not believed, with the reason. Exits 1 when there is any.
    Verify(CacheStatsArgs),
    /// Write all entries that are believed, one JSON object a line
    ///
    /// Ordered by key; the same entries give the same bytes. Exits 1 when entries were left out that are not believed.
    Export(CacheExportArgs),
    /// Take entries in, from `cache export`, the judgments.jsonl of a run, or what a cache set aside
    ///
    /// Entries keep their signers; what the trust file does not let judge is refused. The lists of the cache are signed with
    /// your own key. Exits 1 when entries were refused.
    Import(CacheImportArgs),
    /// Throw entries away
    ///
    /// What is said of a question stays or goes as a whole, so that no side of a conflict disappears. A question goes when any
    /// of the rules says so.
    Gc(CacheGcArgs),
}

#[derive(Debug, Args)]
pub struct CacheStatsArgs {
    /// How to print it
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

#[derive(Debug, Args)]
pub struct CacheLsArgs {
    /// Only judges whose name begins like this, such as openai: or openai:gpt-5
    #[arg(long, value_name = "JUDGE")]
    pub judge: Option<String>,
    /// Only this task, or this item of it: TASK or TASK/ITEM
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// Only what this key signed: its name in the trust file, its fingerprint, or the beginning of one
    #[arg(long, value_name = "KEY")]
    pub signer: Option<String>,
    /// Only questions with several verdicts
    #[arg(long)]
    pub conflicts: bool,
    /// At most this many entries; 0 for all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: u64,
    /// How to print the list
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

#[derive(Debug, Args)]
pub struct CacheShowArgs {
    /// The key of a question, or its first 4 digits or more
    #[arg(value_name = "KEY")]
    pub key: String,
    /// How to print it
    #[arg(long, value_enum, default_value_t = TextOrJson::Text, value_name = "FORMAT")]
    pub format: TextOrJson,
}

#[derive(Debug, Args)]
pub struct CacheExportArgs {
    /// Write here instead of to stdout
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Which key signs the lists of a cache.
#[derive(Debug, Args)]
pub struct CacheKeyArgs {
    /// Sign with this key: a name, a fingerprint or a file [default: PROOFMARK_JUDGE_KEY, or your only key that may judge]
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    #[command(flatten)]
    pub passphrase: PassphraseArgs,
}

#[derive(Debug, Args)]
pub struct CacheImportArgs {
    /// Files with an entry a line
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub key: CacheKeyArgs,
}

#[derive(Debug, Args)]
pub struct CacheGcArgs {
    /// Questions whose newest verdict is older than this
    #[arg(long, value_name = "DAYS")]
    pub older_than: Option<u32>,
    /// Questions on which none of these keys signed a verdict (repeatable)
    #[arg(long, value_name = "KEY")]
    pub keep_signer: Vec<String>,
    /// What is not believed; it is set aside
    #[arg(long)]
    pub untrusted: bool,
    /// What was set aside before, for good
    #[arg(long)]
    pub set_aside: bool,
    /// Only say what would go
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub key: CacheKeyArgs,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which schema
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
