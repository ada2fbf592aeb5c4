//! The comparison as Markdown for a pull request.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

use super::escape::{fence, markdown as plain};
use super::{changed_cells, kind_counts, notes, pass_rate, percent, plural, significance_lines, verdict, verdict_of};
use crate::diff::{Change, Class, Comparison, Excerpt, GateFailure, Sample};
use crate::text::{one_line, visible};

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
    // No mark of success: without a gate nothing was asked for that could hold.
    let mark = if failures.is_empty() { "" } else { "❌ " };
    let _ = writeln!(out, "### {mark}Proofmark diff\n\n**{}**\n", plain(&verdict(comparison)));
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
    let mut shown = vec![false; comparison.changes.len()];
    for class in Class::ALL {
        details(&mut out, comparison, class, limit, &mut shown);
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
            let kinds = match class {
                Class::TrajectoryChanged if !comparison.trajectory_kinds.is_empty() => {
                    format!(" ({})", kind_counts(comparison))
                }
                _ => String::new(),
            };
            let _ = writeln!(out, "| {}{kinds} | {count} |", class.title());
        }
    }
    out.push('\n');
}

fn cells(out: &mut String, comparison: &Comparison) {
    let changed = changed_cells(comparison);
    if changed.is_empty() {
        return;
    }
    out.push_str("| cell | A passed | B passed | worse | better |\n|---|--:|--:|--:|--:|\n");
    for cell in changed.iter().take(MOST_CELLS) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            plain(&one_line(&cell.title(), 120)),
            pass_rate(&cell.a),
            pass_rate(&cell.b),
            cell.counts.regression,
            cell.counts.improvement,
        );
    }
    out.push('\n');
    if changed.len() > MOST_CELLS {
        let _ = writeln!(out, "… and {}\n", plural((changed.len() - MOST_CELLS) as u64, "more cell", "more cells"));
    }
}

/// A block that opens with a click, with examples that were not shown before. Those that would make
/// the text too long are left out.
fn details(out: &mut String, comparison: &Comparison, class: Class, limit: usize, shown: &mut [bool]) {
    // What must still fit after the last example.
    const CLOSING: usize = 200;
    let total = comparison.counts.of(class);
    if total == 0 || out.len() + 2 * CLOSING > MOST_BYTES {
        return;
    }
    let _ = write!(out, "\n<details><summary>{} ({total})</summary>\n\n", class.title());
    let (mut above, mut here) = (0, 0);
    let mut is_full = false;
    for (change, shown) in comparison.changes.iter().zip(shown).filter(|(change, _)| change.is(class)) {
        if *shown {
            above += 1;
            continue;
        }
        if is_full || here == limit {
            continue;
        }
        let example = example(change, class);
        is_full = out.len() + example.len() + CLOSING > MOST_BYTES;
        if !is_full {
            out.push_str(&example);
            (*shown, here) = (true, here + 1);
        }
    }
    let left = total.saturating_sub(above + here as u64);
    let rest: Vec<String> = [(above, "shown above"), (left, "more")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !rest.is_empty() {
        let _ = writeln!(out, "… {}\n", rest.join(", "));
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
    let prompt = |sample: &Sample| Some(sample.prompt.clone());
    put_text(&mut out, "Before", change, |sample| sample.context.clone());
    put_text(&mut out, "Prompt", change, prompt);
    put_text(&mut out, "Expected", change, |sample| sample.expected.clone());
    let lines = [answer_diff(change), fact_diff(change), course_diff(change)].concat();
    if !lines.is_empty() {
        let body = lines.join("\n");
        let fence = fence(&body);
        let _ = writeln!(out, "{fence}diff\n{body}\n{fence}\n");
    }
    out
}

/// A text in one line, or in two when the sides differ in it.
fn put_text(out: &mut String, name: &str, change: &Change, of: impl Fn(&Sample) -> Option<Excerpt>) {
    let mut put = |name: &str, text: Option<Excerpt>| {
        if let Some(text) = text {
            let _ = writeln!(out, "{name}: {}\n", plain(&one_line(&text.text, LINE)));
        }
    };
    match (change.a.as_ref().map(&of), change.b.as_ref().map(&of)) {
        (Some(a), Some(b)) if a != b => {
            put(&format!("{name} in A"), a);
            put(&format!("{name} in B"), b);
        }
        // What stands before the prompt is long and seldom the point when it is the same.
        _ if name == "Before" => {}
        (_, Some(text)) | (Some(text), None) => put(name, text),
        (None, None) => {}
    }
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

/// What differs in how the answer was earned.
fn course_diff(change: &Change) -> Vec<String> {
    let Some(trajectory) = &change.trajectory else { return Vec::new() };
    let mut lines = Vec::new();
    let kinds: Vec<&str> = trajectory.kinds.iter().map(|kind| kind.as_str()).collect();
    if !kinds.is_empty() {
        lines.push(format!("  steps differ in {}", kinds.join(", ")));
    }
    for difference in trajectory.differences.iter().take(MOST_LINES) {
        let attempt = difference.attempt.map(|attempt| format!("attempt {attempt}, ")).unwrap_or_default();
        for (sign, side) in [('-', &difference.a), ('+', &difference.b)] {
            let text = side.iter().map(|text| format!("{sign} {attempt}{}: {}", difference.kind, one_line(text, LINE)));
            lines.extend(text);
        }
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
    let (mut a, mut b) = (facts(&change.a), facts(&change.b));
    if let (Some(of_a), Some(of_b)) = (&change.a, &change.b) {
        for (facts, sample) in [(&mut a, of_a), (&mut b, of_b)] {
            facts.push(format!("sent: {}", sample.input_fingerprint));
            facts.push(one_line(&format!("provider: {}", sample.provider), LINE));
        }
    }
    let removed = a.iter().filter(|fact| !b.contains(fact)).map(|fact| format!("- {fact}"));
    let added = b.iter().filter(|fact| !a.contains(fact)).map(|fact| format!("+ {fact}"));
    removed.chain(added).collect()
}
