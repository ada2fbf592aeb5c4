//! Names in error messages: shown safely, and the nearest one to a typo.

/// Returns a name fit for a terminal: cut at 60 characters, control characters escaped.
pub(super) fn show(name: &str) -> String {
    show_up_to(60, name)
}

/// Returns text fit for a terminal: cut, control characters escaped.
pub(super) fn show_up_to(most: usize, text: &str) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == most {
            out.push('…');
            break;
        }
        if c.is_control() { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// Returns the names in backticks, at most a dozen of them.
pub(super) fn list(names: &[String]) -> String {
    const MOST: usize = 12;
    if names.is_empty() {
        return "nothing".to_owned();
    }
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{}`", show(name))).collect();
    let rest = names.len().saturating_sub(MOST);
    if rest == 0 { shown.join(", ") } else { format!("{} and {rest} more", shown.join(", ")) }
}

/// Returns the candidate that a typo most likely meant.
pub(super) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    const LONGEST: usize = 64;
    let wanted: Vec<char> = name.to_lowercase().chars().collect();
    if wanted.len() > LONGEST {
        return None;
    }
    let allowed = if wanted.len() < 4 { 1 } else { 2 };
    candidates
        .take(200)
        .filter(|candidate| candidate.len() <= LONGEST)
        .map(|candidate| (distance(&wanted, &candidate.to_lowercase().chars().collect::<Vec<_>>()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| show(candidate))
}

/// Edits (insert, delete, replace, swap of neighbours) between two words.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = [vec![0; b.len() + 1], (0..=b.len()).collect::<Vec<usize>>(), vec![0; b.len() + 1]];
    for (i, x) in a.iter().enumerate() {
        let [before, last, row] = &mut rows;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row[j + 1] = best;
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_name() {
        let names = ["question", "answer", "id"];
        for (typo, want) in
            [("anwser", Some("answer")), ("Question", Some("question")), ("di", Some("id")), ("gold", None)]
        {
            assert_eq!(nearest(typo, names.into_iter()).as_deref(), want, "{typo}");
        }
    }

    #[test]
    fn hostile_names_are_shown_safely() {
        assert_eq!(show("a\u{1b}[2J"), "a\\u{1b}[2J");
        assert_eq!(show(&"x".repeat(100)).chars().count(), 61);
        let many: Vec<String> = (0..20).map(|i| i.to_string()).collect();
        assert!(list(&many).ends_with("`11` and 8 more"));
        assert_eq!(list(&[]), "nothing");
    }
}
