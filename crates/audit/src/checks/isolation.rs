//! AUD-4: tool calls that touch grader, judge cache, gold, run directory, ledger or keys.

use std::io;

use proofmark_artefact::audit::Severity;
use proofmark_artefact::text::excerpt;

use super::{Checking, Outcome, Scene, Sighted, Subject};
use crate::credit::Credit;
use crate::kept::finding_of_all;
use crate::sample::Origin;
use crate::seen::{ISOLATION, Sight};

#[derive(Default)]
pub(super) struct Isolation(Sighted);

impl Checking for Isolation {
    fn take(&mut self, scene: &Scene<'_>, subject: &Subject<'_>) -> io::Result<()> {
        // Also samples without credit: what one of them does to a grader counts for all.
        if *subject.credit != Credit::Degenerate {
            // A program that nothing confined may have touched anything, whatever its call says.
            let task = scene.facts.tasks.get(subject.sample.task);
            let is_confined = task.is_none_or(|task| task.unconfined.is_empty());
            self.0.take(subject.seen, if is_confined { subject.seen.isolation } else { Sight::Part });
        }
        Ok(())
    }

    fn finish(self: Box<Self>, scene: &Scene<'_>) -> io::Result<Outcome> {
        let mut outcome = self.0.finish(ISOLATION, scene.found);
        let unconfined = scene.facts.tasks.iter().filter(|task| !task.unconfined.is_empty());
        outcome.gaps.extend(unconfined.map(|task| {
            let (id, tools) = (excerpt(&task.id, 60), task.unconfined.join(", "));
            format!("the tools of task `{id}` ran without a sandbox: {tools}")
        }));
        outcome.kept.append(scene.found.touches.clone());
        match &scene.facts.integrity_events {
            None if scene.facts.origin == Origin::Own => {
                outcome.coverage.seen = 0;
                let gap = "the run has no witness, which would say whether the judge cache was intact";
                outcome.gaps.push(gap.to_owned());
            }
            None => outcome.gaps.push("nobody says whether the judge cache was what it should be".to_owned()),
            Some(events) => outcome.kept.extend(events.iter().map(|event| {
                let event = excerpt(&event.to_string(), 160);
                let message = format!("an entry of the judge cache was not what it should be: {event}");
                finding_of_all(Severity::Critical, "judge_cache_integrity_event", message)
            })),
        }
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use proofmark_canon::Value;

    use super::super::testing::{credited, findings, outcome_of};
    use super::*;
    use crate::sample::{Facts, Sample, TaskFacts};
    use crate::seen::Seen;

    #[test]
    fn tools_without_a_sandbox_leave_their_task_unseen() {
        let seen = Seen { trajectories: 1, isolation: Sight::All, ..Seen::default() };
        let task = |id: &str, tools: &[&str]| TaskFacts {
            id: id.into(),
            unconfined: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            ..TaskFacts::default()
        };
        let tasks = vec![task("open", &["bash"]), task("closed", &[])];
        let facts = Facts { origin: Origin::Own, integrity_events: Some(vec![]), tasks, ..Facts::default() };
        let other = Sample { task: 1, ..credited("u", "x", "x") };
        let outcome = outcome_of::<Isolation>(&[credited("t", "x", "x"), other], &[seen.clone(), seen], &facts);
        assert_eq!((outcome.coverage.seen, outcome.coverage.of), (1, 2));
        assert_eq!(outcome.gaps, ["the tools of task `open` ran without a sandbox: bash"]);
    }

    #[test]
    fn an_event_of_the_judge_cache_is_critical_and_silence_about_it_is_a_gap() {
        let seen = Seen { trajectories: 1, isolation: Sight::All, ..Seen::default() };
        for (origin, events, want, is_whole, gaps) in [
            (Origin::Own, Some(vec![]), vec![], true, 0),
            (Origin::Own, Some(vec![Value::Null]), vec![("judge_cache_integrity_event", Severity::Critical)], true, 0),
            (Origin::Own, None, vec![], false, 1),
            (Origin::Foreign, None, vec![], true, 1),
        ] {
            let facts = Facts { origin, integrity_events: events, ..Facts::default() };
            let outcome = outcome_of::<Isolation>(&[credited("t", "x", "x")], std::slice::from_ref(&seen), &facts);
            assert_eq!((outcome.coverage.is_whole(), outcome.gaps.len()), (is_whole, gaps));
            assert_eq!(findings(outcome), want);
        }
    }
}
