//! Models, and a provider that is none.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use proofmark_serve::mock::{Faults, Latency, Times};

use super::TextOrJson;

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
    /// 400, 429, 500 and 529 are statuses; context (too long for the model), truncated (fewer bytes than announced),
    /// slow, reset, malformed (no JSON), empty, filter, refusal, stall (nothing comes), stream-cut (a stream without its
    /// end), html (a 502 page). Which requests fail depends on their path and body alone.
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
