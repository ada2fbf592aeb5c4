//! Judge caches.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{PassphraseArgs, TextOrJson};

pub(super) const CACHE_EXAMPLES: &str = "\
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
