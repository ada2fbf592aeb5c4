//! Which plane-1 files differ byte for byte.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use proofmark_canon::Digest;
use schemars::JsonSchema;
use serde::Serialize;

use super::error::DiffError;
use crate::store::{RunDir, digest_file, names};

/// A plane-1 file that is not the same in both runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileDifference {
    /// Null when A has no such file.
    pub a: Option<FileSide>,
    pub b: Option<FileSide>,
    pub name: String,
}

/// A file in one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSide {
    pub bytes: u64,
    /// As the manifest records it, which `validate` checks; the manifest's own is computed.
    #[schemars(with = "Option<String>")]
    pub digest: Option<Digest>,
}

/// Compares one file of two runs. `known` is what a join already found out.
pub(super) fn compare(
    name: &str,
    a: &RunDir,
    b: &RunDir,
    known: Option<bool>,
) -> Result<Option<FileDifference>, DiffError> {
    let (of_a, of_b) = (side(name, a)?, side(name, b)?);
    let same = match (&of_a, &of_b) {
        (None, None) => true,
        (Some(of_a), Some(of_b)) if of_a.bytes == of_b.bytes => match known {
            Some(same) => same,
            None => same_bytes(&a.file(name), &b.file(name))?,
        },
        _ => false,
    };
    Ok((!same).then(|| FileDifference { a: of_a, b: of_b, name: name.to_owned() }))
}

/// Says when what the manifests record contradicts what the bytes are.
pub(super) fn contradiction(name: &str, a: &RunDir, b: &RunDir, differs: bool) -> Option<String> {
    let recorded = |run: &RunDir| run.manifest().artifacts.get(name).copied();
    let (of_a, of_b) = (recorded(a)?, recorded(b)?);
    match (of_a == of_b, differs) {
        (true, true) => Some(format!(
            "`{name}` differs, but both manifests record {of_a}: one was changed after its run; `proofmark validate` says which"
        )),
        (false, false) => Some(format!(
            "`{name}` is the same, but the manifests record {of_a} and {of_b}: one was changed after its run; `proofmark validate` says which"
        )),
        _ => None,
    }
}

fn side(name: &str, run: &RunDir) -> Result<Option<FileSide>, DiffError> {
    let path = run.file(name);
    let io_error = |source| DiffError::Io { path: path.clone(), source };
    let bytes = match std::fs::metadata(&path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error(error)),
    };
    let digest = match name {
        names::MANIFEST => Some(digest_file(&path).map_err(io_error)?.0),
        _ => run.manifest().artifacts.get(name).copied(),
    };
    Ok(Some(FileSide { bytes, digest }))
}

fn same_bytes(a: &Path, b: &Path) -> Result<bool, DiffError> {
    const BLOCK: u64 = 256 * 1024;
    let open = |path: &Path| File::open(path).map_err(|source| DiffError::Io { path: path.to_owned(), source });
    let (mut file_a, mut file_b) = (open(a)?, open(b)?);
    let (mut block_a, mut block_b) = (Vec::new(), Vec::new());
    loop {
        for (file, block, path) in [(&mut file_a, &mut block_a, a), (&mut file_b, &mut block_b, b)] {
            block.clear();
            let read = file.take(BLOCK).read_to_end(block);
            read.map_err(|source| DiffError::Io { path: path.to_owned(), source })?;
        }
        if block_a != block_b {
            return Ok(false);
        }
        if block_a.is_empty() {
            return Ok(true);
        }
    }
}
