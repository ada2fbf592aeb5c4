//! Text from elsewhere, made harmless and short where people read it.
//!
//! Suites, datasets, models and runs of strangers are hostile; terminals and log viewers obey. One list
//! says which characters are never shown as they are. Markup has its own escapes beside its formats.

use std::fmt::Write as _;

/// Shows characters that a terminal would obey or that hide or turn text around: `\u{1b}`, `\t`. Line ends stay.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push(c),
            c => push_escaped(c, &mut out),
        }
    }
    out
}

/// [`visible`] with its line ends escaped too. What is escaped already stays as it is.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push_escaped(c, &mut out));
    out
}

/// Appends a character as [`escaped`] shows it.
pub fn push_escaped(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if is_deceptive(c) => {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
        c => out.push(c),
    }
}

/// Returns the first `limit` characters, [`escaped`], and `…` where the text goes on: for messages.
pub fn excerpt(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => {
            let mut out = escaped(&text[..end]);
            out.push('…');
            out
        }
        None => escaped(text),
    }
}

/// Returns the text as one [`visible`] line of at most `limit` characters: for columns.
pub fn one_line(text: &str, limit: usize) -> String {
    // An escape makes a text longer, never shorter: what is beyond cannot be shown.
    let beginning: String = text.chars().take(limit + 1).collect();
    cut(&visible(&beginning).replace('\n', "⏎"), limit)
}

/// Cuts a text to a number of characters, the last of them `…` when something is missing.
pub fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    text.chars().take(limit.saturating_sub(1)).chain(['…']).collect()
}

/// Whether a character is a control, is invisible, moves its neighbours or is no character at all.
pub fn is_deceptive(c: char) -> bool {
    match c {
        // Controls, C0 and C1.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Soft hyphen, Arabic letter mark, Hangul fillers, Mongolian vowel separator.
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}' => true,
        // Zero-width space and direction marks. The joiners U+200C and U+200D are spelling in many scripts.
        '\u{200b}' | '\u{200e}' | '\u{200f}' => true,
        // Line and paragraph separators, bidi embeddings and overrides, isolates, invisible operators.
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        // Byte order mark, interlinear annotation.
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        // Tags: a whole invisible alphabet.
        '\u{e0000}'..='\u{e0fff}' => true,
        // Noncharacters.
        '\u{fdd0}'..='\u{fdef}' => true,
        c => u32::from(c) & 0xfffe == 0xfffe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        for (text, want) in [
            ("a\u{1b}[31mb\u{9b}2J\u{202e}c\u{7f}\0", "a\\u{1b}[31mb\\u{9b}2J\\u{202e}c\\u{7f}\\u{0}"),
            ("\u{2028}\u{feff}\u{e0041}\u{ad}\u{ffff}", "\\u{2028}\\u{feff}\\u{e0041}\\u{ad}\\u{ffff}"),
            ("tab\tcr\r\nend", "tab\\tcr\\r\nend"),
        ] {
            assert_eq!(visible(text), want);
            assert_eq!(escaped(text), want.replace('\n', "\\n"));
        }
    }

    #[test]
    fn ordinary_writing_is_left_alone() {
        for text in ["Zażółć gęślą", "العربية", "北京", "👩\u{200d}🚀", "می\u{200c}خواهم", "e\u{301}", "C:\\new"]
        {
            assert_eq!(visible(text), text);
            assert_eq!(escaped(text), text);
        }
    }

    #[test]
    fn an_excerpt_counts_the_characters_of_the_text() {
        assert_eq!(excerpt("abc", 3), "abc");
        assert_eq!(excerpt("é\n\u{1b}d", 3), "é\\n\\u{1b}…");
        assert_eq!(excerpt(&"x".repeat(1 << 20), 60).chars().count(), 61);
        assert_eq!(excerpt("", 0), "");
    }

    #[test]
    fn one_line_is_one_line_of_the_given_length() {
        assert_eq!(one_line("a\nb", 10), "a⏎b");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("abcd", 4), "abcd");
        assert_eq!(one_line("\u{1b}\u{1b}", 8), "\\u{1b}\\…");
        assert_eq!(one_line(&"x".repeat(1 << 20), 3), "xx…");
        assert_eq!((cut("é", 1).as_str(), cut("éé", 1).as_str(), cut("", 0).as_str()), ("é", "…", ""));
    }

    proptest! {
        #[test]
        fn nothing_deceptive_is_left_and_escaping_twice_is_escaping_once(text in any::<String>(), limit in 0usize..20) {
            let once = escaped(&text);
            prop_assert!(!once.contains(is_deceptive));
            prop_assert_eq!(&escaped(&once), &once);
            prop_assert!(!visible(&text).replace('\n', "").contains(is_deceptive));
            prop_assert!(one_line(&text, limit).chars().count() <= limit.max(1));
        }
    }
}
