//! Word diffs of two texts, bounded in cost.

use similar::utils::diff_words;
use similar::{Algorithm, ChangeTag};

/// A run of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part<'a> {
    pub(super) tag: Tag,
    pub(super) text: &'a str,
}

/// On which side a run of words is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    Both,
    Removed,
    Added,
}

/// The search for common words costs at most this many comparisons or so; beyond, what lies between
/// the common ends is taken as replaced.
const MOST_COMPARISONS: usize = 1 << 20;

/// Returns how to get from one text to the other, word by word.
pub(super) fn word_diff<'a>(a: &'a str, b: &'a str) -> Vec<Part<'a>> {
    let start = common_start(a, b);
    let end = common_end(&a[start..], &b[start..]);
    let (middle_a, middle_b) = (&a[start..a.len() - end], &b[start..b.len() - end]);
    let mut parts = Vec::new();
    let mut put = |tag, text: &'a str| {
        if !text.is_empty() {
            parts.push(Part { tag, text });
        }
    };
    put(Tag::Both, &a[..start]);
    if count_words(middle_a).saturating_mul(count_words(middle_b)) > MOST_COMPARISONS {
        put(Tag::Removed, middle_a);
        put(Tag::Added, middle_b);
    } else {
        for (tag, text) in diff_words(Algorithm::Myers, middle_a, middle_b) {
            let tag = match tag {
                ChangeTag::Equal => Tag::Both,
                ChangeTag::Delete => Tag::Removed,
                ChangeTag::Insert => Tag::Added,
            };
            put(tag, text);
        }
    }
    put(Tag::Both, &a[a.len() - end..]);
    parts
}

/// Length of the common beginning that ends between words.
fn common_start(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    if same == a.len() && same == b.len() {
        return same;
    }
    let same = a.floor_char_boundary(same).min(b.floor_char_boundary(same));
    a[..same].rfind(char::is_whitespace).map_or(0, |at| at + a[at..].chars().next().map_or(0, char::len_utf8))
}

/// Length of the common ending that starts between words.
fn common_end(a: &str, b: &str) -> usize {
    let same = a.bytes().rev().zip(b.bytes().rev()).take_while(|(x, y)| x == y).count();
    let start = a.ceil_char_boundary(a.len() - same);
    a[start..].find(char::is_whitespace).map_or(0, |at| a.len() - start - at)
}

fn count_words(text: &str) -> usize {
    text.split_whitespace().count() * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(a: &str, b: &str) -> String {
        let parts = word_diff(a, b);
        let of = |side| parts.iter().filter(|part| part.tag != side).map(|part| part.text).collect::<String>();
        assert_eq!((of(Tag::Added).as_str(), of(Tag::Removed).as_str()), (a, b), "nothing is lost");
        let part = |part: &Part<'_>| match part.tag {
            Tag::Both => part.text.to_owned(),
            Tag::Removed => format!("[-{}-]", part.text),
            Tag::Added => format!("{{+{}+}}", part.text),
        };
        parts.iter().map(part).collect()
    }

    #[test]
    fn words_that_changed_stand_out() {
        for (a, b, want) in [
            ("Paris", "Lyon", "[-Paris-]{+Lyon+}"),
            ("it is Paris now", "it is Lyon now", "it is [-Paris-]{+Lyon+} now"),
            ("same", "same", "same"),
            ("", "", ""),
            ("", "new", "{+new+}"),
            ("old", "", "[-old-]"),
            ("a b", "a b c", "a b{+ c+}"),
            ("é ü", "é ö", "é [-ü-]{+ö+}"),
            ("x é", "x è", "x [-é-]{+è+}"),
            ("aa aa", "aa", "aa[- aa-]"),
            ("one two\nthree", "one 2\nthree", "one [-two-]{+2+}\nthree"),
        ] {
            assert_eq!(show(a, b), want);
        }
    }

    #[test]
    fn enormous_texts_without_common_words_are_replaced_whole() {
        let a = "a ".repeat(5000) + "x";
        let b = "b ".repeat(5000) + "y";
        assert_eq!(word_diff(&a, &b).len(), 2);
        let (a, b) = (format!("same {a} same"), format!("same {b} same"));
        assert_eq!(word_diff(&a, &b).len(), 4);
    }
}
