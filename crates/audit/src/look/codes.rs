//! Texts as lists of character codes: `80, 97, 114`, `chr(80)+chr(97)`, `\120\141`, `01010000 01100001`.

use std::ops::Range;

/// The fewest codes that are a text: three numbers stand beside each other anywhere.
const MIN_CODES: usize = 4;
/// The most bytes between two codes: `)+String.fromCharCode(` has fewer.
const MAX_JOINT: usize = 24;
/// How many bytes are counted together, and how many digits two such blocks need for a list: four codes of two digits are in
/// three blocks at most, so that three of them are in two.
const BLOCK: usize = 64;
const DENSE: usize = 6;

/// Gives the lists of a text, each with what it says. Places without many digits are passed over.
pub(super) fn code_lists(text: &str, mut give: impl FnMut(Range<usize>, String)) {
    let bytes = text.as_bytes();
    let mut last = 0;
    let mut done = 0;
    for (number, block) in bytes.chunks(BLOCK).enumerate() {
        // In bytes, which a processor adds many of at once.
        let digits = usize::from(block.iter().map(|byte| u8::from(byte.is_ascii_digit())).sum::<u8>());
        let is_dense = last + digits >= DENSE;
        last = digits;
        if is_dense {
            let from = (number * BLOCK).saturating_sub(BLOCK).max(done);
            done = read(bytes, from, number * BLOCK + block.len(), &mut give).max(done);
        }
    }
}

/// Reads the lists that begin in a range; returns where to read on.
fn read(bytes: &[u8], from: usize, to: usize, give: &mut impl FnMut(Range<usize>, String)) -> usize {
    let mut at = from;
    while at < to {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        if at > 0 && bytes[at - 1].is_ascii_alphanumeric() {
            at = end_of_digits(bytes, at);
            continue;
        }
        let list = List::read(bytes, at);
        if list.count >= MIN_CODES {
            give(at..list.end, list.text);
        }
        at = list.end.max(end_of_digits(bytes, at));
    }
    at
}

/// How codes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Radix {
    Binary,
    Octal,
    Decimal,
}

struct List {
    text: String,
    count: usize,
    end: usize,
}

impl List {
    fn read(bytes: &[u8], start: usize) -> Self {
        let mut list = Self { text: String::new(), count: 0, end: start };
        let Some(radix) = radix(bytes, start) else { return list };
        let mut at = start;
        while let Some((character, length)) = code(&bytes[at..], radix) {
            list.text.push(character);
            list.count += 1;
            list.end = at + length;
            let rest = &bytes[list.end..];
            let joint = rest.iter().take(MAX_JOINT).take_while(|byte| is_joint(**byte)).count();
            // Eight digits are a code without anything between them too.
            if joint == 0 && radix != Radix::Binary {
                break;
            }
            at = list.end + joint;
        }
        list
    }
}

fn radix(bytes: &[u8], at: usize) -> Option<Radix> {
    let digits = end_of_digits(bytes, at) - at;
    let is_binary = |bytes: &[u8]| bytes.iter().all(|byte| matches!(byte, b'0' | b'1'));
    Some(match () {
        () if digits >= 8 && digits.is_multiple_of(8) && is_binary(&bytes[at..at + 8]) => Radix::Binary,
        () if digits == 3 && at > 0 && bytes[at - 1] == b'\\' => Radix::Octal,
        () if digits <= 5 => Radix::Decimal,
        () => return None,
    })
}

/// The character that a code at the beginning stands for, and the length of the code.
fn code(bytes: &[u8], radix: Radix) -> Option<(char, usize)> {
    let (base, most) = match radix {
        Radix::Binary => (2, 8),
        Radix::Octal => (8, 3),
        Radix::Decimal => (10, 5),
    };
    let digits = bytes.iter().take(most + 1).take_while(|byte| char::from(**byte).is_digit(base)).count();
    let length = match radix {
        Radix::Binary => (digits >= 8).then_some(8)?,
        Radix::Octal => (digits == 3).then_some(3)?,
        Radix::Decimal => (2..=most).contains(&digits).then_some(digits)?,
    };
    let text = std::str::from_utf8(&bytes[..length]).ok()?;
    let character = char::from_u32(u32::from_str_radix(text, base).ok()?)?;
    let is_text = character.is_ascii_graphic() || character == ' ' || character == '\n' || character.is_alphanumeric();
    is_text.then_some((character, length))
}

/// Whether a byte may stand between two codes: punctuation, and the letters of `chr`, `char` and `fromCharCode`.
fn is_joint(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || byte.is_ascii_punctuation() && !matches!(byte, b'%' | b'@' | b'~' | b'^')
        || b"chrCHRaAodefmStringU".contains(&byte)
}

fn end_of_digits(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        code_lists(text, |range, said| {
            assert!(text.get(range).is_some());
            found.push(said);
        });
        found
    }

    #[test]
    fn lists_of_codes_are_read_however_they_are_written() {
        let each = |with: &dyn Fn(u8) -> String, joint: &str| "Paris".bytes().map(with).collect::<Vec<_>>().join(joint);
        for list in [
            each(&|byte| byte.to_string(), ", "),
            each(&|byte| byte.to_string(), " "),
            format!("[{}]", each(&|byte| byte.to_string(), ",")),
            each(&|byte| format!("chr({byte})"), " + "),
            each(&|byte| format!("CHAR({byte})"), ","),
            each(&|byte| format!("String.fromCharCode({byte})"), "+"),
            format!("String.fromCharCode({})", each(&|byte| byte.to_string(), ",")),
            each(&|byte| format!("\\{byte:03o}"), ""),
            each(&|byte| format!("{byte:08b}"), " "),
            each(&|byte| format!("{byte:08b}"), ""),
        ] {
            for before in ["", "x ", &"The page goes on for a while. ".repeat(3)] {
                let text = format!("{before}{list} and so on");
                assert_eq!(texts(&text), ["Paris"], "{text}");
            }
        }
        assert_eq!(texts("1055, 1072, 1088, 1080, 1078"), ["Париж"]);
    }

    #[test]
    fn other_numbers_are_no_text() {
        for text in [
            "",
            "12345678901234567890",
            "1, 2, 3, 4, 5, 6, 7, 8, 9",
            "12:30 14:00 then 7",
            "9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 5, 4, 3",
        ] {
            assert_eq!(texts(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_list_across_blocks_comes_once() {
        let list: Vec<String> = (0..400).map(|at| (65 + at % 26).to_string()).collect();
        for before in 0..40 {
            let found = texts(&format!("{}{}", " ".repeat(before), list.join(",")));
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].len(), 400);
        }
    }
}
