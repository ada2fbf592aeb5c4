//! Small scenes for the tests of checks.

use proofmark_artefact::audit::Severity;

use super::{Outcome, Scene};
use crate::credit::Credit;
use crate::kept::Reveal;
use crate::rule::Rule;
use crate::sample::{Facts, Sample};
use crate::seen::{Found, Seen};

/// A scene of these samples, scored by the rule for results of others.
pub(super) fn scene_of(samples: &[Sample], seen: &[Seen], facts: &Facts, look: impl FnOnce(&Scene<'_>)) {
    let rules = [Rule::assumed()];
    let credits: Vec<Credit> = samples.iter().map(|sample| Credit::of(sample, rules.first())).collect();
    let seen: Vec<Seen> = (0..samples.len()).map(|at| seen.get(at).cloned().unwrap_or_default()).collect();
    look(&Scene {
        samples,
        credits: &credits,
        seen: &seen,
        found: &Found::default(),
        facts,
        rules: &rules,
        gold: None,
        rescored: None,
        validated: None,
        reveal: Reveal::Gold,
    });
}

/// A sample that is marked as correct.
pub(super) fn credited(id: &str, answer: &str, gold: &str) -> Sample {
    Sample {
        id: id.into(),
        item: id.into(),
        answer: Some(answer.into()),
        gold: gold.into(),
        mark: crate::sample::Mark::Correct,
        ..Sample::default()
    }
}

/// What was found, without its words.
pub(super) fn findings(outcome: Outcome) -> Vec<(&'static str, Severity)> {
    let (evidence, _) = outcome.kept.into_parts();
    evidence.into_iter().map(|evidence| (&*evidence.finding.leak(), evidence.severity)).collect()
}
