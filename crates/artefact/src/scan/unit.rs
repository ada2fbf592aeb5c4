//! The next character of a content, with or without what it is wrapped in.

use memchr::{memchr2, memmem};

use super::fold::Class;
use crate::trajectory::Form;

/// How a content is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    /// As it stands.
    Plain,
    /// With entities, percent encoding and escapes decoded.
    Decoded,
    /// The same without tags.
    Stripped,
}

/// One step through a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    /// How many bytes it takes, at least one.
    pub length: usize,
    pub what: What,
    /// What was undone to read it.
    pub undone: Option<Undone>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Char(char),
    Gap(Class),
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Undone {
    Entity,
    Percent,
    Escape,
    Tag,
}

impl Undone {
    pub(super) fn form(self) -> Form {
        match self {
            Self::Entity | Self::Tag => Form::Html,
            Self::Percent => Form::Url,
            Self::Escape => Form::Json,
        }
    }
}

/// Reads what stands at an offset, which must lie within the content.
pub(super) fn unit(content: &[u8], at: usize, mode: Mode) -> Unit {
    let rest = &content[at..];
    let decoded = match rest[0] {
        b'&' if mode >= Mode::Decoded => entity(rest),
        b'%' if mode >= Mode::Decoded => percent(rest),
        b'\\' if mode >= Mode::Decoded => escape(rest),
        b'<' if mode == Mode::Stripped => tag(rest),
        _ => None,
    };
    decoded.unwrap_or_else(|| {
        let (character, length) = character(rest);
        Unit { length, what: What::Char(character), undone: None }
    })
}

/// The first character and its length. A byte that is no UTF-8 is taken for Latin-1.
pub(super) fn character(bytes: &[u8]) -> (char, usize) {
    if bytes[0].is_ascii() {
        return (char::from(bytes[0]), 1);
    }
    // The two lengths that make up most of what is not ASCII, without the general way.
    let low = |byte: u8| u32::from(byte & 0x3F);
    let short = match bytes {
        [first @ 0xC2..=0xDF, a @ 0x80..=0xBF, ..] => Some((u32::from(first & 0x1F) << 6 | low(*a), 2)),
        [first @ 0xE1..=0xEC, a @ 0x80..=0xBF, b @ 0x80..=0xBF, ..] => {
            Some((u32::from(first & 0x0F) << 12 | low(*a) << 6 | low(*b), 3))
        }
        _ => None,
    };
    if let Some((code, width)) = short
        && let Some(character) = char::from_u32(code)
    {
        return (character, width);
    }
    let width = match bytes[0] {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    let whole = bytes.get(..width).and_then(|bytes| std::str::from_utf8(bytes).ok());
    match whole.and_then(|text| text.chars().next()) {
        Some(character) => (character, width),
        None => (char::from(bytes[0]), 1),
    }
}

fn entity(rest: &[u8]) -> Option<Unit> {
    let made = |length, what| Some(Unit { length, what, undone: Some(Undone::Entity) });
    if rest.get(1) == Some(&b'#') {
        let is_hex = matches!(rest.get(2), Some(b'x' | b'X'));
        let (from, radix) = if is_hex { (3, 16) } else { (2, 10) };
        let (code, digits) = number(&rest[from..], radix, 8)?;
        let end = from + digits;
        return made(end + usize::from(rest.get(end) == Some(&b';')), What::Char(char::from_u32(code)?));
    }
    let name = &rest[1..rest.len().min(34)];
    let length = name.iter().position(|byte| !byte.is_ascii_alphanumeric())?;
    if length < 2 || name[length] != b';' || !name[0].is_ascii_alphabetic() {
        return None;
    }
    made(length + 2, named(&name[..length]))
}

/// What an entity's name stands for, as far as folding cares: of `&eacute;` that is the letter.
fn named(name: &[u8]) -> What {
    const ACCENTS: [&[u8]; 12] = [
        b"acute", b"grave", b"circ", b"uml", b"tilde", b"cedil", b"ring", b"slash", b"caron", b"macr", b"ogon",
        b"breve",
    ];
    if ACCENTS.contains(&&name[1..]) {
        return What::Char(char::from(name[0]));
    }
    match name {
        b"nbsp" | b"ensp" | b"emsp" | b"thinsp" | b"Tab" | b"NewLine" => What::Gap(Class::Space),
        b"shy" | b"zwnj" | b"zwj" | b"lrm" | b"rlm" | b"ZeroWidthSpace" | b"NoBreak" => What::Nothing,
        b"comma" => What::Gap(Class::Comma),
        b"period" => What::Gap(Class::Dot),
        b"apos" | b"rsquo" | b"lsquo" => What::Gap(Class::Apostrophe),
        b"lowbar" => What::Gap(Class::Underscore),
        b"minus" | b"hyphen" | b"dash" | b"ndash" | b"mdash" => What::Gap(Class::Minus),
        b"plus" => What::Gap(Class::Plus),
        b"aelig" | b"AElig" => What::Char('æ'),
        b"oelig" | b"OElig" => What::Char('œ'),
        b"szlig" => What::Char('ß'),
        b"eth" | b"ETH" => What::Char('ð'),
        b"thorn" | b"THORN" => What::Char('þ'),
        b"Alpha" | b"alpha" => What::Char('α'),
        b"Beta" | b"beta" => What::Char('β'),
        b"Gamma" | b"gamma" => What::Char('γ'),
        b"Delta" | b"delta" => What::Char('δ'),
        b"Epsilon" | b"epsilon" => What::Char('ε'),
        b"Lambda" | b"lambda" => What::Char('λ'),
        b"Mu" | b"mu" | b"micro" => What::Char('μ'),
        b"Pi" | b"pi" => What::Char('π'),
        b"Sigma" | b"sigma" | b"sigmaf" => What::Char('σ'),
        b"Omega" | b"omega" => What::Char('ω'),
        _ => What::Gap(Class::Other),
    }
}

fn percent(rest: &[u8]) -> Option<Unit> {
    let byte = |at: usize| {
        let at = at * 3;
        (rest.get(at) == Some(&b'%')).then_some(())?;
        number(rest.get(at + 1..at + 3)?, 16, 2).filter(|(_, digits)| *digits == 2).map(|(byte, _)| byte as u8)
    };
    let mut bytes = [byte(0)?, 0, 0, 0];
    let mut count = 1;
    if bytes[0] >= 0x80 {
        while let Some(next) = (count < 4).then(|| byte(count)).flatten() {
            bytes[count] = next;
            count += 1;
        }
    }
    let (character, width) = character(&bytes[..count]);
    Some(Unit { length: width * 3, what: What::Char(character), undone: Some(Undone::Percent) })
}

fn escape(rest: &[u8]) -> Option<Unit> {
    // JSON within JSON doubles its backslashes.
    let slashes = rest.iter().take(16).take_while(|byte| **byte == b'\\').count();
    let made = |length, what| Some(Unit { length: slashes + length, what, undone: Some(Undone::Escape) });
    let after = &rest[slashes..];
    let hex = |digits: usize| number(after.get(1..=digits)?, 16, digits).filter(|(_, count)| *count == digits);
    match after.first()? {
        b'n' | b'r' | b't' | b'f' | b'b' | b'v' => made(1, What::Gap(Class::Space)),
        b'x' => made(3, What::Char(char::from_u32(hex(2)?.0)?)),
        b'U' => made(9, What::Char(char::from_u32(hex(8)?.0)?)),
        b'u' if after.get(1) == Some(&b'{') => {
            let (code, digits) = number(&after[2..], 16, 6)?;
            (after.get(2 + digits) == Some(&b'}')).then_some(())?;
            made(digits + 3, What::Char(char::from_u32(code)?))
        }
        b'u' => {
            let high = hex(4)?.0;
            if let Some(character) = char::from_u32(high) {
                return made(5, What::Char(character));
            }
            let second = after.get(5..)?.strip_prefix(&rest[..slashes])?.strip_prefix(b"u")?;
            let (low, _) = number(second.get(..4)?, 16, 4).filter(|(_, count)| *count == 4)?;
            let pair = char::decode_utf16([high as u16, low as u16]).next()?.ok()?;
            made(5 + slashes + 5, What::Char(pair))
        }
        _ => None,
    }
}

fn tag(rest: &[u8]) -> Option<Unit> {
    let made = |length, what| Some(Unit { length, what, undone: Some(Undone::Tag) });
    let window = &rest[1..rest.len().min(1024)];
    match window.first()? {
        b'!' if window.starts_with(b"!--") => {
            // A long comment is text that may hold something itself.
            let end = memmem::find(&window[3..window.len().min(256)], b"-->")?;
            return made(1 + 3 + end + 3, What::Nothing);
        }
        b'a'..=b'z' | b'A'..=b'Z' | b'/' | b'!' | b'?' | b'\\' => {}
        _ => return None,
    }
    // A second opening before the end: this one was no tag.
    let end = memchr2(b'<', b'>', window)?;
    if window[end] == b'<' {
        return None;
    }
    let name = window[..end].iter().skip_while(|byte| matches!(byte, b'/' | b'\\'));
    let mut lower = [0u8; 8];
    let mut length = 0;
    for byte in name.take_while(|byte| byte.is_ascii_alphanumeric()) {
        if let Some(place) = lower.get_mut(length) {
            *place = byte.to_ascii_lowercase();
        }
        length += 1;
    }
    made(end + 2, lower.get(..length).map_or(What::Gap(Class::Space), between))
}

/// What a tag leaves between the characters on its two sides.
fn between(name: &[u8]) -> What {
    const INLINE: [&[u8]; 30] = [
        b"a", b"abbr", b"b", b"bdi", b"bdo", b"big", b"cite", b"code", b"data", b"del", b"dfn", b"em", b"font", b"i",
        b"ins", b"kbd", b"mark", b"nobr", b"q", b"s", b"samp", b"small", b"span", b"strike", b"strong", b"time", b"tt",
        b"u", b"var", b"wbr",
    ];
    match name {
        // An exponent must not lengthen the number before it.
        b"sub" | b"sup" => What::Gap(Class::Other),
        _ if INLINE.contains(&name) => What::Nothing,
        _ => What::Gap(Class::Space),
    }
}

/// The number that the digits at the beginning make, and how many they are; `None` without any or with too many.
fn number(bytes: &[u8], radix: u32, most: usize) -> Option<(u32, usize)> {
    let mut number = 0u32;
    let mut count = 0;
    for byte in bytes {
        let Some(digit) = char::from(*byte).to_digit(radix) else { break };
        if count == most {
            return None;
        }
        number = number.checked_mul(radix)?.checked_add(digit)?;
        count += 1;
    }
    (count > 0).then_some((number, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn reads(text: &str, mode: Mode, length: usize, what: What) {
        let unit = unit(text.as_bytes(), 0, mode);
        assert_eq!((unit.length, unit.what), (length, what), "{text}");
    }

    #[test]
    fn wrappings_are_undone() {
        let character = |c| What::Char(c);
        for (text, length, what) in [
            ("&#80;aris", 5, character('P')),
            ("&#x50;aris", 6, character('P')),
            ("&#80 x", 4, character('P')),
            ("&eacute;", 8, character('e')),
            ("&amp;T", 5, What::Gap(Class::Other)),
            ("&nbsp;", 6, What::Gap(Class::Space)),
            ("&shy;", 5, What::Nothing),
            ("%50aris", 3, character('P')),
            ("%C3%A9t", 6, character('é')),
            ("%E9t", 3, character('é')),
            (r"\u0050a", 6, character('P')),
            (r"\\u0050a", 7, character('P')),
            (r"\ud83d\ude00", 12, character('😀')),
            (r"\u{50}", 6, character('P')),
            (r"\x50", 4, character('P')),
            (r"\U00000050", 10, character('P')),
            (r"\nYork", 2, What::Gap(Class::Space)),
        ] {
            reads(text, Mode::Decoded, length, what);
            reads(text, Mode::Stripped, length, what);
            reads(text, Mode::Plain, 1, character(text.chars().next().unwrap()));
        }
    }

    #[test]
    fn what_only_looks_wrapped_is_left_alone() {
        for text in [
            "&",
            "&#",
            "&#;",
            "&#x;",
            "&#99999999;",
            "&a;",
            "& b;",
            "%",
            "%5",
            "%zz",
            r"\",
            r"\u00",
            r"\ud83d",
            r"\ud83dx",
            r"\q",
        ] {
            reads(text, Mode::Stripped, 1, What::Char(text.chars().next().unwrap()));
        }
        for text in ["<", "< b>", "<3", "<b", "<b <i>", "<!-- x"] {
            reads(text, Mode::Stripped, 1, What::Char('<'));
        }
    }

    #[test]
    fn tags_go_and_leave_a_gap_where_a_reader_sees_one() {
        for (text, length, what) in [
            ("<b>x", 3, What::Nothing),
            ("</b>x", 4, What::Nothing),
            (r"<\/b>x", 5, What::Nothing),
            ("<SPAN class='a'>x", 16, What::Nothing),
            ("<br/>x", 5, What::Gap(Class::Space)),
            ("<td>x", 4, What::Gap(Class::Space)),
            ("<sup>2", 5, What::Gap(Class::Other)),
            ("<!-- y -->x", 10, What::Nothing),
            ("<averylongname>", 15, What::Gap(Class::Space)),
        ] {
            reads(text, Mode::Stripped, length, what);
            reads(text, Mode::Decoded, 1, What::Char('<'));
        }
    }

    proptest! {
        #[test]
        fn every_step_goes_forward_and_stays_inside(content in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"&#x;%\\u<>/!-0aD{}".to_vec())], 1..60)) {
            for mode in [Mode::Plain, Mode::Decoded, Mode::Stripped] {
                for at in 0..content.len() {
                    let unit = unit(&content, at, mode);
                    prop_assert!(unit.length > 0 && at + unit.length <= content.len());
                }
            }
        }
    }
}
