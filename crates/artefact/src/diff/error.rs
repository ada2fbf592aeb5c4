//! Why two runs could not be compared.

use std::io;
use std::path::{Path, PathBuf};

use proofmark_canon::json::{self, ParseError, ShapeError};
use serde::de::DeserializeOwned;

/// Two runs could not be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {
    #[error("cannot read `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("`{path}` line {line} is longer than {limit} bytes")]
    TooLong { path: PathBuf, line: u64, limit: usize },
    #[error("`{path}` line {line} is cut off: it has no line end")]
    CutOff { path: PathBuf, line: u64 },
    #[error("`{path}` line {line} is not JSON")]
    NotJson { path: PathBuf, line: u64, source: ParseError },
    #[error("`{path}` line {line} is not a {what}")]
    Shape { path: PathBuf, line: u64, what: &'static str, source: ShapeError },
    #[error("`{path}` line {line} is a {what}, but not in canonical form")]
    NotCanonical { path: PathBuf, line: u64, what: &'static str },
    #[error("`{path}` line {line} has the key `{key}` of line {first} again")]
    Duplicate { path: PathBuf, line: u64, first: u64, key: String },
    #[error("`{path}` holds {found} records, but the manifest says {expected}")]
    Count { path: PathBuf, found: u64, expected: u64 },
    #[error("`{path}` changed while it was read")]
    Moved { path: PathBuf },
}

impl DiffError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io { path, .. } => Some(format!("check that `{}` is there and can be read", path.display())),
            Self::Moved { .. } => Some("compare finished runs that nobody writes".to_owned()),
            Self::TooLong { path, .. }
            | Self::CutOff { path, .. }
            | Self::NotJson { path, .. }
            | Self::Shape { path, .. }
            | Self::NotCanonical { path, .. }
            | Self::Duplicate { path, .. }
            | Self::Count { path, .. } => {
                let run = path.parent().unwrap_or(path).display();
                Some(format!("the file was changed after its run; `proofmark validate {run}` lists all that is wrong"))
            }
        }
    }
}

/// Says what is wrong with a line that a scan refused.
pub(super) fn explain<T: DeserializeOwned>(path: &Path, line: u64, bytes: &[u8], what: &'static str) -> DiffError {
    match parse_line::<T>(path, line, bytes, what) {
        Ok(_) => DiffError::NotCanonical { path: path.to_owned(), line, what },
        Err(error) => error,
    }
}

/// Parses a line or one of its values.
pub(super) fn parse_line<T: DeserializeOwned>(
    path: &Path,
    line: u64,
    bytes: &[u8],
    what: &'static str,
) -> Result<T, DiffError> {
    let value = json::parse(bytes).map_err(|source| DiffError::NotJson { path: path.to_owned(), line, source })?;
    json::from_value(&value).map_err(|source| DiffError::Shape { path: path.to_owned(), line, what, source })
}
