//! What came of one report, and of all of them.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

/// What one check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Ok,
    Fail,
    /// Not checked, and that is no fault.
    Skip,
    /// It should have been checked and could not be.
    Unchecked,
}

impl Status {
    /// How it is shown to people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Fail => "FAIL",
            Self::Skip | Self::Unchecked => "skip",
        }
    }
}

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Where {
    /// The sidecar itself.
    Block,
    /// The markdown against the sidecar.
    Markdown,
    /// Files as they are on disk.
    Worktree,
    /// Files as they were at the recorded commit.
    Commit,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    pub actual: Option<String>,
    pub expected: Option<String>,
    /// Where it stands in the block.
    pub field: String,
    pub mode: Option<&'static str>,
    pub note: Option<String>,
    /// Relative to the root.
    pub path: Option<String>,
    pub status: Status,
    pub r#where: Where,
}

impl Line {
    pub(super) fn new(r#where: Where, field: impl Into<String>, status: Status) -> Self {
        let field = field.into();
        Self { actual: None, expected: None, field, mode: None, note: None, path: None, status, r#where }
    }

    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

/// The answer to a question about a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    Holds,
    DoesNotHold,
    CannotCheck,
}

impl Answer {
    /// The answer to "do all of them hold": one that does not settles it, one that is open leaves it open.
    pub fn all(answers: impl IntoIterator<Item = Self>) -> Self {
        answers.into_iter().fold(Self::Holds, |all, one| match (all, one) {
            (Self::DoesNotHold, _) | (_, Self::DoesNotHold) => Self::DoesNotHold,
            (Self::CannotCheck, _) | (_, Self::CannotCheck) => Self::CannotCheck,
            _ => Self::Holds,
        })
    }
}

/// What came of one report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Outcome {
    pub answer: Answer,
    /// Whether the block was reconstructed after the run.
    pub backfilled: bool,
    /// Whether the inputs at the recorded commit are those of the block; null when that was not asked or not possible.
    pub commit: Option<Answer>,
    /// Why nothing could be checked.
    pub error: Option<Trouble>,
    /// What the block says of itself.
    pub head: Option<Head>,
    pub lines: Vec<Line>,
    /// As it was asked for.
    pub report: String,
    /// Where paths start.
    pub root: Option<String>,
    /// The same, for those who go on from there: real and absolute.
    #[serde(skip)]
    pub root_path: Option<PathBuf>,
    /// In words, one question a sentence.
    pub verdict: Vec<String>,
    /// Whether the inputs on disk are those of the block; null when that was not asked.
    pub worktree: Option<Answer>,
}

impl Outcome {
    /// Nothing was looked at yet.
    pub(crate) fn new(report: &str) -> Self {
        Self {
            answer: Answer::CannotCheck,
            backfilled: false,
            commit: None,
            error: None,
            head: None,
            lines: Vec::new(),
            report: report.to_owned(),
            root: None,
            root_path: None,
            verdict: Vec::new(),
            worktree: None,
        }
    }
}

/// What a block says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Head {
    pub commit: Option<String>,
    pub git_dirty: Option<bool>,
    pub invoked_at: String,
    pub kind: String,
    /// Who wrote it: `proofmark` or `ahd`.
    pub program: &'static str,
    pub version: String,
}

/// Why something could not be done, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Trouble {
    pub hint: Option<String>,
    pub message: String,
}

/// How many reports came to which answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Summary {
    pub cannot_check: usize,
    pub does_not_hold: usize,
    pub holds: usize,
    pub reports: usize,
}

impl Summary {
    pub fn of(outcomes: &[Outcome]) -> Self {
        let count = |answer| outcomes.iter().filter(|outcome| outcome.answer == answer).count();
        Self {
            cannot_check: count(Answer::CannotCheck),
            does_not_hold: count(Answer::DoesNotHold),
            holds: count(Answer::Holds),
            reports: outcomes.len(),
        }
    }

    pub fn answer(self) -> Answer {
        match self {
            Self { does_not_hold: 1.., .. } => Answer::DoesNotHold,
            Self { cannot_check: 1.., .. } => Answer::CannotCheck,
            _ => Answer::Holds,
        }
    }
}
