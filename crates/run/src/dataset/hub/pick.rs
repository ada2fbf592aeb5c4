//! Which files of a repository hold a split.
//!
//! `data_files` names them, as paths or with `*` for anything within one part of a path. Otherwise the files of split
//! `S` are those of one folder that are called `S.ext`, `S-….ext`, or `S/….ext`, of one extension. The
//! folder is `C` or `data/C` for a configuration `C`; without one it is the root or `data`, or else the only folder that fits.
//! Anything that fits in two ways is an error: guessing would make the data depend on the guess.

use std::collections::BTreeMap;

use proofmark_artefact::path::RelPath;
use proofmark_artefact::suite::config::Format;
use proofmark_artefact::suite::plan::DatasetPlan;

use super::Entry;
use super::error::HubProblem;
use crate::dataset::gaia;
use crate::dataset::names::show;
use crate::dataset::source::Kind;

/// The split that is read when the suite names none.
const DEFAULT_SPLIT: &str = "test";

/// Returns how a file is read, by its extension.
pub(super) fn kind_of(path: &RelPath, delimiter: u8) -> Option<Kind> {
    match extension(path.as_str())? {
        "parquet" => Some(Kind::Parquet),
        "jsonl" | "ndjson" | "json" => Some(Kind::Jsonl),
        "csv" => Some(Kind::Csv { delimiter }),
        "tsv" => Some(Kind::Csv { delimiter: b'\t' }),
        _ => None,
    }
}

/// Returns the files to read, in the order in which they are read.
pub(super) fn pick<'a>(entries: &'a [Entry], plan: &DatasetPlan) -> Result<Vec<&'a Entry>, HubProblem> {
    if plan.format == Format::Gaia {
        return metadata(entries, plan);
    }
    if let Some(patterns) = &plan.data_files {
        return named(entries, patterns);
    }
    let split = plan.split.as_deref().unwrap_or(DEFAULT_SPLIT);
    let config = plan.config.as_deref();
    let wanted = match config {
        Some(config) => format!("config `{}`, split `{}`", show(config), show(split)),
        None => format!("split `{}`", show(split)),
    };
    let mut sets: BTreeMap<(&str, Form, &str), Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        if let Some((folder, form, extension)) = fit(entry.path.as_str(), split) {
            sets.entry((folder, form, extension)).or_default().push(entry);
        }
    }
    let in_folders = |folders: &[String]| -> Vec<_> {
        sets.iter().filter(|((folder, ..), _)| folders.iter().any(|f| f == folder)).collect()
    };
    let mut fitting = match config {
        Some(config) => in_folders(&[config.to_owned(), format!("data/{config}")]),
        None => in_folders(&[String::new(), "data".to_owned()]),
    };
    if fitting.is_empty() && config.is_none() {
        fitting = sets.iter().collect();
    }
    match fitting.as_slice() {
        [] => Err(nothing_fits(entries, wanted)),
        [(_, files)] => complete(files),
        several => Err(HubProblem::Ambiguous {
            wanted,
            candidates: several.iter().filter_map(|(_, files)| Some(files.first()?.path.to_string())).collect(),
        }),
    }
}

/// The file that GAIA's layout has for a configuration and split.
fn metadata<'a>(entries: &'a [Entry], plan: &DatasetPlan) -> Result<Vec<&'a Entry>, HubProblem> {
    let entry = |path: &RelPath| entries.iter().find(|entry| entry.path == *path);
    let found = gaia::metadata(plan, |path| entry(path).is_some()).ok().and_then(|(path, _)| entry(&path));
    let wanted = || {
        let name = |text: &Option<String>| show(text.as_deref().unwrap_or_default());
        format!("GAIA, config `{}`, split `{}`", name(&plan.config), name(&plan.split))
    };
    found.map(|entry| vec![entry]).ok_or_else(|| nothing_fits(entries, wanted()))
}

/// How a name says its split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    /// `S.ext`
    Whole,
    /// `S-….ext`
    Sharded,
    /// `S/….ext`
    Folder,
}

/// Returns the folder, form and extension under which a path belongs to a split.
fn fit<'a>(path: &'a str, split: &str) -> Option<(&'a str, Form, &'a str)> {
    let extension = extension(path)?;
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = &name[..name.len() - extension.len() - 1];
    if stem == split {
        return Some((folder, Form::Whole, extension));
    }
    if stem.strip_prefix(split).is_some_and(|rest| rest.starts_with('-')) {
        return Some((folder, Form::Sharded, extension));
    }
    let (above, last) = folder.rsplit_once('/').unwrap_or(("", folder));
    (last == split).then_some((above, Form::Folder, extension))
}

/// The extension of a data file.
fn extension(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    let is_data = matches!(extension, "parquet" | "jsonl" | "ndjson" | "json" | "csv" | "tsv");
    (is_data && !stem.is_empty() && !path.split('/').any(|part| part.starts_with('.'))).then_some(extension)
}

/// Checks that a set of shards (`…-00000-of-00002.parquet`) is whole.
fn complete<'a>(files: &[&'a Entry]) -> Result<Vec<&'a Entry>, HubProblem> {
    let mut files = files.to_vec();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let totals: Vec<Option<usize>> = files.iter().map(|file| total_of(file.path.as_str())).collect();
    if let Some(expected) = totals.iter().flatten().max().copied()
        && (files.len() != expected || totals.iter().any(|total| *total != Some(expected)))
    {
        return Err(HubProblem::MissingShards { found: files.len(), expected });
    }
    Ok(files)
}

/// The number of shards that a name of the form `…-00000-of-00002…` promises.
fn total_of(path: &str) -> Option<usize> {
    let (_, after) = path.rsplit('/').next()?.rsplit_once("-of-")?;
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

fn named<'a>(entries: &'a [Entry], patterns: &[String]) -> Result<Vec<&'a Entry>, HubProblem> {
    let mut files: Vec<&Entry> = Vec::new();
    for pattern in patterns {
        let mut fitting: Vec<&Entry> = entries.iter().filter(|entry| matches(pattern, entry.path.as_str())).collect();
        if fitting.is_empty() {
            return Err(HubProblem::NoMatch { pattern: show(pattern), candidates: candidates(entries) });
        }
        fitting.sort_by(|a, b| a.path.cmp(&b.path));
        for file in fitting {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

/// Whether a path fits a pattern in which `*` stands for anything within one part.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
    pattern.len() == path.len() && pattern.iter().zip(&path).all(|(pattern, part)| part_matches(pattern, part))
}

fn part_matches(pattern: &str, part: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == part };
    let Some(mut part) = part.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    // Each piece at its earliest place leaves the most for the ones behind it.
    for piece in pieces {
        let Some(at) = part.find(piece) else { return false };
        part = &part[at + piece.len()..];
    }
    part.ends_with(last)
}

fn nothing_fits(entries: &[Entry], wanted: String) -> HubProblem {
    let candidates = candidates(entries);
    let script = entries.iter().find(|entry| entry.path.as_str().ends_with(".py"));
    match script {
        Some(script) if candidates.is_empty() => HubProblem::ScriptOnly { script: script.path.to_string() },
        _ => HubProblem::NoData { wanted, candidates },
    }
}

fn candidates(entries: &[Entry]) -> Vec<String> {
    let mut paths: Vec<String> =
        entries.iter().filter(|entry| extension(entry.path.as_str()).is_some()).map(|e| e.path.to_string()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_artefact::suite::config::OnBadRow;

    fn plan(config: Option<&str>, split: Option<&str>, data_files: Option<&[&str]>) -> DatasetPlan {
        DatasetPlan {
            format: Format::Hf,
            path: None,
            rows: None,
            repo: Some("o/n".into()),
            revision: None,
            config: config.map(Into::into),
            split: split.map(Into::into),
            level: vec![],
            data_files: data_files.map(|files| files.iter().map(|&file| file.into()).collect()),
            dataset_hash: None,
            id: None,
            input: None,
            target: None,
            choices: None,
            files: vec![],
            metadata: vec![],
            limit: None,
            shuffle: None,
            on_bad_row: OnBadRow::Fail,
            delimiter: None,
        }
    }

    fn picked(paths: &[&str], plan: &DatasetPlan) -> Result<String, String> {
        let entries: Vec<Entry> =
            paths.iter().map(|path| Entry { path: path.parse().unwrap(), size: 0, sha256: None }).collect();
        let files = pick(&entries, plan).map_err(|problem| problem.to_string())?;
        Ok(files.iter().map(|file| file.path.to_string()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_usual_layouts_are_found() {
        for (paths, config, split, want) in [
            (
                &["README.md", "data/test-00000-of-00001.parquet", "data/train-00000-of-00001.parquet"][..],
                None,
                None,
                "data/test-00000-of-00001.parquet",
            ),
            (&["test.jsonl", "train.jsonl"], None, Some("train"), "train.jsonl"),
            (&["main/test-0.parquet", "socratic/test-0.parquet"], Some("main"), None, "main/test-0.parquet"),
            (&["data/en/test.csv", "data/de/test.csv"], Some("de"), None, "data/de/test.csv"),
            (
                &["default/test/0001.parquet", "default/test/0000.parquet"],
                Some("default"),
                None,
                "default/test/0000.parquet default/test/0001.parquet",
            ),
            (
                &["data/test-00001-of-00002-ab.parquet", "data/test-00000-of-00002-cd.parquet"],
                None,
                None,
                "data/test-00000-of-00002-cd.parquet data/test-00001-of-00002-ab.parquet",
            ),
            (&["only/test.parquet", "only/train.parquet"], None, None, "only/test.parquet"),
            (&["test/a.json", "train/a.json"], None, None, "test/a.json"),
            (&["testing.csv", "test.csv", ".hidden/test.csv"], None, None, "test.csv"),
        ] {
            assert_eq!(picked(paths, &plan(config, split, None)).as_deref(), Ok(want));
        }
    }

    #[test]
    fn what_fits_twice_or_not_at_all_is_an_error() {
        for (paths, config, want) in [
            (
                &["main/test-0.parquet", "socratic/test-0.parquet"][..],
                None,
                "several sets of files fit split `test`: `main/test-0.parquet`, `socratic/test-0.parquet`",
            ),
            (&["test.csv", "test.jsonl"], None, "several sets of files fit split `test`: `test.csv`, `test.jsonl`"),
            (&["a.txt", "train.csv"], None, "no data files for split `test`; the repository has `train.csv`"),
            (&["test.csv"], Some("x"), "no data files for config `x`, split `test`; the repository has `test.csv`"),
            (
                &["squad.py", "README.md"],
                None,
                "the repository has no data files, only the loading script `squad.py`, which is never run",
            ),
            (&["data/test-00000-of-00002.parquet"], None, "the split has 1 of its 2 files"),
            (&[], None, "no data files for split `test`; the repository has nothing"),
        ] {
            assert_eq!(picked(paths, &plan(config, None, None)), Err(want.to_owned()));
        }
    }

    #[test]
    fn files_can_be_named() {
        let paths = ["a/x.csv", "a/y.csv", "b/x.csv", "z.py"];
        for (patterns, want) in [
            (&["b/x.csv", "a/*.csv"][..], Ok("b/x.csv a/x.csv a/y.csv")),
            (&["*/x.*"], Ok("a/x.csv b/x.csv")),
            (
                &["*.csv"],
                Err("no file fits `*.csv` of `data_files`; the repository has `a/x.csv`, `a/y.csv`, `b/x.csv`"),
            ),
        ] {
            let got = picked(&paths, &plan(None, None, Some(patterns)));
            assert_eq!(got.as_deref().map_err(String::as_str), want);
        }
    }

    #[test]
    fn stars_stand_for_anything_within_one_part() {
        for (pattern, path, want) in [
            ("*", "abc", true),
            ("a*c", "abc", true),
            ("a*c*c", "acc", true),
            ("a*bc*c", "abcc", true),
            ("a*a", "a", false),
            ("*b*", "abc", true),
            ("*", "a/b", false),
            ("a/*", "a/b", true),
        ] {
            assert_eq!(matches(pattern, path), want, "{pattern} {path}");
        }
    }
}
