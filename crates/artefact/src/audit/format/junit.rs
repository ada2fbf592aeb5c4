//! The report as JUnit XML: one test case a check.
//!
//! A critical check that did not see all is a failure, not a skipped test: most who read such a file take skipped for fine.

use std::fmt::Write as _;

use super::{message, overridden, place, spoils};
use crate::audit::{CheckReport, CheckStatus, Report, Severity};
use crate::diff::format::escape::xml;
use crate::text::{one_line, visible};

const MOST: usize = 20;

/// Returns an XML document. With `strict`, warnings fail too.
pub fn junit(report: &Report, strict: bool) -> String {
    let fails = |check: &CheckReport| {
        spoils(check) || check.status != CheckStatus::Pass && strict && check.severity == Severity::Warn
    };
    let failures = report.checks.iter().filter(|check| fails(check)).count();
    let skipped = report.checks.iter().filter(|check| check.status == CheckStatus::Skip && !fails(check)).count();
    let tests = report.checks.len();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(out, "<testsuites name=\"proofmark audit\" tests=\"{tests}\" failures=\"{failures}\">");
    let _ =
        writeln!(out, "  <testsuite name=\"audit\" tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\">");
    for check in &report.checks {
        case(&mut out, check, fails(check));
    }
    out.push_str("  </testsuite>\n");
    let _ = writeln!(out, "  <system-out>{}</system-out>", xml(&visible(&report.attestation.in_words())));
    out.push_str("</testsuites>\n");
    out
}

fn case(out: &mut String, check: &CheckReport, fails: bool) {
    let (id, name) = (attribute(&check.id), attribute(&check.name));
    let _ = write!(out, "    <testcase classname=\"audit\" name=\"{id} {name}\"");
    let lines = check.harness_gap.iter().map(|gap| format!("not recorded: {gap}")).chain(overridden(check));
    let found = check.evidence.iter().take(MOST).map(|evidence| format!("{}: {}", place(evidence), message(evidence)));
    let mut lines: Vec<String> = lines.chain(found).collect();
    let more = check.evidence.len().saturating_sub(MOST) as u64 + check.evidence_omitted;
    if more > 0 {
        lines.push(format!("… and {more} more"));
    }
    let text = xml(&visible(&lines.join("\n")));
    let seen = format!("{} of {} seen", check.coverage.seen, check.coverage.of);
    let _ = match (fails, check.status) {
        (true, _) => writeln!(
            out,
            ">\n      <failure type=\"{}\" message=\"{}, {seen}\">{text}</failure>\n    </testcase>",
            check.severity,
            check.status.as_str()
        ),
        (false, CheckStatus::Skip) => {
            let first = attribute(lines.first().map(String::as_str).unwrap_or_default());
            writeln!(out, ">\n      <skipped message=\"{seen}: {first}\"/>\n    </testcase>")
        }
        (false, _) if !lines.is_empty() => writeln!(out, ">\n      <system-out>{text}</system-out>\n    </testcase>"),
        (false, _) => writeln!(out, "/>"),
    };
}

fn attribute(text: &str) -> String {
    xml(&one_line(text, 500))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_seen_fails_like_what_was_found() {
        let found = junit(&super::super::tests::report(), false);
        assert!(found.contains("tests=\"4\" failures=\"2\" skipped=\"0\""), "{found}");
        assert!(found.contains("<failure type=\"critical\" message=\"skip, 1 of 3 seen\">not recorded"), "{found}");
        assert!(found.contains("&lt;b&gt;") && !found.contains('\u{1b}'), "{found}");
        assert!(junit(&super::super::tests::report(), true).contains("failures=\"3\""));
    }
}
