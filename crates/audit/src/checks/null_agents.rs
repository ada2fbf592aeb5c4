//! AUD-11: what agents that do nothing would be credited with.

use std::collections::BTreeSet;

use proofmark_artefact::audit::Severity;
use proofmark_artefact::text::excerpt;

use super::{Outcome, Scene};
use crate::kept::finding_of_all;
use crate::sample::Sample;

/// An agent that does nothing.
struct Null {
    name: &'static str,
    finding: &'static str,
    answer: fn(&Sample) -> Option<&str>,
    /// A share of credit that guessing explains.
    guessing: f64,
}

const NULLS: [Null; 4] = [
    Null { name: "empty", finding: "empty_agent", answer: |_| Some(""), guessing: 0.0 },
    Null {
        name: "refusing",
        finding: "refusing_agent",
        answer: |_| Some("I'm sorry, but I cannot help with that."),
        guessing: 0.0,
    },
    Null {
        name: "echoing",
        finding: "echoing_agent",
        answer: |sample| Some(sample.question.as_str()).filter(|question| !question.is_empty()),
        guessing: 0.0,
    },
    // Some questions are answered with `yes`; that alone is nobody's fault.
    Null { name: "constant", finding: "constant_agent", answer: |_| Some("yes"), guessing: 0.05 },
];

pub(super) fn run(scene: &Scene<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let mut credited: [Vec<&str>; NULLS.len()] = Default::default();
    let mut asked = BTreeSet::new();
    let mut unscorable = None;
    for (sample, ..) in scene.all() {
        // An item is one question, however often it was asked.
        if !sample.has_gold() || !asked.insert((sample.task, sample.item.as_str())) {
            continue;
        }
        outcome.coverage.of += 1;
        let mut is_seen = true;
        for (null, credited) in NULLS.iter().zip(&mut credited) {
            let Some(answer) = (null.answer)(sample) else { continue };
            match scene.rule(sample).map(|rule| rule.passes(sample, answer)) {
                Some(Ok(true)) => credited.push(&sample.id),
                Some(Ok(false)) => {}
                other => {
                    is_seen = false;
                    unscorable = unscorable.or(other.and_then(Result::err));
                }
            }
        }
        outcome.coverage.seen += u64::from(is_seen);
    }
    let of = outcome.coverage.of;
    for (null, credited) in NULLS.iter().zip(&credited).filter(|(_, credited)| !credited.is_empty()) {
        let examples: Vec<String> = credited.iter().take(3).map(|id| format!("`{}`", excerpt(id, 60))).collect();
        let message = format!(
            "the {} agent would get credit for {} of {of} items, such as {}",
            null.name,
            credited.len(),
            examples.join(", ")
        );
        let is_guessing = credited.len() as f64 <= null.guessing * of as f64;
        let severity = if is_guessing { Severity::Info } else { Severity::Warn };
        outcome.kept.push(finding_of_all(severity, null.finding, message));
    }
    if !outcome.coverage.is_whole() {
        let why = unscorable.unwrap_or_else(|| "the scorer is not known".to_owned());
        outcome.gaps.push(format!("the scorer cannot be tried: {}", excerpt(&why, 160)));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::super::testing::{credited, findings, scene_of};
    use super::*;
    use crate::sample::Facts;

    #[test]
    fn credit_for_doing_nothing_is_found() {
        let ask = |samples: &[Sample], want: &[(&str, Severity)]| {
            scene_of(samples, &[], &Facts::default(), |scene| {
                let outcome = run(scene);
                assert_eq!(outcome.coverage.seen, outcome.coverage.of);
                assert_eq!(findings(outcome), want);
            });
        };
        ask(&[credited("a", "Paris", "Paris")], &[]);
        ask(&[credited("a", "!", "!")], &[("empty_agent", Severity::Warn)]);
        let echo = Sample { question: "Say: Rome".into(), ..credited("a", "Say Rome", "say rome") };
        ask(&[echo], &[("echoing_agent", Severity::Warn)]);
        ask(&[credited("a", "yes", "yes"), credited("b", "x", "x")], &[("constant_agent", Severity::Warn)]);
        // One in forty is what guessing gives.
        let mut many: Vec<Sample> = (0..39).map(|at| credited(&format!("t{at}"), "Paris", "Paris")).collect();
        many.push(credited("y", "yes", "yes"));
        ask(&many, &[("constant_agent", Severity::Info)]);
        let inf = credited("a", "x", "inf");
        ask(
            &[inf],
            &[("empty_agent", Severity::Warn), ("refusing_agent", Severity::Warn), ("constant_agent", Severity::Warn)],
        );
    }

    #[test]
    fn an_item_is_asked_once_and_one_without_a_gold_answer_is_not() {
        let samples = [credited("a", "!", "!"), credited("a", "!", "!"), Sample::default()];
        scene_of(&samples, &[], &Facts::default(), |scene| {
            let outcome = run(scene);
            assert_eq!((outcome.coverage.seen, outcome.coverage.of), (1, 1));
        });
    }
}
