//! What a scalar says: the core schema of YAML 1.2 (§10.3.2).

use proofmark_canon::Number;
use proofmark_canon::json::append_number;

use super::error::{YamlError, excerpt};
use super::node::NodeKind;

/// Reads a plain scalar, one without quotes and without a tag.
pub(super) fn resolve_plain(text: &str) -> Result<NodeKind, YamlError> {
    if is_null(text) {
        return Ok(NodeKind::Null);
    }
    if let Some(bool) = as_bool(text) {
        return Ok(NodeKind::Bool(bool));
    }
    match as_number(text) {
        Some(number) => number.map(NodeKind::Number),
        None => Ok(NodeKind::String(text.to_owned())),
    }
}

/// Reads a scalar that has a core tag, which its text must fit.
pub(super) fn resolve_tagged(suffix: &str, text: &str) -> Result<NodeKind, YamlError> {
    let misfit = || {
        let value = if text.is_empty() { "nothing".to_owned() } else { format!("`{}`", excerpt(text)) };
        YamlError::new(format!("{value} is not a value of the tag `!!{suffix}`")).with_hint("remove the tag")
    };
    match suffix {
        "str" => Ok(NodeKind::String(text.to_owned())),
        "null" if is_null(text) => Ok(NodeKind::Null),
        "bool" => as_bool(text).map(NodeKind::Bool).ok_or_else(misfit),
        "int" if is_integer(text) => as_number(text).ok_or_else(misfit)?.map(NodeKind::Number),
        "float" if as_radix(text).is_none() => as_number(text).ok_or_else(misfit)?.map(NodeKind::Number),
        _ => Err(misfit()),
    }
}

/// The canonical text of a number, which is also what a key written as that number is called.
pub(super) fn number_text(number: Number) -> String {
    let mut text = Vec::new();
    append_number(number.get(), &mut text);
    String::from_utf8(text).unwrap_or_default()
}

/// Reads a number. `None` when the text is not one, an error when it is one that has no canonical form.
pub(super) fn as_number(text: &str) -> Option<Result<Number, YamlError>> {
    if let Some((radix, digits)) = as_radix(text) {
        // Beyond 128 bits no integer keeps its digits; what is below is judged by its decimal text.
        let decimal = u128::from_str_radix(digits, radix).map(|integer| integer.to_string());
        let number = decimal.ok().and_then(|decimal| exact_integer(&decimal));
        return Some(number.ok_or_else(|| loses_digits(text)));
    }
    if is_integer(text) {
        return Some(exact_integer(text).ok_or_else(|| loses_digits(text)));
    }
    if is_float(text) {
        let number = text.parse().ok().and_then(Number::new);
        let too_large = || {
            YamlError::new(format!("the number {} is too large", excerpt(text)))
                .with_hint("write a smaller number, or put it in quotes if it is text")
        };
        return Some(number.ok_or_else(too_large));
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        let error = YamlError::new(format!("`{text}` has no canonical form"));
        return Some(Err(error.with_hint("write a finite number, or put it in quotes if it is text")));
    }
    None
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn as_bool(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn as_radix(text: &str) -> Option<(u32, &str)> {
    let (radix, digits) = match text.split_at_checked(2)? {
        ("0o", digits) => (8, digits),
        ("0x", digits) => (16, digits),
        _ => return None,
    };
    (!digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix))).then_some((radix, digits))
}

/// `[-+]? [0-9]+`, or one of the two with a radix.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    as_radix(text).is_some() || (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    all_digits(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && all_digits(exponent))
}

/// Reads a decimal integer when no digit is lost: it is below 2^53, or is the canonical text of a double.
fn exact_integer(text: &str) -> Option<Number> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Number::from_u64(0);
    }
    // No double below 1e21 has more digits, and those above are written with an exponent.
    if digits.len() > 21 {
        return None;
    }
    let written = format!("{sign}{digits}");
    if let Some(safe) = written.parse().ok().and_then(Number::from_i64) {
        return Some(safe);
    }
    let number = written.parse().ok().and_then(Number::new)?;
    (number_text(number) == written).then_some(number)
}

fn loses_digits(text: &str) -> YamlError {
    YamlError::new(format!("the integer {} is beyond 2^53 and would lose digits", excerpt(text)))
        .with_hint("write a smaller number, or put it in quotes if it is text")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> f64 {
        match resolve_plain(text) {
            Ok(NodeKind::Number(number)) => number.get(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "the same text must give the same double")]
    fn numbers_of_the_core_schema_are_numbers() {
        for (text, value) in [
            ("0", 0.0),
            ("-0", 0.0),
            ("+12", 12.0),
            ("007", 7.0),
            ("0o17", 15.0),
            ("0xFf", 255.0),
            ("1.", 1.0),
            (".5", 0.5),
            ("-.5", -0.5),
            ("+1.5e3", 1500.0),
            ("1E-2", 0.01),
            ("0.10", 0.1),
            ("1e-400", 0.0),
            ("9007199254740991", 9_007_199_254_740_991.0),
            ("9007199254740992", 9_007_199_254_740_992.0),
            ("0x20000000000000", 9_007_199_254_740_992.0),
            ("100000000000000000000", 1e20),
        ] {
            assert_eq!(number(text), value, "{text}");
        }
    }

    #[test]
    fn what_only_yaml_1_1_reads_as_a_value_is_a_string() {
        for text in [
            "yes",
            "No",
            "on",
            "OFF",
            "y",
            "n",
            "0.1.0",
            "1_000",
            "1:30",
            "1:30:00",
            "2001-12-14",
            "0b11",
            "0o",
            "0x",
            "0o8",
            "0xg",
            "-0x1",
            "+0o7",
            "1e",
            "e5",
            ".",
            "+",
            "-",
            "+.",
            ".e5",
            "--1",
            "1e5.5",
            "tRUE",
            "nULL",
            "inf",
            "nan",
            "+.nan",
            "٣",
            "<<",
            "=",
            "NaN",
            "Infinity",
        ] {
            assert_eq!(resolve_plain(text), Ok(NodeKind::String(text.to_owned())));
        }
    }

    #[test]
    fn a_number_without_a_canonical_form_is_refused() {
        for text in ["9007199254740993", "-9007199254740993", "0x20000000000001", "1e400", "-.INF", ".nan", "+.inf"] {
            assert!(resolve_plain(text).is_err(), "{text}");
        }
        assert!(resolve_plain(&format!("1{}", "0".repeat(99))).is_err());
        assert!(resolve_plain(&"9".repeat(2_000_000)).is_err());
        assert!(resolve_plain(&format!("0x{}", "f".repeat(1_000_000))).is_err());
    }

    #[test]
    fn a_core_tag_takes_only_text_that_fits() {
        let one = || NodeKind::Number(Number::from(1));
        for (suffix, text, kind) in [
            ("str", "5", NodeKind::String("5".into())),
            ("str", "", NodeKind::String(String::new())),
            ("int", "1", one()),
            ("int", "0x1", one()),
            ("float", "1", one()),
            ("float", "1.0", one()),
            ("bool", "True", NodeKind::Bool(true)),
            ("null", "", NodeKind::Null),
        ] {
            assert_eq!(resolve_tagged(suffix, text), Ok(kind), "{suffix} {text}");
        }
        for (suffix, text) in [
            ("int", "1.0"),
            ("int", ""),
            ("int", "x"),
            ("float", "0x1"),
            ("float", ".inf"),
            ("float", "x"),
            ("bool", "yes"),
            ("null", "0"),
            ("map", "x"),
            ("seq", ""),
            ("int", "9007199254740993"),
        ] {
            assert!(resolve_tagged(suffix, text).is_err(), "{suffix} {text}");
        }
    }
}
