//! The answers of a run as GAIA's leaderboard takes them: `results.jsonl`, or a file for each set of answers where a run has
//! several models, conditions or samples.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use proofmark_artefact::export::gaia::{Cell, ExportError, cells, export_all};
use proofmark_artefact::manifest::Manifest;
use proofmark_artefact::package::names::{RESULTS, RESULTS_FOLDER};
use proofmark_artefact::store::{AtomicFile, RunDir, digest_file};
use proofmark_canon::Hasher;

/// The most sets of answers that get a file: all of them are open at once.
const MOST: usize = 64;

/// One file of answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultsFile {
    /// Its name in the package.
    pub name: String,
    pub cell: Cell,
}

/// A file by its name, and what is wrong with it.
type Finding = (String, Result<(), String>);

/// The files that a run has; none where no task has GAIA's questions. `Err` says why there are none although it has.
pub fn files_of(manifest: &Manifest) -> Result<Vec<ResultsFile>, String> {
    let cells =
        cells(manifest, MOST).map_err(|count| format!("the run has {count} sets of answers, more than {MOST}"))?;
    if let [only] = cells.as_slice() {
        return Ok(vec![ResultsFile { name: RESULTS.to_owned(), cell: only.clone() }]);
    }
    let several_tasks = cells.windows(2).any(|pair| pair[0].task != pair[1].task);
    let named = cells.into_iter().enumerate().map(|(at, cell)| {
        let mut parts = vec![format!("{:02}", at + 1)];
        parts.extend(several_tasks.then(|| slug(&cell.task)));
        parts.extend([slug(&cell.model), slug(&cell.condition)]);
        parts.extend((manifest.sampling.n > 1).then(|| cell.sample.to_string()));
        ResultsFile { name: format!("{RESULTS_FOLDER}/{}.jsonl", parts.join("-")), cell }
    });
    Ok(named.collect())
}

/// Some of an id, as every system can have it in a name.
fn slug(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    id.chars().take(24).map(|c| if is_plain(c) { c } else { '-' }).collect()
}

/// Writes the files into a package.
pub(crate) fn write(folder: &Path, run: &RunDir, files: &[ResultsFile]) -> Result<(), ExportError> {
    if files.is_empty() {
        return Ok(());
    }
    let create = |file: &ResultsFile| -> io::Result<AtomicFile> {
        let path = folder.join(&file.name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        AtomicFile::create(&path)
    };
    let mut open = files.iter().map(create).collect::<io::Result<Vec<_>>>().map_err(ExportError::Write)?;
    export_all(run, &cells_of(files), &mut |at, line| open[at].write_all(line))?;
    open.into_iter().try_for_each(|file| file.commit().map(drop)).map_err(ExportError::Write)
}

/// Makes the answers again and holds the files against them. What each file came to, and what is there beside them.
pub(crate) fn check(folder: &Path, run: &RunDir, files: &[ResultsFile]) -> Result<Vec<Finding>, ExportError> {
    let mut found = Vec::new();
    if !files.is_empty() {
        let mut hashers: Vec<Hasher> = files.iter().map(|_| Hasher::new()).collect();
        export_all(run, &cells_of(files), &mut |at, line| {
            hashers[at].update(line);
            Ok(())
        })?;
        for (file, hasher) in files.iter().zip(hashers) {
            let expected = hasher.finish();
            let result = match digest_file(&folder.join(&file.name)) {
                Ok((digest, _)) if digest == expected => Ok(()),
                Ok(_) => Err("they are not the answers of the records".to_owned()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Err("the file is not there, but the run has GAIA's questions".to_owned())
                }
                Err(error) => Err(error.kind().to_string()),
            };
            found.push((file.name.clone(), result));
        }
    }
    let expected: BTreeSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let stray = present(folder).into_iter().filter(|name| !expected.contains(name.as_str()));
    found.extend(stray.map(|name| (name, Err("the run has no such answers".to_owned()))));
    Ok(found)
}

/// Everything that stands where answers do.
fn present(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = folder.join(RESULTS).exists().then(|| RESULTS.to_owned()).into_iter().collect();
    let inside = fs::read_dir(folder.join(RESULTS_FOLDER)).into_iter().flatten().filter_map(Result::ok);
    names.extend(inside.map(|entry| format!("{RESULTS_FOLDER}/{}", entry.file_name().to_string_lossy())));
    names.sort_unstable();
    names
}

fn cells_of(files: &[ResultsFile]) -> Vec<Cell> {
    files.iter().map(|file| file.cell.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_becomes_a_name_that_every_system_can_have() {
        assert_eq!(slug("openai:gpt-4.1 (2025)"), "openai-gpt-4.1--2025-");
        assert_eq!(slug("../../etc/passwd"), "..-..-etc-passwd");
        assert_eq!(slug("é"), "-");
        assert_eq!(slug(&"x".repeat(200)).len(), 24);
    }
}
