//! AUD-4: tool calls that touch grader, judge cache, gold, run directory, ledger or keys.

use proofmark_artefact::audit::Severity;
use proofmark_artefact::text::excerpt;

use super::{Outcome, Scene};
use crate::credit::Credit;
use crate::kept::finding_of_all;
use crate::sample::Origin;
use crate::seen::ISOLATION;

pub(super) fn run(scene: &Scene<'_>) -> Outcome {
    // Also samples without credit: what one of them does to a grader counts for all.
    let mut outcome = scene.coverage_of(ISOLATION, |_, credit| *credit != Credit::Degenerate, |seen| seen.isolation);
    outcome.kept.append(scene.found.touches.clone());
    match &scene.facts.integrity_events {
        None if scene.facts.origin == Origin::Own => {
            outcome.coverage.seen = 0;
            outcome.gaps.push("the run has no witness, which would say whether the judge cache was intact".to_owned());
        }
        None => outcome.gaps.push("nobody says whether the judge cache was what it should be".to_owned()),
        Some(events) => outcome.kept.extend(events.iter().map(|event| {
            let message =
                format!("an entry of the judge cache was not what it should be: {}", excerpt(&event.to_string(), 160));
            finding_of_all(Severity::Critical, "judge_cache_integrity_event", message)
        })),
    }
    outcome
}
