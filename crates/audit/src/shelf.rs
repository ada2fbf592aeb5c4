//! Things that have names, in the order in which they came, in memory that does not grow with them.
//!
//! An audit holds a shelf of samples and, where a dataset is given, one of its rows.

use std::collections::BTreeSet;
use std::io;
use std::marker::PhantomData;

use proofmark_artefact::spill::{Entries, Index, Log, MARK, Sorter, Spot, mark};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of a log that are held in memory.
pub(crate) const LOG: usize = 512 * 1024;
/// Entries of a sort that are held in memory.
pub(crate) const SORT: usize = 8 * 1024;

/// The mark of a name, and where it stands.
const NAME: usize = MARK + Spot::BYTES;

/// A shelf that is being filled.
pub struct Filling<T> {
    log: Log,
    names: Sorter<NAME>,
    count: u64,
    bytes: Vec<u8>,
    kind: PhantomData<fn(&T)>,
}

impl<T> Default for Filling<T> {
    fn default() -> Self {
        Self {
            log: Log::new(LOG, None),
            names: Sorter::new(SORT, None),
            count: 0,
            bytes: Vec::new(),
            kind: PhantomData,
        }
    }
}

impl<T: Serialize> Filling<T> {
    pub fn push(&mut self, name: &str, thing: &T) -> io::Result<()> {
        let spot = self.log.push(encode(thing, &mut self.bytes)?)?;
        let mut entry = [0; NAME];
        entry[..MARK].copy_from_slice(&mark(name.as_bytes()));
        entry[MARK..].copy_from_slice(&spot.to_bytes());
        self.names.push(entry)?;
        self.count += 1;
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn finish(self) -> io::Result<Shelf<T>> {
        let names = Index::new(self.names.finish()?, None)?;
        Ok(Shelf { log: self.log, names, kind: PhantomData })
    }
}

/// Everything on a shelf.
pub struct Shelf<T> {
    log: Log,
    names: Index<NAME>,
    kind: PhantomData<fn() -> T>,
}

/// Names that stand more than once.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Twice {
    /// The earliest of those that repeat one.
    pub again: Vec<Spot>,
    /// How many are not listed.
    pub omitted: u64,
}

impl<T: DeserializeOwned> Shelf<T> {
    /// Where the first thing of this name is.
    pub fn find(&self, name: &str) -> io::Result<Option<Spot>> {
        Ok(self.names.find(&mark(name.as_bytes()))?.map(|entry| spot_of(&entry)))
    }

    pub fn get(&self, spot: Spot) -> io::Result<T> {
        decode(&self.log.get(spot)?)
    }

    pub fn walk(&self) -> Things<'_, T> {
        Things { entries: self.log.walk(), kind: PhantomData }
    }

    pub fn count(&self) -> u64 {
        self.names.len()
    }

    /// Which names stand more than once; at most `keep` places are listed.
    pub fn twice(&self, keep: usize) -> io::Result<Twice> {
        let mut earliest = Earliest::new(keep);
        let mut last: Option<[u8; NAME]> = None;
        for entry in self.names.walk() {
            let entry = entry?;
            if last.is_some_and(|last| last[..MARK] == entry[..MARK]) {
                earliest.push(spot_of(&entry));
            }
            last = Some(entry);
        }
        let (again, omitted) = earliest.into_parts();
        Ok(Twice { again: again.into_iter().collect(), omitted })
    }

    /// Goes through what is not named: `named` has the marks of all names that are, in order.
    pub fn others(
        &self,
        named: impl Iterator<Item = io::Result<[u8; MARK]>>,
        mut take: impl FnMut(T),
    ) -> io::Result<()> {
        let mut named = named.peekable();
        for entry in self.names.walk() {
            let entry = entry?;
            while let Some(name) = named.next_if(|name| !matches!(name, Ok(name) if name[..] >= entry[..MARK])) {
                name?;
            }
            if !matches!(named.peek(), Some(Ok(name)) if name[..] == entry[..MARK]) {
                take(self.get(spot_of(&entry))?);
            }
        }
        Ok(())
    }
}

/// A walk along a shelf.
pub struct Things<'a, T> {
    entries: Entries<'a>,
    kind: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Iterator for Things<'_, T> {
    type Item = io::Result<(Spot, T)>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.entries.next_entry().transpose()?;
        Some(entry.and_then(|(spot, bytes)| Ok((spot, decode(bytes)?))))
    }
}

/// The smallest of any number of things.
pub(crate) struct Earliest<T> {
    kept: BTreeSet<T>,
    keep: usize,
    total: u64,
}

impl<T: Ord> Earliest<T> {
    pub(crate) fn new(keep: usize) -> Self {
        Self { kept: BTreeSet::new(), keep, total: 0 }
    }

    /// Adds one. None of them comes twice.
    pub(crate) fn push(&mut self, thing: T) {
        self.total += 1;
        if self.kept.len() < self.keep {
            self.kept.insert(thing);
        } else if self.kept.last().is_some_and(|last| thing < *last) {
            self.kept.insert(thing);
            self.kept.pop_last();
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Those that are kept, in order, and how many are not.
    pub(crate) fn into_parts(self) -> (BTreeSet<T>, u64) {
        let omitted = self.total - self.kept.len() as u64;
        (self.kept, omitted)
    }
}

/// A thing as bytes. They never leave the process, so that their form is nobody's business.
pub(crate) fn encode<'b>(thing: &impl Serialize, bytes: &'b mut Vec<u8>) -> io::Result<&'b [u8]> {
    bytes.clear();
    let buffer = postcard::to_extend(thing, std::mem::take(bytes)).map_err(io::Error::other)?;
    *bytes = buffer;
    Ok(bytes)
}

pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    postcard::from_bytes(bytes).map_err(io::Error::other)
}

fn spot_of(entry: &[u8; NAME]) -> Spot {
    Spot::read(&entry[MARK..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shelf(names: &[String]) -> Shelf<(String, usize)> {
        let mut filling = Filling::default();
        for (at, name) in names.iter().enumerate() {
            filling.push(name, &(name.clone(), at)).unwrap();
        }
        filling.finish().unwrap()
    }

    #[test]
    fn things_are_found_by_name_and_come_in_order_few_or_many() {
        for count in [3, 30_000] {
            let names: Vec<String> = (0..count).map(|n| format!("name {}", n * 7919 % count)).collect();
            let shelf = shelf(&names);
            assert_eq!(shelf.count(), count as u64);
            let spot = shelf.find("name 2").unwrap().unwrap();
            assert_eq!(shelf.get(spot).unwrap().0, "name 2");
            assert_eq!(shelf.find("nobody").unwrap(), None);
            let walked: Vec<usize> = shelf.walk().map(|thing| thing.unwrap().1.1).collect();
            assert!(walked.len() == names.len() && walked.is_sorted());
            assert_eq!(shelf.twice(5).unwrap(), Twice::default());
        }
    }

    #[test]
    fn names_that_stand_twice_are_counted_and_the_first_one_is_found() {
        let names: Vec<String> = (0..20_000).map(|n| format!("{}", n % 15_000)).collect();
        let shelf = shelf(&names);
        assert_eq!(shelf.get(shelf.find("3").unwrap().unwrap()).unwrap(), ("3".to_owned(), 3));
        let twice = shelf.twice(2).unwrap();
        let again: Vec<usize> = twice.again.iter().map(|spot| shelf.get(*spot).unwrap().1).collect();
        assert_eq!((again, twice.omitted), (vec![15_000, 15_001], 4_998));
    }

    #[test]
    fn what_nobody_names_is_left() {
        let names: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let shelf = shelf(&names);
        let mut named: Vec<[u8; MARK]> = (0..97).chain(500..600).map(|n: u32| mark(n.to_string().as_bytes())).collect();
        named.sort_unstable();
        let mut left = Vec::new();
        shelf.others(named.into_iter().map(Ok), |thing| left.push(thing.1)).unwrap();
        left.sort_unstable();
        assert_eq!(left, [97, 98, 99]);
    }
}
