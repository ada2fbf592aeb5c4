//! An external sort of fixed-size entries with flat memory.
//!
//! Entries are compared as bytes. A buffer that fills up is sorted and written as a run to one
//! unlinked scratch file; at the end the runs are merged. Few entries never touch the disk.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that all runs of a merge may buffer together.
const MERGE_BYTES: usize = 4 << 20;

/// Makes an unlinked file: it vanishes with its last handle, however the process ends.
pub(super) fn scratch_file(folder: Option<&Path>) -> io::Result<File> {
    folder.map_or_else(tempfile::tempfile, tempfile::tempfile_in)
}

/// Collects entries.
pub(super) struct Sorter<const N: usize> {
    buffer: Vec<[u8; N]>,
    capacity: usize,
    scratch: Option<Box<Path>>,
    spill: Option<File>,
    /// Entries of each run, in the order in which they were written.
    runs: Vec<u64>,
}

impl<const N: usize> Sorter<N> {
    pub(super) fn new(capacity: usize, scratch: Option<&Path>) -> Self {
        let capacity = capacity.max(1);
        Self { buffer: Vec::new(), capacity, scratch: scratch.map(Box::from), spill: None, runs: Vec::new() }
    }

    pub(super) fn push(&mut self, entry: [u8; N]) -> io::Result<()> {
        self.buffer.push(entry);
        if self.buffer.len() >= self.capacity { self.spill() } else { Ok(()) }
    }

    pub(super) fn finish(mut self) -> io::Result<Sorted<N>> {
        if self.spill.is_some() && !self.buffer.is_empty() {
            self.spill()?;
        }
        self.buffer.sort_unstable();
        Ok(Sorted { memory: self.buffer, file: self.spill.map(Mutex::new), runs: self.runs })
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

/// Entries in order. Either all in memory or all in runs.
pub(super) struct Sorted<const N: usize> {
    memory: Vec<[u8; N]>,
    file: Option<Mutex<File>>,
    runs: Vec<u64>,
}

impl<const N: usize> Sorted<N> {
    /// Sorted entries that were never too many for memory.
    pub(super) fn in_memory(mut entries: Vec<[u8; N]>) -> Self {
        entries.sort_unstable();
        Self { memory: entries, file: None, runs: Vec::new() }
    }

    #[cfg(test)]
    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Goes through the entries from the smallest on. Several walks may be under way at once.
    pub(super) fn walk(self: &Arc<Self>) -> io::Result<Walk<N>> {
        let block = (MERGE_BYTES / self.runs.len().max(1) / N).clamp(1, 4096);
        let mut walk = Walk { sorted: Arc::clone(self), at: 0, cursors: Vec::new(), heap: BinaryHeap::new(), block };
        let mut offset = 0;
        for (index, &left) in self.runs.iter().enumerate() {
            walk.cursors.push(Cursor { offset, left, buffer: Vec::new(), at: 0 });
            offset += left * N as u64;
            walk.refill(index)?;
        }
        Ok(walk)
    }
}

/// One walk through sorted entries.
pub(super) struct Walk<const N: usize> {
    sorted: Arc<Sorted<N>>,
    at: usize,
    cursors: Vec<Cursor<N>>,
    heap: BinaryHeap<Reverse<([u8; N], usize)>>,
    block: usize,
}

struct Cursor<const N: usize> {
    offset: u64,
    left: u64,
    buffer: Vec<[u8; N]>,
    at: usize,
}

impl<const N: usize> Walk<N> {
    /// Puts the next entry of a run on the heap.
    fn refill(&mut self, index: usize) -> io::Result<()> {
        let cursor = &mut self.cursors[index];
        if cursor.at == cursor.buffer.len() && cursor.left > 0 {
            let take = cursor.left.min(self.block as u64);
            cursor.buffer.resize(take as usize, [0; N]);
            if let Some(file) = &self.sorted.file {
                read_at(file, cursor.offset, cursor.buffer.as_flattened_mut())?;
            }
            cursor.offset += take * N as u64;
            cursor.left -= take;
            cursor.at = 0;
        }
        if let Some(entry) = cursor.buffer.get(cursor.at) {
            cursor.at += 1;
            self.heap.push(Reverse((*entry, index)));
        }
        Ok(())
    }
}

impl<const N: usize> Iterator for Walk<N> {
    type Item = io::Result<[u8; N]>;

    fn next(&mut self) -> Option<io::Result<[u8; N]>> {
        if let Some(entry) = self.sorted.memory.get(self.at) {
            self.at += 1;
            return Some(Ok(*entry));
        }
        let Reverse((entry, index)) = self.heap.pop()?;
        Some(self.refill(index).map(|()| entry))
    }
}

/// Reads exactly the bytes at an offset of a file that others read too.
pub(super) fn read_at(file: &Mutex<File>, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_buffer_size_sorts_the_same(entries in prop::collection::vec(any::<[u8; 3]>(), 0..200), capacity in 1usize..50) {
            let mut sorter = Sorter::new(capacity, None);
            for entry in &entries {
                sorter.push(*entry).unwrap();
            }
            let sorted = Arc::new(sorter.finish().unwrap());
            prop_assert_eq!(sorted.runs() == 0, entries.len() < capacity);
            let mut want = entries;
            want.sort_unstable();
            let (one, two) = (sorted.walk().unwrap(), sorted.walk().unwrap());
            prop_assert_eq!(&one.collect::<io::Result<Vec<_>>>().unwrap(), &want);
            prop_assert_eq!(&two.collect::<io::Result<Vec<_>>>().unwrap(), &want);
        }
    }
}
