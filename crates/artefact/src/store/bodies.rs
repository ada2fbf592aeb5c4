//! Whole bodies beside the run: packed, each once, named by their digest.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use proofmark_canon::Digest;

use super::atomic::write_atomic;

/// The folder of whole tool results, `bodies/` beside the records. Outside the signed set.
#[derive(Debug)]
pub struct Bodies {
    dir: PathBuf,
    /// Two threads that put the same body would write the same unfinished file. Bodies are spread over the locks.
    locks: [Mutex<()>; 16],
}

/// A body cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    #[error("there is no body {0}")]
    Missing(Digest),
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("`{path}` is longer than {limit} bytes")]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("`{path}` holds the body {found}")]
    Changed { path: PathBuf, found: Digest },
}

impl Bodies {
    /// Opens the folder, creating it when it does not exist.
    pub fn open(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        Ok(Self { dir: dir.to_owned(), locks: Default::default() })
    }

    /// The folder as it is, to read from; it need not be there.
    pub fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), locks: Default::default() }
    }

    pub fn has(&self, digest: &Digest) -> bool {
        is_file(&self.path(digest))
    }

    /// Removes what [`Bodies::put`] wrote, and the folder when nothing else is in it.
    pub fn clear(dir: &Path) -> io::Result<()> {
        let entries = match fs::symlink_metadata(dir) {
            Ok(metadata) if metadata.is_dir() => fs::read_dir(dir)?,
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut has_others = false;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let hex = name.strip_suffix(".zst").unwrap_or_default();
            let is_ours = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_ours && entry.file_type()?.is_file() {
                fs::remove_file(entry.path())?;
            } else {
                has_others = true;
            }
        }
        if has_others { Ok(()) } else { fs::remove_dir(dir) }
    }

    /// Keeps a body unless it is there already.
    pub fn put(&self, body: &[u8]) -> io::Result<Digest> {
        let digest = Digest::of(body);
        let path = self.path(&digest);
        if is_file(&path) {
            return Ok(digest);
        }
        let packed = pack(body)?;
        let lock = &self.locks[usize::from(digest.as_bytes()[0] >> 4)];
        // The lock guards no data, so a thread that died with it broke nothing.
        let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_file(&path) {
            write_atomic(&path, &packed)?;
        }
        Ok(digest)
    }

    /// Reads a body of at most `limit` bytes and checks that it is the one.
    pub fn load(&self, digest: &Digest, limit: u64) -> Result<Vec<u8>, BodyError> {
        let path = self.path(digest);
        let failed = |source| BodyError::Read { path: path.clone(), source };
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => {}
            // A link may lead to anything, and a pipe waits for its writer.
            Ok(_) => return Err(failed(io::Error::other("it is not a regular file"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(BodyError::Missing(*digest)),
            Err(error) => return Err(failed(error)),
        }
        let file = File::open(&path).map_err(failed)?;
        let unpacked = zstd::stream::read::Decoder::new(file).map_err(failed)?;
        let mut body = Vec::new();
        unpacked.take(limit.saturating_add(1)).read_to_end(&mut body).map_err(failed)?;
        if body.len() as u64 > limit {
            return Err(BodyError::TooLarge { path, limit });
        }
        let found = Digest::of(&body);
        if found != *digest {
            return Err(BodyError::Changed { path, found });
        }
        Ok(body)
    }

    /// Where a body is, or would be.
    pub fn path(&self, digest: &Digest) -> PathBuf {
        self.dir.join(format!("{}.zst", digest.hex()))
    }
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

fn pack(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3)?;
    encoder.include_checksum(true)?;
    encoder.set_pledged_src_size(Some(body.len() as u64))?;
    encoder.write_all(body)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_body_is_kept_once_packed_and_comes_back_whole() {
        let dir = tempfile::tempdir().unwrap();
        let bodies = Bodies::open(&dir.path().join("bodies")).unwrap();
        let body = b"a page ".repeat(10_000);
        let digest = bodies.put(&body).unwrap();
        assert_eq!(digest, Digest::of(&body));
        let written = fs::metadata(bodies.path(&digest)).unwrap();
        assert!(written.len() < 1000, "{}", written.len());
        bodies.put(&body).unwrap();
        assert_eq!(fs::metadata(bodies.path(&digest)).unwrap().modified().unwrap(), written.modified().unwrap());
        assert_eq!(bodies.load(&digest, 70_000).unwrap(), body);
        let empty = bodies.put(b"").unwrap();
        assert_eq!(bodies.load(&empty, 0).unwrap(), b"");
        let mut want = [digest, empty].map(|digest| format!("{}.zst", digest.hex()));
        want.sort();
        assert_eq!(names(&dir.path().join("bodies")), want);
    }

    #[test]
    fn a_body_that_is_missing_changed_or_too_long_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let bodies = Bodies::open(dir.path()).unwrap();
        let body = vec![7u8; 1 << 20];
        let digest = bodies.put(&body).unwrap();
        assert!(matches!(bodies.load(&digest, (1 << 20) - 1), Err(BodyError::TooLarge { .. })));
        assert!(matches!(bodies.load(&Digest::of(b"x"), 10), Err(BodyError::Missing(_))));
        fs::copy(bodies.path(&digest), bodies.path(&Digest::of(b"x"))).unwrap();
        assert!(matches!(bodies.load(&Digest::of(b"x"), 1 << 20), Err(BodyError::Changed { .. })));
        let mut packed = fs::read(bodies.path(&digest)).unwrap();
        packed.truncate(packed.len() / 2);
        write_atomic(&bodies.path(&digest), &packed).unwrap();
        assert!(matches!(bodies.load(&digest, 1 << 20), Err(BodyError::Read { .. })));
    }

    #[test]
    fn many_threads_may_put_the_same_bodies() {
        let dir = tempfile::tempdir().unwrap();
        let bodies = Bodies::open(dir.path()).unwrap();
        let made: Vec<Vec<u8>> = (0..20).map(|number| format!("body {number} ").repeat(500).into_bytes()).collect();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| made.iter().for_each(|body| assert_eq!(bodies.put(body).unwrap(), Digest::of(body))));
            }
        });
        assert_eq!(names(dir.path()).len(), 20);
        for body in &made {
            assert_eq!(bodies.load(&Digest::of(body), 1 << 20).unwrap(), *body);
        }
    }
}
