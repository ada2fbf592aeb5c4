//! Encodings within a text, undone: base64, hex, and wrappings within wrappings.

use std::ops::Range;

use proofmark_artefact::trajectory::Form;

use super::codes::code_lists;
use super::decode::{decode, is_code};
use super::wrapping::{joined, quoted_printable, unseen, wrapped};

/// A part of a text with one encoding undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layer {
    /// Where it stands in the text.
    pub range: Range<usize>,
    pub form: Form,
    pub text: String,
    pub view: View,
}

/// What a reader sees of an encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// Nothing of what it says: what stands around it is said of all of it.
    Opaque,
    /// The same text with signs in it: what stands around an answer is in the layer.
    Wrapped,
}

/// The shortest run that is decoded: four characters have so many in two layers.
const MIN_RUN: usize = 8;
/// A shorter run than this may be a word, and is decoded when it looks like none.
pub(super) const WORD: usize = 16;

/// Gives all parts of a text that hold something encoded, in order for each kind.
pub(super) fn layers(text: &str, mut give: impl FnMut(Layer)) {
    runs(text.as_bytes(), |range| {
        if let Some((form, text)) = decode(&text.as_bytes()[range.clone()]) {
            give(Layer { range, form, text, view: View::Opaque });
        }
    });
    code_lists(text, |range, text| give(Layer { range, form: Form::Hex, text, view: View::Opaque }));
    unseen(text, &mut give);
    wrapped(text, &mut give);
    joined(text, &mut give);
    quoted_printable(text, give);
}

/// Gives short runs too, with what they say when all of it can be read.
pub(super) fn runs_of(content: &[u8], shortest: usize, mut give: impl FnMut(Range<usize>, Option<String>)) {
    find_runs(content, shortest, |range| {
        let is_readable = |byte: u8| byte.is_ascii_graphic() || byte == b' ' || byte.is_ascii_whitespace();
        let readable = |text: &str| text.len() >= 4 && text.bytes().all(is_readable);
        let decoded =
            decode(&content[range.clone()]).map(|(_, text)| text.replace('\0', "")).filter(|text| readable(text));
        give(range, decoded);
    });
}

/// Gives the runs of characters that can be base64 or hex, lines of one block together.
fn runs(content: &[u8], mut give: impl FnMut(Range<usize>)) {
    find_runs(content, MIN_RUN, |range| {
        if range.len() >= WORD || is_no_word(&content[range.clone()]) {
            give(range);
        }
    });
}

fn find_runs(content: &[u8], shortest: usize, mut give: impl FnMut(Range<usize>)) {
    let mut done = 0;
    stretches(content, shortest, |first| {
        // The lines of a block come with the first of them.
        if first.start < done {
            return;
        }
        let (mut last, mut lines, mut to) = (first.clone(), 1, first.end);
        while let Some((next, is_line)) = next_line(content, to) {
            let end = end_of_run(content, next);
            // The lines of a block are of one length, but for the last.
            if is_line && (end - next > first.len() || last.len() < first.len()) {
                break;
            }
            lines += usize::from(is_line);
            (last, to) = (if is_line { next..end } else { last.start..end }, end);
        }
        give(first.start..to);
        // Two of them may as well be two words.
        if lines == 2 {
            [first, last].into_iter().filter(|line| line.len() >= shortest).for_each(&mut give);
        }
        done = to;
    });
}

/// Gives the stretches of nothing but such characters that are long enough, in order. Most texts have few: 64 bytes are
/// looked at together, a bit for each.
fn stretches(content: &[u8], shortest: usize, mut give: impl FnMut(Range<usize>)) {
    // Where the stretch began that the bytes before end with.
    let mut open: Option<usize> = None;
    for (number, bytes) in content.chunks(64).enumerate() {
        let base = number * 64;
        let bits = bytes.iter().rev().fold(0u64, |bits, byte| bits << 1 | u64::from(is_code(*byte)));
        let mut left = bits;
        if let Some(from) = open {
            let more = bits.trailing_ones();
            if more == 64 {
                continue;
            }
            let to = base + more as usize;
            if to - from >= shortest {
                give(from..to);
            }
            left &= !((1 << more) - 1);
        }
        // What goes on into the next bytes is not given yet.
        let tail = left.leading_ones();
        open = (tail > 0).then(|| base + 64 - tail as usize);
        left &= u64::MAX.checked_shr(tail).unwrap_or(0);
        // A bit stays where as many follow it as a stretch needs.
        let (mut starts, mut length) = (left, 1);
        while length < shortest && starts != 0 {
            let step = length.min(shortest - length);
            starts &= starts.checked_shr(step as u32).unwrap_or(0);
            length += step;
        }
        while starts != 0 {
            let from = starts.trailing_zeros();
            let to = from + (left >> from).trailing_ones();
            give(base + from as usize..base + to as usize);
            // It ends before the last bit.
            starts &= !((1 << to) - 1);
        }
    }
    if let Some(from) = open
        && content.len() - from >= shortest
    {
        give(from..content.len());
    }
}

/// Whether a short run has letters of both cases in an order that no word has, or capitals among digits.
pub(super) fn is_no_word(run: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| run.iter().any(is);
    let is_hex = run.iter().all(u8::is_ascii_hexdigit) && has(u8::is_ascii_digit);
    let rises = run.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    is_hex || rises || has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit)
}

fn end_of_run(content: &[u8], from: usize) -> usize {
    from + content[from..].iter().position(|byte| !is_code(*byte)).unwrap_or(content.len() - from)
}

/// Where a block goes on behind the end of a run, and whether that is on another line: behind a line break as it is, or
/// as JSON writes it. An escaped slash is a slash.
fn next_line(content: &[u8], at: usize) -> Option<(usize, bool)> {
    let rest = content.get(at..at + 16).unwrap_or(&content[at..]);
    let mut skipped = 0;
    let mut has_break = false;
    loop {
        match &rest[skipped..] {
            [b'\n', ..] => (has_break, skipped) = (true, skipped + 1),
            [b'\\', b'n', ..] => (has_break, skipped) = (true, skipped + 2),
            [b'\\', b'r', ..] => skipped += 2,
            [b'\\', b'/', ..] => return Some((at + skipped + 1, has_break)),
            [b'\r' | b' ' | b'\t', ..] => skipped += 1,
            [next, ..] if has_break && is_code(*next) => return Some((at + skipped, true)),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER};
    use proptest::prelude::*;

    use super::*;

    fn texts(text: &str) -> Vec<(Form, String)> {
        let mut found = Vec::new();
        layers(text, |layer| found.push((layer.form, layer.text)));
        found
    }

    #[test]
    fn runs_are_decoded_wherever_they_stand() {
        let secret = "The gold answer is Antoni Gaudí, of course";
        let code = BASE64.encode(secret.as_bytes());
        for text in [
            code.clone(),
            format!("x {code} y"),
            format!("data:text/plain;base64,{code}"),
            format!("\"{}\"", code.replace('/', "\\/")),
            code.as_bytes()
                .chunks(20)
                .map(|line| std::str::from_utf8(line).unwrap())
                .collect::<Vec<_>>()
                .join("\r\n  "),
            code.as_bytes().chunks(20).map(|line| std::str::from_utf8(line).unwrap()).collect::<Vec<_>>().join("\\n"),
            BASE64URL_NOPAD.encode(secret.as_bytes()),
        ] {
            assert_eq!(texts(&text), [(Form::Base64, secret.to_owned())], "{text}");
        }
        for phase in 1..4 {
            let glued = format!("{}{code}", &"key"[..phase]);
            assert!(texts(&glued)[0].1.contains("gold answer is"), "{glued}");
        }
        let hex = HEXLOWER.encode(secret.as_bytes());
        for text in [hex.clone(), format!("0x{hex}"), format!("a{hex}")] {
            let found = texts(&text);
            assert!(found.iter().any(|(_, text)| text.contains("gold answer")), "{text} {found:?}");
        }
    }

    #[test]
    fn ordinary_text_has_no_layers() {
        for text in [
            "",
            "The quick brown fox jumps over the lazy dog near the river bank; it was built in 1931.",
            "https://en.wikipedia.org/wiki/Antoni_Gaudi%27s_works",
            "internationalisation and counterrevolutionaries",
            "<p>a &amp; b</p> 100%",
        ] {
            assert_eq!(texts(text), [], "{text}");
        }
    }

    #[test]
    fn what_is_wrapped_twice_is_undone_once() {
        assert_eq!(texts("%2550aris"), [(Form::Url, "%50aris".to_owned())]);
        assert_eq!(texts("&amp;#80;aris"), [(Form::Html, "&#80;aris".to_owned())]);
    }

    proptest! {
        /// Looked at by 64 bytes, it is what is seen byte by byte.
        #[test]
        fn stretches_are_what_they_seem(
            pieces in prop::collection::vec((any::<bool>(), 0usize..90), 0..12), shortest in 1usize..70,
        ) {
            let content: Vec<u8> = pieces
                .iter()
                .flat_map(|(is_code, length)| std::iter::repeat_n(if *is_code { b'a' } else { b'.' }, *length))
                .collect();
            let mut found = Vec::new();
            stretches(&content, shortest, |range| found.push(range));
            let mut at = 0;
            let mut want = Vec::new();
            for part in content.split(|byte| *byte == b'.') {
                if part.len() >= shortest {
                    want.push(at..at + part.len());
                }
                at += part.len() + 1;
            }
            prop_assert_eq!(found, want);
        }
    }

    #[test]
    fn every_run_is_seen_once() {
        for length in 16..60usize {
            for before in 0..40 {
                let text = format!("{}{}{}", " ".repeat(before), "a".repeat(length), " ".repeat(20));
                let mut found = Vec::new();
                runs(text.as_bytes(), |range| found.push((range.start, range.end)));
                assert_eq!(found, vec![(before, before + length)]);
            }
        }
    }
}
