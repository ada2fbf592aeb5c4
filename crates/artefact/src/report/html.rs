//! Markup that cannot be broken by what it shows.
//!
//! Every string from a suite, a dataset or a model is hostile. Markup is `&'static str` and goes
//! through [`Html::raw`]; anything else can only be written as escaped text.

use std::fmt::Write as _;
use std::io;

use crate::text::is_deceptive;

/// A growing piece of HTML.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Appends markup of our own. Only literals fit.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Appends text, escaped for element content.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        escape(text, &mut self.0);
        self
    }

    /// Appends an attribute with its value escaped and in quotes.
    pub(super) fn attr(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.0.push(' ');
        self.0.push_str(name);
        self.0.push_str("=\"");
        escape(value, &mut self.0);
        self.0.push('"');
        self
    }

    /// Appends a name from outside. Its writing direction stays inside, and it breaks after the
    /// characters that join words in ids before it breaks elsewhere.
    pub(super) fn name(&mut self, name: &str) -> &mut Self {
        self.raw("<bdi>");
        for (at, part) in name.split_inclusive(['/', ':', '_', '.', '@']).enumerate() {
            self.raw(if at > 0 { "<wbr>" } else { "" }).text(part);
        }
        self.raw("</bdi>")
    }

    /// Hands on what has been written so far. Its room is kept: there are hundreds of pieces.
    pub(super) fn write_to(&mut self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(self.0.as_bytes())?;
        self.0.clear();
        Ok(())
    }

    /// Takes what has been written so far.
    #[cfg(test)]
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.0)
    }
}

/// The characters of ASCII that stand for themselves.
const IS_PLAIN: [bool; 256] = {
    let mut is_plain = [false; 256];
    let mut byte = b' ';
    while byte < 0x7f {
        is_plain[byte as usize] = !matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'');
        byte += 1;
    }
    is_plain[b'\n' as usize] = true;
    is_plain[b'\t' as usize] = true;
    is_plain
};

/// Appends the text so that it is inert as element content and inside a quoted attribute, and so
/// that no character in it is invisible or moves its neighbours.
pub(super) fn escape(text: &str, out: &mut String) {
    let mut rest = text;
    loop {
        // Most of any text is plain, and is copied in one piece.
        let plain = rest.bytes().position(|byte| !IS_PLAIN[usize::from(byte)]).unwrap_or(rest.len());
        out.push_str(&rest[..plain]);
        rest = &rest[plain..];
        let mut chars = rest.chars();
        let Some(char) = chars.next() else { return };
        rest = chars.as_str();
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // A browser reads CR LF as LF; a lone CR would become a line end that is not there.
            '\r' if rest.starts_with('\n') => {}
            char if is_deceptive(char) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\u{27e8}U+{:04X}\u{27e9}", u32::from(char));
            }
            char => out.push(char),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn escaped(text: &str) -> String {
        let mut out = String::new();
        escape(text, &mut out);
        out
    }

    #[test]
    fn markup_becomes_text() {
        let cases = [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("\"'><img src=x onerror=alert(1)>", "&quot;&#39;&gt;&lt;img src=x onerror=alert(1)&gt;"),
            ("a & b &amp; c", "a &amp; b &amp;amp; c"),
            ("javascript:alert(1)", "javascript:alert(1)"),
            ("]]>--></style>", "]]&gt;--&gt;&lt;/style&gt;"),
        ];
        for (text, want) in cases {
            assert_eq!(escaped(text), want);
        }
    }

    #[test]
    fn characters_that_hide_or_reorder_are_shown_by_number() {
        let cases = [
            ("a\u{202e}b", "a⟨U+202E⟩b"),
            ("\u{2066}x\u{2069}", "⟨U+2066⟩x⟨U+2069⟩"),
            ("\0", "⟨U+0000⟩"),
            ("\u{1b}[31m", "⟨U+001B⟩[31m"),
            ("\u{85}", "⟨U+0085⟩"),
            ("\u{feff}x", "⟨U+FEFF⟩x"),
            ("\u{ffff}\u{1fffe}", "⟨U+FFFF⟩⟨U+1FFFE⟩"),
            ("\u{e0041}", "⟨U+E0041⟩"),
            ("a\rb", "a⟨U+000D⟩b"),
            ("a\r\nb\tc", "a\nb\tc"),
        ];
        for (text, want) in cases {
            assert_eq!(escaped(text), want);
        }
    }

    #[test]
    fn ordinary_writing_is_left_alone() {
        for text in ["Zażółć gęślą jaźń", "العربية", "北京", "👩\u{200d}🔬", "می\u{200c}خواهم", "e\u{301}"]
        {
            assert_eq!(escaped(text), text);
        }
    }

    #[test]
    fn a_name_cannot_leave_its_attribute() {
        let mut html = Html::default();
        html.raw("<i").attr("title", "x\" onclick=\"y").raw("></i>");
        assert_eq!(html.take(), "<i title=\"x&quot; onclick=&quot;y\"></i>");
    }

    #[test]
    fn a_name_may_break_between_its_words() {
        let mut html = Html::default();
        html.name("a/b<c");
        assert_eq!(html.take(), "<bdi>a/<wbr>b&lt;c</bdi>");
        html.name("plain");
        assert_eq!(html.take(), "<bdi>plain</bdi>");
    }

    proptest! {
        #[test]
        fn nothing_escaped_can_open_a_tag_or_close_a_quote(text in any::<String>()) {
            let out = escaped(&text);
            prop_assert!(!out.contains(['<', '>', '"', '\'', '\0', '\u{202e}']), "{:?}", out);
        }
    }
}
