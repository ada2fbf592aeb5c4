//! AUD-11: what agents that do nothing would be credited with.

use std::io;

use proofmark_artefact::audit::{Coverage, Severity};
use proofmark_artefact::spill::Spot;
use proofmark_artefact::text::excerpt;

use super::groups::Groups;
use super::{Checking, Outcome, Scene, Subject};
use crate::kept::finding_of_all;
use crate::sample::Sample;
use crate::shelf::Earliest;

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

/// How many samples a finding names.
const EXAMPLES: usize = 3;

#[derive(Default)]
pub(super) struct NullAgents {
    /// By item, a bit for every agent that would get credit, and one for an item that could not be scored.
    items: Groups<25>,
    /// The item of the sample before.
    last: Option<(usize, String)>,
    unscorable: Option<String>,
}

/// The bit for an item that could not be scored.
const UNSCORED: u8 = 1 << NULLS.len();

impl Checking for NullAgents {
    fn take(&mut self, scene: &Scene<'_>, subject: &Subject<'_>) -> io::Result<()> {
        let sample = subject.sample;
        // An item is one question, however often it was asked; most stand beside each other.
        let is_again = self.last.as_ref().is_some_and(|(task, item)| *task == sample.task && *item == sample.item);
        if !sample.has_gold() || is_again {
            return Ok(());
        }
        let mut bits = 0;
        for (at, null) in NULLS.iter().enumerate() {
            let Some(answer) = (null.answer)(sample) else { continue };
            match scene.rule(sample).map(|rule| rule.passes(sample, answer)) {
                Some(Ok(true)) => bits |= 1 << at,
                Some(Ok(false)) => {}
                other => {
                    bits |= UNSCORED;
                    self.unscorable = self.unscorable.take().or(other.and_then(Result::err));
                }
            }
        }
        self.last = Some((sample.task, sample.item.clone()));
        self.items.push(&[&sample.task.to_be_bytes(), sample.item.as_bytes()].concat(), subject.spot, &[bits])
    }

    fn finish(self: Box<Self>, scene: &Scene<'_>) -> io::Result<Outcome> {
        let mut credited: [Earliest<Spot>; NULLS.len()] = NULLS.each_ref().map(|_| Earliest::new(EXAMPLES));
        let mut coverage = Coverage::default();
        self.items.each(|first, this| {
            if first != this {
                return;
            }
            let bits = this.note()[0];
            coverage.of += 1;
            coverage.seen += u64::from(bits & UNSCORED == 0);
            for (_, credited) in credited.iter_mut().enumerate().filter(|(at, _)| bits >> at & 1 == 1) {
                credited.push(this.spot());
            }
        })?;
        let mut outcome = Outcome { coverage, ..Outcome::default() };
        let of = coverage.of;
        for (null, credited) in NULLS.iter().zip(credited).filter(|(_, credited)| credited.total() > 0) {
            let count = credited.total();
            let examples: Vec<String> = credited
                .into_parts()
                .0
                .into_iter()
                .map(|spot| Ok(format!("`{}`", excerpt(&scene.samples.get(spot)?.id, 60))))
                .collect::<io::Result<_>>()?;
            let message = format!(
                "the {} agent would get credit for {count} of {of} items, such as {}",
                null.name,
                examples.join(", ")
            );
            let is_guessing = count as f64 <= null.guessing * of as f64;
            let severity = if is_guessing { Severity::Info } else { Severity::Warn };
            outcome.kept.push(finding_of_all(severity, null.finding, message));
        }
        if !coverage.is_whole() {
            let why = self.unscorable.unwrap_or_else(|| "the scorer is not known".to_owned());
            outcome.gaps.push(format!("the scorer cannot be tried: {}", excerpt(&why, 160)));
        }
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{credited, findings, outcome_of};
    use super::*;
    use crate::sample::Facts;

    #[test]
    fn credit_for_doing_nothing_is_found() {
        let ask = |samples: &[Sample], want: &[(&str, Severity)]| {
            let outcome = outcome_of::<NullAgents>(samples, &[], &Facts::default());
            assert_eq!(outcome.coverage.seen, outcome.coverage.of);
            assert_eq!(findings(outcome), want);
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
        let [a, b] = ["a", "b"].map(|id| credited(id, "!", "!"));
        let samples = [a.clone(), a.clone(), b, a, Sample::default()];
        let outcome = outcome_of::<NullAgents>(&samples, &[], &Facts::default());
        assert_eq!((outcome.coverage.seen, outcome.coverage.of), (2, 2));
        let (evidence, _) = outcome.kept.into_parts();
        assert_eq!(evidence[0].message, "the empty agent would get credit for 2 of 2 items, such as `a`, `b`");
    }
}
