//! The report as a table with its evidence.

use std::fmt::Write as _;

use super::{Palette, message, overridden, place, scope, spoils};
use crate::audit::{CheckReport, CheckStatus, Report, Severity};
use crate::number::counted;
use crate::replay::Status;
use crate::replay::format::paint;
use crate::text::visible;

/// Evidence of one check that is shown; the rest is in the JSON.
const MOST: usize = 10;

/// Returns what a person reads.
pub fn text(report: &Report, palette: Palette) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(out, "{}", scope(report));
    for check in &report.checks {
        one(&mut out, check, palette);
    }
    let status = if report.attestation.clean { Status::Ok } else { Status::Fail };
    let _ = writeln!(out, "verdict: {}", paint(&report.attestation.in_words(), status, palette));
    let _ = writeln!(out, "cannot show: {}", visible(&report.threat_model.cannot_show.join("; ")));
    out
}

fn one(out: &mut String, check: &CheckReport, palette: Palette) {
    let (word, status) = match check.status {
        CheckStatus::Pass => ("pass", Status::Ok),
        CheckStatus::Fail if spoils(check) => ("FAIL", Status::Fail),
        CheckStatus::Fail if check.severity == Severity::Info => ("note", Status::Skip),
        CheckStatus::Fail => ("warn", Status::Skip),
        CheckStatus::Skip => ("skip", if spoils(check) { Status::Fail } else { Status::Skip }),
    };
    let coverage = format!("{}/{}", check.coverage.seen, check.coverage.of);
    let _ = writeln!(
        out,
        "  {}  {:<6}  {:<24}  {:<8}  {coverage}",
        paint(word, status, palette),
        check.id,
        check.name,
        check.severity.as_str()
    );
    if let Some(gap) = &check.harness_gap {
        let _ = writeln!(out, "        not recorded: {}", visible(gap));
    }
    if let Some(words) = overridden(check) {
        let _ = writeln!(out, "        overridden: {}", visible(&words));
    }
    let (severe, notes): (Vec<_>, Vec<_>) =
        check.evidence.iter().partition(|evidence| evidence.severity > Severity::Info);
    for evidence in severe.iter().take(MOST) {
        let place = place(evidence);
        let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
        let _ = writeln!(out, "        {}{}", visible(&place), visible(&message(evidence)));
    }
    // Notes fail nothing: the first one stands for all of them.
    if let Some(first) = notes.first() {
        let count = counted(notes.len() as u64, "note", "notes");
        let place = place(first);
        let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
        let _ = writeln!(out, "        {count}, such as {}{}", visible(&place), visible(&message(first)));
    }
    let more = severe.len().saturating_sub(MOST) as u64 + check.evidence_omitted;
    if more > 0 {
        let _ = writeln!(out, "        … and {}", counted(more, "more finding", "more findings"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_check_then_its_evidence_and_the_verdict() {
        let found = text(&super::super::tests::report(), Palette::Plain);
        let want = "\
3 samples, 2 marked as correct, 1 correct when scored again; 0 trajectories with 0 steps and 0 tool results
  FAIL  AUD-1   a check                   critical  3/3
        t1|\\u{1b}[31m, trajectories line 3, step 1: the text came from <b>the benchmark's</b> own data [gold sha256:ab]
        … and 7 more findings
  skip  AUD-2   a check                   critical  1/3
        not recorded: 2 of 3 samples have no trajectory
  pass  AUD-3   a check                   warn      3/3
  warn  AUD-4   a check                   warn      3/3
        overridden: the policy makes warn of critical: known
verdict: not clean (critical: AUD-1; warnings: AUD-4; not all seen: AUD-2; turned down: AUD-4)
cannot show: b
";
        assert_eq!(found, want);
    }
}
