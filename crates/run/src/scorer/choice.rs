//! `choice`: the answer names the right option.

use std::borrow::Cow;

use proofmark_canon::Value;

use super::statement::{self, Stated, letter_index};
use super::text::{excerpt, fold_space, is_scalar, lower, plain};
use super::verdict::{Answer, ScoreError, Verdict};

/// Reads which option the answer names and compares it with the target.
///
/// - The target is a letter (`A` is the first option), a 0-based index, or an option's text. A text is read as
///   an option's text first, then as a letter, then as an index. Where a letter and an option's text would
///   name two different options, the item is an error: no answer to it could be judged.
/// - The options come from the item's `choices`; they may be missing where the target is a letter.
/// - The answer is the text of an option and nothing else, or it names a letter: how is said at [`statement::read`].
/// - An answer that names several options, or none, is wrong.
#[derive(Debug)]
pub(super) struct Choice;

impl Choice {
    pub(super) fn score(&self, answer: &Answer<'_>) -> Result<Verdict, ScoreError> {
        let options = options(answer)?;
        let target = target(answer, &options)?;
        if answer.text.len() > MAX_ANSWER {
            return Ok(Verdict::fail(format!("the answer is longer than {MAX_ANSWER} bytes")));
        }
        let chosen = match statement::read(answer.text, &options) {
            Stated::Option(chosen) => chosen,
            Stated::Several => {
                return Ok(Verdict::fail(format!(
                    "the answer names several options, expected {}",
                    label(target, &options)
                )));
            }
            Stated::Nothing => {
                return Ok(Verdict::fail(format!("the answer names no option, expected {}", label(target, &options))));
            }
        };
        // Two options of one text are one option.
        let right = chosen == target || options.get(chosen).is_some_and(|text| options.get(target) == Some(text));
        Ok(if right {
            Verdict::pass(format!("the answer names {}", label(chosen, &options)))
        } else if !options.is_empty() && chosen >= options.len() {
            let (letter, count) = (label(chosen, &options), options.len());
            Verdict::fail(format!(
                "the answer names {letter}, but there are {count} options, expected {}",
                label(target, &options)
            ))
        } else {
            Verdict::fail(format!("the answer names {}, expected {}", label(chosen, &options), label(target, &options)))
        })
    }
}

/// The texts of the item's options; empty where it has none.
fn options<'a>(answer: &Answer<'a>) -> Result<Vec<Cow<'a, str>>, ScoreError> {
    let choices = answer.choices.unwrap_or_default();
    if choices.iter().any(|choice| !is_scalar(choice)) {
        return Err(answer.bad_choices("are not all texts, numbers or booleans"));
    }
    let options: Vec<_> = choices.iter().map(plain).collect();
    // `x` may be the first of three options: no letter of theirs is X.
    let is_misplaced = |at: usize, letter: usize| letter != at && letter < options.len();
    let mut letters = options.iter().enumerate().filter_map(|(at, text)| Some((at, letter_index(text.trim())?)));
    if letters.any(|(at, letter)| is_misplaced(at, letter)) {
        return Err(answer.bad_choices("are letters in another order, so that a letter names two of them"));
    }
    Ok(options)
}

/// Which option is right.
fn target(answer: &Answer<'_>, options: &[Cow<'_, str>]) -> Result<usize, ScoreError> {
    let text = match answer.expected {
        Value::Null => return Err(answer.no_target()),
        Value::Number(_) if options.is_empty() => {
            return Err(answer.bad_choices("are missing, and the target is not a letter"));
        }
        number @ Value::Number(_) => {
            let index = number.as_u64().and_then(|index| usize::try_from(index).ok()).filter(|at| *at < options.len());
            let same = answer.choices.unwrap_or_default().iter().position(|choice| choice == number);
            return match (index, same) {
                (Some(index), Some(same)) if index != same => {
                    Err(answer.bad_target(&plain(number), "is the index of one option and the text of another"))
                }
                (Some(at), _) | (None, Some(at)) => Ok(at),
                (None, None) => Err(answer.bad_target(&plain(number), "is not the index of an option")),
            };
        }
        scalar if is_scalar(scalar) => plain(scalar),
        other => return Err(answer.target_kind(other, "a letter, an index or the text of an option")),
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(answer.empty_target());
    }
    if options.is_empty() {
        return letter_index(text).ok_or_else(|| answer.bad_choices("are missing, and the target is not a letter"));
    }
    let by_text = options.iter().position(|option| option.trim() == text).or_else(|| {
        let folded = fold(text);
        options.iter().position(|option| fold(option) == folded)
    });
    let by_letter = letter_index(text);
    let by_index = || text.parse::<usize>().ok();
    by_text
        .or(by_letter)
        .or_else(by_index)
        .filter(|at| *at < options.len())
        .ok_or_else(|| answer.bad_target(text, "is neither a letter, an index nor the text of an option"))
}

fn fold(text: &str) -> String {
    lower(&fold_space(text)).into_owned()
}

/// The letter of an option with its text.
fn label(at: usize, options: &[Cow<'_, str>]) -> String {
    let letter = u8::try_from(at).ok().filter(|at| *at < 26).map(|at| char::from(b'A' + at));
    match (letter, options.get(at)) {
        (Some(letter), Some(text)) => format!("{letter} `{}`", excerpt(text)),
        (Some(letter), None) => letter.to_string(),
        (None, Some(text)) => format!("`{}`", excerpt(text)),
        (None, None) => format!("option {at}"),
    }
}

const MAX_ANSWER: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::build::tests::{answer, value};

    fn score(text: &str, expected: &str, choices: &str) -> Result<Verdict, ScoreError> {
        let (expected, choices) = (value(expected), value(choices));
        Choice.score(&Answer { choices: choices.as_array(), ..answer(text, &expected) })
    }

    const CITIES: &str = r#"["Paris","London","Rome","New York"]"#;

    #[test]
    fn the_target_is_a_letter_an_index_or_a_text() {
        for expected in [r#""B""#, r#""b""#, "1", r#""1""#, r#""London""#, r#"" london ""#] {
            assert!(score("B", expected, CITIES).unwrap().passed, "{expected}");
            assert!(score("London.", expected, CITIES).unwrap().passed, "{expected}");
            assert!(!score("A", expected, CITIES).unwrap().passed, "{expected}");
            assert!(!score("banana", expected, CITIES).unwrap().passed, "{expected}");
            assert!(!score("", expected, CITIES).unwrap().passed, "{expected}");
        }
        assert!(score("B", r#""B""#, "null").unwrap().passed);
        assert!(score("2", "1", r#"["1","2","3"]"#).unwrap().passed);
        assert!(score("5", "5", "[3,4,5,6]").unwrap().passed);
        assert!(score("false", "false", "[true,false]").unwrap().passed);
    }

    #[test]
    fn an_item_that_cannot_be_judged_is_an_error() {
        for (expected, choices) in [
            ("null", CITIES),
            (r#""""#, CITIES),
            (r#""E""#, CITIES),
            ("4", CITIES),
            ("-1", CITIES),
            ("1.5", CITIES),
            (r#""Berlin""#, CITIES),
            ("[0]", CITIES),
            ("1", "null"),
            (r#""Paris""#, "null"),
            ("2", "[1,2,3,4]"),
            (r#""A""#, r#"["B","A"]"#),
            ("0", r#"[["Paris"]]"#),
        ] {
            assert!(score("A", expected, choices).is_err(), "{expected} {choices}");
        }
    }

    #[test]
    fn the_explanation_names_both_options() {
        let why = |text| score(text, r#""B""#, CITIES).unwrap().explanation;
        assert_eq!(why("B"), "the answer names B `London`");
        assert_eq!(why("C"), "the answer names C `Rome`, expected B `London`");
        assert_eq!(why("E"), "the answer names E, but there are 4 options, expected B `London`");
        assert_eq!(why("B or C"), "the answer names several options, expected B `London`");
        assert_eq!(why("Berlin"), "the answer names no option, expected B `London`");
    }

    #[test]
    fn two_options_of_one_text_are_one_option() {
        assert!(score("C", "0", r#"["x","y","x"]"#).unwrap().passed);
        assert!(!score("B", "0", r#"["x","y","x"]"#).unwrap().passed);
        assert!(score("y", "1", r#"["x","y","x"]"#).unwrap().passed);
        assert!(score("The answer is y.", "1", r#"["x","y","x"]"#).unwrap().passed);
    }
}
