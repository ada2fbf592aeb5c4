//! The comparison as Markdown for a pull request.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

use super::escape::{fence, markdown as plain, one_line, visible};
use super::{notes, percent, plural, significance_lines, verdict, verdict_of};
use crate::diff::{Change, Class, Comparison, GateFailure, Sample};

/// GitHub takes 65,536 characters; this leaves room for what someone puts around it.
const MOST_BYTES: usize = 60_000;
const MOST_CELLS: usize = 40;
/// Of each text in an example.
const MOST_LINES: usize = 30;
const LINE: usize = 300;

/// Returns Markdown of at most 60,000 bytes, with up to `limit` examples of each class.
pub fn markdown(comparison: &Comparison, failures: &[GateFailure], limit: usize) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail: results of `write!` below are dropped.
    let mark = if failures.is_empty() { "✅" } else { "❌" };
    let _ = writeln!(out, "### {mark} Proofmark diff\n\n**{}**\n", plain(&verdict(comparison)));
    for failure in failures {
        let _ = writeln!(out, "- ❌ **{}**: {}", plain(&failure.gate), plain(&failure.message));
    }
    for note in notes(comparison) {
        let _ = writeln!(out, "- ⚠️ {}", plain(&note));
    }
    if !failures.is_empty() || !notes(comparison).is_empty() {
        out.push('\n');
    }
    sides(&mut out, comparison);
    counts(&mut out, comparison);
    cells(&mut out, comparison);
    if !comparison.files.is_empty() {
        let names: Vec<String> = comparison.files.iter().map(|file| format!("`{}`", file.name)).collect();
        let _ = writeln!(out, "Files that differ: {}\n", names.join(", "));
    }
    for (name, text) in significance_lines(&comparison.significance) {
        let _ = writeln!(out, "- {name}: {}", plain(&text));
    }
    for class in Class::ALL {
        details(&mut out, comparison, class, limit);
    }
    out
}

fn sides(out: &mut String, comparison: &Comparison) {
    out.push_str("| | run | suite | run id | records | passed |\n|---|---|---|---|--:|--:|\n");
    for (name, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        let _ = writeln!(
            out,
            "| {name} | {} | {} | `{}` | {} | {} |",
            plain(&one_line(&side.path, 200)),
            plain(&one_line(&side.name, 100)),
            side.run_id,
            side.record_count,
            percent(side.passed, side.scored),
        );
    }
    out.push('\n');
}

fn counts(out: &mut String, comparison: &Comparison) {
    out.push_str("| samples | |\n|---|--:|\n");
    let _ = writeln!(out, "| matched | {} |\n| unchanged | {} |", comparison.matched, comparison.unchanged);
    for class in Class::ALL {
        let count = comparison.counts.of(class);
        if count > 0 {
            let _ = writeln!(out, "| {} | {count} |", class.title());
        }
    }
    out.push('\n');
}

fn cells(out: &mut String, comparison: &Comparison) {
    let changed: Vec<_> =
        comparison.cells.iter().filter(|cell| cell.unchanged < cell.matched || cell.matched == 0).collect();
    if changed.is_empty() {
        return;
    }
    out.push_str("| cell | A passed | B passed | worse | better |\n|---|--:|--:|--:|--:|\n");
    for cell in changed.iter().take(MOST_CELLS) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            plain(&one_line(&cell.title(), 120)),
            percent(cell.a.passed, cell.a.scored),
            percent(cell.b.passed, cell.b.scored),
            cell.counts.regression,
            cell.counts.improvement,
        );
    }
    out.push('\n');
    if changed.len() > MOST_CELLS {
        let _ = writeln!(out, "… and {}\n", plural((changed.len() - MOST_CELLS) as u64, "more cell", "more cells"));
    }
}

/// A block that opens with a click. Examples that would make the text too long are left out.
fn details(out: &mut String, comparison: &Comparison, class: Class, limit: usize) {
    // What must still fit after the last example.
    const CLOSING: usize = 200;
    let total = comparison.counts.of(class);
    if total == 0 || out.len() + 2 * CLOSING > MOST_BYTES {
        return;
    }
    let _ = write!(out, "\n<details><summary>{} ({total})</summary>\n\n", class.title());
    let mut shown = 0;
    for change in comparison.changes.iter().filter(|change| change.is(class)).take(limit) {
        let example = example(change, class);
        if out.len() + example.len() + CLOSING > MOST_BYTES {
            break;
        }
        out.push_str(&example);
        shown += 1;
    }
    if shown < total {
        let _ = writeln!(out, "… and {} more\n", total - shown);
    }
    out.push_str("</details>\n");
}

fn example(change: &Change, class: Class) -> String {
    let mut out = format!("**{}**", plain(&one_line(change.key.as_str(), 300)));
    let also: Vec<&str> = change.classes.iter().filter(|other| **other != class).map(|class| class.title()).collect();
    if !also.is_empty() {
        let _ = write!(out, " (also {})", also.join(", "));
    }
    out.push_str("\n\n");
    let Some(one) = change.b.as_ref().or(change.a.as_ref()) else { return out };
    let _ = writeln!(out, "Prompt: {}", plain(&one_line(&one.prompt.text, LINE)));
    if let Some(expected) = &one.expected {
        let _ = writeln!(out, "\nExpected: {}", plain(&one_line(&expected.text, LINE)));
    }
    let lines = [answer_diff(change), fact_diff(change)].concat();
    if !lines.is_empty() {
        let body = lines.join("\n");
        let fence = fence(&body);
        let _ = writeln!(out, "\n{fence}diff\n{body}\n{fence}\n");
    }
    out
}

/// The answers line by line.
fn answer_diff(change: &Change) -> Vec<String> {
    let text = |sample: &Option<Sample>| {
        let output = sample.as_ref().and_then(|sample| sample.output.as_ref());
        output.map(|output| visible(&output.text)).unwrap_or_default()
    };
    let (a, b) = (text(&change.a), text(&change.b));
    // Lines are cut first, so that two long texts cost no more than what is shown of them.
    let cut = |text: &str| text.lines().take(MOST_LINES + 1).map(|line| one_line(line, LINE)).collect::<Vec<_>>();
    let (a, b) = (cut(&a), cut(&b));
    let (a, b): (Vec<&str>, Vec<&str>) =
        (a.iter().map(String::as_str).collect(), b.iter().map(String::as_str).collect());
    let diff = TextDiff::from_slices(&a, &b);
    let mut lines: Vec<String> = diff
        .iter_all_changes()
        .map(|change| {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            format!("{sign} {}", change.value())
        })
        .collect();
    if lines.len() > MOST_LINES {
        lines.truncate(MOST_LINES);
        lines.push("  …".to_owned());
    }
    lines
}

/// How the sample ended and was judged, where that differs.
fn fact_diff(change: &Change) -> Vec<String> {
    let facts = |sample: &Option<Sample>| -> Vec<String> {
        let Some(sample) = sample else { return Vec::new() };
        let mut facts = vec![format!("status: {}", sample.status.as_str())];
        facts.extend(sample.error.iter().map(|error| format!("error: {}: {}", error.class, error.message)));
        facts.extend(sample.finish_reason.iter().map(|reason| format!("stopped: {reason}")));
        let verdict =
            |score: &crate::record::Score| format!("{}: {}: {}", score.scorer, verdict_of(score), score.explanation);
        facts.extend(sample.scores.iter().take(MOST_LINES).map(verdict));
        facts.push(format!("tokens: {} in, {} out", sample.usage.input_tokens, sample.usage.output_tokens));
        facts.push(format!("turns: {}, tool calls: {}", sample.turns, sample.tool_calls));
        facts.iter().map(|fact| one_line(fact, LINE)).collect()
    };
    let (a, b) = (facts(&change.a), facts(&change.b));
    let removed = a.iter().filter(|fact| !b.contains(fact)).map(|fact| format!("- {fact}"));
    let added = b.iter().filter(|fact| !a.contains(fact)).map(|fact| format!("+ {fact}"));
    removed.chain(added).collect()
}
