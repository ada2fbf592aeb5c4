//! Numbers in words.

use super::formula::FRACTIONS;

/// Other ways of writing an answer that is a number, or a number for one that is in words.
pub(super) fn other_ways(answer: &str) -> Vec<String> {
    let bare: String = answer.trim().chars().filter(|character| !matches!(character, ',' | '_')).collect();
    if let Ok(number) = bare.parse::<u64>()
        && bare.len() < 16
        && (bare.len() == 1 || !bare.starts_with('0'))
    {
        return in_words(number);
    }
    let whole = |sign: char| bare.strip_suffix(sign).filter(|whole| whole.bytes().all(|byte| byte.is_ascii_digit()));
    if let Some((whole, fraction)) = FRACTIONS.iter().find_map(|(sign, fraction)| Some((whole(*sign)?, fraction))) {
        return vec![format!("{whole} {fraction}").trim().to_owned()];
    }
    value(answer).map(|number| number.to_string()).into_iter().collect()
}

/// Whether an answer is a number, in any way of writing one.
pub(super) fn is_number(answer: &str) -> bool {
    let answer = answer.trim().trim_matches(['$', '€', '£', '%', '+', '-', '−']);
    let is_part = |character: char| character.is_numeric() || ",._/ '".contains(character) || character.is_alphabetic();
    let letters = answer.chars().filter(|character| character.is_alphabetic()).count();
    answer.starts_with(char::is_numeric) && answer.chars().all(is_part) && letters <= 8 || value(answer).is_some()
}

/// The number that English words stand for: `seventeen thousand two hundred and fifty`.
pub(super) fn value(words: &str) -> Option<u64> {
    let words = words.trim().to_lowercase().replace('-', " ");
    if words.len() > 160 {
        return None;
    }
    // All together, what is below the next size, and whether a number has begun.
    let (mut sum, mut part, mut last_size, mut has_number) = (0u64, 0u64, u64::MAX, false);
    for word in words.split_whitespace() {
        if let Some(number) = SMALL.iter().position(|small| *small == word) {
            // `twenty seventeen` is no number, and neither is `five six`.
            let is_free =
                part.is_multiple_of(100) || number < 10 && number > 0 && part.is_multiple_of(10) && part % 100 >= 20;
            if !is_free || number == 0 && has_number {
                return None;
            }
            part += number as u64;
        } else if let Some(tens) = TENS.iter().position(|tens| *tens == word && !word.is_empty()) {
            if !part.is_multiple_of(100) {
                return None;
            }
            part += 10 * tens as u64;
        } else if word == "hundred" && (1..10).contains(&part) {
            part *= 100;
        } else if let Some((size, _)) = SIZES.iter().find(|(_, name)| *name == word)
            && part > 0
            && *size < last_size
        {
            sum += part * size;
            (part, last_size) = (0, *size);
        } else if word != "and" || !has_number {
            return None;
        }
        has_number = true;
    }
    has_number.then_some(sum + part)
}

const SIZES: [(u64, &str); 3] = [(1_000, "thousand"), (1_000_000, "million"), (1_000_000_000, "billion")];

/// A number in words, as America writes it and as Britain does.
fn in_words(number: u64) -> Vec<String> {
    let Some(plain) = spelled(number, " ") else { return Vec::new() };
    let with_and = spelled(number, " and ").filter(|text| *text != plain);
    [plain].into_iter().chain(with_and).collect()
}

fn spelled(number: u64, joint: &str) -> Option<String> {
    let below_thousand = |number: u64| match (number / 100, number % 100) {
        (_, 0) | (0, _) => numeral(number),
        (hundreds, rest) => Some(format!("{}{joint}{}", numeral(hundreds * 100)?, numeral(rest)?)),
    };
    let mut parts = Vec::new();
    let mut left = number;
    for (size, name) in SIZES.iter().rev() {
        if left >= *size {
            parts.push(format!("{} {name}", below_thousand(left / size)?));
            left %= size;
        }
    }
    if left > 0 || parts.is_empty() {
        let last = below_thousand(left)?;
        // `two thousand and five`
        let joint = if left < 100 && !parts.is_empty() { joint.trim() } else { "" };
        parts.push(if joint.is_empty() { last } else { format!("{joint} {last}") });
    }
    Some(parts.join(" "))
}

/// The word for a number up to a hundred or of whole hundreds below a thousand.
pub(super) fn numeral(number: u64) -> Option<String> {
    match number {
        0..20 => Some(SMALL[number as usize].to_owned()),
        20..100 if number.is_multiple_of(10) => Some(TENS[number as usize / 10].to_owned()),
        20..100 => Some(format!("{}-{}", TENS[number as usize / 10], SMALL[number as usize % 10])),
        100..1000 if number.is_multiple_of(100) => Some(format!("{} hundred", SMALL[number as usize / 100])),
        _ => None,
    }
}

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];

const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_words_and_words_have_numbers() {
        for (answer, want) in [
            ("0", vec!["zero"]),
            ("3", vec!["three"]),
            ("17", vec!["seventeen"]),
            ("40", vec!["forty"]),
            ("86", vec!["eighty-six"]),
            ("100", vec!["one hundred"]),
            ("101", vec!["one hundred one", "one hundred and one"]),
            ("2005", vec!["two thousand five", "two thousand and five"]),
            ("17,250", vec!["seventeen thousand two hundred fifty", "seventeen thousand two hundred and fifty"]),
            ("86000000", vec!["eighty-six million"]),
            ("Seventeen thousand", vec!["17000"]),
            ("one million two hundred thousand", vec!["1200000"]),
            ("two hundred and twelve", vec!["212"]),
            ("Seventeen", vec!["17"]),
            ("eighty six", vec!["86"]),
            ("½", vec!["1/2"]),
            ("2½", vec!["2 1/2"]),
            ("thousand", vec![]),
            ("five six", vec![]),
            ("twenty seventeen", vec![]),
            ("and", vec![]),
            ("zero zero", vec![]),
            ("two thousand million", vec![]),
            ("007", vec![]),
            ("", vec![]),
            ("Paris", vec![]),
            ("99999999999999999999", vec![]),
        ] {
            assert_eq!(other_ways(answer), want, "{answer}");
        }
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        for number in (0..3000).chain((0..12).map(|power| 10u64.pow(power) * 7)).chain([999_999_999_999, 1_234_567]) {
            for words in in_words(number) {
                assert_eq!(value(&words), Some(number), "{words}");
            }
        }
    }

    #[test]
    fn numbers_are_told_from_texts() {
        for answer in ["3", "17,000", "0.5", "1/2", "½", "17k", "1.5 million", "$89", "-5", "seventeen", "2½"] {
            assert!(is_number(answer), "{answer}");
        }
        for answer in ["", "Paris", "a1", "three blind mice", "2001: A Space Odyssey", "C++"] {
            assert!(!is_number(answer), "{answer}");
        }
    }
}
