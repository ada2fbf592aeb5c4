//! Lines of two files matched by key, in one pass over both.
//!
//! Two runs of one suite have the same keys in the same order, so the files are walked in lock-step.
//! Where keys differ, both lines are remembered by place until their partner comes;
//! one that has none at the end is on one side only. So memory grows with how far samples have moved
//! and how many are on one side only, not with the runs.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::error::DiffError;
use super::read::{Cursor, duplicate};
use super::scan::{Row, Shape};
use crate::spill::mark;

/// Which of the two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    A,
    B,
}

/// Takes what the join finds.
pub(super) trait Visit<const N: usize> {
    /// Two lines of one key, and whether they are the same byte for byte.
    fn pair(&mut self, a: Row<'_, N>, b: Row<'_, N>, same: bool) -> Result<(), DiffError>;

    /// A line that must wait for its partner; it comes again, in `pair` or in `only`.
    fn waits(&mut self, row: Row<'_, N>) -> Result<(), DiffError>;

    /// A line without a partner.
    fn only(&mut self, side: Side, row: Row<'_, N>) -> Result<(), DiffError>;
}

/// What the join knows of the files as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Joined {
    pub(super) lines: [u64; 2],
    /// Whether the files are the same byte for byte.
    pub(super) identical: bool,
}

/// Matches the lines of two files.
pub(super) fn join<const N: usize>(
    shape: &'static Shape<N>,
    paths: [&Path; 2],
    visitor: &mut impl Visit<N>,
) -> Result<Joined, DiffError> {
    let io_error = |path: &Path| {
        let path = path.to_owned();
        move |source| DiffError::Io { path, source }
    };
    std::thread::scope(|scope| {
        let mut a = Cursor::start(scope, shape, paths[0]).map_err(io_error(paths[0]))?;
        let mut b = Cursor::start(scope, shape, paths[1]).map_err(io_error(paths[1]))?;
        let mut waiting_a = Waiting::open(shape, paths[0])?;
        let mut waiting_b = Waiting::open(shape, paths[1])?;
        let mut joined = Joined { lines: [0, 0], identical: true };
        loop {
            let (has_a, has_b) = (a.load()?, b.load()?);
            if has_a && has_b {
                let (row_a, row_b) = (a.row(), b.row());
                if row_a.id() == row_b.id() {
                    let same = row_a.bytes == row_b.bytes;
                    joined.identical &= same;
                    visitor.pair(row_a, row_b, same)?;
                    a.advance();
                    b.advance();
                    joined.lines[0] += 1;
                    joined.lines[1] += 1;
                    continue;
                }
            } else if !has_a && !has_b {
                break;
            }
            joined.identical = false;
            if has_a && waiting_b.take(a.row())? {
                let (row_a, row_b) = (a.row(), waiting_b.taken());
                visitor.pair(row_a, row_b, row_a.bytes == row_b.bytes)?;
                a.advance();
                joined.lines[0] += 1;
                continue;
            }
            if has_b && waiting_a.take(b.row())? {
                let (row_a, row_b) = (waiting_a.taken(), b.row());
                visitor.pair(row_a, row_b, row_a.bytes == row_b.bytes)?;
                b.advance();
                joined.lines[1] += 1;
                continue;
            }
            if has_a {
                let row = a.row();
                if has_b {
                    waiting_a.insert(row)?;
                    visitor.waits(row)?;
                } else {
                    // The other file is read to its end: nothing can come any more.
                    visitor.only(Side::A, row)?;
                }
                a.advance();
                joined.lines[0] += 1;
            }
            if has_b {
                let row = b.row();
                if has_a {
                    waiting_b.insert(row)?;
                    visitor.waits(row)?;
                } else {
                    visitor.only(Side::B, row)?;
                }
                b.advance();
                joined.lines[1] += 1;
            }
        }
        waiting_a.drain(|row| visitor.only(Side::A, row))?;
        waiting_b.drain(|row| visitor.only(Side::B, row))?;
        Ok(joined)
    })
}

/// Lines of one file that wait for their partner.
struct Waiting<'a, const N: usize> {
    shape: &'static Shape<N>,
    path: &'a Path,
    file: File,
    places: HashMap<[u8; 16], Place>,
    /// The line taken last.
    bytes: Vec<u8>,
    ends: [u32; N],
    place: Place,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    offset: u64,
    line: u64,
    length: u32,
}

impl<'a, const N: usize> Waiting<'a, N> {
    fn open(shape: &'static Shape<N>, path: &'a Path) -> Result<Self, DiffError> {
        let file = File::open(path).map_err(|source| DiffError::Io { path: path.to_owned(), source })?;
        let (places, place) = (HashMap::new(), Place::default());
        Ok(Self { shape, path, file, places, bytes: Vec::new(), ends: [0; N], place })
    }

    fn insert(&mut self, row: Row<'_, N>) -> Result<(), DiffError> {
        // A line is below 2^29 bytes: readers see to it.
        let place = Place { offset: row.offset, line: row.line, length: row.bytes.len() as u32 };
        match self.places.insert(mark(&row.id().text()), place) {
            Some(first) => Err(duplicate(self.path, row, first.line)),
            None => Ok(()),
        }
    }

    /// Reads the partner of a row again, if it waits.
    fn take(&mut self, row: Row<'_, N>) -> Result<bool, DiffError> {
        if self.places.is_empty() {
            return Ok(false);
        }
        let Some(place) = self.places.remove(&mark(&row.id().text())) else { return Ok(false) };
        self.read(place)?;
        if self.taken().id() != row.id() {
            return Err(DiffError::Moved { path: self.path.to_owned() });
        }
        Ok(true)
    }

    fn taken(&self) -> Row<'_, N> {
        let Place { offset, line, .. } = self.place;
        Row { shape: self.shape, bytes: &self.bytes, ends: &self.ends, line, offset }
    }

    fn drain(&mut self, mut each: impl FnMut(Row<'_, N>) -> Result<(), DiffError>) -> Result<(), DiffError> {
        let mut places: Vec<Place> = std::mem::take(&mut self.places).into_values().collect();
        // The map has no order of its own; the file has.
        places.sort_unstable_by_key(|place| place.line);
        for place in places {
            self.read(place)?;
            each(self.taken())?;
        }
        Ok(())
    }

    fn read(&mut self, place: Place) -> Result<(), DiffError> {
        self.place = place;
        self.bytes.resize(place.length as usize, 0);
        let read = self.file.seek(SeekFrom::Start(place.offset)).and_then(|_| self.file.read_exact(&mut self.bytes));
        read.map_err(|source| DiffError::Io { path: self.path.to_owned(), source })?;
        let ends = self.shape.scan(&self.bytes);
        self.ends = ends.ok_or_else(|| DiffError::Moved { path: self.path.to_owned() })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::sample;
    use crate::diff::scan::{TRAJECTORY, TrajectoryRow};

    #[derive(Default)]
    struct Log {
        pairs: Vec<String>,
        only: Vec<(char, String)>,
        most_waiting: usize,
        waiting: usize,
    }

    impl Visit<11> for Log {
        fn pair(&mut self, a: TrajectoryRow<'_>, b: TrajectoryRow<'_>, same: bool) -> Result<(), DiffError> {
            assert_eq!((a.key(), same), (b.key(), true));
            self.pairs.push(crate::diff::text_of(a.key()));
            Ok(())
        }
        fn waits(&mut self, _: TrajectoryRow<'_>) -> Result<(), DiffError> {
            self.waiting += 1;
            self.most_waiting = self.most_waiting.max(self.waiting);
            Ok(())
        }
        fn only(&mut self, side: Side, row: TrajectoryRow<'_>) -> Result<(), DiffError> {
            self.only.push((if side == Side::A { 'a' } else { 'b' }, crate::diff::text_of(row.key())));
            Ok(())
        }
    }

    /// A key with `#` and a number is an attempt.
    fn run(a: &[&str], b: &[&str]) -> Result<(Log, Joined), DiffError> {
        let dir = tempfile::tempdir().unwrap();
        let paths = [dir.path().join("a"), dir.path().join("b")];
        for (path, keys) in paths.iter().zip([a, b]) {
            let mut bytes = Vec::new();
            for key in keys {
                let (key, attempt) = key.split_once('#').map_or((*key, None), |(key, at)| (key, at.parse().ok()));
                let line = crate::trajectory::Trajectory { attempt, ..sample::trajectory(key, "x") };
                bytes.extend(proofmark_canon::to_vec(&line).unwrap());
                bytes.push(b'\n');
            }
            crate::store::write_atomic(path, &bytes).unwrap();
        }
        let mut log = Log::default();
        let joined = join(&TRAJECTORY, [&paths[0], &paths[1]], &mut log)?;
        Ok((log, joined))
    }

    #[test]
    fn equal_files_go_in_lock_step() {
        let (log, joined) = run(&["1", "2", "3"], &["1", "2", "3"]).unwrap();
        assert_eq!(log.pairs, ["1", "2", "3"]);
        assert_eq!((log.most_waiting, joined), (0, Joined { lines: [3, 3], identical: true }));
        assert!(run(&[], &[]).unwrap().1.identical);
    }

    #[test]
    fn lines_that_came_went_or_moved_find_their_partner() {
        for (a, b, pairs, only_a, only_b) in [
            ("1 2 3 4", "1 x 2 3 4", 4, "", "x"),
            ("1 2 3 4", "1 3 4", 3, "2", ""),
            ("1 2 3 4", "4 3 2 1", 4, "", ""),
            ("1 2 3 4", "x y z", 0, "1 2 3 4", "x y z"),
            ("1 2 3 4", "", 0, "1 2 3 4", ""),
            ("", "1 2", 0, "", "1 2"),
            ("1 2 3", "3 4 5 1", 2, "2", "4 5"),
        ] {
            let split = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
            let (log, joined) = run(&split(a), &split(b)).unwrap();
            let only = |side| {
                let of_side = log.only.iter().filter(|(at, _)| *at == side);
                let mut keys: Vec<&str> = of_side.map(|(_, key)| key.as_str()).collect();
                keys.sort_unstable();
                keys
            };
            assert_eq!(log.pairs.len(), pairs, "{a} | {b}");
            assert_eq!((only('a'), only('b')), (split(only_a), split(only_b)), "{a} | {b}");
            assert_eq!(joined.lines, [split(a).len() as u64, split(b).len() as u64]);
            assert!(!joined.identical);
        }
    }

    #[test]
    fn the_lines_of_one_key_are_told_apart_by_their_attempt() {
        for (a, b, pairs, only) in [
            ("1#0 1#1 2#0 2#1", "1#0 1#1 2#0 2#1", 4, 0),
            ("1#0 1#1 1#2 2#0", "1#0 2#0", 2, 2),
            ("1#1 1#0", "1#0 1#1", 2, 0),
            ("1 2", "1#0 1#1 2#0 2#1", 0, 6),
        ] {
            let split = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
            let (log, _) = run(&split(a), &split(b)).unwrap();
            assert_eq!((log.pairs.len(), log.only.len()), (pairs, only), "{a} | {b}");
        }
        assert!(matches!(run(&["1#0", "1#0"], &["1#0"]), Err(DiffError::Duplicate { .. })));
    }

    #[test]
    fn one_added_line_makes_two_wait_however_long_the_files_are() {
        let keys: Vec<String> = (0..500).map(|i| i.to_string()).collect();
        let a: Vec<&str> = keys.iter().map(String::as_str).collect();
        let mut b = a.clone();
        b.insert(3, "new");
        let (log, _) = run(&a, &b).unwrap();
        assert_eq!((log.pairs.len(), log.most_waiting, log.only.len()), (500, 2, 1));
    }

    #[test]
    fn a_key_that_stands_twice_is_an_error_wherever_it_stands() {
        for (a, b) in [("1 2 1", "1 2 3"), ("1 2 1", "1 2 1"), ("1 1", "1"), ("1 2", "1 2 2"), ("1 2 3", "4 5 4")] {
            let split = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
            let error = run(&split(a), &split(b)).err();
            assert!(matches!(error, Some(DiffError::Duplicate { .. })), "{a} | {b}: {error:?}");
        }
    }
}
