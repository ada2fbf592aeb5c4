//! Reads a suite file.

use std::path::{Path, PathBuf};

use proofmark_canon::Digest;

use super::config::Suite;
use super::plan::Plan;
use super::problem::{Problem, Step};
use super::resolve::{Overrides, resolve};
use crate::store::{OpenError, read_bounded};
use crate::yaml::{self, Node, PathStep, YamlError};

/// The largest suite we read.
const MAX_SUITE: u64 = 8 << 20;

/// A suite file that was read, with what is needed to point into it.
#[derive(Debug)]
pub struct SuiteFile {
    path: PathBuf,
    text: String,
    node: Node,
    pub suite: Suite,
}

/// A suite cannot be used. Every problem that was found is in it.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    #[error("cannot read the suite")]
    Open(#[source] OpenError),
    /// One text a problem: place, message, the line it is about, hint.
    #[error("{}", .0.join("\n\n"))]
    Wrong(Vec<String>),
}

impl SuiteFile {
    pub fn read(path: &Path) -> Result<Self, SuiteError> {
        Self::parse(path, &read_bounded(path, MAX_SUITE).map_err(SuiteError::Open)?)
    }

    /// Reads a suite's bytes. The path is what messages call it.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, SuiteError> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let wrong = |error: YamlError| SuiteError::Wrong(vec![error.render(&path.display().to_string(), &text)]);
        let node = yaml::load_bytes(bytes).map_err(wrong)?;
        let suite = yaml::from_node(&node).map_err(wrong)?;
        Ok(Self { path: path.to_owned(), text, node, suite })
    }

    /// The file's bytes as text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The structured digest: comments, white space and key order do not matter.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.node.to_value().to_canonical())
    }

    /// Whether a run wrote this file.
    pub fn is_resolved(&self) -> bool {
        self.suite.resolved.is_some()
    }

    pub fn resolve(&self, overrides: &Overrides) -> Result<Plan, SuiteError> {
        resolve(self.suite.clone(), overrides).map_err(|problems| self.wrong(&problems))
    }

    /// Renders problems with their place in the file.
    pub fn wrong(&self, problems: &[Problem]) -> SuiteError {
        SuiteError::Wrong(problems.iter().map(|problem| self.render(problem)).collect())
    }

    fn render(&self, problem: &Problem) -> String {
        let steps: Vec<PathStep<'_>> = problem
            .place
            .0
            .iter()
            .map(|step| match step {
                Step::Key(key) => PathStep::Key(key),
                Step::Index(at) => PathStep::Index(*at),
            })
            .collect();
        let mut error = YamlError::new(&problem.message).at(self.node.lookup(&steps));
        if let Some(hint) = &problem.hint {
            error = error.with_hint(hint);
        }
        error.render(&self.path.display().to_string(), &self.text)
    }
}
