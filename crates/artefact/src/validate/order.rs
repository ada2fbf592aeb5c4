//! What must hold over all records together: order, completeness, counts.

use std::io;

use super::blocks::Block;
use super::codes;
use super::finding::{Findings, MAX_FINDINGS, Place, quote};
use super::record::{Checked, Entry, Fact};
use super::view::RecordView;
use crate::manifest::Manifest;
use crate::record::Status;
use crate::spill::{self, Duplicates};
use crate::stats::{Aggregator, Facts, Shape};
use crate::store::names::{MANIFEST, RECORDS};
use crate::summary::Summary;

/// Takes the records in file order. What it keeps does not grow with them.
pub(super) struct Order<'m> {
    manifest: &'m Manifest,
    /// Records of one item: models × conditions × samples.
    slots: u64,
    ordinal: u64,
    current: Option<Current>,
    /// Items seen of each task.
    items: Vec<u64>,
    item_number: u64,
    duplicates: Duplicates,
    statuses: [u64; 5],
    /// Conditions with a scored sample.
    scored: Vec<bool>,
    /// Lines that could not be read.
    unreadable: u64,
    /// Lines that have no place in the suite, those that could not be read among them.
    unplaced: u64,
    /// Whether every record so far was placed where the suite has it.
    in_order: bool,
    /// `None` when the shape is too large to aggregate.
    aggregator: Option<Aggregator>,
}

/// The item whose records are being read.
struct Current {
    task: usize,
    item: [u8; 16],
    next_slot: u64,
    /// Lines that could not be placed came after its last record.
    unsure: bool,
}

/// What is known when all records are read.
pub(super) struct Whole {
    /// The summary that the records give, or why there is none.
    pub(super) summary: Result<Summary, &'static str>,
}

/// How many marks of items are held in memory: 3.5 MB.
const ROOM: usize = 128 * 1024;
/// More cells than any real suite has; a manifest can claim as many as it likes.
const MOST_CELLS: usize = 1 << 20;

impl<'m> Order<'m> {
    pub(super) fn new(manifest: &'m Manifest) -> Self {
        let arms = manifest.models.len().saturating_mul(manifest.conditions.requested.len());
        let scorers: usize = manifest.tasks.iter().map(|task| task.scorers.len().max(1)).sum();
        let fits = arms.saturating_mul(scorers) <= MOST_CELLS;
        Self {
            manifest,
            slots: (arms as u64).saturating_mul(u64::from(manifest.sampling.n)),
            ordinal: 0,
            current: None,
            items: vec![0; manifest.tasks.len()],
            item_number: 0,
            duplicates: Duplicates::new(ROOM, None),
            statuses: [0; 5],
            scored: vec![false; manifest.conditions.requested.len()],
            unreadable: 0,
            unplaced: 0,
            in_order: true,
            aggregator: fits.then(|| Aggregator::new(Shape::of_manifest(manifest))),
        }
    }

    /// Takes the records of the next block.
    pub(super) fn take(&mut self, block: &Block, checked: Checked, findings: &mut Findings) -> io::Result<()> {
        // The block's own findings and those about its place are put in the order of lines.
        let mut about_order = Findings::default();
        for entry in &checked.entries {
            match entry {
                Entry::Record(fact) => self.record(block, fact, &checked, &mut about_order)?,
                Entry::Unplaced(count) => self.skip(*count),
            }
        }
        for (sum, count) in self.statuses.iter_mut().zip(checked.statuses) {
            *sum += count;
        }
        self.unreadable += checked.unreadable;
        let mut both = checked.findings;
        if about_order.errors > 0 {
            both.errors += about_order.errors;
            both.kept.append(&mut about_order.kept);
            both.kept.sort_by_key(|finding| finding.line);
        }
        findings.append(both);
        Ok(())
    }

    fn record(&mut self, block: &Block, fact: &Fact, checked: &Checked, findings: &mut Findings) -> io::Result<()> {
        self.check_ordinal(block, fact, findings);
        if self.place(block, fact, findings) {
            self.item_number += 1;
            self.items[fact.task] += 1;
            self.duplicates.push(mark(fact), spill::Place { file: 0, number: fact.line })?;
        }
        let scores = &checked.verdicts[fact.verdicts.clone()];
        self.scored[fact.condition] |= !scores.is_empty();
        let (task, model, condition) = (fact.task, fact.model, fact.condition);
        if let Some(aggregator) = &mut self.aggregator {
            let (item, usage, answered_by) = (self.item_number, fact.usage, fact.answered_by.as_deref());
            let unscored = fact.unscored;
            let facts = Facts { task, item, model, condition, usage, answered_by, scores, unscored };
            self.in_order &= aggregator.push(&facts).is_ok();
            fact.judged.iter().for_each(|judged| aggregator.judged(judged));
        }
        Ok(())
    }

    fn check_ordinal(&mut self, block: &Block, fact: &Fact, findings: &mut Findings) {
        if fact.ordinal != self.ordinal {
            self.in_order = false;
            report(codes::ORDINAL, block, fact, findings, || {
                format!("ordinal is {}, expected {}", fact.ordinal, self.ordinal)
            });
        }
        // Going on from what was found reports a gap once, not for every line after it.
        self.ordinal = fact.ordinal.saturating_add(1);
    }

    /// Holds a record against the place the suite has for it. Returns whether an item starts with it.
    fn place(&mut self, block: &Block, fact: &Fact, findings: &mut Findings) -> bool {
        let slot = self.slot_of(fact);
        let expected = self.current.as_ref().map_or(0, |current| current.next_slot % self.slots.max(1));
        let (same_item, unsure, last_task) = match &self.current {
            Some(current) => (current.task == fact.task && current.item == fact.item, current.unsure, current.task),
            None => (false, false, 0),
        };
        // After the last record of an item its first one again is an item that stands twice.
        let starts = !same_item || (expected == 0 && slot == 0);
        let fits = slot == expected && (same_item || expected == 0) && fact.task >= last_task;
        if !fits && !unsure {
            self.in_order = false;
            report(codes::ORDER, block, fact, findings, || self.explain(fact, slot, expected, same_item, last_task));
        }
        self.current =
            Some(Current { task: fact.task, item: fact.item, next_slot: slot.saturating_add(1), unsure: false });
        starts
    }

    /// Lets lines pass that cannot be placed: what comes next may be anything.
    fn skip(&mut self, count: u64) {
        self.in_order = false;
        self.unplaced += count;
        self.ordinal = self.ordinal.saturating_add(count);
        match &mut self.current {
            Some(current) => {
                current.unsure = true;
                current.next_slot = current.next_slot.saturating_add(count);
            }
            none => {
                let item = [0; 16];
                *none = Some(Current { task: 0, item, next_slot: count, unsure: true });
            }
        }
    }

    fn slot_of(&self, fact: &Fact) -> u64 {
        let arm = fact.model as u64 * self.manifest.conditions.requested.len() as u64 + fact.condition as u64;
        arm.saturating_mul(u64::from(self.manifest.sampling.n)).saturating_add(u64::from(fact.sample))
    }

    fn explain(&self, fact: &Fact, slot: u64, expected: u64, same_item: bool, last_task: usize) -> String {
        if !same_item && expected != 0 {
            return format!(
                "another item starts after {expected} of {} records of the one before; expected {} first",
                self.slots,
                self.name_of(expected)
            );
        }
        if fact.task < last_task {
            let name = |task: usize| quote(&self.manifest.tasks[task].id);
            return format!(
                "task {} comes after task {}; expected the suite's order",
                name(fact.task),
                name(last_task)
            );
        }
        format!("found {}, expected {}", self.name_of(slot), self.name_of(expected))
    }

    /// Names the record of an item that has this slot.
    fn name_of(&self, slot: u64) -> String {
        let n = u64::from(self.manifest.sampling.n).max(1);
        let conditions = (self.manifest.conditions.requested.len() as u64).max(1);
        let (arm, sample) = (slot / n, slot % n);
        let model = self.manifest.models.get((arm / conditions) as usize).map_or("?", |model| &model.id);
        let condition = self.manifest.conditions.requested.get((arm % conditions) as usize).map_or("?", String::as_str);
        format!("model {}, condition {}, sample {sample}", quote(model), quote(condition))
    }

    /// Checks what can only be said at the end.
    pub(super) fn finish(mut self, lines: u64, findings: &mut Findings) -> io::Result<Whole> {
        let left = self.current.as_ref().map_or(0, |current| current.next_slot % self.slots.max(1));
        let unsure = self.current.as_ref().is_some_and(|current| current.unsure);
        if left != 0 && !unsure {
            self.in_order = false;
            findings.push(codes::ORDER, Place::line(RECORDS, lines), || {
                format!(
                    "the file ends after {left} of {} records of its last item; expected {} next",
                    self.slots,
                    self.name_of(left)
                )
            });
        }
        let duplicates = std::mem::replace(&mut self.duplicates, Duplicates::new(0, None)).finish(MAX_FINDINGS)?;
        let listed = duplicates.earliest.len() as u64;
        for twice in &duplicates.earliest {
            findings.push(codes::DUPLICATE_ITEM, Place::line(RECORDS, twice.again.number), || {
                format!(
                    "the item that starts here has the id of the one in line {}; expected each id once",
                    twice.first.number
                )
            });
        }
        findings.errors += duplicates.total - listed;
        self.check_counts(lines, findings);
        let summary = match self.aggregator {
            None => Err("the manifest claims more cells than any suite has"),
            Some(_) if !self.in_order || duplicates.total > 0 => Err("not every record could be read and placed"),
            Some(aggregator) => Ok(aggregator.finish()),
        };
        Ok(Whole { summary })
    }

    fn check_counts(&self, lines: u64, findings: &mut Findings) {
        let manifest = self.manifest;
        let place = Place::file(MANIFEST);
        if manifest.record_count != lines {
            findings.push(codes::RECORD_COUNT, place, || {
                format!("record_count is {}, but `{RECORDS}` has {lines} lines", manifest.record_count)
            });
        }
        // The rest would only repeat what was said about the lines themselves.
        if self.unreadable > 0 {
            return;
        }
        for (status, found) in Status::ALL.into_iter().zip(self.statuses) {
            let said = manifest.status_counts.get(status.as_str()).copied().unwrap_or(0);
            if said != found {
                findings.push(codes::STATUS_COUNTS, place, || {
                    format!("status_counts has {said} of `{}`, but there are {found}", status.as_str())
                });
            }
        }
        for name in manifest.status_counts.keys() {
            if Status::ALL.iter().all(|status| status.as_str() != name) {
                findings.push(codes::STATUS_COUNTS, place, || format!("there is no status {}", quote(name)));
            }
        }
        if self.unplaced > 0 {
            return;
        }
        for (task, found) in manifest.tasks.iter().zip(&self.items) {
            if task.items != *found {
                findings.push(codes::ITEMS, place, || {
                    format!("task {} has {} items, but the records have {found}", quote(&task.id), task.items)
                });
            }
        }
        let requested = &manifest.conditions.requested;
        let effective: Vec<&String> =
            requested.iter().zip(&self.scored).filter(|(_, scored)| **scored).map(|(name, _)| name).collect();
        if !manifest.conditions.effective.iter().eq(effective.iter().copied()) {
            findings.push(codes::EFFECTIVE, place, || {
                format!(
                    "conditions.effective is {}, but scored samples have {}",
                    super::finding::quote_all(&manifest.conditions.effective),
                    super::finding::quote_all(&effective)
                )
            });
        }
    }
}

/// Reports a record by its key, which is read again: the facts do not carry it.
fn report(code: super::Code, block: &Block, fact: &Fact, findings: &mut Findings, message: impl FnOnce() -> String) {
    let line = &block.bytes()[fact.span.clone()];
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let record = serde_json::from_slice::<RecordView<'_>>(line).ok();
    let place = Place::line(RECORDS, fact.line);
    findings.push(code, Place { key: record.as_ref().map(|record| &*record.key), ..place }, message);
}

/// The item's mark with its task mixed in: two tasks may have items of one name.
fn mark(fact: &Fact) -> [u8; 16] {
    let mut mark = fact.item;
    for (byte, task) in mark.iter_mut().zip((fact.task as u64).to_le_bytes()) {
        *byte ^= task;
    }
    mark
}
