//! Which line answers which sample.
//!
//! Both sides are sorted by the mark of the sample's key and walked together; what fits is sorted by ordinal, so
//! that the answers can be taken in the order in which samples are scored.

use std::fs::File;
use std::iter::Peekable;
use std::path::Path;
use std::sync::Arc;

use proofmark_artefact::spill::{Sorter, Walk, mark};
use proofmark_artefact::store::{Hashed, Lines};
use proofmark_artefact::text::excerpt;
use proofmark_canon::Digest;

use super::GivenError;
use super::model::Reader;
use crate::journal::Done;
use crate::ready::Ready;
use crate::source::Source;

/// Where an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) line: u64,
    pub(super) length: u32,
    /// Of the line's bytes, to see that they are still the same when they are read again.
    pub(super) mark: [u8; 8],
}

const PLACE: usize = 28;
/// Mark of the key, then the place.
const GIVEN: usize = 16 + PLACE;
/// Mark of the key, then the ordinal.
const WANTED: usize = 16 + 8;
/// Ordinal, then the place.
pub(super) const FOUND: usize = 8 + PLACE;
/// Entries of a sort that are held in memory.
const ROOM: usize = 1 << 16;

pub(super) struct Index {
    /// By ordinal.
    pub(super) places: Walk<FOUND>,
    /// Of the file's bytes.
    pub(super) digest: Digest,
    pub(super) answers: u64,
    pub(super) used: u64,
    pub(super) missing: u64,
    pub(super) first_unused: Option<(u64, String)>,
}

impl Index {
    pub(super) fn build(
        ready: &Arc<Ready>,
        path: &Path,
        reader: &Reader,
        scratch: Option<&Path>,
    ) -> Result<Self, GivenError> {
        let (given, answers, digest) = read_given(path, reader, scratch)?;
        if answers == 0 {
            return Err(GivenError::Empty { path: path.to_owned() });
        }
        let (wanted, samples) = read_wanted(ready, scratch)?;
        let mut found: Sorter<FOUND> = Sorter::new(ROOM, scratch);
        let (mut used, mut twice, mut unused) = (0, None, None);
        merge(given, wanted, |given, wanted| match wanted {
            None => {
                let place = place_of(&given[16..]);
                if unused.is_none_or(|first: Place| place.line < first.line) {
                    unused = Some(place);
                }
                Ok(())
            }
            Some((ordinal, before)) => {
                let place = place_of(&given[16..]);
                if let Some(before) = before {
                    let lines = (place.line.max(before.line), place.line.min(before.line));
                    twice = Some(twice.map_or(lines, |first: (u64, u64)| first.min(lines)));
                    return Ok(());
                }
                used += 1;
                let mut entry = [0; FOUND];
                entry[..8].copy_from_slice(&ordinal.to_be_bytes());
                entry[8..].copy_from_slice(&given[16..]);
                found.push(entry)
            }
        })
        .map_err(GivenError::Sort)?;
        if let Some((second, first)) = twice {
            return Err(GivenError::Twice { path: path.to_owned(), first, second });
        }
        let first_unused = unused.map(|place| key_at(path, reader, place)).transpose()?;
        if used == 0 {
            let given = first_unused.map(|(_, key)| key).unwrap_or_default();
            return Err(GivenError::NoneFits { path: path.to_owned(), answers, given, wanted: first_key(ready)? });
        }
        let places = found.finish().and_then(proofmark_artefact::spill::Sorted::into_walk).map_err(GivenError::Sort)?;
        Ok(Self { places, digest, answers, used, missing: samples - used, first_unused })
    }
}

/// Reads every line once: whose answer it is, and where.
fn read_given(path: &Path, reader: &Reader, scratch: Option<&Path>) -> Result<(Walk<GIVEN>, u64, Digest), GivenError> {
    let io_error = |source| GivenError::Io { path: path.to_owned(), source };
    let mut sorter: Sorter<GIVEN> = Sorter::new(ROOM, scratch);
    let mut lines = Lines::new(Hashed::new(File::open(path).map_err(io_error)?), reader.longest_line());
    let mut answers = 0;
    loop {
        let line = match lines.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(source) => return Err(GivenError::Line { path: path.to_owned(), source }),
        };
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        let wrong = |problem| GivenError::Wrong { path: path.to_owned(), line: line.number, problem };
        let (key, reply) = reader.read(line.bytes).map_err(wrong)?;
        if reply.is_none() {
            continue;
        }
        answers += 1;
        // A line is below 2^32 bytes: the reader sees to it.
        let place = Place {
            offset: line.offset,
            line: line.number,
            length: line.bytes.len() as u32,
            mark: line_mark(line.bytes),
        };
        let mut entry = [0; GIVEN];
        entry[..16].copy_from_slice(&mark(key.as_bytes()));
        entry[16..].copy_from_slice(&bytes_of(place));
        sorter.push(entry).map_err(GivenError::Sort)?;
    }
    let (digest, _) = lines.drain().map_err(io_error)?.finish();
    let walk = sorter.finish().and_then(proofmark_artefact::spill::Sorted::into_walk).map_err(GivenError::Sort)?;
    Ok((walk, answers, digest))
}

/// Every sample of the suite.
fn read_wanted(ready: &Arc<Ready>, scratch: Option<&Path>) -> Result<(Walk<WANTED>, u64), GivenError> {
    let mut sorter: Sorter<WANTED> = Sorter::new(ROOM, scratch);
    let mut source = Source::new(Arc::clone(ready), Arc::new(Done::default()), None);
    let mut samples = 0;
    while let Some(unit) = source.next_unit()? {
        let mut entry = [0; WANTED];
        entry[..16].copy_from_slice(&mark(unit.key(&ready.plan).as_str().as_bytes()));
        entry[16..].copy_from_slice(&unit.ordinal.to_be_bytes());
        sorter.push(entry).map_err(GivenError::Sort)?;
        samples += 1;
    }
    let walk = sorter.finish().and_then(proofmark_artefact::spill::Sorted::into_walk).map_err(GivenError::Sort)?;
    Ok((walk, samples))
}

/// Walks both sides. Tells of every answer whose sample it is, and of the answer that this sample had before.
fn merge(
    given: Walk<GIVEN>,
    wanted: Walk<WANTED>,
    mut tell: impl FnMut(&[u8; GIVEN], Option<(u64, Option<Place>)>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut wanted: Peekable<Walk<WANTED>> = wanted.peekable();
    let mut before: Option<[u8; GIVEN]> = None;
    for entry in given {
        let entry = entry?;
        while wanted.next_if(|next| next.as_ref().is_ok_and(|next| next[..16] < entry[..16])).is_some() {}
        let ordinal = match wanted.peek() {
            Some(Ok(next)) if next[..16] == entry[..16] => Some(number(&next[16..24])),
            Some(Ok(_)) | None => None,
            Some(Err(_)) => return wanted.next().map_or(Ok(()), |error| error.map(drop)),
        };
        let same = before.filter(|before| before[..16] == entry[..16]).map(|before| place_of(&before[16..]));
        tell(&entry, ordinal.map(|ordinal| (ordinal, same)))?;
        before = Some(entry);
    }
    Ok(())
}

fn key_at(path: &Path, reader: &Reader, place: Place) -> Result<(u64, String), GivenError> {
    let read = || {
        let mut bytes = vec![0; place.length as usize];
        std::os::unix::fs::FileExt::read_exact_at(&File::open(path)?, &mut bytes, place.offset).map(|()| bytes)
    };
    let bytes = read().map_err(|source| GivenError::Io { path: path.to_owned(), source })?;
    let key = reader.read(&bytes).map(|(key, _)| key).unwrap_or_default();
    Ok((place.line, excerpt(&key, 200)))
}

fn first_key(ready: &Arc<Ready>) -> Result<String, GivenError> {
    let first = Source::new(Arc::clone(ready), Arc::new(Done::default()), None).next_unit()?;
    Ok(first.map(|unit| excerpt(unit.key(&ready.plan).as_str(), 200)).unwrap_or_default())
}

/// The beginning of the digest of a line.
pub(super) fn line_mark(line: &[u8]) -> [u8; 8] {
    let mut short = [0; 8];
    short.copy_from_slice(&mark(line)[..8]);
    short
}

fn bytes_of(place: Place) -> [u8; PLACE] {
    let mut bytes = [0; PLACE];
    bytes[..8].copy_from_slice(&place.offset.to_be_bytes());
    bytes[8..16].copy_from_slice(&place.line.to_be_bytes());
    bytes[16..20].copy_from_slice(&place.length.to_be_bytes());
    bytes[20..].copy_from_slice(&place.mark);
    bytes
}

/// Reads what [`bytes_of`] wrote; 28 bytes.
fn place_of(bytes: &[u8]) -> Place {
    let mut mark = [0; 8];
    mark.copy_from_slice(&bytes[20..28]);
    Place { offset: number(&bytes[..8]), line: number(&bytes[8..16]), length: number(&bytes[16..20]) as u32, mark }
}

pub(super) fn found_of(entry: &[u8; FOUND]) -> (u64, Place) {
    (number(&entry[..8]), place_of(&entry[8..]))
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_survives_its_bytes() {
        let place = Place { offset: 1 << 40, line: 3, length: u32::MAX, mark: *b"12345678" };
        assert_eq!(place_of(&bytes_of(place)), place);
    }

    #[test]
    fn answers_meet_their_samples_whatever_the_order() {
        let given = |key: u8, line: u64| {
            let mut entry = [0; GIVEN];
            entry[15] = key;
            entry[16..].copy_from_slice(&bytes_of(Place { offset: line, line, length: 1, mark: [0; 8] }));
            entry
        };
        let wanted = |key: u8, ordinal: u64| {
            let mut entry = [0; WANTED];
            entry[15] = key;
            entry[16..].copy_from_slice(&ordinal.to_be_bytes());
            entry
        };
        let left = proofmark_artefact::spill::Sorted::in_memory(vec![
            given(9, 1),
            given(2, 2),
            given(5, 3),
            given(5, 4),
            given(1, 5),
        ]);
        let right =
            proofmark_artefact::spill::Sorted::in_memory(vec![wanted(5, 0), wanted(1, 1), wanted(7, 2), wanted(9, 3)]);
        let mut told = Vec::new();
        merge(left.into_walk().unwrap(), right.into_walk().unwrap(), |entry, fits| {
            told.push((
                place_of(&entry[16..]).line,
                fits.map(|(ordinal, before)| (ordinal, before.map(|place| place.line))),
            ));
            Ok(())
        })
        .unwrap();
        assert_eq!(
            told,
            [(5, Some((1, None))), (2, None), (3, Some((0, None))), (4, Some((0, Some(3)))), (1, Some((3, None)))]
        );
    }
}
