//! What a signer says of a package: the predicate of its in-toto statement.

use proofmark_canon::{Digest, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit::Attestation;
use crate::manifest::Harness;
use crate::summary::Counts;

/// The type of the statement. A name, not an address that anything is fetched from.
pub const EVAL_RUN: &str = "https://proofmark.dev/attestation/eval-run/v1";

/// The version in [`EVAL_RUN`].
pub const PREDICATE_VERSION: u32 = 1;

/// What the signer says of the files that the statement is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Predicate {
    /// What the signer knew to be wrong and sealed nevertheless; empty for a run that may be submitted.
    pub allowances: Vec<Allowance>,
    /// What the audit in the package comes to.
    pub audit: Attestation,
    pub counts: Counts,
    /// The program that made the run.
    pub harness: Harness,
    pub inputs: Inputs,
    /// Digest of `package.json`.
    #[schemars(with = "String", regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub package: Digest,
    /// The rung of verification that the signer reached with what is in the package.
    #[schemars(range(min = 2, max = 3))]
    pub reached: u8,
    #[schemars(with = "String")]
    pub run_id: RunId,
    /// The program that made the package.
    pub sealed_with: Harness,
    /// RFC 3339 in UTC. The signer says so; nobody else does.
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$"))]
    pub signed_at: String,
    /// The suite's name.
    pub suite: String,
}

/// Something that is wrong with a run and was let pass.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Allowance {
    pub kind: AllowanceKind,
    /// In a sentence.
    pub reason: String,
}

/// What was let pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllowanceKind {
    /// The audit is not clean.
    Audit,
    /// The work tree differed from its commit, or nothing is known of either.
    Git,
    /// The run itself says that it cannot be submitted.
    NotSubmittable,
}

impl AllowanceKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Git => "git",
            Self::NotSubmittable => "not submittable",
        }
    }
}

/// Whether what the run was fed is in the package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Inputs {
    Included,
    /// They may not be given away; who has them can say where they are.
    LeftOut,
}
