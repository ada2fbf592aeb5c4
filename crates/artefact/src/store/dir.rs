//! A finished run directory.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use proofmark_canon::json::{self, ParseError, ShapeError};
use serde::de::DeserializeOwned;

use super::lines::{Lines, MAX_LINE};
use super::names;
use crate::manifest::{MANIFEST_SCHEMA, Manifest};

/// The largest manifest or summary we read.
pub const MAX_JSON: u64 = 64 << 20;

/// A directory with a readable manifest. Its other files have not been checked.
#[derive(Debug, Clone)]
pub struct RunDir {
    path: PathBuf,
    manifest: Manifest,
}

/// The directory is not a finished run that we can read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    #[error("`{0}` does not exist")]
    Missing(PathBuf),
    #[error("`{0}` is not a directory")]
    NotDirectory(PathBuf),
    #[error("`{0}` is an unfinished run")]
    Unfinished(PathBuf),
    #[error("`{0}` is not a run directory: it has no `manifest.json`")]
    NotARun(PathBuf),
    #[error("`{0}` is not a regular file")]
    NotAFile(PathBuf),
    #[error("cannot read `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("`{path}` is larger than {limit} bytes")]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("`{path}` has more than {limit} bytes besides its request ids")]
    TooLargeBesideIds { path: PathBuf, limit: u64 },
    #[error("`{path}` is not JSON")]
    NotJson { path: PathBuf, source: ParseError },
    #[error("`{path}` does not have the expected shape")]
    Shape { path: PathBuf, source: ShapeError },
    #[error("`{path}` has schema version {found}, this build reads up to {MANIFEST_SCHEMA}")]
    Newer { path: PathBuf, found: u64 },
}

impl OpenError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unfinished(path) => {
                Some(format!("finish it with `proofmark run SUITE --run-dir {} --resume`", path.display()))
            }
            Self::NotARun(_) | Self::Missing(_) | Self::NotDirectory(_) => {
                Some("name the directory that `proofmark run` printed".to_owned())
            }
            Self::Newer { .. } => Some("read it with the version of Proofmark that made it, or a newer one".to_owned()),
            _ => None,
        }
    }
}

impl RunDir {
    /// Opens a finished run directory and reads its manifest.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let metadata = std::fs::metadata(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => OpenError::Missing(path.to_owned()),
            _ => OpenError::Io { path: path.to_owned(), source },
        })?;
        if !metadata.is_dir() {
            return Err(OpenError::NotDirectory(path.to_owned()));
        }
        let file = path.join(names::MANIFEST);
        if !file.exists() {
            let unfinished = path.join(names::WORK).exists();
            return Err(if unfinished { OpenError::Unfinished(path.into()) } else { OpenError::NotARun(path.into()) });
        }
        // Opening a pipe would wait for its writer: look before.
        let strange = names::PLANE_1.iter().map(|name| path.join(name)).find(|file| file.exists() && !file.is_file());
        if let Some(file) = strange {
            return Err(OpenError::NotAFile(file));
        }
        let value = read_value(&file)?;
        // The version comes first: a newer manifest may have any other shape.
        let found = value.get("schema_version").and_then(json::Value::as_u64).unwrap_or(0);
        if found > u64::from(MANIFEST_SCHEMA) {
            return Err(OpenError::Newer { path: file, found });
        }
        let manifest = json::from_value(&value).map_err(|source| OpenError::Shape { path: file, source })?;
        Ok(Self { path: path.to_owned(), manifest })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where a file of the run is.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Starts to read a file of lines (`records.jsonl`, `trajectories.jsonl`).
    pub fn lines(&self, name: &str) -> Result<Lines, OpenError> {
        let path = self.file(name);
        Lines::open(&path, MAX_LINE).map_err(|source| OpenError::Io { path, source })
    }

    /// Reads a whole JSON file of the run, such as `summary.json`.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, OpenError> {
        let path = self.file(name);
        json::from_value(&read_value(&path)?).map_err(|source| OpenError::Shape { path, source })
    }
}

fn read_value(path: &Path) -> Result<json::Value, OpenError> {
    let bytes = read_bounded(path, MAX_JSON)?;
    json::parse(&bytes).map_err(|source| OpenError::NotJson { path: path.to_owned(), source })
}

/// Reads a whole file that may not be larger than a limit.
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, OpenError> {
    let io_error = |source| OpenError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let read = File::open(path).map_err(io_error)?.take(limit + 1).read_to_end(&mut bytes).map_err(io_error)?;
    if read as u64 > limit {
        return Err(OpenError::TooLarge { path: path.to_owned(), limit });
    }
    Ok(bytes)
}
