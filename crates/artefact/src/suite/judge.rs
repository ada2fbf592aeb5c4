//! A judge scorer: as a suite says it, and with every default filled.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::Scorer;
use super::plan::{ModelPlan, ScorerPlan, TaskPlan};
use super::problem::{Place, Problem};
use super::text::TextSource;
use crate::path::RelPath;

/// The most votes of one judge on one answer.
const MAX_VOTES: u32 = 25;

/// How answers are put before a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgeMode {
    /// One answer at a time.
    #[default]
    Single,
    /// Beside another answer, in both orders.
    Pairwise,
}

/// The numbers a judge may give.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoreRange {
    pub min: f64,
    pub max: f64,
}

/// A judge scorer with every default filled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgePlan {
    pub name: String,
    pub rubric: TextSource,
    /// Ids of the suite's `judges`; at least one.
    pub judges: Vec<String>,
    pub mode: JudgeMode,
    /// For comparisons: the column that holds the other answer; the target when `None`.
    pub against: Option<String>,
    /// Whether the judge is shown the target.
    pub reference: bool,
    /// The words a judge may say, and what each is worth. Empty for comparisons.
    pub verdicts: BTreeMap<String, f64>,
    /// Also ask for a number, which then is the value.
    pub score: Option<ScoreRange>,
    /// The value from which an answer passes.
    pub pass: f64,
    pub votes: u32,
    /// Whether an answer that is the target passes without a judge.
    pub first: bool,
    /// What is known of the judge's agreement with people.
    pub calibration: Option<RelPath>,
}

/// Fills in the defaults of a judge scorer, and says what is wrong with it. `None` for any other scorer.
pub(super) fn resolve_judge(
    scorer: &Scorer,
    name: String,
    place: &Place,
    problems: &mut Vec<Problem>,
) -> Option<ScorerPlan> {
    let Scorer::Judge {
        name: _,
        rubric,
        judges,
        mode,
        against,
        reference,
        verdicts,
        score,
        pass,
        votes,
        first,
        calibration,
    } = scorer
    else {
        return None;
    };
    let mode = mode.unwrap_or_default();
    let reference = reference.unwrap_or(mode == JudgeMode::Single);
    if let TextSource::Inline(text) = rubric
        && text.trim().is_empty()
    {
        problems.push(Problem::at(place.key("rubric"), "the rubric is empty"));
    }
    if mode == JudgeMode::Pairwise {
        for (key, is_there) in [("verdicts", verdicts.is_some()), ("score", score.is_some())] {
            // The resolved form has them empty.
            let is_default = key == "verdicts" && verdicts.as_ref().is_some_and(BTreeMap::is_empty);
            if is_there && !is_default {
                let message =
                    format!("`{key}` does not go with `mode: pairwise`, where a judge names the better answer");
                problems.push(Problem::at(place.key(key), message));
            }
        }
    } else if against.is_some() {
        problems.push(
            Problem::at(place.key("against"), "a single answer is compared with nothing").hint("add `mode: pairwise`"),
        );
    }
    let usual = || BTreeMap::from([("fail".to_owned(), 0.0), ("pass".to_owned(), 1.0)]);
    let verdicts = match mode {
        JudgeMode::Single => verdicts.clone().unwrap_or_else(usual),
        JudgeMode::Pairwise => BTreeMap::new(),
    };
    if mode == JudgeMode::Single {
        check_verdicts(&verdicts, &place.key("verdicts"), problems);
    }
    if let Some(ScoreRange { min, max }) = score {
        if !(min.is_finite() && max.is_finite() && min < max) {
            problems.push(Problem::at(place.key("score"), "expected a `min` below `max`"));
        }
        if pass.is_none() {
            problems.push(
                Problem::at(
                    place.key("score"),
                    "a judge that gives numbers needs `pass`: the value from which an answer passes",
                )
                .hint("values go from 0 for `min` to 1 for `max`: `pass: 0.7`"),
            );
        }
    }
    let pass = pass.unwrap_or(1.0);
    if !(pass > 0.0 && pass <= 1.0) {
        problems.push(Problem::at(place.key("pass"), "expected a value above 0 and up to 1"));
    }
    let votes = votes.unwrap_or(1);
    if !(1..=MAX_VOTES).contains(&votes) {
        problems.push(Problem::at(place.key("votes"), format!("expected 1 to {MAX_VOTES}")));
    }
    Some(ScorerPlan::Judge(Box::new(JudgePlan {
        name,
        rubric: rubric.clone(),
        judges: judges.clone().unwrap_or_default(),
        mode,
        against: against.clone(),
        reference,
        verdicts,
        score: *score,
        pass,
        votes,
        first: first.unwrap_or(reference && mode == JudgeMode::Single),
        calibration: calibration.clone(),
    })))
}

fn check_verdicts(verdicts: &BTreeMap<String, f64>, place: &Place, problems: &mut Vec<Problem>) {
    if verdicts.len() < 2 || verdicts.len() > 20 {
        problems.push(Problem::at(place.clone(), "expected 2 to 20 verdicts").hint("try `{pass: 1, fail: 0}`"));
    }
    for (word, value) in verdicts {
        let is_word = (1..=40).contains(&word.len())
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b));
        if !is_word {
            problems.push(Problem::at(place.key(word), "a verdict is 1 to 40 of the characters a-z, 0-9, `_` and `-`"));
        }
        if !(0.0..=1.0).contains(value) {
            problems.push(Problem::at(place.key(word), "expected a value from 0 to 1"));
        }
    }
}

/// Ties judge scorers to the suite's judges: a scorer that names none is judged by all.
pub(super) fn tie_judges(tasks: &mut [TaskPlan], judges: &[ModelPlan], problems: &mut Vec<Problem>) {
    let known: Vec<&str> = judges.iter().map(|judge| judge.id.as_str()).collect();
    for (task_at, task) in tasks.iter_mut().enumerate() {
        for (at, scorer) in task.scorers.iter_mut().enumerate() {
            let ScorerPlan::Judge(plan) = scorer else { continue };
            let place = Place::top().key("tasks").index(task_at).key("scorers").index(at);
            if judges.is_empty() {
                problems.push(
                    Problem::at(place, "the suite has no judge to ask")
                        .hint("add `judges: [{id: judge, model: \"provider:model-id\"}]` beside `models`"),
                );
                continue;
            }
            if plan.judges.is_empty() {
                plan.judges = known.iter().map(|id| (*id).to_owned()).collect();
            }
            for (judge_at, id) in plan.judges.iter().enumerate() {
                if !known.contains(&id.as_str()) {
                    problems.push(
                        Problem::at(place.key("judges").index(judge_at), format!("the suite has no judge `{id}`"))
                            .hint(format!("it has {}", known.join(", "))),
                    );
                }
                if plan.judges[..judge_at].contains(id) {
                    problems.push(Problem::at(
                        place.key("judges").index(judge_at),
                        format!("judge `{id}` is named twice; use `votes` to ask it more than once"),
                    ));
                }
            }
        }
    }
}

/// Takes away the calibrations that scorers name: their files need not be there then.
pub(super) fn forget_calibrations(tasks: &mut [TaskPlan]) {
    for scorer in tasks.iter_mut().flat_map(|task| &mut task.scorers) {
        if let ScorerPlan::Judge(plan) = scorer {
            plan.calibration = None;
        }
    }
}

/// Whether the place of the cache says that there is none.
pub fn is_off(judge_cache: &str) -> bool {
    judge_cache == "off"
}
