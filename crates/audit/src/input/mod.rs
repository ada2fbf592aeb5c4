//! Readers: whatever was left, as samples and facts.
//!
//! - [`results`] results of other harnesses; [`metadata`] what they say of the whole; [`gold`] the answers of a dataset;
//! - [`own`] a run directory of ours; [`frame`] what its prompts have in common; [`telemetry`] what its requests looked
//!   like;
//! - [`document`] files that are one JSON value, part by part; [`fields`] members under the several names that harnesses give them.
//!
//! Nothing here judges: a value that does not fit is kept in its own words, and a check says what it means. What cannot be
//! read at all is an error.

pub mod document;
pub mod fields;
mod frame;
pub mod gold;
pub mod metadata;
pub mod own;
pub mod results;
pub mod telemetry;

use std::collections::BTreeMap;
use std::path::PathBuf;

use proofmark_artefact::audit::InputFile;
use proofmark_canon::Digest;

use crate::policy::Policy;
use crate::rule::Rule;
use crate::sample::Facts;
use crate::samples::Samples;
use telemetry::Latencies;

/// Everything that is audited, apart from the trajectories, which are streamed.
pub struct Inputs {
    pub samples: Samples,
    /// How long samples took, where telemetry says it.
    pub latencies: Option<Latencies>,
    pub facts: Facts,
    /// How answers are scored, by task.
    pub rules: Vec<Rule>,
    /// What the suite makes of findings.
    pub policy: Policy,
    pub trajectories: Option<PathBuf>,
    /// What was read so far.
    pub files: BTreeMap<String, InputFile>,
    /// What was found in agent-visible texts while they were read.
    pub found: crate::seen::Found,
}

impl Inputs {
    pub(crate) fn note_file(&mut self, name: &str, digest: &Digest, bytes: u64) {
        self.files.insert(name.to_owned(), InputFile { bytes, sha256: digest.hex() });
    }
}
