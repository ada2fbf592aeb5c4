//! Records to a summary, in one pass and in flat memory.
//!
//! Record order is (task, item, model, condition, sample), so an item is complete when the next one
//! starts: only the current item's sums are held, then they become one value an arm and scorer. What
//! grows with a run are counts.
//!
//! - A sample without scores is *errored*, unless it has an answer and there is no gold answer to score it by: then it
//!   is *unscored*. All others are *scored*.
//! - A cell's values are the means of its items over their scored samples.
//! - A model's row holds the values of its tasks' primary cells side by side: every item of every task
//!   weighs the same.
//! - A task's value of an item is the mean of its primary values over the arms that scored it: an item
//!   counts once, however many models were asked.
//! - A comparison's value of an item is its primary value under a condition less the one under the
//!   suite's first condition. Items that one of the two did not score are left out, and so is a
//!   comparison without items.

use std::collections::BTreeMap;

use proofmark_canon::seed::Stream;

use super::bootstrap;
use super::estimate::{Series, mean_interval, rounded, rounded_interval};
use super::facts::{Facts, Shape, TaskShape};
use super::interval::Bounds;
use super::judging::JudgingTally;
use super::tally::{Current, Paired, TaskTally, add_counts, add_usage};
use crate::record::{Judged, Usage};
use crate::summary::{AnsweredBy, Cell, Comparison, Counts, ModelRow, SUMMARY_SCHEMA, Summary, TaskRow, Totals};

/// Takes facts in record order and gives the summary.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregator {
    shape: Shape,
    tasks: Vec<TaskTally>,
    current: Current,
    /// By model: who the provider says has answered, and how often.
    answered: Vec<BTreeMap<String, u64>>,
    judging: JudgingTally,
}

/// How many names of one model are told apart; a server that makes up a new one each time must not fill the memory.
const MOST_NAMES: usize = 64;
/// Stands for all further names.
const OTHER_NAMES: &str = "(other names)";

/// The facts do not fit the shape they are aggregated to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AggregateError {
    #[error("there is no {kind} number {index}")]
    UnknownIndex { kind: &'static str, index: usize },
    #[error("a sample has {found} scores, but task `{task}` has {expected} scorers")]
    ScoreCount { task: String, found: usize, expected: usize },
    #[error("item {item} of task number {task} comes after a later one")]
    OutOfOrder { task: usize, item: u64 },
    #[error("parts of two different runs cannot be merged: {ours} and {theirs}")]
    OtherShape { ours: String, theirs: String },
}

impl Aggregator {
    pub fn new(shape: Shape) -> Self {
        let tally = |task: &TaskShape| TaskTally::new(task, shape.models.len(), shape.conditions.len());
        let tasks = shape.tasks.iter().map(tally).collect();
        let answered = vec![BTreeMap::new(); shape.models.len()];
        let judging = JudgingTally::new(shape.judges.len());
        Self { shape, tasks, current: Current::default(), answered, judging }
    }

    /// Adds one sample. A sample that is refused changes nothing.
    pub fn push(&mut self, facts: &Facts<'_>) -> Result<(), AggregateError> {
        let conditions = self.shape.conditions.len();
        let scorers = match self.shape.tasks.get(facts.task) {
            Some(task) => task.scorers.len(),
            None => return Err(AggregateError::UnknownIndex { kind: "task", index: facts.task }),
        };
        if facts.model >= self.shape.models.len() {
            return Err(AggregateError::UnknownIndex { kind: "model", index: facts.model });
        }
        if facts.condition >= conditions {
            return Err(AggregateError::UnknownIndex { kind: "condition", index: facts.condition });
        }
        if !facts.scores.is_empty() && facts.scores.len() != scorers {
            let task = self.shape.tasks[facts.task].id.clone();
            return Err(AggregateError::ScoreCount { task, found: facts.scores.len(), expected: scorers });
        }
        let item = (facts.task, facts.item);
        if self.current.item != Some(item) {
            if self.current.item.is_some_and(|last| item < last) {
                return Err(AggregateError::OutOfOrder { task: facts.task, item: facts.item });
            }
            self.flush();
            self.current.start(item, self.shape.models.len() * conditions * scorers);
            self.tasks[facts.task].items += 1;
        }
        let at = facts.model * conditions + facts.condition;
        self.tasks[facts.task].arms[at].add(facts);
        if !facts.scores.is_empty() {
            self.current.add(at, facts);
        }
        if let Some(name) = facts.answered_by {
            count_name(&mut self.answered[facts.model], name, 1);
        }
        Ok(())
    }

    /// Adds what a judge scorer says of a sample that was added.
    pub fn judged(&mut self, judged: &Judged) {
        self.judging.add(&self.shape.judges, judged);
    }

    /// Joins the aggregates of two disjoint sets of items of one run, in either order.
    ///
    /// All samples of an item must be in one of the two.
    pub fn merge(mut self, mut other: Self) -> Result<Self, AggregateError> {
        if self.shape != other.shape {
            let name = |shape: &Shape| format!("`{}` {}", shape.name, shape.run_id);
            return Err(AggregateError::OtherShape { ours: name(&self.shape), theirs: name(&other.shape) });
        }
        self.flush();
        other.flush();
        for (ours, theirs) in self.tasks.iter_mut().zip(&other.tasks) {
            ours.merge(theirs);
        }
        for (ours, theirs) in self.answered.iter_mut().zip(&other.answered) {
            theirs.iter().for_each(|(name, samples)| count_name(ours, name, *samples));
        }
        self.judging.merge(&other.judging);
        Ok(self)
    }

    pub fn finish(mut self) -> Summary {
        self.flush();
        Summary {
            answered_by: self.answered_by(),
            cells: self.cells(),
            comparisons: self.comparisons(),
            judging: self.judging.finish(&self.shape.judges),
            models: self.model_rows(),
            tasks: self.task_rows(),
            totals: self.totals(),
            sampling: self.shape.disclosed,
            name: self.shape.name,
            run_id: self.shape.run_id,
            schema_version: SUMMARY_SCHEMA,
        }
    }

    /// Turns the current item's sums to values.
    fn flush(&mut self) {
        if let Some((task, _)) = self.current.item {
            self.current.close(
                &mut self.tasks[task],
                self.shape.tasks[task].scorers.len(),
                self.shape.conditions.len(),
            );
        }
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (task, tally) in self.shape.tasks.iter().zip(&self.tasks) {
            for (arm, (model, condition)) in tally.arms.iter().zip(self.arms()) {
                for (position, (scorer, scored)) in task.scorers.iter().zip(&arm.scorers).enumerate() {
                    // Without the scorer: two that give the same verdicts get the same interval.
                    let stream = self.stream(&["cell", &task.id, model, condition]);
                    cells.push(Cell {
                        condition: condition.clone(),
                        cost_usd: self.cost(model, arm.usage),
                        counts: arm.counts(scored),
                        estimate: scored.series.estimate(stream),
                        model: model.clone(),
                        primary: position == 0,
                        scorer: scorer.clone(),
                        task: task.id.clone(),
                        usage: arm.usage,
                    });
                }
            }
        }
        cells
    }

    fn model_rows(&self) -> Vec<ModelRow> {
        let row = |(at, (model, condition)): (usize, (&String, &String))| {
            let (mut counts, mut usage, mut series) = (Counts::default(), Usage::default(), Series::default());
            for task in &self.tasks {
                let arm = &task.arms[at];
                add_counts(&mut counts, arm.primary_counts());
                add_usage(&mut usage, arm.usage);
                if let Some(primary) = arm.scorers.first() {
                    series.merge(&primary.series);
                }
            }
            let estimate = series.estimate(self.stream(&["model", model, condition]));
            let cost_usd = self.cost(model, usage);
            ModelRow { condition: condition.clone(), cost_usd, counts, estimate, model: model.clone(), usage }
        };
        self.arms().enumerate().map(row).collect()
    }

    fn task_rows(&self) -> Vec<TaskRow> {
        let row = |(task, tally): (&TaskShape, &TaskTally)| TaskRow {
            counts: tally.counts(),
            estimate: tally.across.estimate(self.stream(&["task", &task.id])),
            task: task.id.clone(),
        };
        self.shape.tasks.iter().zip(&self.tasks).map(row).collect()
    }

    fn comparisons(&self) -> Vec<Comparison> {
        let Some(baseline) = self.shape.conditions.first() else { return Vec::new() };
        let mut comparisons = Vec::new();
        for (at, (model, condition)) in self.arms().enumerate() {
            if at % self.shape.conditions.len() == 0 {
                continue;
            }
            let mut add = |task: Option<&String>, paired: &Paired| {
                let mut labels = vec!["comparison", model, condition];
                labels.extend(task.map(String::as_str));
                let stream = self.stream(&labels);
                let Some(interval) = mean_interval(&paired.differences, Bounds::SIGNED, stream) else { return };
                comparisons.push(Comparison {
                    baseline: baseline.clone(),
                    condition: condition.clone(),
                    difference: rounded(paired.differences.mean().unwrap_or_default()),
                    interval: rounded_interval(interval),
                    items: paired.differences.count(),
                    losses: paired.losses,
                    model: model.clone(),
                    task: task.cloned(),
                    ties: paired.ties,
                    wins: paired.wins,
                });
            };
            let mut all = Paired::default();
            for (task, tally) in self.shape.tasks.iter().zip(&self.tasks) {
                add(Some(&task.id), &tally.arms[at].against_baseline);
                all.merge(&tally.arms[at].against_baseline);
            }
            if self.tasks.len() > 1 {
                add(None, &all);
            }
        }
        comparisons
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals { cost_usd: None, counts: Counts::default(), items: 0, usage: Usage::default() };
        for task in &self.tasks {
            add_counts(&mut totals.counts, task.counts());
            totals.items += task.items;
            task.arms.iter().for_each(|arm| add_usage(&mut totals.usage, arm.usage));
        }
        // A sum that leaves something out would look cheaper than it was.
        let rows = self.arms().enumerate().map(|(at, (model, _))| {
            let mut usage = Usage::default();
            self.tasks.iter().for_each(|task| add_usage(&mut usage, task.arms[at].usage));
            self.cost(model, usage)
        });
        totals.cost_usd = rows.sum::<Option<f64>>().filter(|_| !self.shape.models.is_empty());
        totals
    }

    /// What tokens of a model cost, when its price is known.
    fn cost(&self, model: &str, usage: Usage) -> Option<f64> {
        let at = self.shape.models.iter().position(|name| name == model)?;
        Some(self.shape.prices.get(at)?.as_ref()?.cost(usage))
    }

    fn answered_by(&self) -> Vec<AnsweredBy> {
        let rows = self.shape.models.iter().zip(&self.answered);
        let row = |model: &String, name: &String, samples: &u64| AnsweredBy {
            model: model.clone(),
            name: name.clone(),
            samples: *samples,
        };
        rows.flat_map(|(model, names)| names.iter().map(move |(name, samples)| row(model, name, samples))).collect()
    }

    /// Model × condition in the order of [`TaskTally::arms`].
    fn arms(&self) -> impl Iterator<Item = (&String, &String)> {
        self.shape.models.iter().flat_map(|model| self.shape.conditions.iter().map(move |condition| (model, condition)))
    }

    fn stream(&self, labels: &[&str]) -> Stream {
        bootstrap::stream(&self.shape.run_id, labels)
    }
}

fn count_name(names: &mut BTreeMap<String, u64>, name: &str, samples: u64) {
    if let Some(count) = names.get_mut(name) {
        *count += samples;
    } else {
        let name = if names.len() < MOST_NAMES { name } else { OTHER_NAMES };
        *names.entry(name.to_owned()).or_default() += samples;
    }
}

#[cfg(test)]
mod tests {
    use proofmark_canon::{Digest, RunId};

    use super::*;
    use crate::stats::facts::Verdict;
    use crate::summary::{Estimate, Method};

    fn shape(tasks: &[(&str, &[&str])], models: &[&str], conditions: &[&str]) -> Shape {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        Shape {
            disclosed: None,
            judges: Vec::new(),
            name: "suite".into(),
            run_id: RunId::from_digest(&Digest::of(b"run")),
            tasks: tasks.iter().map(|(id, scorers)| TaskShape { id: (*id).into(), scorers: names(scorers) }).collect(),
            models: names(models),
            prices: vec![None; models.len()],
            conditions: names(conditions),
        }
    }

    fn verdicts(values: &[f64]) -> Vec<Verdict> {
        values.iter().map(|value| Verdict { value: *value, passed: *value >= 0.5 }).collect()
    }

    /// Pushes (task, item, model, condition, values of the scorers); no values stand for an error.
    fn summary(shape: Shape, samples: &[(usize, u64, usize, usize, &[f64])]) -> Summary {
        let mut aggregator = Aggregator::new(shape);
        for (task, item, model, condition, values) in samples {
            let usage = Usage { input_tokens: 10, output_tokens: 1 };
            let scores = verdicts(values);
            let facts = Facts {
                task: *task,
                item: *item,
                model: *model,
                condition: *condition,
                usage,
                answered_by: None,
                scores: &scores,
                unscored: false,
            };
            aggregator.push(&facts).unwrap();
        }
        aggregator.finish()
    }

    fn ends(estimate: &Estimate) -> (f64, f64, f64, Method) {
        (estimate.interval.low, estimate.mean, estimate.interval.high, estimate.interval.method)
    }

    #[test]
    fn a_plain_cell_is_counted_and_given_wilsons_interval() {
        let summary = summary(
            shape(&[("t", &["exact"])], &["m"], &["raw"]),
            &[(0, 0, 0, 0, &[1.0]), (0, 1, 0, 0, &[0.0]), (0, 2, 0, 0, &[]), (0, 3, 0, 0, &[1.0])],
        );
        let cell = &summary.cells[0];
        assert_eq!(cell.counts, Counts { attempted: 4, errored: 1, passed: 2, scored: 3 });
        assert_eq!(cell.usage, Usage { input_tokens: 40, output_tokens: 4 });
        let estimate = cell.estimate.unwrap();
        assert_eq!((estimate.items, ends(&estimate)), (3, (0.20766, 0.666667, 0.938508, Method::Wilson)));
        // With one task, model and condition all rows say the same.
        assert_eq!(summary.models[0].estimate, cell.estimate);
        assert_eq!(summary.tasks[0].estimate, cell.estimate);
        assert_eq!(summary.totals.counts, cell.counts);
        assert_eq!((summary.totals.items, summary.totals.cost_usd), (4, None));
        assert_eq!(summary.comparisons, []);
    }

    #[test]
    fn a_mean_is_over_items_and_not_over_samples() {
        let summary = summary(
            shape(&[("t", &["exact"])], &["m"], &["raw"]),
            &[
                (0, 0, 0, 0, &[1.0]),
                (0, 0, 0, 0, &[1.0]),
                (0, 0, 0, 0, &[1.0]),
                (0, 1, 0, 0, &[]),
                (0, 1, 0, 0, &[0.0]),
            ],
        );
        let estimate = summary.cells[0].estimate.unwrap();
        assert_eq!((estimate.mean, estimate.items), (0.5, 2));
        assert_eq!(summary.cells[0].counts, Counts { attempted: 5, errored: 1, passed: 3, scored: 4 });
    }

    #[test]
    fn scorers_that_agree_have_the_same_interval() {
        let samples: Vec<(usize, u64, usize, usize, &[f64])> = (0..30)
            .map(|item| (0, item, 0, 0, if item % 3 == 0 { &[0.25, 0.25][..] } else { &[0.75, 0.75] }))
            .collect();
        let summary = summary(shape(&[("t", &["one", "two"])], &["m"], &["raw"]), &samples);
        let [one, two] = summary.cells.as_slice() else { panic!("two cells") };
        assert_eq!(one.estimate.unwrap().interval.method, Method::Bootstrap);
        assert_eq!(one.estimate, two.estimate);
    }

    #[test]
    fn five_of_five_does_not_claim_certainty() {
        let samples: Vec<_> = (0..5).flat_map(|item| [(0, item, 0, 0, &[1.0][..]); 3]).collect();
        let estimate = summary(shape(&[("t", &["exact"])], &["m"], &["raw"]), &samples).cells[0].estimate.unwrap();
        assert_eq!(ends(&estimate), (0.565518, 1.0, 1.0, Method::Wilson));
    }

    #[test]
    fn everything_errored_is_no_estimate() {
        let summary = summary(shape(&[("t", &["exact"]), ("u", &["f1"])], &["m"], &["raw", "x"]), &[(0, 0, 0, 0, &[])]);
        assert!(summary.cells.iter().all(|cell| cell.estimate.is_none()));
        assert_eq!(summary.cells.len(), 4);
        assert_eq!(summary.models.iter().map(|row| row.counts.errored).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(summary.tasks.iter().map(|row| row.estimate).collect::<Vec<_>>(), [None, None]);
        assert_eq!((summary.comparisons.len(), summary.totals.items), (0, 1));
    }

    #[test]
    fn rows_are_in_the_suites_order() {
        let shape = shape(&[("z", &["s2", "s1"]), ("a", &["s"])], &["y", "b"], &["raw", "c"]);
        let mut samples: Vec<(usize, u64, usize, usize, &[f64])> = Vec::new();
        for (task, values) in [(0, &[0.5, 1.0][..]), (1, &[0.0][..])] {
            for model in 0..2 {
                samples.extend((0..2).map(|condition| (task, 0, model, condition, values)));
            }
        }
        let summary = summary(shape, &samples);
        let cells: Vec<String> = summary
            .cells
            .iter()
            .map(|cell| format!("{}/{}/{}/{}/{}", cell.task, cell.model, cell.condition, cell.scorer, cell.primary))
            .collect();
        assert_eq!(
            cells,
            [
                "z/y/raw/s2/true",
                "z/y/raw/s1/false",
                "z/y/c/s2/true",
                "z/y/c/s1/false",
                "z/b/raw/s2/true",
                "z/b/raw/s1/false",
                "z/b/c/s2/true",
                "z/b/c/s1/false",
                "a/y/raw/s/true",
                "a/y/c/s/true",
                "a/b/raw/s/true",
                "a/b/c/s/true",
            ]
        );
        let comparisons: Vec<_> =
            summary.comparisons.iter().map(|c| (c.model.as_str(), c.condition.as_str(), c.task.as_deref())).collect();
        assert_eq!(
            comparisons,
            [
                ("y", "c", Some("z")),
                ("y", "c", Some("a")),
                ("y", "c", None),
                ("b", "c", Some("z")),
                ("b", "c", Some("a")),
                ("b", "c", None)
            ]
        );
        let models: Vec<_> = summary.models.iter().map(|row| (row.model.as_str(), row.condition.as_str())).collect();
        assert_eq!(models, [("y", "raw"), ("y", "c"), ("b", "raw"), ("b", "c")]);
    }

    #[test]
    fn a_models_row_pools_the_items_of_its_tasks_by_their_primary_scorers() {
        let summary = summary(
            shape(&[("t", &["exact", "f1"]), ("u", &["exact"])], &["m"], &["raw"]),
            &[(0, 0, 0, 0, &[1.0, 0.1]), (1, 0, 0, 0, &[0.0]), (1, 1, 0, 0, &[0.0]), (1, 2, 0, 0, &[1.0])],
        );
        let row = &summary.models[0];
        assert_eq!((row.estimate.unwrap().mean, row.estimate.unwrap().items), (0.5, 4));
        assert_eq!(row.counts, Counts { attempted: 4, errored: 0, passed: 2, scored: 4 });
        assert_eq!(row.usage.input_tokens, 40);
        assert_eq!(row.estimate.unwrap().interval.method, Method::Wilson);
    }

    #[test]
    fn a_tasks_row_counts_an_item_once_over_all_models() {
        let mut samples: Vec<(usize, u64, usize, usize, &[f64])> = Vec::new();
        for item in 0..12 {
            samples.push((0, item, 0, 0, &[1.0]));
            samples.push((0, item, 1, 0, if item < 4 { &[0.0] } else { &[] }));
        }
        let summary = summary(shape(&[("t", &["exact"])], &["m", "n"], &["raw"]), &samples);
        let row = &summary.tasks[0];
        // Four items are worth one half, the other eight stand on one model alone.
        assert_eq!((row.estimate.unwrap().mean, row.estimate.unwrap().items), (0.833333, 12));
        assert_eq!(row.estimate.unwrap().interval.method, Method::Bootstrap);
        assert_eq!(row.counts, Counts { attempted: 24, errored: 8, passed: 12, scored: 16 });
    }

    #[test]
    fn a_comparison_pairs_items_that_both_conditions_scored() {
        let mut samples: Vec<(usize, u64, usize, usize, &[f64])> = Vec::new();
        let pairs: [(&[f64], &[f64]); 7] = [
            (&[0.0], &[1.0]),
            (&[0.0], &[1.0]),
            (&[1.0], &[0.0]),
            (&[1.0], &[1.0]),
            (&[0.0], &[0.0]),
            (&[], &[1.0]),
            (&[1.0], &[]),
        ];
        for (item, (raw, compiled)) in pairs.iter().enumerate() {
            samples.push((0, item as u64, 0, 0, raw));
            samples.push((0, item as u64, 0, 1, compiled));
        }
        let summary = summary(shape(&[("t", &["exact"])], &["m"], &["raw", "compiled"]), &samples);
        let [comparison] = &summary.comparisons[..] else { panic!("one comparison") };
        assert_eq!((comparison.wins, comparison.losses, comparison.ties, comparison.items), (2, 1, 2, 5));
        assert_eq!((comparison.difference, comparison.interval.method), (0.2, Method::Wilson));
        assert!(comparison.interval.low < 0.0 && comparison.interval.high > 0.2);
        assert_eq!((comparison.baseline.as_str(), comparison.condition.as_str()), ("raw", "compiled"));
    }

    #[test]
    fn a_comparison_of_equals_is_not_certain() {
        let samples: Vec<_> =
            (0..5).flat_map(|item| [(0, item, 0, 0, &[1.0][..]), (0, item, 0, 1, &[1.0][..])]).collect();
        let summary = summary(shape(&[("t", &["exact"])], &["m"], &["raw", "x"]), &samples);
        let comparison = &summary.comparisons[0];
        assert_eq!(
            (comparison.interval.low, comparison.difference, comparison.interval.high),
            (-0.434482, 0.0, 0.434482)
        );
        assert_eq!(comparison.ties, 5);
    }

    #[test]
    fn last_bit_noise_is_a_tie() {
        let summary = summary(
            shape(&[("t", &["f1"])], &["m"], &["raw", "x"]),
            &[
                (0, 0, 0, 0, &[0.1]),
                (0, 0, 0, 0, &[0.2]),
                (0, 0, 0, 1, &[0.15]),
                (0, 0, 0, 1, &[0.150_000_000_000_000_02]),
            ],
        );
        assert_eq!((summary.comparisons[0].ties, summary.comparisons[0].wins), (1, 0));
    }

    #[test]
    fn facts_that_do_not_fit_are_refused_and_change_nothing() {
        let mut aggregator = Aggregator::new(shape(&[("t", &["exact"]), ("u", &["exact"])], &["m"], &["raw"]));
        let (one, two) = (verdicts(&[1.0]), verdicts(&[1.0, 1.0]));
        let good = Facts {
            task: 0,
            item: 5,
            model: 0,
            condition: 0,
            usage: Usage::default(),
            answered_by: None,
            scores: &one,
            unscored: false,
        };
        aggregator.push(&good).unwrap();
        let before = aggregator.clone();
        for (facts, text) in [
            (Facts { task: 2, ..good }, "there is no task number 2"),
            (Facts { model: 1, ..good }, "there is no model number 1"),
            (Facts { condition: 1, ..good }, "there is no condition number 1"),
            (Facts { scores: &two, ..good }, "a sample has 2 scores, but task `t` has 1 scorers"),
            (Facts { item: 4, ..good }, "item 4 of task number 0 comes after a later one"),
        ] {
            assert_eq!(aggregator.push(&facts).unwrap_err().to_string(), text);
            assert_eq!(aggregator, before);
        }
        aggregator.push(&Facts { task: 1, item: 0, ..good }).unwrap();
        assert!(aggregator.push(&good).is_err());
    }

    #[test]
    fn usage_stops_at_the_greatest_safe_integer() {
        let mut aggregator = Aggregator::new(shape(&[("t", &["exact"])], &["m"], &["raw"]));
        for item in 0..3 {
            let usage = Usage { input_tokens: u64::MAX, output_tokens: 1 << 52 };
            aggregator
                .push(&Facts {
                    task: 0,
                    item,
                    model: 0,
                    condition: 0,
                    usage,
                    answered_by: None,
                    scores: &[],
                    unscored: false,
                })
                .unwrap();
        }
        let summary = aggregator.finish();
        assert_eq!(summary.totals.usage, Usage { input_tokens: (1 << 53) - 1, output_tokens: (1 << 53) - 1 });
        assert!(proofmark_canon::to_vec(&summary).is_ok());
    }

    #[test]
    fn parts_of_other_runs_are_not_merged() {
        let one = Aggregator::new(shape(&[("t", &["exact"])], &["m"], &["raw"]));
        let other = Aggregator::new(shape(&[("t", &["exact"])], &["m"], &["raw", "x"]));
        assert!(one.merge(other).is_err());
    }
}
