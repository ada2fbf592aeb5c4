//! Patterns that no shell expanded: `*`, `?` and `**`.

use std::path::{Path, PathBuf};

/// Whether a text is a pattern and not a name.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// A walk that found more than it may.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` leads to more than {MOST} files and folders")]
pub struct TooMany {
    pattern: String,
}

/// More entries than any folder of reports has.
pub const MOST: usize = 1_000_000;

/// Returns the files that a pattern means, sorted.
///
/// `*` and `?` stand for anything within a name, `**` for any number of folders. Names that start with a dot are found
/// only by a part that starts with one; links to folders are not followed by `**`.
pub fn expand(pattern: &str) -> Result<Vec<PathBuf>, TooMany> {
    let start = if pattern.starts_with('/') { PathBuf::from("/") } else { PathBuf::new() };
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let mut found = Vec::new();
    let mut budget = MOST;
    walk(&start, &parts, &mut found, &mut budget).ok_or_else(|| TooMany { pattern: pattern.to_owned() })?;
    found.sort();
    found.dedup();
    Ok(found)
}

/// `None` when the budget is used up.
fn walk(folder: &Path, parts: &[&str], found: &mut Vec<PathBuf>, budget: &mut usize) -> Option<()> {
    *budget = budget.checked_sub(1)?;
    let Some((part, rest)) = parts.split_first() else {
        if folder.is_file() {
            found.push(folder.to_owned());
        }
        return Some(());
    };
    if *part == "**" {
        walk(folder, rest, found, budget)?;
        for (name, path) in entries(folder) {
            let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
            if is_folder && !name.starts_with('.') {
                walk(&path, parts, found, budget)?;
            }
        }
        return Some(());
    }
    if !is_pattern(part) {
        return walk(&folder.join(part), rest, found, budget);
    }
    for (name, path) in entries(folder) {
        *budget = budget.checked_sub(1)?;
        if name.starts_with('.') == part.starts_with('.') && matches(part, &name) {
            walk(&path, rest, found, budget)?;
        }
    }
    Some(())
}

/// What is in a folder, by name. One that cannot be read is empty.
fn entries(folder: &Path) -> Vec<(String, PathBuf)> {
    let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(read) = std::fs::read_dir(shown) else { return Vec::new() };
    let mut entries: Vec<(String, PathBuf)> = read
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let path = folder.join(&name);
            Some((name.to_string_lossy().into_owned(), path))
        })
        .collect();
    entries.sort();
    entries
}

/// Whether a name fits a part of a pattern. Linear in their product at worst.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                // The last star takes one more character; earlier ones never need another look.
                Some((after, taken)) => {
                    star = Some((after, taken + 1));
                    p = after;
                    n = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_or_does_not() {
        for (pattern, name, fits) in [
            ("*", "", true),
            ("*.md", "a.md", true),
            ("*.md", "a.mdx", false),
            ("a*b*c", "aXbYbc", true),
            ("a*b*c", "aXbY", false),
            ("?", "é", true),
            ("?", "", false),
            ("**", "x", true),
            ("2026-??-*", "2026-04-22", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
        assert!(!matches(&"*a".repeat(200), &"a".repeat(150)));
    }

    #[test]
    fn files_are_found_sorted_at_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        for name in ["b.md", "a.md", "x/c.md", "x/y/d.md", "x/y/e.txt", ".hidden/f.md", "x/.g.md"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            crate::store::write_atomic(&path, b"").unwrap();
        }
        let names = |pattern: &str| -> Vec<String> {
            let found = expand(&format!("{root}/{pattern}")).unwrap();
            found.iter().map(|path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names("*.md"), ["a.md", "b.md"]);
        assert_eq!(names("**/*.md"), ["a.md", "b.md", "x/c.md", "x/y/d.md"]);
        assert_eq!(names("x/*/?.txt"), ["x/y/e.txt"]);
        assert_eq!(names("x/**"), [""; 0]);
        assert_eq!(names("x/.*"), ["x/.g.md"]);
        assert_eq!(names("nothing/*"), [""; 0]);
    }
}
