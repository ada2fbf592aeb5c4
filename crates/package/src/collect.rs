//! What goes into a package: the run, and what it was fed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use proofmark_artefact::package::names::{INPUTS, RUN};
use proofmark_artefact::path::RelPath;
use proofmark_artefact::replay::hub;
use proofmark_artefact::store::{OutputName, names};
use proofmark_artefact::witness::Block;
use proofmark_artefact::witness::block::Input;

/// A file cannot be put into a package.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    #[error("cannot copy `{path}`")]
    Copy { path: PathBuf, source: io::Error },
    #[error("`{0}` is not an ordinary file")]
    NotAFile(PathBuf),
    #[error("the witness names an input `{0}`, which is no path inside its root")]
    Path(String),
    #[error("the dataset `{0}` of the hub is not in the cache")]
    NotCached(String),
}

impl CollectError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Copy { .. } | Self::NotCached(_) => Some(
                "`--without-inputs` leaves inputs out of the package; strangers can check less of it then".to_owned(),
            ),
            Self::NotAFile(_) => Some("put the file itself there, not a link".to_owned()),
            Self::Path(_) => None,
        }
    }
}

/// Copies the files of a run directory that the planes have, and nothing else: no bodies, no cassette, no work.
pub fn collect_run(dir: &Path, package: &Path) -> Result<(), CollectError> {
    let to = package.join(RUN);
    for name in names::PLANE_1.iter().chain(&names::PLANE_2) {
        copy_if_there(&dir.join(name), &to.join(name))?;
    }
    let outputs = dir.join(names::OUTPUTS);
    let failed = |source| CollectError::Copy { path: outputs.clone(), source };
    let entries = match fs::read_dir(&outputs) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(failed)?,
    };
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        // Pictures are named by their digests; anything else is found by verification.
        if let Some(output) = name.to_str().and_then(OutputName::parse) {
            copy_if_there(&outputs.join(&name), &to.join(output.to_string()))?;
        }
    }
    Ok(())
}

/// Copies every input that the witness names: files under the root, and files of hub datasets out of the cache.
pub fn collect_inputs(block: &Block, root: &Path, cache: Option<&Path>, package: &Path) -> Result<(), CollectError> {
    let mut done = BTreeSet::new();
    for input in &block.inputs {
        if input.repo.is_some() {
            collect_hub(input, cache, package)?;
            continue;
        }
        let Some(path) = &input.path else { continue };
        let path: RelPath = path.parse().map_err(|_| CollectError::Path(path.chars().take(200).collect()))?;
        if done.insert(path.clone()) {
            // The user's own files: where a link leads is his business, and the digest is checked afterwards.
            let from = path.under(root);
            let real = from.canonicalize().map_err(|source| CollectError::Copy { path: from.clone(), source })?;
            copy(&real, &path.under(&package.join(INPUTS)))?;
        }
    }
    Ok(())
}

fn collect_hub(input: &Input, cache: Option<&Path>, package: &Path) -> Result<(), CollectError> {
    let shown = input.path.clone().unwrap_or_default();
    let not_cached = || CollectError::NotCached(shown.chars().take(200).collect());
    let repo = input.repo.as_deref().and_then(|repo| repo.split_once('/'));
    let (Some((owner, name)), Some(revision), Some(cache)) = (repo, input.revision.as_deref(), cache) else {
        return Err(not_cached());
    };
    for word in [owner, name, revision] {
        // They become folders: plain words, as the cache itself has them.
        word.parse::<RelPath>()
            .ok()
            .filter(|path| path.as_str() == word && !word.contains('/'))
            .ok_or_else(not_cached)?;
    }
    let (from, to) = (hub::folder(cache, owner, name, revision), hub::folder(package, owner, name, revision));
    let (sums_from, sums_to) = (beside(&from, ".sums"), beside(&to, ".sums"));
    for file in &input.files {
        let path: RelPath = file.path.parse().map_err(|_| CollectError::Path(file.path.chars().take(200).collect()))?;
        if !path.under(&from).is_file() {
            return Err(not_cached());
        }
        copy_once(&path.under(&from), &path.under(&to))?;
        copy_once(&path.under(&sums_from), &path.under(&sums_to))?;
    }
    for list in [".files.json", ".tree.json"] {
        let (from, to) = (beside(&from, list), beside(&to, list));
        if from.is_file() {
            copy_once(&from, &to)?;
        }
    }
    Ok(())
}

fn beside(folder: &Path, ending: &str) -> PathBuf {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    folder.with_file_name(format!("{name}{ending}"))
}

fn copy_if_there(from: &Path, to: &Path) -> Result<(), CollectError> {
    match from.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(CollectError::Copy { path: from.to_owned(), source }),
        Ok(metadata) if metadata.is_file() => copy(from, to),
        Ok(_) => Err(CollectError::NotAFile(from.to_owned())),
    }
}

fn copy_once(from: &Path, to: &Path) -> Result<(), CollectError> {
    if to.exists() { Ok(()) } else { copy(from, to) }
}

/// Copies bytes alone: rights, times and owners of this machine stay here.
fn copy(from: &Path, to: &Path) -> Result<(), CollectError> {
    let failed = |source| CollectError::Copy { path: from.to_owned(), source };
    if !from.is_file() {
        return Err(CollectError::NotAFile(from.to_owned()));
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut source = File::open(from).map_err(failed)?;
    let mut target = File::create_new(to).map_err(failed)?;
    io::copy(&mut source, &mut target).map_err(failed)?;
    target.sync_all().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_artefact::store::write_atomic;

    #[test]
    fn of_a_run_directory_only_the_planes_and_pictures_go_along() {
        let (run, package) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let picture = format!("outputs/{}.png", proofmark_canon::Digest::of(b"x").hex());
        let left = ["bodies/x", "cassette/y", ".proofmark/lock", "notes.txt", "outputs/holiday.png"];
        for name in ["records.jsonl", "report.md", picture.as_str()].iter().chain(&left) {
            fs::create_dir_all(run.path().join(name).parent().unwrap()).unwrap();
            write_atomic(&run.path().join(name), b"x").unwrap();
        }
        collect_run(run.path(), package.path()).unwrap();
        for name in ["records.jsonl", "report.md", picture.as_str()] {
            assert!(package.path().join(RUN).join(name).is_file(), "{name}");
        }
        for name in left {
            assert!(!package.path().join(RUN).join(name).exists(), "{name}");
        }
    }

    #[test]
    fn a_link_in_a_run_directory_is_not_followed() {
        let (run, package) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink("/etc/passwd", run.path().join("records.jsonl")).unwrap();
        assert!(matches!(collect_run(run.path(), package.path()), Err(CollectError::NotAFile(_))));
    }
}
