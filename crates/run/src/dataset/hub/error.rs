//! What can go wrong with the hub.

use std::io;

use proofmark_canon::Digest;

use crate::dataset::names;

/// Why a hub dataset cannot be had. No variant ever holds the token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubProblem {
    #[error("there is no folder to keep what comes from the hub")]
    NoFolder,
    #[error("`{0}` is not a repository; expected `owner/name`")]
    Repo(String),
    #[error("the hub dataset has neither `revision` nor `dataset_hash`, so a later run could read other data")]
    NotPinned { commit: Option<String> },
    #[error("offline, and the revision `{0}` is not a full commit")]
    OfflineRevision(String),
    #[error("offline, and `{path}` is not in the cache or was changed there")]
    OfflineMiss { path: String },
    #[error("`{0}` is not an endpoint; expected `https://` and a host")]
    Endpoint(String),
    #[error("the endpoint is not encrypted, so the token is not sent to it")]
    PlainEndpoint,
    #[error("the hub refused access to {what} (status {status})")]
    Denied { what: String, status: u16 },
    #[error("the hub does not have {what}")]
    NotFound { what: String },
    #[error("the hub is busy: {what} was refused {attempts} times with status 429")]
    Busy { what: String, attempts: u32 },
    #[error("the hub answered {what} with status {status}")]
    Status { what: String, status: u16 },
    #[error("no answer from the hub to {what}")]
    Transport { what: String, source: reqwest::Error },
    #[error("the hub's answer to {what} is not usable: {why}")]
    Answer { what: String, why: String },
    #[error("the hub redirected {what} to a place that is not followed: {why}")]
    Redirect { what: String, why: &'static str },
    #[error("`{path}` came with {found} bytes, the hub's list says {expected}")]
    Size { path: String, expected: u64, found: u64 },
    #[error("`{path}` came with digest {found}, the hub's list says {expected}")]
    Sha256 { path: String, expected: Digest, found: Digest },
    #[error("the hub lists `{0}`, which is not a path inside the repository")]
    UnsafePath(String),
    #[error("no data files for {wanted}; the repository has {}", names::list(.candidates))]
    NoData { wanted: String, candidates: Vec<String> },
    #[error("several sets of files fit {wanted}: {}", names::list(.candidates))]
    Ambiguous { wanted: String, candidates: Vec<String> },
    #[error("the split has {found} of its {expected} files")]
    MissingShards { found: usize, expected: usize },
    #[error("the repository has no data files, only the loading script `{script}`, which is never run")]
    ScriptOnly { script: String },
    #[error("no file fits `{pattern}` of `data_files`; the repository has {}", names::list(.candidates))]
    NoMatch { pattern: String, candidates: Vec<String> },
    #[error("`{path}` is of no kind that can be read")]
    UnknownKind { path: String },
    #[error("cannot {action} in the hub cache `{path}`")]
    Cache { action: &'static str, path: String, source: io::Error },
    #[error("cannot start the network runtime")]
    Runtime(#[source] io::Error),
    #[error("the download stopped without a result")]
    Worker,
}

impl HubProblem {
    /// Whether the hub or the cache failed, so that nothing can be said about the suite.
    pub(in crate::dataset) fn is_of_surroundings(&self) -> bool {
        !matches!(
            self,
            Self::Repo(_)
                | Self::NotPinned { .. }
                | Self::NotFound { .. }
                | Self::NoData { .. }
                | Self::Ambiguous { .. }
                | Self::ScriptOnly { .. }
                | Self::NoMatch { .. }
                | Self::UnknownKind { .. }
        )
    }

    /// What to do about it.
    pub(in crate::dataset) fn hint(&self) -> Option<String> {
        let text = match self {
            Self::NotPinned { commit: Some(commit) } => {
                return Some(format!("pin what the hub has now with `revision: {commit}`"));
            }
            Self::NotPinned { commit: None } => {
                "add `revision:` with a full commit, or `dataset_hash:`, or set `determinism.strict_serialization: false`"
            }
            Self::OfflineRevision(_) => "pin `revision:` to a full commit, or allow the network once",
            Self::OfflineMiss { .. } => "allow the network once to fill the cache",
            Self::Denied { .. } => {
                "set HF_TOKEN to a token that may read the dataset; for a gated one, accept its terms on the hub's page first"
            }
            Self::NotFound { .. } => "check `repo`, `revision` and `data_files`; private datasets need HF_TOKEN",
            Self::Busy { .. } => "wait a while, or set HF_TOKEN: known users have higher limits",
            Self::Status { .. } | Self::Transport { .. } => "try again later; HF_ENDPOINT names another hub",
            Self::PlainEndpoint => "use an `https://` endpoint, or unset HF_TOKEN",
            Self::Endpoint(_) => "set HF_ENDPOINT to something like `https://huggingface.co`",
            Self::NoData { .. } => "set `config` and `split`, or name the files with `data_files`",
            Self::Ambiguous { .. } => "set `config`, or name the files with `data_files`",
            Self::MissingShards { .. } => "name the files with `data_files` if this is what you want",
            Self::ScriptOnly { .. } => {
                "the hub often keeps a converted copy: try `revision: refs/convert/parquet`, then pin its commit"
            }
            Self::UnknownKind { .. } => "files end in `.parquet`, `.jsonl`, `.ndjson`, `.json`, `.csv` or `.tsv`",
            Self::Size { .. } | Self::Sha256 { .. } => "the download was damaged; try again",
            Self::Repo(_) => "write the repository as on the hub's page, for example `openai/gsm8k`",
            Self::NoFolder => "set HOME, or PROOFMARK_CACHE_DIR to a folder of your choice",
            Self::Answer { .. }
            | Self::Redirect { .. }
            | Self::UnsafePath(_)
            | Self::NoMatch { .. }
            | Self::Cache { .. }
            | Self::Runtime(_)
            | Self::Worker => return None,
        };
        Some(text.to_owned())
    }
}
