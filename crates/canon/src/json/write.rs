//! Canonical text of a value.

use super::ser::EncodeError;
use super::special::first_special;
use super::value::{Map, Number, Value};

impl Value {
    /// Returns the canonical bytes of the value.
    pub fn to_canonical(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        self.append_canonical(&mut out);
        out
    }

    /// Appends the canonical bytes of the value.
    pub fn append_canonical(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            Self::Number(number) => append_number(number.get(), out),
            Self::String(text) => append_string(text, out),
            Self::Array(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    item.append_canonical(out);
                }
                out.push(b']');
            }
            Self::Object(map) => map.append_canonical(out),
        }
    }
}

impl Map {
    /// Appends the canonical bytes of the object.
    pub fn append_canonical(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (at, (name, value)) in self.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            append_string(name, out);
            out.push(b':');
            value.append_canonical(out);
        }
        out.push(b'}');
    }
}

/// Appends a finite number as ECMAScript writes it.
pub fn append_number(number: f64, out: &mut Vec<u8>) {
    debug_assert!(number.is_finite(), "callers hold finite numbers");
    // Small integers are most of what we write; their text needs no shortest-float search.
    if number.abs() < 1e15 && number.fract() == 0.0 {
        append_integer(number as i64, out);
        return;
    }
    out.extend_from_slice(ryu_js::Buffer::new().format_finite(number).as_bytes());
}

/// Appends an integer of absolute value below 2^53.
pub(super) fn append_integer(integer: i64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = integer.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if integer < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a count.
pub fn append_count(count: u64, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match i64::try_from(count) {
        Ok(integer) if count <= Number::MAX_SAFE => append_integer(integer, out),
        _ => return Err(EncodeError::UnsafeInteger(count.to_string())),
    }
    Ok(())
}

/// Appends a string in quotes, escaping only what RFC 8785 §3.2.2.2 escapes.
pub fn append_string(text: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut clean_from = 0;
    while let Some(found) = first_special(&bytes[clean_from..]) {
        let at = clean_from + found;
        out.extend_from_slice(&bytes[clean_from..at]);
        clean_from = at + 1;
        match bytes[at] {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            control => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(control >> 4)]);
                out.push(HEX[usize::from(control & 15)]);
            }
        }
    }
    out.extend_from_slice(&bytes[clean_from..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(x: f64) -> String {
        let mut out = Vec::new();
        append_number(x, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_written_as_ecmascript_writes_them() {
        // RFC 8785 appendix B.
        for (bits, text) in [
            (0x0000_0000_0000_0000u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            assert_eq!(number(f64::from_bits(bits)), text, "{bits:x}");
        }
    }

    #[test]
    fn strings_are_escaped_as_little_as_possible() {
        let mut out = Vec::new();
        append_string("\u{0}\u{8}\t\n\u{b}\u{c}\r\u{1b}\u{7f}\"\\/<\u{2028}é😀", &mut out);
        let want = "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001b\u{7f}\\\"\\\\/<\u{2028}é😀\"";
        assert_eq!(String::from_utf8(out).unwrap(), want);
    }
}
