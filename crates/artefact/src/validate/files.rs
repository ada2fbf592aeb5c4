//! Which files a run directory holds, and whether they are the listed ones.

use std::fs;
use std::io;
use std::path::Path;

use proofmark_canon::Digest;
use proofmark_canon::json::check_canonical;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::finding::{Findings, Place, quote};
use super::record::shape_message;
use super::{CheckedFile, ValidateError, codes, io_error};
use crate::manifest::Manifest;
use crate::store::{self, MAX_JSON, OpenError, names};
use crate::text::excerpt;

/// What planes 2 and 3 leave beside the run; they are checked by others.
const OTHER_PLANES: [&str; 8] = [
    "attestation.json",
    "audit-report.json",
    "bodies",
    names::JUDGE_PROBE,
    names::JUDGMENTS,
    "report.md",
    "report.replay.json",
    "telemetry.jsonl",
];

/// What is behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Absent,
    File,
    Folder,
    /// A link, a device, a pipe: never opened, since it may lead anywhere or never end.
    Other(&'static str),
}

/// Looks at a name without following a link.
pub(super) fn kind_of(path: &Path) -> Result<Kind, ValidateError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Kind::File),
        Ok(metadata) if metadata.is_dir() => Ok(Kind::Folder),
        Ok(metadata) if metadata.is_symlink() => Ok(Kind::Other("a symbolic link")),
        Ok(_) => Ok(Kind::Other("a device or a pipe")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Kind::Absent),
        Err(error) => Err(io_error(path)(error)),
    }
}

/// Checks the names in the directory against the manifest.
pub(super) fn check_names(dir: &Path, manifest: &Manifest, findings: &mut Findings) -> Result<(), ValidateError> {
    for name in manifest.artifacts.keys() {
        if name == names::MANIFEST || !names::PLANE_1.contains(&name.as_str()) {
            findings.push(codes::FOREIGN_ARTIFACT, Place::file(names::MANIFEST), || {
                format!("artifacts lists {}, which is not a plane-1 file; it was not read", quote(name))
            });
        }
    }
    for name in names::PLANE_1 {
        check_plane_1(dir, name, manifest, findings)?;
    }
    let mut others = Vec::new();
    for entry in fs::read_dir(dir).map_err(io_error(dir))? {
        let name = entry.map_err(io_error(dir))?.file_name().to_string_lossy().into_owned();
        if !names::PLANE_1.contains(&name.as_str()) {
            others.push(name);
        }
    }
    others.sort_unstable();
    for name in others {
        check_other(dir, &name, findings)?;
    }
    Ok(())
}

fn check_plane_1(dir: &Path, name: &str, manifest: &Manifest, findings: &mut Findings) -> Result<(), ValidateError> {
    let listed = manifest.artifacts.contains_key(name) || name == names::MANIFEST;
    let required = matches!(name, names::RECORDS | names::CONFIG | names::SUMMARY | names::MANIFEST);
    let place = Place::file(name);
    match kind_of(&dir.join(name))? {
        Kind::Absent if listed => {
            findings.push(codes::MISSING_FILE, place, || "the file is not there, but the manifest lists it".to_owned());
        }
        Kind::Absent if required => {
            findings.push(codes::MISSING_FILE, place, || "the file is not there, but every run has it".to_owned());
        }
        Kind::Absent => {}
        Kind::File if listed => {}
        Kind::File => {
            findings.push(codes::UNLISTED, place, || "the file is there, but the manifest does not list it".to_owned());
        }
        Kind::Folder => report_not_a_file(name, "a folder", findings),
        Kind::Other(what) => report_not_a_file(name, what, findings),
    }
    Ok(())
}

fn check_other(dir: &Path, name: &str, findings: &mut Findings) -> Result<(), ValidateError> {
    let shown = excerpt(name, 200);
    let place = Place::file(&shown);
    if name == names::WORK {
        findings.push(codes::LEFTOVER, place, || "work of an unfinished run is still there".to_owned());
    } else if name.starts_with('.') && name.ends_with(".partial") {
        findings.push(codes::LEFTOVER, place, || "a half-written file is still there".to_owned());
    } else if name == names::OUTPUTS || name == names::BODIES {
        let what = match kind_of(&dir.join(name))? {
            Kind::File => "a file",
            Kind::Other(what) => what,
            Kind::Folder | Kind::Absent => return Ok(()),
        };
        findings.push(codes::NOT_A_FILE, place, || format!("this is {what}, expected a folder; it was not read"));
    } else if !OTHER_PLANES.contains(&name) {
        findings.push(codes::EXTRA, place, || "no part of a run writes this; it was not read".to_owned());
    } else if let Kind::Other(what) = kind_of(&dir.join(name))? {
        report_not_a_file(name, what, findings);
    }
    Ok(())
}

pub(super) fn report_not_a_file(name: &str, what: &str, findings: &mut Findings) {
    findings.push(codes::NOT_A_FILE, Place::file(name), || format!("this is {what}, expected a file; it was not read"));
}

/// Holds a file's digest against the manifest's.
pub(super) fn check_digest(file: &CheckedFile, manifest: &Manifest, findings: &mut Findings) {
    if let Some(expected) = manifest.artifacts.get(&file.name)
        && *expected != file.digest
    {
        findings.push(codes::DIGEST, Place::file(&file.name), || {
            format!("digest is {}, but the manifest says {expected}", file.digest)
        });
    }
}

/// Hashes a file when it is one.
pub(super) fn digest(dir: &Path, name: &str) -> Result<Option<CheckedFile>, ValidateError> {
    let path = dir.join(name);
    if kind_of(&path)? != Kind::File {
        return Ok(None);
    }
    let (digest, bytes) = store::digest_file(&path).map_err(io_error(&path))?;
    Ok(Some(CheckedFile { bytes, digest, name: name.to_owned() }))
}

/// A JSON file as bytes.
pub(super) struct JsonFile {
    pub(super) bytes: Vec<u8>,
    canonical: bool,
}

impl JsonFile {
    /// Reads a file and checks how it is written. Returns `None` when there is nothing to read.
    pub(super) fn load(dir: &Path, name: &str, findings: &mut Findings) -> Result<Option<Self>, ValidateError> {
        let path = dir.join(name);
        if kind_of(&path)? != Kind::File {
            return Ok(None);
        }
        let bytes = match store::read_bounded(&path, MAX_JSON) {
            Ok(bytes) => bytes,
            Err(OpenError::TooLarge { limit, .. }) => {
                findings.push(codes::TOO_LARGE, Place::file(name), || {
                    format!("the file is larger than {limit} bytes, the most we read")
                });
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let mut canonical = true;
        let mut report = |message: String| {
            canonical = false;
            findings.push(codes::JSON_NOT_CANONICAL, Place::file(name), || message);
        };
        match bytes.strip_suffix(b"\n") {
            None => report("the file has no line end; expected canonical JSON and one line end".to_owned()),
            Some(body) => {
                if let Err(why) = check_canonical(body) {
                    report(format!("the file is {why}; expected canonical JSON and one line end"));
                }
            }
        }
        Ok(Some(Self { bytes, canonical }))
    }

    pub(super) fn checked(&self, name: &str) -> CheckedFile {
        CheckedFile { bytes: self.bytes.len() as u64, digest: Digest::of(&self.bytes), name: name.to_owned() }
    }

    /// Reads the typed content and checks that nothing of it is missing.
    pub(super) fn read<T: DeserializeOwned + Serialize>(&self, name: &str, findings: &mut Findings) -> Option<T> {
        let value: T = match serde_json::from_slice(&self.bytes) {
            Ok(value) => value,
            Err(error) => {
                // What is no JSON was reported as not canonical.
                if self.canonical || error.is_data() {
                    findings.push(codes::JSON_SHAPE, Place::file(name), || shape_message(&error));
                }
                return None;
            }
        };
        // Only a field that may be null can be missing without an error; writing it back shows it.
        let body = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        if self.canonical && proofmark_canon::to_vec(&value).ok().as_deref() != Some(body) {
            findings.push(codes::JSON_SHAPE, Place::file(name), || {
                "a field that may be null is missing; expected every field of the schema".to_owned()
            });
        }
        Some(value)
    }
}
