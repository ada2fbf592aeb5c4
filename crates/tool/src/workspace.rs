//! The files that one sample's tools can see.
//!
//! A folder of its own, made when first needed and removed with the sample. It holds copies of the item's
//! attachments and what the tools write. Nothing else of the run is below it: no gold, no dataset, no run directory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tempfile::TempDir;

/// Tells samples of this process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// One sample's files.
pub struct Workspace {
    id: u64,
    attached: Arc<[Attached]>,
    scratch: Option<PathBuf>,
    dir: OnceLock<Result<TempDir, String>>,
}

/// A file of the item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// A plain file name, unique in its sample: no separator, not `.` or `..`.
    pub name: String,
    pub media_type: String,
    pub bytes: Arc<[u8]>,
}

impl Workspace {
    /// `scratch` is where the folder is made; the system's place for such things by default.
    pub fn new(attached: Arc<[Attached]>, scratch: Option<PathBuf>) -> Self {
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), attached, scratch, dir: OnceLock::new() }
    }

    /// A sample without attachments.
    pub fn empty() -> Self {
        Self::new(Arc::default(), None)
    }

    /// Whose files these are, in this process. It reaches no artefact.
    pub fn id(&self) -> u64 {
        self.id
    }

    pub fn attached(&self) -> &[Attached] {
        &self.attached
    }

    /// The folder, with the attachments in it.
    pub fn dir(&self) -> io::Result<&Path> {
        let made = self.dir.get_or_init(|| self.make().map_err(|error| error.to_string()));
        made.as_ref().map(TempDir::path).map_err(|error| io::Error::other(error.clone()))
    }

    fn make(&self) -> io::Result<TempDir> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("proofmark-work-");
        let dir = match &self.scratch {
            Some(scratch) => builder.tempdir_in(scratch)?,
            None => builder.tempdir()?,
        };
        for file in &*self.attached {
            proofmark_artefact::store::write_atomic(&dir.path().join(&file.name), &file.bytes)?;
        }
        Ok(dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_holds_the_attachments_and_goes_with_the_sample() {
        let file = Attached { name: "a.csv".into(), media_type: "text/csv".into(), bytes: b"1,2"[..].into() };
        let workspace = Workspace::new([file].into(), None);
        let dir = workspace.dir().unwrap().to_owned();
        assert_eq!(std::fs::read(dir.join("a.csv")).unwrap(), b"1,2");
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
        drop(workspace);
        assert!(!dir.exists());
    }
}
