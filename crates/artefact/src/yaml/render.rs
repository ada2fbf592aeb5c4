//! An error as a person sees it: the place, the line, a mark under the word, the hint.

use super::error::YamlError;
use super::node::Span;
use crate::text::{escaped, push_escaped};

impl YamlError {
    /// Returns the error with its place and the line it is about, as plain text without a final newline.
    ///
    /// `source` is the text that was loaded; a place that it does not have is shown without its line.
    pub fn render(&self, file: &str, source: &str) -> String {
        let mut out = escaped(file);
        if let Some(span) = self.span {
            out.push_str(&format!(":{}:{}", span.line, span.column));
        }
        out.push_str(": ");
        out.push_str(&self.message);
        if let Some(snippet) = self.span.and_then(|span| snippet(span, source)) {
            out.push_str(&snippet);
        }
        if let Some(hint) = &self.hint {
            out.push_str("\nhint: ");
            out.push_str(hint);
        }
        out
    }
}

fn snippet(span: Span, source: &str) -> Option<String> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let line = lines_of(source).nth((span.line as usize).checked_sub(1)?)?;
    let characters: Vec<char> = line.chars().collect();
    let at = (span.column as usize).checked_sub(1)?;
    if at > characters.len() {
        return None;
    }
    let marked = word_length(&characters[at..]);
    // A long line is cut to a window around the place.
    let start = at.saturating_sub(WIDEST_LINE / 3).min(characters.len().saturating_sub(WIDEST_LINE));
    let end = characters.len().min(start + WIDEST_LINE);

    let (mut shown, mut mark) = (String::new(), String::new());
    if start > 0 {
        shown.push('…');
        mark.push(' ');
    }
    for (index, character) in characters.iter().enumerate().take(end).skip(start) {
        let length = shown.len();
        match character {
            '\t' => shown.push(' '),
            _ => push_escaped(*character, &mut shown),
        }
        let columns: usize = shown[length..].chars().map(columns_of).sum();
        if index < at {
            mark.extend(std::iter::repeat_n(' ', columns));
        } else if index < at + marked {
            mark.extend(std::iter::repeat_n('^', columns));
        }
    }
    if !mark.ends_with('^') {
        mark.push('^');
    }
    if end < characters.len() {
        shown.push('…');
    }
    let number = span.line.to_string();
    let gutter = " ".repeat(number.len());
    Some(format!("\n{gutter} |\n{number} | {}\n{gutter} | {mark}", shown.trim_end()))
}

const WIDEST_LINE: usize = 100;

/// The lines of a text as the parser counts them: their ends are `\n`, `\r\n` and `\r`.
pub(super) fn lines_of(source: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(source);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Some(end) = text.find(['\n', '\r']) else { return Some(text) };
        let width = if text[end..].starts_with("\r\n") { 2 } else { 1 };
        rest = Some(&text[end + width..]);
        Some(&text[..end])
    })
}

/// How much of the line is the thing at its start: a quoted text, a word, or one character.
fn word_length(rest: &[char]) -> usize {
    let after = |stop: &dyn Fn(char) -> bool| rest.iter().skip(1).position(|c| stop(*c)).map_or(rest.len(), |n| n + 1);
    match rest.first() {
        Some(quote @ ('"' | '\'')) => {
            // The closing quote is part of it; a text that ends on another line is marked to the end.
            (after(&|c| c == *quote) + 1).min(rest.len())
        }
        Some(first) if first.is_alphanumeric() || "_.*&!+-~<%$/".contains(*first) => {
            let ends = |at: usize| {
                let next = rest.get(at + 1);
                match rest[at] {
                    ':' => next.is_none_or(|c| c.is_whitespace()),
                    c => c.is_whitespace() || ",[]{}".contains(c),
                }
            };
            (1..rest.len()).find(|at| ends(*at)).unwrap_or(rest.len())
        }
        _ => 1,
    }
}

/// How many cells of a terminal a character takes, near enough to put a mark under it.
fn columns_of(character: char) -> usize {
    match u32::from(character) {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(line: u32, column: u32, source: &str) -> String {
        YamlError::new("bad").at(Span { line, column }).render("s.yaml", source)
    }

    #[test]
    fn the_mark_is_under_the_word() {
        let source = "a: 1\n\u{feff}b:\r\n\ttask: \"two words\" # c\rlast: x";
        assert_eq!(render(1, 1, source), "s.yaml:1:1: bad\n  |\n1 | a: 1\n  | ^");
        assert_eq!(render(3, 8, source), "s.yaml:3:8: bad\n  |\n3 |  task: \"two words\" # c\n  |        ^^^^^^^^^^^");
        assert_eq!(render(4, 1, source), "s.yaml:4:1: bad\n  |\n4 | last: x\n  | ^^^^");
        assert_eq!(render(4, 8, source), "s.yaml:4:8: bad\n  |\n4 | last: x\n  |        ^");
        assert_eq!(render(1, 4, "日本: x"), "s.yaml:1:4: bad\n  |\n1 | 日本: x\n  |      ^");
    }

    #[test]
    fn a_place_that_the_text_does_not_have_is_shown_without_a_line() {
        for (line, column) in [(9, 1), (1, 40), (u32::MAX, u32::MAX)] {
            assert_eq!(render(line, column, "a: 1\n"), format!("s.yaml:{line}:{column}: bad"));
        }
        assert_eq!(YamlError::new("bad").with_hint("mend it").render("s.yaml", ""), "s.yaml: bad\nhint: mend it");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        let text = render(1, 7, "a: \u{1b}[2Jx\u{202e}\n");
        let mark = format!("{}{}", " ".repeat(3 + 6 + 2), "^".repeat(2 + 8));
        assert_eq!(text, format!("s.yaml:1:7: bad\n  |\n1 | a: \\u{{1b}}[2Jx\\u{{202e}}\n  | {mark}"));
        assert!(!YamlError::new("x").render("\u{1b}[0m", "").contains('\u{1b}'));
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let source = format!("{} word {}", "x".repeat(5000), "y".repeat(5000));
        let text = render(1, 5002, &source);
        assert!(text.len() < 400, "{text}");
        let lines: Vec<&str> = text.lines().collect();
        let column = |needle: &str, line: &str| line.find(needle).map(|at| line[..at].chars().count());
        assert_eq!(column("word", lines[2]), column("^^^^", lines[3]));
        assert!(lines[2].starts_with("1 | …x") && lines[2].ends_with('…'), "{text}");
    }
}
