//! What checks are to weigh, as somebody writes it: under `audit` of a suite, or in a file of its own.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Severity;

/// Severities that somebody wants, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyConfig {
    /// What a check is to weigh. A failure that is turned down stays a failure, and the report says so.
    #[serde(default)]
    pub severities: BTreeMap<CheckId, Severity>,
    /// Why, for readers of the report.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<CheckId, String>,
}

/// The number of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum CheckId {
    #[serde(rename = "AUD-1")]
    AnswerLeakage,
    #[serde(rename = "AUD-2")]
    NoWork,
    #[serde(rename = "AUD-3")]
    OracleLeakage,
    #[serde(rename = "AUD-4")]
    GraderIsolation,
    #[serde(rename = "AUD-5")]
    NormalisationCollision,
    #[serde(rename = "AUD-6")]
    VotingDisclosure,
    #[serde(rename = "AUD-7")]
    SplitIntegrity,
    #[serde(rename = "AUD-8")]
    Rescoring,
    #[serde(rename = "AUD-9")]
    Plea,
    #[serde(rename = "AUD-10")]
    Fabrication,
    #[serde(rename = "AUD-11")]
    NullAgents,
}

impl CheckId {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AnswerLeakage => "AUD-1",
            Self::NoWork => "AUD-2",
            Self::OracleLeakage => "AUD-3",
            Self::GraderIsolation => "AUD-4",
            Self::NormalisationCollision => "AUD-5",
            Self::VotingDisclosure => "AUD-6",
            Self::SplitIntegrity => "AUD-7",
            Self::Rescoring => "AUD-8",
            Self::Plea => "AUD-9",
            Self::Fabrication => "AUD-10",
            Self::NullAgents => "AUD-11",
        }
    }
}
