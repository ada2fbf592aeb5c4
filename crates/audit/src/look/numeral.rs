//! Numbers in words.

/// Other ways of writing an answer that is a number, or a number for one that is in words.
pub(super) fn other_ways(answer: &str) -> Vec<String> {
    let bare: String = answer.trim().chars().filter(|character| !matches!(character, ',' | '_')).collect();
    if let Ok(number) = bare.parse::<u64>()
        && bare.len() < 16
        && (bare.len() == 1 || !bare.starts_with('0'))
    {
        return numeral(number).into_iter().chain(rounded(number)).collect();
    }
    let words = answer.trim().to_lowercase().replace([' ', '-'], "");
    (0..=100)
        .find(|number| numeral(*number).is_some_and(|text| text.replace([' ', '-'], "") == words))
        .map(|number| number.to_string())
        .into_iter()
        .collect()
}

/// The word for a number up to a hundred.
pub(super) fn numeral(number: u64) -> Option<String> {
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
    match number {
        0..20 => Some(SMALL[number as usize].to_owned()),
        20..100 if number.is_multiple_of(10) => Some(TENS[number as usize / 10].to_owned()),
        20..100 => Some(format!("{}-{}", TENS[number as usize / 10], SMALL[number as usize % 10])),
        100 => Some("one hundred".to_owned()),
        _ => None,
    }
}

/// A large round number with the word for its size: `17 thousand`, `1.2 million`.
fn rounded(number: u64) -> Vec<String> {
    let mut ways = Vec::new();
    for (size, words) in [(1_000, ["thousand", "k"]), (1_000_000, ["million", "m"]), (1_000_000_000, ["billion", "bn"])]
    {
        // Three digits behind the point at most: nobody writes more.
        if number < size || !number.is_multiple_of(size / 1000) || number / size >= 1000 {
            continue;
        }
        let (whole, rest) = (number / size, number % size / (size / 1000));
        let fraction = format!("{rest:03}");
        let fraction = fraction.trim_end_matches('0');
        let text = if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{fraction}") };
        if text.len() <= 5 {
            ways.extend(words.map(|word| format!("{text} {word}")));
        }
    }
    ways
}

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
            ("17000", vec!["17 thousand", "17 k"]),
            ("17,000", vec!["17 thousand", "17 k"]),
            ("1200000", vec!["1.2 million", "1.2 m"]),
            ("Seventeen", vec!["17"]),
            ("eighty six", vec!["86"]),
            ("101", vec![]),
            ("007", vec![]),
            ("", vec![]),
            ("Paris", vec![]),
            ("99999999999999999999", vec![]),
        ] {
            assert_eq!(other_ways(answer), want, "{answer}");
        }
    }
}
