//! What Python's `float()`, `\s` and `str.lower()` do, as far as GAIA's scorer needs it.

/// Reads a text as Python's `float()` does, or returns `None` where it raises `ValueError`.
///
/// White space around is stripped, every Unicode decimal digit counts, single underscores may stand between
/// digits, and `inf`, `infinity` and `nan` are numbers in any case.
pub(super) fn float(text: &str) -> Option<f64> {
    let mut ascii = String::with_capacity(text.len().min(64));
    for char in text.trim().chars() {
        ascii.push(if char.is_ascii() { char } else { char::from(b'0' + decimal_digit(char)?) });
    }
    let unsigned = ascii.strip_prefix(['+', '-']).unwrap_or(&ascii);
    let is_word = ["inf", "infinity", "nan"].iter().any(|word| unsigned.eq_ignore_ascii_case(word));
    if !is_word && !is_decimal(unsigned.as_bytes()) {
        return None;
    }
    ascii.retain(|char| char != '_');
    ascii.parse().ok()
}

/// Python's `\s`: Unicode white space and the four separators U+001C to U+001F.
pub(super) fn is_space(char: char) -> bool {
    char.is_whitespace() || matches!(char, '\u{1c}'..='\u{1f}')
}

/// `digits [. digits] [e [sign] digits]`, where one side of the point may be missing.
fn is_decimal(bytes: &[u8]) -> bool {
    let (Some(whole), rest) = digits(bytes) else { return false };
    let (part, rest) = match rest.split_first() {
        Some((b'.', rest)) => {
            let (Some(part), rest) = digits(rest) else { return false };
            (part, rest)
        }
        _ => (0, rest),
    };
    if whole + part == 0 {
        return false;
    }
    match rest.split_first() {
        None => true,
        Some((b'e' | b'E', rest)) => {
            let rest = rest.strip_prefix(b"+").or_else(|| rest.strip_prefix(b"-")).unwrap_or(rest);
            matches!(digits(rest), (Some(1..), []))
        }
        Some(_) => false,
    }
}

/// Counts leading digits with single underscores between them; `None` for an underscore elsewhere.
fn digits(bytes: &[u8]) -> (Option<usize>, &[u8]) {
    let run = bytes.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'_').count();
    let (run, rest) = bytes.split_at(run);
    let misplaced = run.first() == Some(&b'_') || run.last() == Some(&b'_') || run.windows(2).any(|pair| pair == b"__");
    ((!misplaced).then(|| run.iter().filter(|byte| **byte != b'_').count()), rest)
}

fn decimal_digit(char: char) -> Option<u8> {
    let code = u32::from(char);
    let at = ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?;
    u8::try_from(code - ZEROS[at]).ok().filter(|digit| *digit < 10)
}

/// The zero of every run of ten decimal digits (general category Nd) in Unicode 16.
const ZEROS: [u32; 73] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20,
    0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0,
    0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x10d40, 0x11066, 0x110f0, 0x11136, 0x111d0,
    0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x116d0, 0x116da, 0x11730, 0x118e0, 0x11950, 0x11bf0, 0x11c50,
    0x11d50, 0x11da0, 0x11f50, 0x16a60, 0x16ac0, 0x16b50, 0x1ccf0, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6,
    0x1e140, 0x1e2f0, 0x1e4f0, 0x1e5f1, 0x1e950, 0x1fbf0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_float_where_python_says_so() {
        for (text, expected) in [
            ("17", 17.0),
            (" 17\n", 17.0),
            ("\u{a0}17\u{2009}", 17.0),
            ("+1.", 1.0),
            ("-.5", -0.5),
            ("1_7", 17.0),
            (".5_5", 0.55),
            ("1.e5", 1e5),
            ("1e1_0", 1e10),
            ("١٧", 17.0),
            ("١_٧", 17.0),
            ("１７", 17.0),
            ("𝟏𝟟", 17.0),
            ("InFinity", f64::INFINITY),
            ("-inf", f64::NEG_INFINITY),
            ("1e400", f64::INFINITY),
        ] {
            assert_eq!(float(text), Some(expected), "{text:?}");
        }
        assert!(float("+NaN").is_some_and(f64::is_nan));
    }

    #[test]
    fn a_text_is_no_float_where_python_raises() {
        for text in [
            "",
            " ",
            ".",
            "+",
            "-",
            "+-1",
            "1e",
            "e1",
            "_1",
            "1_",
            "1__7",
            "1_.7",
            "1._7",
            "1e_5",
            "1_e5",
            "1e5_",
            "in_f",
            "infin",
            "0x10",
            "1 7",
            "1,7",
            "17\u{1c}",
            "²",
            "−1",
            "1\u{66b}5",
            "ınf",
            "1e+",
            "1e5.0",
            "1.2.3",
            "1\u{0}7",
            "½",
        ] {
            assert_eq!(float(text), None, "{text:?}");
        }
    }

    #[test]
    fn zeros_are_sorted_runs_of_ten() {
        assert!(ZEROS.windows(2).all(|pair| pair[0] + 10 <= pair[1]));
        // Every run is one that the regex library knows as decimal digits.
        let nd = regex::Regex::new(r"^\p{Nd}{10}$").unwrap();
        for zero in ZEROS {
            let run: String = (zero..zero + 10).filter_map(char::from_u32).collect();
            assert!(nd.is_match(&run), "U+{zero:04X}");
        }
    }
}
