//! Why something could not be audited.

use std::io;
use std::path::PathBuf;

use proofmark_artefact::store::{LineError, OpenError};
use proofmark_artefact::validate::ValidateError;
use proofmark_canon::json::{EncodeError, ParseError};
use proofmark_run::dataset::DatasetError;

/// The files cannot be audited: we could not look.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("cannot read `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot read `{path}`")]
    Line { path: PathBuf, source: LineError },
    #[error("line {line} of `{path}` is not JSON")]
    NotJson { path: PathBuf, line: u64, source: ParseError },
    #[error("`{path}` is not JSON")]
    NotJsonFile { path: PathBuf, source: ParseError },
    #[error("{place} of `{path}`: {message}")]
    Shape { path: PathBuf, place: String, message: String },
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    #[error("`{path}` holds no results")]
    Nothing { path: PathBuf },
    #[error("line {line} of `{path}` is a trajectory of `{id}`, of which there is no result")]
    UnknownTask { path: PathBuf, line: u64, id: String },
    #[error("the policy `{path}` cannot be used: {message}")]
    Policy { path: PathBuf, message: String },
    #[error("`{text}` is not a moment; expected RFC 3339 such as `2026-07-03T00:00:00Z`")]
    Moment { text: String },
    #[error("the suite of the run cannot be read: {message}")]
    Suite { message: String },
    #[error(transparent)]
    Validate(#[from] ValidateError),
    #[error("the report has no canonical form")]
    Encode(#[from] EncodeError),
    #[error("cannot keep what was read in a scratch file")]
    Scratch(#[source] io::Error),
    #[error("a part of the audit panicked; this is a bug in Proofmark")]
    Panicked,
}

impl AuditError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Open(error) => error.hint(),
            Self::Dataset(error) => error.hint(),
            Self::NotJson { .. } | Self::NotJsonFile { .. } | Self::Shape { .. } | Self::Nothing { .. } => Some(
                "results are one JSON object with `results`, a list, or JSON lines; trajectories are JSON lines".into(),
            ),
            Self::UnknownTask { .. } => Some("give the trajectories of these results and no others".into()),
            Self::Scratch(_) => {
                Some("`TMPDIR` names the folder for scratch files; it needs about as much room as the results".into())
            }
            Self::Policy { .. } => Some("for example `severities: {AUD-9: critical}`".into()),
            _ => None,
        }
    }
}
