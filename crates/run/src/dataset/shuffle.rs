//! The order of a shuffle and the rows that wait for their turn.
//!
//! An item's key is a hash of the seed and its id, so that its place among others depends on
//! nothing else: neither on the order of the file nor on the rows around it.

use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use proofmark_artefact::spill::{Place, Sorted, Sorter, Walk, scratch_file};
use proofmark_canon::seed::derive;

use super::context::Tuning;

const KEY: usize = 16;
const ENTRY: usize = KEY + 8 + 4;
const HEADER: usize = 4 + 8;

/// Collects rows and their keys.
pub(super) struct Shuffler {
    seed: u64,
    keys: Keys,
    spool: SpoolWriter,
}

enum Keys {
    All {
        sorter: Sorter<ENTRY>,
        limit: Option<u64>,
    },
    /// The `k` smallest keys so far; rows that cannot be among them are not even stored.
    Smallest {
        heap: BinaryHeap<[u8; ENTRY]>,
        k: usize,
    },
}

impl Shuffler {
    pub(super) fn new(seed: u64, limit: Option<u64>, tuning: &Tuning, scratch: Option<&Path>) -> Self {
        let keys = match limit {
            Some(k) if k <= tuning.sort_entries as u64 => Keys::Smallest { heap: BinaryHeap::new(), k: k as usize },
            limit => Keys::All { sorter: Sorter::new(tuning.sort_entries, scratch), limit },
        };
        Self { seed, keys, spool: SpoolWriter::new(tuning.spool_bytes, scratch) }
    }

    /// Adds a row (its canonical JSON) under its id.
    pub(super) fn push(&mut self, id: &str, place: Place, row: &[u8]) -> io::Result<()> {
        let digest = derive("proofmark.shuffle/1", &[&self.seed.to_be_bytes(), id.as_bytes()]);
        let mut entry = [0; ENTRY];
        entry[..KEY].copy_from_slice(&digest.as_bytes()[..KEY]);
        if let Keys::Smallest { heap, k } = &self.keys
            && heap.len() >= *k
            && heap.peek().is_none_or(|largest| largest[..KEY] <= entry[..KEY])
        {
            return Ok(());
        }
        let offset = self.spool.push(place, row)?;
        entry[KEY..KEY + 8].copy_from_slice(&offset.to_be_bytes());
        let length = u32::try_from(row.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        entry[KEY + 8..].copy_from_slice(&length.to_be_bytes());
        match &mut self.keys {
            Keys::All { sorter, .. } => sorter.push(entry)?,
            Keys::Smallest { heap, k } => {
                heap.push(entry);
                if heap.len() > *k {
                    heap.pop();
                }
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<Order> {
        let (sorted, limit) = match self.keys {
            Keys::All { sorter, limit } => (sorter.finish()?, limit),
            Keys::Smallest { heap, .. } => (Sorted::in_memory(heap.into_vec()), None),
        };
        Ok(Order { sorted: Arc::new(sorted), spool: Arc::new(self.spool.finish()?), limit: limit.unwrap_or(u64::MAX) })
    }
}

/// Rows in shuffled order, ready to be walked any number of times.
pub(super) struct Order {
    sorted: Arc<Sorted<ENTRY>>,
    spool: Arc<Spool>,
    limit: u64,
}

impl Order {
    pub(super) fn walk(&self) -> io::Result<Rows> {
        Ok(Rows { walk: self.sorted.walk()?, spool: Arc::clone(&self.spool), left: self.limit, buffer: Vec::new() })
    }
}

/// One walk through shuffled rows.
pub(super) struct Rows {
    walk: Walk<ENTRY>,
    spool: Arc<Spool>,
    left: u64,
    buffer: Vec<u8>,
}

impl Rows {
    pub(super) fn next(&mut self) -> Option<io::Result<(Place, &[u8])>> {
        self.left = self.left.checked_sub(1)?;
        let entry = match self.walk.next()? {
            Ok(entry) => entry,
            Err(error) => return Some(Err(error)),
        };
        let (mut offset, mut length) = ([0; 8], [0; 4]);
        offset.copy_from_slice(&entry[KEY..KEY + 8]);
        length.copy_from_slice(&entry[KEY + 8..]);
        self.buffer.resize(HEADER + u32::from_be_bytes(length) as usize, 0);
        if let Err(error) = self.spool.read(u64::from_be_bytes(offset), &mut self.buffer) {
            return Some(Err(error));
        }
        let (mut file, mut number) = ([0; 4], [0; 8]);
        file.copy_from_slice(&self.buffer[..4]);
        number.copy_from_slice(&self.buffer[4..HEADER]);
        let place = Place { file: u32::from_be_bytes(file), number: u64::from_be_bytes(number) };
        Some(Ok((place, &self.buffer[HEADER..])))
    }
}

/// Rows one after the other, in memory while they are few.
struct SpoolWriter {
    buffer: Vec<u8>,
    capacity: usize,
    written: u64,
    file: Option<File>,
    scratch: Option<Box<Path>>,
}

impl SpoolWriter {
    fn new(capacity: usize, scratch: Option<&Path>) -> Self {
        Self { buffer: Vec::new(), capacity, written: 0, file: None, scratch: scratch.map(Box::from) }
    }

    fn push(&mut self, place: Place, row: &[u8]) -> io::Result<u64> {
        let offset = self.written + self.buffer.len() as u64;
        self.buffer.extend_from_slice(&place.file.to_be_bytes());
        self.buffer.extend_from_slice(&place.number.to_be_bytes());
        self.buffer.extend_from_slice(row);
        if self.buffer.len() >= self.capacity {
            self.flush()?;
        }
        Ok(offset)
    }

    fn flush(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(scratch_file(self.scratch.as_deref())?),
        };
        file.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<Spool> {
        if self.file.is_some() {
            self.flush()?;
        }
        Ok(match self.file {
            Some(file) => Spool::File(file),
            None => Spool::Memory(self.buffer),
        })
    }
}

enum Spool {
    Memory(Vec<u8>),
    File(File),
}

impl Spool {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.read_exact_at(buffer, offset),
            Self::Memory(bytes) => {
                let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
                let from = bytes.get(start..start + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
                buffer.copy_from_slice(from);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffled(rows: &[&str], seed: u64, limit: Option<u64>, entries: usize, bytes: usize) -> Vec<String> {
        let tuning = Tuning { sort_entries: entries, spool_bytes: bytes, ..Tuning::default() };
        let mut shuffler = Shuffler::new(seed, limit, &tuning, None);
        for (at, row) in rows.iter().enumerate() {
            shuffler.push(row, Place { file: 3, number: at as u64 }, row.as_bytes()).unwrap();
        }
        let order = shuffler.finish().unwrap();
        let mut walk = order.walk().unwrap();
        let mut out = Vec::new();
        while let Some(row) = walk.next() {
            let (place, row) = row.unwrap();
            let text = String::from_utf8(row.to_vec()).unwrap();
            assert_eq!((place.file, rows[place.number as usize]), (3, text.as_str()));
            out.push(text);
        }
        out
    }

    #[test]
    fn memory_disk_heap_and_file_order_give_one_order() {
        let names: Vec<String> = (0..50).map(|i| format!("row-{i}")).collect();
        let rows: Vec<&str> = names.iter().map(String::as_str).collect();
        let backwards: Vec<&str> = rows.iter().rev().copied().collect();
        let want = shuffled(&rows, 7, None, 1000, 1 << 20);
        assert_ne!(want, names, "a shuffle of fifty rows that changes nothing");
        assert_ne!(want, shuffled(&rows, 8, None, 1000, 1 << 20));
        for (entries, bytes) in [(1000, 1 << 20), (4, 1 << 20), (4, 20), (1000, 1)] {
            assert_eq!(shuffled(&rows, 7, None, entries, bytes), want);
            assert_eq!(shuffled(&backwards, 7, None, entries, bytes), want);
            for k in [0, 1, 3, 5, 49, 50, 60] {
                let cut = &want[..want.len().min(k as usize)];
                assert_eq!(shuffled(&backwards, 7, Some(k), entries, bytes), cut, "{k} of {entries}");
            }
        }
    }
}
