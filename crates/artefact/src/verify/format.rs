//! Outcomes as text, as JSON and as annotations of GitHub Actions.

use std::fmt::Write as _;

use proofmark_canon::json::EncodeError;
use schemars::JsonSchema;
use serde::Serialize;

use super::ladder::{Check, Climb, Outcome, Rung, Summary};
use crate::number::{counted, percent};
use crate::replay::format::{MOST_OF_A_LEVEL, annotation, paint, write_values};
use crate::replay::{Answer, Status};
use crate::text::{escaped, visible};

pub use crate::diff::format::Palette;

/// The version of the JSON document.
pub const VERIFY_SCHEMA: u32 = 1;

/// Returns what a person reads: a line a check, then the rung, what it proves and what it does not.
pub fn text(outcomes: &[Outcome], palette: Palette) -> String {
    let mut out = String::new();
    for (at, outcome) in outcomes.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        one(&mut out, outcome, palette);
    }
    if outcomes.len() > 1 {
        let _ = writeln!(out, "\n{}", summary_line(Summary::of(outcomes)));
    }
    out
}

fn one(out: &mut String, outcome: &Outcome, palette: Palette) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{}", escaped(&outcome.path));
    if let Some(run_id) = outcome.run_id {
        let _ = write!(out, ": run {run_id}");
    }
    out.push('\n');
    for climb in &outcome.rungs {
        let _ = writeln!(out, "rung {}: {}", climb.rung.number(), climb.name);
        climb.checks.iter().for_each(|check| check_text(out, check, palette));
        let kept = climb.checks.iter().filter(|check| check.status == Status::Fail).count() as u64;
        if climb.failed > kept {
            let _ = writeln!(out, "  … and {}", counted(climb.failed - kept, "more failure", "more failures"));
        }
    }
    if let Some(live) = &outcome.live {
        let _ = writeln!(
            out,
            "  {} asked with seed {}: {} of {} pass or fail as recorded ({} to {}), {} of {} with the same text; \
             p = {:.4}",
            counted(live.asked, "sample", "samples"),
            live.seed,
            live.outcome.agree,
            live.outcome.of,
            percent(live.outcome.interval.low),
            percent(live.outcome.interval.high),
            live.text.agree,
            live.text.of,
            live.p_value
        );
    }
    if let Some(error) = &outcome.error {
        let _ = writeln!(out, "  {} {}", paint("error:", Status::Fail, palette), visible(&error.message));
        if let Some(hint) = &error.hint {
            let _ = writeln!(out, "  hint: {}", visible(hint));
        }
    }
    let (word, status) = match outcome.answer {
        Answer::Holds => ("holds", Status::Ok),
        Answer::DoesNotHold => ("does not hold", Status::Fail),
        Answer::CannotCheck => ("could not be checked", Status::Unchecked),
    };
    let _ = writeln!(out, "verdict: {}", paint(word, status, palette));
    let reached = match Rung::of_number(outcome.reached) {
        Some(rung) => format!("rung {} of 5 ({})", rung.number(), rung.name()),
        None => "no rung".to_owned(),
    };
    let gaps = if outcome.gaps.is_empty() { "" } else { ", with gaps" };
    let _ = write!(out, "  reached: {reached}{gaps}");
    match &outcome.stopped {
        Some(why) => {
            let _ = writeln!(out, "; {}", visible(why));
        }
        None => out.push('\n'),
    }
    let _ = writeln!(out, "  proves: {}", visible(&outcome.proves));
    let _ = writeln!(out, "  does not prove: {}", visible(&outcome.does_not_prove));
}

pub(crate) fn check_text(out: &mut String, check: &Check, palette: Palette) {
    let word = format!("{:<4}", check.status.word());
    let _ = write!(out, "  {}  ", paint(&word, check.status, palette));
    if let Some(file) = &check.file {
        out.push_str(&escaped(file));
        if let Some(line) = check.line {
            let _ = write!(out, ":{line}");
        }
        out.push_str(": ");
    }
    out.push_str(&escaped(&check.check));
    write_values(out, check.status, check.expected.as_deref(), check.actual.as_deref());
    if let Some(note) = &check.note {
        let _ = write!(out, ": {}", escaped(note));
    }
    out.push('\n');
}

fn summary_line(summary: Summary) -> String {
    let Summary { cannot_check, does_not_hold, holds, paths } = summary;
    format!("{paths} paths: {holds} hold, {does_not_hold} do not, {cannot_check} could not be checked")
}

/// What came of every path.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    answer: Answer,
    /// `proofmark.verify`.
    format: &'static str,
    paths: &'a [Outcome],
    schema_version: u32,
    summary: Summary,
}

/// Returns the canonical text of one JSON document and a line end.
pub fn json(outcomes: &[Outcome]) -> Result<String, EncodeError> {
    let summary = Summary::of(outcomes);
    let (answer, format) = (summary.answer(), "proofmark.verify");
    let document = Document { answer, format, paths: outcomes, schema_version: VERIFY_SCHEMA, summary };
    let bytes = proofmark_canon::to_vec(&document)?;
    // Canonical text is UTF-8: nothing is lost.
    Ok(format!("{}\n", String::from_utf8_lossy(&bytes)))
}

/// Returns annotations and a summary line.
pub fn github(outcomes: &[Outcome]) -> String {
    let mut errors = Vec::new();
    for outcome in outcomes {
        if let Some(error) = &outcome.error {
            errors.push(annotation("error", &outcome.path, "Verification was not possible", &error.message));
        }
        for climb in &outcome.rungs {
            // What is open is an error only where the rung was asked for.
            let is_open = outcome.answer == Answer::CannotCheck;
            let wanted =
                |check: &&Check| check.status == Status::Fail || (is_open && check.status == Status::Unchecked);
            errors.extend(climb.checks.iter().filter(wanted).map(|check| annotation_of(outcome, climb, check)));
        }
    }
    let notice = |outcome: &Outcome| {
        let message = format!("rung {} of 5; proves: {}", outcome.reached, outcome.proves);
        annotation("notice", &outcome.path, "Verification", &message)
    };
    let notices: Vec<String> = outcomes.iter().map(notice).collect();
    let mut out = String::new();
    for level in [errors, notices] {
        level.iter().take(MOST_OF_A_LEVEL).for_each(|line| out.push_str(line));
    }
    let _ = writeln!(out, "proofmark verify: {}", summary_line(Summary::of(outcomes)));
    out
}

fn annotation_of(outcome: &Outcome, climb: &Climb, check: &Check) -> String {
    let mut text = String::new();
    check_text(&mut text, check, Palette::Plain);
    let title = format!("Rung {} ({})", climb.rung.number(), climb.name);
    annotation("error", &outcome.path, &title, text.trim())
}
