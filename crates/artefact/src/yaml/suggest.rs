//! The word that was meant.

/// Returns the candidate that a misspelt word most likely stands for.
///
/// The nearest by edit distance (insert, delete, replace, swap neighbours), and only when it is near:
/// at most two edits, or a third of a long word. Of two that are equally near the first wins.
pub fn suggest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters: Vec<char> = word.chars().take(LONGEST_WORD + 1).collect();
    if letters.len() > LONGEST_WORD {
        return None;
    }
    let limit = (letters.len() / 3).max(2);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == word || candidate.len() > 4 * LONGEST_WORD {
            continue;
        }
        let other: Vec<char> = candidate.chars().collect();
        let distance = if candidate.eq_ignore_ascii_case(word) { 0 } else { edit_distance(&letters, &other) };
        // As many edits as there are letters turn any word to any other.
        let is_near = distance <= limit && distance < letters.len().min(other.len()).max(1);
        if is_near && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Words longer than this are not misspelt keys, and comparing them costs their product.
const LONGEST_WORD: usize = 64;

/// Damerau-Levenshtein distance in its restricted form: no letter is edited twice.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, other) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(letter != other);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == b[j - 1] && a[i - 1] == *other {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_meant_and_a_far_one_is_not() {
        let keys = ["id", "name", "prompt", "scorers", "ignore_punctuation", "model", "models"];
        for (word, meant) in [
            ("promt", Some("prompt")),
            ("prmopt", Some("prompt")),
            ("scorer", Some("scorers")),
            ("Name", Some("name")),
            ("ID", Some("id")),
            ("ignore-punctuation", Some("ignore_punctuation")),
            ("ignore_punc", None),
            ("ignorePunctation", Some("ignore_punctuation")),
            ("modle", Some("model")),
            ("xy", None),
            ("temperature", None),
            ("", None),
        ] {
            assert_eq!(suggest(word, keys), meant, "{word}");
        }
        assert_eq!(suggest("id", ["id"]), None, "a word that is right needs no other");
        assert_eq!(suggest(&"p".repeat(100_000), keys), None);
    }

    #[test]
    fn a_swap_of_neighbours_is_one_edit() {
        let distance = |a: &str, b: &str| edit_distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        for (a, b, edits) in
            [("", "", 0), ("", "ab", 2), ("ab", "", 2), ("ab", "ba", 1), ("kitten", "sitting", 3), ("abc", "acb", 1)]
        {
            assert_eq!(distance(a, b), edits, "{a} {b}");
        }
    }
}
