//! `gaia`: GAIA's official quasi-exact match.

use std::borrow::Cow;

use proofmark_artefact::suite::gaia::final_answer;
use proofmark_canon::Value;

use super::python::{float, is_space};
use super::text::{is_scalar, plain, push_quoted};
use super::verdict::{Answer, ScoreError, Verdict};

/// Gives the verdict of GAIA's published scorer, quirks included, so that scores can be compared.
///
/// - It is given what follows the last `FINAL ANSWER:` of the text, as the benchmark's prompt asks for it, or all of a text
///   without one.
/// - A target that Python's `float()` reads is a number: the answer loses `$`, `%` and `,` and must be the same
///   number. What is no number counts as infinity, so a target of `inf` is met by any text.
/// - A target with a comma or semicolon is a list: both are split there and compared entry by entry, in order.
///   Number entries are compared as above, others without white space and in lower case, punctuation kept.
/// - Any other target is text: white space and ASCII punctuation are dropped and lower case is compared. A target
///   of nothing but punctuation is therefore met by an empty answer.
#[derive(Debug)]
pub(super) struct Gaia;

impl Gaia {
    pub(super) fn score(&self, answer: &Answer<'_>) -> Result<Verdict, ScoreError> {
        let target = match answer.expected {
            Value::Null => return Err(answer.no_target()),
            scalar if is_scalar(scalar) => plain(scalar),
            other => return Err(answer.target_kind(other, "text, with commas for a list")),
        };
        let text = final_answer(answer.text);
        let (branch, right) = judge(text, &target);
        let mut why = String::with_capacity(64);
        why.push_str(branch.lead());
        why.push_str(if right { " match: found " } else { " mismatch: found " });
        push_quoted(&mut why, text.trim());
        why.push_str(", expected ");
        push_quoted(&mut why, &target);
        Ok(if right { Verdict::pass(why) } else { Verdict::fail(why) })
    }
}

/// How the target is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Branch {
    Number,
    List,
    Text,
}

impl Branch {
    fn lead(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::List => "list",
            Self::Text => "text",
        }
    }
}

fn judge(answer: &str, target: &str) -> (Branch, bool) {
    if let Some(number) = float(target) {
        (Branch::Number, is_number(answer, number))
    } else if target.contains([',', ';']) {
        let mut answers = answer.split([',', ';']);
        let mut targets = target.split([',', ';']);
        let right = loop {
            match (answers.next(), targets.next()) {
                (None, None) => break true,
                (Some(answer), Some(target)) if is_entry(answer, target) => {}
                _ => break false,
            }
        };
        (Branch::List, right)
    } else {
        let bare = |text| fold(text).replace(|char: char| char.is_ascii_punctuation(), "");
        (Branch::Text, bare(answer) == bare(target))
    }
}

fn is_entry(answer: &str, target: &str) -> bool {
    match float(target) {
        Some(number) => is_number(answer, number),
        None => fold(answer) == fold(target),
    }
}

#[expect(clippy::float_cmp, reason = "the official scorer compares doubles for equality")]
fn is_number(answer: &str, target: f64) -> bool {
    let answer = if answer.contains(['$', '%', ',']) {
        Cow::Owned(answer.replace(['$', '%', ','], ""))
    } else {
        Cow::Borrowed(answer)
    };
    float(&answer).unwrap_or(f64::INFINITY) == target
}

/// Lower case without white space. The white space goes first: what ends a word decides how a sigma is lowered.
fn fold(text: &str) -> String {
    let bare: String = text.chars().filter(|char| !is_space(*char)).collect();
    bare.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::build::tests::{answer, value};

    #[test]
    fn every_official_vector_is_met() {
        let file: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/data/gaia-scorer-vectors.json")).unwrap();
        let vectors = file["vectors"].as_array().unwrap();
        assert_eq!(vectors.len(), 54);
        for vector in vectors {
            let text = vector["model_answer"].as_str().unwrap();
            let expected = Value::from(vector["ground_truth"].as_str().unwrap());
            let branch = match vector["branch"].as_str().unwrap() {
                "number" => Branch::Number,
                "list" => Branch::List,
                _ => Branch::Text,
            };
            assert_eq!(judge(text, expected.as_str().unwrap()).0, branch, "{vector}");
            let verdict = Gaia.score(&answer(text, &expected)).unwrap();
            assert_eq!(verdict.passed, vector["score"].as_bool().unwrap(), "{vector}: {}", verdict.explanation);
        }
        assert!(file["punctuation"].as_str().unwrap().chars().all(|char| char.is_ascii_punctuation()));
        assert_eq!((0..128u8).filter(u8::is_ascii_punctuation).count(), file["punctuation"].as_str().unwrap().len());
    }

    #[test]
    fn what_follows_the_last_marker_is_the_answer() {
        let score = |text: &str| Gaia.score(&answer(text, &value("17"))).unwrap();
        assert!(score("2 * 8 is 16, and 1.\nFINAL ANSWER: 17").passed);
        assert!(score("FINAL ANSWER: 16\nno:\nFINAL ANSWER: 17\nas I said").passed);
        let wrong = score("17 comes to mind\nFINAL ANSWER: 71");
        assert!(!wrong.passed && wrong.explanation == "number mismatch: found `71`, expected `17`", "{wrong:?}");
    }

    #[test]
    fn a_target_is_text_or_a_number() {
        assert!(Gaia.score(&answer("17%", &value("17"))).unwrap().passed);
        for expected in ["null", "[]", "{}", r#"["a"]"#] {
            assert!(Gaia.score(&answer("a", &value(expected))).is_err(), "{expected}");
        }
    }
}
