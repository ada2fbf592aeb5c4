//! Answers that are given, not asked for: those of a finished run, or of a file of outputs.
//!
//! - `line` one line of a file of outputs; `index` which line answers which sample; `model` models that read them.
//!
//! The answers are read twice: once to see whose they are, once when their sample is scored. Memory does not grow
//! with them: the index is sorted outside of memory and walked in the order of the samples.

mod index;
mod line;
mod model;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proofmark_artefact::manifest::{AssetEntry, AssetRole, HashMode};
use proofmark_artefact::store::{LineError, OpenError, RunDir, names};
use proofmark_canon::Digest;
use proofmark_canon::json::EncodeError;

pub use self::line::OUTPUT_FIELDS;

use self::index::Index;
use self::line::{LineProblem, LineRules};
use self::model::{Answers, Given as GivenModel, Reader};
use crate::ready::Ready;
use crate::source::SourceError;

/// How outputs are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The member of a line that holds the answer; found by its name when `None`.
    pub output_field: Option<String>,
    /// For large sorts; the system's folder when `None`.
    pub scratch: Option<PathBuf>,
}

/// What was given.
#[derive(Debug, Clone)]
pub struct Given {
    /// The file that was read: `records.jsonl` of a run, or the file of outputs.
    pub path: PathBuf,
    pub digest: Digest,
    /// Lines with an answer or an error.
    pub answers: u64,
    /// Those that belong to a sample of the suite.
    pub used: u64,
    /// Line and key of the first one that does not, shortened.
    pub first_unused: Option<(u64, String)>,
    /// Samples of the suite without an answer.
    pub missing: u64,
    /// The run whose answers they are.
    pub run: Option<RunDir>,
}

impl Given {
    /// Answers to samples that the suite does not have.
    pub fn unused(&self) -> u64 {
        self.answers - self.used
    }
}

/// The outputs cannot be scored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GivenError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("cannot read `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot read `{path}`")]
    Line { path: PathBuf, source: LineError },
    #[error("line {line} of `{path}` {}", problem.why)]
    Wrong { path: PathBuf, line: u64, problem: LineProblem },
    #[error("lines {first} and {second} of `{path}` answer the same sample")]
    Twice { path: PathBuf, first: u64, second: u64 },
    #[error("none of the {answers} answers in `{path}` belongs to a sample of the suite")]
    NoneFits { path: PathBuf, answers: u64, given: String, wanted: String },
    #[error("there is no answer in `{path}`")]
    Empty { path: PathBuf },
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("cannot sort the answers")]
    Sort(#[source] io::Error),
    #[error("the suite has no canonical form")]
    Encode(#[from] EncodeError),
}

impl GivenError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Open(error) => error.hint(),
            Self::Wrong { problem, .. } => problem.hint.clone(),
            Self::Twice { .. } => Some("leave one of them; samples of one item are told apart by `sample`".to_owned()),
            Self::NoneFits { given, wanted, .. } => {
                Some(format!("the first answer is for `{given}`, the suite's first sample is `{wanted}`"))
            }
            _ => None,
        }
    }
}

/// Gives a run the answers of a finished run (a directory) or of a file of outputs: no model will be asked.
pub fn give(ready: Ready, path: &Path, options: &Options) -> Result<(Ready, Given), GivenError> {
    let run = path.is_dir().then(|| RunDir::open(path)).transpose()?;
    let file = run.as_ref().map_or_else(|| path.to_owned(), |run| run.file(names::RECORDS));
    let reader = match &run {
        Some(run) => Reader::Run(run.path().to_owned()),
        None => Reader::File(LineRules::new(&ready.plan, options.output_field.clone())),
    };
    // Opening a pipe would wait for its writer, and it could not be read twice.
    match std::fs::metadata(&file) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(OpenError::NotAFile(file).into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(OpenError::Missing(file).into()),
        Err(source) => return Err(GivenError::Io { path: file, source }),
    }
    let ready = Arc::new(ready);
    let Index { places, digest, answers, used, missing, first_unused } =
        Index::build(&ready, &file, &reader, options.scratch.as_deref())?;
    let mut ready = Arc::into_inner(ready).expect("everyone else who had it has gone");
    let answers_of =
        Answers::open(&file, reader, places).map_err(|source| GivenError::Io { path: file.clone(), source })?;
    let answers_of = Arc::new(answers_of);
    ready.models = ready.plan.models.iter().map(|_| GivenModel::model(&answers_of)).collect();
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    ready.add_outputs(vec![AssetEntry { digest, mode: HashMode::Raw, path: name, role: AssetRole::Outputs }])?;
    ready.outputs_path = Some(file.clone());
    Ok((ready, Given { path: file, digest, answers, used, first_unused, missing, run }))
}
