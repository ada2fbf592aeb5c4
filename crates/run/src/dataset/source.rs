//! Where rows come from, whatever the format.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use proofmark_artefact::store::digest_file;
use proofmark_canon::json::Integers;
use proofmark_canon::{Digest, Map, Value};

use super::csv::CsvRows;
use super::error::{At, DatasetError, Problem};
use super::jsonl::JsonlRows;
use super::parquet::ParquetRows;

/// One row and where it stands.
pub(super) struct Row {
    pub at: At,
    pub row: Map,
}

/// What is wrong, and where that is known.
pub(super) type Failure = (Option<At>, Problem);

pub(super) type RowResult = Result<Row, Failure>;

/// One file of a dataset, or the rows of the suite itself.
#[derive(Debug)]
pub(super) struct Source {
    /// As messages name it.
    pub shown: String,
    pub origin: Origin,
    /// What the bytes must be, when that is known before they are read.
    pub pinned: Option<Digest>,
}

#[derive(Debug)]
pub(super) enum Origin {
    File { path: PathBuf, kind: Kind },
    Inline(Arc<Vec<Value>>),
}

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Jsonl,
    Csv { delimiter: u8 },
    Parquet,
}

/// How rows are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadRules {
    pub integers: Integers,
    pub max_line: usize,
}

/// What tells cheaply whether a file may have changed.
pub(super) type Stamp = (u64, Option<SystemTime>);

impl Source {
    pub(super) fn open(&self, rules: ReadRules) -> Result<(Rows, Option<Stamp>), DatasetError> {
        let (path, kind) = match &self.origin {
            Origin::Inline(rows) => return Ok((Rows::Inline { rows: Arc::clone(rows), at: 0 }, None)),
            Origin::File { path, kind } => (path, *kind),
        };
        let failed = |action| move |source| self.fail(None, Problem::Io { action, source });
        // Opening a pipe would wait for its writer: look before.
        let is_file = std::fs::metadata(path).map_err(failed("open the file"))?.is_file();
        if !is_file {
            return Err(self.fail(None, Problem::NotAFile));
        }
        let file = File::open(path).map_err(failed("open the file"))?;
        let metadata = file.metadata().map_err(failed("open the file"))?;
        let stamp = (metadata.len(), metadata.modified().ok());
        let rows = match kind {
            Kind::Jsonl => Rows::Jsonl(JsonlRows::new(file, rules.integers, rules.max_line)),
            Kind::Csv { delimiter } => Rows::Csv(CsvRows::new(file, delimiter, rules.max_line)),
            Kind::Parquet => Rows::Parquet(Box::new(
                ParquetRows::open(file, rules.integers, rules.max_line).map_err(|problem| self.fail(None, problem))?,
            )),
        };
        Ok((rows, Some(stamp)))
    }

    /// Reads the file once more and returns the digest of its bytes.
    pub(super) fn digest(&self) -> Result<Digest, DatasetError> {
        match &self.origin {
            Origin::Inline(rows) => Ok(inline_digest(rows)),
            Origin::File { path, .. } => {
                digest_file(path).map(|(digest, _)| digest).map_err(|error| self.fail(None, read_failed(error)))
            }
        }
    }

    pub(super) fn fail(&self, at: Option<At>, problem: Problem) -> DatasetError {
        DatasetError::new(&self.shown, at, problem)
    }

    /// The place as this source counts: lines of text files, rows of anything else.
    pub(super) fn at(&self, number: u64) -> At {
        match self.origin {
            Origin::File { kind: Kind::Jsonl | Kind::Csv { .. }, .. } => At::Line(number),
            Origin::File { kind: Kind::Parquet, .. } | Origin::Inline(_) => At::Row(number),
        }
    }
}

/// A source while it is read.
pub(super) enum Rows {
    Jsonl(JsonlRows<File>),
    Csv(CsvRows<File>),
    Parquet(Box<ParquetRows>),
    Inline { rows: Arc<Vec<Value>>, at: usize },
}

impl Rows {
    pub(super) fn next(&mut self) -> Option<RowResult> {
        match self {
            Self::Jsonl(rows) => rows.next(),
            Self::Csv(rows) => rows.next(),
            Self::Parquet(rows) => rows.next(),
            Self::Inline { rows, at } => {
                let value = rows.get(*at)?;
                *at += 1;
                let at = At::Row(*at as u64);
                Some(match value {
                    Value::Object(row) => Ok(Row { at, row: row.clone() }),
                    other => Err((Some(at), Problem::NotAnObject(other.kind()))),
                })
            }
        }
    }

    /// Reads whatever is left and returns the digest of the whole source.
    pub(super) fn finish(self) -> io::Result<Digest> {
        match self {
            Self::Jsonl(rows) => rows.finish(),
            Self::Csv(rows) => rows.finish(),
            Self::Parquet(rows) => Ok(rows.digest()),
            Self::Inline { rows, .. } => Ok(inline_digest(&rows)),
        }
    }
}

pub(super) fn read_failed(source: io::Error) -> Problem {
    Problem::Io { action: "read the file", source }
}

fn inline_digest(rows: &[Value]) -> Digest {
    let mut bytes = vec![b'['];
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            bytes.push(b',');
        }
        row.append_canonical(&mut bytes);
    }
    bytes.push(b']');
    Digest::of(&bytes)
}
