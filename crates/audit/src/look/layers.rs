//! Encodings within a text, undone: base64, hex, and wrappings within wrappings.

use std::ops::Range;

use aho_corasick::AhoCorasick;
use proofmark_artefact::scan::undo;
use proofmark_artefact::trajectory::Form;

use super::codes::code_lists;

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
const WORD: usize = 16;
/// How much of a run is looked at to see how it is to be read.
const SAMPLE: usize = 64;
/// The most bytes that are tried in UTF-16 without a sign that they are.
const MAX_WIDE: usize = 2048;
/// How far around a wrapping within a wrapping the text is undone.
const REACH: usize = 1024;

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
        if is_of_one_script(&unhex(&digits[..digits.len().min(4 * SAMPLE)])) {
            return wide(&unhex(&digits[..digits.len().min(2 * MAX_WIDE)])).map(|text| (Form::Hex, text));
        }
        let best = (0..2).map(|phase| unhex(&digits[phase..digits.len().min(phase + SAMPLE)]));
        let (phase, share) = best_of(best);
        if share >= 70 {
            return Some((Form::Hex, text_of(unhex(&digits[phase..]))));
        }
        if let Some(text) = wide(&unhex(&digits)) {
            return Some((Form::Hex, text));
        }
    }
    if let Some(text) = unbase32(run) {
        return Some((Form::Base64, text));
    }
    // Line breaks as JSON writes them leave an `n` behind.
    let code: Vec<u8> = unescaped(run);
    if is_of_one_script(&unbase64(&code[..code.len().min(4 * SAMPLE)]))
        && let Some(text) = wide(&unbase64(&code[..code.len().min(MAX_WIDE)]))
    {
        return Some((Form::Base64, text));
    }
    let best = (0..4).map(|phase| unbase64(code.get(phase..code.len().min(phase + SAMPLE)).unwrap_or_default()));
    let (phase, share) = best_of(best);
    if share < 70
        && let Some(text) = wide(&unbase64(code.get(..code.len().min(MAX_WIDE)).unwrap_or_default()))
    {
        return Some((Form::Base64, text));
    }
    let is_worth_it = share >= 70 || code.len() >= 4 * SAMPLE;
    is_worth_it.then(|| (Form::Base64, text_of(unbase64(&code[if share >= 70 { phase } else { 0 }..]))))
}

/// What bytes say that look like a text: in UTF-16 where every other byte is zero or a mark says so, else in UTF-8.
fn text_of(bytes: Vec<u8>) -> String {
    let zeros = |first: usize| bytes.iter().skip(first).step_by(2).take(SAMPLE).filter(|byte| **byte == 0).count();
    let units = (bytes.len() / 2).min(SAMPLE);
    let is_zero = |first: usize| units >= 3 && zeros(first) * 5 >= units * 3 && zeros(1 - first) * 5 <= units;
    match bytes.as_slice() {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        rest if is_zero(1) => utf16(rest, u16::from_le_bytes),
        rest if is_zero(0) => utf16(rest, u16::from_be_bytes),
        _ => lossy(bytes),
    }
}

/// Whether bytes are letters of one script in UTF-16: every other byte is the same, and none that a text would have.
fn is_of_one_script(bytes: &[u8]) -> bool {
    let is_same = |first: usize| {
        let every = || bytes.iter().skip(first).step_by(2);
        let Some(most) = every().nth(1).filter(|byte| !byte.is_ascii_graphic() && **byte != 0) else { return false };
        every().filter(|byte| *byte == most).count() * 10 >= every().count() * 8
    };
    bytes.len() >= 8 && (is_same(0) || is_same(1))
}

/// What bytes say that are no text in UTF-8, where they are one in UTF-16: letters of other scripts have no zeros. Nothing
/// tells which of the two orders it is when there is no mark, so that both are read where both make sense.
fn wide(bytes: &[u8]) -> Option<String> {
    if !(6..=MAX_WIDE).contains(&bytes.len()) || !bytes.len().is_multiple_of(2) {
        return None;
    }
    let is_text = |text: &String| {
        let count = text.chars().count();
        let letters = text.chars().filter(|character| {
            character.is_alphanumeric() || character.is_ascii_graphic() || character.is_whitespace()
        });
        letters.count() * 10 >= count * 9
    };
    let readings = match bytes {
        [0xFF, 0xFE, rest @ ..] => vec![utf16(rest, u16::from_le_bytes)],
        [0xFE, 0xFF, rest @ ..] => vec![utf16(rest, u16::from_be_bytes)],
        _ => vec![utf16(bytes, u16::from_le_bytes), utf16(bytes, u16::from_be_bytes)],
    };
    let texts: Vec<String> = readings.into_iter().filter(is_text).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// What a run of base32 says, when that is a text.
fn unbase32(run: &[u8]) -> Option<String> {
    let is_code = |letters: fn(&u8) -> bool| run.iter().all(|byte| letters(byte) || matches!(byte, b'2'..=b'7'));
    if run.len() < MIN_RUN || !is_code(u8::is_ascii_uppercase) && !is_code(u8::is_ascii_lowercase) {
        return None;
    }
    let mut bytes = Vec::with_capacity(run.len() / 8 * 5 + 5);
    let (mut bits, mut count) = (0u32, 0);
    for byte in run {
        let value = match byte.to_ascii_lowercase() {
            letter @ b'a'..=b'z' => letter - b'a',
            digit => digit - b'2' + 26,
        };
        (bits, count) = (bits << 5 | u32::from(value), count + 5);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
        // Words are no base32: most show it with the first letters.
        if bytes.len() == 4 && best_of([bytes.clone()].into_iter()).1 < 70 {
            return None;
        }
    }
    let is_text = |text: &String| text.chars().all(|character| !character.is_control() || character.is_whitespace());
    String::from_utf8(bytes).ok().filter(is_text)
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
fn joined(text: &str, mut give: impl FnMut(Layer)) {
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
fn quoted_printable(text: &str, mut give: impl FnMut(Layer)) {
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
fn unseen(text: &str, mut give: impl FnMut(Layer)) {
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
