//! The report as Markdown for a pull request.

use std::fmt::Write as _;

use super::{message, overridden, place, scope, spoils};
use crate::audit::{CheckStatus, Report};
use crate::diff::format::escape::markdown as plain;

/// GitHub takes 65,536 characters; this leaves room for what someone puts around it.
const MOST_BYTES: usize = 60_000;
/// Evidence of one check that is shown.
const MOST: usize = 20;

/// Returns Markdown of about 60,000 bytes at most.
pub fn markdown(report: &Report) -> String {
    let mut out = String::new();
    let mark = if report.attestation.clean { "✅" } else { "❌" };
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        out,
        "### {mark} Proofmark audit\n\n**{}**\n\n{}\n",
        plain(&report.attestation.in_words()),
        plain(&scope(report))
    );
    out.push_str("| | check | | severity | seen |\n|---|---|---|---|--:|\n");
    for check in &report.checks {
        let mark = match check.status {
            CheckStatus::Pass => "✅",
            _ if spoils(check) => "❌",
            _ => "⚠️",
        };
        let status = check.status.as_str();
        let (seen, of) = (check.coverage.seen, check.coverage.of);
        let (id, name, severity) = (plain(&check.id), plain(&check.name), check.severity);
        let _ = writeln!(out, "| {mark} | {id} {name} | {status} | {severity} | {seen}/{of} |");
    }
    for check in &report.checks {
        let lines = check.harness_gap.iter().map(|gap| format!("not recorded: {gap}")).chain(overridden(check));
        let found = check.evidence.iter().take(MOST).map(|evidence| match place(evidence) {
            place if place.is_empty() => message(evidence),
            place => format!("{place}: {}", message(evidence)),
        });
        let lines: Vec<String> = lines.chain(found).collect();
        if lines.is_empty() || out.len() > MOST_BYTES {
            continue;
        }
        let _ = writeln!(out, "\n**{} {}**\n", plain(&check.id), plain(&check.name));
        for line in lines {
            if out.len() > MOST_BYTES {
                break;
            }
            let _ = writeln!(out, "- {}", plain(&line));
        }
        let more = check.evidence.len().saturating_sub(MOST) as u64 + check.evidence_omitted;
        if more > 0 {
            let _ = writeln!(out, "- … and {more} more");
        }
    }
    let _ = writeln!(out, "\nThe audit cannot show {}.", plain(&report.threat_model.cannot_show.join("; ")));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_finding_is_markup() {
        let found = markdown(&super::super::tests::report());
        assert!(found.starts_with("### ❌ Proofmark audit\n\n**not clean (critical: AUD-1;"), "{found}");
        assert!(found.contains("| ❌ | AUD-1 a check | fail | critical | 3/3 |\n| ❌ | AUD-2"), "{found}");
        assert!(found.contains("- t1&#124;") && !found.contains("<b>") && !found.contains('\u{1b}'), "{found}");
        assert!(found.contains("- … and 7 more\n"), "{found}");
    }
}
