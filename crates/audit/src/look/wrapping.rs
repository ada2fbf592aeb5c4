//! Signs within a text that hide it from those who look for words: wrappings within wrappings, strings in pieces, mails,
//! characters that cannot be seen.

use std::ops::Range;

use aho_corasick::AhoCorasick;
use proofmark_artefact::scan::undo;
use proofmark_artefact::trajectory::Form;

use super::decode::{lossy, unhex};
use super::layers::{Layer, View};

/// How far around a wrapping within a wrapping the text is undone.
const REACH: usize = 1024;

/// Undoes one layer of what is wrapped twice: `%2550`, `&amp;#80;`, `\u0026#80;`.
pub(super) fn wrapped(text: &str, mut give: impl FnMut(Layer)) {
    const TRIGGERS: &[&str] = &[
        "%5c",
        "&#92;",
        "&#x5c;",
        "\\u005c",
        "%25",
        "%26%23",
        "%26#",
        "&amp;#",
        "&amp;amp;",
        "&amp;nbsp;",
        "&amp;quot;",
        "&#38;",
        "&#x26;",
        "&#37;",
        "&#x25;",
        "\\u0026",
        "\\u0025",
    ];
    static FINDER: std::sync::OnceLock<Option<AhoCorasick>> = std::sync::OnceLock::new();
    let finder = FINDER.get_or_init(|| AhoCorasick::builder().ascii_case_insensitive(true).build(TRIGGERS).ok());
    let Some(finder) = finder else { return };
    regions(text, finder.find_iter(text).map(|found| found.range()), |range| {
        let undone = undo(&text[range.clone()]);
        let form =
            if undone.len() < range.len() && text[range.clone()].contains("%2") { Form::Url } else { Form::Html };
        give(Layer { range, form, text: undone, view: View::Wrapped });
    });
}

/// Gives places with what stands around them, as one where they meet.
pub(super) fn regions(text: &str, places: impl Iterator<Item = Range<usize>>, mut give: impl FnMut(Range<usize>)) {
    let mut give = |range: Range<usize>| {
        give(text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end.min(text.len())));
    };
    let mut range: Option<Range<usize>> = None;
    for found in places {
        let next = found.start.saturating_sub(REACH)..found.end + REACH;
        match &mut range {
            Some(range) if next.start <= range.end => range.end = next.end,
            slot => {
                if let Some(done) = slot.replace(next) {
                    give(done);
                }
            }
        }
    }
    if let Some(range) = range {
        give(range);
    }
}

/// Puts together the strings that a program adds: `'Wel' + 'lington'`, also where each of them is a part of an encoding.
pub(super) fn joined(text: &str, mut give: impl FnMut(Layer)) {
    let bytes = text.as_bytes();
    let joint = |at: usize| -> Option<Range<usize>> {
        let is_gap = |byte: &u8| byte.is_ascii_whitespace();
        let before = bytes[at.saturating_sub(16)..at].iter().rev().take_while(|byte| is_gap(byte)).count();
        let after = bytes[at + 1..].iter().take(16).take_while(|byte| is_gap(byte)).count();
        let (from, to) = ((at - before).checked_sub(1)?, at + 1 + after);
        let is_quote = |byte: u8| matches!(byte, b'"' | b'\'' | b'`');
        (is_quote(bytes[from]) && bytes.get(to).is_some_and(|byte| is_quote(*byte))).then_some(from..to + 1)
    };
    let joints = |range: Range<usize>| {
        let places = memchr::memchr_iter(b'+', &bytes[range.clone()]);
        places.filter_map(move |at| joint(range.start + at))
    };
    regions(text, joints(0..bytes.len()), |range| {
        let (mut out, mut done) = (String::with_capacity(range.len()), range.start);
        for joint in joints(range.clone()).filter(|joint| joint.end <= range.end) {
            if joint.start >= done {
                out.push_str(&text[done..joint.start]);
                done = joint.end;
            }
        }
        out.push_str(&text[done..range.end]);
        give(Layer { range, form: Form::Json, text: out, view: View::Wrapped });
    });
}

/// Undoes quoted-printable letters, as mails write them: `Gaud=C3=AD`. What is ASCII is found as hex.
pub(super) fn quoted_printable(text: &str, mut give: impl FnMut(Layer)) {
    let bytes = text.as_bytes();
    let byte = |at: usize| -> Option<u8> {
        let digits = bytes.get(at..at + 3)?.strip_prefix(b"=")?;
        digits.iter().all(u8::is_ascii_hexdigit).then(|| unhex(digits)[0])
    };
    let is_letter =
        |at: &usize| byte(*at).is_some_and(|byte| byte >= 0xC2) && byte(at + 3).is_some_and(|byte| byte & 0xC0 == 0x80);
    let places = memchr::memchr_iter(b'=', bytes).filter(is_letter).map(|at| at..at + 6);
    regions(text, places, |range| {
        let mut out = Vec::with_capacity(range.len());
        let mut at = range.start;
        while at < range.end {
            match (byte(at), bytes[at]) {
                (Some(byte), _) => {
                    out.push(byte);
                    at += 3;
                }
                (None, b'=') if bytes[at + 1..].starts_with(b"\n") => at += 2,
                (None, b'=') if bytes[at + 1..].starts_with(b"\r\n") => at += 3,
                (None, plain) => {
                    out.push(plain);
                    at += 1;
                }
            }
        }
        give(Layer { range, form: Form::Url, text: lossy(out), view: View::Wrapped });
    });
}

/// Gives text in characters that cannot be seen: tags, and selectors of variations as bytes.
pub(super) fn unseen(text: &str, mut give: impl FnMut(Layer)) {
    let bytes = text.as_bytes();
    let mut done = 0;
    // The lead byte of all of them.
    for at in memchr::memchr_iter(0xF3, bytes) {
        if at < done {
            continue;
        }
        let (mut said, mut end) = (Vec::new(), at);
        for character in text[at..].chars() {
            match character as u32 {
                code @ 0xE0020..=0xE007E => said.push((code - 0xE0000) as u8),
                code @ 0xE0100..=0xE01EF => said.push((code - 0xE0100 + 16) as u8),
                code @ 0xFE00..=0xFE0F => said.push((code - 0xFE00) as u8),
                0x200B..=0x200F | 0x2060..=0x2064 | 0xFEFF | 0xE0001 | 0xE007F => {}
                _ => break,
            }
            end += character.len_utf8();
        }
        done = end.max(at + 1);
        if said.len() >= 4 {
            give(Layer { range: at..end, form: Form::Folded, text: lossy(said), view: View::Opaque });
        }
    }
}
