//! What a run came to, as text.

use std::fmt::Write as _;

use proofmark_artefact::answerer::Answerer;
use proofmark_artefact::manifest::Manifest;
use proofmark_artefact::number::{count, counted, percent};
use proofmark_artefact::summary::{Comparison, Counts, Estimate, Judging, Summary};
use proofmark_artefact::text::visible;

use super::style::Style;
use super::table::{Align, render};

/// The most rows of the table of tasks.
const MOST_CELLS: usize = 40;

/// The headline table, differences between conditions, and per-task means.
pub(crate) fn results(summary: &Summary, manifest: &Manifest, style: Style, width: usize) -> String {
    let mut out = String::new();
    let head = [
        ("model", Align::Left),
        ("condition", Align::Left),
        ("mean", Align::Right),
        ("95% interval", Align::Right),
        ("passed", Align::Right),
        ("scored", Align::Right),
        ("errors", Align::Right),
    ];
    let rows: Vec<Vec<String>> = summary
        .models
        .iter()
        .map(|row| {
            vec![
                visible(&row.model),
                visible(&row.condition),
                mean(row.estimate.as_ref(), row.counts),
                interval(row.estimate.as_ref()),
                count(row.counts.passed),
                count(row.counts.scored),
                count(row.counts.errored),
            ]
        })
        .collect();
    out.push_str(&render(&head, &rows, width));
    if summary.tasks.len() > 1 {
        out.push('\n');
        let head = [
            ("task", Align::Left),
            ("scorer", Align::Left),
            ("model", Align::Left),
            ("condition", Align::Left),
            ("mean", Align::Right),
            ("95% interval", Align::Right),
        ];
        let rows: Vec<Vec<String>> = summary
            .cells
            .iter()
            .filter(|cell| cell.primary)
            .map(|cell| {
                vec![
                    visible(&cell.task),
                    visible(&cell.scorer),
                    visible(&cell.model),
                    visible(&cell.condition),
                    mean(cell.estimate.as_ref(), cell.counts),
                    interval(cell.estimate.as_ref()),
                ]
            })
            .collect();
        out.push_str(&render(&head, &rows[..rows.len().min(MOST_CELLS)], width));
        if rows.len() > MOST_CELLS {
            let _ = writeln!(out, "… and {} more in summary.json", rows.len() - MOST_CELLS);
        }
        let others = summary.cells.iter().filter(|cell| !cell.primary).count();
        if others > 0 {
            let _ = writeln!(out, "{}", style.dim("the report also shows the tasks' other scorers"));
        }
    }
    let whole: Vec<&Comparison> = summary.comparisons.iter().filter(|c| c.task.is_none()).collect();
    let shown = if whole.is_empty() { summary.comparisons.iter().collect() } else { whole };
    if !shown.is_empty() {
        out.push('\n');
    }
    for comparison in shown {
        let _ = writeln!(out, "{}", describe(comparison, style));
    }
    let others = summary.answered_by.iter().filter_map(|row| {
        let asked = manifest.models.iter().find(|model| model.id == row.model)?;
        (asked.answerer(&row.name) == Answerer::Another).then_some((asked, row))
    });
    for (at, (asked, row)) in others.enumerate() {
        let samples = counted(row.samples, "sample", "samples");
        let text = format!("{}: asked for {}, but {samples} answered by {}", row.model, asked.asked_for(), row.name);
        let _ = writeln!(out, "{}{}", if at == 0 { "\n" } else { "" }, style.warn(&visible(&text)));
    }
    if let Some(judging) = &summary.judging {
        judged(&mut out, judging, manifest, style);
    }
    if let Some(cost) = summary.totals.cost_usd {
        let usage = summary.totals.usage;
        let _ = writeln!(
            out,
            "\ncost: ${cost:.4} at list prices, {} tokens in and {} out",
            count(usage.input_tokens),
            count(usage.output_tokens)
        );
    }
    out
}

/// What judges did, and what is known of them.
fn judged(out: &mut String, judging: &Judging, manifest: &Manifest, style: Style) {
    let stages = &judging.stages;
    let _ = write!(out, "\njudging: {} by judges", counted(stages.judge, "verdict", "verdicts"));
    if stages.exact + stages.normalised > 0 {
        let _ = write!(out, ", {} by a match with the target", count(stages.exact + stages.normalised));
    }
    if stages.empty > 0 {
        let _ = write!(out, ", {} for want of an answer", count(stages.empty));
    }
    if judging.dissent > 0 {
        let _ = write!(out, "; {} not unanimous", count(judging.dissent));
    }
    out.push('\n');
    let scorers = manifest.tasks.iter().flat_map(|task| task.judged.iter().map(move |scorer| (task, scorer)));
    for (task, scorer) in scorers {
        let name = visible(&format!("{}/{}", task.id, scorer.scorer));
        let line = match &scorer.calibration {
            Some(note) if note.fits => format!("{name}: {}", visible(&note.text)),
            Some(note) => style.warn(&format!("{name}: {}", visible(&note.text))),
            None => {
                style.dim(&format!("{name}: not calibrated; `proofmark calibrate` compares its judges with people"))
            }
        };
        let _ = writeln!(out, "{}", line);
    }
}

fn describe(comparison: &Comparison, style: Style) -> String {
    let (low, high) = (comparison.interval.low * 100.0, comparison.interval.high * 100.0);
    let points = format!("{:+.1} points", comparison.difference * 100.0);
    let points = match (low > 0.0, high < 0.0) {
        (true, _) => style.good(&points),
        (_, true) => style.bad(&points),
        _ => points,
    };
    format!(
        "{}: {} against {}: {points} (95% interval {low:+.1} to {high:+.1}, {} items: {} better, {} same, {} worse)",
        visible(&comparison.model),
        visible(&comparison.condition),
        visible(&comparison.baseline),
        count(comparison.items),
        count(comparison.wins),
        count(comparison.ties),
        count(comparison.losses),
    )
}

fn mean(estimate: Option<&Estimate>, counts: Counts) -> String {
    match estimate {
        Some(estimate) => percent(estimate.mean),
        None if counts.unscored() > 0 => "unscored".to_owned(),
        None => "–".to_owned(),
    }
}

fn interval(estimate: Option<&Estimate>) -> String {
    estimate.map_or_else(String::new, |e| format!("{} to {}", percent(e.interval.low), percent(e.interval.high)))
}
