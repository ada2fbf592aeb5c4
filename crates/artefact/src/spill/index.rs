//! Sorted entries that can be looked up by how they begin.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::sort::{Sorted, scratch_file};

/// Entries in order, in memory or in one file.
pub struct Index<const N: usize> {
    memory: Vec<[u8; N]>,
    file: Option<File>,
    count: u64,
    /// Entries of the file that are `apart` from each other, from the first on: a search reads little beside them.
    fences: Vec<[u8; N]>,
    apart: u64,
}

/// Entries that a walk reads at once.
const WALK: u64 = 1024;
/// The most fences.
const FENCES: u64 = 1024;
/// Entries that a search reads at once, where it is near.
const NEAR: u64 = 128;

impl<const N: usize> Index<N> {
    /// Takes sorted entries; those that did not fit in memory are merged to one file.
    pub fn new(sorted: Sorted<N>, scratch: Option<&Path>) -> io::Result<Self> {
        if let Some(memory) = sorted.as_memory() {
            let (count, memory) = (memory.len() as u64, memory.to_vec());
            return Ok(Self { memory, file: None, count, fences: Vec::new(), apart: 1 });
        }
        let mut out = BufWriter::with_capacity(64 * 1024, scratch_file(scratch)?);
        let (mut count, mut fences, mut apart) = (0u64, Vec::new(), NEAR);
        for entry in sorted.into_walk()? {
            let entry = entry?;
            if count.is_multiple_of(apart) {
                if fences.len() as u64 == FENCES {
                    // Every other one goes: how many entries there are shows at the end.
                    fences = fences.into_iter().step_by(2).collect();
                    apart *= 2;
                }
                if count.is_multiple_of(apart) {
                    fences.push(entry);
                }
            }
            out.write_all(&entry)?;
            count += 1;
        }
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Self { memory: Vec::new(), file: Some(file), count, fences, apart })
    }

    /// The first entry that begins so.
    pub fn find(&self, start: &[u8]) -> io::Result<Option<[u8; N]>> {
        let Some(file) = &self.file else {
            let at = self.memory.partition_point(|entry| entry.as_slice() < start);
            return Ok(self.memory.get(at).copied().filter(|entry| entry.starts_with(start)));
        };
        // The entry is behind the last fence before it, and not behind the next one.
        let fence = self.fences.partition_point(|entry| entry.as_slice() < start) as u64;
        let (mut from, mut to) = (fence.saturating_sub(1) * self.apart, (fence * self.apart + 1).min(self.count));
        while to - from > NEAR {
            let middle = from + (to - from) / 2;
            if self.get(middle)?.as_slice() < start {
                from = middle + 1;
            } else {
                to = middle + 1;
            }
        }
        let mut near = vec![[0; N]; (to - from) as usize];
        file.read_exact_at(near.as_flattened_mut(), from * N as u64)?;
        let at = near.partition_point(|entry| entry.as_slice() < start);
        Ok(near.get(at).copied().filter(|entry| entry.starts_with(start)))
    }

    /// The entry of a number, from 0.
    pub fn get(&self, number: u64) -> io::Result<[u8; N]> {
        let Some(file) = &self.file else {
            let entry = usize::try_from(number).ok().and_then(|number| self.memory.get(number));
            return entry.copied().ok_or_else(|| io::ErrorKind::UnexpectedEof.into());
        };
        let mut entry = [0; N];
        file.read_exact_at(&mut entry, number * N as u64)?;
        Ok(entry)
    }

    /// Goes through the entries from the smallest on.
    pub fn walk(&self) -> impl Iterator<Item = io::Result<[u8; N]>> {
        let mut block: Vec<[u8; N]> = Vec::new();
        (0..self.count).map(move |number| {
            let at = (number % WALK) as usize;
            if at == 0 {
                let length = WALK.min(self.count - number) as usize;
                block.resize(length, [0; N]);
                match &self.file {
                    Some(file) => file.read_exact_at(block.as_flattened_mut(), number * N as u64)?,
                    None => block.copy_from_slice(&self.memory[number as usize..number as usize + length]),
                }
            }
            Ok(block[at])
        })
    }

    pub fn len(&self) -> u64 {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::sort::Sorter;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_entry_with_a_beginning_is_found_wherever_entries_are(
            entries in prop::collection::vec((0u8..20, any::<u8>()), 0..80),
            room in 1usize..100,
        ) {
            let mut sorter = Sorter::new(room, None);
            for (start, rest) in &entries {
                sorter.push([*start, *rest]).unwrap();
            }
            let index = Index::new(sorter.finish().unwrap(), None).unwrap();
            prop_assert_eq!(index.len(), entries.len() as u64);
            for start in 0..21u8 {
                let want = entries.iter().filter(|entry| entry.0 == start).min().map(|entry| [entry.0, entry.1]);
                prop_assert_eq!(index.find(&[start]).unwrap(), want);
            }
            let all: Vec<[u8; 2]> = (0..index.len()).map(|at| index.get(at).unwrap()).collect();
            prop_assert!(all.is_sorted());
            prop_assert_eq!(index.walk().collect::<io::Result<Vec<_>>>().unwrap(), all);
        }
    }

    #[test]
    fn a_walk_goes_beyond_one_read() {
        let mut sorter = Sorter::new(700, None);
        for n in 0..2500u32 {
            sorter.push(n.wrapping_mul(2_654_435_761).to_be_bytes()).unwrap();
        }
        let index = Index::new(sorter.finish().unwrap(), None).unwrap();
        let all: Vec<[u8; 4]> = index.walk().map(Result::unwrap).collect();
        assert!(all.len() == 2500 && all.is_sorted());
    }

    #[test]
    fn each_of_very_many_is_found_and_none_that_is_not_there() {
        // More than fences at their first distance, and groups that are longer than what is read at once.
        for (count, same) in [(300_000u32, 1u32), (150_000, 300), (1024 * 128, 1), (1024 * 128 + 1, 1)] {
            let mut sorter = Sorter::new(50_000, None);
            let start = |n: u32| ((n / same).wrapping_mul(2_654_435_761) & !1).to_be_bytes();
            for n in 0..count {
                let [entry, rest] = [start(n), n.to_be_bytes()];
                sorter.push([entry[0], entry[1], entry[2], entry[3], rest[0], rest[1], rest[2], rest[3]]).unwrap();
            }
            let index = Index::new(sorter.finish().unwrap(), None).unwrap();
            assert!(index.fences.len() as u64 <= FENCES && index.fences.len() as u64 * index.apart >= u64::from(count));
            for n in (0..count).step_by(977).chain([0, count - 1]) {
                let found = index.find(&start(n)).unwrap().unwrap();
                let first = u32::from_be_bytes([found[4], found[5], found[6], found[7]]);
                assert!(found.starts_with(&start(n)) && (same > 1 || start(first) == start(n)), "{n} of {count}");
                assert!(first.is_multiple_of(same) || same == 1, "the first of its group");
                assert_eq!(index.find(&[start(n)[0], start(n)[1], start(n)[2], start(n)[3] | 1]).unwrap(), None);
            }
        }
    }
}
