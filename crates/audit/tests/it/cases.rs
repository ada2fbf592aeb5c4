//! The conformance cases: small made-up runs with exploits that others miss and honest ones that others condemn.

use std::path::Path;

use proofmark_artefact::audit::Report;
use proofmark_audit::{AuditError, Foreign, Options, audit_results};
use serde_json::Value;

/// The case whose files are, byte for byte, those of `clean-minimal`: no function of the files can tell the two apart, so
/// that one of the two wants cannot be met.
const CONTRADICTORY: &str = "fn-answer-key-sqlite";

fn cases() -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("../data/audit-cases.json")).unwrap();
    file["cases"].as_array().unwrap().clone()
}

pub(crate) fn audit_files(dir: &Path, files: &Value) -> Result<Report, AuditError> {
    let put = |name: &str| {
        let text = files.get(name)?.as_str()?;
        std::fs::write(dir.join(name), text).unwrap();
        Some(dir.join(name))
    };
    let foreign = Foreign {
        results: put("results.json").unwrap(),
        trajectories: put("trajectories.jsonl"),
        metadata: put("metadata.json"),
    };
    audit_results(&foreign, &Options::default())
}

#[test]
fn every_case_comes_out_as_it_wants() {
    let mut wrong = Vec::new();
    let cases = cases();
    assert_eq!(cases.len(), 55);
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        if name == CONTRADICTORY {
            assert_eq!(case["files"], cases[0]["files"], "else it can be decided and must be");
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let want = &case["want"];
        match audit_files(dir.path(), &case["files"]) {
            Err(error) if want["exit"] != 2 => wrong.push(format!("{name}: {error}")),
            Err(_) => {}
            Ok(report) => {
                let found = serde_json::json!({"clean": report.attestation.clean,
                    "strict_clean": report.attestation.strict_clean, "exit": 0});
                let members = want.as_object().unwrap();
                if members.iter().any(|(name, want)| found[name] != *want) {
                    let failed: Vec<String> = report
                        .checks
                        .iter()
                        .filter(|check| check.status.as_str() != "pass")
                        .map(|check| {
                            format!(
                                "{} {} {:?} {:?}",
                                check.id,
                                check.status.as_str(),
                                check.evidence,
                                check.harness_gap
                            )
                        })
                        .collect();
                    wrong.push(format!("{name}: want {want}, found {found}\n  {}", failed.join("\n  ")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases\n{}", wrong.len(), wrong.join("\n"));
}
