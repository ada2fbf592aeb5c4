//! Encodings within a text, undone: base64, hex, and wrappings within wrappings.

use std::ops::Range;

use aho_corasick::AhoCorasick;
use proofmark_artefact::scan::undo;
use proofmark_artefact::trajectory::Form;

/// A part of a text with one encoding undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layer {
    /// Where it stands in the text.
    pub range: Range<usize>,
    pub form: Form,
    pub text: String,
}

/// The shortest run that is decoded: four characters have so many in two layers.
const MIN_RUN: usize = 8;
/// A shorter run than this may be a word, and is decoded when it looks like none.
const WORD: usize = 16;
/// How much of a run is looked at to see how it is to be read.
const SAMPLE: usize = 64;
/// How far around a wrapping within a wrapping the text is undone.
const REACH: usize = 1024;

/// Gives all parts of a text that hold something encoded, in order for each kind.
pub(super) fn layers(text: &str, mut give: impl FnMut(Layer)) {
    runs(text.as_bytes(), |range| {
        if let Some((form, text)) = decode(&text.as_bytes()[range.clone()]) {
            give(Layer { range, form, text });
        }
    });
    wrapped(text, give);
}

/// Gives short runs too, with what they say when all of it can be read.
pub(super) fn runs_of(content: &[u8], shortest: usize, mut give: impl FnMut(Range<usize>, Option<String>)) {
    find_runs(content, shortest, |range| {
        let readable = |text: &str| text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
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
fn is_no_word(run: &[u8]) -> bool {
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

/// Reads a run as hex or as base64, whatever gives a text; a long one that gives none is read as it stands.
fn decode(run: &[u8]) -> Option<(Form, String)> {
    let bare = run.strip_prefix(b"0x").or(run.strip_prefix(b"x")).unwrap_or(run);
    let digits: Vec<u8> = bare.iter().copied().filter(|byte| is_code(*byte)).collect();
    if digits.iter().all(u8::is_ascii_hexdigit) {
        let best = (0..2).map(|phase| unhex(&digits[phase..digits.len().min(phase + SAMPLE)]));
        let (phase, share) = best_of(best);
        if share >= 70 {
            return Some((Form::Hex, lossy(unhex(&digits[phase..]))));
        }
    }
    // Line breaks as JSON writes them leave an `n` behind.
    let code: Vec<u8> = unescaped(run);
    let best = (0..4).map(|phase| unbase64(code.get(phase..code.len().min(phase + SAMPLE)).unwrap_or_default()));
    let (phase, share) = best_of(best);
    let is_worth_it = share >= 70 || code.len() >= 4 * SAMPLE;
    is_worth_it.then(|| (Form::Base64, lossy(unbase64(&code[if share >= 70 { phase } else { 0 }..]))))
}

/// The characters of the encoding, without line breaks and escapes.
fn unescaped(run: &[u8]) -> Vec<u8> {
    let mut code = Vec::with_capacity(run.len());
    let mut at = 0;
    while at < run.len() {
        match &run[at..] {
            [b'\\', b'n' | b'r' | b't', ..] => at += 2,
            [byte, ..] => {
                if is_code(*byte) {
                    code.push(*byte);
                }
                at += 1;
            }
            [] => break,
        }
    }
    code
}

/// The reading that looks most like a text, and how many percent of it do.
fn best_of(readings: impl Iterator<Item = Vec<u8>>) -> (usize, usize) {
    let share = |bytes: &[u8]| {
        let is_text = |byte: &&u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | 0);
        let plain = bytes.iter().filter(is_text).count();
        // Letters beyond ASCII come in well-formed groups.
        let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        let is_unicode = valid + 3 >= bytes.len() && bytes.iter().filter(|byte| byte.is_ascii_control()).count() < 3;
        if is_unicode { 100 } else { (plain * 100).checked_div(bytes.len()).unwrap_or(0) }
    };
    let shares = readings.map(|bytes| share(&bytes)).enumerate();
    shares.fold((0, 0), |best, next| if next.1 > best.1 { next } else { best })
}

fn unhex(digits: &[u8]) -> Vec<u8> {
    let value = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
    digits.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}

fn unbase64(code: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(code.len() / 4 * 3 + 3);
    for group in code.chunks(4) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 6 | u32::from(sextet(*byte)));
        let bits = bits << (6 * (4 - group.len()));
        bytes.extend(&bits.to_be_bytes()[1..1 + (group.len() * 6 / 8)]);
    }
    bytes
}

/// The six bits of a base64 character of either alphabet.
fn sextet(byte: u8) -> u8 {
    match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    }
}

fn is_code(byte: u8) -> bool {
    static CODE: [bool; 256] = {
        let mut all = [false; 256];
        let mut byte = 0u8;
        while byte < 0x80 {
            all[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
            byte += 1;
        }
        all
    };
    CODE[usize::from(byte)]
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Undoes one layer of what is wrapped twice: `%2550`, `&amp;#80;`, `\u0026#80;`.
fn wrapped(text: &str, mut give: impl FnMut(Layer)) {
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
    let mut range: Option<Range<usize>> = None;
    let mut flush = |range: Range<usize>| {
        let range = text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end.min(text.len()));
        let undone = undo(&text[range.clone()]);
        let form =
            if undone.len() < range.len() && text[range.clone()].contains("%2") { Form::Url } else { Form::Html };
        give(Layer { range, form, text: undone });
    };
    for found in finder.find_iter(text) {
        let next = found.start().saturating_sub(REACH)..found.end() + REACH;
        match &mut range {
            Some(range) if next.start <= range.end => range.end = next.end,
            slot => {
                if let Some(done) = slot.replace(next) {
                    flush(done);
                }
            }
        }
    }
    if let Some(range) = range {
        flush(range);
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
