//! What the statistics know of a run and of one of its records.
//!
//! A runner makes [`Facts`] as it goes; [`FactsReader`] makes the same ones from `records.jsonl`.

use proofmark_canon::RunId;

use crate::axes::Axes;
use crate::manifest::{Manifest, PriceEntry};
use crate::record::{Record, Score, Status, Usage};
use crate::suite::plan::Plan;
use crate::summary::Disclosed;
use crate::text::excerpt;

/// The rows and columns of a summary, in the suite's order.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    pub name: String,
    pub run_id: RunId,
    pub tasks: Vec<TaskShape>,
    pub models: Vec<String>,
    /// What the tokens of each model cost, where that is known.
    pub prices: Vec<Option<PriceEntry>>,
    /// The first one is the baseline that the others are compared with.
    pub conditions: Vec<String>,
    /// The judges, and what their tokens cost.
    pub judges: Vec<(String, Option<PriceEntry>)>,
    /// What is disclosed with the numbers.
    pub disclosed: Option<Disclosed>,
}

/// A task with its scorers' names, the primary one first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskShape {
    pub id: String,
    pub scorers: Vec<String>,
}

impl Shape {
    /// `judge_prices` are in the order of the plan's judges.
    pub fn of_plan(
        plan: &Plan,
        run_id: RunId,
        prices: Vec<Option<PriceEntry>>,
        judge_prices: Vec<Option<PriceEntry>>,
    ) -> Self {
        let task = |task: &crate::suite::plan::TaskPlan| TaskShape {
            id: task.id.clone(),
            scorers: task.scorers.iter().map(|scorer| scorer.name().to_owned()).collect(),
        };
        Self {
            name: plan.name.clone(),
            run_id,
            tasks: plan.tasks.iter().map(task).collect(),
            models: plan.models.iter().map(|model| model.id.clone()).collect(),
            prices,
            conditions: plan.conditions.iter().map(|condition| condition.id.clone()).collect(),
            judges: plan.judges.iter().map(|judge| judge.id.clone()).zip(judge_prices).collect(),
            disclosed: plan.discloses().then(|| Disclosed {
                splits: plan.tasks.iter().map(|task| (task.id.clone(), task.dataset.split.clone())).collect(),
                voting_attempts: plan.sampling.voting_attempts,
            }),
        }
    }

    pub fn of_manifest(manifest: &Manifest) -> Self {
        let task = |task: &crate::manifest::TaskEntry| TaskShape { id: task.id.clone(), scorers: task.scorers.clone() };
        Self {
            name: manifest.name.clone(),
            run_id: manifest.run_id,
            tasks: manifest.tasks.iter().map(task).collect(),
            models: manifest.models.iter().map(|model| model.id.clone()).collect(),
            prices: manifest.models.iter().map(|model| model.price.clone()).collect(),
            conditions: manifest.conditions.requested.clone(),
            judges: manifest.judges.iter().map(|judge| (judge.id.clone(), judge.price.clone())).collect(),
            // Its manifest says it where the summary does.
            disclosed: manifest.sampling.voting_attempts.map(|voting_attempts| Disclosed {
                splits: manifest.datasets.iter().map(|set| (set.task.clone(), set.split.clone())).collect(),
                voting_attempts,
            }),
        }
    }
}

/// One sample as the statistics see it. Indices are positions in the [`Shape`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts<'a> {
    pub task: usize,
    /// Any number that grows from one item of a task to the next.
    pub item: u64,
    pub model: usize,
    pub condition: usize,
    pub usage: Usage,
    /// The model that the provider says has answered.
    pub answered_by: Option<&'a str>,
    /// One verdict a scorer of the task, or none when the sample has no answer or no score.
    pub scores: &'a [Verdict],
    /// Whether there are no scores because there is no gold answer, and nothing went wrong.
    pub unscored: bool,
}

/// What one scorer said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// From 0 to 1.
    pub value: f64,
    pub passed: bool,
}

impl From<&Score> for Verdict {
    fn from(score: &Score) -> Self {
        Self { value: score.value, passed: score.passed }
    }
}

/// A record that does not fit the run it is said to belong to.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FactsError {
    #[error("the record belongs to run {found}, but the run is {expected}")]
    OtherRun { found: RunId, expected: RunId },
    #[error("the run has no {kind} `{name}`")]
    UnknownName { kind: &'static str, name: String },
    #[error("the record has {found} scores, but task `{task}` has {expected} scorers")]
    ScoreCount { task: String, found: usize, expected: usize },
    #[error("score {position} is by `{found}`, but scorer {position} of task `{task}` is `{expected}`")]
    OtherScorer { task: String, position: usize, found: String, expected: String },
    #[error("the value of `{scorer}` is {value}, but a score is from 0 to 1")]
    OutOfRange { scorer: String, value: f64 },
    #[error("the record's status is `{}`, but it has scores", status.as_str())]
    ScoredFailure { status: Status },
    #[error("the record is not in the suite's order: it does not come after the one before it")]
    OutOfOrder,
}

impl FactsError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        "the records were edited or mixed with those of another run; `proofmark validate` lists every finding"
    }
}

/// Turns records, in their order, to facts.
#[derive(Debug)]
pub struct FactsReader<'s> {
    shape: &'s Shape,
    axes: Axes<'s>,
    last: Option<Place>,
    item_id: String,
    verdicts: Vec<Verdict>,
}

/// Where a record stands; places grow in record order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    task: usize,
    item: u64,
    model: usize,
    condition: usize,
    sample: u32,
}

impl<'s> FactsReader<'s> {
    pub fn new(shape: &'s Shape) -> Self {
        let axes = Axes::of_shape(shape);
        Self { shape, axes, last: None, item_id: String::new(), verdicts: Vec::new() }
    }

    /// Returns the facts of the next record.
    ///
    /// An item that comes back after another one of its task is not noticed here: that takes memory for
    /// every item, and `validate` spends it.
    pub fn read<'r>(&'r mut self, record: &'r Record) -> Result<Facts<'r>, FactsError> {
        if record.run_id != self.shape.run_id {
            return Err(FactsError::OtherRun { found: record.run_id, expected: self.shape.run_id });
        }
        let unknown = |kind, name: &str| FactsError::UnknownName { kind, name: excerpt(name, 80) };
        let task = self.axes.task(&record.task).ok_or_else(|| unknown("task", &record.task))?;
        let model = self.axes.model(&record.model).ok_or_else(|| unknown("model", &record.model))?;
        let condition =
            self.axes.condition(&record.condition).ok_or_else(|| unknown("condition", &record.condition))?;
        let item = match self.last {
            Some(last) if last.task == task => last.item + u64::from(self.item_id != record.item_id),
            _ => 0,
        };
        let place = Place { task, item, model, condition, sample: record.sample };
        if self.last.is_some_and(|last| place <= last) {
            return Err(FactsError::OutOfOrder);
        }
        self.read_scores(&self.shape.tasks[task], record)?;
        if self.item_id != record.item_id {
            self.item_id.clone_from(&record.item_id);
        }
        self.last = Some(place);
        let answered_by = record.output.as_ref().and_then(|output| output.answered_by.as_deref());
        let unscored = record.status == Status::Success && self.verdicts.is_empty();
        Ok(Facts { task, item, model, condition, usage: record.usage, answered_by, scores: &self.verdicts, unscored })
    }

    fn read_scores(&mut self, task: &TaskShape, record: &Record) -> Result<(), FactsError> {
        self.verdicts.clear();
        let (found, expected) = (record.scores.len(), task.scorers.len());
        if found == 0 {
            return Ok(());
        }
        if record.status != Status::Success {
            return Err(FactsError::ScoredFailure { status: record.status });
        }
        if found != expected {
            return Err(FactsError::ScoreCount { task: task.id.clone(), found, expected });
        }
        for (position, (score, scorer)) in record.scores.iter().zip(&task.scorers).enumerate() {
            if score.scorer != *scorer {
                let (task, found, expected) = (task.id.clone(), excerpt(&score.scorer, 80), scorer.clone());
                return Err(FactsError::OtherScorer { task, position, found, expected });
            }
            // Not a number is out of range too.
            if !(0.0..=1.0).contains(&score.value) {
                return Err(FactsError::OutOfRange { scorer: scorer.clone(), value: score.value });
            }
            self.verdicts.push(score.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proofmark_canon::seed::SampleSeed;
    use proofmark_canon::{Digest, SampleKey, Value};

    use super::*;
    use crate::record::{Input, RECORD_SCHEMA};

    fn shape() -> Shape {
        Shape {
            disclosed: None,
            judges: Vec::new(),
            name: "s".into(),
            run_id: RunId::from_digest(&Digest::of(b"run")),
            tasks: vec![
                TaskShape { id: "one".into(), scorers: vec!["exact".into(), "f1".into()] },
                TaskShape { id: "two".into(), scorers: vec!["exact".into()] },
            ],
            models: vec!["m".into(), "n".into()],
            prices: vec![None, None],
            conditions: vec!["raw".into(), "compiled".into()],
        }
    }

    fn record(task: &str, item: &str, model: &str, condition: &str, sample: u32) -> Record {
        let score = |scorer: &str| Score {
            explanation: String::new(),
            judge: None,
            passed: true,
            scorer: scorer.into(),
            value: 0.5,
        };
        let scorers: &[&str] = if task == "one" { &["exact", "f1"] } else { &["exact"] };
        Record {
            condition: condition.into(),
            error: None,
            expected: Value::Null,
            finish_reason: None,
            input: Input { fingerprint: Digest::of(b""), messages: Vec::new() },
            item_id: item.into(),
            key: SampleKey::new(task, item, model, condition, sample),
            latency_ms: None,
            model: model.into(),
            ordinal: 0,
            output: None,
            output_fingerprint: Digest::of(b""),
            provider: "echo".into(),
            run_id: shape().run_id,
            sample,
            schema_version: RECORD_SCHEMA,
            scores: scorers.iter().map(|name| score(name)).collect(),
            seed: SampleSeed::derive(0, ""),
            started_at: String::new(),
            status: Status::Success,
            task: task.into(),
            tool_calls: 0,
            turns: 1,
            usage: Usage { input_tokens: 3, output_tokens: 4 },
            voting: None,
        }
    }

    #[test]
    fn names_become_places() {
        let shape = shape();
        let mut reader = FactsReader::new(&shape);
        let mut places = Vec::new();
        for (task, item, model, condition, sample) in [
            ("one", "a", "m", "raw", 0),
            ("one", "a", "m", "raw", 1),
            ("one", "a", "n", "compiled", 0),
            ("one", "b", "m", "raw", 0),
            ("two", "b", "m", "raw", 0),
            ("two", "a", "m", "raw", 0),
        ] {
            let record = record(task, item, model, condition, sample);
            let facts = reader.read(&record).unwrap();
            assert_eq!(facts.usage, record.usage);
            places.push((facts.task, facts.item, facts.model, facts.condition, facts.scores.len()));
        }
        assert_eq!(
            places,
            [(0, 0, 0, 0, 2), (0, 0, 0, 0, 2), (0, 0, 1, 1, 2), (0, 1, 0, 0, 2), (1, 0, 0, 0, 1), (1, 1, 0, 0, 1)]
        );
    }

    #[test]
    fn a_record_that_does_not_fit_is_refused() {
        let changed = |change: fn(&mut Record)| {
            let mut record = record("one", "a", "m", "raw", 0);
            change(&mut record);
            FactsReader::new(&shape()).read(&record).map(|_| ()).unwrap_err().to_string()
        };
        assert_eq!(changed(|r| r.task = "three".into()), "the run has no task `three`");
        assert_eq!(changed(|r| r.model = "x".repeat(9999)), format!("the run has no model `{}…`", "x".repeat(80)));
        assert_eq!(changed(|r| r.condition = String::new()), "the run has no condition ``");
        assert_eq!(changed(|r| drop(r.scores.pop())), "the record has 1 scores, but task `one` has 2 scorers");
        assert_eq!(changed(|r| r.scores.reverse()), "score 0 is by `f1`, but scorer 0 of task `one` is `exact`");
        for (value, text) in [(1.5, "1.5"), (-0.1, "-0.1"), (f64::NAN, "NaN")] {
            let mut record = record("one", "a", "m", "raw", 0);
            record.scores[1].value = value;
            let shape = shape();
            let error = FactsReader::new(&shape).read(&record).unwrap_err();
            assert_eq!(error.to_string(), format!("the value of `f1` is {text}, but a score is from 0 to 1"));
        }
        assert_eq!(changed(|r| r.status = Status::Timeout), "the record's status is `timeout`, but it has scores");
        assert!(changed(|r| r.run_id = RunId::from_digest(&Digest::of(b"x"))).starts_with("the record belongs to run"));
    }

    #[test]
    fn a_record_out_of_order_is_refused() {
        for (first, second) in [
            (("two", "a", "m", "raw", 0), ("one", "a", "m", "raw", 0)),
            (("one", "a", "n", "raw", 0), ("one", "a", "m", "raw", 0)),
            (("one", "a", "m", "compiled", 0), ("one", "a", "m", "raw", 0)),
            (("one", "a", "m", "raw", 1), ("one", "a", "m", "raw", 0)),
            (("one", "a", "m", "raw", 0), ("one", "a", "m", "raw", 0)),
        ] {
            let shape = shape();
            let mut reader = FactsReader::new(&shape);
            let make = |(task, item, model, condition, sample)| record(task, item, model, condition, sample);
            reader.read(&make(first)).unwrap();
            assert_eq!(reader.read(&make(second)), Err(FactsError::OutOfOrder), "{first:?} {second:?}");
        }
    }

    #[test]
    fn a_failed_sample_has_no_scores() {
        let shape = shape();
        let mut record = record("one", "a", "m", "raw", 0);
        record.status = Status::Error;
        record.scores.clear();
        assert_eq!(FactsReader::new(&shape).read(&record).unwrap().scores, []);
    }
}
