//! The conformance cases: small made-up runs with exploits that others miss and honest ones that others condemn.

use std::path::Path;

use proofmark_artefact::audit::Report;
use proofmark_artefact::store::write_atomic;
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
        write_atomic(&dir.join(name), text.as_bytes()).unwrap();
        Some(dir.join(name))
    };
    let foreign = Foreign {
        results: put("results.json").unwrap(),
        trajectories: put("trajectories.jsonl"),
        metadata: put("metadata.json"),
    };
    audit_results(&foreign, &Options::default())
}

/// The check that a case is about: by its name, which has the numbers of the audit that it was made for.
fn about(name: &str) -> Option<&'static str> {
    const EXPLOITS: &[(&str, &str)] = &[
        ("fn-wrong-answer-marked-correct", "AUD-8"),
        ("fn-metadata-pass-rate-lie", "AUD-8"),
        ("fn-partial-trajectory", "AUD-1"),
        ("fn-adr168-shape", "AUD-1"),
        ("fn-thousands-separator", "AUD-1"),
        ("fn-zero-width", "AUD-1"),
        ("fn-html-entity", "AUD-1"),
        ("fn-base64", "AUD-1"),
        ("fn-list-order-separator", "AUD-1"),
        ("fn-dataset-url-real", "AUD-1"),
        ("fn-harness-gold-cache-read", "AUD-4"),
        ("fn-grader-glob", "AUD-4"),
        ("fn-grader-base64", "AUD-4"),
        ("fn-step-type-case", "AUD-4"),
        ("fn-oracle-in-system-field", "AUD-3"),
        ("fn-voting-lie", "AUD-6"),
        ("fn-judge-injection-homoglyph", "AUD-9"),
        ("fn-correct-truthy-string", "AUD-8"),
    ];
    let of_family = match name.split('-').next()? {
        "aud1" => "AUD-1",
        "aud2" => "AUD-2",
        "aud3" => "AUD-3",
        "aud4" => "AUD-4",
        "aud5" => "AUD-5",
        "aud6" => "AUD-6",
        "aud10" => "AUD-9",
        _ => return EXPLOITS.iter().find(|(exploit, _)| *exploit == name).map(|(_, check)| *check),
    };
    (name != "aud3-llm-output-not-oracle").then_some(of_family)
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
        assert!(!name.starts_with("fn-") || about(name).is_some(), "{name}: say which check it is about");
        let dir = tempfile::tempdir().unwrap();
        let want = &case["want"];
        match audit_files(dir.path(), &case["files"]) {
            Err(error) if want["exit"] != 2 => wrong.push(format!("{name}: {error}")),
            Err(_) => {}
            Ok(report) => {
                let is_fired =
                    |id: &str| report.checks.iter().any(|check| check.id == id && check.status.as_str() != "pass");
                if let Some(id) = about(name)
                    && !is_fired(id)
                {
                    wrong.push(format!("{name}: {id} passed"));
                }
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
