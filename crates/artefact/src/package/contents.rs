//! `package.json`: every file of a package.

use proofmark_canon::{Digest, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::RelPath;

pub const PACKAGE_FORMAT: &str = "proofmark.package";
pub const PACKAGE_VERSION: u32 = 1;

/// What a package holds, besides this file and the signatures over it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// Each file once, in the order of their paths.
    pub files: Vec<FileEntry>,
    /// Always `proofmark.package`.
    #[schemars(regex(pattern = r"^proofmark\.package$"))]
    pub format: String,
    /// Of the run that was sealed.
    #[schemars(with = "String")]
    pub run_id: RunId,
    /// Always 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// From the top of the package.
    pub path: RelPath,
    pub role: FileRole,
    /// 64 hex digits, as `sha256sum` prints them.
    pub sha256: String,
    /// In bytes.
    pub size: u64,
}

impl FileEntry {
    /// The digest, if the text is one.
    pub fn digest(&self) -> Option<Digest> {
        format!("sha256:{}", self.sha256).parse().ok()
    }
}

/// What a file of a package is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// Whether the score was earned.
    Audit,
    /// Something the run was fed.
    Input,
    /// What was run.
    Metadata,
    /// For people.
    Readme,
    /// What a leaderboard takes.
    Results,
    /// A file of the run directory.
    Run,
}
