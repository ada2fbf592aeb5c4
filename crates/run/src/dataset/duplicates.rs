//! Finds ids that stand twice, with flat memory.

use std::io;
use std::path::Path;
use std::sync::Arc;

use proofmark_canon::Digest;

use super::sort::Sorter;

const HASH: usize = 16;
const ENTRY: usize = HASH + 4 + 8;

/// Where a row is: which file of the dataset, which line or row of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub file: u32,
    pub number: u64,
}

/// Remembers ids as the first half of their SHA-256: two ids that meet by chance are not to be expected.
pub(super) struct Ids(Sorter<ENTRY>);

impl Ids {
    pub(super) fn new(capacity: usize, scratch: Option<&Path>) -> Self {
        Self(Sorter::new(capacity, scratch))
    }

    pub(super) fn note(&mut self, id: &str, place: Place) -> io::Result<()> {
        let mut entry = [0; ENTRY];
        entry[..HASH].copy_from_slice(&Digest::of(id.as_bytes()).as_bytes()[..HASH]);
        entry[HASH..HASH + 4].copy_from_slice(&place.file.to_be_bytes());
        entry[HASH + 4..].copy_from_slice(&place.number.to_be_bytes());
        self.0.push(entry)
    }

    /// Returns the first row, in the order of the data, whose id stood before, and where it stood.
    pub(super) fn first_duplicate(self) -> io::Result<Option<(Place, Place)>> {
        let mut found: Option<(Place, Place)> = None;
        // The first row of the id at hand: entries with one hash come in the order of their places.
        let mut first: Option<[u8; ENTRY]> = None;
        for entry in Arc::new(self.0.finish()?).walk()? {
            let entry = entry?;
            match first {
                Some(first) if first[..HASH] == entry[..HASH] => {
                    let again = place_of(&entry);
                    if found.is_none_or(|(_, best)| again < best) {
                        found = Some((place_of(&first), again));
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
    file.copy_from_slice(&entry[HASH..HASH + 4]);
    number.copy_from_slice(&entry[HASH + 4..]);
    Place { file: u32::from_be_bytes(file), number: u64::from_be_bytes(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_duplicate(ids: &[&str], capacity: usize) -> Option<(u64, u64)> {
        let mut check = Ids::new(capacity, None);
        for (at, id) in ids.iter().enumerate() {
            check.note(id, Place { file: 0, number: at as u64 + 1 }).unwrap();
        }
        check.first_duplicate().unwrap().map(|(first, second)| (first.number, second.number))
    }

    #[test]
    fn the_earliest_repeat_is_found_in_memory_and_across_runs() {
        for capacity in [1, 2, 3, 4, 5, 100] {
            assert_eq!(first_duplicate(&["a", "b", "c", "d", "e"], capacity), None);
            assert_eq!(first_duplicate(&["a", "b", "c", "b", "a", "b"], capacity), Some((2, 4)), "{capacity}");
            assert_eq!(first_duplicate(&["a", "b", "c", "d", "a"], capacity), Some((1, 5)), "{capacity}");
        }
    }
}
