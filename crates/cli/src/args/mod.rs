//! What can be typed.
//!
//! One file a family of commands; what a command does is in `commands`.

mod cache;
mod keys;
mod look;
mod models;
mod run;
mod verify;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use cache::{
    CacheArgs, CacheCommand, CacheExportArgs, CacheGcArgs, CacheImportArgs, CacheKeyArgs, CacheLsArgs, CacheShowArgs,
    CacheStatsArgs,
};
pub use keys::{
    KeyForm, KeysArgs, KeysCommand, KeysExportArgs, KeysImportArgs, KeysLsArgs, KeysNewArgs, KeysRevokeArgs,
    KeysRotateArgs, KeysShowArgs, KeysTrustArgs, PassphraseArgs, RoleArgs,
};
pub use look::{
    DiffArgs, DiffFormat, ExportCommand, ExportGaiaArgs, RegionCheckArgs, RegionCommand, RegionShowArgs, ReportArgs,
    ShowArgs, ValidateArgs,
};
pub use models::{
    CassetteCommand, CassetteGcArgs, CassetteLsArgs, CassetteShowArgs, DoctorArgs, MockProviderArgs, ModelsArgs,
};
pub use run::{Allowance, CalibrateArgs, CalibrateFormat, CassetteMode, JudgeArgs, ProbeArgs, RunArgs, ScoreArgs};
pub use verify::{
    AuditArgs, AuditFormat, BackfillArgs, HashArgs, KindArg, ModeArg, ReplayFormat, ReplayState, SealArgs, VerifyArgs,
    VerifyPackageArgs, VerifyReplayArgs,
};

use cache::CACHE_EXAMPLES;
use keys::KEYS_EXAMPLES;

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
    /// Show a part of what a tool returned, and check one: whole results are not in a package
    ///
    /// Evidence keeps the head of a long result, and a commitment to all of it. Who doubts a part demands it, who has the
    /// result shows it, and it is checked by its hash.
    #[command(subcommand)]
    Region(RegionCommand),
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TextOrJson {
    Text,
    Json,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Where to put the demo's suite, data and runs
    #[arg(default_value = "proofmark-demo", value_name = "DIR")]
    pub dir: PathBuf,
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
