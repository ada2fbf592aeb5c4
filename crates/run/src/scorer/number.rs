//! Numbers in running text.

/// Returns the numbers of a text, in order.
///
/// - Digits are ASCII's. `1,234.5` is one number: a comma, apostrophe, underscore or narrow space
///   stands for thousands where exactly three digits follow each one and one to three digits, not
///   starting with 0, go before. Any other comma parts two numbers: `3,14` is 3 and 14.
/// - A point is a decimal point where a digit follows. `1.2.3` (a version, a date, an address) is no number.
/// - `-`, `−` and `+` are signs where they touch the number (or its currency mark) and do not follow a word, a
///   number or a closing bracket: `3-5` is 3 and 5, `= -5` is -5.
/// - `1e5`, `1.5 × 10^3`, `1.5 \times 10^{3}`, `10^6` and `2·10⁻³` are read with their exponents.
/// - Percent and currency marks are passed over: `50%` is 50, `$5` is 5. Units too: `5km` is 5, `10k` is 10.
/// - Digits that belong to a word are no number: `H2O`, `x2`, `COVID-19`.
pub(super) fn numbers(text: &str) -> Numbers<'_> {
    Numbers { text, at: 0 }
}

/// See [`numbers`].
pub(super) struct Numbers<'t> {
    text: &'t str,
    at: usize,
}

/// A number found in a text; its value is worked out only when it is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found<'t> {
    /// Digits with a point and separators.
    mantissa: &'t str,
    negative: bool,
    exponent: i32,
}

impl Found<'_> {
    /// The nearest double; infinite when the number is too large for one.
    pub(super) fn value(&self) -> f64 {
        let mut text = String::with_capacity(self.mantissa.len() + 8);
        text.extend(self.mantissa.chars().filter(|char| char.is_ascii_digit() || *char == '.'));
        if self.exponent != 0 {
            text.push_str(&format!("e{}", self.exponent));
        }
        let size = text.parse().unwrap_or(f64::NAN);
        if self.negative { -size } else { size }
    }
}

impl<'t> Iterator for Numbers<'t> {
    type Item = Found<'t>;

    fn next(&mut self) -> Option<Found<'t>> {
        let bytes = self.text.as_bytes();
        loop {
            let digit = self.at + bytes[self.at..].iter().position(u8::is_ascii_digit)?;
            let point = digit.checked_sub(1).filter(|at| *at >= self.at && bytes[*at] == b'.');
            let start = point.filter(|at| starts_alone(self.text, *at)).unwrap_or(digit);
            if belongs_to_word(self.text, start) {
                self.at = digit + bytes[digit..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
                continue;
            }
            let end = mantissa_end(self.text, start);
            if is_point_and_digit(&bytes[end..]) {
                self.at = end + bytes[end..].iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
                continue;
            }
            let mut found =
                Found { mantissa: &self.text[start..end], negative: is_negative(self.text, start), exponent: 0 };
            self.at = end;
            if let Some((exponent, length)) = exponent(&self.text[end..]) {
                found.exponent = exponent;
                self.at += length;
            } else if let Some((exponent, length)) = times_ten_to(&self.text[end..]) {
                found.exponent = exponent;
                self.at += length;
            } else if found.mantissa == "10"
                && let Some((exponent, length)) = power(&self.text[end..])
            {
                (found.mantissa, found.exponent) = ("1", exponent);
                self.at += length;
            }
            return Some(found);
        }
    }
}

/// Whether a point at this place can open a number such as `.5`: not after a word, a number or another point.
fn starts_alone(text: &str, at: usize) -> bool {
    !before(text, at).is_some_and(|char| char.is_alphanumeric() || char == '.')
}

/// Whether the digits at this place are the tail of a word, as in `H2O` or `COVID-19`.
fn belongs_to_word(text: &str, start: usize) -> bool {
    match before(text, start) {
        Some('-' | '\u{2010}' | '\u{2011}') => {
            let hyphen = start - before(text, start).map_or(0, char::len_utf8);
            before(text, hyphen).is_some_and(char::is_alphabetic)
        }
        Some(char) => char.is_alphanumeric() || char == '_',
        None => false,
    }
}

/// Where the digits, separators and decimals that start here end.
fn mantissa_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut end = start + digits(&bytes[start..]);
    if (1..=3).contains(&(end - start))
        && bytes[start] != b'0'
        && let Some(separator) = text[end..].chars().next().filter(|char| SEPARATORS.contains(char))
    {
        while text[end..].starts_with(separator) && digits(&bytes[end + separator.len_utf8()..]) == 3 {
            end += separator.len_utf8() + 3;
        }
    }
    if is_point_and_digit(&bytes[end..]) {
        end += 1 + digits(&bytes[end + 1..]);
    }
    end
}

fn is_negative(text: &str, start: usize) -> bool {
    let mut at = start;
    let mut step_back = |wanted: fn(char) -> bool| {
        let found = before(text, at).filter(|char| wanted(*char));
        at -= found.map_or(0, char::len_utf8);
        found.is_some()
    };
    step_back(is_currency);
    let minus = step_back(|char| matches!(char, '-' | '\u{2212}' | '\u{fe63}' | '\u{ff0d}'));
    minus && !step_back(|char| char.is_alphanumeric() || matches!(char, ')' | ']' | '}' | '%' | '.' | '-' | '\u{2212}'))
}

/// Reads `e5`, `E+05`, `e−3` and returns the exponent and the bytes it took.
fn exponent(text: &str) -> Option<(i32, usize)> {
    let rest = text.strip_prefix(['e', 'E'])?;
    let (exponent, after) = signed(rest)?;
    // A letter after it makes this a unit or a hex text, not an exponent.
    (!after.starts_with(char::is_alphanumeric)).then_some((exponent, text.len() - after.len()))
}

/// Reads `× 10^3` and its spellings.
fn times_ten_to(text: &str) -> Option<(i32, usize)> {
    let rest = text.trim_start_matches(BLANKS);
    let rest = TIMES.iter().find_map(|times| rest.strip_prefix(times))?;
    let rest = rest.trim_start_matches(BLANKS).strip_prefix("10")?;
    let (exponent, length) = power(rest)?;
    Some((exponent, text.len() - rest.len() + length))
}

/// Reads `^3`, `^{-3}`, `**3`, `⁻³`.
fn power(text: &str) -> Option<(i32, usize)> {
    if let Some(rest) = text.strip_prefix('^').or_else(|| text.strip_prefix("**")) {
        let (opened, close) = match rest.as_bytes().first() {
            Some(b'{') => (&rest[1..], Some('}')),
            Some(b'(') => (&rest[1..], Some(')')),
            _ => (rest, None),
        };
        let (exponent, after) = signed(opened)?;
        let after = close.map_or(Some(after), |close| after.strip_prefix(close))?;
        return Some((exponent, text.len() - after.len()));
    }
    let unsigned = text.strip_prefix('⁻').unwrap_or(text);
    let mut exponent = 0i32;
    let mut rest = unsigned;
    while let Some(digit) = rest.chars().next().and_then(|char| SUPERSCRIPTS.iter().position(|have| *have == char)) {
        exponent = (exponent * 10 + digit as i32).min(MAX_EXPONENT);
        rest = &rest[SUPERSCRIPTS[digit].len_utf8()..];
    }
    let negative = unsigned.len() < text.len();
    (rest.len() < unsigned.len()).then_some((if negative { -exponent } else { exponent }, text.len() - rest.len()))
}

/// Reads an integer with an optional sign and returns what follows it.
fn signed(text: &str) -> Option<(i32, &str)> {
    let minus = text.strip_prefix(['-', '\u{2212}']);
    let rest = minus.or_else(|| text.strip_prefix('+')).unwrap_or(text);
    let length = digits(rest.as_bytes());
    let size =
        rest.as_bytes()[..length].iter().fold(0i32, |n, digit| (n * 10 + i32::from(digit - b'0')).min(MAX_EXPONENT));
    (length > 0).then_some((if minus.is_some() { -size } else { size }, &rest[length..]))
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn is_point_and_digit(bytes: &[u8]) -> bool {
    matches!(bytes, [b'.', digit, ..] if digit.is_ascii_digit())
}

fn before(text: &str, at: usize) -> Option<char> {
    text[..at].chars().next_back()
}

fn is_currency(char: char) -> bool {
    matches!(char, '$' | '¢' | '£' | '¤' | '¥' | '\u{20a0}'..='\u{20cf}')
}

const SEPARATORS: [char; 7] = [',', '\'', '’', '_', '\u{a0}', '\u{2009}', '\u{202f}'];
const TIMES: [&str; 8] = ["×", "x", "X", "*", "·", "⋅", "\\times", "\\cdot"];
const BLANKS: [char; 4] = [' ', '\u{a0}', '\u{2009}', '\u{202f}'];
const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
/// Beyond what any double needs, so that an exponent of a million digits costs nothing.
const MAX_EXPONENT: i32 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_where_a_reader_sees_them() {
        for (text, expected) in [
            ("", &[][..]),
            ("banana", &[]),
            ("42", &[42.0]),
            ("42.", &[42.0]),
            ("-42.50", &[-42.5]),
            ("\u{2212}5", &[-5.0]),
            ("+5", &[5.0]),
            (".5", &[0.5]),
            ("-.5", &[-0.5]),
            ("No.5", &[5.0]),
            ("1,234.5", &[1234.5]),
            ("1,234,567", &[1_234_567.0]),
            ("1'234", &[1234.0]),
            ("1_234", &[1234.0]),
            ("1\u{202f}234", &[1234.0]),
            ("1 234", &[1.0, 234.0]),
            ("3,14", &[3.0, 14.0]),
            ("1,2,3", &[1.0, 2.0, 3.0]),
            ("1,2345", &[1.0, 2345.0]),
            ("1,234,56", &[1234.0, 56.0]),
            ("0,123", &[0.0, 123.0]),
            ("1234,567", &[1234.0, 567.0]),
            ("1.2.3", &[]),
            ("192.168.0.1 and 7", &[7.0]),
            ("1e5", &[1e5]),
            ("1E-5", &[1e-5]),
            ("1e5f", &[1.0]),
            ("2em", &[2.0]),
            ("1.5 × 10^3", &[1500.0]),
            ("1.5 \\times 10^{-3}", &[0.0015]),
            ("2·10⁻³ m", &[0.002]),
            ("10^6", &[1e6]),
            ("10²", &[100.0]),
            ("3 x 4", &[3.0, 4.0]),
            ("3x10", &[3.0]),
            ("50%", &[50.0]),
            ("$5", &[5.0]),
            ("-$5", &[-5.0]),
            ("$-5", &[-5.0]),
            ("€1,000.50", &[1000.5]),
            ("3-5", &[3.0, 5.0]),
            ("3 - 5", &[3.0, 5.0]),
            ("(3)-5", &[3.0, 5.0]),
            ("--5", &[5.0]),
            ("x=-5", &[-5.0]),
            ("**-5**", &[-5.0]),
            ("\\boxed{42}", &[42.0]),
            ("5km", &[5.0]),
            ("H2O, x2, COVID-19, GPT-4", &[]),
            ("2024-01-31", &[2024.0, 1.0, 31.0]),
            ("1/2", &[1.0, 2.0]),
            ("1e999999999999999999999", &[f64::INFINITY]),
            ("0e999999999999999999999", &[0.0]),
        ] {
            let found: Vec<f64> = numbers(text).map(|found| found.value()).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn a_number_of_a_million_digits_costs_one_pass() {
        let text = "9".repeat(1_000_000);
        assert_eq!(numbers(&text).map(|found| found.value()).collect::<Vec<_>>(), [f64::INFINITY]);
        assert_eq!(numbers(&"1,".repeat(500_000)).count(), 500_000);
        assert_eq!(numbers(&"1.".repeat(500_000)).count(), 0);
        assert_eq!(numbers(&"a1".repeat(500_000)).count(), 0);
    }
}
