//! The event parser's errors in the words of someone who writes a suite.

use granit_parser::{ErrorKind, ScanError};

use super::error::{YamlError, excerpt};
use super::load::{MAX_DEPTH, span_of};
use super::node::Span;
use super::render::lines_of;

/// Turns an error of the parser to one that says what to do.
pub(super) fn from_scan_error(error: &ScanError, source: &str) -> YamlError {
    let rest = error.marker().byte_offset().and_then(|at| source.get(at..)).unwrap_or_default();
    let (message, hint) = in_words(error.kind(), rest);
    let here = span_of(error.marker());
    let described = YamlError::new(message).at(tab_near(error.kind(), here, source).unwrap_or(here));
    if hint.is_empty() { described } else { described.with_hint(hint) }
}

pub(super) fn too_deep() -> YamlError {
    YamlError::new(format!("lists and mappings are nested deeper than {MAX_DEPTH}")).with_hint("nest less")
}

/// The tab that indents a line; the parser names the value it stands in, or what comes after it.
fn tab_near(kind: &ErrorKind, here: Span, source: &str) -> Option<Span> {
    if !matches!(
        kind,
        ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabNotAllowed
            | ErrorKind::TabInPlainScalar
            | ErrorKind::TabAtBlockScalarStart
    ) {
        return None;
    }
    let lines = (here.line..).zip(lines_of(source).skip(here.line as usize - 1));
    lines.take(LINES_SEARCHED).find_map(|(line, text)| {
        let tab = text.chars().position(|character| character != ' ')?;
        text[tab..].starts_with('\t').then(|| Span { line, column: u32::try_from(tab + 1).unwrap_or(u32::MAX) })
    })
}

const LINES_SEARCHED: usize = 100;

fn in_words(kind: &ErrorKind, rest: &str) -> (String, &'static str) {
    let fixed = |message: &str, hint| (message.to_owned(), hint);
    match kind {
        ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabNotAllowed
        | ErrorKind::TabInPlainScalar => fixed("a tab is used as indentation", "indent with spaces"),
        ErrorKind::TabAtBlockScalarStart => fixed("a text block starts with a tab", "indent it with spaces"),
        ErrorKind::UnexpectedCharacter { character } if character.is_control() => (
            format!("the control character U+{:04X} cannot be written here", u32::from(*character)),
            "write it as an escape in double quotes, or remove it",
        ),
        ErrorKind::UnexpectedCharacter { character } => {
            (format!("a value without quotes cannot start with `{character}`"), "put the value in quotes")
        }
        ErrorKind::MappingValueNotAllowed => {
            fixed("a `:` stands where no key can be", "put a value that holds `: ` in quotes, or fix the indentation")
        }
        ErrorKind::InvalidColonPlacement => {
            fixed("a `:` stands where no key can be", "is a `]` or a `}` missing above?")
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            fixed("a key without a `:` after it", "write `key: value`; a key is on one line and at most 1024 long")
        }
        ErrorKind::ExpectedBlockSequenceEntry => fixed(
            "expected an item that starts with `- ` here",
            "align it with the items above, or indent it under the last one",
        ),
        ErrorKind::ExpectedBlockMappingKey => {
            fixed("expected a key here", "align it with the keys above, or indent it under the last one")
        }
        ErrorKind::BlockSequenceEntryNotAllowed => {
            fixed("a list cannot start here", "put `- ` on a line of its own, or put the value in quotes")
        }
        ErrorKind::InvalidIndentation | ErrorKind::InvalidFlowScalarIndent => {
            fixed("the indentation does not fit what is above", "align the line with its siblings")
        }
        ErrorKind::InvalidBlockScalarIndent => {
            fixed("a line of a text block is indented less than its first line", "indent every line of the block alike")
        }
        ErrorKind::UnclosedQuotedScalar => fixed("a quote is never closed", "close it, or double a `'` inside `'…'`"),
        ErrorKind::InvalidQuotedScalarIndent => fixed(
            "a quoted text goes on in a line that is not indented",
            "close the quote, or indent the lines that follow it",
        ),
        ErrorKind::DocumentIndicatorInQuotedScalar => fixed("a document ends inside a quoted text", "close the quote"),
        ErrorKind::InvalidTrailingSingleQuotedScalar => {
            fixed("text goes on after a closing quote", "double a `'` inside `'…'`, or quote the whole value")
        }
        ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            fixed("text goes on after a closing quote", "write `\\\"` inside `\"…\"`, or quote the whole value")
        }
        ErrorKind::UnknownQuotedScalarEscape => {
            fixed("an unknown escape in a double-quoted text", "write `\\\\` for a backslash, or use single quotes")
        }
        ErrorKind::InvalidQuotedScalarHexEscape | ErrorKind::InvalidUnicodeEscape => {
            fixed("an escape that names no character", "`\\x` takes 2 hex digits, `\\u` 4, `\\U` 8")
        }
        ErrorKind::MissingLowSurrogate
        | ErrorKind::UnpairedLowSurrogate
        | ErrorKind::InvalidLowSurrogate
        | ErrorKind::InvalidLowSurrogateHexEscape => {
            fixed("a lone surrogate is not a character", "write the character itself, or both halves of the pair")
        }
        ErrorKind::UnclosedFlowCollection { open } => (format!("`{open}` is never closed"), "close it"),
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            (format!("`{open}` is closed by `{close}`"), "use the bracket that fits")
        }
        ErrorKind::MisplacedFlowCollectionEnd => {
            fixed("a closing bracket without an opening one", "remove it, or put the value in quotes")
        }
        ErrorKind::ExpectedFlowMappingSeparator => fixed("expected `,` or `}` here", "separate entries by `,`"),
        ErrorKind::ExpectedFlowSequenceSeparator => fixed("expected `,` or `]` here", "separate items by `,`"),
        ErrorKind::ExpectedDocumentStart => {
            fixed("the text goes on after the value", "a file holds one value; is an indentation or a `- ` missing?")
        }
        ErrorKind::UnknownAnchor => {
            let name = rest.split(|c: char| c.is_whitespace() || ",[]{}".contains(c)).next().unwrap_or_default();
            (
                format!("the alias `{}` has no anchor before it", excerpt(name)),
                "put the value in quotes if it starts with `*`",
            )
        }
        ErrorKind::UndeclaredTagHandle => {
            fixed("a tag with an undeclared handle", "put the value in quotes if it starts with `!`")
        }
        ErrorKind::UnsupportedYamlMajorVersion => fixed("only YAML 1.2 is read", "remove the `%YAML` line"),
        ErrorKind::BomInsideDocument => {
            fixed("a byte order mark inside the document", "remove it, or write `\\ufeff` in double quotes")
        }
        ErrorKind::RecursionLimitExceeded => (too_deep().message, "nest less"),
        other => (other.to_string(), ""),
    }
}
