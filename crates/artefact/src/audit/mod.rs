//! `audit-report.json`: whether a score was earned, as far as the files can tell.
//!
//! The shape and its formats; what is looked for and how is the audit's own business. Fields are declared in canonical
//! order.

pub mod format;
pub mod policy;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names the report's shape and its version.
pub const AUDIT_SCHEMA: &str = "proofmark.audit/1";

/// The version in [`AUDIT_SCHEMA`].
pub const AUDIT_VERSION: u32 = 1;

/// What an audit found, what it could see and what it could not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    pub attestation: Attestation,
    /// When it was audited, as the caller says; null unless that was said. No clock is read.
    pub audited_at: Option<String>,
    /// One entry a check, in the order of their numbers.
    pub checks: Vec<CheckReport>,
    /// Every file that was read, by what it is: `results`, `trajectories`, …; a run's files by their names.
    pub inputs: BTreeMap<String, InputFile>,
    /// `proofmark.audit/1`.
    pub schema: String,
    /// What the audit assumes of whoever made the files, and what it cannot show.
    pub threat_model: ThreatModel,
    pub totals: Totals,
}

/// What the checks come to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attestation {
    /// No critical finding, and no critical check that saw less than all it had to.
    pub clean: bool,
    /// Critical checks that failed, after the policy.
    pub critical_failures: Vec<String>,
    /// What the harness did not record, one sentence a check.
    pub harness_gaps: Vec<String>,
    /// Checks whose failure a policy or the suite has turned down.
    pub overridden: Vec<String>,
    /// Checks that could not see all they had to.
    pub skipped: Vec<String>,
    /// Clean, and no other check failed or was skipped.
    pub strict_clean: bool,
    /// Checks of lower severity that failed, after the policy.
    pub warn_failures: Vec<String>,
}

impl Attestation {
    /// What it says, on one line.
    pub fn in_words(&self) -> String {
        let word = match (self.clean, self.strict_clean) {
            (true, true) => "clean",
            (true, false) => "clean, with warnings",
            (false, _) => "not clean",
        };
        let lists = [
            ("critical", &self.critical_failures),
            ("warnings", &self.warn_failures),
            ("not all seen", &self.skipped),
            ("turned down", &self.overridden),
        ];
        let lists = lists.into_iter().filter(|(_, ids)| !ids.is_empty());
        let parts: Vec<String> = lists.map(|(name, ids)| format!("{name}: {}", ids.join(", "))).collect();
        if parts.is_empty() { word.to_owned() } else { format!("{word} ({})", parts.join("; ")) }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckReport {
    pub coverage: Coverage,
    /// The first ones, in the order of the files.
    pub evidence: Vec<Evidence>,
    /// Entries beyond those that are listed.
    pub evidence_omitted: u64,
    /// What was not recorded, so that the check could not see all; absent when nothing was missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness_gap: Option<String>,
    /// `AUD-1` to `AUD-11`.
    pub id: String,
    pub name: String,
    /// What a policy or the suite made of it; absent when neither changed anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overridden: Option<Overridden>,
    pub severity: Severity,
    pub status: CheckStatus,
}

/// How many of the samples that a check had to cover it could see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    pub of: u64,
    pub seen: u64,
}

impl Coverage {
    pub fn is_whole(self) -> bool {
        self.seen >= self.of
    }
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// A stable word for what was found.
    pub finding: String,
    /// The gold answer it is about: its digest, or its text when that was asked for; absent when it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gold: Option<String>,
    /// What was found, in a sentence.
    pub message: String,
    /// Where: the file, its line and the step; absent when it is about the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The sample: its task id, or its key in a run of ours; absent when it is about the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<String>,
    pub severity: Severity,
}

/// What a policy or the suite changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Overridden {
    pub by: Authority,
    /// The severity that the finding has by itself.
    pub from: Severity,
    /// Why, in the words of whoever changed it; absent when it gives no reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub to: Severity,
}

impl Overridden {
    /// Whether the finding counts for less than it does by itself.
    pub fn is_down(&self) -> bool {
        self.to < self.from
    }
}

/// Who set a severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Authority {
    /// Whoever audited, with a file.
    Policy,
    /// Whoever wrote the suite of the run.
    Suite,
}

impl Authority {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Suite => "suite",
        }
    }
}

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing. It fails nothing.
    Info,
    /// It fails its check, and a run that has it is not strictly clean.
    Warn,
    /// It fails its check, and a run that has it is not clean.
    Critical,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// It saw all it had to, and found nothing that counts.
    Pass,
    Fail,
    /// It found nothing in what it saw, but did not see all it had to. That is no pass.
    Skip,
}

impl CheckStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Skip => "skip",
        }
    }
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputFile {
    pub bytes: u64,
    /// 64 hex digits.
    pub sha256: String,
}

/// What the audit assumes and what it cannot show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreatModel {
    pub assumes: Vec<String>,
    pub cannot_show: Vec<String>,
}

/// What was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Samples that the results mark as correct.
    pub marked_correct: u64,
    /// Samples that are correct when scored again.
    pub rescored_correct: u64,
    pub samples: u64,
    pub steps: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    pub trajectories: u64,
    pub trajectory_bytes: u64,
    /// Samples without a mark: their gold answers are not known to whoever ran them.
    pub unmarked: u64,
}
