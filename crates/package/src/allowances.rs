//! What speaks against sealing a run. Whoever seals it nevertheless says so, and whoever verifies finds the same.

use proofmark_artefact::audit::{Attestation, CheckReport, Report, Severity};
use proofmark_artefact::package::predicate::{Allowance, AllowanceKind};
use proofmark_artefact::witness::Block;

/// Everything that must be allowed before a run can be sealed; sorted.
pub fn needed(block: &Block, audit: &Report) -> Vec<Allowance> {
    let mut all = Vec::new();
    let mut add = |kind, reason: String| all.push(Allowance { kind, reason });
    for reason in &block.not_submittable {
        add(AllowanceKind::NotSubmittable, reason.clone());
    }
    if !block.submittable && block.not_submittable.is_empty() {
        add(AllowanceKind::NotSubmittable, "the witness says so and gives no reason".to_owned());
    }
    // A run that was interrupted was started from several states of the repository, each of which counts.
    let starts = block.invocations.iter().map(|start| (&start.repo_commit, start.git_dirty));
    for (commit, dirty) in std::iter::once((&block.repo_commit, block.git_dirty)).chain(starts) {
        if let Some(reason) = git_reason(commit.as_deref(), dirty) {
            add(AllowanceKind::Git, reason.to_owned());
        }
    }
    let commits = block.invocations.iter().map(|start| &start.repo_commit);
    if commits.clone().any(|commit| *commit != block.repo_commit) {
        add(AllowanceKind::Git, "the run was gone on with at another commit".to_owned());
    }
    if !audit.attestation.clean {
        add(AllowanceKind::Audit, audit_reason(&audit.attestation));
    }
    // The suite is its author's word: it must not make a run fit that is not.
    for check in audit.checks.iter().filter(|check| is_excused(check)) {
        add(AllowanceKind::Audit, format!("the suite turns {} down, which is critical", check.id));
    }
    all.sort();
    all.dedup();
    all
}

fn is_excused(check: &CheckReport) -> bool {
    check.overridden.as_ref().is_some_and(|overridden| overridden.from == Severity::Critical && overridden.is_down())
}

fn git_reason(commit: Option<&str>, dirty: Option<bool>) -> Option<&'static str> {
    match (commit, dirty) {
        (Some(_), Some(false)) => None,
        (Some(_), Some(true)) => Some("the work tree differed from its commit when the run was started"),
        (Some(_), None) => Some("it is not known whether the work tree differed from its commit"),
        (None, _) => Some("the suite was in no git repository with a commit, or git could not say"),
    }
}

fn audit_reason(audit: &Attestation) -> String {
    let lists = [("failed", &audit.critical_failures), ("did not see all they had to", &audit.skipped)];
    let parts: Vec<String> = lists
        .into_iter()
        .filter(|(_, ids)| !ids.is_empty())
        .map(|(what, ids)| format!("{} {what}", ids.join(", ")))
        .collect();
    if parts.is_empty() { "not clean".to_owned() } else { format!("not clean: {}", parts.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean() -> Attestation {
        Attestation {
            clean: true,
            critical_failures: vec![],
            harness_gaps: vec![],
            overridden: vec![],
            skipped: vec![],
            strict_clean: true,
            warn_failures: vec![],
        }
    }

    #[test]
    fn only_a_commit_that_is_known_to_be_clean_is_fine() {
        assert_eq!(git_reason(Some("c"), Some(false)), None);
        for (commit, dirty, part) in [
            (Some("c"), Some(true), "differed"),
            (Some("c"), None, "not known"),
            (None, None, "no git repository"),
            (None, Some(false), "no git repository"),
        ] {
            assert!(git_reason(commit, dirty).is_some_and(|reason| reason.contains(part)), "{commit:?} {dirty:?}");
        }
    }

    #[test]
    fn an_audit_that_failed_and_one_that_was_blind_are_told_apart() {
        let failed = Attestation { clean: false, critical_failures: vec!["AUD-8".into()], ..clean() };
        assert_eq!(audit_reason(&failed), "not clean: AUD-8 failed");
        let blind = Attestation { clean: false, skipped: vec!["AUD-1".into(), "AUD-3".into()], ..clean() };
        assert_eq!(audit_reason(&blind), "not clean: AUD-1, AUD-3 did not see all they had to");
    }
}
