//! `set`: the answer as a set of entries, measured by F1.

use std::collections::BTreeSet;

use proofmark_canon::Value;
use proofmark_canon::json::{append_number, parse};

use super::build::ScorerBuildError;
use super::text::{excerpt, fold_space, is_scalar, lower, plain, push_quoted};
use super::verdict::{Answer, ScoreError, Verdict};

/// Splits answer and target to sets of entries; the value is F1 = 2·|both| / (|answer| + |target|).
///
/// - Entries are parted by `separator`, or by default by commas, semicolons and line ends. By default an
///   answer that is a JSON list of scalars is read as one.
/// - The target is a list of scalars, whose texts are not split, or a text that is split like the answer.
/// - An entry loses the white space around it, a list marker (`- `, `* `, `• `, `1. `, `1) `), wrapping quotes,
///   backticks and asterisks, and a final full stop; runs of white space become one space. `ignore_case` compares
///   Unicode lower case. Empty entries do not count, and neither does a second entry of the same text.
/// - The answer passes from `threshold` on, and never with a value of 0. A target without entries is an error.
#[derive(Debug)]
pub(super) struct Set {
    separator: Option<String>,
    ignore_case: bool,
    threshold: f64,
}

impl Set {
    pub(super) fn compile(
        name: &str,
        separator: Option<&str>,
        ignore_case: bool,
        threshold: f64,
    ) -> Result<Self, ScorerBuildError> {
        let refuse =
            |option, found, expected| ScorerBuildError::Option { scorer: excerpt(name), option, found, expected };
        if separator == Some("") {
            return Err(refuse("separator", String::new(), "at least one character"));
        }
        if !(0.0..=1.0).contains(&threshold) {
            return Err(refuse("threshold", threshold.to_string(), "a number from 0 to 1"));
        }
        Ok(Self { separator: separator.map(str::to_owned), ignore_case, threshold })
    }

    pub(super) fn score(&self, answer: &Answer<'_>) -> Result<Verdict, ScoreError> {
        let target = self.target(answer)?;
        let found = self.found(answer.text);
        let both = target.intersection(&found).count();
        // Whole numbers divided once: the same double everywhere.
        let value = (2 * both) as f64 / (found.len() + target.len()) as f64;
        let mut why = format!("{both} of {} expected entries, {} others; F1 ", target.len(), found.len() - both);
        let mut number = Vec::new();
        append_number(value, &mut number);
        why.push_str(&String::from_utf8_lossy(&number));
        for (lead, entry) in
            [("; missing ", target.difference(&found).next()), ("; unexpected ", found.difference(&target).next())]
        {
            if let Some(entry) = entry {
                why.push_str(lead);
                push_quoted(&mut why, entry);
            }
        }
        Ok(Verdict { value, passed: both > 0 && value >= self.threshold, explanation: why })
    }

    fn target(&self, answer: &Answer<'_>) -> Result<BTreeSet<String>, ScoreError> {
        let set: BTreeSet<_> = match answer.expected {
            Value::Null => return Err(answer.no_target()),
            Value::Array(items) => match items.iter().find(|item| !is_scalar(item)) {
                Some(odd) => return Err(answer.target_kind(odd, "a list of texts, numbers or booleans")),
                None => items.iter().filter_map(|item| self.entry(&plain(item))).collect(),
            },
            Value::String(text) => self.split(text),
            scalar if is_scalar(scalar) => self.entry(&plain(scalar)).into_iter().collect(),
            other => return Err(answer.target_kind(other, "a list, or text with separators")),
        };
        if set.is_empty() { Err(answer.empty_target()) } else { Ok(set) }
    }

    fn found(&self, text: &str) -> BTreeSet<String> {
        if self.separator.is_none()
            && text.trim_start().starts_with('[')
            && let Ok(Value::Array(items)) = parse(text.as_bytes())
            && items.iter().all(is_scalar)
        {
            return items.iter().filter_map(|item| self.entry(&plain(item))).collect();
        }
        self.split(text)
    }

    fn split(&self, text: &str) -> BTreeSet<String> {
        match &self.separator {
            Some(separator) => text.split(separator.as_str()).filter_map(|entry| self.entry(entry)).collect(),
            None => text.split([',', ';', '\n', '\r']).filter_map(|entry| self.entry(entry)).collect(),
        }
    }

    fn entry(&self, text: &str) -> Option<String> {
        let folded = fold_space(text);
        let mut entry = without_marker(&folded);
        for _ in 0..MAX_WRAPS {
            let unwrapped = entry.trim_matches(WRAPS).trim();
            let unwrapped = unwrapped.strip_suffix('.').unwrap_or(unwrapped).trim();
            // What is nothing but wrapping is an entry of its own: `*` in a list of operators.
            if unwrapped.is_empty() || unwrapped.len() == entry.len() {
                break;
            }
            entry = unwrapped;
        }
        let entry = if self.ignore_case { lower(entry).into_owned() } else { entry.to_owned() };
        (!entry.is_empty()).then_some(entry)
    }
}

/// Strips one list marker that white space follows.
fn without_marker(entry: &str) -> &str {
    let Some((marker, rest)) = entry.split_once(' ') else { return entry };
    let is_bullet = matches!(marker, "-" | "*" | "•" | "–" | "+");
    let number = marker.strip_suffix(['.', ')']);
    let is_number =
        number.is_some_and(|number| (1..=3).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit()));
    if is_bullet || is_number { rest } else { entry }
}

const WRAPS: [char; 8] = ['"', '\'', '`', '*', '“', '”', '‘', '’'];
const MAX_WRAPS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::build::tests::{answer, value};

    fn score(separator: Option<&str>, threshold: f64, text: &str, expected: &str) -> Verdict {
        let scorer = Set::compile("s", separator, true, threshold).unwrap();
        scorer.score(&answer(text, &value(expected))).unwrap()
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "F1 is one division of whole numbers")]
    fn the_value_is_f1_over_normalised_entries() {
        for (text, expected, f1) in [
            ("red, blue", r#"["blue","Red"]"#, 1.0),
            ("red; blue\nred", r#""red, blue""#, 1.0),
            ("- **Red**\n- \"blue\".\n", r#"["red","blue"]"#, 1.0),
            ("1. red\n2) blue", r#"["red","blue"]"#, 1.0),
            (r#"["red", "blue"]"#, r#"["red","blue"]"#, 1.0),
            ("[1, 2]", "[1, 2]", 1.0),
            ("red", r#"["red","blue"]"#, 2.0 / 3.0),
            ("red, blue, green, pink", r#"["red","blue"]"#, 4.0 / 6.0),
            ("green", r#"["red","blue"]"#, 0.0),
            ("", r#"["red"]"#, 0.0),
            (", ;", r#"["red"]"#, 0.0),
            ("*, +", r#"["*", "+"]"#, 1.0),
            ("3", "3", 1.0),
            ("new  york", r#"["New York"]"#, 1.0),
            ("Paris, France", r#"["Paris, France"]"#, 0.0),
        ] {
            let verdict = score(None, 1.0, text, expected);
            assert_eq!(verdict.value, f1, "{text:?} {expected}: {}", verdict.explanation);
            assert_eq!(verdict.passed, f1 >= 1.0);
        }
    }

    #[test]
    fn the_threshold_decides_what_passes_and_0_never_does() {
        assert!(score(None, 0.8, "a, b", r#"["a","b","c"]"#).passed);
        assert!(!score(None, 0.81, "a, b", r#"["a","b","c"]"#).passed);
        assert!(!score(None, 0.0, "x", r#"["a"]"#).passed);
        assert!(score(Some("|"), 1.0, "a, b|c", r#""c|a, b""#).passed);
    }

    #[test]
    fn the_explanation_counts_and_names_what_differs() {
        assert_eq!(
            score(None, 1.0, "a, x", r#"["a","b"]"#).explanation,
            "1 of 2 expected entries, 1 others; F1 0.5; missing `b`; unexpected `x`"
        );
    }

    #[test]
    fn what_cannot_be_measured_is_an_error() {
        let scorer = Set::compile("s", None, false, 1.0).unwrap();
        for expected in ["null", "[]", r#""""#, r#"" , ""#, "{}", "[{}]"] {
            assert!(scorer.score(&answer("", &value(expected))).is_err(), "{expected}");
        }
        assert!(Set::compile("s", Some(""), false, 1.0).is_err());
        for bad in [-0.1, 1.1, f64::NAN] {
            assert!(Set::compile("s", None, false, bad).is_err());
        }
    }
}
