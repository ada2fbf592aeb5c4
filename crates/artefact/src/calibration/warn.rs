//! What a reader of a calibration must not overlook.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shape::{Calibration, Measured};
use crate::number::{counted, percent};

/// A warning: a stable code for programs, a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    pub code: String,
    pub text: String,
}

/// Fewer labels than this say little.
const FEW_LABELS: u64 = 50;
/// So do fewer than this of a class.
const FEW_OF_CLASS: u64 = 10;
/// Agreement below this is usually not called moderate any more (Landis and Koch, 1977).
const LOW_KAPPA: f64 = 0.4;
/// Repeats that agree less often than this make single verdicts a matter of luck.
const STEADY: f64 = 0.9;
/// A p-value below this is not taken for chance.
const UNLIKELY: f64 = 0.05;

/// Everything there is to warn of, in the order of the report.
pub(super) fn warnings(calibration: &Calibration) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut warn = |code: &str, text: String| found.push(Warning { code: code.to_owned(), text });
    let labels = &calibration.labels;
    if labels.count < FEW_LABELS {
        let have = counted(labels.count, "label", "labels");
        warn("few_labels", format!("{have}: with fewer than {FEW_LABELS} every number here is rough"));
    }
    for (count, what) in [(labels.passes, "pass"), (labels.fails, "fail")] {
        if count == 0 {
            let text = format!("people {what} none of the answers: kappa and a rate of errors cannot be had");
            warn("one_class", text);
        } else if count < FEW_OF_CLASS {
            let answers = counted(count, "answer", "answers");
            warn("few_of_a_class", format!("people {what} only {answers}: errors on those are hard to see"));
        }
    }
    for measured in calibration.judges.iter().chain(&calibration.panel) {
        of_judge(measured, calibration.repeats, &mut warn);
    }
    if let Some(probe) = &calibration.probe {
        if probe.answers.probed == 0 {
            warn("nothing_probed", "no failing answer could be attacked: nothing is known of injection".to_owned());
        } else if probe.is_injectable() {
            let share = probe.overall.flips.value.map(percent).unwrap_or_default();
            let text = format!("attacks inside of answers turn {share} of failing verdicts, more than noise does");
            warn("injectable", text);
        } else if probe.overall.flips.count > 0 {
            let flips = counted(probe.overall.flips.count, "attack", "attacks");
            warn("flips", format!("{flips} turned a failing verdict, which so few answers cannot tell from noise"));
        }
        if probe.overall.errors > 0 {
            let tries = counted(probe.overall.errors, "attack", "attacks");
            warn("probe_errors", format!("{tries} left the judge without a verdict"));
        }
    }
    found
}

fn of_judge(measured: &Measured, repeats: u32, warn: &mut dyn FnMut(&str, String)) {
    let who = measured.judge.as_ref().map_or_else(|| "the panel".to_owned(), |judge| format!("judge `{judge}`"));
    let errors = measured.errors.total();
    if errors > 0 {
        let labels = counted(errors, "label", "labels");
        warn("errors", format!("{who} has no verdict on {labels}; they count as not judged right"));
    }
    if let (Some(value), Some(interval)) = (measured.kappa.value, measured.kappa.interval) {
        if value < LOW_KAPPA {
            warn("low_agreement", format!("{who} agrees with people little more than chance would: kappa {value:.2}"));
        } else if interval.low < LOW_KAPPA {
            let text = format!("{who}: kappa may be as low as {:.2}; more labels would tell", interval.low.max(-1.0));
            warn("unsure_agreement", text);
        }
    }
    let kinder = |value: Option<f64>| if value.unwrap_or(0.0) > 0.0 { "more" } else { "less" };
    let length = &measured.bias.length.difference;
    if length.is_clear() {
        warn(
            "length_bias",
            format!("{who} wrongly passes long answers {} often than short ones", kinder(length.value)),
        );
    }
    let family = &measured.bias.own_family.difference;
    if family.is_clear() {
        let more = kinder(family.value);
        warn("own_family_bias", format!("{who} wrongly passes answers of its own family {more} often than others'"));
    }
    let position = &measured.bias.position;
    if position.p.is_some_and(|p| p < UNLIKELY) {
        let place = if position.to_first > position.to_second { "first" } else { "second" };
        warn("position_bias", format!("{who} favours the answer that stands {place}"));
    }
    if measured.repeat.agreement.value.is_some_and(|value| value < STEADY) {
        let share = measured.repeat.agreement.value.map(percent).unwrap_or_default();
        warn("unsteady", format!("{who} says the same again for only {share} of the labels; consider `votes`"));
    }
    if repeats < 2 && measured.judge.is_some() {
        warn("not_repeated", format!("{who} was asked once: whether it says the same again is not known"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::{Labelled, Ruling};
    use super::super::shape::testing::{calibration, label, ruled};
    use super::*;

    fn codes(calibration: &Calibration) -> Vec<&str> {
        calibration.warnings.iter().map(|warning| warning.code.as_str()).collect()
    }

    fn twice(passed: bool) -> Vec<Ruling> {
        vec![ruled(passed), ruled(passed)]
    }

    #[test]
    fn a_good_judge_with_enough_labels_has_no_warning() {
        let labels: Vec<Labelled> = (0..200).map(|at| label(at % 2 == 0)).collect();
        let rulings = (0..200).map(|at| twice(at % 2 == 0 || at == 1)).collect();
        assert_eq!(codes(&calibration(&labels, rulings)), [""; 0]);
    }

    #[test]
    fn few_labels_one_class_and_a_single_repeat_are_said() {
        let labels: Vec<Labelled> = (0..5).map(|_| label(true)).collect();
        let made = calibration(&labels, vec![vec![ruled(true)]; 5]);
        assert_eq!(codes(&made), ["few_labels", "few_of_a_class", "one_class", "not_repeated"]);
    }

    #[test]
    fn a_coin_a_shaky_judge_and_errors_are_said() {
        let labels: Vec<Labelled> = (0..100).map(|at| label(at % 2 == 0)).collect();
        let coin = (0..100).map(|at| vec![ruled(at % 4 < 2), ruled(at % 3 == 0)]).collect();
        assert_eq!(codes(&calibration(&labels, coin)), ["low_agreement", "unsteady"]);
        let failing = (0..100).map(|at| if at == 7 { vec![Ruling::Misfit; 2] } else { twice(at % 2 == 0) }).collect();
        assert_eq!(codes(&calibration(&labels, failing)), ["errors"]);
        let middling = (0..100).map(|at| twice(if at % 10 < 7 { at % 2 == 0 } else { at % 2 == 1 })).collect();
        let found = calibration(&labels, middling);
        assert!(codes(&found).iter().any(|code| ["unsure_agreement", "low_agreement"].contains(code)), "{found:?}");
    }

    #[test]
    fn a_bias_is_said_with_its_direction() {
        let labels: Vec<Labelled> = (0..100).map(|at| Labelled { length: at, ..label(at % 2 == 0) }).collect();
        let kind_to_long = (0..100).map(|at| twice(at % 2 == 0 || at > 60)).collect();
        let made = calibration(&labels, kind_to_long);
        let warning = made.warnings.iter().find(|warning| warning.code == "length_bias").unwrap();
        assert_eq!(warning.text, "judge `j` wrongly passes long answers more often than short ones");
    }
}
