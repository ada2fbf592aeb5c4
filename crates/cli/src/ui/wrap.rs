//! Running text that fits the terminal.

/// Breaks a text between words. The first line has room for a lead of `indent` columns before it, which the caller
/// prints; the others are indented by as much. A word that is too long, such as an address, stays whole.
pub(crate) fn wrap(indent: usize, text: &str, width: usize) -> String {
    let room = width.saturating_sub(indent).max(1);
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > room {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            used = 0;
        }
        if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_are_indented_alike() {
        assert_eq!(wrap(4, "one two three", 11), "one two\n    three");
        assert_eq!(wrap(2, "a https://example.org/long b", 12), "a\n  https://example.org/long\n  b");
        assert_eq!(wrap(0, "", 10), "");
        assert_eq!(wrap(20, "no room", 10), "no\n                    room");
    }
}
