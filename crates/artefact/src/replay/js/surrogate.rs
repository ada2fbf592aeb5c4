//! Halves of characters: JavaScript strings can hold one alone, ours cannot.
//!
//! An escape such as `\uD800` in double quotes is half a character. The parser refuses it, so it is handed to the
//! parser as `\U0010D800`, a character of the last private plane that no document here may use, and is turned back
//! when the text becomes UTF-16.

use std::borrow::Cow;

use super::JsError;

/// The source with every escaped half replaced.
pub(super) fn hide(text: &str) -> Result<(Cow<'_, str>, bool), JsError> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut kept, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        if escape_at(bytes, at).is_some_and(|unit| (0xd800..0xe000).contains(&unit)) {
            out.push_str(&text[kept..at]);
            out.push_str("\\U0010");
            out.push_str(&text[at + 2..at + 6]);
            at += 6;
            kept = at;
        } else {
            // A backslash takes the next byte with it; that byte may start a longer character, which is no backslash.
            at += 2;
        }
    }
    if kept == 0 {
        return Ok((Cow::Borrowed(text), false));
    }
    if text.contains("\\U0010D") || text.contains("\\U0010d") || text.chars().any(is_stand_in) {
        return Err(JsError::new("halves of characters stand beside private characters that stand for them"));
    }
    out.push_str(&text[kept..]);
    Ok((Cow::Owned(out), true))
}

/// The UTF-16 units of a scalar's text. `quoted` says whether escapes were read in it.
pub(super) fn units(text: &str, quoted: bool, hidden: bool) -> Vec<u16> {
    if !hidden {
        return text.encode_utf16().collect();
    }
    if quoted {
        let mut units = Vec::with_capacity(text.len());
        for c in text.chars() {
            if is_stand_in(c) {
                units.push(u32::from(c) as u16);
            } else {
                units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
            }
        }
        return units;
    }
    // Here the escape is only text, and has to be what it was.
    text.replace("\\U0010D", "\\uD").replace("\\U0010d", "\\ud").encode_utf16().collect()
}

fn is_stand_in(c: char) -> bool {
    ('\u{10d800}'..='\u{10dfff}').contains(&c)
}

fn escape_at(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
