//! Markers of roles and verdicts: what looks like a message of somebody else, or like a grader's own words.

use std::cell::OnceCell;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use proofmark_artefact::scan::Plain;

use super::disguise::{Script, is_disguised};
use super::phrases::{ROLES, VERDICTS};
use super::{LISTED, Plea, PleaKind};

/// Finds markers of roles and verdicts in a text with its signs, without white space for the latter.
pub(super) fn signs(text: &str, found: &mut Vec<Plea>) {
    static ROLE_FINDER: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    static VERDICT_FINDER: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let build = |patterns: &[&str]| AhoCorasick::builder().ascii_case_insensitive(true).build(patterns).ok();
    let trimmed = text.trim();
    // An answer that is a tag and nothing else tells nobody anything.
    let is_tag = trimmed.starts_with('<') && trimmed.ends_with('>') && trimmed.matches(['<', '>']).count() == 2;
    let is_bare = is_tag && !trimmed.contains(char::is_whitespace);
    if is_bare {
        return;
    }
    let (skeleton, starts) = skeleton(text);
    let offset = |at: usize| starts.get(at).map_or(at, |start| *start);
    let mut add = |kind: PleaKind, from: usize, to: usize| {
        let (from, to) = (offset(from), offset(to - 1) + 1);
        let to = text.ceil_char_boundary(to.min(text.len()));
        found.push(Plea {
            kind,
            offset: from,
            length: to - from,
            is_hidden: is_disguised(&text[from..to], Script::Latin),
        });
    };
    if let Some(finder) = ROLE_FINDER.get_or_init(|| build(ROLES)) {
        let lead = text.len() - text.trim_start().len();
        let lower: OnceCell<String> = OnceCell::new();
        for role in finder.find_iter(&skeleton).take(4 * LISTED) {
            let next = skeleton[role.end()..].chars().next();
            // `<systematic>` and `<system.web>` are other tags.
            let goes_on = |next: char| next.is_alphanumeric() || matches!(next, '.' | '-' | '_' | ':');
            let is_longer = skeleton[role.range()].ends_with(char::is_alphabetic) && next.is_some_and(goes_on);
            // What closes an element that the text itself has opened closes nobody else's.
            let own = skeleton[role.range()].strip_prefix("</").map(|name| name.trim_end_matches('>').to_lowercase());
            let is_own = own.is_some_and(|name| {
                let lower = lower.get_or_init(|| skeleton.to_ascii_lowercase());
                let count = |sign: &str, to: usize| lower[..to].matches(&format!("{sign}{name}")).count();
                count("<", role.start()) >= count("</", role.end())
            });
            let is_longer = is_longer || is_own;
            if !is_longer && role.end() > lead {
                add(PleaKind::RoleMarker, role.start(), role.end());
            }
        }
    }
    if may_hold_verdict(&skeleton)
        && let Some(finder) = VERDICT_FINDER.get_or_init(|| build(VERDICTS))
    {
        let mut dense = String::with_capacity(skeleton.len());
        let mut places = Vec::with_capacity(skeleton.len());
        for (at, character) in skeleton.char_indices().filter(|(_, character)| !matches!(character, ' ' | '\t' | '\\'))
        {
            dense.push(character);
            places.resize(dense.len(), at);
        }
        for verdict in finder.find_iter(&dense).take(4 * LISTED) {
            add(PleaKind::Verdict, places[verdict.start()], places[verdict.end() - 1] + 1);
        }
    }
}

const LATIN_END: u32 = 0x250;

/// A letter with a mark, or what else is at the beginning of Unicode, made plain. Half of Europe writes with them.
fn latin(code: u32) -> &'static str {
    static FOLDED: LazyLock<Vec<String>> = LazyLock::new(|| {
        let fold = |character: char| Plain::words(character.encode_utf8(&mut [0; 4])).text().to_owned();
        (0x80..LATIN_END).map(|code| char::from_u32(code).map(fold).unwrap_or_default()).collect()
    });
    FOLDED.get((code - 0x80) as usize).map_or("", String::as_str)
}

/// Whether a text has the signs that every one of the verdicts has: most texts need no closer look.
fn may_hold_verdict(text: &str) -> bool {
    let bytes = text.as_bytes();
    let counts = |byte: &&u8| !matches!(byte, b' ' | b'\t' | b'\\');
    memchr::memchr3_iter(b':', b'<', b'[', bytes).any(|at| match bytes[at] {
        b':' => matches!(bytes[..at].iter().rfind(counts), Some(b'"' | b'e' | b'E' | b't' | b'T')),
        b'<' => matches!(bytes[at + 1..].iter().find(counts).map(u8::to_ascii_lowercase), Some(b'v' | b'j' | b'g')),
        _ => bytes[at + 1..].iter().find(counts) == Some(&b'['),
    })
}

/// A text with its signs, but look-alikes made plain and what cannot be seen left out; and where each byte stood.
///
/// No places are given for a text that is plain already: they are the same.
fn skeleton(text: &str) -> (String, Vec<usize>) {
    if text.is_ascii() {
        return (text.to_owned(), Vec::new());
    }
    let (mut out, mut starts) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
    for (at, character) in text.char_indices() {
        match character as u32 {
            0..0x80 => out.push(character),
            0xFF01..=0xFF5E => out.extend(char::from_u32(character as u32 - 0xFEE0)),
            0x2039 | 0x3008 | 0x27E8 => out.push('<'),
            0x203A | 0x3009 | 0x27E9 => out.push('>'),
            0x2E80..=0xD7FF => out.push(character),
            code @ 0x80..LATIN_END => out.push_str(latin(code)),
            _ => out.push_str(Plain::words(character.encode_utf8(&mut [0; 4])).text()),
        }
        starts.resize(out.len(), at);
    }
    (out, starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_verdict_is_passed_over() {
        for verdict in VERDICTS {
            let spread: String = verdict.chars().flat_map(|character| [character, ' ']).collect();
            for text in [(*verdict).to_owned(), verdict.to_uppercase(), spread, format!("so: {verdict} <p>")] {
                assert!(may_hold_verdict(&text), "{text}");
            }
        }
        for text in ["", "plain words", "a <b>bold</b> word at 12:30", "see [1] and x[i]", "https://a.example/b"] {
            assert!(!may_hold_verdict(text), "{text}");
        }
    }

    #[test]
    fn letters_with_marks_are_folded_as_texts_are() {
        for code in 0x80..LATIN_END {
            let character = char::from_u32(code).unwrap();
            assert_eq!(latin(code), Plain::words(&character.to_string()).text(), "{code:x}");
        }
    }
}
