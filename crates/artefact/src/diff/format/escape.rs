//! What keeps hostile text harmless where it is shown.

use std::fmt::Write as _;

/// Shows characters that a terminal would obey or that hide or turn text around: `\u{1b}`. Line ends stay.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push(c),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() || is_deceiving(c) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// [`visible`] in one line of at most `limit` characters.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    // An escape makes a text longer, never shorter: what is beyond cannot be shown.
    let beginning: String = text.chars().take(limit + 1).collect();
    let line = visible(&beginning).replace('\n', "⏎");
    if line.chars().count() <= limit {
        return line;
    }
    line.chars().take(limit.saturating_sub(1)).chain(['…']).collect()
}

/// Text inside XML or HTML, or in an attribute in double quotes. Call [`visible`] first.
pub(super) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML cannot hold these two, though they are characters.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Text in a line of Markdown, tables included: nothing in it is markup.
pub(super) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '\n' => out.push(' '),
            '&' | '<' | '>' | '"' | '\'' | '`' | '|' | '*' | '_' | '[' | ']' | '~' | '#' | '@' | '\\' | '!' | '$' => {
                let _ = write!(out, "&#{};", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// A fence that nothing in the text can close.
pub(super) fn fence(text: &str) -> String {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat(longest.max(2) + 1)
}

/// Characters that are not controls by name, but hide text or change its direction.
fn is_deceiving(c: char) -> bool {
    matches!(
        c,
        '\u{61c}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        assert_eq!(visible("a\u{1b}[31mb\u{9b}2J\u{202e}c\u{7f}\0"), "a\\u{1b}[31mb\\u{9b}2J\\u{202e}c\\u{7f}\\u{0}");
        assert_eq!(visible("tab\tcr\r\nend"), "tab\\tcr\\r\nend");
        let fine = "é 😀 👩\u{200d}🚀 ünïcode";
        assert_eq!(visible(fine), fine);
    }

    #[test]
    fn one_line_is_one_line_of_the_given_length() {
        assert_eq!(one_line("a\nb", 10), "a⏎b");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("abcd", 4), "abcd");
        assert_eq!(one_line("\u{1b}\u{1b}", 8), "\\u{1b}\\…");
        assert_eq!(one_line(&"x".repeat(1 << 20), 3), "xx…");
    }

    #[test]
    fn a_fence_is_longer_than_any_run_inside() {
        assert_eq!(fence("plain"), "```");
        assert_eq!(fence("a ``` b ````` c"), "``````");
    }

    #[test]
    fn markup_is_only_text() {
        assert_eq!(markdown("a|b\n<b> `c` @me"), "a&#124;b &#60;b&#62; &#96;c&#96; &#64;me");
        assert_eq!(xml("]]><a b=\"c\">&'\u{ffff}"), "]]&gt;&lt;a b=&quot;c&quot;&gt;&amp;&#39;\u{fffd}");
    }
}
