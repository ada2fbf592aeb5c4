//! The right to write into a run directory.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::names;

/// What to do when the directory already holds something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExisting {
    /// Refuse.
    Refuse,
    /// Throw a run of ours away and start anew.
    Overwrite,
    /// Go on with an unfinished run.
    Resume,
}

/// A run directory that this process alone may write. Released when dropped or killed.
#[derive(Debug)]
pub struct Claim {
    dir: PathBuf,
    _lock: File,
}

/// The directory cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    #[error("another process is writing `{0}`")]
    Held(PathBuf),
    #[error("`{0}` already holds a finished run")]
    Finished(PathBuf),
    #[error("`{0}` already holds an unfinished run")]
    Unfinished(PathBuf),
    #[error("`{0}` is not empty and is not a run of ours")]
    NotOurs(PathBuf),
    #[error("`{0}` holds no run to resume")]
    NothingToResume(PathBuf),
    #[error("`{0}` is not a directory")]
    NotDirectory(PathBuf),
    #[error("cannot write `{path}`")]
    Io { path: PathBuf, source: io::Error },
}

impl ClaimError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Held(_) => Some("wait for it, or choose another `--run-dir`"),
            Self::Finished(_) => Some("choose another `--run-dir`, or replace it with `--overwrite`"),
            Self::Unfinished(_) => Some("go on with `--resume`, or throw it away with `--overwrite`"),
            Self::NotOurs(_) => Some("choose another `--run-dir`; only run directories are ever overwritten"),
            Self::NothingToResume(_) => Some("run without `--resume`"),
            _ => None,
        }
    }
}

/// What a directory holds.
enum Content {
    Nothing,
    Foreign,
    Unfinished,
    Finished,
}

impl Claim {
    /// Claims a directory, creating it when it does not exist.
    ///
    /// Nothing is changed when the claim is refused.
    pub fn take(dir: &Path, on_existing: OnExisting) -> Result<Self, ClaimError> {
        let io_error = |path: &Path| {
            let path = path.to_owned();
            move |source| ClaimError::Io { path, source }
        };
        if dir.exists() && !dir.is_dir() {
            return Err(ClaimError::NotDirectory(dir.to_owned()));
        }
        match (look(dir).map_err(io_error(dir))?, on_existing) {
            (Content::Foreign, _) => return Err(ClaimError::NotOurs(dir.to_owned())),
            (Content::Finished, OnExisting::Refuse) => return Err(ClaimError::Finished(dir.to_owned())),
            (Content::Unfinished, OnExisting::Refuse) => {
                // Someone may be at it right now, which is the better thing to say.
                if let Ok(file) = File::open(dir.join(names::WORK).join(names::LOCK)) {
                    lock(&file, dir)?;
                }
                return Err(ClaimError::Unfinished(dir.to_owned()));
            }
            (Content::Nothing, OnExisting::Resume) => return Err(ClaimError::NothingToResume(dir.to_owned())),
            _ => {}
        }
        let work = dir.join(names::WORK);
        fs::create_dir_all(&work).map_err(io_error(&work))?;
        let path = work.join(names::LOCK);
        let file = File::options().create(true).write(true).truncate(false).open(&path).map_err(io_error(&path))?;
        lock(&file, dir)?;
        let claim = Self { dir: dir.to_owned(), _lock: file };
        if on_existing == OnExisting::Overwrite {
            claim.clear().map_err(io_error(dir))?;
        }
        Ok(claim)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where a file of unfinished work is.
    pub fn work_file(&self, name: &str) -> PathBuf {
        self.dir.join(names::WORK).join(name)
    }

    /// Whether the directory holds a finished run.
    pub fn is_finished(&self) -> bool {
        self.dir.join(names::MANIFEST).exists()
    }

    /// Removes the unfinished work; the run is done.
    pub fn finish(self) -> io::Result<()> {
        fs::remove_dir_all(self.dir.join(names::WORK))
    }

    /// Removes what an earlier run left: our own files by name, nothing else.
    fn clear(&self) -> io::Result<()> {
        // The manifest goes first: from then on the directory is unfinished.
        for name in names::PLANE_1.iter().rev().chain(&names::PLANE_2) {
            remove_if_there(&self.dir.join(name))?;
        }
        super::outputs::clear_outputs(&self.dir)?;
        super::bodies::Bodies::clear(&self.dir.join(names::BODIES))?;
        for entry in fs::read_dir(self.dir.join(names::WORK))? {
            let entry = entry?;
            if entry.file_name() != names::LOCK {
                remove_if_there(&entry.path())?;
            }
        }
        Ok(())
    }
}

fn lock(file: &File, dir: &Path) -> Result<(), ClaimError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => ClaimError::Held(dir.to_owned()),
        TryLockError::Error(source) => ClaimError::Io { path: dir.to_owned(), source },
    })
}

fn look(dir: &Path) -> io::Result<Content> {
    if !dir.exists() {
        return Ok(Content::Nothing);
    }
    if dir.join(names::MANIFEST).exists() {
        // A `manifest.json` of another program does not make the folder ours.
        let ours = super::RunDir::open(dir).is_ok() || dir.join(names::WORK).is_dir();
        return Ok(if ours { Content::Finished } else { Content::Foreign });
    }
    if dir.join(names::WORK).is_dir() {
        return Ok(Content::Unfinished);
    }
    let empty = fs::read_dir(dir)?.next().is_none();
    Ok(if empty { Content::Nothing } else { Content::Foreign })
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_someone_else_is_never_touched() {
        let dir = tempfile::tempdir().unwrap();
        super::super::write_atomic(&dir.path().join("thesis.tex"), b"x").unwrap();
        super::super::write_atomic(&dir.path().join("manifest.json"), b"{}").unwrap();
        for on_existing in [OnExisting::Refuse, OnExisting::Overwrite, OnExisting::Resume] {
            assert!(matches!(Claim::take(dir.path(), on_existing), Err(ClaimError::NotOurs(_))));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_claim_is_exclusive_and_ends_with_its_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        let claim = Claim::take(&path, OnExisting::Refuse).unwrap();
        for on_existing in [OnExisting::Refuse, OnExisting::Overwrite, OnExisting::Resume] {
            assert!(matches!(Claim::take(&path, on_existing), Err(ClaimError::Held(_))), "{on_existing:?}");
        }
        drop(claim);
        assert!(matches!(Claim::take(&path, OnExisting::Refuse), Err(ClaimError::Unfinished(_))));
        assert!(Claim::take(&path, OnExisting::Resume).is_ok());
    }
}
