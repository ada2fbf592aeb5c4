//! A file of lines, read and scanned on its own thread.
//!
//! Lines travel in batches of about a block. Used batches go back to be filled again, so that a file
//! of any size costs a handful of blocks.

use std::collections::HashMap;
use std::fs::File;
use std::hash::Hasher as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::Scope;

use memchr::memchr_iter;

use super::error::DiffError;
use super::scan::{Row, Shape};
use crate::spill::{Sorter, mark};
use crate::store::MAX_LINE;
use crate::store::blocks::{Blocks, Filled};

const BLOCK: usize = 256 * 1024;
/// How many batches wait to be taken.
const WAITING: usize = 4;

/// Lines in the order of the file.
pub(super) struct Cursor<const N: usize> {
    shape: &'static Shape<N>,
    batches: Receiver<Result<Batch<N>, DiffError>>,
    used: Sender<Batch<N>>,
    batch: Batch<N>,
    at: usize,
}

impl<const N: usize> Cursor<N> {
    /// Starts to read a file.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        shape: &'static Shape<N>,
        path: &Path,
    ) -> io::Result<Self> {
        let reader = Reader::open(shape, path, Some(Keys::new()))?;
        let (to, batches) = sync_channel(WAITING);
        let (used, back) = channel();
        scope.spawn(move || reader.run(&to, &back));
        Ok(Self { shape, batches, used, batch: Batch::default(), at: 0 })
    }

    /// Makes the next line current; false at the end of the file.
    pub(super) fn load(&mut self) -> Result<bool, DiffError> {
        while self.at == self.batch.entries.len() {
            // The channel closes when the reader has given everything.
            let Ok(next) = self.batches.recv() else { return Ok(false) };
            let used = std::mem::replace(&mut self.batch, next?);
            // A reader that is done takes nothing back.
            let _ = self.used.send(used);
            self.at = 0;
        }
        Ok(true)
    }

    /// The current line. Call [`Cursor::load`] first.
    pub(super) fn row(&self) -> Row<'_, N> {
        self.batch.row(self.shape, self.at)
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }
}

/// Whole lines and where their members are.
struct Batch<const N: usize> {
    bytes: Vec<u8>,
    entries: Vec<Entry<N>>,
    first_line: u64,
    offset: u64,
}

struct Entry<const N: usize> {
    start: u32,
    length: u32,
    ends: [u32; N],
}

impl<const N: usize> Default for Batch<N> {
    fn default() -> Self {
        Self { bytes: Vec::new(), entries: Vec::new(), first_line: 1, offset: 0 }
    }
}

impl<const N: usize> Batch<N> {
    fn row(&self, shape: &'static Shape<N>, at: usize) -> Row<'_, N> {
        let Entry { start, length, ends } = &self.entries[at];
        let (start, length) = (*start as usize, *length as usize);
        Row {
            shape,
            bytes: &self.bytes[start..start + length],
            ends,
            line: self.first_line + at as u64,
            offset: self.offset + start as u64,
        }
    }
}

struct Reader<const N: usize> {
    shape: &'static Shape<N>,
    path: PathBuf,
    blocks: Blocks<File>,
    /// `None` in a second pass, which looks for a few.
    keys: Option<Keys>,
}

impl<const N: usize> Reader<N> {
    fn open(shape: &'static Shape<N>, path: &Path, keys: Option<Keys>) -> io::Result<Self> {
        let blocks = Blocks::new(File::open(path)?, BLOCK, MAX_LINE);
        Ok(Self { shape, path: path.to_owned(), blocks, keys })
    }

    fn run(mut self, to: &SyncSender<Result<Batch<N>, DiffError>>, back: &Receiver<Batch<N>>) {
        let (mut line, mut offset) = (1, 0);
        loop {
            let mut batch = back.try_recv().unwrap_or_default();
            batch.first_line = line;
            batch.offset = offset;
            let filled = self.fill(&mut batch);
            let lines = batch.entries.len() as u64;
            line += lines;
            offset += filled.as_ref().map_or(0, |taken| *taken as u64);
            let failed = filled.is_err();
            // Nobody listens any more when the comparison has failed elsewhere.
            if to.send(filled.map(|_| batch)).is_err() || failed {
                return;
            }
            if lines == 0 {
                break;
            }
        }
        if let Err(error) = self.check_duplicates() {
            let _ = to.send(Err(error));
        }
    }

    /// Fills a batch with whole lines and returns how many bytes they take. No lines means the end of the file.
    fn fill(&mut self, batch: &mut Batch<N>) -> Result<usize, DiffError> {
        batch.entries.clear();
        let filled = self.blocks.fill(&mut batch.bytes, || ()).map_err(|source| self.io_error(source))?;
        let length = match filled {
            Filled::End => return Ok(0),
            Filled::Lines(length) => length,
            Filled::TooLong => {
                let (path, line) = (self.path.clone(), batch.first_line);
                return Err(DiffError::TooLong { path, line, limit: MAX_LINE });
            }
        };
        let bytes = &batch.bytes[..length];
        if !bytes.ends_with(b"\n") {
            let lines = memchr_iter(b'\n', bytes).count() as u64;
            return Err(DiffError::CutOff { path: self.path.clone(), line: batch.first_line + lines });
        }
        let mut start = 0;
        for end in memchr_iter(b'\n', bytes) {
            let line = &bytes[start..end];
            let number = batch.first_line + batch.entries.len() as u64;
            let Some(ends) = self.shape.scan(line) else {
                return Err((self.shape.explain)(&self.path, number, line));
            };
            // A block is below 2^29 bytes: see MAX_LINE.
            let entry = Entry { start: start as u32, length: line.len() as u32, ends };
            let row = Row { shape: self.shape, bytes: line, ends: &entry.ends, line: number, offset: 0 };
            if let Some(keys) = &mut self.keys {
                keys.add(&row.id().text()).map_err(|source| DiffError::Io { path: self.path.clone(), source })?;
            }
            batch.entries.push(entry);
            start = end + 1;
        }
        Ok(length)
    }

    fn io_error(&self, source: io::Error) -> DiffError {
        DiffError::Io { path: self.path.clone(), source }
    }

    /// Looks for keys that stand twice. Equal hashes only say where to look.
    fn check_duplicates(&mut self) -> Result<(), DiffError> {
        let Some(keys) = self.keys.take() else { return Ok(()) };
        let mut repeated = keys.repeated().map_err(|source| self.io_error(source))?;
        loop {
            let suspects: io::Result<Vec<_>> = repeated.by_ref().take(MOST_SUSPECTS).collect();
            let suspects = suspects.map_err(|source| self.io_error(source))?;
            if suspects.is_empty() {
                return Ok(());
            }
            let again = Self::open(self.shape, &self.path, None).map_err(|source| self.io_error(source))?;
            again.look_for(&suspects)?;
        }
    }

    /// Fails at the first line with one of these hashes whose key stood before.
    fn look_for(mut self, suspects: &[[u8; HASH]]) -> Result<(), DiffError> {
        let mut seen = HashMap::new();
        let mut batch = Batch::default();
        loop {
            self.fill(&mut batch)?;
            if batch.entries.is_empty() {
                return Ok(());
            }
            for at in 0..batch.entries.len() {
                let row = batch.row(self.shape, at);
                if suspects.binary_search(&hash(&row.id().text())).is_err() {
                    continue;
                }
                if let Some(first) = seen.insert(mark(&row.id().text()), row.line) {
                    return Err(duplicate(&self.path, row, first));
                }
            }
            batch.first_line += batch.entries.len() as u64;
        }
    }
}

/// The error for a key that stood in an earlier line too.
pub(super) fn duplicate<const N: usize>(path: &Path, row: Row<'_, N>, first: u64) -> DiffError {
    let key = super::text_of(row.key());
    DiffError::Duplicate { path: path.to_owned(), line: row.line.max(first), first: first.min(row.line), key }
}

/// A hash of every key of a file.
struct Keys(Sorter<HASH>);

const HASH: usize = 8;
/// Hashes that are held in memory: 8 MB.
const ROOM: usize = 1 << 20;
/// Repeated hashes that are looked for at once.
const MOST_SUSPECTS: usize = 1 << 16;

impl Keys {
    fn new() -> Self {
        Self(Sorter::new(ROOM, None))
    }

    fn add(&mut self, key: &[u8]) -> io::Result<()> {
        self.0.push(hash(key))
    }

    /// Gives the hashes that occur more than once, in order.
    fn repeated(self) -> io::Result<impl Iterator<Item = io::Result<[u8; HASH]>>> {
        let (mut last, mut given) = (None, None);
        Ok(self.0.finish()?.into_walk()?.filter_map(move |hash| match hash {
            Ok(hash) => {
                let is_repeated = last.replace(hash) == Some(hash);
                (is_repeated && given.replace(hash) != Some(hash)).then_some(Ok(hash))
            }
            Err(error) => Some(Err(error)),
        }))
    }
}

fn hash(key: &[u8]) -> [u8; HASH] {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(key);
    hasher.finish().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::sample;
    use crate::diff::scan::TRAJECTORY;

    fn read(bytes: &[u8]) -> Result<Vec<(u64, u64, Vec<u8>)>, DiffError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trajectories.jsonl");
        crate::store::write_atomic(&path, bytes).unwrap();
        std::thread::scope(|scope| {
            let mut cursor = Cursor::start(scope, &TRAJECTORY, &path).unwrap();
            let mut rows = Vec::new();
            while cursor.load()? {
                let row = cursor.row();
                rows.push((row.line, row.offset, row.bytes.to_vec()));
                cursor.advance();
            }
            Ok(rows)
        })
    }

    fn lines(count: usize, size: impl Fn(usize) -> usize) -> Vec<Vec<u8>> {
        let line =
            |i| proofmark_canon::to_vec(&sample::trajectory(&format!("t/{i}/m/c/0"), &"x".repeat(size(i)))).unwrap();
        (0..count).map(line).collect()
    }

    fn joined(lines: &[Vec<u8>]) -> Vec<u8> {
        lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect()
    }

    #[test]
    fn lines_keep_their_place_across_blocks_and_beyond_them() {
        let lines = lines(3000, |i| if i == 1500 { BLOCK * 3 } else { i % 700 });
        let bytes = joined(&lines);
        let rows = read(&bytes).unwrap();
        assert_eq!(rows.len(), lines.len());
        let mut offset = 0;
        for (at, (number, place, line)) in rows.iter().enumerate() {
            assert_eq!((*number, *place), (at as u64 + 1, offset));
            assert!(*line == lines[at]);
            offset += line.len() as u64 + 1;
        }
        assert!(read(b"").unwrap().is_empty());
    }

    #[test]
    fn a_hash_that_occurs_often_is_repeated_once() {
        let mut keys = Keys(Sorter::new(3, None));
        for key in ["a", "b", "a", "c", "a", "d", "c", "e"] {
            keys.add(key.as_bytes()).unwrap();
        }
        let found: Vec<_> = keys.repeated().unwrap().map(Result::unwrap).collect();
        let mut want = [b"a", b"c"].map(|key| hash(key));
        want.sort_unstable();
        assert_eq!(found, want);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let good = joined(&lines(2, |_| 10));
        let with = |more: &[u8]| read(&[good.as_slice(), more].concat()).unwrap_err();
        assert!(matches!(with(b"{\"final"), DiffError::CutOff { line: 3, .. }));
        assert!(matches!(with(b"\n"), DiffError::NotJson { line: 3, .. }));
        assert!(matches!(with(b"{\"final\n"), DiffError::NotJson { line: 3, .. }));
        assert!(matches!(with(b"[]\n"), DiffError::Shape { line: 3, .. }));
        let mut spaced = lines(3, |_| 10)[2].clone();
        spaced.insert(1, b' ');
        spaced.push(b'\n');
        assert!(matches!(with(&spaced), DiffError::NotCanonical { line: 3, .. }));
        assert!(matches!(with(&joined(&lines(1, |_| 11))), DiffError::Duplicate { line: 3, first: 1, .. }));
    }
}
