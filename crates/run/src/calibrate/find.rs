//! Which judge scorer of a suite is meant, and everything that its verdicts depend on.

use proofmark_artefact::calibration::Subject;
use proofmark_artefact::calibration::shape::JudgeSubject;

use super::CalibrateError;
use crate::judge::{Judge, JudgeScorer, PROMPT_VERSION};
use crate::ready::Ready;

/// A judge scorer and the task that it belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// Which of the suite's tasks.
    pub at: usize,
    pub task: &'a str,
    pub scorer: &'a JudgeScorer,
}

/// Finds the judge scorer that is meant: by name, or because there is only one.
pub fn find<'a>(ready: &'a Ready, task: Option<&str>, scorer: Option<&str>) -> Result<Found<'a>, CalibrateError> {
    choose(&all(ready), task, scorer)
}

/// Every judge scorer of a suite.
pub fn all(ready: &Ready) -> Vec<Found<'_>> {
    let all = ready.plan.tasks.iter().zip(&ready.scorers).enumerate().flat_map(|(at, (plan, scorers))| {
        let judges = scorers.iter().filter_map(|scorer| scorer.judge());
        judges.map(move |scorer| Found { at, task: &plan.id, scorer })
    });
    all.collect()
}

fn choose<'a>(all: &[Found<'a>], task: Option<&str>, scorer: Option<&str>) -> Result<Found<'a>, CalibrateError> {
    let names = |found: &[Found<'_>]| {
        found.iter().map(|one| format!("`{}` of task `{}`", one.scorer.plan.name, one.task)).collect::<Vec<_>>()
    };
    let is_meant = |one: &&Found<'_>| {
        task.is_none_or(|task| task == one.task) && scorer.is_none_or(|scorer| scorer == one.scorer.plan.name)
    };
    let meant: Vec<Found<'a>> = all.iter().filter(is_meant).copied().collect();
    match (meant.as_slice(), all) {
        (_, []) => Err(CalibrateError::NoJudge),
        ([one], _) => Ok(*one),
        ([], _) => {
            let scorer = scorer.map(|scorer| format!("`{scorer}`"));
            let task = task.map(|task| format!("of task `{task}`"));
            let wanted = [scorer, task].into_iter().flatten().collect::<Vec<_>>().join(" ");
            Err(CalibrateError::NotThere { wanted, have: names(all) })
        }
        (several, _) => Err(CalibrateError::Several { have: names(several) }),
    }
}

/// Everything that the verdicts of a scorer depend on: what a calibration is of, and what it must be of to say something
/// about a run. `judges` are all of the suite's.
pub fn subject(task: &str, scorer: &JudgeScorer, judges: &[Judge]) -> Subject {
    let plan = &scorer.plan;
    let judge = |judge: &Judge| JudgeSubject {
        id: judge.plan.id.clone(),
        model: judge.plan.model.clone(),
        params: (*judge.params).clone(),
        serving: judge.serving.clone(),
    };
    Subject {
        judges: scorer.judges.iter().filter_map(|at| judges.get(*at)).map(judge).collect(),
        mode: plan.mode,
        pass: plan.pass,
        prompt_version: PROMPT_VERSION,
        reference: plan.reference,
        rubric: scorer.rubric_digest,
        score: plan.score,
        scorer: plan.name.clone(),
        task: task.to_owned(),
        verdicts: plan.verdicts.clone(),
        votes: plan.votes,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::scorer;
    use super::*;

    #[test]
    fn one_scorer_is_meant_and_several_must_be_told_apart() {
        let (one, two) = (scorer(), scorer());
        let all = [Found { at: 0, task: "a", scorer: &one }, Found { at: 1, task: "b", scorer: &two }];
        assert_eq!(choose(&all[..1], None, None).unwrap().task, "a");
        assert_eq!(choose(&all, Some("b"), None).unwrap().at, 1);
        assert_eq!(
            choose(&all, None, Some("judge")).unwrap_err().to_string(),
            "the suite has several judge scorers: `judge` of task `a`, `judge` of task `b`"
        );
        assert_eq!(
            choose(&all, Some("c"), Some("x")).unwrap_err().to_string(),
            "the suite has no judge scorer `x` of task `c`"
        );
        assert!(matches!(choose(&[], None, None), Err(CalibrateError::NoJudge)));
    }
}
