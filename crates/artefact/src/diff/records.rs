//! What is done with every pair of lines.

use std::collections::HashSet;
use std::path::PathBuf;

use super::Options;
use super::change::{Change, Kept, change};
use super::class::{Class, ClassCounts, Classes};
use super::classify::classify;
use super::error::{DiffError, parse_line};
use super::join::{Joined, Side, Visit, join};
use super::scan::{self, Primary, RECORD, Row, TRAJECTORY, TRAJECTORY_CONTENT, record};
use super::significance::{Pairs, Significance};
use super::tally::{CellDifference, Tally};
use crate::record::{Record, Score};
use crate::spill::mark;
use crate::store::{RunDir, names};

/// What the records say.
pub(super) struct Found {
    pub(super) cells: Vec<CellDifference>,
    pub(super) changed: u64,
    pub(super) changes: Vec<Change>,
    pub(super) counts: ClassCounts,
    pub(super) identical: bool,
    pub(super) improvements_with_other_input: u64,
    pub(super) regressions_with_other_input: u64,
    pub(super) significance: Significance,
}

/// Collects the keys whose trajectory is another one.
pub(super) fn compare_trajectories(a: &RunDir, b: &RunDir, other: &mut HashSet<[u8; 16]>) -> Result<Joined, DiffError> {
    let paths = [a, b].map(|run| run.file(names::TRAJECTORIES));
    join(&TRAJECTORY, [&paths[0], &paths[1]], &mut TrajectoryVisitor { other })
}

struct TrajectoryVisitor<'a> {
    other: &'a mut HashSet<[u8; 16]>,
}

impl Visit<8> for TrajectoryVisitor<'_> {
    fn pair(&mut self, a: Row<'_, 8>, b: Row<'_, 8>, same: bool) -> Result<(), DiffError> {
        if !same && TRAJECTORY_CONTENT.iter().any(|member| a.value(*member) != b.value(*member)) {
            self.other.insert(mark(a.key()));
        }
        Ok(())
    }

    fn waits(&mut self, _: Row<'_, 8>) -> Result<(), DiffError> {
        Ok(())
    }

    fn only(&mut self, _: Side, row: Row<'_, 8>) -> Result<(), DiffError> {
        self.other.insert(mark(row.key()));
        Ok(())
    }
}

/// Compares the records, knowing whose trajectories are other ones.
pub(super) fn compare_records(
    a: &RunDir,
    b: &RunDir,
    other_trajectories: HashSet<[u8; 16]>,
    options: &Options,
) -> Result<Found, DiffError> {
    let paths = [a, b].map(|run| run.file(names::RECORDS));
    let mut visitor = RecordVisitor {
        paths: paths.clone(),
        options,
        other_trajectories,
        tally: Tally::default(),
        pairs: Pairs::default(),
        kept: Kept::new(options.keep),
        counts: ClassCounts::default(),
        changed: 0,
        turned_with_other_input: [0, 0],
    };
    let joined = join(&RECORD, [&paths[0], &paths[1]], &mut visitor)?;
    for ((run, path), found) in [a, b].into_iter().zip(paths).zip(joined.lines) {
        let expected = run.manifest().record_count;
        if found != expected {
            return Err(DiffError::Count { path, found, expected });
        }
    }
    let (of_a, of_b) = (a.manifest(), b.manifest());
    Ok(Found {
        cells: visitor.tally.finish(of_a, of_b),
        changed: visitor.changed,
        changes: visitor.kept.finish(),
        counts: visitor.counts,
        identical: joined.identical,
        improvements_with_other_input: visitor.turned_with_other_input[1],
        regressions_with_other_input: visitor.turned_with_other_input[0],
        significance: visitor.pairs.finish([&of_a.run_id, &of_b.run_id]),
    })
}

struct RecordVisitor<'a> {
    paths: [PathBuf; 2],
    options: &'a Options,
    other_trajectories: HashSet<[u8; 16]>,
    tally: Tally,
    pairs: Pairs,
    kept: Kept,
    counts: ClassCounts,
    changed: u64,
    /// Regressions and improvements that are `input_changed` too.
    turned_with_other_input: [u64; 2],
}

/// Samples that are only in B come after all of A's.
const AFTER_A: u64 = 1 << 63;

impl Visit<24> for RecordVisitor<'_> {
    fn pair(&mut self, a: Row<'_, 24>, b: Row<'_, 24>, same: bool) -> Result<(), DiffError> {
        let other_trajectory = !self.other_trajectories.is_empty() && self.other_trajectories.contains(&mark(a.key()));
        let classes = if same && !other_trajectory {
            Classes::default()
        } else {
            let paths = [self.paths[0].as_path(), self.paths[1].as_path()];
            classify(a, b, other_trajectory, self.options.tolerance, paths)?
        };
        let of_a = self.primary(Side::A, a)?;
        let of_b = if a.value(record::SCORES) == b.value(record::SCORES) { of_a } else { self.primary(Side::B, b)? };
        let edited = classes.contains(Class::InputChanged);
        self.pairs.add(a, of_a, of_b, edited);
        let cell = self.tally.cell(a);
        cell.matched += 1;
        cell.count(Side::A, of_a);
        cell.count(Side::B, of_b);
        cell.classify(classes);
        if edited {
            self.turned_with_other_input[0] += u64::from(classes.contains(Class::Regression));
            self.turned_with_other_input[1] += u64::from(classes.contains(Class::Improvement));
        }
        self.note(a.line, classes, Some(a), Some(b))
    }

    fn waits(&mut self, row: Row<'_, 24>) -> Result<(), DiffError> {
        self.pairs.hold(row);
        Ok(())
    }

    fn only(&mut self, side: Side, row: Row<'_, 24>) -> Result<(), DiffError> {
        let primary = self.primary(side, row)?;
        let mut classes = Classes::default();
        classes.insert(if side == Side::A { Class::OnlyInA } else { Class::OnlyInB });
        let cell = self.tally.cell(row);
        cell.count(side, primary);
        cell.classify(classes);
        match side {
            Side::A => self.note(row.line, classes, Some(row), None),
            Side::B => self.note(AFTER_A | row.line, classes, None, Some(row)),
        }
    }
}

impl RecordVisitor<'_> {
    fn primary<'r>(&self, side: Side, row: Row<'r, 24>) -> Result<Option<Primary<'r>>, DiffError> {
        let scores = row.value(record::SCORES);
        scan::primary(scores).ok_or_else(|| {
            super::error::explain::<Vec<Score>>(&self.paths[side as usize], row.line, scores, "list of scores")
        })
    }

    /// Counts a sample's classes and keeps it as an example if there is room.
    fn note(
        &mut self,
        place: u64,
        classes: Classes,
        a: Option<Row<'_, 24>>,
        b: Option<Row<'_, 24>>,
    ) -> Result<(), DiffError> {
        if classes.is_empty() {
            return Ok(());
        }
        self.changed += 1;
        self.counts.add(classes);
        let paths = &self.paths;
        let parse = |side: Side, row: Option<Row<'_, 24>>| -> Result<Option<(Record, u64)>, DiffError> {
            let Some(row) = row else { return Ok(None) };
            Ok(Some((parse_line(&paths[side as usize], row.line, row.bytes, "record")?, row.line)))
        };
        let limit = self.options.excerpt_bytes;
        self.kept.offer(place, classes, || Ok(change(classes, parse(Side::A, a)?, parse(Side::B, b)?, limit)))
    }
}
