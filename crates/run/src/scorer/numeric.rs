//! `numeric`: a number in the answer is the target within a tolerance.

use std::borrow::Cow;

use proofmark_artefact::suite::config::Take;
use proofmark_canon::Value;
use proofmark_canon::json::append_number;

use super::build::ScorerBuildError;
use super::number::numbers;
use super::text::{excerpt, plain};
use super::verdict::{Answer, ScoreError, Verdict};

/// Takes the first or last number of the answer and compares it with the target.
///
/// - What counts as a number is said at [`numbers`].
/// - The target is a number, or text that holds exactly one number (`$1,234.50`), or a list of these: any will do.
/// - The answer is right within the absolute *or* the relative tolerance (a part of the target's size).
///   Both are 0 by default: then the two must be the same double. A tolerance above 0 has a slack of a few
///   units in the last place, so that 1.1 is within 0.1 of 1.
/// - A number too large for a double never passes; NaN and infinity written as words are no numbers.
#[derive(Debug)]
pub(super) struct Numeric {
    tolerance: f64,
    relative: f64,
    take: Take,
}

impl Numeric {
    pub(super) fn compile(name: &str, tolerance: f64, relative: f64, take: Take) -> Result<Self, ScorerBuildError> {
        for (option, number) in [("tolerance", tolerance), ("relative_tolerance", relative)] {
            if !(number.is_finite() && number >= 0.0) {
                return Err(ScorerBuildError::Option {
                    scorer: excerpt(name),
                    option,
                    found: number.to_string(),
                    expected: "a finite number of at least 0",
                });
            }
        }
        Ok(Self { tolerance, relative, take })
    }

    pub(super) fn score(&self, answer: &Answer<'_>) -> Result<Verdict, ScoreError> {
        let targets = targets(answer)?;
        let mut finds = numbers(answer.text);
        let find = match self.take {
            Take::First => finds.next(),
            Take::Last => finds.last(),
        };
        let Some(find) = find else {
            return Ok(Verdict::fail("there is no number in the answer".to_owned()));
        };
        let found = find.value();
        if !found.is_finite() {
            return Ok(Verdict::fail("the number in the answer is too large".to_owned()));
        }
        let mut why = b"found ".to_vec();
        append_number(found, &mut why);
        let right = targets.iter().find(|target| self.is_close(found, **target));
        why.extend_from_slice(b", expected ");
        append_number(*right.unwrap_or(&targets[0]), &mut why);
        if self.tolerance > 0.0 {
            why.extend_from_slice(" ± ".as_bytes());
            append_number(self.tolerance, &mut why);
        }
        if self.relative > 0.0 {
            why.extend_from_slice(if self.tolerance > 0.0 { b" or " } else { " ± ".as_bytes() });
            append_number(self.relative, &mut why);
            why.extend_from_slice(b" of it");
        }
        if right.is_none() && targets.len() > 1 {
            why.extend_from_slice(format!(" or one of {} others", targets.len() - 1).as_bytes());
        }
        let why = String::from_utf8_lossy(&why).into_owned();
        Ok(if right.is_some() { Verdict::pass(why) } else { Verdict::fail(why) })
    }

    fn is_close(&self, found: f64, target: f64) -> bool {
        #[expect(clippy::float_cmp, reason = "without a tolerance the same double is asked for")]
        if found == target {
            return true;
        }
        let difference = (found - target).abs();
        let slack = SLACK * found.abs().max(target.abs());
        let within = |bound: f64| bound > 0.0 && difference.is_finite() && difference <= bound + slack;
        within(self.tolerance) || within(self.relative * target.abs())
    }
}

/// The numbers that count as right: never empty, each finite.
fn targets<'a>(answer: &Answer<'a>) -> Result<Cow<'a, [f64]>, ScoreError> {
    match answer.expected {
        Value::Null => Err(answer.no_target()),
        Value::Array(items) if items.is_empty() => Err(answer.empty_target()),
        Value::Array(items) => items.iter().map(|item| target(answer, item)).collect(),
        item => Ok(Cow::Owned(vec![target(answer, item)?])),
    }
}

fn target(answer: &Answer<'_>, value: &Value) -> Result<f64, ScoreError> {
    match value {
        Value::Number(number) => Ok(number.get()),
        Value::String(text) => {
            let mut finds = numbers(text);
            match (finds.next(), finds.next()) {
                (Some(only), None) if only.value().is_finite() => Ok(only.value()),
                (Some(_), None) => Err(answer.bad_target(text, "is too large for a number")),
                (Some(_), Some(_)) => Err(answer.bad_target(text, "holds more than one number")),
                (None, _) => Err(answer.bad_target(&plain(value), "holds no number")),
            }
        }
        other => Err(answer.target_kind(other, "a number, text that holds one, or a list of these")),
    }
}

/// Four units in the last place.
const SLACK: f64 = 4.0 * f64::EPSILON;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::build::tests::{answer, value};

    fn score(tolerance: f64, relative: f64, take: Take, text: &str, expected: &str) -> Verdict {
        let scorer = Numeric::compile("n", tolerance, relative, take).unwrap();
        scorer.score(&answer(text, &value(expected))).unwrap()
    }

    #[test]
    fn the_number_must_be_within_a_tolerance() {
        for (tolerance, relative, text, expected, right) in [
            (0.0, 0.0, "The answer is 42.", "42", true),
            (0.0, 0.0, "42.0", r#""42""#, true),
            (0.0, 0.0, "42.0001", "42", false),
            (0.0, 0.0, "$1,234.50", r#""1234.5 USD""#, true),
            (0.0, 0.0, "50%", r#""50 %""#, true),
            (0.0, 0.0, "0.5", r#""50%""#, false),
            (0.0, 0.0, "-0", "0", true),
            (0.0, 0.0, "3", "[1, 2, 3]", true),
            (0.1, 0.0, "1.1", "1", true),
            (0.1, 0.0, "1.1000001", "1", false),
            (0.0, 0.01, "101", "100", true),
            (0.0, 0.01, "101.1", "100", false),
            (0.0, 0.01, "-101", "-100", true),
            (2.0, 0.01, "101.1", "100", true),
            (0.0, 0.5, "0.1", "0", false),
            (1e300, 1e300, "1e400", "1", false),
            (1.0, 1.0, "nan", "1", false),
            (1.0, 1.0, "infinity", "1", false),
            (5.0, 0.0, "", "1", false),
            (5.0, 0.0, "banana", "1", false),
        ] {
            let verdict = score(tolerance, relative, Take::Last, text, expected);
            assert_eq!(verdict.passed, right, "{text:?} {expected} {tolerance} {relative}: {}", verdict.explanation);
            assert_eq!(verdict.value > 0.0, right);
        }
    }

    #[test]
    fn the_first_or_the_last_number_counts() {
        assert!(score(0.0, 0.0, Take::First, "1 then 2", "1").passed);
        assert!(score(0.0, 0.0, Take::Last, "1 then 2", "2").passed);
        assert!(!score(0.0, 0.0, Take::Last, "1 then 2", "1").passed);
    }

    #[test]
    fn the_explanation_names_both_numbers_and_the_tolerance() {
        assert_eq!(score(0.0, 0.0, Take::Last, "41", "42").explanation, "found 41, expected 42");
        assert_eq!(score(0.5, 0.1, Take::Last, "1e3", "42").explanation, "found 1000, expected 42 ± 0.5 or 0.1 of it");
        assert_eq!(score(0.0, 0.0, Take::Last, "9", "[1,2]").explanation, "found 9, expected 1 or one of 1 others");
    }

    #[test]
    fn a_target_without_exactly_one_number_is_an_error() {
        let scorer = Numeric::compile("n", 0.0, 0.0, Take::Last).unwrap();
        for expected in ["null", r#""""#, r#""yes""#, r#""1 or 2""#, "[]", "{}", "true", r#""1e999""#, r#"[1,"x"]"#] {
            assert!(scorer.score(&answer("1", &value(expected))).is_err(), "{expected}");
        }
    }

    #[test]
    fn a_tolerance_must_be_a_finite_number_of_at_least_0() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(Numeric::compile("n", bad, 0.0, Take::Last).is_err());
            assert!(Numeric::compile("n", 0.0, bad, Take::Last).is_err());
        }
    }
}
