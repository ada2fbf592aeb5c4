//! What is said so that people do not see it: look-alikes, letters apart, comments, invisible characters.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use proofmark_artefact::scan::Plain;

use super::templates::spaced;
use super::{LISTED, Plea, PleaKind};

/// Whether letters that only look Latin are a disguise where they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Latin,
    Other,
}

impl Script {
    /// A template that is all ASCII is one in Latin letters.
    pub(super) fn of(self, word: &str) -> Self {
        if word.is_ascii() { self } else { Self::Other }
    }
}

/// Whether a passage has invisible characters, or letters that only look like those around them.
pub(super) fn is_disguised(passage: &str, script: Script) -> bool {
    let is_hidden = |character: char| {
        matches!(character as u32,
            0xAD | 0x34F | 0x61C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F | 0x200B..=0x200F | 0x202A..=0x202E
            | 0x2060..=0x206F | 0x3164 | 0xFEFF | 0xFFA0 | 0xFE00..=0xFE0F | 0xE0000..=0xE0FFF)
    };
    let is_alike = |character: char| matches!(character as u32, 0x370..=0x52F | 0x530..=0x58F | 0x13A0..=0x13FF | 0x1D400..=0x1D7FF | 0x1C80..=0x1C8F | 0xA640..=0xA69F | 0x250..=0x2AF);
    if passage.is_ascii() {
        return false;
    }
    let mixed =
        |word: &str| word.chars().any(is_alike) && word.chars().any(|character| character.is_ascii_alphabetic());
    passage.chars().any(is_hidden)
        || passage.split(|character: char| !character.is_alphanumeric()).any(mixed)
        || script == Script::Latin && passage.chars().any(is_alike) && passage.chars().any(|c| c.is_ascii_alphabetic())
}

/// Finds what is written letter by letter: `i g n o r e`.
pub(super) fn spelled(text: &str, plain: &Plain, found: &mut Vec<Plea>) {
    const PAIRS: [(PleaKind, &[&str], &[&str]); 2] = [
        (
            PleaKind::Override,
            &["ignore", "disregard", "forget", "override"],
            &["instruction", "rubric", "previous", "prompt"],
        ),
        (PleaKind::Demand, &["mark", "score", "grade", "judge", "accept"], &["correct", "pass", "fullmarks"]),
    ];
    // Two letters that stand alone, one behind the other.
    let is_spread = |four: &[u8]| four[0] == b' ' && four[2] == b' ' && four[1] != b' ' && four[3] != b' ';
    if !plain.text().as_bytes().windows(4).any(is_spread) {
        return;
    }
    let mut run = String::new();
    let (mut from, mut at) = (0, 0);
    let words = plain.text().split(' ').chain(["--"]);
    for word in words {
        if word.len() == 1 {
            if run.is_empty() {
                from = at;
            }
            run.push_str(word);
        } else {
            if run.len() >= 8 {
                let has = |words: &[&str]| words.iter().any(|word| run.contains(word));
                for (kind, _, _) in PAIRS.iter().filter(|(_, firsts, seconds)| has(firsts) && has(seconds)) {
                    let (offset, last) = (plain.offset(from), plain.offset(at.saturating_sub(2)));
                    found.push(Plea {
                        kind: *kind,
                        offset,
                        length: (last + 1).saturating_sub(offset).max(1).min(text.len() - offset),
                        is_hidden: true,
                    });
                }
            }
            run.clear();
        }
        at += word.len() + 1;
    }
}

/// Finds comments, and what they say.
pub(super) fn comments(text: &str, found: &mut Vec<Plea>) {
    static OPEN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("<!--"));
    let mut from = 0;
    while let Some(open) = OPEN.find(&text.as_bytes()[from..]) {
        let start = from + open;
        let inner = &text[start + 4..];
        let length = inner.find("-->").unwrap_or(inner.len());
        if !inner[..length].trim().is_empty() {
            let end = (start + 4 + length + 3).min(text.len());
            let said = Plain::words(&inner[..length]);
            let mut inside = Vec::new();
            spaced(&inner[..length], &said, &mut inside);
            // Programs and pages have comments; what speaks to a grader in one hides. An answer has none.
            let is_hidden = !inside.is_empty();
            if is_hidden || text.len() <= SHORT && !is_markup(&text[..start]) && !is_markup(&text[end..]) {
                found.push(Plea { kind: PleaKind::Comment, offset: start, length: end - start, is_hidden });
            }
            found.extend(inside.into_iter().map(|plea| Plea {
                offset: plea.offset + start + 4,
                is_hidden: true,
                ..plea
            }));
        }
        from = (start + 4 + length).min(text.len());
        if found.len() > 8 * LISTED {
            break;
        }
    }
}

/// A longer text is no answer.
const SHORT: usize = 1024;

/// Whether a text has code or tags in it.
fn is_markup(text: &str) -> bool {
    let is_tag =
        |(at, _): (usize, &str)| text[at + 1..].starts_with(|next: char| next.is_ascii_alphabetic() || next == '/');
    text.contains("```") || text.match_indices('<').any(is_tag)
}

/// Finds text in characters that cannot be seen. Flags of regions have a few of them, behind a black flag.
pub(super) fn invisible(text: &str, found: &mut Vec<Plea>) {
    // The lead byte of U+FE00 and of all that is beyond.
    if !text.bytes().any(|byte| byte >= 0xEF) {
        return;
    }
    let is_smuggled =
        |character: char| matches!(character as u32, 0xE0020..=0xE007E | 0xE0100..=0xE01EF | 0xFE00..=0xFE0F);
    let (mut start, mut end, mut count) = (0, 0, 0);
    let mut said = String::new();
    for (at, character) in text.char_indices().chain([(text.len(), ' ')]) {
        if is_smuggled(character) {
            if count == 0 {
                start = at;
            }
            (end, count) = (at + character.len_utf8(), count + 1);
            said.extend(char::from_u32((character as u32).wrapping_sub(0xE0000)).filter(char::is_ascii));
            continue;
        }
        if count >= 8 {
            found.push(Plea { kind: PleaKind::Invisible, offset: start, length: end - start, is_hidden: true });
            let plain = Plain::words(&said);
            let mut inside = Vec::new();
            spaced(&said, &plain, &mut inside);
            found.extend(inside.first().map(|plea| Plea {
                offset: start,
                length: end - start,
                is_hidden: true,
                ..*plea
            }));
        }
        count = 0;
        said.clear();
    }
}
