//! One finished run checked: every finding with its place, nothing changed on disk.
//!
//! - [`Finding`], [`Outcome`] what comes out; [`CODES`] what codes mean.
//! - `files` names and digests; `manifest` the manifest by itself.
//! - `blocks` a long file on several threads; `view` and `record` one record; `order` all of them.
//! - `outputs` the pictures against the records that name them.
//! - `trajectories` the evidence against the records; `summary` the numbers made again.
//!
//! What cannot be checked from a run directory alone is listed in [`Outcome::not_checked`].
//!
//! | code | severity | meaning |
//! |---|---|---|
//! | V001 | error | a file of the run is not there |
//! | V002 | error | the bytes of a file do not have the digest that the manifest lists |
//! | V003 | error | a plane-1 file is there, but the manifest does not list it |
//! | V004 | warning | the directory holds something that no part of a run wrote |
//! | V005 | warning | unfinished work was left behind |
//! | V006 | error | a name that belongs to a run is a link, a folder or a device; it was not read |
//! | V007 | error | the manifest lists something that is not a plane-1 file |
//! | V008 | error | a JSON file is larger than any we write; it was not read |
//! | V010 | error | a JSON file is not one canonical object and a line end |
//! | V011 | error | a JSON file does not have the fields and types of its schema |
//! | V012 | error | a schema version is not the one this shape has |
//! | V013 | error | the moment of creation is not on the run's time spine |
//! | V014 | error | a name stands twice where each may stand once |
//! | V015 | error | parts of the manifest do not fit together |
//! | V016 | error | a dataset's rows are not the items of its task |
//! | V017 | error | the host is named although artefacts were to be deterministic |
//! | V018 | error | a number of the manifest is out of its range |
//! | V019 | error | the run id does not follow from the resolved suite, the datasets and the assets |
//! | V020 | error | a line is not one canonical JSON object |
//! | V021 | error | the last line does not end |
//! | V022 | error | a line is empty |
//! | V023 | error | the file starts with a byte order mark |
//! | V024 | error | a line is longer than any we write; it was not read |
//! | V025 | error | a line does not have the fields and types of its schema |
//! | V030 | error | a file or line belongs to another run |
//! | V031 | error | a record names a task, model, condition or sample that the run does not have |
//! | V032 | error | a record's provider is not that of its model |
//! | V033 | error | a record's key is not made of its own parts |
//! | V034 | error | a sample's seed is not the one derived from the suite's seed and the key |
//! | V035 | error | a record's moment is not its own on the time spine |
//! | V036 | error | ordinals do not count up by one from 0 |
//! | V037 | error | records are not in the suite's order, or one is missing or too many |
//! | V038 | error | an item stands twice in one task |
//! | V039 | error | status, error, output and scores contradict each other |
//! | V040 | error | scores are not those of the task's scorers, in order |
//! | V041 | error | a score is not from 0 to 1 |
//! | V042 | error | the output fingerprint is not that of what came back |
//! | V043 | error | a count of tokens is larger than any real one |
//! | V050 | error | the manifest counts other records than there are |
//! | V051 | error | the manifest counts other statuses than there are |
//! | V052 | error | the manifest counts other items of a task than there are |
//! | V053 | error | the effective conditions are not those with a scored sample |
//! | V060 | error | the summary is not the one that the records give |
//! | V061 | warning | the summary could not be made again, so it was not compared |
//! | V070 | error | trajectories are there without evidence, or the other way round |
//! | V071 | error | trajectories are not those of the records, in order |
//! | V072 | error | a trajectory and its record disagree |
//! | V073 | error | the final answer is not the record's output |
//! | V074 | error | the first steps are not the record's messages |
//! | V075 | error | the last model output is not the record's output |
//! | V080 | error | a picture that a record names is not there |
//! | V081 | error | the bytes of a picture do not have the digest that names it |
//! | V082 | error | a picture does not have the size, media type or dimensions of its record |
//! | V083 | warning | the folder of pictures holds something that no record names |

mod blocks;
mod codes;
mod files;
mod finding;
mod identity;
mod manifest;
mod order;
mod outputs;
mod record;
mod summary;
mod trajectories;
mod view;

use std::fs::{self, File};
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;

use proofmark_canon::Digest;
use schemars::JsonSchema;
use serde::Serialize;

pub use self::codes::{CODES, Code};
pub use self::finding::{Finding, MAX_FINDINGS, Severity};

use self::blocks::{Limits, for_each_block};
use self::files::{JsonFile, Kind};
use self::finding::Findings;
use self::order::{Order, Whole};
use self::outputs::Outputs;
use self::record::{Rules, check_block};
use crate::manifest::{MANIFEST_SCHEMA, Manifest};
use crate::store::{MAX_LINE, OpenError, names};
use crate::summary::Summary;

/// What was looked at and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Outcome {
    /// Findings that are errors, kept or not.
    pub errors: u64,
    /// The files that were read, in the order in which they are published.
    pub files: Vec<CheckedFile>,
    /// The first [`MAX_FINDINGS`] findings, file by file and line by line.
    pub findings: Vec<Finding>,
    /// What a run directory alone cannot show, and why.
    pub not_checked: Vec<&'static str>,
    /// Lines of `records.jsonl`.
    pub records: u64,
    /// All findings, kept or not.
    pub total: u64,
    /// Findings that are warnings, kept or not.
    pub warnings: u64,
}

impl Outcome {
    /// Whether the run holds what it says. Warnings do not count.
    pub fn holds(&self) -> bool {
        self.errors == 0
    }
}

/// A file that was read whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckedFile {
    pub bytes: u64,
    #[schemars(with = "String")]
    pub digest: Digest,
    pub name: String,
}

/// We could not look.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValidateError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("cannot read `{path}`")]
    Io { path: PathBuf, source: io::Error },
}

impl ValidateError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Open(error) => error.hint(),
            Self::Io { .. } => None,
        }
    }
}

/// Checks a finished run directory.
pub fn validate_run(dir: &Path) -> Result<Outcome, ValidateError> {
    let mut findings = Findings::default();
    let mut outcome = Outcome {
        errors: 0,
        files: Vec::new(),
        findings: Vec::new(),
        not_checked: NOT_CHECKED.to_vec(),
        records: 0,
        total: 0,
        warnings: 0,
    };
    if let Some(manifest) = load_manifest(dir, &mut findings, &mut outcome.files)? {
        check_files(dir, &manifest, &mut findings, &mut outcome)?;
    }
    let position = |file: &CheckedFile| names::PLANE_1.iter().position(|name| *name == file.name);
    outcome.files.sort_by_key(position);
    outcome.errors = findings.errors;
    outcome.warnings = findings.warnings;
    outcome.total = findings.errors + findings.warnings;
    outcome.findings = findings.kept;
    Ok(outcome)
}

/// The small files of a run, checked by themselves.
pub(crate) struct Small {
    pub(crate) manifest: Option<Manifest>,
    pub(crate) summary: Option<Summary>,
    pub(crate) findings: Vec<Finding>,
}

/// Checks what takes no look into long files: the manifest, the form of the summary, and the run id.
pub(crate) fn validate_small(dir: &Path) -> Result<Small, ValidateError> {
    let mut findings = Findings::default();
    let manifest = load_manifest(dir, &mut findings, &mut Vec::new())?;
    let summary = match JsonFile::load(dir, names::SUMMARY, &mut findings)? {
        Some(file) => file.read::<Summary>(names::SUMMARY, &mut findings),
        None => None,
    };
    if let Some(manifest) = &manifest {
        identity::check_identity(dir, manifest, &mut findings)?;
    }
    Ok(Small { manifest, summary, findings: findings.kept })
}

/// What is recorded but cannot be made again from a run directory.
const NOT_CHECKED: [&str; 3] = [
    "input.fingerprint: it covers the whole request, and records hold its messages only",
    "scores: whether they follow from the outputs takes the scorers",
    "report.html: by its digest only",
];

const BLOCK: usize = 256 * 1024;

fn load_manifest(
    dir: &Path,
    findings: &mut Findings,
    files: &mut Vec<CheckedFile>,
) -> Result<Option<Manifest>, ValidateError> {
    match fs::metadata(dir) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(OpenError::NotDirectory(dir.to_owned()).into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(OpenError::Missing(dir.to_owned()).into()),
        Err(error) => return Err(io_error(dir)(error)),
    }
    let path = dir.join(names::MANIFEST);
    match files::kind_of(&path)? {
        Kind::File => {}
        Kind::Absent if files::kind_of(&dir.join(names::WORK))? == Kind::Folder => {
            return Err(OpenError::Unfinished(dir.to_owned()).into());
        }
        Kind::Absent => return Err(OpenError::NotARun(dir.to_owned()).into()),
        Kind::Folder => {
            files::report_not_a_file(names::MANIFEST, "a folder", findings);
            return Ok(None);
        }
        Kind::Other(what) => {
            files::report_not_a_file(names::MANIFEST, what, findings);
            return Ok(None);
        }
    }
    let Some(file) = JsonFile::load(dir, names::MANIFEST, findings)? else { return Ok(None) };
    files.push(file.checked(names::MANIFEST));
    // The version comes first: a newer manifest may have any other shape.
    let found = serde_json::from_slice::<VersionOnly>(&file.bytes).map_or(0, |version| version.schema_version);
    if found > u64::from(MANIFEST_SCHEMA) {
        return Err(OpenError::Newer { path, found }.into());
    }
    let manifest = file.read::<Manifest>(names::MANIFEST, findings);
    if let Some(manifest) = &manifest {
        manifest::check_manifest(manifest, findings);
    }
    Ok(manifest)
}

#[derive(serde::Deserialize)]
struct VersionOnly {
    schema_version: u64,
}

fn check_files(
    dir: &Path,
    manifest: &Manifest,
    findings: &mut Findings,
    outcome: &mut Outcome,
) -> Result<(), ValidateError> {
    files::check_names(dir, manifest, findings)?;
    let whole = check_records(dir, manifest, findings, outcome)?;
    for name in [names::TRAJECTORIES, names::CONFIG, names::REPORT_HTML] {
        if let Some(file) = files::digest(dir, name)? {
            files::check_digest(&file, manifest, findings);
            outcome.files.push(file);
        }
    }
    identity::check_identity(dir, manifest, findings)?;
    trajectories::check_trajectories(dir, manifest, MAX_LINE, findings)?;
    outcome.files.extend(summary::check_summary(dir, manifest, whole, findings)?);
    Ok(())
}

fn check_records(
    dir: &Path,
    manifest: &Manifest,
    findings: &mut Findings,
    outcome: &mut Outcome,
) -> Result<Option<Whole>, ValidateError> {
    let path = dir.join(names::RECORDS);
    if files::kind_of(&path)? != Kind::File {
        return Ok(None);
    }
    let source = File::open(&path).map_err(io_error(&path))?;
    let rules = Rules::new(manifest, MAX_LINE);
    let mut order = Order::new(manifest);
    let mut outputs = Outputs::new();
    // How many threads there are changes the time, not the outcome.
    let workers = thread::available_parallelism().map_or(2, NonZero::get).clamp(1, 8);
    let limits = Limits { block: BLOCK, line: MAX_LINE, workers };
    let check = |block: &blocks::Block| check_block(&rules, block);
    let total = for_each_block(source, limits, check, |block, checked| {
        checked.images.iter().try_for_each(|(line, image)| outputs.push(*line, image))?;
        order.take(block, checked, findings)
    })
    .map_err(io_error(&path))?;
    outcome.records = total.lines;
    let file = CheckedFile { bytes: total.bytes, digest: total.digest, name: names::RECORDS.to_owned() };
    files::check_digest(&file, manifest, findings);
    outcome.files.push(file);
    let whole = order.finish(total.lines, findings).map_err(io_error(&path))?;
    outputs.finish(dir, findings)?;
    Ok(Some(whole))
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> ValidateError + use<> {
    let path = path.to_owned();
    move |source| ValidateError::Io { path, source }
}
