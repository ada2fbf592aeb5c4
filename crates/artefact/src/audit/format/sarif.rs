//! The report as SARIF 2.1.0, for those who show findings beside code.

use proofmark_canon::json::{self, EncodeError};
use serde_json::{Value, json};

use super::{message, place, spoils};
use crate::audit::{CheckReport, CheckStatus, Evidence, Report, Severity};
use crate::text::one_line;

/// Returns a SARIF log. What a critical check did not see is a result too.
pub fn sarif(report: &Report) -> Result<String, EncodeError> {
    let rules: Vec<Value> = report
        .checks
        .iter()
        .map(|check| {
            json!({
                "defaultConfiguration": {"level": level(check.severity)},
                "id": check.id,
                "name": check.name,
                "shortDescription": {"text": check.name},
            })
        })
        .collect();
    let results: Vec<Value> = report
        .checks
        .iter()
        .enumerate()
        .flat_map(|(at, check)| {
            let found = check.evidence.iter().map(move |evidence| finding(at, check, evidence));
            found.chain(unseen(at, check))
        })
        .collect();
    let driver = json!({"name": "proofmark audit", "rules": rules, "version": env!("CARGO_PKG_VERSION")});
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{
            "properties": {"clean": report.attestation.clean, "strict_clean": report.attestation.strict_clean},
            "results": results,
            "tool": {"driver": driver},
        }],
        "version": "2.1.0",
    });
    let mut text = String::from_utf8_lossy(&json::to_vec(&log)?).into_owned();
    text.push('\n');
    Ok(text)
}

fn finding(at: usize, check: &CheckReport, evidence: &Evidence) -> Value {
    // What a policy turned down is shown as what it was turned to.
    let severity = if check.overridden.is_some() { evidence.severity.min(check.severity) } else { evidence.severity };
    let mut result = json!({
        "level": level(severity),
        "message": {"text": match place(evidence) {
            place if place.is_empty() => message(evidence),
            place => format!("{place}: {}", message(evidence)),
        }},
        "properties": {"finding": evidence.finding},
        "ruleId": check.id,
        "ruleIndex": at,
    });
    let mut location = serde_json::Map::new();
    if let Some((file, line)) = evidence.place.as_deref().and_then(file_and_line) {
        let region = json!({"startLine": line});
        location.insert("physicalLocation".into(), json!({"artifactLocation": {"uri": file}, "region": region}));
    }
    if let Some(sample) = &evidence.sample {
        location.insert("logicalLocations".into(), json!([{"fullyQualifiedName": one_line(sample, 200)}]));
    }
    if !location.is_empty() {
        result["locations"] = json!([location]);
    }
    result
}

fn unseen(at: usize, check: &CheckReport) -> Option<Value> {
    if check.status != CheckStatus::Skip {
        return None;
    }
    let (seen, of) = (check.coverage.seen, check.coverage.of);
    let gap = check.harness_gap.as_deref().unwrap_or("it is not recorded");
    let text = one_line(&format!("{seen} of {of} seen: {gap}"), 500);
    Some(json!({
        "level": if spoils(check) { "error" } else { "warning" },
        "message": {"text": text},
        "properties": {"finding": "not_seen"},
        "ruleId": check.id,
        "ruleIndex": at,
    }))
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "error",
        Severity::Warn => "warning",
        Severity::Info => "note",
    }
}

/// `trajectories line 3, step 1` as its file and line.
fn file_and_line(place: &str) -> Option<(&str, u64)> {
    let (file, rest) = place.split_once(" line ")?;
    let digits = rest.split(',').next()?;
    Some((file, digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_has_its_rule_its_level_and_its_place() {
        let log: Value = serde_json::from_str(&sarif(&super::super::tests::report()).unwrap()).unwrap();
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), 4);
        let results = run["results"].as_array().unwrap();
        assert_eq!(results.len(), 2);
        let first = &results[0];
        assert_eq!((&first["ruleId"], &first["level"]), (&json!("AUD-1"), &json!("error")));
        let location = &first["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], "trajectories");
        assert_eq!(location["region"]["startLine"], 3);
        assert_eq!(results[1]["message"]["text"], "1 of 3 seen: 2 of 3 samples have no trajectory");
    }
}
