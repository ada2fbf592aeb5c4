//! One changed sample as it is shown, and how many of them are kept.

use std::collections::{BTreeMap, BinaryHeap};

use proofmark_canon::{Digest, SampleKey};
use schemars::JsonSchema;
use serde::Serialize;

use super::class::{Class, Classes};
use super::kind::{Kinds, TrajectoryKind};
use crate::record::{Record, SampleError, Score, Status, Usage};
use crate::trajectory::head;
use crate::words::vote;

/// One sample that differs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The sample in A; null when it is only in B.
    pub a: Option<Sample>,
    pub b: Option<Sample>,
    /// At least one; what people look for first comes first.
    pub classes: Vec<Class>,
    pub condition: String,
    pub item_id: String,
    #[schemars(with = "String")]
    pub key: SampleKey,
    pub model: String,
    pub sample: u32,
    pub task: String,
    /// What differs in how the answer was earned; null when the sample is not in that class.
    pub trajectory: Option<TrajectoryChange>,
}

impl Change {
    pub fn is(&self, class: Class) -> bool {
        self.classes.contains(&class)
    }
}

/// In what the trajectories of a sample differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrajectoryChange {
    /// The first difference of each kind in each attempt, as far as there is something to show.
    pub differences: Vec<TrajectoryDifference>,
    pub kinds: Vec<TrajectoryKind>,
}

/// One thing that differs between two trajectories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrajectoryDifference {
    /// How it is in A, in one line; null when A has nothing there.
    pub a: Option<String>,
    /// Null when each sample has one attempt.
    pub attempt: Option<u32>,
    pub b: Option<String>,
    pub kind: TrajectoryKind,
}

/// One side of a changed sample.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// The messages before the last one, each after its role; null when there are none.
    pub context: Option<Excerpt>,
    pub error: Option<SampleError>,
    /// The gold answer as text; null when there is none.
    pub expected: Option<Excerpt>,
    pub finish_reason: Option<String>,
    /// Digest of everything that was sent.
    #[schemars(with = "String")]
    pub input_fingerprint: Digest,
    /// The record's line in its file, from 1.
    pub line: u64,
    /// The answer; null when none came.
    pub output: Option<Excerpt>,
    /// The last message that was sent.
    pub prompt: Excerpt,
    pub provider: String,
    /// The first ones; a run has a handful.
    pub scores: Vec<Score>,
    pub status: Status,
    pub tool_calls: u32,
    pub turns: u32,
    pub usage: Usage,
}

/// A text, or its beginning when it is long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Excerpt {
    /// The length of the whole text.
    pub bytes: u64,
    pub text: String,
}

impl Excerpt {
    fn new(text: &str, limit: usize) -> Self {
        Self { bytes: text.len() as u64, text: head(text, limit).to_owned() }
    }

    pub fn is_cut(&self) -> bool {
        (self.text.len() as u64) < self.bytes
    }
}

/// How many examples of each class are kept with their texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The first so many of each class, in the order of the records.
    First(usize),
    /// Every one. Memory then grows with the number of changes.
    All,
}

pub(super) fn change(
    classes: Classes,
    kinds: Kinds,
    a: Option<(Record, u64)>,
    b: Option<(Record, u64)>,
    limit: usize,
) -> Option<Change> {
    let (named, _) = b.as_ref().or(a.as_ref())?;
    let trajectory = classes.contains(Class::TrajectoryChanged).then(|| {
        let voting =
            |side: &Option<(Record, u64)>| side.as_ref().and_then(|(record, _)| record.voting.as_ref()).map(vote);
        let chosen = kinds.contains(TrajectoryKind::Chosen).then(|| TrajectoryDifference {
            a: voting(&a),
            attempt: None,
            b: voting(&b),
            kind: TrajectoryKind::Chosen,
        });
        TrajectoryChange { differences: chosen.into_iter().collect(), kinds: kinds.iter().collect() }
    });
    Some(Change {
        trajectory,
        classes: classes.iter().collect(),
        condition: named.condition.clone(),
        item_id: named.item_id.clone(),
        key: named.key.clone(),
        model: named.model.clone(),
        sample: named.sample,
        task: named.task.clone(),
        a: a.map(|(record, line)| side(record, line, limit)),
        b: b.map(|(record, line)| side(record, line, limit)),
    })
}

fn side(record: Record, line: u64, limit: usize) -> Sample {
    let cut = |text: String| head(&text, limit).to_owned();
    let scores =
        record.scores.into_iter().take(MOST_SCORES).map(|score| Score { explanation: cut(score.explanation), ..score });
    let before: Vec<String> = match record.input.messages.split_last() {
        Some((_, before)) => {
            before.iter().map(|message| format!("{}: {}", message.role.as_str(), message.content)).collect()
        }
        None => Vec::new(),
    };
    Sample {
        context: (!before.is_empty()).then(|| Excerpt::new(&before.join("\n"), limit)),
        error: record.error.map(|error| SampleError { class: cut(error.class), message: cut(error.message) }),
        expected: (!record.expected.is_null()).then(|| Excerpt::new(&record.expected.to_plain_text(), limit)),
        finish_reason: record.finish_reason.map(cut),
        input_fingerprint: record.input.fingerprint,
        line,
        output: record.output.map(|output| Excerpt::new(&output.text, limit)),
        prompt: Excerpt::new(record.input.messages.last().map_or("", |message| &message.content), limit),
        provider: record.provider,
        scores: scores.collect(),
        status: record.status,
        tool_calls: record.tool_calls,
        turns: record.turns,
        usage: record.usage,
    }
}

/// How many scores of a sample are kept.
const MOST_SCORES: usize = 50;

/// The examples kept so far: of each class the first ones, whatever order they are found in.
pub(super) struct Kept {
    keep: Keep,
    /// Of each class the places that are kept, the last one on top.
    places: [BinaryHeap<u64>; Class::ALL.len()],
    /// By place, with the number of classes that keep it.
    changes: BTreeMap<u64, (usize, Change)>,
}

impl Kept {
    pub(super) fn new(keep: Keep) -> Self {
        Self { keep, places: Default::default(), changes: BTreeMap::new() }
    }

    /// Keeps a change if it is among the first of one of its classes; it is only made then.
    pub(super) fn offer<E>(
        &mut self,
        place: u64,
        classes: Classes,
        make: impl FnOnce() -> Result<Option<Change>, E>,
    ) -> Result<(), E> {
        let limit = match self.keep {
            Keep::First(limit) => limit,
            Keep::All => usize::MAX,
        };
        let has_room = |heap: &BinaryHeap<u64>| heap.len() < limit || heap.peek().is_some_and(|last| place < *last);
        let takers: Vec<usize> =
            classes.iter().map(|class| class as usize).filter(|at| has_room(&self.places[*at])).collect();
        if takers.is_empty() {
            return Ok(());
        }
        let Some(change) = make()? else { return Ok(()) };
        self.changes.insert(place, (takers.len(), change));
        for at in takers {
            self.places[at].push(place);
            if self.places[at].len() > limit
                && let Some(last) = self.places[at].pop()
            {
                self.release(last);
            }
        }
        Ok(())
    }

    /// Returns the changes in the order of their places.
    pub(super) fn finish(self) -> Vec<Change> {
        self.changes.into_values().map(|(_, change)| change).collect()
    }

    fn release(&mut self, place: u64) {
        if let Some((holders, _)) = self.changes.get_mut(&place) {
            *holders -= 1;
            if *holders == 0 {
                self.changes.remove(&place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::sample;

    fn kept(keep: Keep, places: &[(u64, &[Class])]) -> (Vec<u64>, usize) {
        let mut kept = Kept::new(keep);
        let mut made = 0;
        for (place, list) in places {
            let mut classes = Classes::default();
            list.iter().for_each(|class| classes.insert(*class));
            let make = || -> Result<_, ()> {
                made += 1;
                Ok(change(classes, Kinds::default(), Some((sample::record("t", "i", "m", "c", 0), *place)), None, 10))
            };
            kept.offer(*place, classes, make).unwrap();
        }
        (kept.finish().iter().map(|change| change.a.as_ref().unwrap().line).collect(), made)
    }

    #[test]
    fn the_first_of_each_class_are_kept_whatever_order_they_come_in() {
        use Class::{OutputChanged as O, Regression as R};
        let found: [(u64, &[Class]); 6] = [(5, &[R]), (1, &[O]), (4, &[O, R]), (3, &[R]), (2, &[R]), (9, &[O])];
        assert_eq!(kept(Keep::First(2), &found).0, [1, 2, 3, 4]);
        assert_eq!(kept(Keep::First(1), &found).0, [1, 2]);
        assert_eq!(kept(Keep::All, &found).0, [1, 2, 3, 4, 5, 9]);
        assert_eq!(kept(Keep::First(0), &found), (vec![], 0));
    }

    #[test]
    fn what_has_no_room_is_not_even_made() {
        let found: Vec<(u64, &[Class])> = (0..50).map(|place| (place, &[Class::Regression][..])).collect();
        assert_eq!(kept(Keep::First(3), &found), (vec![0, 1, 2], 3));
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        let excerpt = Excerpt::new("aéé", 4);
        assert_eq!((excerpt.text.as_str(), excerpt.bytes, excerpt.is_cut()), ("aé", 5, true));
        assert!(!Excerpt::new("aé", 4).is_cut());
    }
}
