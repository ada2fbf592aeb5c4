//! What a policy makes of findings. It can turn one down, never make it go unseen.

use std::collections::BTreeMap;
use std::path::Path;

use proofmark_artefact::audit::policy::PolicyConfig;
use proofmark_artefact::audit::{Authority, Severity};
use proofmark_artefact::store::read_bounded;
use proofmark_artefact::text::excerpt;
use proofmark_artefact::yaml;

use crate::error::AuditError;

const MAX_POLICY: u64 = 1 << 20;

/// Severities that somebody wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    severities: BTreeMap<&'static str, Wanted>,
}

/// What is wanted of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub by: Authority,
    pub severity: Severity,
    pub reason: Option<String>,
}

impl Policy {
    pub fn load(path: &Path) -> Result<Self, AuditError> {
        let bytes = read_bounded(path, MAX_POLICY)?;
        Self::parse(&bytes).map_err(|message| AuditError::Policy { path: path.to_owned(), message })
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let node = yaml::load_bytes(bytes).map_err(|error| error.to_string())?;
        let written: PolicyConfig = yaml::from_node(&node).map_err(|error| error.to_string())?;
        Ok(Self::of_config(&written, Authority::Policy))
    }

    pub(crate) fn of_config(config: &PolicyConfig, by: Authority) -> Self {
        let wanted = config.severities.iter().map(|(id, severity)| {
            let reason = config.reasons.get(id).map(|reason| excerpt(reason, 400));
            (id.as_str(), Wanted { by, severity: *severity, reason })
        });
        Self { severities: wanted.collect() }
    }

    /// This policy, and another where this one says nothing.
    pub(crate) fn or(mut self, other: Self) -> Self {
        for (id, wanted) in other.severities {
            self.severities.entry(id).or_insert(wanted);
        }
        self
    }

    pub fn of(&self, check: &str) -> Option<&Wanted> {
        self.severities.get(check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::CHECKS;

    #[test]
    fn a_policy_names_checks_and_severities_in_yaml_or_json() {
        for text in [
            "severities: {AUD-1: warn}\nreasons: {AUD-1: known pages}\n",
            r#"{"severities": {"AUD-1": "warn"}, "reasons": {"AUD-1": "known pages"}}"#,
        ] {
            let policy = Policy::parse(text.as_bytes()).unwrap();
            let want = Wanted { by: Authority::Policy, severity: Severity::Warn, reason: Some("known pages".into()) };
            assert_eq!((policy.of("AUD-1"), policy.of("AUD-2")), (Some(&want), None));
        }
    }

    #[test]
    fn a_policy_wins_over_a_suite_and_leaves_the_rest() {
        let suite = yaml::load_bytes(b"severities: {AUD-1: info, AUD-5: critical}").unwrap();
        let suite = Policy::of_config(&yaml::from_node(&suite).unwrap(), Authority::Suite);
        let both = Policy::parse(b"severities: {AUD-1: critical}").unwrap().or(suite);
        let said = |id| both.of(id).map(|wanted| (wanted.by, wanted.severity));
        assert_eq!(said("AUD-1"), Some((Authority::Policy, Severity::Critical)));
        assert_eq!(said("AUD-5"), Some((Authority::Suite, Severity::Critical)));
        assert_eq!(said("AUD-2"), None);
    }

    #[test]
    fn every_check_can_be_named() {
        for check in &CHECKS {
            let text = format!("severities: {{{}: info}}", check.id);
            assert!(Policy::parse(text.as_bytes()).unwrap().of(check.id).is_some(), "{}", check.id);
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
