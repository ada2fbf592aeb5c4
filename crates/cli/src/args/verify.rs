//! Checking, auditing and sealing runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::TextOrJson;
use super::run::{parse_money, parse_only};

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
