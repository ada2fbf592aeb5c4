//! A staged folder turned to a package: what is said of it, the list of its files, and the signatures over that.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proofmark_artefact::audit::{Report, format as audit_format};
use proofmark_artefact::export::gaia::ExportError;
use proofmark_artefact::manifest::Harness;
use proofmark_artefact::package::names::{
    AUDIT, BUNDLE, CONTENTS, INPUTS, METADATA, README, RESULTS, RESULTS_FOLDER, RUN, SIGNER, SIGNING, SSH_SIGNATURE,
};
use proofmark_artefact::package::{
    Contents, EVAL_RUN, FileEntry, FileRole, Metadata, PACKAGE_FORMAT, PACKAGE_VERSION, Predicate, names,
};
use proofmark_artefact::path::RelPath;
use proofmark_artefact::store::{OpenError, RunDir, digest_file, names as run_names, write_atomic};
use proofmark_artefact::summary::Summary;
use proofmark_artefact::witness::Block;
use proofmark_canon::json::{self, EncodeError};
use proofmark_canon::{Digest, RunId, to_vec};
use proofmark_trust::bundle::{Bundle, BundleError};
use proofmark_trust::dsse::{Envelope, IN_TOTO};
use proofmark_trust::key::{PrivateKey, PublicKey};
use proofmark_trust::sshsig::{NAMESPACE, SshSignature};
use proofmark_trust::statement::{Statement, StatementError};

use crate::metadata::{Said, describe};
use crate::papers::MAX_PAPER;
use crate::readme::render;
use crate::results;

/// What to seal, and how.
#[derive(Debug)]
pub struct Order<'a> {
    pub said: Said,
    pub report: &'a Report,
    /// The rung that the run in the folder reaches.
    pub reached: u8,
    /// RFC 3339 in UTC.
    pub signed_at: String,
}

/// A package that was made.
#[derive(Debug)]
pub struct Sealed {
    pub run_id: RunId,
    pub files: u64,
    pub bytes: u64,
    /// Of `package.json`.
    pub digest: Digest,
    /// Why there are no results for a leaderboard, when the suite has some.
    pub no_results: Option<String>,
}

/// The folder cannot be sealed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("cannot write `{name}`")]
    Write { name: &'static str, source: io::Error },
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("the results cannot be exported")]
    Export(#[source] ExportError),
    #[error("`{0}` is no name that every system can have")]
    Name(String),
    #[error("`{0}` has no place in a package")]
    Stray(String),
    #[error("`{0}` is not an ordinary file")]
    NotAFile(PathBuf),
    #[error("`{name}` would have {size} bytes, more than the {limit} that a verifier reads")]
    TooLong { name: &'static str, size: u64, limit: u64 },
    #[error("something has no canonical form")]
    Encode(#[from] EncodeError),
    #[error("the statement cannot be made")]
    Statement(#[from] StatementError),
    #[error("the bundle cannot be made")]
    Bundle(#[from] BundleError),
}

/// What of a run says what it is.
#[derive(Debug)]
pub(crate) struct About {
    pub(crate) run: RunDir,
    pub(crate) summary: Summary,
    pub(crate) block: Block,
}

impl About {
    pub(crate) fn read(folder: &Path) -> Result<Self, OpenError> {
        let run = RunDir::open(&folder.join(RUN))?;
        let summary = run.read_json(run_names::SUMMARY)?;
        let block = run.read_json(run_names::REPLAY)?;
        Ok(Self { run, summary, block })
    }

    pub(crate) fn describe(&self, said: Said) -> Metadata {
        describe(self.run.manifest(), &self.summary, &self.block, said)
    }
}

/// Seals a folder that has `run/` and, unless they are left out, `inputs/`.
pub fn seal(folder: &Path, order: Order<'_>, key: &PrivateKey) -> Result<Sealed, SealError> {
    let about = About::read(folder)?;
    let write = |name: &'static str, bytes: &[u8]| {
        write_atomic(&folder.join(name), bytes).map_err(|source| SealError::Write { name, source })
    };
    write(AUDIT, &audit_format::json(order.report)?)?;
    let metadata = about.describe(order.said);
    write(METADATA, &line(&metadata)?)?;
    let (results, no_results) = match results::files_of(about.run.manifest()) {
        Ok(files) => (files, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    results::write(folder, &about.run, &results).map_err(SealError::Export)?;
    write(README, render(&metadata, &key.public(), &results).as_bytes())?;

    let files = list(folder)?;
    let bytes = files.iter().map(|file| file.size).sum();
    let run_id = metadata.run_id;
    let count = files.len() as u64;
    let contents = Contents { files, format: PACKAGE_FORMAT.to_owned(), run_id, version: PACKAGE_VERSION };
    let text = line(&contents)?;
    check_paper(CONTENTS, &text)?;
    let digest = write(CONTENTS, &text)?;

    let predicate = Predicate {
        allowances: metadata.allowances.clone(),
        audit: order.report.attestation.clone(),
        counts: metadata.counts,
        harness: metadata.harness.clone(),
        inputs: metadata.inputs,
        package: digest,
        reached: order.reached,
        run_id,
        sealed_with: metadata.sealed_with.clone(),
        signed_at: order.signed_at,
        suite: metadata.suite.clone(),
    };
    fs::create_dir_all(folder.join(names::ATTESTATIONS)).map_err(|source| SealError::Write { name: BUNDLE, source })?;
    let bundle = attest(&contents, &digest, &predicate, key)?;
    check_paper(BUNDLE, &bundle)?;
    write(BUNDLE, &bundle)?;
    write(SSH_SIGNATURE, SshSignature::sign(key, NAMESPACE, &text).to_armour().as_bytes())?;
    write(SIGNER, signer_line(&key.public()).as_bytes())?;
    Ok(Sealed { run_id, files: count, bytes, digest, no_results })
}

/// What no verifier would read is not written either.
fn check_paper(name: &'static str, bytes: &[u8]) -> Result<(), SealError> {
    let (size, limit) = (bytes.len() as u64, MAX_PAPER);
    if size > limit { Err(SealError::TooLong { name, size, limit }) } else { Ok(()) }
}

/// The signed statement about every file.
fn attest(contents: &Contents, digest: &Digest, predicate: &Predicate, key: &PrivateKey) -> Result<Vec<u8>, SealError> {
    let subjects = subjects(contents, digest).ok_or_else(|| SealError::Name(CONTENTS.to_owned()))?;
    let value = json::parse(&to_vec(predicate)?).map_err(|_| SealError::Name(EVAL_RUN.to_owned()))?;
    let statement = Statement::new(EVAL_RUN, subjects, value)?;
    Ok(Bundle::new(Envelope::sign(IN_TOTO, statement.to_bytes(), &[key]))?.to_bytes())
}

/// Every file that a statement is about: those on the list, and the list.
pub(crate) fn subjects(contents: &Contents, digest: &Digest) -> Option<BTreeMap<String, Digest>> {
    let mut all = BTreeMap::from([(CONTENTS.to_owned(), *digest)]);
    for file in &contents.files {
        all.insert(file.path.to_string(), file.digest()?);
    }
    Some(all)
}

pub(crate) fn signer_line(key: &PublicKey) -> String {
    format!("{}\n", key.to_ssh_line(""))
}

/// Canonical JSON and a line end.
pub(crate) fn line(value: &impl serde::Serialize) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = to_vec(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Every file in a folder with its digest, in the order of their paths; not the list itself and what signs it.
fn list(folder: &Path) -> Result<Vec<FileEntry>, SealError> {
    let mut found = BTreeMap::new();
    walk(folder, "", &mut found)?;
    let mut files = Vec::with_capacity(found.len());
    for (name, path) in found {
        if name == CONTENTS || SIGNING.contains(&name.as_str()) {
            continue;
        }
        let (digest, size) = digest_file(&path).map_err(|source| SealError::Read { path, source })?;
        let path: RelPath = name.parse().map_err(|_| SealError::Name(name.clone()))?;
        let role = role_of(path.as_str()).ok_or_else(|| SealError::Stray(name.clone()))?;
        files.push(FileEntry { role, path, sha256: digest.hex(), size });
    }
    Ok(files)
}

fn walk(folder: &Path, prefix: &str, found: &mut BTreeMap<String, PathBuf>) -> Result<(), SealError> {
    let failed = |source| SealError::Read { path: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name =
            entry.file_name().into_string().map_err(|name| SealError::Name(name.to_string_lossy().into_owned()))?;
        let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            walk(&entry.path(), &name, found)?;
        } else if kind.is_file() {
            found.insert(name, entry.path());
        } else {
            return Err(SealError::NotAFile(entry.path()));
        }
    }
    Ok(())
}

/// What a file is, by its place; `None` for what has none in a package.
pub(crate) fn role_of(path: &str) -> Option<FileRole> {
    Some(match (path, path.split_once('/').map(|(folder, _)| folder)) {
        (_, Some(RUN)) => FileRole::Run,
        (_, Some(INPUTS | names::HUB)) => FileRole::Input,
        (AUDIT, _) => FileRole::Audit,
        (METADATA, _) => FileRole::Metadata,
        (RESULTS, _) | (_, Some(RESULTS_FOLDER)) => FileRole::Results,
        (README, _) => FileRole::Readme,
        _ => return None,
    })
}

/// The program that seals.
pub fn sealer(version: &str) -> Harness {
    Harness { name: "proofmark".to_owned(), version: version.to_owned() }
}

/// The name of a package: when it was signed, and the beginning of the run's id.
pub fn package_name(signed_at: &str, run_id: RunId) -> String {
    let date: String = signed_at.chars().take(10).collect();
    let id: String = run_id.to_string().chars().take(12).collect();
    format!("submission-{date}-{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_named_by_its_day_and_its_run() {
        let run_id: RunId = "00112233445566778899aabbccddeeff".parse().unwrap();
        assert_eq!(package_name("2026-11-16T10:00:00Z", run_id), "submission-2026-11-16-001122334455");
    }

    #[test]
    fn a_file_is_what_its_place_says() {
        for (path, role) in [
            ("run/records.jsonl", FileRole::Run),
            ("inputs/README.md", FileRole::Input),
            ("hub/datasets/a--b/c/d", FileRole::Input),
            ("audit-report.json", FileRole::Audit),
            ("metadata.json", FileRole::Metadata),
            ("results.jsonl", FileRole::Results),
            ("results/01-a-b.jsonl", FileRole::Results),
            ("README.md", FileRole::Readme),
        ] {
            assert_eq!(role_of(path), Some(role), "{path}");
        }
        for path in ["notes.txt", "run", "inputs", "results", "metadata.json/x", "README.md/x", "Run/records.jsonl"] {
            assert_eq!(role_of(path), None, "{path}");
        }
    }

    #[test]
    fn a_list_holds_every_file_once_in_order_and_not_what_signs_it() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["run/b", "run/a", "inputs/x/y", CONTENTS, BUNDLE, SSH_SIGNATURE, SIGNER, README] {
            fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
            write_atomic(&dir.path().join(name), b"1").unwrap();
        }
        let files = list(dir.path()).unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["README.md", "inputs/x/y", "run/a", "run/b"]);
        assert!(files.iter().all(|file| file.size == 1 && file.digest() == Some(Digest::of(b"1"))));
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("run/c")).unwrap();
        assert!(matches!(list(dir.path()), Err(SealError::NotAFile(_))));
    }
}
