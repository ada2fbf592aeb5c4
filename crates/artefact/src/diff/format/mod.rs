//! How a comparison is shown. Pure functions from a [`Comparison`] to text.
//!
//! - [`text`] for a terminal; [`markdown`] for a pull request; [`json`] for programs; [`junit`] and
//!   [`github`] for build servers.
//! - `words` word diffs; `escape` what keeps hostile text harmless.
//!
//! Model output is hostile everywhere: no format passes a control character, closes its own quoting
//! or grows without bound.

pub(crate) mod escape;
mod github;
mod json;
mod junit;
mod markdown;
mod text;
mod words;

pub use github::github;
pub use json::{DIFF_SCHEMA, Document, json};
pub use junit::junit;
pub use markdown::markdown;
pub use text::{Palette, TextStyle, text};

use crate::text::one_line;

use super::gate::p_text;
use super::{CellDifference, CellSide, Comparison, Sample, Significance, Trajectories, TrajectoryKind};
use crate::record::Score;

/// `66.7 % of 3`, or a dash when nothing was scored.
fn pass_rate(side: &CellSide) -> String {
    if side.scored == 0 {
        "–".to_owned()
    } else {
        format!("{} of {}", percent(side.passed, side.scored), side.scored)
    }
}

/// The cells in which something changed.
fn changed_cells(comparison: &Comparison) -> Vec<&CellDifference> {
    comparison.cells.iter().filter(|cell| cell.unchanged < cell.matched || cell.matched == 0).collect()
}

/// `tools 3, arguments 9`: in what trajectories differ, in a fixed order.
pub(super) fn kind_counts(comparison: &Comparison) -> String {
    let count =
        |kind: TrajectoryKind| comparison.trajectory_kinds.get(kind.as_str()).map(|count| format!("{kind} {count}"));
    TrajectoryKind::ALL.into_iter().filter_map(count).collect::<Vec<_>>().join(", ")
}

/// How a sample ended in a few words: its first verdict, or its status.
fn outcome(sample: &Sample) -> String {
    sample.scores.first().map_or_else(|| sample.status.as_str().to_owned(), verdict_of)
}

/// The answer, or why there is none, in one line.
fn answer(sample: &Sample, limit: usize) -> String {
    match (&sample.output, &sample.error) {
        (Some(output), _) => one_line(&output.text, limit),
        (None, Some(error)) => one_line(&format!("{}: {}", error.class, error.message), limit),
        (None, None) => "no answer".to_owned(),
    }
}

/// `66.7 %`, or a dash when there is nothing to divide.
fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "–".to_owned() } else { format!("{:.1} %", part as f64 * 100.0 / whole as f64) }
}

fn plural(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

/// `pass 1`, `fail 0.25`.
fn verdict_of(score: &Score) -> String {
    format!("{} {}", if score.passed { "pass" } else { "fail" }, number(score.value))
}

/// A number with up to four decimals.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The one line that says how it went.
fn verdict(comparison: &Comparison) -> String {
    if comparison.identical {
        return "identical: every plane-1 file is the same byte for byte".to_owned();
    }
    let files = plural(comparison.files.len() as u64, "file differs", "files differ");
    if comparison.changed == 0 {
        return format!("no sample changed; {files} byte for byte");
    }
    let counts = &comparison.counts;
    format!(
        "{}, {} in {} ({} matched, {} only in A, {} only in B)",
        plural(counts.regression, "regression", "regressions"),
        plural(counts.improvement, "improvement", "improvements"),
        plural(comparison.changed, "changed sample", "changed samples"),
        comparison.matched,
        counts.only_in_a,
        counts.only_in_b,
    )
}

/// The statistics, one line a question.
fn significance_lines(found: &Significance) -> Vec<(&'static str, String)> {
    if found.pairs == 0 {
        return vec![("pairs", "none: no sample has a verdict of the same scorer in both runs".to_owned())];
    }
    let mut lines = Vec::new();
    let (passed_a, passed_b) = (found.both_passed + found.only_a_passed, found.both_passed + found.only_b_passed);
    let rates = format!("{} → {}", percent(passed_a, found.pairs), percent(passed_b, found.pairs));
    lines.push(("pass rate", format!("{rates} of {}", plural(found.pairs, "pair", "pairs"))));
    if let Some(p) = found.mcnemar_p {
        let text = format!("{} lost, {} gained, p = {}", found.only_a_passed, found.only_b_passed, p_text(p));
        lines.push(("McNemar", text));
    }
    if let (Some(a), Some(b), Some(difference), Some(interval), Some(p)) =
        (found.mean_a, found.mean_b, found.difference, found.interval, found.mean_p)
    {
        let text = format!(
            "{a:.4} → {b:.4}, difference {difference:+.4} (95 % {:+.4} to {:+.4}), p = {}, {}",
            interval.low,
            interval.high,
            p_text(p),
            plural(found.items, "item", "items"),
        );
        lines.push(("mean", text));
    }
    if found.unpaired > 0 {
        lines.push(("left out", format!("{} without a verdict on both sides", super::gate::samples(found.unpaired))));
    }
    if found.edited > 0 {
        lines.push(("edited", format!("{} not asked the same", plural(found.edited, "pair was", "pairs were"))));
    }
    lines
}

/// What must be known before the rest is trusted.
fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = comparison.warnings.clone();
    match comparison.trajectories {
        Trajectories::OnlyInA => notes.push("trajectories were recorded in A only and are not compared".to_owned()),
        Trajectories::OnlyInB => notes.push("trajectories were recorded in B only and are not compared".to_owned()),
        Trajectories::Compared | Trajectories::NotRecorded => {}
    }
    let edited = comparison.regressions_with_other_input;
    if edited > 0 {
        let text = plural(edited, "regression was", "regressions were");
        notes.push(format!("{text} not asked the same in both runs: see `input changed`"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([1.0, 0.0, 0.25, 1.0 / 3.0].map(number), ["1", "0", "0.25", "0.3333"]);
        assert_eq!((percent(2, 3), percent(0, 0)), ("66.7 %".into(), "–".into()));
    }
}
