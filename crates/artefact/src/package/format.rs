//! A verdict on a package as text, as JSON and as annotations of GitHub Actions.

use std::fmt::Write as _;

use proofmark_canon::json::EncodeError;

use super::verdict::{AuditVerdict, Stage, Verdict};
use crate::number::counted;
use crate::replay::format::{MOST_OF_A_LEVEL, annotation, paint};
use crate::replay::{Answer, Status};
use crate::text::{escaped, visible};
use crate::verify::Rung;
use crate::verify::format::check_text;

pub use crate::diff::format::Palette;

/// Returns what a person reads: a line a check, then the verdict, what is proven and what is not.
pub fn text(verdict: &Verdict, shown: &str, palette: Palette) -> String {
    // Writing to a String cannot fail.
    let mut out = escaped(shown);
    if let Some(package) = &verdict.package {
        let files = counted(package.files, "file", "files");
        let _ = write!(out, ": run {} of suite `{}`, {files}", package.run_id, escaped(&package.suite));
    }
    out.push('\n');
    let ladder_at = verdict.stages.iter().position(|stage| stage.name == "derived").unwrap_or(verdict.stages.len());
    verdict.stages[..ladder_at].iter().for_each(|stage| stage_text(&mut out, stage, palette));
    for climb in verdict.ladder.iter().flat_map(|outcome| &outcome.rungs) {
        let _ = writeln!(out, "rung {}: {}", climb.rung.number(), climb.name);
        climb.checks.iter().for_each(|check| check_text(&mut out, check, palette));
        let kept = climb.checks.iter().filter(|check| check.status == Status::Fail).count() as u64;
        more_failures(&mut out, climb.failed - kept);
    }
    verdict.stages[ladder_at..].iter().for_each(|stage| stage_text(&mut out, stage, palette));
    closing(&mut out, verdict, palette);
    out
}

fn stage_text(out: &mut String, stage: &Stage, palette: Palette) {
    let _ = writeln!(out, "{}", stage.name);
    stage.checks.iter().for_each(|check| check_text(out, check, palette));
    let kept = stage.checks.iter().filter(|check| check.status == Status::Fail).count() as u64;
    more_failures(out, stage.failed - kept);
}

fn more_failures(out: &mut String, more: u64) {
    if more > 0 {
        let _ = writeln!(out, "  … and {}", counted(more, "more failure", "more failures"));
    }
}

fn closing(out: &mut String, verdict: &Verdict, palette: Palette) {
    let (word, status) = match verdict.answer {
        Answer::Holds => ("holds", Status::Ok),
        Answer::DoesNotHold => ("does not hold", Status::Fail),
        Answer::CannotCheck => ("could not be checked", Status::Unchecked),
    };
    let _ = writeln!(out, "verdict: {}", paint(word, status, palette));
    if let Some(signer) = &verdict.signer {
        let name = signer.name.as_ref().map(|name| format!("`{}` ", escaped(name))).unwrap_or_default();
        let at = signer.signed_at.as_ref().map(|at| format!(" at {} by its own word", escaped(at))).unwrap_or_default();
        let _ = writeln!(out, "  signed by: {name}{}{at}", signer.key);
    }
    for allowance in &verdict.allowances {
        let text = format!("sealed although: {}: {}", allowance.kind.as_str(), visible(&allowance.reason));
        let _ = writeln!(out, "  {}", paint(&text, Status::Skip, palette));
    }
    let reached = match Rung::of_number(verdict.reached) {
        Some(rung) => format!("rung {} of 5 ({})", rung.number(), rung.name()),
        None => "no rung".to_owned(),
    };
    let stopped = verdict.ladder.as_ref().and_then(|outcome| outcome.stopped.as_ref());
    let stopped = stopped.map(|why| format!("; {}", visible(why))).unwrap_or_default();
    let _ = writeln!(out, "  reached: {reached}{stopped}");
    if let Some(audit) = &verdict.audit {
        let _ = writeln!(out, "  audit: {}", audit_text(audit));
    }
    for (word, sentences) in
        [("left open", &verdict.gaps), ("proves", &verdict.proves), ("does not prove", &verdict.does_not_prove)]
    {
        for sentence in sentences {
            let _ = writeln!(out, "  {word}: {}", visible(sentence));
        }
    }
}

fn audit_text(audit: &AuditVerdict) -> String {
    let mut text = audit.again.in_words();
    if let Some(gold) = &audit.against_gold {
        text.push_str(&format!("; against the dataset's own answers {}", gold.in_words()));
    }
    text
}

/// Returns the canonical text of one JSON document and a line end.
pub fn json(verdict: &Verdict) -> Result<String, EncodeError> {
    let bytes = proofmark_canon::to_vec(verdict)?;
    // Canonical text is UTF-8: nothing is lost.
    Ok(format!("{}\n", String::from_utf8_lossy(&bytes)))
}

/// Returns annotations and a summary line.
pub fn github(verdict: &Verdict, shown: &str) -> String {
    let of_stages = verdict.stages.iter().flat_map(|stage| stage.checks.iter().map(move |check| (stage.name, check)));
    let climbs = verdict.ladder.iter().flat_map(|outcome| &outcome.rungs);
    let of_rungs = climbs.flat_map(|climb| climb.checks.iter().map(move |check| (climb.name, check)));
    let failed = of_stages.chain(of_rungs).filter(|(_, check)| check.status == Status::Fail);
    let mut out = String::new();
    for (name, check) in failed.take(MOST_OF_A_LEVEL) {
        let mut line = String::new();
        check_text(&mut line, check, Palette::Plain);
        out.push_str(&annotation("error", shown, &format!("Package: {name}"), line.trim()));
    }
    for allowance in verdict.allowances.iter().take(MOST_OF_A_LEVEL) {
        out.push_str(&annotation("warning", shown, "Sealed although", &allowance.reason));
    }
    let word = match verdict.answer {
        Answer::Holds => "holds",
        Answer::DoesNotHold => "does not hold",
        Answer::CannotCheck => "could not be checked",
    };
    let _ = writeln!(out, "proofmark verify: the package {word}; rung {} of 5", verdict.reached);
    out
}
