//! AUD-5: credit for degenerate answers, and gold answers that the scorer cannot tell from others.

use std::io;

use proofmark_artefact::audit::{Evidence, Severity};
use proofmark_artefact::spill::{Spot, mark};
use proofmark_artefact::suite::gaia::final_answer;
use proofmark_artefact::text::excerpt;

use super::groups::Groups;
use super::{Checking, Outcome, Scene, Subject};
use crate::credit::{Credit, is_degenerate};
use crate::kept::{Kept, MAX_EVIDENCE, finding, finding_of_all};
use crate::rule::Rule;
use crate::sample::Sample;
use crate::shelf::Earliest;

/// Answers that have nothing to do with each other or with any question.
const UNRELATED: [&str; 3] = ["qzxv wjkp", "-7919.25", "lorem; ipsum, 3, dolor"];

#[derive(Default)]
pub(super) struct Collision {
    outcome: Outcome,
    /// By letters and digits of a gold answer, the mark of its signs.
    forms: Groups<32>,
    unscorable: Option<String>,
}

impl Checking for Collision {
    fn take(&mut self, scene: &Scene<'_>, subject: &Subject<'_>) -> io::Result<()> {
        let sample = subject.sample;
        if !sample.has_gold() {
            return Ok(());
        }
        let outcome = &mut self.outcome;
        outcome.coverage.of += 1;
        let Some(rule) = scene.rule(sample) else { return Ok(()) };
        match rule.passes(sample, UNRELATED[0]) {
            Ok(_) => outcome.coverage.seen += 1,
            Err(why) => {
                self.unscorable.get_or_insert(why);
            }
        }
        outcome.kept.extend(of_credit(scene, sample, subject.credit));
        outcome.kept.extend(of_gold(scene, sample, rule));
        if rule.is_gaia { note_forms(sample, subject.spot, &mut self.forms) } else { Ok(()) }
    }

    fn finish(self: Box<Self>, scene: &Scene<'_>) -> io::Result<Outcome> {
        let Self { mut outcome, forms, unscorable } = *self;
        twins(scene, forms, &mut outcome.kept)?;
        if let Some(why) = unscorable.filter(|_| !outcome.coverage.is_whole()) {
            outcome.gaps.push(format!("the scorer cannot be tried: {}", excerpt(&why, 160)));
        }
        Ok(outcome)
    }
}

/// What the credit was given for.
fn of_credit(scene: &Scene<'_>, sample: &Sample, credit: &Credit) -> Option<Evidence> {
    let answer = sample.answer.as_deref().unwrap_or_default();
    let shown = || scene.reveal.text(sample, answer, 80);
    let (name, message) = match credit {
        Credit::Degenerate => ("degenerate_credit", format!("credit for an answer that says nothing: {}", shown())),
        Credit::Lenient => (
            "lenient_credit",
            "credit that GAIA's rule does not give: the answer shares words with the gold answer".into(),
        ),
        // `yes` may be the gold answer itself; then there is nothing odd about it.
        Credit::Supported if is_degenerate(answer) && !is_gold_itself(sample, answer) => {
            ("degenerate_credit", format!("the scorer passes an answer that says nothing: {}", shown()))
        }
        Credit::Supported if scene.rule(sample).is_some_and(|rule| rule.is_gaia) && drops_signs(sample, answer) => (
            "signs_ignored",
            "the answer differs from the gold answer in signs that carry meaning, and the scorer does not see it"
                .into(),
        ),
        _ => return None,
    };
    let mut evidence = finding(Severity::Warn, name, sample, message);
    evidence.gold = scene.reveal.gold(sample);
    Some(evidence)
}

/// A gold answer that almost anything meets.
fn of_gold(scene: &Scene<'_>, sample: &Sample, rule: &Rule) -> Option<Evidence> {
    let met = UNRELATED.iter().filter(|answer| rule.passes(sample, answer) == Ok(true)).count();
    let is_met_by_nothing = rule.passes(sample, "") == Ok(true);
    let message = match (met, is_met_by_nothing) {
        (2.., _) => "the scorer accepts unrelated answers for this gold answer",
        (_, true) => "the scorer accepts an empty answer for this gold answer",
        _ => return None,
    };
    let mut evidence = finding(Severity::Warn, "gold_accepts_anything", sample, message);
    evidence.gold = scene.reveal.gold(sample);
    Some(evidence)
}

/// Notes the gold answers of which the scorer does not see all.
fn note_forms(sample: &Sample, spot: Spot, forms: &mut Groups<32>) -> io::Result<()> {
    for gold in sample.golds() {
        let signs = signs(&gold);
        if !signs.is_empty() {
            let bare: String = gold.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
            let group = [&sample.task.to_be_bytes(), bare.as_bytes()].concat();
            forms.push(&group, spot, &mark(signs.as_bytes())[..8])?;
        }
    }
    Ok(())
}

/// Different gold answers of two samples that are one for the scorer.
fn twins(scene: &Scene<'_>, forms: Groups<32>, kept: &mut Kept) -> io::Result<()> {
    let mut pairs = Earliest::new(MAX_EVIDENCE);
    forms.each(|first, this| {
        if first.spot() != this.spot() && first.note() != this.note() {
            pairs.push((this.spot(), first.spot()));
        }
    })?;
    let (pairs, omitted) = pairs.into_parts();
    for (this, first) in pairs {
        let (sample, other) = (scene.samples.get(this)?, scene.samples.get(first)?);
        let (one, two) = (excerpt(&other.id, 60), excerpt(&sample.id, 60));
        let message = format!("the scorer cannot tell the gold answers of `{one}` and `{two}` apart");
        let mut evidence = finding_of_all(Severity::Warn, "golds_collide", message);
        evidence.gold = scene.reveal.gold(&sample);
        kept.push(evidence);
    }
    kept.omit(omitted);
    Ok(())
}

fn is_gold_itself(sample: &Sample, answer: &str) -> bool {
    let plain = |text: &str| text.trim().trim_end_matches('.').to_lowercase();
    sample.golds().iter().any(|gold| plain(gold) == plain(final_answer(answer)))
}

/// Whether no gold answer has the signs of the answer.
fn drops_signs(sample: &Sample, answer: &str) -> bool {
    let answer = signs(final_answer(answer));
    !sample.golds().is_empty()
        && sample.golds().iter().all(|gold| gold.trim().parse::<f64>().is_err() && signs(gold) != answer)
}

/// The signs of a text that carry meaning: `+ # * / ^ = < > % & @`, and a minus before a digit.
fn signs(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let carries = |at: usize| match chars[at] {
        '+' | '#' | '*' | '/' | '^' | '=' | '<' | '>' | '%' | '&' | '@' => true,
        '-' | '−' => {
            let is_after_letter = at > 0 && chars[at - 1].is_alphabetic();
            chars.get(at + 1).is_some_and(char::is_ascii_digit) && !is_after_letter
        }
        _ => false,
    };
    (0..chars.len()).filter(|at| carries(*at)).map(|at| chars[at]).collect()
}

#[cfg(test)]
mod tests {
    use proofmark_canon::Value;

    use super::*;
    use crate::sample::Facts;

    #[test]
    fn signs_that_carry_meaning_are_told_from_punctuation() {
        for (text, want) in [
            ("C++", "++"),
            ("C#", "#"),
            ("3/4 cup", "/"),
            ("St. Petersburg", ""),
            ("twenty-one", ""),
            ("-5", "-"),
            ("5 - 6", ""),
            ("covid-19", ""),
            ("AT&T", "&"),
        ] {
            assert_eq!(signs(text), want, "{text}");
        }
    }

    #[test]
    fn an_answer_whose_signs_differ_is_not_the_gold_answer() {
        let sample = |gold: &str| Sample { gold: gold.into(), ..Sample::default() };
        assert!(drops_signs(&sample("C++"), "C#") && drops_signs(&sample("C++"), "C"));
        assert!(!drops_signs(&sample("C++"), "c++.") && !drops_signs(&sample("17"), "$17%"));
    }

    #[test]
    fn credit_for_nothing_and_golds_that_accept_anything_are_found() {
        use super::super::testing::{credited, findings, outcome_of};
        for (answer, gold, want) in [
            ("Paris", "Paris", vec![]),
            ("yes", "yes", vec![]),
            ("", "Paris", vec!["degenerate_credit"]),
            ("ok", "Antananarivo", vec!["degenerate_credit"]),
            ("Gaudi", "Antoni Gaudi", vec!["lenient_credit"]),
            ("C#", "C++", vec!["signs_ignored"]),
            ("whatever", "inf", vec!["gold_accepts_anything"]),
            ("!", "?!", vec!["degenerate_credit", "gold_accepts_anything"]),
            ("banana", "Paris", vec![]),
        ] {
            let outcome = outcome_of::<Collision>(&[credited("t", answer, gold)], &[], &Facts::default());
            let names: Vec<&str> = findings(outcome).into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, want, "{answer} for {gold}");
        }
    }

    #[test]
    fn two_golds_that_are_one_for_the_scorer_are_found() {
        use super::super::testing::{credited, findings, outcome_of};
        let samples = [credited("a", "C++", "C++"), credited("b", "C#", "C#"), credited("c", "D", "D")];
        let outcome = outcome_of::<Collision>(&samples, &[], &Facts::default());
        assert_eq!(findings(outcome), [("golds_collide", Severity::Warn)]);
        // The same gold twice is one, and several golds of one sample are what its dataset accepts.
        let either = Sample { gold: Value::from(vec![Value::from("C++"), "C#".into()]), ..credited("a", "C++", "") };
        for samples in [[credited("a", "C++", "C++"), credited("b", "C++", "C++")], [either, credited("c", "D", "D")]] {
            assert_eq!(findings(outcome_of::<Collision>(&samples, &[], &Facts::default())), []);
        }
    }
}
