//! What is done with every pair of lines.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::Options;
use super::change::{Change, Kept, change};
use super::class::{Class, ClassCounts, Classes};
use super::classify::classify;
use super::error::{DiffError, parse_line};
use super::join::{Joined, Side, Visit, join};
use super::kind::{Kinds, TrajectoryKind};
use super::scan::{self, Primary, RECORD, RecordRow, TRAJECTORY, TrajectoryRow, record};
use super::significance::{Pairs, Significance};
use super::steps;
use super::tally::{CellDifference, Tally};
use crate::record::{Record, Score};
use crate::spill::mark;
use crate::store::{RunDir, names};
use crate::trajectory::Trajectory;

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
    pub(super) trajectory_kinds: BTreeMap<String, u64>,
}

/// In what the trajectories of samples differ, by the mark of their key. Samples without a difference are not in it.
pub(super) type OtherTrajectories = HashMap<[u8; 16], Kinds>;

/// Collects the keys whose trajectory is another one.
pub(super) fn compare_trajectories(a: &RunDir, b: &RunDir, other: &mut OtherTrajectories) -> Result<Joined, DiffError> {
    let paths = [a, b].map(|run| run.file(names::TRAJECTORIES));
    let paths = [paths[0].as_path(), paths[1].as_path()];
    join(&TRAJECTORY, paths, &mut TrajectoryVisitor { paths, other })
}

struct TrajectoryVisitor<'a> {
    paths: [&'a Path; 2],
    other: &'a mut OtherTrajectories,
}

impl TrajectoryVisitor<'_> {
    fn note(&mut self, row: TrajectoryRow<'_>, kinds: Kinds) {
        if !kinds.is_empty() {
            self.other.entry(mark(row.key())).or_default().add(kinds);
        }
    }
}

impl Visit<11> for TrajectoryVisitor<'_> {
    fn pair(&mut self, a: TrajectoryRow<'_>, b: TrajectoryRow<'_>, same: bool) -> Result<(), DiffError> {
        if same {
            return Ok(());
        }
        let Some(kinds) = steps::compare(a, b) else {
            // One of the two has no steps that can be read, perhaps both.
            let parse = |path: &Path, row: TrajectoryRow<'_>| {
                parse_line::<Trajectory>(path, row.line, row.bytes, "trajectory").map(drop)
            };
            return parse(self.paths[0], a)
                .and_then(|()| parse(self.paths[1], b))
                .and_then(|()| Err((a.shape.explain)(self.paths[0], a.line, a.bytes)));
        };
        self.note(a, kinds);
        Ok(())
    }

    fn waits(&mut self, _: TrajectoryRow<'_>) -> Result<(), DiffError> {
        Ok(())
    }

    fn only(&mut self, _: Side, row: TrajectoryRow<'_>) -> Result<(), DiffError> {
        let mut kinds = Kinds::default();
        kinds.put(TrajectoryKind::Attempts, true);
        self.note(row, kinds);
        Ok(())
    }
}

/// Compares the records, knowing whose trajectories are other ones.
pub(super) fn compare_records(
    a: &RunDir,
    b: &RunDir,
    other_trajectories: OtherTrajectories,
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
        kind_counts: [0; TrajectoryKind::ALL.len()],
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
    let kinds = TrajectoryKind::ALL.into_iter().zip(visitor.kind_counts).filter(|(_, count)| *count > 0);
    Ok(Found {
        trajectory_kinds: kinds.map(|(kind, count)| (kind.as_str().to_owned(), count)).collect(),
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
    other_trajectories: OtherTrajectories,
    tally: Tally,
    pairs: Pairs,
    kept: Kept,
    counts: ClassCounts,
    kind_counts: [u64; TrajectoryKind::ALL.len()],
    changed: u64,
    /// Regressions and improvements that are `input_changed` too.
    turned_with_other_input: [u64; 2],
}

/// Samples that are only in B come after all of A's.
const AFTER_A: u64 = 1 << 63;

impl Visit<25> for RecordVisitor<'_> {
    fn pair(&mut self, a: RecordRow<'_>, b: RecordRow<'_>, same: bool) -> Result<(), DiffError> {
        let mut kinds = match self.other_trajectories.is_empty() {
            true => Kinds::default(),
            false => self.other_trajectories.get(&mark(a.key())).copied().unwrap_or_default(),
        };
        let classes = if same && kinds.is_empty() {
            Classes::default()
        } else {
            let paths = [self.paths[0].as_path(), self.paths[1].as_path()];
            classify(a, b, &mut kinds, self.options.tolerance, paths)?
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
        self.note(a.line, classes, kinds, Some(a), Some(b))
    }

    fn waits(&mut self, row: RecordRow<'_>) -> Result<(), DiffError> {
        self.pairs.hold(row);
        Ok(())
    }

    fn only(&mut self, side: Side, row: RecordRow<'_>) -> Result<(), DiffError> {
        let primary = self.primary(side, row)?;
        let mut classes = Classes::default();
        classes.insert(if side == Side::A { Class::OnlyInA } else { Class::OnlyInB });
        let cell = self.tally.cell(row);
        cell.count(side, primary);
        cell.classify(classes);
        match side {
            Side::A => self.note(row.line, classes, Kinds::default(), Some(row), None),
            Side::B => self.note(AFTER_A | row.line, classes, Kinds::default(), None, Some(row)),
        }
    }
}

impl RecordVisitor<'_> {
    fn primary<'r>(&self, side: Side, row: RecordRow<'r>) -> Result<Option<Primary<'r>>, DiffError> {
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
        kinds: Kinds,
        a: Option<RecordRow<'_>>,
        b: Option<RecordRow<'_>>,
    ) -> Result<(), DiffError> {
        if classes.is_empty() {
            return Ok(());
        }
        self.changed += 1;
        self.counts.add(classes);
        for kind in kinds.iter() {
            self.kind_counts[kind as usize] += 1;
        }
        let paths = &self.paths;
        let parse = |side: Side, row: Option<RecordRow<'_>>| -> Result<Option<(Record, u64)>, DiffError> {
            let Some(row) = row else { return Ok(None) };
            Ok(Some((parse_line(&paths[side as usize], row.line, row.bytes, "record")?, row.line)))
        };
        let limit = self.options.excerpt_bytes;
        self.kept.offer(place, classes, || Ok(change(classes, kinds, parse(Side::A, a)?, parse(Side::B, b)?, limit)))
    }
}
