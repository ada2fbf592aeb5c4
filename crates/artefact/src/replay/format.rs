//! Outcomes as text, as JSON and as annotations of GitHub Actions.

use std::fmt::Write as _;

use proofmark_canon::json::EncodeError;
use schemars::JsonSchema;
use serde::Serialize;

use super::outcome::{Answer, Line, Outcome, Status, Summary, Where};
use crate::text::{escaped, visible};

pub use crate::diff::format::Palette;

/// The version of the JSON document.
pub const VERSION: u32 = 1;

/// Returns what a person reads: a line a check, then the verdict.
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
    let _ = write!(out, "{}", escaped(&outcome.report));
    if let Some(head) = &outcome.head {
        let commit = match &head.commit {
            Some(commit) => format!("commit {}", commit.chars().take(12).collect::<String>()),
            None => "no commit".to_owned(),
        };
        let dirty = if head.git_dirty == Some(true) { " with changes" } else { "" };
        let version = escaped(&head.version);
        let _ = write!(out, ": {} by {} {version} at {}, {commit}{dirty}", head.kind, head.program, head.invoked_at);
    }
    out.push('\n');
    if outcome.backfilled {
        out.push_str("  backfilled: the block was reconstructed after the run\n");
    }
    if let Some(root) = &outcome.root {
        let _ = writeln!(out, "  root: {}", escaped(root));
    }
    for place in [Where::Block, Where::Markdown, Where::Commit, Where::Worktree] {
        let lines: Vec<&Line> = outcome.lines.iter().filter(|line| line.r#where == place).collect();
        match place {
            Where::Commit if !lines.is_empty() => out.push_str("  at the commit\n"),
            Where::Worktree if !lines.is_empty() => out.push_str("  in the work tree\n"),
            _ => {}
        }
        lines.into_iter().for_each(|line| line_text(out, line, palette));
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
    let _ = writeln!(out, "  verdict: {}", paint(word, status, palette));
    for sentence in &outcome.verdict {
        let _ = writeln!(out, "    {}", visible(sentence));
    }
}

fn line_text(out: &mut String, line: &Line, palette: Palette) {
    let word = format!("{:<4}", line.status.word());
    let _ = write!(out, "  {}  {}", paint(&word, line.status, palette), escaped(&line.field));
    if let Some(path) = &line.path {
        let _ = write!(out, " {}", escaped(path));
    }
    write_values(out, line.status, line.expected.as_deref(), line.actual.as_deref());
    if let Some(mode) = line.mode {
        let _ = write!(out, " ({mode})");
    }
    if let Some(note) = &line.note {
        let _ = write!(out, ": {}", escaped(note));
    }
    out.push('\n');
}

/// Writes what was found, and what was expected where that is something else.
pub(crate) fn write_values(out: &mut String, status: Status, expected: Option<&str>, actual: Option<&str>) {
    match (status, expected, actual) {
        (Status::Ok, _, Some(actual)) => {
            let _ = write!(out, " {}", escaped(actual));
        }
        (Status::Fail, Some(expected), actual) => {
            let actual = actual.map_or_else(|| "not known".to_owned(), escaped);
            let _ = write!(out, " expected {}, actual {actual}", escaped(expected));
        }
        _ => {}
    }
}

pub(crate) fn paint(text: &str, status: Status, palette: Palette) -> String {
    let colour = match status {
        _ if palette == Palette::Plain => return text.to_owned(),
        Status::Ok => 32,
        Status::Fail => 31,
        Status::Skip | Status::Unchecked => 33,
    };
    format!("\u{1b}[{colour}m{text}\u{1b}[0m")
}

fn summary_line(summary: Summary) -> String {
    let Summary { cannot_check, does_not_hold, holds, reports } = summary;
    format!("{reports} reports: {holds} hold, {does_not_hold} do not, {cannot_check} could not be checked")
}

/// What came of every report.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    answer: Answer,
    /// `proofmark.verify-replay`.
    format: &'static str,
    reports: &'a [Outcome],
    schema_version: u32,
    summary: Summary,
}

/// Returns the canonical text of one JSON document and a line end.
pub fn json(outcomes: &[Outcome]) -> Result<String, EncodeError> {
    let summary = Summary::of(outcomes);
    let answer = summary.answer();
    let format = "proofmark.verify-replay";
    let document = Document { answer, format, reports: outcomes, schema_version: VERSION, summary };
    let bytes = proofmark_canon::to_vec(&document)?;
    // Canonical text is UTF-8: nothing is lost.
    Ok(format!("{}\n", String::from_utf8_lossy(&bytes)))
}

/// GitHub shows ten annotations of a level and step.
pub(crate) const MOST_OF_A_LEVEL: usize = 10;

/// Returns annotations, errors first, and a summary line.
pub fn github(outcomes: &[Outcome]) -> String {
    let (mut errors, mut notices) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        if let Some(error) = &outcome.error {
            errors.push(annotation("error", &outcome.report, "Replay could not be checked", &error.message));
        }
        for line in &outcome.lines {
            let mut text = String::new();
            line_text(&mut text, line, Palette::Plain);
            match line.status {
                Status::Fail => errors.push(annotation("error", &outcome.report, "Replay does not hold", text.trim())),
                Status::Unchecked => {
                    errors.push(annotation("error", &outcome.report, "Replay could not be checked", text.trim()))
                }
                Status::Ok | Status::Skip => {}
            }
        }
        if outcome.backfilled {
            notices.push(annotation(
                "notice",
                &outcome.report,
                "Backfilled",
                "the block was reconstructed after the run",
            ));
        }
    }
    let mut out = String::new();
    for level in [errors, notices] {
        level.iter().take(MOST_OF_A_LEVEL).for_each(|line| out.push_str(line));
    }
    let _ = writeln!(out, "proofmark verify-replay: {}", summary_line(Summary::of(outcomes)));
    out
}

/// An annotation of a file.
pub(crate) fn annotation(level: &str, file: &str, title: &str, message: &str) -> String {
    format!("::{level} file={},title={}::{}\n", property(file), property(title), data(message))
}

/// The message of a command. Nothing in it can start another one.
fn data(text: &str) -> String {
    let text = visible(text).replace("##[", "## [");
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
