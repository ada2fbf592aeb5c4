//! Properties of the statistics: neither order nor shards matter.

use proofmark_artefact::record::{Input, RECORD_SCHEMA, Record, Score, Status, Usage};
use proofmark_artefact::stats::{Aggregator, Facts, FactsReader, Histogram, Shape, TaskShape, Verdict};
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, RunId, SampleKey, Value};
use proptest::prelude::*;

/// One item: its task, and for each model × condition the samples, each with values or none for an error.
type Item = (usize, Vec<Vec<Option<[f64; 2]>>>);

const MODELS: usize = 2;
const CONDITIONS: usize = 3;
const SCORERS: [usize; 2] = [2, 1];

fn shape() -> Shape {
    let names = |prefix: &str, count: usize| (0..count).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>();
    let task = |(at, scorers): (usize, &usize)| TaskShape { id: format!("t{at}"), scorers: names("s", *scorers) };
    Shape {
        judges: Vec::new(),
        disclosed: None,
        name: "properties".into(),
        run_id: RunId::from_digest(&Digest::of(b"properties")),
        tasks: SCORERS.iter().enumerate().map(task).collect(),
        models: names("m", MODELS),
        prices: vec![None; MODELS],
        conditions: names("c", CONDITIONS),
    }
}

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0f64]
}

fn any_items() -> impl Strategy<Value = Vec<Item>> {
    let sample = prop::option::weighted(0.8, [any_value(), any_value()]);
    let arms = prop::collection::vec(prop::collection::vec(sample, 0..3), MODELS * CONDITIONS);
    let items = prop::collection::vec((0..SCORERS.len(), arms), 0..24);
    items.prop_map(|mut items| {
        items.sort_by_key(|(task, _)| *task);
        items
    })
}

/// Calls with the facts and the sample's index of every sample, in record order.
fn each_sample<'a>(items: impl IntoIterator<Item = (u64, &'a Item)>, mut visit: impl FnMut(&Facts<'_>, u32)) {
    for (ordinal, (task, arms)) in items {
        for (arm, samples) in arms.iter().enumerate() {
            for (sample, values) in (0..).zip(samples) {
                let verdict = |value: &f64| Verdict { value: *value, passed: *value > 0.4 };
                let scores: Vec<Verdict> = values.iter().flatten().take(SCORERS[*task]).map(verdict).collect();
                let usage = Usage { input_tokens: 2, output_tokens: ordinal };
                let (model, condition) = (arm / CONDITIONS, arm % CONDITIONS);
                let (item, answered_by, unscored) = (ordinal, None, false);
                visit(
                    &Facts { task: *task, item, model, condition, usage, answered_by, scores: &scores, unscored },
                    sample,
                );
            }
        }
    }
}

fn aggregate<'a>(items: impl IntoIterator<Item = (u64, &'a Item)>) -> Aggregator {
    let mut aggregator = Aggregator::new(shape());
    each_sample(items, |facts, _| aggregator.push(facts).expect("facts of this shape"));
    aggregator
}

/// The record that a runner would write beside the facts.
fn record(shape: &Shape, facts: &Facts<'_>, sample: u32) -> Record {
    let task = &shape.tasks[facts.task];
    let (model, condition, item) =
        (&shape.models[facts.model], &shape.conditions[facts.condition], format!("i{}", facts.item));
    let score = |(verdict, scorer): (&Verdict, &String)| Score {
        explanation: String::new(),
        judge: None,
        passed: verdict.passed,
        scorer: scorer.clone(),
        value: verdict.value,
    };
    Record {
        voting: None,
        condition: condition.clone(),
        error: None,
        expected: Value::Null,
        finish_reason: None,
        input: Input { fingerprint: Digest::of(b""), messages: Vec::new() },
        key: SampleKey::new(&task.id, &item, model, condition, sample),
        item_id: item,
        latency_ms: None,
        model: model.clone(),
        ordinal: 0,
        output: None,
        output_fingerprint: Digest::of(b""),
        provider: "echo".into(),
        run_id: shape.run_id,
        sample,
        schema_version: RECORD_SCHEMA,
        scores: facts.scores.iter().zip(&task.scorers).map(score).collect(),
        seed: SampleSeed::derive(0, ""),
        started_at: String::new(),
        status: if facts.scores.is_empty() { Status::Error } else { Status::Success },
        task: task.id.clone(),
        tool_calls: 0,
        turns: 1,
        usage: facts.usage,
    }
}

fn numbered(items: &[Item]) -> impl Iterator<Item = (u64, &Item)> {
    (0..).zip(items)
}

proptest! {
    // Each case resamples every row of a summary.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn shards_merge_in_any_order_to_the_single_pass(items in any_items(), shard_of in prop::collection::vec(0usize..4, 24), turn in 0usize..4) {
        let shard = |shard: usize| aggregate(numbered(&items).filter(|(at, _)| shard_of[*at as usize] == shard));
        let mut order = [0, 1, 2, 3];
        order.rotate_left(turn);
        let whole = aggregate(numbered(&items)).finish();
        let [a, b, c, d] = order.map(shard);
        let chain = a.clone().merge(b.clone()).unwrap().merge(c.clone()).unwrap().merge(d.clone()).unwrap();
        prop_assert_eq!(&chain.finish(), &whole);
        let tree = d.merge(b).unwrap().merge(c.merge(a).unwrap()).unwrap();
        prop_assert_eq!(&tree.finish(), &whole);
    }

    #[test]
    fn records_give_the_summary_that_the_run_gave(items in any_items()) {
        let shape = shape();
        let mut reader = FactsReader::new(&shape);
        let mut from_records = Aggregator::new(shape.clone());
        each_sample(numbered(&items), |facts, sample| {
            let record = record(&shape, facts, sample);
            from_records.push(&reader.read(&record).expect("a record of this run")).expect("facts of this shape");
        });
        prop_assert_eq!(from_records.finish(), aggregate(numbered(&items)).finish());
    }

    #[test]
    fn every_summary_is_coherent(items in any_items()) {
        let summary = aggregate(numbered(&items)).finish();
        prop_assert!(proofmark_canon::to_vec(&summary).is_ok());
        let mut attempted = 0;
        for cell in &summary.cells {
            let counts = cell.counts;
            prop_assert_eq!(counts.attempted, counts.errored + counts.scored);
            prop_assert!(counts.passed <= counts.scored);
            prop_assert_eq!(cell.estimate.is_some(), counts.scored > 0);
            attempted += if cell.primary { counts.attempted } else { 0 };
        }
        prop_assert_eq!(attempted, summary.totals.counts.attempted);
        prop_assert_eq!(attempted, summary.models.iter().map(|row| row.counts.attempted).sum::<u64>());
        prop_assert_eq!(attempted, summary.tasks.iter().map(|row| row.counts.attempted).sum::<u64>());
        let rows = summary.models.iter().map(|row| row.estimate).chain(summary.tasks.iter().map(|row| row.estimate));
        for estimate in summary.cells.iter().map(|cell| cell.estimate).chain(rows).flatten() {
            let interval = estimate.interval;
            prop_assert!(0.0 <= interval.low && interval.low <= estimate.mean, "{:?}", estimate);
            prop_assert!(estimate.mean <= interval.high && interval.high <= 1.0, "{:?}", estimate);
            prop_assert!(interval.low < interval.high, "{:?}", estimate);
        }
        for comparison in &summary.comparisons {
            let interval = comparison.interval;
            prop_assert_eq!(comparison.items, comparison.wins + comparison.losses + comparison.ties);
            prop_assert!(-1.0 <= interval.low && interval.low <= comparison.difference, "{:?}", comparison);
            prop_assert!(comparison.difference <= interval.high && interval.high <= 1.0, "{:?}", comparison);
            prop_assert!(interval.low < interval.high, "{:?}", comparison);
        }
    }
}

proptest! {
    #[test]
    fn a_histogram_depends_on_its_values_alone(values in prop::collection::vec(-1.0f64..=1.0, 1..60), cut in 0usize..60) {
        let cut = cut % values.len();
        let whole: Histogram = values.iter().copied().collect();
        let reversed: Histogram = values.iter().rev().copied().collect();
        prop_assert_eq!(&reversed, &whole);
        let (mut left, mut right): (Histogram, Histogram) = (values[..cut].iter().copied().collect(), values[cut..].iter().copied().collect());
        let first = left.clone();
        left.merge(&right);
        right.merge(&first);
        prop_assert_eq!(&left, &whole);
        prop_assert_eq!(&right, &whole);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_histogram_that_overflows_depends_on_its_values_alone(
        spans in prop::collection::vec((-1.0f64..1.0, 1e-6f64..1e-3, 500u32..4000), 2..6),
        turn in 0usize..6,
    ) {
        // Dense runs of values that only together, and in different places, need coarser bins.
        let parts: Vec<Vec<f64>> = spans
            .iter()
            .map(|(start, step, count)| (0..*count).map(|i| (start + f64::from(i) * step).clamp(-1.0, 1.0)).collect())
            .collect();
        let whole: Histogram = parts.iter().flatten().copied().collect();
        let backwards: Histogram = parts.iter().flatten().rev().copied().collect();
        prop_assert_eq!(&backwards, &whole);
        let mut shards: Vec<Histogram> = parts.iter().map(|part| part.iter().copied().collect()).collect();
        let by = turn % shards.len();
        shards.rotate_left(by);
        let mut merged = Histogram::new();
        shards.iter().for_each(|shard| merged.merge(shard));
        prop_assert_eq!(&merged, &whole);
    }
}
