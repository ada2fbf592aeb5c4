//! What a scalar says: YAML 1.2 core, or YAML 1.1 after its directive.

use std::collections::BTreeSet;

use super::Loss;

/// Which YAML the document says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1_1,
    V1_2,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Number(f64),
    Text(Vec<u16>),
    /// A date, valid or not.
    Date,
    Bytes(Vec<u8>),
    /// The key that merges its value.
    Merge,
}

/// Reads a scalar without quotes and without a tag. `None`: it is text.
pub(super) fn plain(text: &str, version: Version, is_key: bool, losses: &mut BTreeSet<Loss>) -> Option<Scalar> {
    if let Some(scalar) = null(text).or_else(|| boolean(text, version)) {
        return Some(scalar);
    }
    if let Some(number) = integer(text, version, losses).or_else(|| float(text, version)) {
        return Some(Scalar::Number(number));
    }
    if version == Version::V1_2 {
        return None;
    }
    match text {
        "<<" if is_key => Some(Scalar::Merge),
        _ if is_timestamp(text) => Some(Scalar::Date),
        _ => sexagesimal(text).map(Scalar::Number),
    }
}

/// Reads a scalar with a tag of the YAML namespace.
///
/// `Ok(None)`: the reference does not know the tag for this text, warns, and takes the text.
pub(super) fn tagged(
    name: &str,
    text: &str,
    version: Version,
    losses: &mut BTreeSet<Loss>,
) -> Result<Option<Scalar>, &'static str> {
    let number = |number: Option<f64>| Ok(number.map(Scalar::Number));
    match name {
        "null" => Ok(null(text)),
        "bool" => Ok(boolean(text, version)),
        "int" => {
            let found = integer(text, version, losses);
            let time = || (version == Version::V1_1 && !text.contains('.')).then(|| sexagesimal(text)).flatten();
            number(found.or_else(time))
        }
        "float" => {
            let time = || (version == Version::V1_1 && text.contains('.')).then(|| sexagesimal(text)).flatten();
            number(float(text, version).or_else(time))
        }
        "timestamp" if is_timestamp(text) => Ok(Some(Scalar::Date)),
        "timestamp" => Err("a `!!timestamp` is not a date"),
        "binary" => base64(text).map(|bytes| Some(Scalar::Bytes(bytes))).ok_or("a `!!binary` is not base64"),
        "merge" => Ok(Some(Scalar::Merge)),
        _ => Ok(None),
    }
}

fn null(text: &str) -> Option<Scalar> {
    matches!(text, "" | "~" | "null" | "Null" | "NULL").then_some(Scalar::Null)
}

fn boolean(text: &str, version: Version) -> Option<Scalar> {
    let bool = match text {
        "true" | "True" | "TRUE" => true,
        "false" | "False" | "FALSE" => false,
        _ if version == Version::V1_2 => return None,
        "Y" | "y" | "Yes" | "yes" | "YES" | "On" | "on" | "ON" => true,
        "N" | "n" | "No" | "no" | "NO" | "Off" | "off" | "OFF" => false,
        _ => return None,
    };
    Some(Scalar::Bool(bool))
}

fn integer(text: &str, version: Version, losses: &mut BTreeSet<Loss>) -> Option<f64> {
    let (negative, unsigned) = sign(text);
    let (radix, digits) = match version {
        Version::V1_2 => match text.split_at_checked(2) {
            Some(("0o", digits)) => (8, digits),
            Some(("0x", digits)) => (16, digits),
            _ => (10, unsigned),
        },
        Version::V1_1 => match unsigned.as_bytes() {
            [b'0', b'b', ..] => (2, &unsigned[2..]),
            [b'0', b'x', ..] => (16, &unsigned[2..]),
            [b'0', _, ..] if unsigned[1..].bytes().all(|b| matches!(b, b'0'..=b'7' | b'_')) => (8, &unsigned[1..]),
            [b'0'..=b'9', ..] => (10, unsigned),
            _ => return None,
        },
    };
    let fits = |byte: u8| char::from(byte).is_digit(radix) || (byte == b'_' && version == Version::V1_1);
    if digits.is_empty() || !digits.bytes().all(fits) {
        return None;
    }
    let digits = digits.replace('_', "");
    let number = whole(&digits, radix, losses);
    Some(if negative { -number } else { number })
}

/// As `parseInt` reads digits: the nearest double; nothing at all is not a number.
fn whole(digits: &str, radix: u32, losses: &mut BTreeSet<Loss>) -> f64 {
    if digits.is_empty() {
        return f64::NAN;
    }
    let digits = digits.trim_start_matches('0');
    if radix == 10 {
        let number: f64 = if digits.is_empty() { 0.0 } else { digits.parse().unwrap_or(f64::INFINITY) };
        if number > MAX_SAFE && number.is_finite() {
            let mut text = Vec::new();
            proofmark_canon::json::append_number(number, &mut text);
            if text != digits.as_bytes() {
                losses.insert(Loss::Digits);
            }
        }
        return number;
    }
    // Digits of a power of two: as many as fit, then only whether any bit is left over.
    let bits = radix.trailing_zeros();
    let (mut top, mut shift, mut rest) = (0u128, 0i32, false);
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        if top >> 100 == 0 {
            top = top << bits | u128::from(digit);
        } else {
            shift = shift.saturating_add(bits as i32);
            rest |= digit != 0;
        }
    }
    let number = (top | u128::from(rest)) as f64;
    let exact = !rest && (number as u128) == top;
    if !exact && number.is_finite() {
        losses.insert(Loss::Digits);
    }
    if shift > 2000 { f64::INFINITY } else { number * 2f64.powi(shift) }
}

const MAX_SAFE: f64 = proofmark_canon::Number::MAX_SAFE as f64;

fn float(text: &str, version: Version) -> Option<f64> {
    let (negative, unsigned) = sign(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Some(if negative { f64::NEG_INFINITY } else { f64::INFINITY });
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(f64::NAN);
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (before, after) = match mantissa.split_once('.') {
        Some((before, after)) => (before, Some(after)),
        None => (mantissa, None),
    };
    let loose = version == Version::V1_1;
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || (loose && b == b'_'));
    let has_digits = !before.is_empty() || after.is_some_and(|after| !after.is_empty());
    let fits = digits(before)
        && !before.starts_with('_')
        && after.is_none_or(digits)
        && (loose || has_digits)
        && (after.is_some() || exponent.is_some())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && exponent.bytes().all(|b| b.is_ascii_digit()));
    if !fits {
        return None;
    }
    // What is left without a digit before the exponent is not a number to `parseFloat`.
    let bare = text.replace('_', "");
    Some(bare.strip_prefix('+').unwrap_or(&bare).parse().unwrap_or(f64::NAN))
}

/// `1:30:00` is 5400 in YAML 1.1.
fn sexagesimal(text: &str) -> Option<f64> {
    let (negative, unsigned) = sign(text);
    let mut parts = unsigned.split(':');
    let first = parts.next()?;
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !first.starts_with(|c: char| c.is_ascii_digit()) || !first.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        return None;
    }
    let mut number: f64 = first.replace('_', "").parse().ok()?;
    let rest: Vec<&str> = parts.collect();
    let (last, middle) = rest.split_last()?;
    let (last_whole, fraction) = match last.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|b| b.is_ascii_digit() || b == b'_') => (whole, fraction),
        Some(_) => return None,
        None => (*last, ""),
    };
    let sixty = |part: &str| is_digits(part) && (part.len() == 1 || (part.len() == 2 && part.as_bytes()[0] < b'6'));
    for part in middle {
        if !sixty(part) {
            return None;
        }
        number = number * 60.0 + part.parse::<f64>().ok()?;
    }
    if !sixty(last_whole) {
        return None;
    }
    let last: f64 = format!("{last_whole}.{}0", fraction.replace('_', "")).parse().ok()?;
    number = number * 60.0 + last;
    Some(if negative { -number } else { number })
}

/// `2001-12-14`, with a time and a zone or without.
fn is_timestamp(text: &str) -> bool {
    fn digits(rest: &mut &[u8], least: usize, most: usize) -> bool {
        let found = rest.iter().take(most).take_while(|b| b.is_ascii_digit()).count();
        *rest = &rest[found..];
        found >= least
    }
    fn take(rest: &mut &[u8], what: u8) -> bool {
        let found = rest.first() == Some(&what);
        if found {
            *rest = &rest[1..];
        }
        found
    }
    fn spaces(rest: &mut &[u8]) -> usize {
        let found = rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        *rest = &rest[found..];
        found
    }
    let mut rest = text.as_bytes();
    let r = &mut rest;
    if !(digits(r, 4, 4) && take(r, b'-') && digits(r, 1, 2) && take(r, b'-') && digits(r, 1, 2)) {
        return false;
    }
    if r.is_empty() {
        return true;
    }
    if !(take(r, b't') || take(r, b'T') || spaces(r) > 0) {
        return false;
    }
    if !(digits(r, 1, 2) && take(r, b':') && digits(r, 1, 2) && take(r, b':') && digits(r, 1, 2)) {
        return false;
    }
    if take(r, b'.') && !digits(r, 1, usize::MAX) {
        return false;
    }
    if r.is_empty() {
        return true;
    }
    spaces(r);
    if take(r, b'Z') {
        return r.is_empty();
    }
    if !(take(r, b'-') || take(r, b'+')) || !digits(r, 1, 2) {
        return false;
    }
    r.is_empty() || (take(r, b':') && digits(r, 2, 2) && r.is_empty())
}

/// Base64 as browsers forgive it: white space anywhere, padding there or not.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut symbols: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    if symbols.len().is_multiple_of(4) {
        let padding = symbols.iter().rev().take(2).take_while(|b| **b == b'=').count();
        symbols.truncate(symbols.len() - padding);
    }
    if symbols.len() % 4 == 1 {
        return None;
    }
    let (mut out, mut held, mut bits) = (Vec::with_capacity(symbols.len() / 4 * 3 + 2), 0u32, 0);
    for symbol in symbols {
        let six = match symbol {
            b'A'..=b'Z' => symbol - b'A',
            b'a'..=b'z' => symbol - b'a' + 26,
            b'0'..=b'9' => symbol - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = (held << 6 | u32::from(six)) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((held >> bits) as u8);
        }
    }
    Some(out)
}

fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str, version: Version) -> Option<f64> {
        match plain(text, version, false, &mut BTreeSet::new()) {
            Some(Scalar::Number(number)) => Some(number),
            _ => None,
        }
    }

    #[test]
    fn numbers_of_both_versions_are_those_of_the_reference() {
        for (text, old, new) in [
            ("0o17", None, Some(15.0)),
            ("017", Some(15.0), Some(17.0)),
            ("08", Some(8.0), Some(8.0)),
            ("0x_f", Some(15.0), None),
            ("0b101", Some(5.0), None),
            ("-0x10", Some(-16.0), None),
            ("1_000.5", Some(1000.5), None),
            ("1.", Some(1.0), Some(1.0)),
            (".5", Some(0.5), Some(0.5)),
            ("1e3", Some(1000.0), Some(1000.0)),
            ("1:30", Some(90.0), None),
            ("-1:30.5", Some(-90.5), None),
            ("1:60", None, None),
            ("+12", Some(12.0), Some(12.0)),
            ("_1", None, None),
            ("1e", None, None),
            ("+.nan", None, None),
        ] {
            assert_eq!(number(text, Version::V1_1), old, "1.1 {text}");
            assert_eq!(number(text, Version::V1_2), new, "1.2 {text}");
        }
        assert!(number(".", Version::V1_1).is_some_and(f64::is_nan));
        assert_eq!(number(".", Version::V1_2), None);
    }

    #[test]
    fn digits_that_a_double_cannot_hold_are_a_loss() {
        for (text, lossy) in [
            ("9007199254740991", false),
            ("9007199254740992", false),
            ("9007199254740993", true),
            ("0x20000000000000", false),
            ("0x20000000000001", true),
            ("100000000000000000000", false),
        ] {
            let mut losses = BTreeSet::new();
            plain(text, Version::V1_2, false, &mut losses);
            assert_eq!(losses.contains(&Loss::Digits), lossy, "{text}");
        }
        assert_eq!(number(&format!("0x{}", "f".repeat(100_000)), Version::V1_2), Some(f64::INFINITY));
    }

    #[test]
    fn dates_are_told_from_what_only_looks_like_one() {
        for text in
            ["2001-12-14", "2001-1-1", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43 +5", "2001-02-03 1:2:3Z"]
        {
            assert!(is_timestamp(text), "{text}");
        }
        for text in ["2001-12", "01-12-14", "2001-12-14T", "2001-12-14 21:59", "2001-12-14x", "2001-12-14 1:2:3 Q"] {
            assert!(!is_timestamp(text), "{text}");
        }
    }

    #[test]
    fn base64_is_read_with_and_without_padding() {
        for (text, bytes) in [("", &b""[..]), ("SGk=", b"Hi"), ("SGk", b"Hi"), ("S G\nk=", b"Hi"), ("SGkh", b"Hi!")] {
            assert_eq!(base64(text).as_deref(), Some(bytes), "{text}");
        }
        for text in ["S", "SG=k", "S?==", "=", "SGkh="] {
            assert_eq!(base64(text), None, "{text}");
        }
    }
}
