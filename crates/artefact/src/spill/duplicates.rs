//! Finds marks that come twice among any number of them.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use proofmark_canon::Digest;

use super::sort::Sorter;

/// Where something stands: in which of several files, and in which line or row of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub file: u32,
    pub number: u64,
}

/// A mark that came before, and both places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duplicate {
    pub again: Place,
    pub first: Place,
}

/// The duplicates that come earliest, and how many there are in all.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub earliest: BTreeSet<Duplicate>,
    pub total: u64,
}

/// Returns what stands for some bytes: the first half of their SHA-256. Nobody can make two share one.
pub fn mark(bytes: &[u8]) -> [u8; MARK] {
    let mut mark = [0; MARK];
    mark.copy_from_slice(&Digest::of(bytes).as_bytes()[..MARK]);
    mark
}

/// Collects marks and their places.
pub struct Duplicates(Sorter<ENTRY>);

/// Bytes of a mark.
pub const MARK: usize = 16;
/// The mark, the file and the number, so that entries sort by content and then by place.
const ENTRY: usize = MARK + 4 + 8;

impl Duplicates {
    /// Holds at most `room` marks in memory; others wait in a scratch file in the folder, or the system's.
    pub fn new(room: usize, scratch: Option<&Path>) -> Self {
        Self(Sorter::new(room, scratch))
    }

    pub fn push(&mut self, mark: [u8; MARK], place: Place) -> io::Result<()> {
        let mut entry = [0; ENTRY];
        entry[..MARK].copy_from_slice(&mark);
        entry[MARK..MARK + 4].copy_from_slice(&place.file.to_be_bytes());
        entry[MARK + 4..].copy_from_slice(&place.number.to_be_bytes());
        self.0.push(entry)
    }

    /// Returns what came twice; at most `keep` duplicates are listed.
    pub fn finish(self, keep: usize) -> io::Result<Found> {
        let mut found = Found::default();
        // The first of the marks at hand: entries with one mark come in the order of their places.
        let mut first: Option<[u8; ENTRY]> = None;
        for entry in self.0.finish()?.into_walk()? {
            let entry = entry?;
            match first {
                Some(first) if first[..MARK] == entry[..MARK] => {
                    found.total += 1;
                    found.earliest.insert(Duplicate { again: place_of(&entry), first: place_of(&first) });
                    if found.earliest.len() > keep {
                        found.earliest.pop_last();
                    }
                }
                _ => first = Some(entry),
            }
        }
        Ok(found)
    }
}

fn place_of(entry: &[u8; ENTRY]) -> Place {
    let (mut file, mut number) = ([0; 4], [0; 8]);
    file.copy_from_slice(&entry[MARK..MARK + 4]);
    number.copy_from_slice(&entry[MARK + 4..]);
    Place { file: u32::from_be_bytes(file), number: u64::from_be_bytes(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(contents: &[u64], room: usize, keep: usize) -> (Vec<(u64, u64)>, u64) {
        let mut duplicates = Duplicates::new(room, None);
        for (number, content) in (1..).zip(contents) {
            duplicates.push(mark(&content.to_be_bytes()), Place { file: 0, number }).unwrap();
        }
        let found = duplicates.finish(keep).unwrap();
        (found.earliest.iter().map(|twice| (twice.again.number, twice.first.number)).collect(), found.total)
    }

    #[test]
    fn every_later_occurrence_is_found_with_the_first_one_in_memory_or_not() {
        for room in [0, 1, 2, 3, 5, 100] {
            assert_eq!(find(&[5, 1, 2, 5, 3, 2, 5, 4], room, 10), (vec![(4, 1), (6, 3), (7, 1)], 3), "room {room}");
            assert_eq!(find(&[1, 2, 3, 2, 1, 2], room, 1), (vec![(4, 2)], 3), "room {room}");
            assert_eq!(find(&[1, 2, 3], room, 1), (vec![], 0), "room {room}");
        }
    }

    #[test]
    fn many_runs_give_the_earliest_and_the_count() {
        let contents: Vec<u64> = (0..20_000).map(|n| n % 15_000).collect();
        assert_eq!(find(&contents, 700, 3), (vec![(15_001, 1), (15_002, 2), (15_003, 3)], 5000));
        assert_eq!(find(&(0..9000).collect::<Vec<_>>(), 1000, 3), (vec![], 0));
    }

    #[test]
    fn files_come_before_numbers() {
        let mut duplicates = Duplicates::new(2, None);
        let places = [(0, 9), (1, 2), (1, 3)].map(|(file, number)| Place { file, number });
        for place in [places[1], places[2], places[0]] {
            duplicates.push(mark(b"x"), place).unwrap();
        }
        let found = duplicates.finish(1).unwrap();
        assert_eq!(found.earliest.first(), Some(&Duplicate { again: places[1], first: places[0] }));
    }
}
