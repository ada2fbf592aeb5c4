//! `exact`: the answer is the target.

use std::borrow::Cow;

use super::text::{Targets, is_punctuation, lower, push_quoted};
use super::verdict::{Answer, ScoreError, Verdict};

/// Compares the whole answer with the target, character by character.
///
/// - The target is text, a number or a boolean (`3`, `true` as typed), or a list: any of it will do.
/// - `trim` (default) strips Unicode white space from both ends of both.
/// - `ignore_case` compares Unicode lower case: `İ` is `i̇`, but `ß` is not `SS`.
/// - `ignore_punctuation` drops punctuation and folds runs of white space. A point between digits and a minus
///   before a number stay, so that `3.5` is not `35` and `-1` is not `1`; a target that is nothing
///   but punctuation is compared as it is.
/// - Nothing is normalised beyond that: `é` in one code point is not `é` in two.
/// - An empty answer is right only where the target is empty.
#[derive(Debug)]
pub(super) struct Exact {
    pub(super) ignore_case: bool,
    pub(super) trim: bool,
    pub(super) ignore_punctuation: bool,
}

impl Exact {
    pub(super) fn score(&self, answer: &Answer<'_>) -> Result<Verdict, ScoreError> {
        let targets = Targets::of(answer)?;
        let found = Forms::of(self, answer.text);
        let right = targets.find(|target| found.same(&Forms::of(self, target)));
        let mut why = String::with_capacity(64);
        Ok(if right.is_some() {
            why.push_str("the answer is ");
            push_quoted(&mut why, self.trimmed(answer.text));
            Verdict::pass(why)
        } else {
            why.push_str("expected ");
            targets.describe(&mut why);
            why.push_str(", found ");
            push_quoted(&mut why, self.trimmed(answer.text));
            Verdict::fail(why)
        })
    }

    fn trimmed<'t>(&self, text: &'t str) -> &'t str {
        if self.trim { text.trim() } else { text }
    }
}

/// A text as it is compared.
struct Forms<'t> {
    /// Trimmed and lowered as the options say.
    whole: Cow<'t, str>,
    /// Without punctuation, when the option is on.
    bare: Option<String>,
}

impl<'t> Forms<'t> {
    fn of(options: &Exact, text: &'t str) -> Self {
        let text = options.trimmed(text);
        let whole = if options.ignore_case { lower(text) } else { Cow::Borrowed(text) };
        let bare = options.ignore_punctuation.then(|| drop_punctuation(&whole));
        Self { whole, bare }
    }

    fn same(&self, target: &Forms<'_>) -> bool {
        match (&self.bare, &target.bare) {
            (Some(found), Some(target)) if !target.is_empty() => found == target,
            _ => self.whole == target.whole,
        }
    }
}

/// Drops punctuation and folds white space; keeps a point between digits and a minus before a number.
fn drop_punctuation(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut space = false;
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let digit_follows = chars.peek().is_some_and(char::is_ascii_digit);
        let kept = match char {
            '.' => digit_follows && before.is_some_and(|b: char| b.is_ascii_digit()),
            '-' | '\u{2212}' => digit_follows && !before.is_some_and(char::is_alphanumeric),
            char => !is_punctuation(char),
        };
        if char.is_whitespace() {
            space = true;
        } else if kept {
            if space && !out.is_empty() {
                out.push(' ');
            }
            space = false;
            out.push(if char == '\u{2212}' { '-' } else { char });
        }
        before = Some(char);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::build::tests::{answer, value};

    const PLAIN: Exact = Exact { ignore_case: false, trim: true, ignore_punctuation: false };
    const LOOSE: Exact = Exact { ignore_case: true, trim: true, ignore_punctuation: true };

    fn passes(scorer: &Exact, text: &str, expected: &str) -> bool {
        let verdict = scorer.score(&answer(text, &value(expected))).unwrap();
        assert_eq!(verdict.passed, verdict.value > 0.0);
        verdict.passed
    }

    #[test]
    fn the_whole_answer_must_be_the_target() {
        for (text, expected, right) in [
            ("Paris", r#""Paris""#, true),
            (" Paris\n", r#""Paris ""#, true),
            ("paris", r#""Paris""#, false),
            ("Paris!", r#""Paris""#, false),
            ("3", "3", true),
            ("3.0", "3", false),
            ("true", "true", true),
            ("b", r#"["a","b"]"#, true),
            ("2", r#"["a",2]"#, true),
            ("c", r#"["a","b"]"#, false),
            ("", r#""""#, true),
            ("", r#""a""#, false),
            ("cafe\u{301}", r#""café""#, false),
        ] {
            assert_eq!(passes(&PLAIN, text, expected), right, "{text:?} {expected}");
        }
        assert!(!passes(&Exact { trim: false, ..PLAIN }, " Paris", r#""Paris""#));
    }

    #[test]
    fn case_and_punctuation_can_be_ignored() {
        for (text, expected, right) in [
            ("PARIS.", r#""Paris""#, true),
            ("  “St.  Petersburg” ", r#""st petersburg""#, true),
            ("ÉCOLE", r#""école""#, true),
            ("3.5", r#""35""#, false),
            ("-1", r#""1""#, false),
            ("\u{2212}1", r#""-1""#, true),
            ("(3.5)", r#""3.5""#, true),
            ("1,234", r#""1234""#, true),
            ("well-known", r#""wellknown""#, true),
            ("-", r#""+""#, false),
            ("+", r#""+""#, true),
            ("", r#""!!!""#, false),
            ("!!!", r#""""#, false),
            ("...", r#""a""#, false),
        ] {
            assert_eq!(passes(&LOOSE, text, expected), right, "{text:?} {expected}");
        }
    }

    #[test]
    fn the_explanation_shows_both_sides() {
        let why = |text, expected: &str| PLAIN.score(&answer(text, &value(expected))).unwrap().explanation;
        assert_eq!(why("Paris\n", r#""Paris""#), "the answer is `Paris`");
        assert_eq!(why("banana", r#""Paris""#), "expected `Paris`, found `banana`");
        assert_eq!(why("banana", r#"["a","b"]"#), "expected one of 2 such as `a`, found `banana`");
    }

    #[test]
    fn a_target_that_cannot_be_compared_is_an_error() {
        for expected in ["null", "[]", "{}", r#"["a",null]"#, "[[]]"] {
            assert!(PLAIN.score(&answer("", &value(expected))).is_err(), "{expected}");
        }
    }
}
