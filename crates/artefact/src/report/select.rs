//! Which samples the report shows.
//!
//! A run may have a million records and the page stays small. The choice depends on the records
//! and their order alone, so that a live run and a later reading of `records.jsonl` agree:
//!
//! 1. Within each cell (task × model × condition) errors come first, then failures, then passes,
//!    each in record order; the first `max(4, samples / cells)` are candidates.
//! 2. Of all candidates, in the same order, the first `samples` stay.
//! 3. Of those, in the same order, as many as fit in `bytes` of text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use proofmark_canon::json::{self, ParseError, ShapeError};

use super::sample::{Outcome, Sample};
use crate::manifest::Manifest;
use crate::record::{Record, Status};

/// How much the report shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most samples.
    pub samples: usize,
    /// The most bytes of text in them, after long texts were cut.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { samples: 600, bytes: 4 << 20 }
    }
}

/// How many tasks, models and conditions a run has: known before its first record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    pub tasks: usize,
    pub models: usize,
    pub conditions: usize,
}

impl Grid {
    pub fn of(manifest: &Manifest) -> Self {
        Self {
            tasks: manifest.tasks.len(),
            models: manifest.models.len(),
            conditions: manifest.conditions.requested.len(),
        }
    }
}

/// One record as the choice sees it. Indices are positions in the manifest's `tasks`, `models` and
/// `conditions.requested`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts<'a> {
    pub task: usize,
    pub model: usize,
    pub condition: usize,
    pub status: Status,
    /// The verdict of the task's first scorer.
    pub passed: Option<bool>,
    /// `error.class` of the record.
    pub error_class: Option<&'a str>,
}

impl<'a> Facts<'a> {
    /// Looks at a record whose place in the manifest is known.
    pub fn of(record: &'a Record, task: usize, model: usize, condition: usize) -> Self {
        Self {
            task,
            model,
            condition,
            status: record.status,
            passed: record.scores.first().map(|score| score.passed),
            error_class: record.error.as_ref().map(|error| error.class.as_str()),
        }
    }
}

/// Chooses samples in memory that does not grow with the run. Feed it every record, in order.
#[derive(Debug)]
pub struct Selector {
    limits: Limits,
    /// Models, conditions.
    sizes: [usize; 2],
    quota: u32,
    /// How many candidates of each outcome a cell has had; what lies beyond the quota is not counted.
    cells: Vec<[u32; 4]>,
    /// The kept samples with their cells, best first.
    kept: BTreeMap<(Outcome, u64), (usize, Sample)>,
    seen: [u64; 4],
    errors: Vec<ErrorGroup>,
    other_errors: u64,
}

/// What the report shows of the records.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// Errors, failures, passes; each in record order.
    pub(super) samples: Vec<Sample>,
    /// The largest group first.
    pub(super) errors: Vec<ErrorGroup>,
    /// Samples whose error belongs to no group, because there are too many classes.
    pub(super) other_errors: u64,
    pub(super) seen: [u64; 4],
    pub(super) limits: Limits,
    pub(super) quota: u32,
}

/// All errors of one class.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ErrorGroup {
    pub(super) class: String,
    pub(super) count: u64,
    /// How many of them each model has; models beyond [`MAX_MODELS`] share the last place.
    pub(super) models: Vec<u64>,
    /// The first one in record order.
    pub(super) example: Option<Box<Sample>>,
}

/// Bytes that were given as a record are none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadRecord {
    #[error("the record is not JSON")]
    NotJson { source: ParseError },
    #[error("the record does not have the expected shape")]
    Shape { source: ShapeError },
}

/// A manifest may claim any number of cells. Those beyond this one share a quota.
const MAX_CELLS: usize = 1 << 20;
const MAX_CLASSES: usize = 32;
const MAX_MODELS: usize = 64;
/// Classes are words; of anything longer the beginning counts.
const MAX_CLASS: usize = 128;

impl Selector {
    pub fn new(grid: Grid, limits: Limits) -> Self {
        let (models, conditions) = (grid.models.max(1), grid.conditions.max(1));
        let cells = grid.tasks.max(1).saturating_mul(models).saturating_mul(conditions);
        Self {
            limits,
            sizes: [models, conditions],
            quota: u32::try_from((limits.samples / cells).max(4)).unwrap_or(u32::MAX),
            cells: vec![[0; 4]; cells.min(MAX_CELLS)],
            kept: BTreeMap::new(),
            seen: [0; 4],
            errors: Vec::new(),
            other_errors: 0,
        }
    }

    /// Looks at the next record. Its canonical bytes are asked for only when it is kept.
    pub fn push<'a>(&mut self, facts: &Facts<'_>, line: impl FnOnce() -> Cow<'a, [u8]>) -> Result<(), BadRecord> {
        if let Some(wanted) = self.weigh(facts) {
            let value = json::parse(&line()).map_err(|source| BadRecord::NotJson { source })?;
            let record = json::from_value(&value).map_err(|source| BadRecord::Shape { source })?;
            self.keep(facts, wanted, &record);
        }
        Ok(())
    }

    /// Looks at the next record when it is at hand as one.
    pub fn push_record(&mut self, facts: &Facts<'_>, record: &Record) {
        if let Some(wanted) = self.weigh(facts) {
            self.keep(facts, wanted, record);
        }
    }

    /// Applies the limit on bytes and returns what is left.
    pub fn finish(self) -> Selection {
        let mut room = self.limits.bytes;
        let fits = |(_, sample): (usize, Sample)| {
            room = room.checked_sub(sample.bytes())?;
            Some(sample)
        };
        let samples = self.kept.into_values().map_while(fits).collect();
        let mut errors = self.errors;
        // Stable: groups of one size stay in the order in which they were met.
        errors.sort_by_key(|group| std::cmp::Reverse(group.count));
        Selection {
            samples,
            errors,
            other_errors: self.other_errors,
            seen: self.seen,
            limits: self.limits,
            quota: self.quota,
        }
    }

    /// Counts a record and says what it is wanted for, if anything.
    fn weigh(&mut self, facts: &Facts<'_>) -> Option<Wanted> {
        let outcome = Outcome::of(facts.status, facts.passed);
        let position = self.seen.iter().sum();
        self.seen[outcome as usize] += 1;
        let example = if outcome == Outcome::Errored { self.count_error(facts) } else { None };

        let cell = facts.task.saturating_mul(self.sizes[0]).saturating_add(facts.model);
        let cell = cell.saturating_mul(self.sizes[1]).saturating_add(facts.condition).min(self.cells.len() - 1);
        let had = &mut self.cells[cell];
        let not_worse: u32 = had[..=outcome as usize].iter().sum();
        let candidate = not_worse < self.quota;
        if candidate {
            had[outcome as usize] += 1;
            // The cell may now have one too many: the last one of its worst outcome.
            if had.iter().sum::<u32>() > self.quota {
                let worst = Outcome::ALL.into_iter().rfind(|one| had[*one as usize] > 0).unwrap_or(Outcome::Failed);
                had[worst as usize] -= 1;
                // It may be gone already, for want of room; what is kept of a cell's outcome is its beginning.
                let of_cell = self.kept.range((worst, 0)..=(worst, u64::MAX)).filter(|(_, kept)| kept.0 == cell);
                if let Some((key, _)) = of_cell.skip(had[worst as usize] as usize).last() {
                    let key = *key;
                    self.kept.remove(&key);
                }
            }
        }
        let shown = candidate
            && (self.kept.len() < self.limits.samples
                || self.kept.last_key_value().is_some_and(|(last, _)| *last > (outcome, position)));
        (shown || example.is_some()).then_some(Wanted { position, outcome, cell, shown, example })
    }

    /// Counts an error in its group and returns the group when it still lacks an example.
    fn count_error(&mut self, facts: &Facts<'_>) -> Option<usize> {
        let class = facts.error_class.unwrap_or(facts.status.as_str());
        let class = &class[..class.floor_char_boundary(MAX_CLASS)];
        let at = match self.errors.iter().position(|group| group.class == class) {
            Some(at) => at,
            None if self.errors.len() == MAX_CLASSES => {
                self.other_errors += 1;
                return None;
            }
            None => {
                let models = vec![0; self.sizes[0].min(MAX_MODELS)];
                self.errors.push(ErrorGroup { class: class.to_owned(), count: 0, models, example: None });
                self.errors.len() - 1
            }
        };
        let group = &mut self.errors[at];
        group.count += 1;
        let last = group.models.len() - 1;
        group.models[facts.model.min(last)] += 1;
        group.example.is_none().then_some(at)
    }

    fn keep(&mut self, facts: &Facts<'_>, wanted: Wanted, record: &Record) {
        let Wanted { position, outcome, cell, shown, example } = wanted;
        let sample = Sample::of(record, position, outcome, [facts.task, facts.model, facts.condition]);
        if let Some(at) = example {
            self.errors[at].example = Some(Box::new(sample.clone()));
        }
        if shown {
            self.kept.insert((outcome, position), (cell, sample));
            // A candidate that falls out here cannot come back: what is before it never gets less.
            if self.kept.len() > self.limits.samples {
                self.kept.pop_last();
            }
        }
    }
}

/// What a record is kept for.
struct Wanted {
    position: u64,
    outcome: Outcome,
    cell: usize,
    /// In the list of samples.
    shown: bool,
    /// As the example of an error group.
    example: Option<usize>,
}

impl Selection {
    /// How many records were looked at.
    pub fn seen(&self) -> u64 {
        self.seen.iter().sum()
    }

    /// How many of them are shown.
    pub fn shown(&self) -> usize {
        self.samples.len()
    }

    /// Shown and seen records of one outcome.
    pub(super) fn share(&self, outcome: Outcome) -> (u64, u64) {
        let shown = self.samples.iter().filter(|sample| sample.outcome == outcome).count();
        (shown as u64, self.seen[outcome as usize])
    }

    /// Whether the record at a position is shown.
    pub(super) fn shows(&self, outcome: Outcome, position: u64) -> bool {
        self.samples.binary_search_by_key(&(outcome, position), |sample| (sample.outcome, sample.position)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use proptest::prelude::*;

    type Given = (usize, usize, usize, u8);

    fn facts(&(task, model, condition, kind): &Given) -> Facts<'static> {
        let (status, passed) = [(Status::Error, None), (Status::Success, Some(false)), (Status::Success, Some(true))]
            [usize::from(kind.min(2))];
        let error_class = (kind == 0).then_some("server");
        Facts { task, model, condition, status, passed, error_class }
    }

    fn select(given: &[Given], limits: Limits) -> Selection {
        let mut selector = Selector::new(Grid::of(&fixture::manifest()), limits);
        for (ordinal, given) in given.iter().enumerate() {
            let facts = facts(given);
            let record = fixture::record(ordinal as u64, facts.status, facts.passed);
            selector.push_record(&facts, &record);
        }
        selector.finish()
    }

    /// The rule as it is written, with everything in memory.
    fn by_the_book(given: &[Given], limits: Limits) -> Vec<(Outcome, u64)> {
        let quota = (limits.samples / 12).max(4);
        let mut cells = BTreeMap::<_, Vec<_>>::new();
        for (at, given) in given.iter().enumerate() {
            let facts = facts(given);
            let ranked = (Outcome::of(facts.status, facts.passed), at as u64);
            cells.entry((given.0, given.1, given.2)).or_default().push(ranked);
        }
        let mut all = Vec::new();
        for mut cell in cells.into_values() {
            cell.sort_unstable();
            cell.truncate(quota);
            all.extend(cell);
        }
        all.sort_unstable();
        all.truncate(limits.samples);
        all
    }

    fn chosen(selection: &Selection) -> Vec<(Outcome, u64)> {
        selection.samples.iter().map(|sample| (sample.outcome, sample.position)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn the_stream_chooses_what_the_rule_says(
            given in prop::collection::vec((0usize..3, 0usize..2, 0usize..2, 0u8..6), 0..300),
            samples in 1usize..90,
        ) {
            let limits = Limits { samples, ..Limits::default() };
            let selection = select(&given, limits);
            prop_assert_eq!(chosen(&selection), by_the_book(&given, limits));
            prop_assert_eq!(selection.seen(), given.len() as u64);
        }
    }

    #[test]
    fn failures_push_out_passes_and_errors_push_out_failures() {
        let limits = Limits { samples: 4, ..Limits::default() };
        let given = [2, 2, 1, 2, 1, 0, 1, 1, 0].map(|kind| (0, 0, 0, kind));
        use Outcome::{Errored, Failed};
        assert_eq!(chosen(&select(&given, limits)), [(Errored, 5), (Errored, 8), (Failed, 2), (Failed, 4)]);
    }

    #[test]
    fn the_limit_on_bytes_leaves_out_the_end_of_the_list() {
        let given = [(0, 0, 0, 2), (0, 0, 1, 1), (0, 1, 0, 0), (0, 1, 1, 2)];
        let all = select(&given, Limits::default());
        let two = all.samples[0].bytes() + all.samples[1].bytes();
        let limits = Limits { bytes: two + 1, ..Limits::default() };
        assert_eq!(chosen(&select(&given, limits)), [(Outcome::Errored, 2), (Outcome::Failed, 1)]);
        assert_eq!(select(&given, Limits { bytes: 0, ..limits }).shown(), 0);
    }

    #[test]
    fn bytes_and_record_give_one_selection() {
        let given: Vec<Given> = (0..200).map(|at| (at % 3, at / 3 % 2, at / 7 % 2, (at % 5) as u8)).collect();
        let mut selector = Selector::new(Grid::of(&fixture::manifest()), Limits::default());
        for (ordinal, given) in given.iter().enumerate() {
            let facts = facts(given);
            let record = fixture::record(ordinal as u64, facts.status, facts.passed);
            selector.push(&facts, || Cow::Owned(proofmark_canon::to_vec(&record).unwrap())).unwrap();
        }
        assert_eq!(selector.finish(), select(&given, Limits::default()));
    }

    #[test]
    fn a_record_that_is_not_kept_is_not_asked_for() {
        let mut selector = Selector::new(Grid::of(&fixture::manifest()), Limits::default());
        let quota = selector.quota;
        let pass = facts(&(0, 0, 0, 2));
        for ordinal in 0..u64::from(quota) {
            selector.push_record(&pass, &fixture::record(ordinal, Status::Success, Some(true)));
        }
        selector.push(&pass, || unreachable!("the cell is full")).unwrap();
        assert!(matches!(selector.push(&facts(&(0, 0, 0, 1)), || Cow::Borrowed(b"{")), Err(BadRecord::NotJson { .. })));
    }

    #[test]
    fn errors_are_counted_by_class_and_by_model_even_when_they_are_not_shown() {
        let mut selector = Selector::new(Grid::of(&fixture::manifest()), Limits { samples: 4, ..Limits::default() });
        for ordinal in 0..100 {
            let class = if ordinal % 10 == 9 { "network" } else { "server" };
            let facts = Facts { model: ordinal % 2, error_class: Some(class), ..facts(&(0, 0, 0, 0)) };
            selector.push_record(&facts, &fixture::record(ordinal as u64, Status::Error, None));
        }
        let selection = selector.finish();
        let groups: Vec<_> = selection.errors.iter().map(|group| (group.class.as_str(), group.count)).collect();
        assert_eq!(groups, [("server", 90), ("network", 10)]);
        assert_eq!(selection.errors[1].models, [0, 10]);
        assert_eq!(selection.errors[1].example.as_ref().map(|sample| sample.position), Some(9));
    }

    #[test]
    fn endless_classes_and_cells_beyond_the_manifest_stay_bounded() {
        let mut selector = Selector::new(Grid::of(&fixture::manifest()), Limits::default());
        for ordinal in 0..100 {
            let class = format!("{ordinal}{}", "x".repeat(500));
            let facts = Facts { task: ordinal, error_class: Some(&class), ..facts(&(0, 0, 0, 0)) };
            selector.push_record(&facts, &fixture::record(0, Status::Error, None));
        }
        let selection = selector.finish();
        assert_eq!((selection.errors.len(), selection.other_errors), (MAX_CLASSES, 100 - MAX_CLASSES as u64));
        assert!(selection.errors.iter().all(|group| group.class.len() <= MAX_CLASS));
    }
}
