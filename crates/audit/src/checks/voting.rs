//! AUD-6: attempts that were declared against attempts that are recorded.

use proofmark_artefact::audit::{Coverage, Severity};

use super::{Outcome, Scene};
use crate::kept::{finding, finding_of_all};
use crate::sample::Disclosure;

pub(super) fn run(scene: &Scene<'_>) -> Outcome {
    let of = scene.samples.len() as u64;
    let mut outcome = Outcome { coverage: Coverage { of, seen: of }, ..Outcome::default() };
    let declared = match &scene.facts.voting {
        Disclosure::Given(attempts) => Some(*attempts),
        Disclosure::Missing => {
            let message = "nobody says how many attempts were made at a task";
            outcome.kept.push(finding_of_all(Severity::Warn, "not_disclosed", message));
            outcome.gaps.push("the number of attempts is not recorded".to_owned());
            None
        }
        Disclosure::Malformed(what) => {
            let message = format!("the number of attempts is {what}, expected a count from 1 on");
            outcome.kept.push(finding_of_all(Severity::Warn, "not_a_count", message));
            None
        }
    };
    for (sample, _, seen) in scene.all() {
        if let Some(words) = sample.not_attempts.as_ref().or(seen.not_attempts.as_ref()) {
            let message = format!("{words}, expected a count of attempts");
            outcome.kept.push(finding(Severity::Warn, "not_a_count", sample, message));
        }
        let recorded = sample.attempts.unwrap_or_default().max(seen.attempts).max(u64::from(seen.trajectories));
        // Without a declaration a single attempt is what everybody assumes.
        let allowed = declared.unwrap_or(1);
        if recorded > allowed {
            let said = declared.map_or("nothing is declared".to_owned(), |number| format!("{number} declared"));
            let message = format!("{recorded} attempts are recorded, {said}");
            outcome.kept.push(finding(Severity::Critical, "contradicted", sample, message));
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use proofmark_artefact::audit::Severity;

    use super::super::testing::{findings, scene_of};
    use super::*;
    use crate::sample::{Facts, Sample};
    use crate::seen::Seen;

    #[test]
    fn more_attempts_than_were_declared_are_a_contradiction() {
        let given = Disclosure::Given;
        for (voting, attempts, trajectories, want) in [
            (given(1), None, 1, vec![]),
            (given(3), Some(3), 3, vec![]),
            (given(3), Some(1), 1, vec![]),
            (given(1), Some(50), 1, vec![("contradicted", Severity::Critical)]),
            (given(1), None, 4, vec![("contradicted", Severity::Critical)]),
            (Disclosure::Missing, None, 1, vec![("not_disclosed", Severity::Warn)]),
            (
                Disclosure::Missing,
                Some(5),
                1,
                vec![("not_disclosed", Severity::Warn), ("contradicted", Severity::Critical)],
            ),
            (Disclosure::Malformed("a string `3`".into()), None, 1, vec![("not_a_count", Severity::Warn)]),
        ] {
            let sample = Sample { attempts, ..Sample::default() };
            let facts = Facts { voting, ..Facts::default() };
            let seen = Seen { trajectories, ..Seen::default() };
            scene_of(&[sample], &[seen], &facts, |scene| assert_eq!(findings(run(scene)), want, "{facts:?}"));
        }
    }
}
