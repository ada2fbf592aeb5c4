//! AUD-5: credit for degenerate answers, and gold answers that the scorer cannot tell from others.

use std::collections::BTreeMap;

use proofmark_artefact::audit::{Evidence, Severity};
use proofmark_artefact::suite::gaia::final_answer;
use proofmark_artefact::text::excerpt;

use super::{Outcome, Scene};
use crate::credit::{Credit, is_degenerate};
use crate::kept::{Kept, finding, finding_of_all};
use crate::rule::Rule;
use crate::sample::Sample;

/// Answers that have nothing to do with each other or with any question.
const UNRELATED: [&str; 3] = ["qzxv wjkp", "-7919.25", "lorem; ipsum, 3, dolor"];

pub(super) fn run(scene: &Scene<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let mut forms: BTreeMap<(usize, String), &Sample> = BTreeMap::new();
    let mut unscorable: Option<String> = None;
    for (sample, credit, _) in scene.all().filter(|(sample, ..)| sample.has_gold()) {
        outcome.coverage.of += 1;
        let Some(rule) = scene.rule(sample) else { continue };
        match rule.passes(sample, UNRELATED[0]) {
            Ok(_) => outcome.coverage.seen += 1,
            Err(why) => {
                unscorable.get_or_insert(why);
            }
        }
        outcome.kept.extend(of_credit(scene, sample, credit));
        outcome.kept.extend(of_gold(scene, sample, rule));
        if rule.is_gaia {
            twins(scene, sample, &mut forms, &mut outcome.kept);
        }
    }
    if let Some(why) = unscorable.filter(|_| !outcome.coverage.is_whole()) {
        outcome.gaps.push(format!("the scorer cannot be tried: {}", excerpt(&why, 160)));
    }
    outcome
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

/// Two different gold answers that are one for the scorer.
fn twins<'s>(
    scene: &Scene<'_>,
    sample: &'s Sample,
    forms: &mut BTreeMap<(usize, String), &'s Sample>,
    kept: &mut Kept,
) {
    for gold in sample.golds() {
        if signs(&gold).is_empty() {
            continue;
        }
        let bare: String = gold.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
        let other = forms.entry((sample.task, bare)).or_insert(sample);
        if other.golds().iter().any(|other| signs(other) != signs(&gold)) {
            let message = format!(
                "the scorer cannot tell the gold answers of `{}` and `{}` apart",
                excerpt(&other.id, 60),
                excerpt(&sample.id, 60)
            );
            let mut evidence = finding_of_all(Severity::Warn, "golds_collide", message);
            evidence.gold = scene.reveal.gold(sample);
            kept.push(evidence);
        }
    }
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
    use super::*;

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
        use super::super::testing::{credited, findings, scene_of};
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
            scene_of(&[credited("t", answer, gold)], &[], &crate::sample::Facts::default(), |scene| {
                let names: Vec<&str> = findings(run(scene)).into_iter().map(|(name, _)| name).collect();
                assert_eq!(names, want, "{answer} for {gold}");
            });
        }
    }

    #[test]
    fn two_golds_that_are_one_for_the_scorer_are_found() {
        use super::super::testing::{credited, findings, scene_of};
        let samples = [credited("a", "C++", "C++"), credited("b", "C#", "C#"), credited("c", "D", "D")];
        scene_of(&samples, &[], &crate::sample::Facts::default(), |scene| {
            assert_eq!(findings(run(scene)), [("golds_collide", Severity::Warn)]);
        });
    }
}
