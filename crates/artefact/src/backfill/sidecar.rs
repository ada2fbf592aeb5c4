//! Where a backfilled block goes, and what it never replaces.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proofmark_canon::Digest;
use serde::Serialize;

use crate::replay::block::{self, Dialect};
use crate::replay::{locate, markdown};
use crate::store::{OpenError, read_bounded, write_atomic};
use crate::witness::Sidecar;

/// A report that has no witness yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The folder that holds it: real, without links.
    pub folder: PathBuf,
    pub name: String,
    /// Of its bytes as they are.
    pub digest: Digest,
    /// Where its sidecar goes.
    pub sidecar: PathBuf,
}

/// A sidecar cannot be made, or not put where it belongs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SidecarError {
    #[error("cannot read `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("`{0}` is not a regular file")]
    NotAFile(PathBuf),
    #[error("the name of `{0}` is not plain text")]
    Name(PathBuf),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("`{0}` has a replay block already")]
    HasBlock(PathBuf),
    #[error("`{0}` is the sidecar of a run and is never replaced")]
    OfARun(PathBuf),
    #[error("`{0}` is there and is no sidecar of ours")]
    Foreign(PathBuf),
    #[error("`{0}` was backfilled before and says something else")]
    Differs(PathBuf),
    #[error("cannot write `{path}`")]
    Write { path: PathBuf, source: io::Error },
}

impl SidecarError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::HasBlock(_) => Some("it does not predate replay blocks: `proofmark verify-replay` checks it"),
            Self::OfARun(_) => Some("there is nothing to backfill: `proofmark verify-replay` checks it"),
            Self::Foreign(_) => Some("move it away if it is not needed"),
            Self::Differs(_) => Some("replace it with `--overwrite`, or see what is new with `--dry-run`"),
            Self::Io { .. } | Self::NotAFile(_) => Some("name the report, such as `docs/evals/x.md`"),
            _ => None,
        }
    }
}

impl Report {
    /// Looks at a report, named as `verify-replay` takes it: `x.md`, `x`, or a directory with a `report.md`.
    pub fn look(path: &Path) -> Result<Self, SidecarError> {
        let path = &locate::target_of(path).markdown;
        let io_error = |source| SidecarError::Io { path: path.clone(), source };
        // A link would have its sidecar elsewhere than its report; a pipe would make us wait.
        if !fs::symlink_metadata(path).map_err(io_error)?.is_file() {
            return Err(SidecarError::NotAFile(path.clone()));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(io_error)?;
        let name = path.file_name().and_then(|name| name.to_str()).filter(|name| !name.chars().any(char::is_control));
        let name = name.ok_or_else(|| SidecarError::Name(path.clone()))?.to_owned();
        let bytes = read_bounded(path, markdown::MAX_MARKDOWN)?;
        if markdown::find(&String::from_utf8_lossy(&bytes)).is_some() {
            return Err(SidecarError::HasBlock(path.clone()));
        }
        let sidecar = locate::target_of(path).sidecar;
        Ok(Self { folder, name, digest: Digest::of(&bytes), sidecar })
    }
}

/// What to do about a sidecar that was backfilled before and says something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDifference {
    Refuse,
    Replace,
}

/// What putting a sidecar in its place comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Placed {
    New,
    Replaced,
    Unchanged,
}

/// Says what [`write`] would do.
pub fn check(path: &Path, bytes: &[u8], on_difference: OnDifference) -> Result<Placed, SidecarError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Placed::New),
        Err(source) => return Err(SidecarError::Io { path: path.to_owned(), source }),
        Ok(metadata) if !metadata.is_file() => return Err(SidecarError::Foreign(path.to_owned())),
        Ok(_) => {}
    }
    let have = Sidecar::read(path)?;
    if have.is(bytes) {
        return Ok(Placed::Unchanged);
    }
    let foreign = |_| SidecarError::Foreign(path.to_owned());
    match block::parse(&have).map_err(foreign)? {
        // What a run wrote, of any program, cannot be made again.
        block if !block.backfilled => Err(SidecarError::OfARun(path.to_owned())),
        block if block.dialect != Dialect::Proofmark => Err(SidecarError::Foreign(path.to_owned())),
        _ if on_difference == OnDifference::Refuse => Err(SidecarError::Differs(path.to_owned())),
        _ => Ok(Placed::Replaced),
    }
}

/// Puts a sidecar in its place, when what is there may be replaced.
pub fn write(path: &Path, bytes: &[u8], on_difference: OnDifference) -> Result<Placed, SidecarError> {
    let placed = check(path, bytes, on_difference)?;
    if placed != Placed::Unchanged {
        write_atomic(path, bytes).map_err(|source| SidecarError::Write { path: path.to_owned(), source })?;
    }
    Ok(placed)
}
