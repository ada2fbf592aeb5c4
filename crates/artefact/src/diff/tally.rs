//! Counts by cell (task × model × condition) of both runs.

use std::collections::HashMap;

use proofmark_canon::math::ExactSum;
use schemars::JsonSchema;
use serde::Serialize;

use super::class::{ClassCounts, Classes};
use super::join::Side;
use super::scan::{Primary, RecordRow, record};
use crate::manifest::Manifest;
use crate::stats::estimate::rounded;

/// One cell of both runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellDifference {
    pub a: CellSide,
    pub b: CellSide,
    pub condition: String,
    pub counts: ClassCounts,
    /// Samples that both runs have.
    pub matched: u64,
    pub model: String,
    pub task: String,
    /// Matched samples in no class.
    pub unchanged: u64,
}

impl CellDifference {
    /// `task / model / condition`.
    pub fn title(&self) -> String {
        format!("{} / {} / {}", self.task, self.model, self.condition)
    }
}

/// A cell in one run, by the task's first scorer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellSide {
    pub attempted: u64,
    /// Mean value over scored samples; null when nothing was scored.
    pub mean: Option<f64>,
    pub passed: u64,
    pub scored: u64,
}

/// Collects counts while records come in any order.
#[derive(Default)]
pub(super) struct Tally {
    cells: Vec<Cell>,
    by_name: HashMap<Vec<u8>, usize>,
    /// The name looked up last.
    name: Vec<u8>,
    last: usize,
}

#[derive(Default)]
pub(super) struct Cell {
    /// Task, model and condition as canonical text.
    name: [Vec<u8>; 3],
    sides: [CellSums; 2],
    pub(super) counts: ClassCounts,
    pub(super) matched: u64,
    pub(super) unchanged: u64,
}

#[derive(Default, Clone, Copy)]
struct CellSums {
    attempted: u64,
    passed: u64,
    scored: u64,
    values: ExactSum,
}

impl Cell {
    pub(super) fn count(&mut self, side: Side, primary: Option<Primary<'_>>) {
        let sums = &mut self.sides[side as usize];
        sums.attempted += 1;
        if let Some(primary) = primary {
            sums.scored += 1;
            sums.passed += u64::from(primary.passed);
            sums.values.add(primary.value);
        }
    }

    pub(super) fn classify(&mut self, classes: Classes) {
        if classes.is_empty() {
            self.unchanged += 1;
        } else {
            self.counts.add(classes);
        }
    }
}

impl Tally {
    pub(super) fn cell(&mut self, row: RecordRow<'_>) -> &mut Cell {
        let parts = [record::TASK, record::MODEL, record::CONDITION].map(|member| row.value(member));
        let is_last = self.cells.get(self.last).is_some_and(|cell| cell.name.iter().zip(parts).all(|(a, b)| a == b));
        if !is_last {
            // Parts are strings in quotes: together they are still apart.
            self.name.clear();
            parts.iter().for_each(|part| self.name.extend_from_slice(part));
            self.last = match self.by_name.get(&self.name) {
                Some(at) => *at,
                None => {
                    self.by_name.insert(self.name.clone(), self.cells.len());
                    self.cells.push(Cell { name: parts.map(<[u8]>::to_vec), ..Cell::default() });
                    self.cells.len() - 1
                }
            };
        }
        &mut self.cells[self.last]
    }

    /// Returns the cells in the order of A's suite, then of B's.
    pub(super) fn finish(self, a: &Manifest, b: &Manifest) -> Vec<CellDifference> {
        let mut cells: Vec<CellDifference> = self.cells.into_iter().map(finish_cell).collect();
        let order = Order::new(a, b);
        cells.sort_by_cached_key(|cell| order.key(cell));
        cells
    }
}

fn finish_cell(cell: Cell) -> CellDifference {
    let [task, model, condition] = cell.name.map(|part| super::text_of(&part));
    let side = |sums: CellSums| CellSide {
        attempted: sums.attempted,
        mean: sums.values.mean(sums.scored).map(rounded),
        passed: sums.passed,
        scored: sums.scored,
    };
    CellDifference {
        a: side(cell.sides[0]),
        b: side(cell.sides[1]),
        condition,
        counts: cell.counts,
        matched: cell.matched,
        model,
        task,
        unchanged: cell.unchanged,
    }
}

/// Where names stand in the two suites.
struct Order {
    tasks: HashMap<String, usize>,
    models: HashMap<String, usize>,
    conditions: HashMap<String, usize>,
}

impl Order {
    fn new(a: &Manifest, b: &Manifest) -> Self {
        fn places<'a>(names: impl Iterator<Item = &'a String>) -> HashMap<String, usize> {
            let mut places = HashMap::new();
            for name in names {
                let next = places.len();
                places.entry(name.clone()).or_insert(next);
            }
            places
        }
        let both = [a, b];
        Self {
            tasks: places(both.iter().flat_map(|manifest| manifest.tasks.iter().map(|task| &task.id))),
            models: places(both.iter().flat_map(|manifest| manifest.models.iter().map(|model| &model.id))),
            conditions: places(both.iter().flat_map(|manifest| &manifest.conditions.requested)),
        }
    }

    /// Places first; a name that no manifest has comes last, and names decide between such.
    fn key(&self, cell: &CellDifference) -> [(usize, String); 3] {
        let place = |places: &HashMap<String, usize>, name: &String| {
            (places.get(name).copied().unwrap_or(usize::MAX), name.clone())
        };
        [place(&self.tasks, &cell.task), place(&self.models, &cell.model), place(&self.conditions, &cell.condition)]
    }
}
