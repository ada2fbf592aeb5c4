//! Which sidecar an argument means.

use std::path::{Path, PathBuf};

use super::{glob, markdown};
use crate::store::read_bounded;

/// One report to verify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// As it was asked for.
    pub shown: String,
    pub sidecar: PathBuf,
    /// The report that the sidecar belongs to; it need not be there.
    pub markdown: PathBuf,
}

/// An argument that leads to no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LocateError {
    #[error("`{0}` matches no report")]
    NoMatch(String),
    #[error(transparent)]
    TooMany(#[from] glob::TooMany),
}

const SIDECAR: &str = ".replay.json";

/// Returns the reports that arguments mean, each once, patterns expanded.
pub fn locate(arguments: &[String]) -> Result<Vec<Target>, LocateError> {
    let mut targets: Vec<Target> = Vec::new();
    let mut add = |target: Target| {
        if !targets.iter().any(|have| have.sidecar == target.sidecar) {
            targets.push(target);
        }
    };
    for argument in arguments {
        if !glob::is_pattern(argument) || Path::new(argument).exists() {
            add(target_of(Path::new(argument)));
            continue;
        }
        let before = glob::expand(argument)?;
        let found: Vec<Target> = before.iter().filter(|path| is_report(path)).map(|path| target_of(path)).collect();
        if found.is_empty() {
            return Err(LocateError::NoMatch(argument.clone()));
        }
        found.into_iter().for_each(&mut add);
    }
    Ok(targets)
}

/// What a path means: a sidecar, a run directory, or a report with its sidecar beside it.
pub(crate) fn target_of(path: &Path) -> Target {
    let shown = path.display().to_string();
    if path.is_dir() {
        return Target { shown, sidecar: path.join("report.replay.json"), markdown: path.join("report.md") };
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.strip_suffix(SIDECAR).or_else(|| name.strip_suffix(".md")).unwrap_or(&name);
    if name.ends_with(SIDECAR) {
        return Target { shown, sidecar: path.to_owned(), markdown: path.with_file_name(format!("{stem}.md")) };
    }
    let markdown = if name.ends_with(".md") { path.to_owned() } else { path.with_file_name(format!("{stem}.md")) };
    Target { shown, sidecar: path.with_file_name(format!("{stem}{SIDECAR}")), markdown }
}

/// Whether a file that a pattern found is a report: a sidecar, or markdown that has one or says it has.
fn is_report(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name.ends_with(SIDECAR) {
        return true;
    }
    if !name.ends_with(".md") {
        return false;
    }
    target_of(path).sidecar.exists()
        || read_bounded(path, markdown::MAX_MARKDOWN)
            .is_ok_and(|bytes| markdown::find(&String::from_utf8_lossy(&bytes)).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_a_report_leads_to_its_sidecar() {
        for (argument, sidecar, markdown) in [
            ("d/x.md", "d/x.replay.json", "d/x.md"),
            ("d/x.replay.json", "d/x.replay.json", "d/x.md"),
            ("d/x", "d/x.replay.json", "d/x.md"),
            ("d/2026.01.x", "d/2026.01.x.replay.json", "d/2026.01.x.md"),
        ] {
            let target = target_of(Path::new(argument));
            assert_eq!((target.sidecar, target.markdown), (sidecar.into(), markdown.into()));
        }
    }
}
