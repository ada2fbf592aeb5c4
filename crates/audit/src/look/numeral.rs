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
    value(answer).map(|number| number.to_string()).into_iter().collect()
}

/// The number that words stand for: one up to a hundred or of whole hundreds, of thousands, millions or billions too.
pub(super) fn value(words: &str) -> Option<u64> {
    let words = words.trim().to_lowercase().replace([' ', '-'], "");
    let sizes = SIZES.iter().find_map(|(size, name)| Some((*size, words.strip_suffix(name)?)));
    let (size, words) = sizes.unwrap_or((1, words.as_str()));
    let small = (0..=100).chain((200..1000).step_by(100));
    let mut texts = small.filter_map(|number| Some((number, numeral(number)?)));
    texts.find(|(_, text)| text.replace([' ', '-'], "") == words).map(|(number, _)| number * size)
}

const SIZES: [(u64, &str); 3] = [(1_000, "thousand"), (1_000_000, "million"), (1_000_000_000, "billion")];

/// The word for a number up to a hundred or of whole hundreds below a thousand.
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
        100..1000 if number.is_multiple_of(100) => Some(format!("{} hundred", SMALL[number as usize / 100])),
        _ => None,
    }
}

/// A large round number with the word for its size: `17 thousand`, `seventeen thousand`, `1.2 million`.
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
        if fraction.is_empty() {
            ways.extend(numeral(whole).map(|text| format!("{text} {}", words[0])));
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
            ("300", vec!["three hundred"]),
            ("17000", vec!["17 thousand", "17 k", "seventeen thousand"]),
            ("17,000", vec!["17 thousand", "17 k", "seventeen thousand"]),
            ("86000000", vec!["86 million", "86 m", "eighty-six million"]),
            ("200000", vec!["200 thousand", "200 k", "two hundred thousand"]),
            ("Seventeen thousand", vec!["17000"]),
            ("two hundred", vec!["200"]),
            ("thousand", vec![]),
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
