//! Numbers as people read them, the same everywhere.

use std::fmt::Write as _;

use proofmark_canon::json::append_number;

/// A count with its thousands apart: `12,345`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 item`, `2 items`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A part of one as a percentage: `83.3%`.
pub fn percent(part: f64) -> String {
    format!("{}%", tenths(part * 100.0))
}

/// A mean as a percentage. What is not quite all, or not quite nothing, does not look like it.
pub(crate) fn mean(part: f64) -> String {
    match percent(part) {
        text if text == "100.0%" && part < 1.0 => ">99.9%".to_owned(),
        text if text == "0.0%" && part > 0.0 => "<0.1%".to_owned(),
        text => text,
    }
}

/// A difference of parts in percentage points, with its sign: `+12.0`.
pub(crate) fn points(difference: f64) -> String {
    let text = tenths(difference * 100.0);
    if text.starts_with(MINUS) || text == "0.0" { text } else { format!("+{text}") }
}

/// A coverage such as `95%`, without decimals that say nothing.
pub(crate) fn level(level: f64) -> String {
    let mut text = plain((level * 1000.0).round() / 10.0);
    text.push('%');
    text
}

/// A value from 0 to 1 as a scorer gave it, to three decimals: `0.667`, `1`.
pub(crate) fn value(value: f64) -> String {
    plain((value * 1000.0).round() / 1000.0)
}

/// A number as the canonical files write it.
pub(crate) fn plain(number: f64) -> String {
    if !number.is_finite() {
        return "not a number".to_owned();
    }
    let mut bytes = Vec::new();
    append_number(number + 0.0, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A coordinate with at most two decimals, as part of a drawing.
pub(crate) fn coordinate(number: f64) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write!(text, "{:.2}", if number.is_finite() { number } else { 0.0 });
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

const MINUS: char = '\u{2212}';

fn tenths(number: f64) -> String {
    let text = format!("{:.1}", number.abs());
    if number < 0.0 && text != "0.0" { format!("{MINUS}{text}") } else { text }
}

/// Formats US dollars: two decimals from a dollar up, more below, so that a small sum is not nothing.
pub fn money(usd: f64) -> String {
    if usd >= 1.0 || usd <= 0.0 { format!("US$ {usd:.2}") } else { format!("US$ {usd:.4}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_thousands_apart() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (123_456, "123,456"), (1_234_567, "1,234,567")];
        for (number, want) in cases {
            assert_eq!(count(number), want);
        }
        assert_eq!(counted(1, "item", "items"), "1 item");
        assert_eq!(counted(0, "item", "items"), "0 items");
    }

    #[test]
    fn percentages_have_one_decimal_and_do_not_claim_perfection() {
        let cases = [(0.0, "0.0%"), (1.0, "100.0%"), (0.9996, ">99.9%"), (0.0004, "<0.1%"), (5.0 / 6.0, "83.3%")];
        for (part, want) in cases {
            assert_eq!(mean(part), want);
        }
        assert_eq!(percent(0.9996), "100.0%");
    }

    #[test]
    fn differences_carry_their_sign_and_zero_has_none() {
        let cases = [(0.12, "+12.0"), (-0.031, "\u{2212}3.1"), (0.0, "0.0"), (-0.0001, "0.0"), (0.0001, "0.0")];
        for (difference, want) in cases {
            assert_eq!(points(difference), want);
        }
    }

    #[test]
    fn coordinates_are_short() {
        let cases = [(0.0, "0"), (100.0, "100"), (33.333_333, "33.33"), (-0.001, "0"), (12.5, "12.5"), (f64::NAN, "0")];
        for (number, want) in cases {
            assert_eq!(coordinate(number), want);
        }
    }

    #[test]
    fn levels_and_values_are_trimmed() {
        assert_eq!((level(0.95).as_str(), level(0.999).as_str()), ("95%", "99.9%"));
        assert_eq!((value(2.0 / 3.0).as_str(), value(1.0).as_str()), ("0.667", "1"));
        assert_eq!(plain(0.7), "0.7");
    }
}
