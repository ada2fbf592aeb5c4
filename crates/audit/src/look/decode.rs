//! Runs of base64, base32 and hex, read as texts.

use proofmark_artefact::scan::sextet;
use proofmark_artefact::trajectory::Form;

/// How much of a run is looked at to see how it is to be read.
const SAMPLE: usize = 64;
/// The most bytes that are tried in UTF-16 without a sign that they are.
const MAX_WIDE: usize = 2048;
/// The shortest run of base32: five letters.
const MIN_BASE32: usize = 8;

/// Reads a run as hex or as base64, whatever gives a text; a long one that gives none is read as it stands.
pub(super) fn decode(run: &[u8]) -> Option<(Form, String)> {
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
    let (marked, rest): (&[Unit], &[u8]) = match bytes {
        [0xFF, 0xFE, rest @ ..] => (&[u16::from_le_bytes], rest),
        [0xFE, 0xFF, rest @ ..] => (&[u16::from_be_bytes], rest),
        _ => (&[u16::from_le_bytes, u16::from_be_bytes], bytes),
    };
    // Hardly anything is one: a text is made when that is known.
    let is_text = |unit: &&Unit| {
        let (mut count, mut letters) = (0, 0);
        for character in characters(rest, **unit) {
            let is_letter = character.is_alphanumeric() || character.is_ascii_graphic() || character.is_whitespace();
            (count, letters) = (count + 1, letters + usize::from(is_letter));
        }
        letters * 10 >= count * 9
    };
    let texts: Vec<String> = marked.iter().filter(is_text).map(|unit| utf16(rest, *unit)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// How two bytes are a unit of UTF-16.
type Unit = fn([u8; 2]) -> u16;

fn utf16(bytes: &[u8], unit: Unit) -> String {
    characters(bytes, unit).collect()
}

fn characters(bytes: &[u8], unit: Unit) -> impl Iterator<Item = char> {
    let units = bytes.chunks_exact(2).map(move |pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER))
}

/// What a run of base32 says, when that is a text.
fn unbase32(run: &[u8]) -> Option<String> {
    let is_code = |letters: fn(&u8) -> bool| run.iter().all(|byte| letters(byte) || matches!(byte, b'2'..=b'7'));
    if run.len() < MIN_BASE32 || !is_code(u8::is_ascii_uppercase) && !is_code(u8::is_ascii_lowercase) {
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

pub(super) fn unhex(digits: &[u8]) -> Vec<u8> {
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

pub(super) fn is_code(byte: u8) -> bool {
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

pub(super) fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
