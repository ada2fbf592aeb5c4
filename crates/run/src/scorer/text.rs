//! Targets, folding and excerpts: what several scorers do with text.

use std::borrow::Cow;

use proofmark_canon::Value;

use super::verdict::{Answer, ScoreError};

/// The texts that count as right: one, or any of a list.
pub(super) enum Targets<'a> {
    One(Cow<'a, str>),
    Many(&'a [Value]),
}

impl<'a> Targets<'a> {
    /// Reads the targets of an item: text, a number, a boolean, or a list of these.
    pub(super) fn of(answer: &Answer<'a>) -> Result<Self, ScoreError> {
        match answer.expected {
            Value::Null => Err(answer.no_target()),
            Value::Object(_) => Err(answer.target_kind(answer.expected, SCALARS)),
            Value::Array(items) if items.is_empty() => Err(answer.empty_target()),
            Value::Array(items) => match items.iter().find(|item| !is_scalar(item)) {
                Some(odd) => Err(answer.target_kind(odd, "a list of texts, numbers or booleans")),
                None => Ok(Self::Many(items)),
            },
            scalar => Ok(Self::One(plain(scalar))),
        }
    }

    /// Returns the first target that the test accepts.
    pub(super) fn find(&self, mut test: impl FnMut(&str) -> bool) -> Option<Cow<'_, str>> {
        match self {
            Self::One(text) => test(text).then(|| Cow::Borrowed(&**text)),
            Self::Many(items) => items.iter().map(plain).find(|text| test(text)),
        }
    }

    /// Says what was expected, in the words of an explanation.
    pub(super) fn describe(&self, out: &mut String) {
        match self {
            Self::One(text) => push_quoted(out, text),
            Self::Many([only]) => push_quoted(out, &plain(only)),
            Self::Many(items) => {
                out.push_str(&format!("one of {} such as ", items.len()));
                push_quoted(out, &plain(&items[0]));
            }
        }
    }
}

/// The text of a scalar as a person would type it.
pub(super) fn plain(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_plain_text()),
    }
}

pub(super) fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
}

/// Lower case by Unicode's full mapping (`İ` becomes `i̇`); `ß` and `SS` stay different.
pub(crate) fn lower(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        Cow::Borrowed(text)
    } else if text.is_ascii() {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Owned(text.to_lowercase())
    }
}

/// Trims the text and turns every run of white space to one space.
pub(super) fn fold_space(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Whether a character is punctuation: ASCII's, Latin-1's, the General Punctuation block without its
/// spaces, the CJK marks, and their full-width forms.
///
/// A fixed list, so that a newer Unicode table cannot change a score.
pub(crate) fn is_punctuation(char: char) -> bool {
    char.is_ascii_punctuation()
        || matches!(char,
            '¡' | '§' | '«' | '¶' | '·' | '»' | '¿'
            | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}'
            | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}'
            | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}')
}

/// Returns the text on one line, without control characters, cut to [`EXCERPT`] characters.
pub(super) fn excerpt(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(4 * EXCERPT));
    push_excerpt(&mut out, text, EXCERPT);
    out
}

/// Appends an excerpt in backticks.
pub(super) fn push_quoted(out: &mut String, text: &str) {
    out.push('`');
    push_excerpt(out, text, EXCERPT);
    out.push('`');
}

/// Appends at most `limit` characters of a text, on one line, without control characters.
pub(super) fn push_excerpt(out: &mut String, text: &str, limit: usize) {
    // Most texts are short and plain, and every sample passes here.
    if text.len() <= limit && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        out.push_str(text);
        return;
    }
    for (at, char) in text.chars().enumerate() {
        if at == limit {
            out.push('…');
            return;
        }
        out.push(match char {
            char if char.is_whitespace() => ' ',
            char if is_unsafe_to_show(char) => '\u{fffd}',
            char => char,
        });
    }
}

/// Control characters and the marks that turn the direction of what follows.
fn is_unsafe_to_show(char: char) -> bool {
    char.is_control() || matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// How many characters of an answer or a target an explanation shows.
pub(super) const EXCERPT: usize = 80;

const SCALARS: &str = "text, a number, a boolean or a list of these";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line_without_control_characters() {
        assert_eq!(excerpt("a\nb\tc\u{1b}[0m\u{202e}é"), "a b c\u{fffd}[0m\u{fffd}é");
        let long = excerpt(&"é".repeat(1000));
        assert_eq!(long.chars().count(), EXCERPT + 1);
        assert!(long.ends_with('…'));
        assert_eq!(excerpt(&"x".repeat(EXCERPT)), "x".repeat(EXCERPT));
    }

    #[test]
    fn lower_case_follows_unicode_and_borrows_when_it_can() {
        assert!(matches!(lower("plain 1"), Cow::Borrowed(_)));
        assert_eq!(lower("ÀB"), "àb");
        assert_eq!(lower("İ"), "i\u{307}");
    }
}
