//! Entries of any length, in the order in which they came.
//!
//! What little there is stays in memory; once it is much, all of it goes to one unlinked scratch file.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::sort::scratch_file;

/// Where an entry is. Of two entries the later one is at the larger place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot(pub u64);

impl Spot {
    /// As many bytes as it takes in an entry of a sort.
    pub const BYTES: usize = 8;

    /// As bytes that sort as places do.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0.to_be_bytes()
    }

    /// The place at the beginning of some bytes; those that are not there are zeros.
    pub fn read(bytes: &[u8]) -> Self {
        Self(bytes.iter().chain(&[0; Self::BYTES]).take(Self::BYTES).fold(0, |spot, byte| spot << 8 | u64::from(*byte)))
    }
}

/// A log that can be read while it grows.
pub struct Log {
    /// Entries that are not in the file, each with its length before it.
    memory: Vec<u8>,
    room: usize,
    scratch: Option<Box<Path>>,
    file: Option<File>,
    /// Bytes in the file.
    written: u64,
}

/// The length before an entry.
const LENGTH: usize = 4;
/// Read at once where one entry is wanted: most are shorter.
const GUESS: usize = 2048;
/// Read at once where all are wanted.
const BLOCK: usize = 64 * 1024;

impl Log {
    /// Holds about `room` bytes in memory; others wait in a scratch file in the folder, or the system's.
    pub fn new(room: usize, scratch: Option<&Path>) -> Self {
        Self { memory: Vec::new(), room, scratch: scratch.map(Box::from), file: None, written: 0 }
    }

    pub fn push(&mut self, entry: &[u8]) -> io::Result<Spot> {
        let spot = Spot(self.end());
        let length = u32::try_from(entry.len()).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        self.memory.extend_from_slice(&length.to_le_bytes());
        self.memory.extend_from_slice(entry);
        if self.memory.len() > self.room {
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(scratch_file(self.scratch.as_deref())?),
            };
            file.write_all(&self.memory)?;
            self.written += self.memory.len() as u64;
            self.memory.clear();
        }
        Ok(spot)
    }

    /// The entry at a place that [`Log::push`] gave.
    pub fn get(&self, spot: Spot) -> io::Result<Vec<u8>> {
        let mut bytes = self.read(spot.0, GUESS)?;
        let (head, _) = bytes.split_first_chunk::<LENGTH>().ok_or(io::ErrorKind::UnexpectedEof)?;
        let length = u32::from_le_bytes(*head) as usize;
        if bytes.len() < LENGTH + length {
            bytes = self.read(spot.0, LENGTH + length)?;
        }
        if bytes.len() < LENGTH + length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.truncate(LENGTH + length);
        bytes.drain(..LENGTH);
        Ok(bytes)
    }

    /// Goes through all entries.
    pub fn walk(&self) -> Entries<'_> {
        Entries { log: self, block: Vec::new(), from: 0, at: 0 }
    }

    fn end(&self) -> u64 {
        self.written + self.memory.len() as u64
    }

    /// Up to so many bytes from an offset on. Fewer at the end, and where the file ends and memory begins, never in between
    /// an entry and its length: both are on one side.
    fn read(&self, offset: u64, most: usize) -> io::Result<Vec<u8>> {
        if let Some(from) = offset.checked_sub(self.written) {
            let rest = usize::try_from(from).ok().and_then(|from| self.memory.get(from..)).unwrap_or_default();
            return Ok(rest[..rest.len().min(most)].to_vec());
        }
        let length = (self.written - offset).min(most as u64) as usize;
        let mut bytes = vec![0; length];
        if let Some(file) = &self.file {
            file.read_exact_at(&mut bytes, offset)?;
        }
        Ok(bytes)
    }
}

/// A walk through a log.
pub struct Entries<'a> {
    log: &'a Log,
    block: Vec<u8>,
    /// Where the block begins in the log.
    from: u64,
    /// Where the next entry begins in the block.
    at: usize,
}

impl Entries<'_> {
    /// The next entry and its place.
    pub fn next_entry(&mut self) -> io::Result<Option<(Spot, &[u8])>> {
        let spot = self.from + self.at as u64;
        if spot >= self.log.end() {
            return Ok(None);
        }
        let length = match self.length() {
            Some(length) if self.at + LENGTH + length <= self.block.len() => length,
            known => {
                self.block = self.log.read(spot, BLOCK.max(known.map_or(0, |length| LENGTH + length)))?;
                (self.from, self.at) = (spot, 0);
                let length = self.length().ok_or(io::ErrorKind::UnexpectedEof)?;
                if LENGTH + length > self.block.len() {
                    self.block = self.log.read(spot, LENGTH + length)?;
                }
                length
            }
        };
        let start = self.at + LENGTH;
        self.at = start + length;
        let entry = self.block.get(start..self.at).ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(Some((Spot(spot), entry)))
    }

    /// The length of the next entry, if it is in the block.
    fn length(&self) -> Option<usize> {
        let (head, _) = self.block.get(self.at..)?.split_first_chunk::<LENGTH>()?;
        Some(u32::from_le_bytes(*head) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_entry_comes_back_from_memory_and_from_the_file(
            lengths in prop::collection::vec(prop_oneof![0usize..40, 1_000usize..5_000, 60_000usize..200_000], 0..30),
            room in prop_oneof![Just(0usize), 1usize..100_000],
        ) {
            let mut log = Log::new(room, None);
            let entry = |at: usize, length: usize| vec![at as u8; length];
            let mut spots = Vec::new();
            for (at, length) in lengths.iter().enumerate() {
                spots.push(log.push(&entry(at, *length)).unwrap());
                prop_assert_eq!(log.get(spots[at / 2]).unwrap(), entry(at / 2, lengths[at / 2]));
            }
            prop_assert!(spots.is_sorted());
            let mut walk = log.walk();
            for (at, length) in lengths.iter().enumerate() {
                let (spot, bytes) = walk.next_entry().unwrap().unwrap();
                prop_assert_eq!((spot, bytes.to_vec()), (spots[at], entry(at, *length)));
            }
            prop_assert!(walk.next_entry().unwrap().is_none());
        }
    }

    #[test]
    fn a_place_comes_back_from_its_bytes() {
        for spot in [0, 1, 255, 256, u64::MAX].map(Spot) {
            assert_eq!(Spot::read(&[&spot.to_bytes()[..], b"more"].concat()), spot);
        }
        assert!(Spot(255).to_bytes() < Spot(256).to_bytes());
    }

    #[test]
    fn a_place_behind_the_end_is_an_error() {
        assert!(Log::new(9, None).get(Spot(0)).is_err());
    }
}
