//! Labels made to cases that can be judged.

use std::collections::HashMap;
use std::sync::Arc;

use proofmark_artefact::calibration::shape::LabelSet;
use proofmark_artefact::calibration::{Label, Labelled, Labels};
use proofmark_artefact::record::{Message, Role};
use proofmark_artefact::suite::judge::JudgeMode;
use proofmark_artefact::text::excerpt;
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{SampleKey, Value};
use proofmark_model::Hint;

use super::CalibrateError;
use super::find::Found;
use super::rule::without_first;
use crate::dataset::Item;
use crate::judge::{Case, decide};
use crate::ready::Ready;
use crate::sample::task_and_item;

/// One label with everything that a judge is shown of it.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledCase {
    /// The label's id.
    pub id: String,
    pub labelled: Labelled,
    /// Of the label: where its key starts with the task and the item.
    key: String,
    item_id: String,
    index: u64,
    question: Vec<Message>,
    answer: String,
    expected: Value,
    other: Option<String>,
    seed: SampleSeed,
}

impl LabelledCase {
    pub fn case(&self) -> Case<'_> {
        Case {
            task_id: task_and_item(&self.key),
            question: &self.question,
            answer: &self.answer,
            pictures: &[],
            expected: &self.expected,
            other: self.other.as_deref(),
            seed: self.seed,
            hint: Hint {
                key: &self.key,
                ordinal: self.index,
                item_id: &self.item_id,
                item_index: self.index,
                sample: 0,
                attempt: 0,
                expected: &self.expected,
                choices: None,
            },
        }
    }
}

/// Makes cases of the first `limit` labels, with question and target of the items that they name, and says what was used.
///
/// Every case can be judged: what cannot is an error before anything is asked.
pub fn labelled_cases(
    ready: &Ready,
    found: Found<'_>,
    labels: &Labels,
    limit: Option<usize>,
) -> Result<(Vec<LabelledCase>, LabelSet), CalibrateError> {
    let used = &labels.list[..limit.unwrap_or(usize::MAX).min(labels.list.len())];
    let items = items(ready, found, used)?;
    let scorer = without_first(found.scorer);
    let mut cases = Vec::with_capacity(used.len());
    for (index, label) in used.iter().enumerate() {
        let item = label.item.as_ref().and_then(|id| items.get(id.as_str()));
        let case = make(found, ready.plan.seed, label, item, index as u64);
        let undecided = decide::before(&scorer, &case.case());
        undecided.map_err(|source| CalibrateError::Case { line: label.line, source })?;
        cases.push(case);
    }
    let count = |is: &dyn Fn(&Label) -> bool| used.iter().filter(|label| is(label)).count() as u64;
    let set = LabelSet {
        count: used.len() as u64,
        digest: labels.digest,
        empty: labels.empty,
        fails: count(&|label| !label.people.passed),
        in_file: labels.list.len() as u64 + labels.empty,
        passes: count(&|label| label.people.passed),
        with_author: count(&|label| label.author.is_some()),
    };
    Ok((cases, set))
}

/// What an item gives to a label.
pub(super) struct Given {
    question: Vec<Message>,
    expected: Value,
    other: Option<String>,
}

/// The items that labels name, with the prompt that they have under the suite's first condition.
fn items(ready: &Ready, found: Found<'_>, labels: &[Label]) -> Result<HashMap<String, Given>, CalibrateError> {
    let mut wanted: HashMap<&str, u64> = HashMap::new();
    for label in labels {
        if let Some(item) = &label.item {
            wanted.entry(item).or_insert(label.line);
        }
    }
    let mut given = HashMap::new();
    if wanted.is_empty() {
        return Ok(given);
    }
    for item in ready.datasets[found.at].items()? {
        let item = Arc::new(item?);
        if wanted.contains_key(item.id.as_str()) {
            let question = ready.prompts.render(found.at, 0, &item)?;
            let other = other(found, &item);
            given.insert(item.id.clone(), Given { question, expected: item.expected.clone(), other });
        }
    }
    // The first line that names one which is not there.
    let missing =
        labels.iter().find_map(|label| Some((label.line, label.item.as_ref().filter(|id| !given.contains_key(*id))?)));
    match missing {
        Some((line, item)) => {
            Err(CalibrateError::NoItem { line, item: excerpt(item, 80), task: found.task.to_owned() })
        }
        None => Ok(given),
    }
}

/// What an answer to the item is compared with in a run.
fn other(found: Found<'_>, item: &Item) -> Option<String> {
    match &found.scorer.plan.against {
        Some(column) => item.metadata.get(column).or_else(|| item.fields.get(column)).map(Value::to_plain_text),
        None => (!item.expected.is_null()).then(|| item.expected.to_plain_text()),
    }
}

pub(super) fn make(found: Found<'_>, seed: u64, label: &Label, item: Option<&Given>, index: u64) -> LabelledCase {
    let item_id = label.item.clone().unwrap_or_else(|| label.id.clone());
    // Several answers to one item are told apart by the label's id, in the place of the model.
    let key = SampleKey::new(found.task, &item_id, &label.id, "calibrate", 0).to_string();
    let question = match (item, &label.question) {
        (Some(item), _) => item.question.clone(),
        (None, Some(question)) => vec![Message::new(Role::User, question.clone())],
        (None, None) => Vec::new(),
    };
    let is_pair = found.scorer.plan.mode == JudgeMode::Pairwise;
    LabelledCase {
        id: label.id.clone(),
        labelled: Labelled {
            passed: label.people.passed,
            word: label.people.word.clone(),
            length: label.answer.chars().count() as u64,
            author: label.author.clone(),
        },
        seed: SampleSeed::derive(seed, &key),
        key,
        item_id,
        index,
        question,
        answer: label.answer.clone(),
        expected: item.map_or_else(|| label.expected.clone(), |item| item.expected.clone()),
        other: label.other.clone().or_else(|| item.and_then(|item| item.other.clone())).filter(|_| is_pair),
    }
}
