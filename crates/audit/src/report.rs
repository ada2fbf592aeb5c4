//! What the checks come to.

use std::collections::BTreeMap;

use proofmark_artefact::audit::{
    AUDIT_SCHEMA, Attestation, CheckReport, CheckStatus, InputFile, Overridden, Report, Severity, ThreatModel, Totals,
};

use crate::checks::{CHECKS, Check, Outcome};
use crate::policy::Policy;

/// Says what the outcomes of all checks come to.
pub(crate) fn report(
    outcomes: Vec<Outcome>,
    policy: &Policy,
    audited_at: Option<String>,
    inputs: BTreeMap<String, InputFile>,
    totals: Totals,
) -> Report {
    let checks: Vec<CheckReport> =
        CHECKS.iter().zip(outcomes).map(|(check, outcome)| judge(check, outcome, policy)).collect();
    Report {
        attestation: attest(&checks),
        audited_at,
        checks,
        inputs,
        schema: AUDIT_SCHEMA.to_owned(),
        threat_model: threat_model(),
        totals,
    }
}

/// What a check found, as its status. One that did not see all it had to is never a pass.
fn judge(check: &Check, outcome: Outcome, policy: &Policy) -> CheckReport {
    let worst = outcome.kept.worst().filter(|worst| *worst > Severity::Info);
    let status = match worst {
        Some(_) => CheckStatus::Fail,
        None if outcome.coverage.is_whole() => CheckStatus::Pass,
        None => CheckStatus::Skip,
    };
    // What was not seen weighs as much as the check, whatever was found in the rest.
    let own = match worst {
        Some(worst) if outcome.coverage.is_whole() => worst,
        Some(worst) => worst.max(check.severity),
        None => check.severity,
    };
    let wanted = policy.of(check.id).filter(|wanted| wanted.severity != own);
    let overridden = wanted.filter(|_| status != CheckStatus::Pass).map(|wanted| Overridden {
        by: wanted.by,
        from: own,
        reason: wanted.reason.clone(),
        to: wanted.severity,
    });
    let (evidence, evidence_omitted) = outcome.kept.into_parts();
    CheckReport {
        coverage: outcome.coverage,
        evidence,
        evidence_omitted,
        harness_gap: (!outcome.gaps.is_empty()).then(|| outcome.gaps.join("; ")),
        id: check.id.to_owned(),
        name: check.name.to_owned(),
        overridden,
        severity: wanted.map_or(own, |wanted| wanted.severity),
        status,
    }
}

fn attest(checks: &[CheckReport]) -> Attestation {
    let ids = |keep: &dyn Fn(&CheckReport) -> bool| -> Vec<String> {
        checks.iter().filter(|check| keep(check)).map(|check| check.id.clone()).collect()
    };
    let failed = |check: &CheckReport| check.status == CheckStatus::Fail;
    let skipped = |check: &CheckReport| check.status == CheckStatus::Skip;
    let critical_failures = ids(&|check| failed(check) && check.severity == Severity::Critical);
    let warn_failures = ids(&|check| failed(check) && check.severity == Severity::Warn);
    let unseen = checks.iter().any(|check| skipped(check) && check.severity == Severity::Critical);
    let clean = critical_failures.is_empty() && !unseen;
    let any_skip = checks.iter().any(|check| skipped(check) && check.severity > Severity::Info);
    Attestation {
        clean,
        harness_gaps: checks
            .iter()
            .filter_map(|check| Some(format!("{}: {}", check.id, check.harness_gap.as_ref()?)))
            .collect(),
        overridden: ids(&|check| check.overridden.as_ref().is_some_and(Overridden::is_down)),
        skipped: ids(&skipped),
        strict_clean: clean && warn_failures.is_empty() && !any_skip,
        critical_failures,
        warn_failures,
    }
}

fn threat_model() -> ThreatModel {
    let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
    ThreatModel {
        assumes: texts(&[
            "whoever made the files wants the score, and may have written any of them",
            "what the files say of the whole run is complete; what is left out of all of them is not seen",
        ]),
        cannot_show: texts(&[
            "that the model was called, or which one it was",
            "that no other run was thrown away",
            "that what was recorded is what happened",
            "that gold answers and scorers are right",
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept::finding_of_all;
    use proofmark_artefact::audit::Coverage;
    use proofmark_artefact::store::write_atomic;

    fn outcome(found: Option<Severity>, seen: u64) -> Outcome {
        let mut outcome = Outcome { coverage: Coverage { of: 2, seen }, ..Outcome::default() };
        outcome.kept.extend(found.map(|severity| finding_of_all(severity, "x", "y")));
        outcome
    }

    fn policy(text: &str) -> Policy {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.yaml");
        write_atomic(&path, text.as_bytes()).unwrap();
        Policy::load(&path).unwrap()
    }

    #[test]
    fn what_was_not_seen_is_never_a_pass() {
        use CheckStatus::{Fail, Pass, Skip};
        use Severity::{Critical, Info, Warn};
        let (critical, warn) = (&CHECKS[0], &CHECKS[4]);
        for (check, found, seen, status, severity, clean, strict) in [
            (critical, None, 2, Pass, Critical, true, true),
            (critical, Some(Info), 2, Pass, Critical, true, true),
            (critical, None, 1, Skip, Critical, false, false),
            (critical, Some(Critical), 2, Fail, Critical, false, false),
            (critical, Some(Warn), 2, Fail, Warn, true, false),
            (critical, Some(Warn), 1, Fail, Critical, false, false),
            (warn, None, 2, Pass, Warn, true, true),
            (warn, None, 0, Skip, Warn, true, false),
            (warn, Some(Warn), 2, Fail, Warn, true, false),
            (warn, Some(Critical), 2, Fail, Critical, false, false),
        ] {
            let report = judge(check, outcome(found, seen), &Policy::default());
            let attestation = attest(std::slice::from_ref(&report));
            assert_eq!((report.status, report.severity), (status, severity), "{found:?} {seen}");
            assert_eq!((attestation.clean, attestation.strict_clean), (clean, strict), "{found:?} {seen}");
        }
    }

    #[test]
    fn a_policy_turns_a_failure_down_but_not_away() {
        let down = policy("severities: {AUD-1: info}\nreasons: {AUD-1: accepted}\n");
        let report = judge(&CHECKS[0], outcome(Some(Severity::Critical), 2), &down);
        assert_eq!((report.status, report.severity), (CheckStatus::Fail, Severity::Info));
        let overridden = report.overridden.clone().unwrap();
        assert_eq!((overridden.from, overridden.to), (Severity::Critical, Severity::Info));
        assert_eq!(overridden.reason.as_deref(), Some("accepted"));
        let attestation = attest(&[report]);
        assert!(attestation.clean && attestation.strict_clean);
        assert_eq!(attestation.overridden, ["AUD-1"]);
        let skipped = judge(&CHECKS[0], outcome(None, 0), &down);
        assert!(skipped.status == CheckStatus::Skip && skipped.overridden.is_some());
        let up = judge(&CHECKS[4], outcome(Some(Severity::Warn), 2), &policy("severities: {AUD-5: critical}"));
        assert!(up.overridden.is_some());
        let attestation = attest(&[up]);
        assert!(!attestation.clean && attestation.overridden.is_empty());
        let passed = judge(&CHECKS[0], outcome(None, 2), &down);
        assert_eq!(passed.overridden, None, "there was nothing to turn down");
    }
}
