//! What came of checking a package.

use proofmark_canon::{Digest, RunId};
use schemars::JsonSchema;
use serde::Serialize;

use super::predicate::{Allowance, Inputs};
use crate::audit::Attestation;
use crate::replay::{Answer, Status};
use crate::verify::ladder::MOST_FAILED;
use crate::verify::{Check, Outcome};

/// The version of the JSON document.
pub const VERDICT_VERSION: u32 = 1;

/// A verdict on a package. The same package, trust and program give the same verdict on any machine.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// What the signer knew to be wrong and sealed nevertheless.
    pub allowances: Vec<Allowance>,
    pub answer: Answer,
    /// Null when it did not come to an audit.
    pub audit: Option<AuditVerdict>,
    /// What nobody should take it for, a sentence each.
    pub does_not_prove: Vec<String>,
    /// `proofmark.verify-package`.
    pub format: &'static str,
    /// What was left open, a sentence each.
    pub gaps: Vec<String>,
    /// The rungs that the run in the package reaches; null when it did not come to them.
    pub ladder: Option<Outcome>,
    /// Null when nothing could be made of it.
    pub package: Option<PackageFacts>,
    /// What is known now, a sentence each.
    pub proves: Vec<String>,
    /// The highest rung that holds with all below it; 0 for none.
    pub reached: u8,
    pub schema_version: u32,
    /// Null when nobody could be made out.
    pub signer: Option<SignerFacts>,
    /// What was checked, in this order: archive, signature, signer, package, files, derived, audit.
    pub stages: Vec<Stage>,
    /// Names the trust that it rests on: every key with its roles and dates.
    #[schemars(with = "String", regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub trust: Digest,
    /// The version of the program that checked it.
    pub verified_with: String,
}

/// What was sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PackageFacts {
    /// All files together.
    pub bytes: u64,
    /// Of `package.json`.
    #[schemars(with = "String")]
    pub digest: Digest,
    pub files: u64,
    pub inputs: Inputs,
    #[schemars(with = "String")]
    pub run_id: RunId,
    /// The suite's name.
    pub suite: String,
}

/// Who signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SignerFacts {
    /// The fingerprint, as `ssh-keygen -l` shows it.
    #[schemars(regex(pattern = r"^SHA256:[A-Za-z0-9+/]{43}$"))]
    pub key: String,
    /// What the trust file calls the key; null when it does not know it.
    pub name: Option<String>,
    /// When, as the signer says; null when that is not known.
    pub signed_at: Option<String>,
    /// Whether the trust file believes it as a submitter at that time.
    pub trusted: bool,
}

/// What came of auditing the run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditVerdict {
    /// What this audit comes to.
    pub again: Attestation,
    /// With the dataset's own answers; null when they were not given.
    pub against_gold: Option<Attestation>,
    /// Whether the report in the package is what this audit gives, byte for byte.
    pub is_same: bool,
    /// What the report in the package says; null when it cannot be read.
    pub sealed: Option<Attestation>,
}

/// One stage of the check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stage {
    pub answer: Answer,
    pub checks: Vec<Check>,
    /// Failed checks, also those that are not among `checks`.
    pub failed: u64,
    pub name: &'static str,
}

impl Stage {
    pub fn new(name: &'static str) -> Self {
        Self { answer: Answer::Holds, checks: Vec::new(), failed: 0, name }
    }

    /// Adds a check. Of failed ones the first hundred are kept.
    pub fn push(&mut self, check: Check) {
        let answer = match check.status {
            Status::Ok | Status::Skip => Answer::Holds,
            Status::Fail => Answer::DoesNotHold,
            Status::Unchecked => Answer::CannotCheck,
        };
        self.answer = Answer::all([self.answer, answer]);
        if check.status == Status::Fail {
            self.failed += 1;
            if self.failed > MOST_FAILED {
                return;
            }
        }
        self.checks.push(check);
    }

    /// Adds a check that holds, or does not for a reason. Returns whether it holds.
    pub fn settle(&mut self, file: &str, check: &str, result: Result<(), String>) -> bool {
        let holds = result.is_ok();
        self.push(match result {
            Ok(()) => Check::of(file, check, Status::Ok),
            Err(why) => Check::of(file, check, Status::Fail).note(why),
        });
        holds
    }

    pub fn holds(&self) -> bool {
        self.answer == Answer::Holds
    }
}
