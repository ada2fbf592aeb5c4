//! Whether an answer is the target, so plainly that no judge is needed.

use std::borrow::Cow;

use icu_normalizer::ComposingNormalizerBorrowed;
use proofmark_artefact::record::Stage;
use proofmark_canon::Value;

use crate::scorer::{is_punctuation, lower};

/// The stage at which an answer turns out to be the target, or any one of a list of targets.
///
/// - `exact`: character by character, but for white space at the ends, as the scorer `exact` has it.
/// - `normalised`: the same after NFKC, in lower case, with white space folded and without punctuation that means nothing.
///
/// What is not the same here goes to a judge, so doubt costs a question and nothing else, while a slip would be a pass
/// that nobody looked at. Hence punctuation goes only where it closes or separates words or is wrapped around the whole
/// text: `C++` is not `C#`, `1,7` not `17`, `-1` not `1`, `5!` not `5`, `10²` not `102`.
pub(super) fn same(answer: &str, expected: &Value) -> Option<Stage> {
    let targets: Vec<Cow<'_, str>> = match expected {
        Value::Array(items) if items.iter().all(is_scalar) => items.iter().map(plain).collect(),
        scalar if is_scalar(scalar) => vec![plain(scalar)],
        _ => return None,
    };
    let answer = answer.trim();
    if answer.is_empty() {
        return None;
    }
    if targets.iter().any(|target| target.trim() == answer) {
        return Some(Stage::Exact);
    }
    // What is far longer than every target can be none of them: folding a novel would be for nothing.
    let longest = targets.iter().map(|target| target.len()).max().unwrap_or(0);
    if answer.len() > 8 * longest + 64 {
        return None;
    }
    let folded = fold(answer);
    let is_same = |target: &Cow<'_, str>| has_word(&folded) && fold(target) == folded;
    targets.iter().any(is_same).then_some(Stage::Normalised)
}

fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
}

fn plain(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_plain_text()),
    }
}

fn has_word(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

fn fold(text: &str) -> String {
    let mut raised = String::with_capacity(text.len());
    for c in text.chars() {
        // A superscript is an exponent or a footnote; its compatibility form would be a digit among others.
        if matches!(c, '²' | '³' | '¹' | '⁰'..='ⁿ') {
            raised.push('^');
        }
        raised.push(c);
    }
    let composed = ComposingNormalizerBorrowed::new_nfkc().normalize(&raised);
    let lowered = lower(unwrapped(composed.trim()));
    let chars: Vec<char> = lowered.chars().map(alike).collect();
    let is_last = last_marks(&chars);
    let mut out = String::with_capacity(lowered.len());
    let mut space = false;
    for at in 0..chars.len() {
        if chars[at].is_whitespace() {
            space = true;
        } else if !(is_last[at] && is_idle(&chars, at)) {
            if space && !out.is_empty() {
                out.push(' ');
            }
            space = false;
            out.push(chars[at]);
        }
    }
    out
}

/// Which characters are marks that nothing but marks follows up to the end of the word.
fn last_marks(chars: &[char]) -> Vec<bool> {
    let mut is_last = vec![false; chars.len()];
    let mut ends = true;
    for at in (0..chars.len()).rev() {
        is_last[at] = ends && is_sentence_mark(chars[at]);
        ends = chars[at].is_whitespace() || is_last[at];
    }
    is_last
}

/// Whether a mark at the end of a word only closes it. After a digit or a single letter `!` is a factorial.
fn is_idle(chars: &[char], at: usize) -> bool {
    let follows_word = || at >= 2 && chars[at - 2..at].iter().all(|c| c.is_alphabetic() || is_sentence_mark(*c));
    !matches!(chars[at], '!' | '?') || follows_word()
}

fn is_sentence_mark(c: char) -> bool {
    matches!(c, '.' | ',' | ';' | ':' | '…' | '。' | '、' | '!' | '?')
}

/// The text without quotes and emphasis around all of it.
fn unwrapped(text: &str) -> &str {
    let mut text = text;
    for _ in 0..MAX_WRAPS {
        // `"Paris".` is wrapped as `"Paris."` is.
        let bare = text.trim_end_matches(['.', ',', ';', ':']);
        let (Some(first), Some(last)) = (bare.chars().next(), bare.chars().next_back()) else { return text };
        let is_pair = matches!(
            (first, last),
            ('"', '"')
                | ('\'', '\'')
                | ('`', '`')
                | ('*', '*')
                | ('_', '_')
                | ('“', '”')
                | ('„', '“')
                | ('«', '»')
                | ('‘', '’')
                | ('「', '」')
        );
        let inside = bare.strip_prefix(first).and_then(|bare| bare.strip_suffix(last)).map(str::trim);
        match inside {
            // What is nothing but marks inside is not a quoted text.
            Some(inside) if is_pair && inside.contains(|c: char| !is_punctuation(c)) => text = inside,
            _ => return text,
        }
    }
    text
}

/// `**"Paris"**` has three; a thousand would be read a thousand times.
const MAX_WRAPS: usize = 8;

/// Forms of one sign that only typists tell apart.
fn alike(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '−' => '-',
        '‘' | '’' => '\'',
        '“' | '”' | '„' => '"',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_canon::json::parse;
    use proptest::prelude::*;

    fn stage(answer: &str, expected: &str) -> Option<Stage> {
        same(answer, &parse(expected.as_bytes()).unwrap())
    }

    #[test]
    fn the_target_itself_is_exact() {
        for (answer, expected) in [
            ("Paris", r#""Paris""#),
            (" Paris\n", r#""Paris ""#),
            ("3", "3"),
            ("true", "true"),
            ("b", r#"["a","b"]"#),
            ("!!!", r#""!!!""#),
        ] {
            assert_eq!(stage(answer, expected), Some(Stage::Exact), "{answer}");
        }
    }

    #[test]
    fn case_space_forms_and_idle_punctuation_do_not_count() {
        for (answer, expected) in [
            ("PARIS.", r#""Paris""#),
            ("“Paris”", r#""Paris""#),
            ("**Paris**.", r#""Paris""#),
            ("`Paris.`", r#""Paris""#),
            ("Paris!", r#""Paris""#),
            ("St.  Petersburg", r#""st petersburg""#),
            ("Paris, France", r#""paris france""#),
            ("cafe\u{301}", r#""café""#),
            ("Ｐａｒｉｓ", r#""Paris""#),
            ("N’Djamena", r#""n'djamena""#),
            ("3.5.", "3.5"),
            ("\u{2212}1", "-1"),
            ("10²", r#""10^2""#),
            ("True", "true"),
            ("B.", r#"["a","b"]"#),
        ] {
            assert_eq!(stage(answer, expected), Some(Stage::Normalised), "{answer} {expected}");
        }
    }

    #[test]
    fn what_could_mean_something_else_goes_to_a_judge() {
        for (answer, expected) in [
            ("C#", r#""C++""#),
            ("C", r#""C++""#),
            ("1,7", "17"),
            ("1.7", "17"),
            ("$17", "17"),
            ("17%", "17"),
            ("1", "-1"),
            ("5!", "5"),
            ("n!", r#""n""#),
            ("10²", "102"),
            ("½", r#""12""#),
            ("(1, 2)", r#""[1, 2]""#),
            ("re-sign", r#""resign""#),
            ("34cup", r#""3/4 cup""#),
            ("Par\u{200b}is", r#""Paris""#),
            ("Paris or London", r#""Paris""#),
            ("...", r#""!!!""#),
            ("inf", r#""Infinity""#),
            ("12:30", r#""1230""#),
            ("", r#""""#),
            ("x", "null"),
            ("x", "[]"),
            ("x", r#"{"x":1}"#),
            ("x", r#"[["x"]]"#),
        ] {
            assert_eq!(stage(answer, expected), None, "{answer} {expected}");
        }
    }

    proptest! {
        #[test]
        fn folding_never_panics_and_changes_no_letter_or_digit(text in any::<String>()) {
            let letters = |text: &str| -> String { text.chars().filter(|c| c.is_ascii_alphanumeric()).collect() };
            if text.is_ascii() {
                prop_assert_eq!(letters(&fold(&text)), letters(&text.to_ascii_lowercase()));
            } else {
                fold(&text);
            }
        }
    }
}
