//! Small scenes for the tests of checks.

use proofmark_artefact::audit::Severity;

use super::{Checking, Outcome, Scene, Subject};
use crate::credit::Credit;
use crate::kept::Reveal;
use crate::rule::Rule;
use crate::sample::{Facts, Sample};
use crate::samples::Samples;
use crate::seen::{Found, Seen};
use crate::shelf::Filling;

/// What a check makes of these samples, scored by the rule for results of others.
pub(super) fn outcome_of<C: Checking + Default>(samples: &[Sample], seen: &[Seen], facts: &Facts) -> Outcome {
    let rules = [Rule::assumed()];
    let mut filling = Filling::default();
    samples.iter().for_each(|sample| filling.push(&sample.id, sample).unwrap());
    let samples = Samples::new(filling, None).unwrap();
    let scene = Scene {
        samples: &samples,
        found: &Found::default(),
        facts,
        rules: &rules,
        usual_moment: None,
        rescored: None,
        validated: None,
        reveal: Reveal::Gold,
    };
    let mut check = Box::new(C::default());
    for (at, sample) in samples.walk().enumerate() {
        let (spot, sample) = sample.unwrap();
        let credit = Credit::of(&sample, rules.first());
        let seen = seen.get(at).cloned().unwrap_or_default();
        check.take(&scene, &Subject { spot, sample: &sample, credit: &credit, seen: &seen }).unwrap();
    }
    check.finish(&scene).unwrap()
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
