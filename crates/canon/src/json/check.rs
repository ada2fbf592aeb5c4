//! Whether bytes already are canonical, without building anything.

use super::read::MAX_DEPTH;
use super::value::cmp_utf16;
use super::write::append_number;

/// The bytes are not the canonical text of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not canonical JSON at byte {offset}: {reason}")]
pub struct NotCanonical {
    pub offset: usize,
    pub reason: &'static str,
}

/// Checks that the bytes are exactly what our writer would have written for some value.
pub fn check_canonical(bytes: &[u8]) -> Result<(), NotCanonical> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| NotCanonical { offset: error.valid_up_to(), reason: "not valid UTF-8" })?;
    let mut checker = Checker { text, bytes, at: 0, scratch: Vec::new() };
    let mut outcome = checker.value(0);
    if outcome.is_ok() && checker.at < bytes.len() {
        outcome = Err("bytes after the value");
    }
    outcome.map_err(|reason| NotCanonical { offset: checker.at, reason })
}

struct Checker<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    scratch: Vec<u8>,
}

type Check<T = ()> = Result<T, &'static str>;

impl<'a> Checker<'a> {
    fn value(&mut self, depth: usize) -> Check {
        match self.here() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            _ => Err("no value here"),
        }
    }

    fn object(&mut self, depth: usize) -> Check {
        if depth >= MAX_DEPTH {
            return Err("nested too deep");
        }
        self.at += 1;
        if self.here() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        let mut last: Option<(&'a str, bool)> = None;
        loop {
            if self.here() != Some(b'"') {
                return Err("no name here");
            }
            let name = self.string()?;
            if let Some(last) = last
                && !is_before(last, name)?
            {
                return Err("names out of order or twice");
            }
            last = Some(name);
            self.take(b':')?;
            self.value(depth + 1)?;
            match self.here() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err("neither `,` nor `}`"),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Check {
        if depth >= MAX_DEPTH {
            return Err("nested too deep");
        }
        self.at += 1;
        if self.here() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            match self.here() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err("neither `,` nor `]`"),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Returns the text between the quotes as it is written, and whether it holds an escape.
    fn string(&mut self) -> Check<(&'a str, bool)> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            let rest = &self.bytes[self.at..];
            let clean = rest.iter().position(|b| *b < 0x20 || *b == b'"' || *b == b'\\').ok_or("an open string")?;
            self.at += clean;
            match rest[clean] {
                b'"' => {
                    let text = &self.text[start..self.at];
                    self.at += 1;
                    return Ok((text, escaped));
                }
                b'\\' => {
                    escaped = true;
                    self.at += self.escape_length()?;
                }
                _ => return Err("a bare control character"),
            }
        }
    }

    fn escape_length(&self) -> Check<usize> {
        let rest = &self.bytes[self.at + 1..];
        match rest.first() {
            Some(b'"' | b'\\' | b'b' | b't' | b'n' | b'f' | b'r') => Ok(2),
            Some(b'u') => match rest.get(1..5) {
                Some([b'0', b'0', high @ (b'0' | b'1'), low]) => {
                    let short = *high == b'0' && matches!(low, b'8' | b'9' | b'a' | b'c' | b'd');
                    let is_hex = matches!(low, b'0'..=b'9' | b'a'..=b'f');
                    if is_hex && !short { Ok(6) } else { Err("an escape that has a shorter form") }
                }
                _ => Err("an escape that is not needed"),
            },
            _ => Err("an escape that is not needed"),
        }
    }

    fn number(&mut self) -> Check {
        let rest = &self.bytes[self.at..];
        let length =
            rest.iter().position(|b| !matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e')).unwrap_or(rest.len());
        let text = &self.text[self.at..self.at + length];
        let bytes = text.as_bytes();
        // Up to 15 digits without a leading zero are canonical as they are.
        let plain = bytes.len() <= 15 && bytes.iter().all(u8::is_ascii_digit) && (bytes[0] != b'0' || length == 1);
        if !plain {
            let number: f64 = text.parse().map_err(|_| "no number here")?;
            if !number.is_finite() {
                return Err("a number that is too large");
            }
            self.scratch.clear();
            append_number(number, &mut self.scratch);
            if self.scratch != bytes {
                return Err("a number that is written differently");
            }
        }
        self.at += length;
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Check {
        if !self.bytes[self.at..].starts_with(word) {
            return Err("no value here");
        }
        self.at += word.len();
        Ok(())
    }

    fn take(&mut self, byte: u8) -> Check {
        if self.here() != Some(byte) {
            return Err("no `:` after a name");
        }
        self.at += 1;
        Ok(())
    }

    fn here(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}

/// Compares two names as they are written; those with escapes are read first.
fn is_before(a: (&str, bool), b: (&str, bool)) -> Check<bool> {
    if !a.1 && !b.1 {
        return Ok(cmp_utf16(a.0, b.0).is_lt());
    }
    let read = |raw: &str| match super::read::parse(format!("\"{raw}\"").as_bytes()) {
        Ok(super::value::Value::String(text)) => Ok(text),
        _ => Err("a name that cannot be read"),
    };
    Ok(cmp_utf16(&read(a.0)?, &read(b.0)?).is_lt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_text_passes_and_other_texts_do_not() {
        for text in [
            "null",
            "0",
            "-1",
            "1e+21",
            "0.000001",
            r#"{"a":[],"b":{}}"#,
            r#""\u0000\b\u001f\"é""#,
            "999999999999999",
            "9007199254740992",
        ] {
            assert_eq!(check_canonical(text.as_bytes()), Ok(()), "{text}");
        }
        for text in [
            "",
            " 1",
            "1 ",
            "01",
            "-0",
            "1.0",
            "1E5",
            "1e21",
            "100e0",
            r#"{"b":1,"a":1}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"a": 1}"#,
            "[1, 2]",
            r#""\u0041""#,
            r#""\/""#,
            r#""\u000a""#,
            r#""\u001F""#,
            "\"\t\"",
            "[1,]",
            "tru",
            "1e400",
            "+1",
            "--1",
            "9007199254740993",
        ] {
            assert!(check_canonical(text.as_bytes()).is_err(), "{text}");
        }
    }
}
