//! Why a block cannot be reconstructed.

use std::io;
use std::path::PathBuf;

use proofmark_artefact::backfill::Missing;
use proofmark_artefact::backfill::history::NoHistory;
use proofmark_artefact::backfill::sidecar::SidecarError;
use proofmark_artefact::replay::GitError;
use proofmark_artefact::suite::load::SuiteError;
use proofmark_canon::Digest;
use proofmark_canon::json::EncodeError;

use crate::dataset::DatasetError;

/// A block cannot be reconstructed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackfillError {
    #[error(transparent)]
    Sidecar(#[from] SidecarError),
    #[error("`{0}` is in no git work tree")]
    NoRepository(PathBuf),
    #[error("`{path}` is not in the repository of the report, `{top}`")]
    Elsewhere { path: PathBuf, top: PathBuf },
    #[error(transparent)]
    History(#[from] NoHistory),
    #[error("there is no commit `{0}` in the repository")]
    NoCommit(String),
    #[error("the report was added at commit {added} and changed at commit {changed}, and the inputs differ: {what}")]
    Ambiguous { added: String, changed: String, what: String },
    #[error(transparent)]
    Missing(#[from] Missing),
    #[error("the suite at commit {commit} cannot be used")]
    Suite { commit: String, source: SuiteError },
    #[error("`{path}` at commit {commit} is not valid YAML or JSON: {problem}")]
    Malformed { path: String, commit: String, problem: String },
    #[error("no folder above `{suite}` holds the files that it names at commit {commit}")]
    NoRoot { suite: String, commit: String },
    #[error("a dataset at commit {commit} cannot be read")]
    Dataset { commit: String, source: DatasetError },
    #[error("the suite says that `{path}` has the digest {expected}, and at commit {commit} it is {found}")]
    Pinned { path: String, commit: String, expected: Digest, found: Digest },
    #[error("the suite at commit {commit} does not pin `{repo}` to a commit of the hub: what was read cannot be known")]
    NotPinned { repo: String, commit: String },
    #[error("the files of `{repo}` are not known here")]
    Hub { repo: String, source: DatasetError },
    #[error("the block has no canonical form")]
    Encode(#[from] EncodeError),
    #[error("cannot keep a copy of a dataset")]
    Scratch(#[source] io::Error),
}

impl From<GitError> for BackfillError {
    fn from(error: GitError) -> Self {
        Self::Missing(error.into())
    }
}

impl BackfillError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Sidecar(error) => error.hint()?,
            Self::NoRepository(_) => "the inputs of a report are read out of git's history: work inside its repository",
            Self::Elsewhere { .. } => {
                "report, suite and inputs must be of one repository, so that one commit pins them"
            }
            Self::History(error) => error.hint(),
            Self::NoCommit(_) => "name one that `git log` shows; in a shallow clone, fetch the rest first",
            Self::Ambiguous { added, changed, .. } => {
                return Some(format!("say which it was: `--commit {added}` or `--commit {changed}`"));
            }
            Self::Missing(error) => error.hint()?,
            Self::NoRoot { .. } => "say where the suite's files are: `--root DIR`",
            Self::NotPinned { .. } => "only a dataset with `revision:` and a full commit can be backfilled",
            Self::Hub { source, .. } if source.is_of_surroundings() => {
                "the hub is not asked: fill the cache first, for example with `proofmark validate SUITE`"
            }
            Self::Hub { source, .. } | Self::Dataset { source, .. } => return source.hint(),
            Self::Pinned { .. } => "the run cannot have been made at that commit: name another with `--commit REV`",
            Self::Suite { .. } | Self::Malformed { .. } | Self::Encode(_) | Self::Scratch(_) => return None,
        };
        Some(text.to_owned())
    }
}
