//! Records matched with the samples of the suite, in one pass over both.
//!
//! In an honest run they are in step. Where they are not, both are remembered until their partner comes: so a
//! record that was dropped, doubled, added or moved is named as such, and those around it are still compared.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use proofmark_artefact::spill::mark;
use proofmark_artefact::store::{LineError, Lines, MAX_LINE, RunDir, names};
use proofmark_artefact::text::excerpt;
use serde::Deserialize;

use super::RescoreError;
use super::again::Pair;
use super::finding::{Finding, FindingKind, Findings};
use crate::journal::Done;
use crate::ready::Ready;
use crate::source::{Source, Unit};

/// How many records and samples may wait for their partner. Beyond that nothing can be said about each of them.
const MOST_WAITING: usize = 4096;

pub(super) enum Step {
    Pair(Box<Pair>),
    /// Something else was found; there may be more.
    Nothing,
}

pub(super) struct Pairs {
    ready: Arc<Ready>,
    source: Source,
    lines: Lines,
    path: PathBuf,
    /// A second handle, for lines that waited.
    file: File,
    unit: Option<Unit>,
    line: Option<Recorded>,
    units: BTreeMap<[u8; 16], Unit>,
    recorded: BTreeMap<[u8; 16], Recorded>,
    /// The furthest that was matched.
    last_ordinal: Option<u64>,
    last_line: u64,
    /// Too much was out of place to go on.
    gave_up: bool,
    source_ended: bool,
    lines_ended: bool,
}

/// A line that was seen, by its place.
#[derive(Debug, Clone)]
struct Recorded {
    mark: [u8; 16],
    /// Shortened.
    key: String,
    number: u64,
    offset: u64,
    length: usize,
}

#[derive(Deserialize)]
struct KeyOnly<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
}

impl Pairs {
    pub(super) fn open(ready: Arc<Ready>, dir: &RunDir) -> Result<Self, RescoreError> {
        let path = dir.file(names::RECORDS);
        let io_error = |source| RescoreError::Io { path: path.clone(), source };
        let file = File::open(&path).map_err(io_error)?;
        let lines = Lines::new(File::open(&path).map_err(io_error)?, MAX_LINE);
        Ok(Self {
            source: Source::new(Arc::clone(&ready), Arc::new(Done::default()), None),
            ready,
            lines,
            file,
            path,
            unit: None,
            line: None,
            units: BTreeMap::new(),
            recorded: BTreeMap::new(),
            last_ordinal: None,
            last_line: 0,
            gave_up: false,
            source_ended: false,
            lines_ended: false,
        })
    }

    /// Goes on by one step; `None` when both are at their end.
    pub(super) fn next(&mut self, findings: &mut Findings) -> Result<Option<Step>, RescoreError> {
        if self.gave_up {
            return Ok(None);
        }
        if self.unit.is_none() && !self.source_ended {
            self.unit = self.source.next_unit()?;
            self.source_ended = self.unit.is_none();
        }
        if self.line.is_none() && !self.lines_ended && !self.read_line(findings)? {
            return Ok(Some(Step::Nothing));
        }
        let (unit, line) = match (self.unit.take(), self.line.take()) {
            (None, None) => return Ok(None),
            both => both,
        };
        let unit = unit.map(|unit| (mark(unit.key(&self.ready.plan).as_str().as_bytes()), unit));
        match (unit, line) {
            (Some((own, unit)), Some(line)) if own == line.mark => self.pair(unit, line, findings).map(Some),
            (unit, Some(line)) if self.units.contains_key(&line.mark) => {
                self.unit = unit.map(|(_, unit)| unit);
                match self.units.remove(&line.mark) {
                    Some(waited) => self.pair(waited, line, findings).map(Some),
                    None => Ok(Some(Step::Nothing)),
                }
            }
            (Some((own, unit)), line) if self.recorded.contains_key(&own) => {
                self.line = line;
                match self.recorded.remove(&own) {
                    Some(waited) => self.pair(unit, waited, findings).map(Some),
                    None => Ok(Some(Step::Nothing)),
                }
            }
            (unit, line) => {
                if let Some((own, unit)) = unit {
                    self.units.insert(own, unit);
                }
                if let Some(line) = line {
                    self.keep(line, findings);
                }
                if self.units.len().max(self.recorded.len()) > MOST_WAITING {
                    let message = format!(
                        "more than {MOST_WAITING} records are missing, too many or out of place; nothing behind was compared"
                    );
                    findings.push(Finding::new(FindingKind::Malformed, names::RECORDS, message));
                    self.gave_up = true;
                }
                Ok(Some(Step::Nothing))
            }
        }
    }

    /// Says what was left without a partner.
    pub(super) fn finish(mut self, findings: &mut Findings, not_rerun: &mut Vec<String>) -> Result<(), RescoreError> {
        if self.gave_up {
            not_rerun.push("the records behind the place where too many were out of place".to_owned());
            return Ok(());
        }
        let mut missing: Vec<(u64, String)> =
            self.units.values().map(|unit| (unit.ordinal, unit.key(&self.ready.plan).to_string())).collect();
        missing.sort();
        for (ordinal, key) in missing {
            let message = format!("sample {ordinal} of the suite has no record");
            let finding = Finding::new(FindingKind::Dropped, names::RECORDS, message);
            findings.push(Finding { key: Some(excerpt(&key, 200)), ..finding });
        }
        if self.recorded.is_empty() {
            return Ok(());
        }
        // A record too many is a second one of a sample, or one of no sample: the keys are made once more.
        let mut known = Vec::new();
        let mut source = Source::new(Arc::clone(&self.ready), Arc::new(Done::default()), None);
        while let Some(unit) = source.next_unit()? {
            let own = mark(unit.key(&self.ready.plan).as_str().as_bytes());
            known.extend(self.recorded.remove(&own).map(|line| (line, true)));
        }
        known.extend(std::mem::take(&mut self.recorded).into_values().map(|line| (line, false)));
        known.sort_by_key(|(line, _)| line.number);
        for (line, is_double) in known {
            findings.push(if is_double { doubled(&line) } else { added(&line) });
        }
        Ok(())
    }

    /// Reads the next line. Returns false when it names no sample, which is said.
    fn read_line(&mut self, findings: &mut Findings) -> Result<bool, RescoreError> {
        let malformed =
            |number, why: String| Finding::new(FindingKind::Malformed, names::RECORDS, why).at(number, None);
        let line = match self.lines.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => {
                self.lines_ended = true;
                return Ok(true);
            }
            Err(LineError::TooLong { number, limit }) => {
                findings.push(malformed(number, format!("the line is longer than {limit} bytes; it was not read")));
                return Ok(false);
            }
            Err(source) => return Err(RescoreError::Line { path: self.path.clone(), source }),
        };
        if !line.ended {
            findings.push(malformed(line.number, "the last line does not end".to_owned()));
        }
        match serde_json::from_slice::<KeyOnly<'_>>(line.bytes) {
            Ok(KeyOnly { key }) => {
                self.line = Some(Recorded {
                    mark: mark(key.as_bytes()),
                    key: excerpt(&key, 200),
                    number: line.number,
                    offset: line.offset,
                    length: line.bytes.len(),
                });
                Ok(true)
            }
            Err(error) => {
                findings.push(malformed(
                    line.number,
                    format!("the line is not a record: {}", excerpt(&error.to_string(), 200)),
                ));
                Ok(false)
            }
        }
    }

    fn keep(&mut self, line: Recorded, findings: &mut Findings) {
        match self.recorded.entry(line.mark) {
            Entry::Occupied(_) => findings.push(doubled(&line)),
            Entry::Vacant(place) => drop(place.insert(line)),
        }
    }

    fn pair(&mut self, unit: Unit, line: Recorded, findings: &mut Findings) -> Result<Step, RescoreError> {
        let ordinal = unit.ordinal;
        if self.last_ordinal.is_some_and(|last| ordinal < last) || line.number < self.last_line {
            let message = format!("the record belongs to sample {ordinal} of the suite and stands elsewhere");
            findings.push(Finding::new(FindingKind::Moved, names::RECORDS, message).at(line.number, Some(&line.key)));
        }
        self.last_ordinal = self.last_ordinal.max(Some(ordinal));
        self.last_line = self.last_line.max(line.number);
        let mut bytes = vec![0; line.length];
        let io_error = |source| RescoreError::Io { path: self.path.clone(), source };
        self.file.read_exact_at(&mut bytes, line.offset).map_err(io_error)?;
        Ok(Step::Pair(Box::new(Pair { unit, number: line.number, line: bytes, trajectories: Vec::new() })))
    }
}

fn doubled(line: &Recorded) -> Finding {
    Finding::new(FindingKind::Doubled, names::RECORDS, "the sample has a record already")
        .at(line.number, Some(&line.key))
}

fn added(line: &Recorded) -> Finding {
    Finding::new(FindingKind::Added, names::RECORDS, "the suite has no such sample").at(line.number, Some(&line.key))
}
