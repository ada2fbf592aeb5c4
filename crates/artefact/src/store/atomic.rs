//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use proofmark_canon::{Digest, Hasher};

/// Writes a file through a temporary sibling, syncs it and renames it into place.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<Digest> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Writes a file that its owner alone can read (mode 600), and never over another one.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    // Two processes that want the same name must not share the unfinished file.
    let mut temporary_name = std::ffi::OsString::from(".");
    temporary_name.push(name);
    temporary_name.push(format!(".{}.partial", std::process::id()));
    let temporary = path.with_file_name(temporary_name);
    let write = || {
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        // A rename would take the place of a file that is there; a link does not.
        fs::hard_link(&temporary, path)
    };
    let outcome = write();
    // It is ours alone by its name; one that a kill left behind goes too.
    let _ = fs::remove_file(&temporary);
    outcome?;
    sync_dir(path.parent().unwrap_or(Path::new("")))
}

/// A file under construction: buffered, hashed on the way, invisible until [`AtomicFile::commit`].
///
/// Dropped without a commit, it leaves nothing behind.
pub struct AtomicFile {
    // `Option` so that `commit` can take it apart; always `Some` before.
    file: Option<BufWriter<File>>,
    hasher: Hasher,
    temporary: PathBuf,
    target: PathBuf,
}

impl AtomicFile {
    pub fn create(target: &Path) -> io::Result<Self> {
        Self::create_in(target.parent().unwrap_or(Path::new("")), target)
    }

    /// Keeps the unfinished file in a folder on the same file system.
    pub fn create_in(folder: &Path, target: &Path) -> io::Result<Self> {
        let name = target.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
        let mut temporary_name = std::ffi::OsString::from(".");
        temporary_name.push(name);
        temporary_name.push(".partial");
        let temporary = folder.join(temporary_name);
        let file = BufWriter::with_capacity(256 * 1024, File::create(&temporary)?);
        Ok(Self { file: Some(file), hasher: Hasher::new(), temporary, target: target.to_owned() })
    }

    /// Takes rights away from it, whatever the process's mask leaves: `0o022` lets its owner alone change it.
    pub fn restrict(&mut self, rights: u32) -> io::Result<()> {
        let file = self.file.as_ref().ok_or_else(|| io::Error::other("restricted after the commit"))?.get_ref();
        let mut permissions = file.metadata()?.permissions();
        permissions.set_mode(permissions.mode() & !rights);
        file.set_permissions(permissions)
    }

    /// Syncs the file, gives it its name and returns the digest of its bytes.
    pub fn commit(self) -> io::Result<Digest> {
        let parent = self.target.parent().map(Path::to_owned);
        let digest = self.commit_unsynced()?;
        parent.map_or(Ok(()), |parent| sync_dir(&parent))?;
        Ok(digest)
    }

    /// The same for one of several files: a crash may take its name away again until someone syncs the folder.
    pub fn commit_unsynced(mut self) -> io::Result<Digest> {
        let file = self.file.take().ok_or_else(|| io::Error::other("committed twice"))?;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        fs::rename(&self.temporary, &self.target)?;
        Ok(std::mem::take(&mut self.hasher).finish())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = self.file.as_mut().ok_or_else(|| io::Error::other("written after the commit"))?;
        // All or an error: a short count would make hash and file disagree.
        file.write_all(bytes)?;
        self.hasher.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // Nothing better can be done here; a leftover is hidden and is overwritten next time.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Makes renames in a directory durable.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_committed_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_private_file_is_for_its_owner_and_is_never_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key.pem");
        write_private(&path, b"one").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(write_private(&path, b"two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_committed_file_has_the_digest_it_says() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        let digest = write_atomic(&path, b"whole").unwrap();
        assert_eq!(crate::store::digest_file(&path).unwrap(), (digest, 5));
        assert_eq!(digest, Digest::of(b"whole"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
