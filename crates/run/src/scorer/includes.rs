//! `includes`: the answer contains the target.

use super::text::{Targets, lower, push_quoted};
use super::verdict::{Answer, ScoreError, Verdict};

/// Looks for the target anywhere in the answer, inside words too: `3` is in `13`.
///
/// - The target is text, a number or a boolean, or a list of which every entry must be found.
/// - `ignore_case` compares Unicode lower case.
/// - Every answer contains the empty text, so a target without a visible character is an error.
#[derive(Debug)]
pub(super) struct Includes {
    pub(super) ignore_case: bool,
}

impl Includes {
    pub(super) fn score(&self, answer: &Answer<'_>) -> Result<Verdict, ScoreError> {
        let targets = Targets::of(answer)?;
        if targets.find(|target| target.trim().is_empty()).is_some() {
            return Err(answer.empty_target());
        }
        let missing = if self.ignore_case {
            let text = lower(answer.text);
            targets.find(|target| !text.contains(&*lower(target)))
        } else {
            targets.find(|target| !answer.text.contains(target))
        };
        let mut why = String::with_capacity(64);
        Ok(match missing {
            Some(missing) => {
                why.push_str("the answer does not contain ");
                push_quoted(&mut why, &missing);
                Verdict::fail(why)
            }
            None => {
                match &targets {
                    Targets::Many(items) if items.len() > 1 => {
                        why.push_str(&format!("the answer contains all {} targets", items.len()));
                    }
                    targets => {
                        why.push_str("the answer contains ");
                        targets.describe(&mut why);
                    }
                }
                Verdict::pass(why)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::build::tests::{answer, value};

    #[test]
    fn every_target_must_be_in_the_answer() {
        for (text, expected, ignore_case, right) in [
            ("It is Paris.", r#""Paris""#, false, true),
            ("It is paris.", r#""Paris""#, false, false),
            ("It is paris.", r#""Paris""#, true, true),
            ("red and blue", r#"["red","blue"]"#, false, true),
            ("red", r#"["red","blue"]"#, false, false),
            ("it is 42", "42", false, true),
            ("ΣΊΣΥΦΟΣ", r#""σίσυφος""#, true, true),
            ("", r#""a""#, false, false),
        ] {
            let verdict = Includes { ignore_case }.score(&answer(text, &value(expected))).unwrap();
            assert_eq!((verdict.passed, verdict.value > 0.0), (right, right), "{text:?} {expected}");
        }
    }

    #[test]
    fn an_empty_target_is_an_error_and_not_a_pass() {
        for expected in ["null", r#""""#, r#"" \n""#, "[]", r#"["a",""]"#, "{}"] {
            assert!(Includes { ignore_case: true }.score(&answer("a", &value(expected))).is_err(), "{expected}");
        }
    }
}
