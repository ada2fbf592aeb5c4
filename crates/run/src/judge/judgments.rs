//! Judgments in a file, found by their question.
//!
//! 16 bytes a judgment are held in memory; the rest stays where it is.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use proofmark_artefact::judgment::{Entry, Question};
use proofmark_artefact::store::{LineError, Lines};
use proofmark_canon::json;
use proofmark_canon::{Digest, RunId, Value, seed};

/// The longest line of a judgment.
pub(crate) const MAX_JUDGMENT: usize = 1 << 20;

/// Judgments that a run has, in the form that it gives them.
#[derive(Debug)]
pub struct Judgments {
    path: PathBuf,
    file: File,
    form: Form,
    /// The first bytes of a question's key, and where its line starts; sorted.
    places: Vec<(u64, u64)>,
    /// Up to where the file holds whole lines.
    valid_length: u64,
}

/// What the lines of a file of judgments are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Of a finished run: an entry, as it is.
    Published,
    /// Of a run under way: an entry under a digest that covers the run's id. An edit is refused.
    Journalled(RunId),
}

/// A file of judgments cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgmentsError {
    #[error("cannot read `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot read `{path}`")]
    Line { path: PathBuf, source: LineError },
    #[error("line {line} of `{path}` is not a judgment: {why}")]
    Malformed { path: PathBuf, line: u64, why: String },
}

impl Judgments {
    /// Reads where every judgment is. A file that is not there holds none.
    pub(crate) fn open(path: &Path, form: Form) -> Result<Option<Self>, JudgmentsError> {
        let io_error = |source| JudgmentsError::Io { path: path.to_owned(), source };
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(io_error)?,
        };
        let mut lines = Lines::new(file.try_clone().map_err(io_error)?, MAX_JUDGMENT);
        let (mut places, mut valid_length) = (Vec::new(), 0);
        while let Some(line) =
            lines.next_line().map_err(|source| JudgmentsError::Line { path: path.to_owned(), source })?
        {
            if !line.ended && form != Form::Published {
                // What a kill leaves.
                break;
            }
            let malformed = |why| JudgmentsError::Malformed { path: path.to_owned(), line: line.number, why };
            let entry = form.decode(line.bytes).map_err(malformed)?;
            let key = entry.judgment.question.key().map_err(|error| malformed(error.to_string()))?;
            places.push((prefix(&key), line.offset));
            valid_length = line.offset + line.bytes.len() as u64 + 1;
        }
        places.sort_unstable();
        Ok(Some(Self { path: path.to_owned(), file, form, places, valid_length }))
    }

    /// The judgment of a question: the first one, should there be several.
    pub(crate) fn find(&self, key: &Digest, question: &Question) -> Result<Option<Entry>, JudgmentsError> {
        let from = self.places.partition_point(|(known, _)| *known < prefix(key));
        for (_, offset) in self.places[from..].iter().take_while(|(known, _)| *known == prefix(key)) {
            let entry = self.read(*offset)?;
            if entry.judgment.question == *question {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    fn read(&self, offset: u64) -> Result<Entry, JudgmentsError> {
        let io_error = |source| JudgmentsError::Io { path: self.path.clone(), source };
        let mut bytes = vec![0; 4096];
        let mut length = 0;
        loop {
            let read = self.file.read_at(&mut bytes[length..], offset + length as u64).map_err(io_error)?;
            let end = bytes[length..length + read].iter().position(|byte| *byte == b'\n');
            if end.is_some() || read == 0 || length + read > MAX_JUDGMENT {
                let line = &bytes[..end.map_or(length + read, |end| length + end)];
                let malformed = |why| JudgmentsError::Malformed { path: self.path.clone(), line: 0, why };
                return self.form.decode(line).map_err(malformed);
            }
            length += read;
            if length == bytes.len() {
                bytes.resize(bytes.len() * 2, 0);
            }
        }
    }

    pub(crate) fn valid_length(&self) -> u64 {
        self.valid_length
    }
}

impl Form {
    /// The line of an entry, with its line end.
    pub(crate) fn encode(self, entry: &Entry) -> Result<Vec<u8>, json::EncodeError> {
        let body = json::to_vec(entry)?;
        let mut line = match self {
            Self::Published => body,
            Self::Journalled(run_id) => {
                let mut line = format!("{{\"digest\":\"{}\",\"entry\":", digest_of(&run_id, &body)).into_bytes();
                line.extend_from_slice(&body);
                line.push(b'}');
                line
            }
        };
        line.push(b'\n');
        Ok(line)
    }

    fn decode(self, line: &[u8]) -> Result<Entry, String> {
        let value = json::parse(line).map_err(|error| error.to_string())?;
        let body = match self {
            Self::Published => &value,
            Self::Journalled(run_id) => {
                let (Some(recorded), Some(body)) = (value.get("digest").and_then(Value::as_str), value.get("entry"))
                else {
                    return Err("it has no digest or no entry".to_owned());
                };
                if recorded != digest_of(&run_id, &body.to_canonical()).to_string() {
                    return Err("it was changed: its digest does not fit".to_owned());
                }
                body
            }
        };
        json::from_value(body).map_err(|error| error.to_string())
    }
}

fn digest_of(run_id: &RunId, body: &[u8]) -> Digest {
    seed::derive("proofmark.judged/1", &[run_id.as_bytes(), body])
}

fn prefix(key: &Digest) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&key.as_bytes()[..8]);
    u64::from_be_bytes(first)
}
