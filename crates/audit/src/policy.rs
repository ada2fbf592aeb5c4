//! What a policy makes of findings. It can turn one down, never make it go unseen.

use std::collections::BTreeMap;
use std::path::Path;

use proofmark_artefact::audit::Severity;
use proofmark_artefact::store::read_bounded;
use proofmark_artefact::text::excerpt;
use proofmark_artefact::yaml;
use serde::Deserialize;

use crate::checks::CHECKS;
use crate::error::AuditError;

const MAX_POLICY: u64 = 1 << 20;

/// Severities that somebody wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    severities: BTreeMap<String, Wanted>,
}

/// What is wanted of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub severity: Severity,
    pub reason: Option<String>,
}

/// A policy as it is written, in YAML or JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    severities: BTreeMap<String, Severity>,
    #[serde(default)]
    reasons: BTreeMap<String, String>,
}

impl Policy {
    pub fn load(path: &Path) -> Result<Self, AuditError> {
        let bytes = read_bounded(path, MAX_POLICY)?;
        Self::parse(&bytes).map_err(|message| AuditError::Policy { path: path.to_owned(), message })
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let node = yaml::load_bytes(bytes).map_err(|error| error.to_string())?;
        let written: Written = yaml::from_node(&node).map_err(|error| error.to_string())?;
        for id in written.severities.keys().chain(written.reasons.keys()) {
            if !CHECKS.iter().any(|check| check.id == id) {
                return Err(format!("there is no check `{}`", excerpt(id, 40)));
            }
        }
        let mut reasons = written.reasons;
        let wanted = written.severities.into_iter().map(|(id, severity)| {
            let reason = reasons.remove(&id).map(|reason| excerpt(&reason, 400));
            (id, Wanted { severity, reason })
        });
        Ok(Self { severities: wanted.collect() })
    }

    pub fn of(&self, check: &str) -> Option<&Wanted> {
        self.severities.get(check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_names_checks_and_severities_in_yaml_or_json() {
        for text in [
            "severities: {AUD-1: warn}\nreasons: {AUD-1: known pages}\n",
            r#"{"severities": {"AUD-1": "warn"}, "reasons": {"AUD-1": "known pages"}}"#,
        ] {
            let policy = Policy::parse(text.as_bytes()).unwrap();
            let want = Wanted { severity: Severity::Warn, reason: Some("known pages".into()) };
            assert_eq!((policy.of("AUD-1"), policy.of("AUD-2")), (Some(&want), None));
        }
    }

    #[test]
    fn what_a_policy_cannot_say_is_refused() {
        for text in [
            "severities: {AUD-12: warn}",
            "severities: {AUD-1: pass}",
            "skip: [AUD-1]",
            "7",
            "a: [",
            "reasons: {AUD-0: x}",
        ] {
            assert!(Policy::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
