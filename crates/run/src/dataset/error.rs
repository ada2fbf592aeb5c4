//! What can be wrong with a dataset.

use std::fmt;
use std::io;

use proofmark_artefact::path::RelPathError;
use proofmark_artefact::yaml::suggest;
use proofmark_canon::Digest;
use proofmark_canon::json::ParseError;

use super::hub::error::HubProblem;
use super::item::MAX_ID_BYTES;
use super::names;

/// A dataset that cannot be used, and where that shows.
#[derive(Debug)]
pub struct DatasetError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    file: String,
    at: Option<At>,
    problem: Problem,
}

/// A place in a dataset, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum At {
    /// A line of a text file; the first line of a record that has several.
    Line(u64),
    /// A row of a format without lines.
    Row(u64),
}

impl DatasetError {
    pub(super) fn new(file: impl Into<String>, at: Option<At>, problem: Problem) -> Self {
        Self(Box::new(Inner { file: file.into(), at, problem }))
    }

    /// The file as the suite names it, or what stands for it.
    pub fn file(&self) -> &str {
        &self.0.file
    }

    pub fn at(&self) -> Option<At> {
        self.0.at
    }

    /// The line, when the file has lines and the problem is on one.
    pub fn line(&self) -> Option<u64> {
        if let Some(At::Line(line)) = self.0.at { Some(line) } else { None }
    }

    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        self.0.problem.hint()
    }

    /// Whether the hub could not be asked, so that nothing can be said about the suite.
    pub fn is_of_surroundings(&self) -> bool {
        matches!(&self.0.problem, Problem::Hub(problem) if problem.is_of_surroundings())
    }
}

impl fmt::Display for DatasetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0.file)?;
        if let Some(at) = self.0.at {
            write!(f, " {at}")?;
        }
        write!(f, ": {}", self.0.problem)
    }
}

impl std::error::Error for DatasetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.0.problem)
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// What a suite uses a field for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Id,
    Input,
    Target,
    Choices,
    Files,
    Metadata,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Id => "id",
            Self::Input => "input",
            Self::Target => "target",
            Self::Choices => "choices",
            Self::Files => "files",
            Self::Metadata => "metadata",
        })
    }
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    // Rows.
    #[error("not valid JSON: {0}")]
    Json(ParseError),
    #[error("expected a JSON object, found {0}")]
    NotAnObject(&'static str),
    #[error("the line is empty")]
    EmptyLine,
    #[error("the line is longer than {} bytes", .limit)]
    LineTooLong { limit: usize },
    #[error("not valid UTF-8")]
    NotUtf8,
    #[error("the row has no field `{field}`, which `{role}` names; it has {}", names::list(.available))]
    MissingField { role: Role, field: String, available: Vec<String> },
    #[error("the field `{field}`, which `{role}` names, must be {expected}, found {found}")]
    FieldKind { role: Role, field: String, expected: &'static str, found: &'static str },
    #[error("the id is an empty string")]
    EmptyId,
    #[error("the id has {0} bytes; at most {MAX_ID_BYTES} are allowed")]
    LongId(usize),
    #[error("the field `{field}` names an attachment: {source}")]
    AttachmentPath { field: String, source: RelPathError },
    #[error("the field `{field}` names the attachment `{path}`, which is not a file inside the suite's folder")]
    AttachmentMissing { field: String, path: String },
    #[error("the field `{field}` names the attachment `{path}`, which the repository does not have")]
    AttachmentNotListed { field: String, path: String },
    #[error("the field `{field}` names the attachment `{path}`, which holds gold answers")]
    AttachmentIsGold { field: String, path: String },
    #[error("the attachment `{path}` has {bytes} bytes; at most {limit} are allowed")]
    AttachmentTooLarge { path: String, bytes: u64, limit: u64 },
    #[error("the row has no gold answer")]
    NoGold,
    #[error("the record has {found} fields, the header has {expected}")]
    FieldCount { expected: usize, found: usize },
    #[error("field {0} has a double quote inside an unquoted value")]
    StrayQuote(usize),
    #[error("field {0} goes on after its closing quote")]
    TextAfterQuote(usize),
    #[error("the column `{column}` holds {what}, which has no exact JSON form")]
    NoJsonForm { column: String, what: String },
    #[error("the name `{0}` stands twice in one row")]
    DuplicateName(String),

    // Files: never skipped.
    #[error("the id `{id}` was used before, on {first}")]
    DuplicateId { id: String, first: String, from_digest: bool },
    #[error("the file starts with a byte order mark")]
    ByteOrderMark,
    #[error("the file has no header line")]
    NoHeader,
    #[error("column {0} of the header has no name")]
    UnnamedColumn(usize),
    #[error("the header names the column `{0}` twice")]
    RepeatedColumn(String),
    #[error("the header is not usable: {0}")]
    Header(Box<Problem>),
    #[error("a quoted field is never closed")]
    UnclosedQuote,
    #[error("the record is longer than {limit} bytes")]
    RecordTooLong { limit: usize },
    #[error("not a readable Parquet file: {0}")]
    Parquet(String),
    #[error("the column `{0}` is repeated without being a list, which is not supported")]
    RepeatedWithoutList(String),
    #[error("no rows")]
    Empty { skipped: u64 },
    #[error("cannot {action}")]
    Io { action: &'static str, source: io::Error },
    #[error("not a regular file")]
    NotAFile,
    #[error("the path leads out of the suite's folder")]
    Outside,
    #[error("digest is {found}, but the suite's `dataset_hash` says {expected}")]
    Hash { expected: Digest, found: Digest },
    #[error("the file changed while it was in use")]
    Changed,

    // The configuration.
    #[error("`{first}` and `{second}` both name the field `{field}`")]
    RoleConflict { first: Role, second: Role, field: String },
    #[error("the delimiter `{0}` is not one ASCII character other than a quote or a line end")]
    Delimiter(String),
    #[error("the dataset has no `{0}`")]
    NotConfigured(&'static str),
    #[error("`files` cannot be used with a hub dataset")]
    HubAttachments,
    #[error("no GAIA metadata in `{folder}`")]
    NoMetadata { folder: String },
    #[error(transparent)]
    Hub(HubProblem),
}

impl Problem {
    /// Whether the row alone is bad, so that `on_bad_row: skip` may leave it out.
    pub fn is_of_row(&self) -> bool {
        matches!(
            self,
            Self::Json(_)
                | Self::NotAnObject(_)
                | Self::EmptyLine
                | Self::LineTooLong { .. }
                | Self::NotUtf8
                | Self::MissingField { .. }
                | Self::FieldKind { .. }
                | Self::EmptyId
                | Self::LongId(_)
                | Self::AttachmentPath { .. }
                | Self::AttachmentMissing { .. }
                | Self::AttachmentNotListed { .. }
                | Self::AttachmentIsGold { .. }
                | Self::NoGold
                | Self::FieldCount { .. }
                | Self::StrayQuote(_)
                | Self::TextAfterQuote(_)
                | Self::NoJsonForm { .. }
                | Self::DuplicateName(_)
        )
    }

    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Json(error) => match &error.kind {
                proofmark_canon::json::ParseErrorKind::UnsafeInteger(_) => {
                    "write the number as a string, or set `determinism.strict_serialization: false`"
                }
                proofmark_canon::json::ParseErrorKind::NotUtf8 => "save the file as UTF-8",
                _ => "every line must be one JSON object; `on_bad_row: skip` leaves bad rows out",
            },
            Self::NotAnObject("a list") => "a `jsonl` file has one object on each line, not a list around them",
            Self::NotAnObject(_) => "every line must be one JSON object",
            Self::EmptyLine => "remove the line; only the end of the file may have empty lines",
            Self::LineTooLong { .. } | Self::RecordTooLong { .. } => {
                "is this the right `format`? Long content belongs in `files`"
            }
            Self::NotUtf8 => "save the file as UTF-8",
            Self::MissingField { field, available, .. } => {
                // A row may have any number of fields; the message lists a dozen.
                return suggest(field, available.iter().take(200).map(String::as_str))
                    .map(|near| format!("did you mean `{}`?", names::show(near)));
            }
            Self::FieldKind { role: Role::Choices, .. } => "name a field that holds a list of options",
            Self::FieldKind { .. } => return None,
            Self::EmptyId | Self::LongId(_) => "name another field in `id`, or leave `id` out to use row digests",
            Self::AttachmentPath { .. } | Self::AttachmentMissing { .. } => {
                "attachments are paths relative to the suite's folder"
            }
            Self::AttachmentNotListed { .. } => "is this the right `revision`?",
            Self::AttachmentIsGold { .. } => "a file that an agent may read cannot be the one with the answers",
            Self::AttachmentTooLarge { .. } => "leave the question out, or take a smaller file",
            Self::NoGold => "only the split `test` comes without gold answers",
            Self::NoMetadata { .. } => {
                "it should hold `metadata.parquet` or `metadata.jsonl`; `path` names the folder above `2023/`"
            }
            Self::FieldCount { .. } => "a value that holds the delimiter must be in double quotes",
            Self::StrayQuote(_) | Self::TextAfterQuote(_) => {
                "put the whole value in double quotes and double the quotes inside it"
            }
            Self::NoJsonForm { .. } => "store it as text, or set `determinism.strict_serialization: false`",
            Self::DuplicateId { from_digest: true, .. } => {
                "the two rows are identical; remove one, or set `id:` to a field that tells them apart"
            }
            Self::DuplicateId { .. } => "ids must be unique; name another field in `id:`",
            Self::ByteOrderMark => "save the file as UTF-8 without a byte order mark",
            Self::NoHeader => "the first line of a `csv` file names its columns",
            Self::UnnamedColumn(_) | Self::RepeatedColumn(_) => "give every column a name of its own",
            Self::UnclosedQuote => "close the quote; a quote inside a quoted value is written twice",
            Self::Empty { skipped: 0 } => "a dataset needs at least one row",
            Self::Empty { .. } => "every row was bad; set `on_bad_row: fail` to see the first problem",
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "paths are relative to the suite's folder"
            }
            Self::Outside => "copy the file into the folder, or name a folder above both with `--root`",
            Self::Hash { .. } => {
                "the data is not what the suite was written for; find out why before you change the hash"
            }
            Self::Changed => "do not write to a dataset while it is used; start the run again",
            Self::RoleConflict { .. } => "the target and metadata are hidden from templates; name different fields",
            Self::Delimiter(_) => "use one character such as `,` or `;`, or a tab",
            Self::HubAttachments => "download the files and use a local dataset",
            Self::Hub(problem) => return problem.hint(),
            Self::Header(problem) => return problem.hint(),
            Self::DuplicateName(_)
            | Self::Parquet(_)
            | Self::RepeatedWithoutList(_)
            | Self::Io { .. }
            | Self::NotAFile
            | Self::NotConfigured(_) => return None,
        };
        Some(text.to_owned())
    }
}
