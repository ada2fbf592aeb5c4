//! The digests of many files, with every processor at work.
//!
//! SHA-256 of one file cannot be split, so files go out largest first: the longest one starts at once and has a processor
//! to itself, and the others fill the other processors meanwhile. Memory is one buffer a thread, however large files are.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use proofmark_canon::{Digest, Hasher};

/// A regular file that was seen.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) path: PathBuf,
    pub(super) metadata: Metadata,
}

/// What a file turned out to be.
#[derive(Debug)]
pub(super) enum Hashed {
    Whole {
        digest: Digest,
        bytes: u64,
    },
    /// Between the look and the reading somebody put something else there.
    Replaced,
    Failed(io::Error),
}

/// Small enough to stay in a processor's cache between the read and the hash: that halves the time in the kernel.
const BUFFER: usize = 1 << 16;
/// More threads than this would only wait for the disk.
const MOST_THREADS: usize = 16;

/// Hashes all files, and does something else meanwhile. Digests come in the order of the files. `progress` is told how
/// many bytes are hashed, of how many.
pub(super) fn hash_all<T>(
    files: &[Seen],
    progress: &(dyn Fn(u64, u64) + Sync),
    meanwhile: impl FnOnce() -> T,
) -> (Vec<Hashed>, T) {
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(files[*at].metadata.len()));
    // This thread does the other thing first, then hashes too: one thread more than there are processors would take time
    // from the longest file.
    let processors = thread::available_parallelism().map_or(2, NonZero::get).min(MOST_THREADS);
    let others = (processors - 1).min(files.len());
    let total = files.iter().map(|file| file.metadata.len()).sum();
    let bytes = AtomicU64::new(0);
    let tell = |more: u64| progress(bytes.fetch_add(more, Ordering::Relaxed) + more, total);
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Hashed>>> = files.iter().map(|_| Mutex::default()).collect();
    let work = || {
        let mut buffer = vec![0; BUFFER];
        while let Some(at) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let hashed = hash(&files[*at], &mut buffer, &tell).unwrap_or_else(Hashed::Failed);
            *done[*at].lock().unwrap_or_else(PoisonError::into_inner) = Some(hashed);
        }
    };
    let else_done = thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(work);
        }
        let else_done = meanwhile();
        work();
        else_done
    });
    let settled = done.into_iter().map(|slot| {
        let hashed = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
        hashed.unwrap_or_else(|| Hashed::Failed(io::Error::other("it was not hashed")))
    });
    (settled.collect(), else_done)
}

fn hash(seen: &Seen, buffer: &mut [u8], tell: &dyn Fn(u64)) -> io::Result<Hashed> {
    // Looked at again right before it is opened: a pipe that took its place would wait for a writer.
    if !is_same(&seen.metadata, &fs::symlink_metadata(&seen.path)?) {
        return Ok(Hashed::Replaced);
    }
    let mut file = File::open(&seen.path)?;
    if !is_same(&seen.metadata, &file.metadata()?) {
        return Ok(Hashed::Replaced);
    }
    let mut hasher = Hasher::new();
    let mut bytes = 0;
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok(Hashed::Whole { digest: hasher.finish(), bytes }),
            Ok(read) => {
                hasher.update(&buffer[..read]);
                bytes += read as u64;
                tell(read as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    b.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, b: &Metadata) -> bool {
    b.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::write_atomic;

    fn see(path: PathBuf) -> Seen {
        Seen { metadata: fs::symlink_metadata(&path).unwrap(), path }
    }

    #[test]
    fn digests_come_in_the_order_of_the_files_whatever_their_sizes() {
        let dir = tempfile::tempdir().unwrap();
        let contents: Vec<Vec<u8>> = [3, 3_000_000, 0, 1 << 20, 70_000].iter().map(|size| vec![7; *size]).collect();
        let files: Vec<Seen> = (0..contents.len())
            .map(|at| {
                let path = dir.path().join(at.to_string());
                write_atomic(&path, &contents[at]).unwrap();
                see(path)
            })
            .collect();
        let told = Mutex::new(Vec::new());
        let progress = |done: u64, total: u64| told.lock().unwrap().push((done, total));
        let (digests, other) = hash_all(&files, &progress, || 5);
        assert_eq!(other, 5);
        let bytes: u64 = contents.iter().map(|content| content.len() as u64).sum();
        assert_eq!(told.lock().unwrap().iter().max(), Some(&(bytes, bytes)));
        for (hashed, content) in digests.iter().zip(&contents) {
            let Hashed::Whole { digest, bytes } = hashed else { panic!("{hashed:?}") };
            assert_eq!((*digest, *bytes), (Digest::of(content), content.len() as u64));
        }
        assert_eq!(hash_all(&[], &|_, _| {}, || ()).0.len(), 0);
    }

    #[test]
    fn what_was_put_in_a_files_place_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write_atomic(&path, b"a").unwrap();
        let files = [see(path.clone())];
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(matches!(hash_all(&files, &|_, _| {}, || ()).0[..], [Hashed::Replaced]));
        fs::remove_file(&path).unwrap();
        assert!(matches!(hash_all(&files, &|_, _| {}, || ()).0[..], [Hashed::Failed(_)]));
    }
}
