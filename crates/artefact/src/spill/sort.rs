//! An external sort of fixed-size entries.
//!
//! Entries are compared as bytes. A buffer that fills up is sorted and written as a run to one
//! unlinked scratch file; at the end the runs are merged. Few entries never touch the disk.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

/// Bytes that all runs of a merge may buffer together.
const MERGE_BYTES: usize = 4 << 20;

/// Makes an unlinked file: it vanishes with its last handle, however the process ends.
pub fn scratch_file(folder: Option<&Path>) -> io::Result<File> {
    folder.map_or_else(tempfile::tempfile, tempfile::tempfile_in)
}

/// Collects entries.
pub struct Sorter<const N: usize> {
    buffer: Vec<[u8; N]>,
    room: usize,
    scratch: Option<Box<Path>>,
    spill: Option<File>,
    /// Entries of each run, in the order in which they were written.
    runs: Vec<u64>,
}

impl<const N: usize> Sorter<N> {
    /// Holds fewer than `room` entries in memory; others wait in a scratch file in the folder, or the system's.
    pub fn new(room: usize, scratch: Option<&Path>) -> Self {
        let room = room.max(1);
        Self { buffer: Vec::new(), room, scratch: scratch.map(Box::from), spill: None, runs: Vec::new() }
    }

    pub fn push(&mut self, entry: [u8; N]) -> io::Result<()> {
        self.buffer.push(entry);
        if self.buffer.len() >= self.room { self.spill() } else { Ok(()) }
    }

    pub fn finish(mut self) -> io::Result<Sorted<N>> {
        self.buffer.sort_unstable();
        Ok(Sorted { memory: self.buffer, file: self.spill, runs: self.runs })
    }

    fn spill(&mut self) -> io::Result<()> {
        self.buffer.sort_unstable();
        let file = match &mut self.spill {
            Some(file) => file,
            none => none.insert(scratch_file(self.scratch.as_deref())?),
        };
        file.write_all(self.buffer.as_flattened())?;
        self.runs.push(self.buffer.len() as u64);
        self.buffer.clear();
        Ok(())
    }
}

/// Entries in order: a sorted part in memory, and sorted runs on disk if there were many.
pub struct Sorted<const N: usize> {
    memory: Vec<[u8; N]>,
    file: Option<File>,
    runs: Vec<u64>,
}

impl<const N: usize> Sorted<N> {
    /// Sorts entries that were never too many for memory.
    pub fn in_memory(mut entries: Vec<[u8; N]>) -> Self {
        entries.sort_unstable();
        Self { memory: entries, file: None, runs: Vec::new() }
    }

    /// Goes through the entries from the smallest on. Several walks may be under way at once.
    pub fn walk(self: &Arc<Self>) -> io::Result<Walk<N>> {
        let block = (MERGE_BYTES / self.runs.len().max(1) / N).clamp(1, 1024);
        let mut walk =
            Walk { sorted: Arc::clone(self), in_memory: 0, cursors: Vec::new(), heads: BinaryHeap::new(), block };
        let mut offset = 0;
        for &left in &self.runs {
            walk.cursors.push(Cursor { offset, left, buffer: Vec::new(), at: 0 });
            offset += left * N as u64;
        }
        // The part in memory is one more run; alone it needs no merge.
        if !self.runs.is_empty() {
            for run in 0..=self.runs.len() {
                let head = walk.next_of(run)?;
                walk.heads.extend(head.map(|entry| Reverse((entry, run))));
            }
        }
        Ok(walk)
    }

    /// The entries, if none of them is on disk.
    pub(super) fn as_memory(&self) -> Option<&[[u8; N]]> {
        self.runs.is_empty().then_some(&self.memory)
    }

    /// The only walk.
    pub fn into_walk(self) -> io::Result<Walk<N>> {
        Arc::new(self).walk()
    }
}

/// One walk through sorted entries.
pub struct Walk<const N: usize> {
    sorted: Arc<Sorted<N>>,
    /// Entries taken from the part in memory.
    in_memory: usize,
    cursors: Vec<Cursor<N>>,
    /// The next entry of each run that has one.
    heads: BinaryHeap<Reverse<([u8; N], usize)>>,
    /// Entries that are read at once.
    block: usize,
}

/// A run on disk, of which a little is in memory.
struct Cursor<const N: usize> {
    offset: u64,
    left: u64,
    buffer: Vec<[u8; N]>,
    at: usize,
}

impl<const N: usize> Walk<N> {
    /// Takes the next entry of a run; the last run is the part in memory.
    fn next_of(&mut self, run: usize) -> io::Result<Option<[u8; N]>> {
        let Some(cursor) = self.cursors.get_mut(run) else {
            let entry = self.sorted.memory.get(self.in_memory).copied();
            self.in_memory += 1;
            return Ok(entry);
        };
        if cursor.at == cursor.buffer.len() && cursor.left > 0 {
            let take = cursor.left.min(self.block as u64);
            cursor.buffer.resize(take as usize, [0; N]);
            if let Some(file) = &self.sorted.file {
                file.read_exact_at(cursor.buffer.as_flattened_mut(), cursor.offset)?;
            }
            cursor.offset += take * N as u64;
            cursor.left -= take;
            cursor.at = 0;
        }
        let entry = cursor.buffer.get(cursor.at).copied();
        cursor.at += usize::from(entry.is_some());
        Ok(entry)
    }
}

impl<const N: usize> Iterator for Walk<N> {
    type Item = io::Result<[u8; N]>;

    fn next(&mut self) -> Option<io::Result<[u8; N]>> {
        if self.cursors.is_empty() {
            return self.next_of(0).transpose();
        }
        let Reverse((entry, run)) = *self.heads.peek()?;
        match self.next_of(run) {
            Ok(Some(next)) => {
                // One sift instead of a removal and an insertion.
                if let Some(mut head) = self.heads.peek_mut() {
                    *head = Reverse((next, run));
                }
            }
            Ok(None) => drop(self.heads.peek_mut().map(PeekMut::pop)),
            Err(error) => return Some(Err(error)),
        }
        Some(Ok(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_room_sorts_the_same(entries in prop::collection::vec(any::<[u8; 3]>(), 0..200), room in 1usize..50) {
            let mut sorter = Sorter::new(room, None);
            for entry in &entries {
                sorter.push(*entry).unwrap();
            }
            let sorted = Arc::new(sorter.finish().unwrap());
            prop_assert_eq!(sorted.runs.len(), entries.len() / room);
            let mut want = entries;
            want.sort_unstable();
            let (one, two) = (sorted.walk().unwrap(), sorted.walk().unwrap());
            prop_assert_eq!(&one.collect::<io::Result<Vec<_>>>().unwrap(), &want);
            prop_assert_eq!(&two.collect::<io::Result<Vec<_>>>().unwrap(), &want);
        }
    }

    #[test]
    fn a_run_longer_than_a_read_is_read_whole() {
        let entry = |n: u32| (n.wrapping_mul(2_654_435_761)).to_be_bytes();
        let mut sorter = Sorter::new(10_000, None);
        for n in 0..25_000 {
            sorter.push(entry(n)).unwrap();
        }
        let found: Vec<[u8; 4]> = sorter.finish().unwrap().into_walk().unwrap().map(Result::unwrap).collect();
        let mut want: Vec<[u8; 4]> = (0..25_000).map(entry).collect();
        want.sort_unstable();
        assert!(found == want);
    }
}
