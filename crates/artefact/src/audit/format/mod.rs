//! A report for people and for other programs.
//!
//! Everything in a report may come from a stranger: texts are made visible and short, and markup is only text.

mod junit;
mod markdown;
mod sarif;
mod text;

pub use self::junit::junit;
pub use self::markdown::markdown;
pub use self::sarif::sarif;
pub use self::text::text;
pub use crate::diff::format::Palette;

use proofmark_canon::json::{self, EncodeError};

use super::{CheckReport, CheckStatus, Evidence, Report, Severity};
use crate::number::counted;
use crate::text::one_line;

/// Returns the canonical bytes of `audit-report.json`.
pub fn json(report: &Report) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = json::to_vec(report)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// What was looked at, on one line.
fn scope(report: &Report) -> String {
    let totals = &report.totals;
    format!(
        "{}, {} marked as correct, {} correct when scored again; {} with {} and {}",
        counted(totals.samples, "sample", "samples"),
        totals.marked_correct,
        totals.rescored_correct,
        counted(totals.trajectories, "trajectory", "trajectories"),
        counted(totals.steps, "step", "steps"),
        counted(totals.tool_results, "tool result", "tool results"),
    )
}

/// Whether a check keeps the run from being clean.
fn spoils(check: &CheckReport) -> bool {
    check.status != CheckStatus::Pass && check.severity == Severity::Critical
}

/// A finding on one line, without its sample and its place.
fn message(evidence: &Evidence) -> String {
    let gold = evidence.gold.as_ref().map(|gold| format!(" [gold {gold}]")).unwrap_or_default();
    one_line(&format!("{}{gold}", evidence.message), 500)
}

/// Sample and place of a finding, on one line.
fn place(evidence: &Evidence) -> String {
    let parts = [evidence.sample.as_deref(), evidence.place.as_deref()];
    one_line(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "), 300)
}

/// What a policy made of a check, in words.
fn overridden(check: &CheckReport) -> Option<String> {
    let overridden = check.overridden.as_ref()?;
    let reason = overridden.reason.as_ref().map(|reason| format!(": {}", one_line(reason, 200))).unwrap_or_default();
    Some(format!("the {} makes {} of {}{reason}", overridden.by.as_str(), overridden.to, overridden.from))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::*;
    use super::*;

    /// A report with one check of each kind.
    pub(crate) fn report() -> Report {
        let evidence = Evidence {
            finding: "dataset_source".into(),
            gold: Some("sha256:ab".into()),
            message: "the text came from <b>the benchmark's</b> own data".into(),
            place: Some("trajectories line 3, step 1".into()),
            sample: Some("t1|\u{1b}[31m".into()),
            severity: Severity::Critical,
        };
        let check = |id: &str, status, severity, evidence: Vec<Evidence>| CheckReport {
            coverage: Coverage { of: 3, seen: if status == CheckStatus::Skip { 1 } else { 3 } },
            evidence_omitted: if evidence.is_empty() { 0 } else { 7 },
            evidence,
            harness_gap: (status == CheckStatus::Skip).then(|| "2 of 3 samples have no trajectory".into()),
            id: id.into(),
            name: "a check".into(),
            overridden: None,
            severity,
            status,
        };
        let mut turned = check("AUD-4", CheckStatus::Fail, Severity::Warn, vec![]);
        turned.overridden = Some(Overridden {
            by: Authority::Policy,
            from: Severity::Critical,
            reason: Some("known".into()),
            to: Severity::Warn,
        });
        Report {
            attestation: Attestation {
                clean: false,
                critical_failures: vec!["AUD-1".into()],
                harness_gaps: vec![],
                overridden: vec!["AUD-4".into()],
                skipped: vec!["AUD-2".into()],
                strict_clean: false,
                warn_failures: vec!["AUD-4".into()],
            },
            audited_at: Some("2026-07-03T00:00:00Z".into()),
            checks: vec![
                check("AUD-1", CheckStatus::Fail, Severity::Critical, vec![evidence]),
                check("AUD-2", CheckStatus::Skip, Severity::Critical, vec![]),
                check("AUD-3", CheckStatus::Pass, Severity::Warn, vec![]),
                turned,
            ],
            inputs: BTreeMap::from([("results".into(), InputFile { bytes: 1, sha256: "00".repeat(32) })]),
            schema: AUDIT_SCHEMA.into(),
            threat_model: ThreatModel { assumes: vec!["a".into()], cannot_show: vec!["b".into()] },
            totals: Totals { samples: 3, marked_correct: 2, rescored_correct: 1, ..Totals::default() },
        }
    }

    #[test]
    fn the_bytes_are_canonical_and_are_read_back() {
        let bytes = json(&report()).unwrap();
        let value = json::parse(bytes.trim_ascii_end()).unwrap();
        assert_eq!(json::from_value::<Report>(&value).unwrap(), report());
        assert_eq!(value.to_canonical(), bytes.trim_ascii_end());
    }

    #[test]
    fn the_verdict_names_what_it_rests_on() {
        let want = "not clean (critical: AUD-1; warnings: AUD-4; not all seen: AUD-2; turned down: AUD-4)";
        assert_eq!(report().attestation.in_words(), want);
        let mut clean = report();
        clean.attestation = Attestation {
            clean: true,
            strict_clean: true,
            critical_failures: vec![],
            warn_failures: vec![],
            skipped: vec![],
            overridden: vec![],
            harness_gaps: vec![],
        };
        assert_eq!(clean.attestation.in_words(), "clean");
    }
}
