//! AUD-6: attempts that were declared against attempts that are recorded.

use std::io;

use proofmark_artefact::audit::Severity;

use super::{Checking, Outcome, Scene, Subject};
use crate::kept::{Kept, finding, finding_of_all};
use crate::sample::Disclosure;

#[derive(Default)]
pub(super) struct Voting {
    samples: u64,
    kept: Kept,
}

impl Checking for Voting {
    fn take(&mut self, scene: &Scene<'_>, subject: &Subject<'_>) -> io::Result<()> {
        let Subject { sample, seen, .. } = subject;
        self.samples += 1;
        if let Some(words) = sample.not_attempts.as_ref().or(seen.not_attempts.as_ref()) {
            let message = format!("{words}, expected a count of attempts");
            self.kept.push(finding(Severity::Warn, "not_a_count", sample, message));
        }
        let declared = match scene.facts.voting {
            Disclosure::Given(attempts) => Some(attempts),
            _ => None,
        };
        let recorded = sample.attempts.unwrap_or_default().max(seen.attempts).max(u64::from(seen.trajectories));
        // Without a declaration a single attempt is what everybody assumes.
        if recorded > declared.unwrap_or(1) {
            let said = declared.map_or("nothing is declared".to_owned(), |number| format!("{number} declared"));
            let message = format!("{recorded} attempts are recorded, {said}");
            self.kept.push(finding(Severity::Critical, "contradicted", sample, message));
        }
        Ok(())
    }

    fn finish(self: Box<Self>, scene: &Scene<'_>) -> io::Result<Outcome> {
        let mut outcome = Outcome::default();
        outcome.coverage.of = self.samples;
        outcome.coverage.seen = self.samples;
        match &scene.facts.voting {
            Disclosure::Given(_) => {}
            Disclosure::Missing => {
                let message = "nobody says how many attempts were made at a task";
                outcome.kept.push(finding_of_all(Severity::Warn, "not_disclosed", message));
                outcome.gaps.push("the number of attempts is not recorded".to_owned());
            }
            Disclosure::Malformed(what) => {
                let message = format!("the number of attempts is {what}, expected a count from 1 on");
                outcome.kept.push(finding_of_all(Severity::Warn, "not_a_count", message));
            }
        }
        outcome.kept.append(self.kept);
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use proofmark_artefact::audit::Severity;

    use super::super::testing::{findings, outcome_of};
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
            assert_eq!(findings(outcome_of::<Voting>(&[sample], &[seen], &facts)), want, "{facts:?}");
        }
    }
}
