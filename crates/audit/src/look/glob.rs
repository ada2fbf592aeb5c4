//! Patterns of names as shells read them.

/// The most names that braces are written out to.
const MAX_EXPANDED: usize = 64;
/// The longest word whose braces are written out.
const MAX_WORD: usize = 512;

/// Writes out the braces of a word: `{a,b}c` is `ac` and `bc`.
pub(super) fn expand(word: &str) -> Vec<String> {
    let mut words = vec![word.to_owned()];
    let mut at = 0;
    while at < words.len() {
        let Some((before, choices, after)) = braces(&words[at]) else {
            at += 1;
            continue;
        };
        let made: Vec<String> = choices.iter().map(|choice| format!("{before}{choice}{after}")).collect();
        if words.len() + made.len() > MAX_EXPANDED {
            break;
        }
        words.splice(at..=at, made);
    }
    words
}

/// The innermost first braces of a word: what stands before, the choices, what stands behind.
fn braces(word: &str) -> Option<(String, Vec<String>, String)> {
    if word.len() > MAX_WORD {
        return None;
    }
    let close = word.match_indices('}').map(|(at, _)| at).find(|at| word[..*at].contains('{'))?;
    let open = word[..close].rfind('{')?;
    let inner = &word[open + 1..close];
    if !inner.contains(',') {
        return None;
    }
    Some((word[..open].to_owned(), inner.split(',').map(str::to_owned).collect(), word[close + 1..].to_owned()))
}

/// Whether a name is a pattern.
pub(super) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// How many characters of a pattern's stem are fixed: `*.json` says nothing about a name.
pub(super) fn fixed(pattern: &str) -> usize {
    let stem = pattern.rsplit_once('.').map_or(pattern, |(stem, _)| stem);
    let mut count = 0;
    let mut rest = stem;
    while let Some(first) = rest.chars().next() {
        let (length, is_fixed) = match first {
            '*' | '?' => (1, false),
            '[' => match class(rest) {
                Some((members, length)) => (length, members.chars().count() == 1),
                None => (1, true),
            },
            _ => (first.len_utf8(), true),
        };
        count += usize::from(is_fixed);
        rest = &rest[length..];
    }
    count
}

/// Whether a pattern takes in a name. Both are short: time is their product at most.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    if pattern.len() > MAX_WORD || name.len() > MAX_WORD {
        return false;
    }
    let (mut pattern, mut name) = (pattern, name);
    let mut back: Option<(&str, &str)> = None;
    loop {
        if let Some(rest) = pattern.strip_prefix('*') {
            back = Some((rest, name));
            pattern = rest;
            continue;
        }
        let next = name.chars().next();
        let step = match (pattern.chars().next(), next) {
            (None, None) => return true,
            (Some('?'), Some(_)) => Some(1),
            (Some('['), Some(character)) => match class(pattern) {
                Some((members, length)) => is_member(members, character).then_some(length),
                None => (character == '[').then_some(1),
            },
            (Some(wanted), Some(character)) if wanted == character => Some(wanted.len_utf8()),
            _ => None,
        };
        match (step, next) {
            (Some(length), Some(character)) => {
                pattern = &pattern[length..];
                name = &name[character.len_utf8()..];
            }
            _ => {
                // The last star takes in one more character.
                let Some((rest, from)) = back else { return false };
                let Some(character) = from.chars().next() else { return false };
                let from = &from[character.len_utf8()..];
                back = Some((rest, from));
                (pattern, name) = (rest, from);
            }
        }
    }
}

/// The members of a class at the beginning of a pattern, and the length of all of it.
fn class(pattern: &str) -> Option<(&str, usize)> {
    let end = pattern[1..].find(']').filter(|end| *end > 0)? + 1;
    Some((&pattern[1..end], end + 1))
}

fn is_member(members: &str, character: char) -> bool {
    let (is_negated, members) = match members.strip_prefix(['!', '^']) {
        Some(rest) => (true, rest),
        None => (false, members),
    };
    let characters: Vec<char> = members.chars().collect();
    let mut is_in = false;
    let mut at = 0;
    while at < characters.len() {
        if at + 2 < characters.len() && characters[at + 1] == '-' {
            is_in |= (characters[at]..=characters[at + 2]).contains(&character);
            at += 3;
        } else {
            is_in |= characters[at] == character;
            at += 1;
        }
    }
    is_in != is_negated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_take_in_names_as_shells_do() {
        for (pattern, name, want) in [
            ("judg*", "judgments", true),
            ("j*dge*", "judge-cache", true),
            ("gr?der", "grader", true),
            ("[g]rader", "grader", true),
            ("[a-h]rader", "grader", true),
            ("[!g]rader", "grader", false),
            ("*", "", true),
            ("**a", "a", true),
            ("", "", true),
            ("a", "", false),
            ("gr[", "gr[", true),
            ("grade", "grader", false),
            ("é?", "éx", true),
        ] {
            assert_eq!(matches(pattern, name), want, "{pattern} {name}");
        }
        assert!(!matches(&"*a".repeat(200), &"b".repeat(500)));
    }

    #[test]
    fn only_what_is_fixed_in_a_stem_counts() {
        for (pattern, want) in [("*.json", 0), ("judg*", 4), ("[g]ra*", 3), ("g[ra]*.py", 1), ("???", 0), ("", 0)] {
            assert_eq!(fixed(pattern), want, "{pattern}");
        }
    }

    #[test]
    fn braces_are_written_out() {
        assert_eq!(expand("{gra,x}der"), ["grader", "xder"]);
        let mut nested = expand("a{b,c{d,e}}");
        nested.sort();
        nested.dedup();
        assert_eq!(nested, ["ab", "acd", "ace"]);
        assert_eq!(expand("${HOME}/x"), ["${HOME}/x"]);
        assert_eq!(expand("}{,"), ["}{,"]);
        assert!(expand(&"{a,b}".repeat(40)).len() <= 64);
    }
}
