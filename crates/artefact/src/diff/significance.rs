//! Whether the difference between two runs is more than chance.
//!
//! Two paired questions about the first scorer of each task. Pass or fail: McNemar's exact test over
//! samples. Values: the mean over items of their difference, by bootstrap, since samples of one item
//! are not independent. A sample counts where both sides have a verdict of the same first scorer;
//! what was lost to errors is left out here and shows as `status_changed`. Edited items count, because
//! comparing two prompts is comparing edited items; how many there are is said.

use std::collections::HashMap;

use proofmark_canon::RunId;
use proofmark_canon::math::ExactSum;
use schemars::JsonSchema;
use serde::Serialize;

use super::scan::{Primary, RecordRow, record};
use crate::spill::mark;
use crate::stats::estimate::{rounded, rounded_interval};
use crate::stats::significance::{mcnemar, paired_means};
use crate::stats::{Histogram, bootstrap};
use crate::summary::Interval;

/// The paired tests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Significance {
    pub both_failed: u64,
    pub both_passed: u64,
    /// Mean over items of B's value less A's; null without pairs.
    pub difference: Option<f64>,
    /// Pairs that were not asked the same.
    pub edited: u64,
    pub interval: Option<Interval>,
    /// Items behind the means: the independent units.
    pub items: u64,
    /// Two-sided, exact; null without pairs.
    pub mcnemar_p: Option<f64>,
    pub mean_a: Option<f64>,
    pub mean_b: Option<f64>,
    /// Two-sided p-value of the difference of means; null without pairs.
    pub mean_p: Option<f64>,
    /// Samples that passed in A and failed in B.
    pub only_a_passed: u64,
    /// Samples that passed in B and failed in A.
    pub only_b_passed: u64,
    /// Samples with a verdict of the same first scorer on both sides.
    pub pairs: u64,
    /// Matched samples that are no pair.
    pub unpaired: u64,
}

impl Significance {
    /// The share of pairs that passed in A.
    pub fn pass_rate_a(&self) -> Option<f64> {
        (self.pairs > 0).then(|| (self.both_passed + self.only_a_passed) as f64 / self.pairs as f64)
    }

    /// The share of pairs that passed in B.
    pub fn pass_rate_b(&self) -> Option<f64> {
        (self.pairs > 0).then(|| (self.both_passed + self.only_b_passed) as f64 / self.pairs as f64)
    }
}

/// Collects pairs in flat memory.
///
/// An item's samples stand together in a run, so its mean is complete when the next item starts. Held
/// until the end are only items of which a line had to wait for its partner, and items that the pair
/// of such a line cut in two.
#[derive(Default)]
pub(super) struct Pairs {
    counts: Significance,
    /// Task and item of the sums in `current`.
    item: Vec<u8>,
    current: Sums,
    held: HashMap<[u8; 16], Sums>,
    differences: Histogram,
    means: [ExactSum; 2],
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    values: [ExactSum; 2],
    count: u64,
}

impl Pairs {
    pub(super) fn add(&mut self, row: RecordRow<'_>, a: Option<Primary<'_>>, b: Option<Primary<'_>>, edited: bool) {
        let (Some(a), Some(b)) = (a, b) else {
            self.counts.unpaired += 1;
            return;
        };
        if a.scorer != b.scorer {
            self.counts.unpaired += 1;
            return;
        }
        let counts = &mut self.counts;
        counts.pairs += 1;
        counts.edited += u64::from(edited);
        *match (a.passed, b.passed) {
            (true, true) => &mut counts.both_passed,
            (true, false) => &mut counts.only_a_passed,
            (false, true) => &mut counts.only_b_passed,
            (false, false) => &mut counts.both_failed,
        } += 1;
        if !self.is_current(row) {
            self.flush(row);
            self.item.clear();
            self.item.extend_from_slice(row.value(record::TASK));
            self.item.extend_from_slice(row.value(record::ITEM_ID));
        }
        self.current.count += 1;
        self.current.values[0].add(a.value);
        self.current.values[1].add(b.value);
    }

    /// Holds the item of a line that waits for its partner: its samples no longer stand together.
    pub(super) fn hold(&mut self, row: RecordRow<'_>) {
        self.held.entry(item_of(row)).or_default();
    }

    pub(super) fn finish(mut self, runs: [&RunId; 2]) -> Significance {
        let last = std::mem::take(&mut self.current);
        self.close_or_hold(last);
        // Sums do not depend on their order, so neither does what follows.
        let held: Vec<Sums> = std::mem::take(&mut self.held).into_values().collect();
        held.into_iter().for_each(|sums| self.close(sums));
        let items = self.differences.count();
        let stream = bootstrap::stream(runs[0], &["diff", &runs[1].to_string()]);
        let test = paired_means(&self.differences, stream);
        let mean = |sum: ExactSum| sum.mean(items).map(rounded);
        let counts = self.counts;
        Significance {
            difference: test.map(|test| rounded(test.difference)),
            interval: test.map(|test| rounded_interval(test.interval)),
            items,
            mcnemar_p: (counts.pairs > 0).then(|| mcnemar(counts.only_b_passed, counts.only_a_passed)),
            mean_a: mean(self.means[0]),
            mean_b: mean(self.means[1]),
            mean_p: test.map(|test| test.p),
            ..counts
        }
    }

    fn is_current(&self, row: RecordRow<'_>) -> bool {
        // Both are strings in quotes, so their border is where it must be.
        let (task, item) = (row.value(record::TASK), row.value(record::ITEM_ID));
        self.item.len() == task.len() + item.len() && self.item.starts_with(task) && self.item.ends_with(item)
    }

    /// Ends the current item, because the pair of `next` is of another one.
    fn flush(&mut self, next: RecordRow<'_>) {
        let sums = std::mem::take(&mut self.current);
        // A pair whose line had waited comes at any time, so also between two samples of an item.
        if sums.count > 0 && !self.held.is_empty() && self.held.contains_key(&item_of(next)) {
            self.held.entry(mark(&self.item)).or_default();
        }
        self.close_or_hold(sums);
    }

    fn close_or_hold(&mut self, sums: Sums) {
        if !self.held.is_empty()
            && let Some(held) = self.held.get_mut(&mark(&self.item))
        {
            held.count += sums.count;
            held.values[0].merge(sums.values[0]);
            held.values[1].merge(sums.values[1]);
            return;
        }
        self.close(sums);
    }

    fn close(&mut self, sums: Sums) {
        let (Some(a), Some(b)) = (sums.values[0].mean(sums.count), sums.values[1].mean(sums.count)) else { return };
        self.differences.add(b - a);
        self.means[0].add(a);
        self.means[1].add(b);
    }
}

fn item_of(row: RecordRow<'_>) -> [u8; 16] {
    mark(&[row.value(record::TASK), row.value(record::ITEM_ID)].concat())
}
