//! What keeps hostile text harmless inside markup.

use std::fmt::Write as _;

use crate::text::visible;

/// Text inside XML or HTML, or in an attribute in double quotes. Call [`visible`] first.
pub(crate) fn xml(text: &str) -> String {
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
pub(crate) fn markdown(text: &str) -> String {
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
pub(crate) fn fence(text: &str) -> String {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

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
