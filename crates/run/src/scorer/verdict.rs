//! What a scorer is given, and what it says.

use std::path::{Path, PathBuf};

use proofmark_artefact::record::{Image, Message};
use proofmark_artefact::store::{OutputError, OutputName, load_output};
use proofmark_canon::{Map, Value};

use super::command::CommandError;
use super::text::excerpt;

/// What a scorer is given. No secrets, no model.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// What the model said.
    pub text: &'a str,
    /// The pictures it made.
    pub images: &'a [AnswerImage<'a>],
    /// The item's target; null when it has none.
    pub expected: &'a Value,
    /// The item's options, for multiple choice.
    pub choices: Option<&'a [Value]>,
    pub item_id: &'a str,
    /// The sample's key.
    pub key: &'a str,
    /// What the model was sent.
    pub messages: &'a [Message],
    /// The item's metadata columns.
    pub metadata: Option<&'a Map>,
}

/// A picture that a model made: what the record says of it, and where its bytes are.
#[derive(Debug, Clone, Copy)]
pub struct AnswerImage<'a> {
    pub facts: &'a Image,
    pub run_dir: &'a Path,
}

impl AnswerImage<'_> {
    /// Where the file is; `None` for a media type that is not stored.
    pub fn path(&self) -> Option<PathBuf> {
        OutputName::of(self.facts).map(|name| name.under(self.run_dir))
    }

    /// Reads the bytes and holds them against their digest.
    pub fn load(&self) -> Result<Vec<u8>, OutputError> {
        load_output(self.run_dir, self.facts)
    }
}

/// What a scorer says about one answer. A pass always has a value above 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Finite, from 0 to 1.
    pub value: f64,
    pub passed: bool,
    /// Why: one line of at most [`Verdict::MAX_EXPLANATION`] characters, free of control characters.
    pub explanation: String,
}

impl Verdict {
    /// How many characters an explanation has at most.
    pub const MAX_EXPLANATION: usize = 500;

    pub(super) fn pass(explanation: String) -> Self {
        Self { value: 1.0, passed: true, explanation }
    }

    pub(super) fn fail(explanation: String) -> Self {
        Self { value: 0.0, passed: false, explanation }
    }
}

/// The scorer could not judge. Never a pass, and not the model's fault.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreError {
    #[error("item `{item}` has no target")]
    NoTarget { item: String },
    #[error("the target of item `{item}` is {found}, expected {expected}")]
    TargetKind { item: String, found: &'static str, expected: &'static str },
    #[error("the target of item `{item}` is empty")]
    EmptyTarget { item: String },
    #[error("the target `{target}` of item `{item}` {why}")]
    Target { item: String, target: String, why: &'static str },
    #[error("the choices of item `{item}` {why}")]
    Choices { item: String, why: &'static str },
    #[error("the reference picture `{path}` of item `{item}` {why}")]
    Reference { item: String, path: String, why: String },
    #[error("cannot look at the picture that was stored: {why}")]
    Stored { why: String },
    #[error("there is no judge to ask here")]
    NoJudge,
    #[error(transparent)]
    Command(#[from] CommandError),
}

impl ScoreError {
    /// Returns the way out, where there is one.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoTarget { .. } => "set `target` in the task's dataset to the field that holds the right answer",
            Self::TargetKind { .. } => "check that `target` names the right field, or use another scorer",
            Self::EmptyTarget { .. } => "every answer would pass; give the item a target or drop it",
            Self::Target { .. } => "correct the item, or map `target` to another field",
            Self::Choices { .. } => "set `choices` in the task's dataset to the field that lists the options",
            Self::Reference { .. } => "give the path of a PNG, JPEG, GIF or WebP file inside the suite's folder",
            Self::Stored { .. } | Self::NoJudge => return None,
            Self::Command(error) => return error.hint(),
        })
    }
}

/// The errors that name the item.
impl Answer<'_> {
    pub(super) fn no_target(&self) -> ScoreError {
        ScoreError::NoTarget { item: excerpt(self.item_id) }
    }

    pub(super) fn empty_target(&self) -> ScoreError {
        ScoreError::EmptyTarget { item: excerpt(self.item_id) }
    }

    pub(super) fn target_kind(&self, found: &Value, expected: &'static str) -> ScoreError {
        ScoreError::TargetKind { item: excerpt(self.item_id), found: found.kind(), expected }
    }

    pub(super) fn bad_target(&self, target: &str, why: &'static str) -> ScoreError {
        ScoreError::Target { item: excerpt(self.item_id), target: excerpt(target), why }
    }

    pub(super) fn bad_choices(&self, why: &'static str) -> ScoreError {
        ScoreError::Choices { item: excerpt(self.item_id), why }
    }
}
