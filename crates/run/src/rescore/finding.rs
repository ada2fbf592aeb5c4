//! What does not fit, in plain words.

use std::fmt;

use proofmark_artefact::text::excerpt;
use serde::Serialize;

/// The most findings that are kept; the rest is counted.
pub const MAX_FINDINGS: usize = 100;

/// Something that is recorded and does not follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub kind: FindingKind,
    /// The file's name in the run directory.
    pub file: String,
    /// From 1, in a file of lines.
    pub line: Option<u64>,
    /// The sample's key.
    pub key: Option<String>,
    /// The member that differs, such as `scores[0].value`.
    pub field: Option<String>,
    /// What the file says, shortened.
    pub recorded: Option<String>,
    /// What came out now, shortened.
    pub computed: Option<String>,
    pub message: String,
}

/// The ways in which a run can contradict itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The run id is not that of the suite.
    OtherSuite,
    /// A line or file is not what the run wrote there.
    Malformed,
    /// The score is not what the scorer gives.
    Score,
    /// The suite gives another input.
    Input,
    /// Another member of a record is not what it was made as.
    Record,
    /// A sample of the suite has no record.
    Dropped,
    /// A sample has two records.
    Doubled,
    /// A record of no sample of the suite.
    Added,
    /// A record that is not in its place.
    Moved,
    /// A line of the trajectories is not what the record gives.
    Trajectory,
    /// A judgment is not what its judge signed, or not in its place.
    Judgment,
    /// A number of the summary does not follow from the records.
    Summary,
    /// A member of the manifest does not follow from the suite and the records.
    Manifest,
}

impl Finding {
    pub(super) fn new(kind: FindingKind, file: &str, message: impl Into<String>) -> Self {
        Self {
            kind,
            file: file.to_owned(),
            line: None,
            key: None,
            field: None,
            recorded: None,
            computed: None,
            message: message.into(),
        }
    }

    pub(super) fn at(mut self, line: u64, key: Option<&str>) -> Self {
        self.line = Some(line);
        self.key = key.map(|key| excerpt(key, MAX_KEY));
        self
    }
}

/// Characters of a key that are shown: those of a stranger can be long.
const MAX_KEY: usize = 200;

/// File, place and what is wrong, on one line.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, " line {line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, " (`{key}`)")?;
        }
        if let Some(field) = &self.field {
            write!(f, ", {field}")?;
        }
        write!(f, ": {}", self.message)?;
        match (&self.recorded, &self.computed) {
            (Some(recorded), Some(computed)) => write!(f, ": recorded {recorded}, made again {computed}"),
            (Some(recorded), None) => write!(f, ": recorded {recorded}"),
            (None, Some(computed)) => write!(f, ": made again {computed}"),
            (None, None) => Ok(()),
        }
    }
}

/// Findings as they come.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) kept: Vec<Finding>,
    pub(super) found: u64,
}

impl Findings {
    pub(super) fn push(&mut self, finding: Finding) {
        self.found += 1;
        if self.kept.len() < MAX_FINDINGS {
            self.kept.push(finding);
        }
    }
}
