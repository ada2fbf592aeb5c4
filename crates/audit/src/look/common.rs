//! Answers that are everywhere, so that finding one says nothing.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use proofmark_artefact::scan::Plain;

use super::numeral::value;

/// How much it says that a text stands somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Short, or a word or number that any text may hold.
    Common,
    /// Hardly there by chance.
    Distinctive,
}

/// Weighs an answer as it is written somewhere.
pub(super) fn weigh(text: &str) -> Weight {
    let plain = Plain::words(text);
    // In words, or with a word for its size, a number is as common as in digits.
    let words: Vec<&str> = plain.text().split(' ').filter(|word| !word.is_empty()).collect();
    let characters = words.iter().map(|word| word.chars().count()).sum::<usize>();
    let joined = words.concat();
    if let Some(digits) = value(plain.text()).map(|number| number.to_string()).or_else(|| sized(text)) {
        return if is_common_number(&digits, &digits) { Weight::Common } else { Weight::Distinctive };
    }
    let is_common = match words.as_slice() {
        _ if joined.bytes().all(|byte| byte.is_ascii_digit()) => is_common_number(text, &joined),
        // A character of a script without spaces says as much as two letters.
        _ if characters < 4 => characters < 2 || joined.is_ascii(),
        words => words.len() <= 3 && words.iter().all(|word| is_common_word(word)),
    };
    if is_common { Weight::Common } else { Weight::Distinctive }
}

/// The digits of a number with a letter or a word for its size: `17k`, `1.5 million`. `17m` may as well be a length, and `5B`
/// a name: they are as common as the number before the letter.
fn sized(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches(['$', '€', '£']);
    let number = text.trim_end_matches(char::is_alphabetic);
    let power = match text[number.len()..].to_lowercase().as_str() {
        "k" | "thousand" | "thousands" | "tausend" => 3,
        "m" if text.ends_with('M') => 6,
        "mn" | "mio" | "mln" | "million" | "millions" => 6,
        "bn" | "mrd" | "billion" | "billions" => 9,
        "m" | "b" => 0,
        _ => return None,
    };
    let (whole, fraction) = number.trim().split_once(['.', ',']).unwrap_or((number.trim(), ""));
    let is_digits = |text: &str| text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    Some(format!("{whole}{fraction:0<power$}"))
}

/// Up to three digits, years and powers of ten.
fn is_common_number(text: &str, digits: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.bytes().any(|byte| matches!(byte, b'1'..=b'9')) {
        return digits.trim_start_matches('0').len() <= 3;
    }
    let count = whole.bytes().filter(u8::is_ascii_digit).count();
    let digits = if fraction.is_empty() { digits } else { &digits[..count.min(digits.len())] };
    let digits = digits.trim_start_matches('0');
    match digits.len() {
        0..=3 => true,
        4 => ("1000"..="2100").contains(&digits),
        5..=7 => digits.trim_end_matches('0') == "1",
        _ => false,
    }
}

fn is_common_word(word: &str) -> bool {
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return word.len() <= 4;
    }
    word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_lowercase()) || words().contains(word)
}

fn words() -> &'static BTreeSet<&'static str> {
    static SET: OnceLock<BTreeSet<&'static str>> = OnceLock::new();
    SET.get_or_init(|| WORDS.split_whitespace().collect())
}

/// Words that instructions, descriptions of tools and pages of any kind hold.
const WORDS: &str = include_str!("common-words.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_words() {
        assert!(words().len() > 900);
        assert!(words().iter().all(|word| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase())));
    }

    #[test]
    fn what_is_everywhere_is_common() {
        for text in [
            "",
            "3",
            "17",
            "100",
            "999",
            "1984",
            "2023",
            "1,984",
            "10000",
            "1000000",
            "3.0",
            "17.00",
            "yes",
            "No",
            "True",
            "B",
            "b)",
            "USA",
            "z9",
            "right",
            "Research",
            "Monday",
            "the answer",
            "北",
            "C++",
            "12%",
            "0",
            "one two",
            "one thousand",
            "two thousand",
            "three hundred",
            "one hundred and twenty-one",
            "10k",
            "17m",
            "7B",
            "1/2",
            "½",
            "1M",
            "-",
        ] {
            assert_eq!(weigh(text), Weight::Common, "{text}");
        }
    }

    #[test]
    fn what_is_someones_own_is_not() {
        for text in [
            "Paris",
            "Antoni Gaudi",
            "17000",
            "17,000",
            "seventeen thousand",
            "twenty-five million",
            "2101",
            "1234.5",
            "a1, b2",
            "AT&T lab",
            "北京",
            "egalitarian",
            "THE CASTLE",
            "Wojciech",
            "0.1777",
            "17k",
            "1.5M",
            "1.5 million",
            "17 thousand",
            "12345678",
        ] {
            assert_eq!(weigh(text), Weight::Distinctive, "{text}");
        }
    }
}
