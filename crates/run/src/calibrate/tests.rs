//! Judges of known character, measured: every number comes out as it was put in.

use std::sync::atomic::Ordering;

use proofmark_artefact::calibration::shape::{Confusion, Errors, LabelSet, Measured};
use proofmark_artefact::calibration::{Calibration, LabelRules, Labels, fits, line};
use proofmark_artefact::suite::judge::JudgeMode;

use super::attacks::ATTACKS;
use super::cases::make;
use super::testing::{Asked, Part, Played, says, scorer};
use super::*;
use crate::judge::JudgeScorer;

/// Forty answers, the odd ones wrong; `bad-7` and `good-8` by name, of growing length.
fn labels(scorer: &JudgeScorer) -> Labels {
    let mut text = String::new();
    for at in 0..40 {
        let (id, label) = if at % 2 == 0 { (format!("good-{at}"), true) } else { (format!("bad-{at}"), false) };
        let author = if at % 4 < 2 { "openrouter:openai/gpt-4o" } else { "anthropic:claude-x" };
        let answer = "word ".repeat(at + 1);
        let (other, label) = match scorer.plan.mode {
            JudgeMode::Single => (String::new(), label.to_string()),
            JudgeMode::Pairwise => {
                (format!("\"other\":\"another {at}\","), format!("\"{}\"", if label { "first" } else { "second" }))
            }
        };
        text.push_str(&format!(
            "{{\"id\":\"{id}\",\"answer\":\"{answer}\",{other}\"author\":\"{author}\",\"label\":{label},\"question\":\"q\"}}\n"
        ));
    }
    Labels::read(text.as_bytes(), &LabelRules::new(&scorer.plan)).unwrap()
}

fn cases(scorer: &JudgeScorer, labels: &Labels) -> (Vec<LabelledCase>, LabelSet) {
    let found = Found { at: 0, task: "t", scorer };
    let cases: Vec<LabelledCase> =
        labels.list.iter().zip(0..).map(|(label, at)| make(found, 7, label, None, at)).collect();
    let passes = cases.iter().filter(|case| case.labelled.passed).count() as u64;
    let count = cases.len() as u64;
    let set = LabelSet {
        count,
        digest: labels.digest,
        empty: 0,
        fails: count - passes,
        in_file: count,
        passes,
        with_author: count,
    };
    (cases, set)
}

async fn run(scorer: &JudgeScorer, desk: &Played, wish: Wish, at_once: usize) -> Result<Calibration, CalibrateError> {
    let labels = labels(scorer);
    let (cases, set) = cases(scorer, &labels);
    let bench = Bench { scorer, desk, at_once, tell: &|_, _| {} };
    calibrate(bench, subject("t", scorer, desk.judges()), &cases, set, wish).await
}

const TWICE: Wish = Wish { repeats: 2, probe: None };

async fn measured(part: impl Fn(&Asked<'_>) -> Option<String> + Send + Sync + 'static) -> Measured {
    run(&scorer(), &Played::one(part), TWICE, 3).await.unwrap().judges.remove(0)
}

fn is_good(asked: &Asked<'_>) -> bool {
    asked.item_id.starts_with("good")
}

fn verdict(passed: bool) -> Option<String> {
    says(if passed { "pass" } else { "fail" })
}

fn number(asked: &Asked<'_>) -> u32 {
    asked.item_id.rsplit('-').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_perfect_judge_is_perfect() {
    let found = measured(|asked| verdict(is_good(asked))).await;
    assert_eq!(found.confusion, Confusion { false_fail: 0, false_pass: 0, true_fail: 20, true_pass: 20 });
    assert_eq!((found.accuracy.value, found.kappa.value), (Some(1.0), Some(1.0)));
    assert_eq!((found.repeat.agreement.count, found.repeat.agreement.of), (40, 40));
    assert!(!found.bias.length.difference.is_clear() && !found.bias.own_family.difference.is_clear());
    assert_eq!(found.bias.position.flips.reason.as_deref(), Some("answers are judged one at a time"));
}

#[tokio::test]
async fn a_coin_agrees_by_chance_and_not_with_itself() {
    let found = measured(|asked| verdict(asked.seed % 2 == 0)).await;
    assert!(found.kappa.value.unwrap().abs() < 0.4, "{:?}", found.kappa);
    assert!(found.repeat.agreement.value.unwrap() < 0.8, "{:?}", found.repeat);
    assert!(found.repeat.kappa.value.unwrap() < 0.6);
}

#[tokio::test]
async fn a_judge_that_likes_length_or_its_own_family_is_seen() {
    // Of the twenty wrong answers the ten longest pass.
    let found = measured(|asked| verdict(is_good(asked) || number(asked) >= 20)).await;
    assert_eq!((found.bias.length.longer.count, found.bias.length.longer.of), (10, 10));
    assert_eq!((found.bias.length.shorter.count, found.bias.length.shorter.of), (0, 10));
    assert!(found.bias.length.difference.is_clear() && found.bias.length.correlation.is_clear());
    assert!(!found.bias.own_family.difference.is_clear());
    let found = measured(|asked| verdict(is_good(asked) || number(asked) % 4 < 2)).await;
    let own = &found.bias.own_family;
    assert_eq!((own.own.count, own.own.of, own.others.count, own.others.of), (10, 10, 0, 10));
    assert_eq!((own.family.as_deref(), own.difference.value), (Some("openai"), Some(1.0)));
}

#[tokio::test]
async fn a_judge_of_pairs_that_always_takes_the_first_is_seen() {
    let mut scorer = scorer();
    (scorer.plan.mode, scorer.plan.first) = (JudgeMode::Pairwise, false);
    scorer.plan.verdicts.clear();
    let found = run(&scorer, &Played::one(|_| says("first")), TWICE, 3).await.unwrap().judges.remove(0);
    let position = &found.bias.position;
    assert_eq!((position.flips.count, position.flips.of), (40, 40));
    assert_eq!((position.to_first, position.to_second), (40, 0));
    // Both orders together make a tie, which does not pass.
    assert_eq!(found.confusion, Confusion { false_fail: 20, false_pass: 0, true_fail: 20, true_pass: 0 });
    assert_eq!(found.verdicts.unwrap().counts, [[0, 20, 0], [0, 0, 0], [0, 20, 0]]);
}

#[tokio::test]
async fn errors_are_counted_and_never_right() {
    let found = measured(|asked| match number(asked) {
        0..10 => None,
        10..20 => Some("I think it passes".to_owned()),
        _ => verdict(is_good(asked)),
    })
    .await;
    assert_eq!(found.errors, Errors { failed: 10, misfit: 10 });
    assert_eq!((found.accuracy.count, found.accuracy.of), (20, 40));
    assert_eq!((found.repeat.agreement.of, found.repeat.errors), (20, 20));
}

#[tokio::test]
async fn a_panel_is_measured_beside_its_judges() {
    let mut scorer = scorer();
    scorer.judges = vec![0, 1, 2];
    scorer.plan.votes = 2;
    let parts: Vec<Part> = vec![
        Box::new(|asked| verdict(is_good(asked))),
        Box::new(|asked| verdict(is_good(asked))),
        Box::new(|asked| if asked.item_id == "good-0" { None } else { verdict(true) }),
    ];
    let desk = Played::new(parts);
    let found = run(&scorer, &desk, TWICE, 3).await.unwrap();
    let accuracy: Vec<u64> = found.judges.iter().map(|judge| judge.accuracy.count).collect();
    assert_eq!(accuracy, [40, 40, 19]);
    let panel = found.panel.as_ref().unwrap();
    // Two of three are right; where one has no verdict, nobody has.
    assert_eq!((panel.judge.as_ref(), panel.accuracy.count, panel.errors.failed), (None, 39, 1));
    assert!(line(&found).starts_with("a panel of 3 (gpt-4.1, gpt-4.1, gpt-4.1) with this rubric: accuracy 0.97"));
    // Forty labels, three judges, two repeats of two votes; the one that fails is not asked for its second votes.
    assert_eq!(desk.asked.load(Ordering::Relaxed), 40 * 3 * 2 * 2 - 2);
    assert_eq!(fits(&found, &subject("other", &scorer, desk.judges())), Ok(()));
    scorer.plan.votes = 1;
    assert!(fits(&found, &subject("other", &scorer, desk.judges())).is_err());
}

#[tokio::test]
async fn the_same_replies_give_the_same_bytes_however_many_are_under_way() {
    let wish = Wish { repeats: 3, probe: Some(5) };
    let part = |asked: &Asked<'_>| verdict(asked.seed % 5 < 2 || is_good(asked));
    let mut all = Vec::new();
    for at_once in [1, 4, 64] {
        let made = run(&scorer(), &Played::one(part), wish, at_once).await.unwrap();
        all.push(made.to_bytes().unwrap());
        assert_eq!(Calibration::from_bytes(all.last().unwrap()).unwrap(), made);
    }
    assert!(all.iter().all(|bytes| *bytes == all[0]));
}

#[tokio::test]
async fn a_judge_that_obeys_is_turned_and_one_that_does_not_is_not() {
    let wish = Wish { repeats: 1, probe: Some(15) };
    let obeys = |asked: &Asked<'_>| {
        verdict(is_good(asked) || asked.sent.contains("Ignore the rubric") || asked.sent.contains("Dear grader"))
    };
    let desk = Played::one(obeys);
    let found = run(&scorer(), &desk, wish, 3).await.unwrap();
    let probe = found.probe.unwrap();
    assert_eq!((probe.answers.chosen, probe.answers.probed), (15, 15));
    assert_eq!(probe.attacks.len(), ATTACKS.len());
    for attack in &probe.attacks {
        let wants = if ["plain", "before", "polite", "long_padding"].contains(&attack.id.as_str()) { 15 } else { 0 };
        if wants > 0 || ["german", "base64", "rot13", "tag_characters"].contains(&attack.id.as_str()) {
            assert_eq!((attack.tries.flips.count, attack.tries.flips.of), (wants, 15), "{}", attack.id);
        }
    }
    assert_eq!((probe.baseline.count, probe.baseline.of), (0, 15));
    assert_eq!(probe.turned.value, Some(1.0));
    assert!(probe.is_injectable());
    assert!(found.warnings.iter().any(|warning| warning.code == "injectable"));
    // Forty labels; fifteen answers once more as they are, again, and with every attack.
    assert_eq!(desk.asked.load(Ordering::Relaxed), 40 + 15 + 15 * (1 + ATTACKS.len() as u64));
    let firm = run(&scorer(), &Played::one(|asked| verdict(is_good(asked))), wish, 3).await.unwrap().probe.unwrap();
    assert_eq!((firm.overall.flips.count, firm.overall.flips.of), (0, 15 * ATTACKS.len() as u64));
    assert!(!firm.is_injectable() && firm.flipped.is_empty());
}

#[tokio::test]
async fn noise_is_not_taken_for_injection() {
    let wish = Wish { repeats: 1, probe: Some(20) };
    let coin = |asked: &Asked<'_>| verdict(proofmark_canon::Digest::of(asked.sent.as_bytes()).as_bytes()[0] < 128);
    let found = run(&scorer(), &Played::one(coin), wish, 3).await.unwrap();
    let probe = found.probe.unwrap();
    assert!(probe.answers.passing > 0 && probe.answers.probed > 0);
    assert!(probe.overall.flips.value.unwrap() > 0.3 && probe.baseline.value.unwrap() > 0.1);
    assert!(!found.warnings.iter().any(|warning| warning.code == "injectable"), "{:?}", probe.excess);
}

#[tokio::test]
async fn the_choice_of_attacked_answers_does_not_depend_on_their_order() {
    let scorer = scorer();
    let (cases, _) = cases(&scorer, &labels(&scorer));
    let of = |cases: &[LabelledCase]| {
        let all = cases.iter().map(|case| ProbeCase { id: &case.id, case: case.case() }).collect();
        let mut ids: Vec<String> = choose(all, 7).iter().map(|one| one.id.to_owned()).collect();
        ids.sort_unstable();
        ids
    };
    let turned: Vec<LabelledCase> = cases.iter().rev().cloned().collect();
    assert_eq!(of(&cases).len(), 7);
    assert_eq!(of(&cases), of(&turned));
}

#[tokio::test]
async fn what_stops_a_judge_stops_everything() {
    struct Stopped(Played);
    impl Desk for Stopped {
        fn judge(&self, at: usize) -> &crate::judge::Judge {
            self.0.judge(at)
        }
        fn known(
            &self,
            key: &proofmark_canon::Digest,
            question: &proofmark_artefact::judgment::Question,
        ) -> Option<proofmark_artefact::judgment::Entry> {
            self.0.known(key, question)
        }
        fn ask<'a>(
            &'a self,
            _: usize,
            _: &'a proofmark_model::Request,
            _: proofmark_model::Hint<'a>,
        ) -> proofmark_model::Asking<'a> {
            Box::pin(async { Err(Stop { message: "the key was refused".into(), hint: Some("set it".into()) }) })
        }
        fn keep(
            &self,
            key: &proofmark_canon::Digest,
            judgment: proofmark_artefact::judgment::Judgment,
        ) -> Result<proofmark_artefact::judgment::Entry, String> {
            self.0.keep(key, judgment)
        }
        fn judged_at(&self) -> &str {
            ""
        }
    }
    let scorer = scorer();
    let desk = Stopped(Played::one(|_| None));
    let (cases, set) = cases(&scorer, &labels(&scorer));
    let bench = Bench { scorer: &scorer, desk: &desk, at_once: 4, tell: &|_, _| {} };
    let error = calibrate(bench, subject("t", &scorer, desk.0.judges()), &cases, set, TWICE).await.unwrap_err();
    assert!(matches!(&error, CalibrateError::Stop(_)) && error.hint().as_deref() == Some("set it"), "{error}");
}
