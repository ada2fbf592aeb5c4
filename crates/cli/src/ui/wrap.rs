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

/// Breaks a text into lines of at most `width` characters and keeps its own line ends and spaces. Returns the first
/// `most` of them, and how many are left.
pub(crate) fn fold(text: &str, width: usize, most: usize) -> (Vec<String>, usize) {
    let width = width.max(8);
    let (mut lines, mut left) = (Vec::new(), 0);
    let mut put = |line: &str| {
        if lines.len() < most {
            lines.push(line.trim_end().to_owned());
        } else {
            left += 1;
        }
    };
    for line in text.trim_end_matches('\n').split('\n') {
        let mut rest = line;
        loop {
            let Some((border, _)) = rest.char_indices().nth(width) else {
                put(rest);
                break;
            };
            // After the last space that leaves a line worth the name, or else in the middle of a word.
            let space = rest[..border].rfind(' ').map(|at| at + 1).filter(|at| *at > border / 2);
            let (now, later) = rest.split_at(space.unwrap_or(border));
            put(now);
            rest = later;
        }
    }
    (lines, left)
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

    #[test]
    fn folded_lines_keep_their_own_ends_and_are_counted() {
        let fold = |text, most| super::fold(text, 10, most);
        assert_eq!(fold("one two three", 9), (vec!["one two".to_owned(), "three".to_owned()], 0));
        assert_eq!(fold("a\n  b\n\nc\n", 9).0, ["a", "  b", "", "c"]);
        assert_eq!(fold("xxxxxxxxxxxxyyyyyyyyyy", 9).0, ["xxxxxxxxxx", "xxyyyyyyyy", "yy"]);
        assert_eq!(fold("éééééééééééé", 9).0, ["éééééééééé", "éé"]);
        assert_eq!(fold("1\n2\n3\n4", 3), (vec!["1".to_owned(), "2".to_owned(), "3".to_owned()], 1));
        assert_eq!(fold("", 3), (vec![String::new()], 0));
    }
}
