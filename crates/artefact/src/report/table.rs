//! Tables that become lists of cards on a narrow screen.
//!
//! Roles are spelled out because browsers forget that a table is one when its layout changes.

use super::chart::{self, Axis};
use super::html::Html;
use super::number;
use crate::summary::{Counts, Estimate, Interval};

/// One column: how it looks and what its head says.
pub(super) enum Column {
    Text(&'static str),
    Number(&'static str),
    /// Numbers that need more room.
    Wide(&'static str),
    Chart(&'static str, Axis),
}

/// Opens the table and writes its head. Names are those of the first column, which decide its width.
pub(super) fn begin<'a>(
    html: &mut Html,
    caption: &str,
    columns: &[Column],
    mut names: impl Iterator<Item = &'a String>,
) {
    html.raw("<div class=\"scroll\" role=\"region\" tabindex=\"0\"").attr("aria-label", caption);
    html.raw(if names.any(|name| name.len() > 14) {
        "><table class=\"cards roomy\""
    } else {
        "><table class=\"cards\""
    });
    html.raw(" role=\"table\"><caption>").text(caption).raw("</caption>\n");
    html.raw("<thead role=\"rowgroup\"><tr role=\"row\">");
    for column in columns {
        match column {
            Column::Text(label) => html.raw("<th role=\"columnheader\" scope=\"col\">").raw(label),
            Column::Number(label) => html.raw("<th role=\"columnheader\" scope=\"col\" class=\"n\">").raw(label),
            Column::Wide(label) => html.raw("<th role=\"columnheader\" scope=\"col\" class=\"n wide\">").raw(label),
            Column::Chart(label, axis) => {
                html.raw("<th role=\"columnheader\" scope=\"col\" class=\"chart\"><span class=\"sr\">").raw(label);
                html.raw("</span>");
                chart::axis(html, *axis);
                &mut *html
            }
        };
        html.raw("</th>");
    }
    html.raw("</tr></thead>\n<tbody role=\"rowgroup\">\n");
}

/// Closes the table, with a word about rows that were left out.
pub(super) fn end(html: &mut Html, left_out: usize) {
    html.raw("</tbody></table></div>\n");
    if left_out > 0 {
        html.raw("<p class=\"quiet\">").text(&number::counted(left_out as u64, "more row is", "more rows are"));
        html.raw(" in <code>summary.json</code>.</p>\n");
    }
}

/// Opens a row; the first one of a group is set apart.
pub(super) fn row(html: &mut Html, first: bool) {
    html.raw(if first { "<tr role=\"row\" class=\"first\">" } else { "<tr role=\"row\">" });
}

/// Writes a name. In the rows of a group that follow the first it is there, but stands back.
pub(super) fn head(html: &mut Html, name: &str, first: bool) {
    html.raw(if first {
        "<th role=\"rowheader\" scope=\"row\">"
    } else {
        "<th role=\"rowheader\" scope=\"row\" class=\"same\">"
    });
    html.name(name).raw("</th>");
}

pub(super) fn name(html: &mut Html, name: &str) {
    html.raw("<td role=\"cell\" class=\"name\">").name(name).raw("</td>");
}

/// Writes a number under a label that shows on a narrow screen.
pub(super) fn number(html: &mut Html, label: &'static str, text: &str) {
    html.raw("<td role=\"cell\" class=\"n\"").attr("data-label", label).raw(">").text(text).raw("</td>");
}

/// Writes the number that a row is about.
pub(super) fn score(html: &mut Html, text: &str) {
    html.raw("<td role=\"cell\" class=\"n score\">").text(text).raw("</td>");
}

/// Writes a drawing.
pub(super) fn plot(html: &mut Html, draw: impl FnOnce(&mut Html)) {
    html.raw("<td role=\"cell\" class=\"chart\">");
    draw(html);
    html.raw("</td>");
}

/// Writes mean, drawing and interval.
pub(super) fn estimate(html: &mut Html, estimate: Option<&Estimate>, draw: impl FnOnce(&mut Html)) {
    match estimate {
        Some(estimate) => {
            score(html, &number::mean(estimate.mean));
            plot(html, draw);
            number(html, "interval", &interval(&estimate.interval));
        }
        None => {
            score(html, "no score");
            plot(html, draw);
            number(html, "interval", "\u{2013}");
        }
    }
}

/// Writes passed, scored, asked and errors; errors stand out when there are some.
pub(super) fn counts(html: &mut Html, counts: &Counts) {
    number(html, "passed", &number::count(counts.passed));
    number(html, "scored", &number::count(counts.scored));
    number(html, "asked", &number::count(counts.attempted));
    if counts.errored > 0 {
        html.raw("<td role=\"cell\" class=\"n bad\" data-label=\"errors\"><strong>");
        html.text(&number::count(counts.errored)).raw("</strong></td>");
    } else {
        number(html, "errors", "0");
    }
}

/// The heads of what [`counts`] writes.
pub(super) const COUNTS: [Column; 4] =
    [Column::Number("Passed"), Column::Number("Scored"), Column::Number("Asked"), Column::Number("Errors")];

fn interval(interval: &Interval) -> String {
    let low = number::percent(interval.low);
    format!("{}\u{2013}{}", low.trim_end_matches('%'), number::percent(interval.high))
}
