//! What is wrong with a document, where, and what to do.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use super::node::Span;
use super::suggest::suggest;
use crate::text::{self, escaped};

/// A document that cannot be accepted.
///
/// `Display` is the message alone; [`YamlError::render`] adds the place, the line and the hint.
/// Neither part holds a control character, whatever the document holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct YamlError {
    /// What is so, and what was expected.
    pub message: String,
    /// The way out.
    pub hint: Option<String>,
    /// Where. `None` only for a document without a place to point at.
    pub span: Option<Span>,
}

impl YamlError {
    pub fn new(message: impl AsRef<str>) -> Self {
        Self { message: escaped(message.as_ref()), hint: None, span: None }
    }

    /// Sets the hint.
    pub fn with_hint(mut self, hint: impl AsRef<str>) -> Self {
        self.hint = Some(escaped(hint.as_ref()));
        self
    }

    /// Sets the place, unless a place further inside is known.
    pub fn at(mut self, span: Span) -> Self {
        self.span.get_or_insert(span);
        self
    }

    /// A word that is none of those it could be, with the one that was meant or all of them.
    pub(super) fn unknown(what: &str, word: &str, known: &[&str]) -> Self {
        let error = Self::new(format!("unknown {what} `{}`", excerpt(word)));
        match suggest(word, known.iter().copied()) {
            Some(meant) => error.with_hint(format!("did you mean `{meant}`?")),
            None if known.is_empty() => error.with_hint(format!("no {what} is known here")),
            None => error.with_hint(format!("expected {}", one_of(known))),
        }
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for YamlError {}

/// Errors of the visitors, which know what is wrong and not where.
impl de::Error for YamlError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("expected {expected}, found {}", in_words(&found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::new(format!("expected {expected}, found {length} items"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::unknown("value", variant, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::unknown("key", field, expected)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("missing key `{field}`")).with_hint(format!("add `{field}:` to this mapping"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("the key `{field}` stands twice"))
    }
}

/// Lists the words a person can choose from.
pub(super) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first, second] => format!("{first} or {second}"),
        _ => format!("one of {}", quoted.join(", ")),
    }
}

/// The start of a text that may be very long.
pub(super) fn excerpt(text: &str) -> String {
    text::excerpt(text, 60)
}

fn in_words(found: &Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(bool) => format!("the boolean {bool}"),
        Unexpected::Unsigned(number) => format!("the number {number}"),
        Unexpected::Signed(number) => format!("the number {number}"),
        Unexpected::Float(number) => format!("the number {number}"),
        Unexpected::Str(text) => format!("the string \"{}\"", excerpt(text)),
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a mapping".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_never_carries_what_a_terminal_obeys() {
        let error = YamlError::unknown("key", "\u{1b}[31mred\n\u{202e}", &["red"]);
        assert_eq!(error.message, "unknown key `\\u{1b}[31mred\\n\\u{202e}`");
        let long = YamlError::unknown("key", &"k".repeat(1_000_000), &[]);
        assert!(long.message.len() < 100);
    }

    #[test]
    fn the_innermost_place_wins() {
        let (inner, outer) = (Span { line: 3, column: 5 }, Span { line: 1, column: 1 });
        assert_eq!(YamlError::new("x").at(inner).at(outer).span, Some(inner));
    }
}
