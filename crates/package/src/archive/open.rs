//! A package, in whichever form it comes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use proofmark_canon::Digest;

use super::error::{ArchiveError, Refusal};
use super::limits::Limits;
use super::name::Name;
use super::{folder, read};

/// Where a package is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A `.tar` or a `.tar.zst`. Its bytes say which.
    Archive(PathBuf),
    Folder(PathBuf),
}

/// A package whose files are plain, within the limits, and not looked into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Where the files are.
    pub folder: PathBuf,
    /// The name of the one folder that the archive holds.
    pub top: Option<String>,
    pub files: BTreeMap<Name, Member>,
}

/// One file as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    pub size: u64,
    pub digest: Digest,
}

impl Source {
    /// Looks which of the two it is.
    pub fn at(path: &Path) -> Result<Self, ArchiveError> {
        let metadata = std::fs::metadata(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ArchiveError::Missing(path.to_owned()),
            _ => ArchiveError::Read { path: path.to_owned(), source },
        })?;
        if metadata.is_dir() {
            Ok(Self::Folder(path.to_owned()))
        } else if metadata.is_file() {
            Ok(Self::Archive(path.to_owned()))
        } else {
            // To open a pipe would wait for its writer; a device never ends.
            Err(ArchiveError::NotAFile(path.to_owned()))
        }
    }
}

/// Reads some small files of an archive to memory, each with its largest size, before anything of it is unpacked.
pub fn peek(archive: &Path, wanted: &[(&str, u64)], limits: &Limits) -> Result<BTreeMap<Name, Vec<u8>>, ArchiveError> {
    let mut file = File::open(archive).map_err(|source| ArchiveError::Read { path: archive.to_owned(), source })?;
    read::peek(&mut file, archive, wanted, limits)
}

/// Opens a package: an archive's files are written to `into`, an empty folder; those of a folder stay where they are.
///
/// `admit` is asked about each file before a byte of it is read, and before anything is written.
pub fn open(
    source: &Source,
    into: &Path,
    limits: &Limits,
    admit: impl FnMut(&Name, u64) -> Result<(), Refusal>,
) -> Result<Opened, ArchiveError> {
    match source {
        Source::Folder(path) => folder::read(path, limits, admit),
        Source::Archive(path) => {
            let mut file = File::open(path).map_err(|source| ArchiveError::Read { path: path.clone(), source })?;
            read::extract(&mut file, path, into, limits, admit)
        }
    }
}
