//! What an aggregator counts: for each task and arm, and for the item at hand.

use proofmark_canon::Number;
use proofmark_canon::math::ExactSum;

use super::estimate::Series;
use super::facts::{Facts, TaskShape};
use super::histogram::Histogram;
use crate::record::Usage;
use crate::summary::Counts;

/// Everything about one task.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TaskTally {
    /// Model × condition, conditions innermost.
    pub(super) arms: Vec<ArmTally>,
    /// One value an item, over all arms.
    pub(super) across: Series,
    pub(super) items: u64,
}

impl TaskTally {
    pub(super) fn new(task: &TaskShape, models: usize, conditions: usize) -> Self {
        let arm = ArmTally { scorers: vec![ScorerTally::default(); task.scorers.len()], ..ArmTally::default() };
        Self { arms: vec![arm; models * conditions], across: Series::default(), items: 0 }
    }

    /// Counts over all arms, by the primary scorer.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.arms.iter().for_each(|arm| add_counts(&mut counts, arm.primary_counts()));
        counts
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.arms.iter_mut().zip(&other.arms).for_each(|(ours, theirs)| ours.merge(theirs));
        self.across.merge(&other.across);
        self.items += other.items;
    }
}

/// One model under one condition.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ArmTally {
    attempted: u64,
    scored: u64,
    unscored: u64,
    pub(super) usage: Usage,
    pub(super) scorers: Vec<ScorerTally>,
    pub(super) against_baseline: Paired,
}

/// What one scorer said of one arm.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ScorerTally {
    passed: u64,
    pub(super) series: Series,
}

impl ArmTally {
    pub(super) fn add(&mut self, facts: &Facts<'_>) {
        self.attempted += 1;
        self.scored += u64::from(!facts.scores.is_empty());
        self.unscored += u64::from(facts.unscored && facts.scores.is_empty());
        add_usage(&mut self.usage, facts.usage);
        for (scorer, verdict) in self.scorers.iter_mut().zip(facts.scores) {
            scorer.passed += u64::from(verdict.passed);
        }
    }

    pub(super) fn counts(&self, scorer: &ScorerTally) -> Counts {
        let errored = self.attempted - self.scored - self.unscored;
        Counts { attempted: self.attempted, errored, passed: scorer.passed, scored: self.scored }
    }

    pub(super) fn primary_counts(&self) -> Counts {
        self.scorers.first().map_or_else(|| self.counts(&ScorerTally::default()), |primary| self.counts(primary))
    }

    fn merge(&mut self, other: &Self) {
        self.attempted += other.attempted;
        self.scored += other.scored;
        self.unscored += other.unscored;
        add_usage(&mut self.usage, other.usage);
        for (ours, theirs) in self.scorers.iter_mut().zip(&other.scorers) {
            ours.passed += theirs.passed;
            ours.series.merge(&theirs.series);
        }
        self.against_baseline.merge(&other.against_baseline);
    }
}

/// Items under a condition against the same items under the baseline.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Paired {
    pub(super) differences: Histogram,
    pub(super) wins: u64,
    pub(super) losses: u64,
    pub(super) ties: u64,
}

impl Paired {
    fn add(&mut self, difference: f64) {
        // Means of 0.1 + 0.2 and of 0.3 differ in the last bit and are no victory.
        const TIE: f64 = 1e-9;
        match difference {
            d if d > TIE => self.wins += 1,
            d if d < -TIE => self.losses += 1,
            _ => self.ties += 1,
        }
        self.differences.add(difference);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.differences.merge(&other.differences);
        self.wins += other.wins;
        self.losses += other.losses;
        self.ties += other.ties;
    }
}

/// The sums of the item at hand.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Current {
    pub(super) item: Option<(usize, u64)>,
    /// Arm × scorer, scorers innermost. All empty between items.
    sums: Vec<ItemSum>,
    /// Arms that have a scored sample.
    scored: Vec<usize>,
}

/// One item under one arm by one scorer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct ItemSum {
    values: ExactSum,
    samples: u64,
    /// Whether some value was neither 0 nor 1.
    graded: bool,
}

impl ItemSum {
    fn mean(&self) -> f64 {
        self.values.mean(self.samples).unwrap_or_default()
    }

    fn is_plain(&self) -> bool {
        self.samples == 1 && !self.graded
    }
}

impl Current {
    pub(super) fn start(&mut self, item: (usize, u64), sums: usize) {
        self.item = Some(item);
        // Sums are emptied when an item closes, so that only a task with more of them adds any.
        if self.sums.len() < sums {
            self.sums.resize(sums, ItemSum::default());
        }
    }

    /// Adds a scored sample.
    pub(super) fn add(&mut self, arm: usize, facts: &Facts<'_>) {
        let scorers = facts.scores.len();
        let sums = &mut self.sums[arm * scorers..][..scorers];
        if sums[0].samples == 0 {
            self.scored.push(arm);
        }
        for (sum, verdict) in sums.iter_mut().zip(facts.scores) {
            sum.values.add(verdict.value);
            sum.samples += 1;
            sum.graded |= !is_zero_or_one(verdict.value);
        }
    }

    /// Gives the item's values to its task and empties the sums.
    pub(super) fn close(&mut self, task: &mut TaskTally, scorers: usize, conditions: usize) {
        self.item = None;
        let (mut across, mut plain) = (ExactSum::default(), true);
        for &arm in &self.scored {
            let sums = &self.sums[arm * scorers..][..scorers];
            for (sum, scorer) in sums.iter().zip(&mut task.arms[arm].scorers) {
                scorer.series.add(sum.mean(), sum.is_plain());
            }
            let primary = sums[0];
            across.add(primary.mean());
            plain &= primary.is_plain();
            let condition = arm % conditions;
            let baseline = self.sums[(arm - condition) * scorers];
            if condition > 0 && baseline.samples > 0 {
                task.arms[arm].against_baseline.add(primary.mean() - baseline.mean());
            }
        }
        if let Some(mean) = across.mean(self.scored.len() as u64) {
            task.across.add(mean, plain && self.scored.len() == 1);
        }
        for arm in self.scored.drain(..) {
            self.sums[arm * scorers..][..scorers].fill(ItemSum::default());
        }
    }
}

#[expect(clippy::float_cmp, reason = "a grade that is nearly a pass is still a grade")]
fn is_zero_or_one(value: f64) -> bool {
    value == 0.0 || value == 1.0
}

pub(super) fn add_counts(counts: &mut Counts, other: Counts) {
    counts.attempted += other.attempted;
    counts.errored += other.errored;
    counts.passed += other.passed;
    counts.scored += other.scored;
}

/// Adds usage up to the greatest integer that canonical JSON holds: a provider may claim any number.
pub(super) fn add_usage(usage: &mut Usage, other: Usage) {
    let add = |a: u64, b: u64| a.saturating_add(b).min(Number::MAX_SAFE);
    usage.input_tokens = add(usage.input_tokens, other.input_tokens);
    usage.output_tokens = add(usage.output_tokens, other.output_tokens);
}
