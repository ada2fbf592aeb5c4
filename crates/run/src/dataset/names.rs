//! Names from a dataset in error messages: short, and harmless on a terminal.

use proofmark_artefact::text::excerpt;

/// Returns a name as a message shows it.
pub(super) fn show(name: &str) -> String {
    excerpt(name, 60)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_shown_safely() {
        assert_eq!(show("a\u{1b}[2J"), "a\\u{1b}[2J");
        assert_eq!(show(&"x".repeat(100)).chars().count(), 61);
        let many: Vec<String> = (0..20).map(|i| i.to_string()).collect();
        assert!(list(&many).ends_with("`11` and 8 more"));
        assert_eq!(list(&[]), "nothing");
    }
}
