//! The headline table and the paired differences.

use super::chart::{self, Axis, Direction};
use super::html::Html;
use super::table::{self, COUNTS, Column, Content};
use crate::manifest::Manifest;
use crate::number::{self, count, counted, money, points};
use crate::record::Usage;
use crate::summary::{Comparison, Counts, Interval, Method, Summary};

const MAX_ROWS: usize = 500;
const MAX_SENTENCES: usize = 24;

/// Writes one row a model and condition.
pub(super) fn headline(html: &mut Html, manifest: &Manifest, summary: &Summary) {
    html.raw("<section id=\"results\">\n<h2>Results</h2>\n");
    if summary.models.is_empty() {
        html.raw("<p class=\"lead\">There are no results.</p>\n</section>\n");
        return;
    }
    html.raw("<p class=\"lead\">Mean score over all tasks, by each task\u{2019}s first scorer, with its ");
    html.text(&level(summary)).raw(" confidence interval.");
    html.raw(if manifest.conditions.requested.len() > 1 {
        " A hollow dot marks the baseline condition.</p>\n"
    } else {
        "</p>\n"
    });
    let [passed, scored, asked, errors] = COUNTS;
    let mut columns = vec![
        Column::Text("Model"),
        Column::Text("Condition"),
        Column::Number("Score"),
        Column::Chart("Score and interval as a chart", Axis::PARTS),
        Column::Wide("Interval"),
        passed,
        scored,
        asked,
        errors,
        Column::Wide("Tokens in / out"),
    ];
    let has_cost = summary.models.iter().any(|row| row.cost_usd.is_some());
    if has_cost {
        columns.push(Column::Number("Cost"));
    }
    let content =
        summary.models.iter().fold(Content::default(), |content, row| content.with(&row.model, row.counts, row.usage));
    table::begin(html, "Results by model and condition", &columns, content);
    let baseline = manifest.conditions.requested.first();
    let mut last = None;
    for entry in summary.models.iter().take(MAX_ROWS) {
        let first = last != Some(&entry.model);
        last = Some(&entry.model);
        table::row(html, first);
        table::head(html, &entry.model, first);
        table::name(html, &entry.condition);
        let is_baseline = manifest.conditions.requested.len() > 1 && baseline == Some(&entry.condition);
        table::estimate(html, entry.estimate.as_ref(), &entry.counts, |html| {
            chart::estimate(html, entry.estimate.as_ref(), is_baseline);
        });
        table::counts(html, &entry.counts);
        let tokens = [entry.usage.input_tokens, entry.usage.output_tokens].map(count).join(" / ");
        table::number(html, "tokens in / out", &tokens);
        if has_cost {
            table::number(html, "cost", &entry.cost_usd.map_or_else(|| "not known".to_owned(), money));
        }
        html.raw("</tr>\n");
    }
    table::end(html, summary.models.len().saturating_sub(MAX_ROWS));
    methods(html, summary.models.iter().filter_map(|row| row.estimate.map(|estimate| estimate.interval)));
    html.raw("</section>\n");
}

/// Writes each condition against the baseline.
pub(super) fn comparisons(html: &mut Html, summary: &Summary) {
    if summary.comparisons.is_empty() {
        return;
    }
    html.raw("<section id=\"differences\">\n<h2>Differences between conditions</h2>\n");
    html.raw(
        "<p class=\"lead\">The same items under two conditions, item by item. A difference is clear, and its dot ",
    );
    html.raw("filled, when its interval does not hold zero.</p>\n<ul class=\"findings\">\n");
    for comparison in summary.comparisons.iter().filter(|comparison| comparison.task.is_none()).take(MAX_SENTENCES) {
        html.raw("<li><bdi>").text(&comparison.model).raw("</bdi>: <bdi>").text(&comparison.condition);
        html.raw("</bdi> \u{2212} <bdi>").text(&comparison.baseline).raw("</bdi>: <strong>");
        html.text(&points(comparison.difference))
            .raw(" points</strong>, ")
            .text(&number::level(comparison.interval.level));
        html.raw(" CI ").text(&range(&comparison.interval)).raw(", ");
        html.text(&counted(comparison.items, "item", "items"))
            .raw(" \u{2014} ")
            .raw(reading(comparison))
            .raw("</li>\n");
    }
    html.raw("</ul>\n");
    let axis = Axis::around_zero(summary.comparisons.iter().take(MAX_ROWS));
    let columns = [
        Column::Text("Model"),
        Column::Text("Difference"),
        Column::Text("Task"),
        Column::Number("Points"),
        Column::Chart("Difference and interval as a chart", axis),
        Column::Wide("Interval"),
        Column::Number("Items"),
        Column::Wide("Won / tied / lost"),
    ];
    let content = summary.comparisons.iter().fold(Content::default(), |content, comparison| {
        let items = Counts { attempted: comparison.items, ..Counts::default() };
        content.with(&comparison.model, items, Usage::default())
    });
    table::begin(html, "Paired differences between conditions", &columns, content);
    let mut last = None;
    for comparison in summary.comparisons.iter().take(MAX_ROWS) {
        let first = last != Some(&comparison.model);
        last = Some(&comparison.model);
        compare(html, comparison, first, axis);
    }
    table::end(html, summary.comparisons.len().saturating_sub(MAX_ROWS));
    methods(html, summary.comparisons.iter().map(|comparison| comparison.interval));
    html.raw("</section>\n");
}

fn compare(html: &mut Html, comparison: &Comparison, first: bool, axis: Axis) {
    table::row(html, first);
    table::head(html, &comparison.model, first);
    html.raw("<td role=\"cell\" class=\"name\"><bdi>").text(&comparison.condition).raw("</bdi> \u{2212} <bdi>");
    html.text(&comparison.baseline).raw("</bdi></td>");
    match &comparison.task {
        Some(task) => table::name(html, task),
        None => {
            html.raw("<td role=\"cell\" class=\"name\"><strong>all tasks</strong></td>");
        }
    }
    table::score(html, &points(comparison.difference));
    table::plot(html, |html| chart::difference(html, axis, comparison));
    table::number(html, "interval", &range(&comparison.interval));
    table::number(html, "items", &count(comparison.items));
    let parts = [comparison.wins, comparison.ties, comparison.losses].map(count).join(" / ");
    html.raw("<td role=\"cell\" class=\"n share\" data-label=\"won / tied / lost\">").text(&parts);
    chart::shares(html, comparison);
    html.raw("</td></tr>\n");
}

fn reading(comparison: &Comparison) -> &'static str {
    match Direction::of(comparison) {
        Direction::Higher => "<span class=\"good\">clearly higher</span>",
        Direction::Lower => "<span class=\"bad\">clearly lower</span>",
        Direction::Unclear => "<span class=\"quiet\">no clear difference</span>",
    }
}

fn range(interval: &Interval) -> String {
    format!("{} to {}", points(interval.low), points(interval.high))
}

/// The coverage of the first interval; all of a run have the same.
fn level(summary: &Summary) -> String {
    let first = summary.models.iter().find_map(|row| row.estimate);
    number::level(first.map_or(0.95, |estimate| estimate.interval.level))
}

/// Says how the intervals above were computed.
fn methods(html: &mut Html, intervals: impl Iterator<Item = Interval>) {
    let mut used = [false; 3];
    for interval in intervals {
        used[interval.method as usize] = true;
    }
    if used == [false; 3] {
        return;
    }
    html.raw("<p class=\"quiet\">Intervals: ");
    let words = [
        (Method::Wilson, "Wilson score (pass or fail, one sample an item)"),
        (Method::Bootstrap, "percentile bootstrap over items, from a seed that the run fixes"),
        (Method::Normal, "normal approximation over items"),
    ];
    let mut before = false;
    for (_, word) in words.into_iter().filter(|(method, _)| used[*method as usize]) {
        html.raw(if before { "; " } else { "" }).raw(word);
        before = true;
    }
    html.raw(".</p>\n");
}
