//! Where a name leads: to a forbidden place, or nowhere in particular.

use super::super::forbidden::{Forbidden, NUMBER, Name, Path, Place, Reach, folded, split};
use super::super::glob;
use super::super::marks::find_name;
use super::args::Kind;
use super::words::Word;

/// Where a name leads, and whether it is a pattern.
pub(super) fn place(name: &str, word: &Word, kind: Kind, forbidden: &Forbidden) -> Option<(Place, bool)> {
    let is_far = name.contains("://") && !name.starts_with("file:") && !is_of_this_machine(name);
    let found = |path: &str| -> Option<(Place, bool)> {
        let path = folded(path.trim_start_matches("file:"));
        let parts: Vec<&str> = split(&path).collect();
        let is_pattern = glob::is_pattern(&path);
        let by_path =
            || (!is_far).then(|| forbidden.paths.iter().find(|forbidden| is_under(&parts, &path, forbidden))).flatten();
        let is_named = |name: &&Name| {
            let is_local = !is_far || name.reach == Reach::Part;
            is_local && is_called(&parts, &path, name, kind, word.is_value)
        };
        let by_name = || forbidden.names.iter().find(is_named).map(|name| name.place);
        by_path().map(|path| path.place).or_else(by_name).map(|place| (place, is_pattern))
    };
    found(name).or_else(|| word.resolved.as_deref().and_then(found))
}

/// Whether an address leads to the machine itself, where a grader may listen.
fn is_of_this_machine(address: &str) -> bool {
    let host = address.split_once("://").map_or("", |(_, rest)| rest).split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    ["localhost", "127.", "0.0.0.0", "[::1]", "host.docker.internal"].iter().any(|own| host.starts_with(own))
}

/// Whether a path has a forbidden name in it.
fn is_called(parts: &[&str], path: &str, name: &Name, kind: Kind, is_value: bool) -> bool {
    let wanted: Vec<&str> = split(&name.text).collect();
    if name.reach == Reach::Variable {
        return false;
    }
    if wanted.len() > 1 || name.reach == Reach::Part {
        let is_number = |part: &str, wanted: &str| wanted == NUMBER && part.bytes().all(|byte| byte.is_ascii_digit());
        let with_extension = |part: &str, wanted: &str| {
            part.strip_prefix(wanted).and_then(|rest| rest.strip_prefix('.')).is_some_and(is_extension)
        };
        let is_run = |run: &[&str]| {
            let fixed: usize = run.iter().map(|part| glob::fixed(part)).sum();
            let agree = run.iter().zip(&wanted).all(|(part, wanted)| {
                part == wanted
                    || glob::is_pattern(part) && glob::matches(part, wanted)
                    || is_number(part, wanted)
                    || with_extension(part, wanted)
            });
            agree && fixed >= 3
        };
        let is_part = wanted.len() == 1 && parts.iter().any(|part| find_name(part, &name.text).next().is_some());
        let is_pattern = wanted.len() == 1 && parts.iter().any(|part| fits(part, &name.text));
        return is_part || is_pattern || parts.windows(wanted.len()).any(is_run);
    }
    if name.reach == Reach::Data {
        let is_data = |text: &str| matches!(text, "json" | "jsonl" | "db" | "sqlite" | "parquet");
        let last = parts.last().and_then(|last| last.rsplit_once('.')).is_some_and(|(_, extension)| is_data(extension));
        return kind != Kind::Prose
            && parts.iter().any(|part| match part.strip_prefix(name.text.as_str()) {
                Some("") => last,
                Some(rest) => rest.strip_prefix('.').is_some_and(is_data),
                None => false,
            });
    }
    let is_alone = parts.len() == 1 && !path.contains('/');
    // `grader_v2/` in a path is a grader too; `judge_rulings` are a court's.
    let is_more = kind != Kind::Prose && !is_alone && name.reach != Reach::InPath;
    let is_whole = |rest: &str| rest.is_empty() || rest.starts_with(['_', '-']) && is_more;
    parts.iter().any(|part| {
        if glob::is_pattern(part) {
            return kind != Kind::Prose && is_value && fits(part, &name.text);
        }
        let Some(rest) = part.strip_prefix(name.text.as_str()) else { return false };
        let extension = rest.strip_prefix('.').filter(|rest| is_extension(rest));
        let has_own = name.text.trim_start_matches('.').contains('.');
        // Courts have judges too, and notes on them are no programs.
        let is_note = |extension: &str| matches!(extension, "txt" | "md" | "csv" | "tsv" | "log" | "zip");
        match (name.reach, kind) {
            (Reach::InPath, _) if extension.is_some_and(is_note) => false,
            _ if extension.is_some() => true,
            _ if !is_whole(rest) => false,
            _ if has_own => true,
            (Reach::InPath, Kind::Prose) => false,
            (Reach::InPath, _) => !is_alone,
            // One word of many says nothing.
            (_, Kind::Prose) => is_alone && is_value,
            _ => is_value || !is_alone,
        }
    })
}

/// Whether a pattern with enough of a name in it takes in a file of that name: `gra*` takes in graphs and grades too.
fn fits(pattern: &str, name: &str) -> bool {
    let extensions = ["", ".py", ".ts", ".js", ".json", ".jsonl", ".sh", ".txt", ".yaml", ".db", "s", "-x", "_x"];
    let fixed = glob::fixed(pattern);
    glob::is_pattern(pattern)
        && (fixed >= 4 || fixed == 3 && glob::fixed(name) <= 4)
        && extensions.iter().any(|extension| glob::matches(pattern, &format!("{name}{extension}")))
}

fn is_extension(text: &str) -> bool {
    const KNOWN: &[&str] = &[
        "py", "ts", "js", "mjs", "json", "jsonl", "sh", "txt", "yaml", "yml", "csv", "tsv", "db", "sqlite", "parquet",
        "pem", "key", "toml", "md", "log", "pub", "rs", "go", "ipynb", "bak", "gz", "zip", "lock", "cfg", "ini",
    ];
    text.split('.').all(|part| KNOWN.contains(&part))
}

/// Whether a path is a forbidden one, or within it.
fn is_under(parts: &[&str], path: &str, forbidden: &Path) -> bool {
    let wanted = &forbidden.components;
    let agrees = |parts: &[&str], wanted: &[String]| {
        parts.len() >= wanted.len()
            && parts
                .iter()
                .zip(wanted)
                .all(|(part, wanted)| part == wanted || glob::is_pattern(part) && glob::matches(part, wanted))
            && parts.iter().take(wanted.len()).map(|part| glob::fixed(part)).sum::<usize>() >= 3
    };
    if path.starts_with('/') && forbidden.is_absolute {
        return agrees(parts, wanted);
    }
    // From a folder that is not known: two components of the path's end, or a name that is nobody else's.
    let is_own = |name: &String| {
        name.len() >= 8 && name.bytes().any(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b'_'))
    };
    let tails = (0..wanted.len()).map(|from| &wanted[from..]);
    let mut tails = tails.filter(|tail| tail.len() >= 2 || tail.iter().all(is_own));
    tails.any(|tail| (0..parts.len()).any(|at| agrees(&parts[at..], tail)))
}
