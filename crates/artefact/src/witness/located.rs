//! Where request ids stand in the telemetry, and their texts from there.

use std::cmp::Ordering;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use crate::spill::Walk;

/// Where the JSON text of an id is in the telemetry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) length: usize,
}

/// What decides where an id is listed: by model, then in the order of records, then in the order of the telemetry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    pub(super) model: u32,
    pub(super) ordinal: u64,
    pub(super) call: u32,
    pub(super) attempt: u32,
    pub(super) line: u64,
}

/// The bytes of an order and of a place.
pub(super) const ENTRY: usize = 4 + 8 + 4 + 4 + 8 + 8 + 4;

/// Bytes that sort as ids are listed.
pub(super) fn entry(order: Order, place: Place) -> [u8; ENTRY] {
    let mut entry = [0; ENTRY];
    entry[..4].copy_from_slice(&order.model.to_be_bytes());
    entry[4..12].copy_from_slice(&order.ordinal.to_be_bytes());
    entry[12..16].copy_from_slice(&order.call.to_be_bytes());
    entry[16..20].copy_from_slice(&order.attempt.to_be_bytes());
    entry[20..28].copy_from_slice(&order.line.to_be_bytes());
    entry[28..36].copy_from_slice(&place.offset.to_be_bytes());
    entry[36..].copy_from_slice(&(place.length as u32).to_be_bytes());
    entry
}

/// The model of an entry, and its place.
pub(super) fn read_entry(entry: &[u8; ENTRY]) -> (usize, Place) {
    let number = |from: usize, to: usize| entry[from..to].iter().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
    (number(0, 4) as usize, Place { offset: number(28, 36), length: number(36, 40) as usize })
}

/// The ids of one model in record order.
pub struct Ids<'a> {
    places: Walk<ENTRY>,
    model: Option<usize>,
    block: Block<'a>,
}

impl<'a> Ids<'a> {
    /// `model` is the one whose ids are wanted; `None` for one that has none.
    pub(super) fn new(places: Walk<ENTRY>, model: Option<usize>, telemetry: &'a File) -> Self {
        Self { places, model, block: Block::of(telemetry) }
    }

    /// The next id as canonical JSON.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend its text")]
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let Some(wanted) = self.model else { return Ok(None) };
        for entry in self.places.by_ref() {
            let (model, place) = read_entry(&entry?);
            match model.cmp(&wanted) {
                Ordering::Less => {}
                Ordering::Equal => return self.block.text(place).map(Some),
                Ordering::Greater => break,
            }
        }
        Ok(None)
    }
}

/// A part of the telemetry that is in memory: ids that follow each other mostly stand near each other.
pub(super) struct Block<'a> {
    telemetry: &'a File,
    start: u64,
    bytes: Vec<u8>,
}

/// Bytes that are read at once: some twenty lines.
const BLOCK: usize = 1 << 13;

impl<'a> Block<'a> {
    pub(super) fn of(telemetry: &'a File) -> Self {
        Self { telemetry, start: 0, bytes: Vec::new() }
    }

    /// The text of an id.
    pub(super) fn text(&mut self, place: Place) -> io::Result<&[u8]> {
        let inside = |start: u64, bytes: &[u8]| {
            let from = usize::try_from(place.offset.checked_sub(start)?).ok()?;
            let to = from.checked_add(place.length)?;
            (to <= bytes.len()).then_some(from..to)
        };
        if inside(self.start, &self.bytes).is_none() {
            self.start = place.offset;
            self.bytes.resize(BLOCK.max(place.length), 0);
            let read = read_at(self.telemetry, &mut self.bytes, place.offset)?;
            self.bytes.truncate(read);
        }
        let changed = || io::Error::other("the telemetry has changed meanwhile");
        let range = inside(self.start, &self.bytes).ok_or_else(changed)?;
        let text = &self.bytes[range];
        if text.len() >= 2 && text.starts_with(b"\"") && text.ends_with(b"\"") { Ok(text) } else { Err(changed()) }
    }
}

/// Reads as much as there is.
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
