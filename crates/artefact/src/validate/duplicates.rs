//! Finds marks that come twice among any number of them, in flat memory.
//!
//! Marks are sorted in memory up to a bound, then written to a nameless temporary file as sorted
//! runs, which are merged at the end.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// A mark that came before, and both places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Duplicate {
    pub(super) line: u64,
    pub(super) first: u64,
}

/// The duplicates with the lowest lines, and how many there are in all.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) lowest: BTreeSet<Duplicate>,
    pub(super) total: u64,
}

pub(super) struct Duplicates {
    marks: Vec<Mark>,
    /// How many marks are held in memory.
    room: usize,
    file: Option<File>,
    /// Where each sorted run ends in the file, in marks.
    ends: Vec<u64>,
}

/// Sixteen bytes of a digest, then the line: marks sort by content and then by place.
type Mark = ([u8; 16], u64);

const MARK_BYTES: usize = 24;

impl Duplicates {
    /// Holds at most `room` marks in memory.
    pub(super) fn new(room: usize) -> Self {
        Self { marks: Vec::new(), room, file: None, ends: Vec::new() }
    }

    pub(super) fn push(&mut self, mark: [u8; 16], line: u64) -> io::Result<()> {
        if self.marks.len() >= self.room {
            self.spill()?;
        }
        self.marks.push((mark, line));
        Ok(())
    }

    /// Returns what came twice; at most `keep` duplicates are listed.
    pub(super) fn finish(mut self, keep: usize) -> io::Result<Found> {
        let mut found = Found::default();
        let mut last: Option<Mark> = None;
        let mut look = |mark: Mark| match last {
            Some((content, first)) if content == mark.0 => {
                found.total += 1;
                found.lowest.insert(Duplicate { line: mark.1, first });
                if found.lowest.len() > keep {
                    found.lowest.pop_last();
                }
            }
            _ => last = Some(mark),
        };
        self.marks.sort_unstable();
        let Some(file) = &mut self.file else {
            self.marks.into_iter().for_each(look);
            return Ok(found);
        };
        let mut runs = vec![Run { next: 0, end: 0, ready: self.marks.into_iter() }];
        let mut start = 0;
        for end in self.ends {
            runs.push(Run { next: start, end, ready: Vec::new().into_iter() });
            start = end;
        }
        let mut heads = BinaryHeap::new();
        for (at, run) in runs.iter_mut().enumerate() {
            heads.extend(run.take(file)?.map(|mark| Reverse((mark, at))));
        }
        while let Some(Reverse((mark, at))) = heads.pop() {
            look(mark);
            heads.extend(runs[at].take(file)?.map(|mark| Reverse((mark, at))));
        }
        Ok(found)
    }

    fn spill(&mut self) -> io::Result<()> {
        self.marks.sort_unstable();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let mut out = io::BufWriter::with_capacity(256 * 1024, file);
        for (content, line) in &self.marks {
            out.write_all(content)?;
            out.write_all(&line.to_le_bytes())?;
        }
        out.flush()?;
        let before = self.ends.last().copied().unwrap_or(0);
        self.ends.push(before + self.marks.len() as u64);
        self.marks.clear();
        Ok(())
    }
}

/// A sorted stretch of the file, of which a little is in memory.
struct Run {
    next: u64,
    end: u64,
    ready: std::vec::IntoIter<Mark>,
}

impl Run {
    fn take(&mut self, file: &mut File) -> io::Result<Option<Mark>> {
        if self.ready.len() == 0 && self.next < self.end {
            self.refill(file)?;
        }
        Ok(self.ready.next())
    }

    fn refill(&mut self, file: &mut File) -> io::Result<()> {
        const AT_ONCE: u64 = 2048;
        let count = (self.end - self.next).min(AT_ONCE);
        let mut bytes = vec![0; count as usize * MARK_BYTES];
        file.seek(SeekFrom::Start(self.next * MARK_BYTES as u64))?;
        file.read_exact(&mut bytes)?;
        self.next += count;
        let (marks, _) = bytes.as_chunks::<MARK_BYTES>();
        let read = |mark: &[u8; MARK_BYTES]| {
            let (mut content, mut line) = ([0; 16], [0; 8]);
            content.copy_from_slice(&mark[..16]);
            line.copy_from_slice(&mark[16..]);
            (content, u64::from_le_bytes(line))
        };
        self.ready = marks.iter().map(read).collect::<Vec<_>>().into_iter();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(n: u64) -> [u8; 16] {
        let mut mark = [0; 16];
        mark[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        mark
    }

    fn find(marks: &[u64], room: usize, keep: usize) -> Found {
        let mut duplicates = Duplicates::new(room);
        for (at, n) in marks.iter().enumerate() {
            duplicates.push(mark(*n), at as u64 + 1).unwrap();
        }
        duplicates.finish(keep).unwrap()
    }

    #[test]
    fn every_later_occurrence_is_found_with_the_first_one_in_memory_or_not() {
        let marks = [5, 1, 2, 5, 3, 2, 5, 4];
        let want = [(4, 1), (6, 3), (7, 1)].map(|(line, first)| Duplicate { line, first });
        for room in [1, 2, 3, 5, 100] {
            let found = find(&marks, room, 10);
            assert_eq!((found.lowest.into_iter().collect::<Vec<_>>(), found.total), (want.to_vec(), 3), "room {room}");
        }
    }

    #[test]
    fn many_runs_give_the_lowest_lines_and_the_count() {
        let marks: Vec<u64> = (0..20_000).map(|n| n % 15_000).collect();
        let found = find(&marks, 700, 3);
        assert_eq!(found.total, 5000);
        assert_eq!(found.lowest.first(), Some(&Duplicate { line: 15_001, first: 1 }));
        assert_eq!(found.lowest.len(), 3);
        assert_eq!(find(&(0..9000).collect::<Vec<_>>(), 1000, 3), Found::default());
    }
}
