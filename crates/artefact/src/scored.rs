//! What scoring given outputs came to, as one stable JSON document.

use proofmark_canon::{Digest, RunId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::diff::format;
use crate::summary::Summary;

/// The version of the document's shape.
pub const SCORE_SCHEMA: u32 = 1;

/// What `score --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Scored")]
pub struct Document<'a> {
    /// The run whose answers were scored (A) against the new one (B), as `diff` has it; null for a file of outputs.
    pub against: Option<format::Document<'a>>,
    pub outputs: Outputs<'a>,
    /// As it was given.
    pub run_dir: &'a str,
    #[schemars(with = "String")]
    pub run_id: RunId,
    pub schema_version: u32,
    pub summary: &'a Summary,
}

/// The answers that were given.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outputs<'a> {
    /// Answers and errors that were read.
    pub answers: u64,
    /// Of the bytes of the file that was read.
    #[schemars(with = "String")]
    pub digest: Digest,
    /// Samples of the suite without an answer; their records have an error of class `missing_output`.
    pub missing: u64,
    /// The file that was read.
    pub path: &'a str,
    /// Answers to samples that the suite does not have.
    pub unused: u64,
    /// Answers that belong to a sample of the suite.
    pub used: u64,
}
