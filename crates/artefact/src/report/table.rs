//! Tables that become lists of cards on a narrow screen.
//!
//! Roles are spelled out because browsers forget that a table is one when its layout changes.

use super::chart::{self, Axis};
use super::html::Html;
use crate::number;
use crate::record::Usage;
use crate::summary::{Counts, Estimate, Interval};

/// One column: how it looks and what its head says.
pub(super) enum Column {
    Text(&'static str),
    Number(&'static str),
    /// Numbers that need more room.
    Wide(&'static str),
    Chart(&'static str, Axis),
}

/// What decides how wide columns are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Content {
    longest_name: usize,
    most_tokens: u64,
    most_samples: u64,
}

impl Content {
    /// Takes in the name in the first column and the numbers of a row.
    pub(super) fn with(mut self, name: &str, counts: Counts, usage: Usage) -> Self {
        self.longest_name = self.longest_name.max(name.len());
        self.most_tokens = self.most_tokens.max(usage.input_tokens).max(usage.output_tokens);
        self.most_samples = self.most_samples.max(counts.attempted);
        self
    }

    /// Columns stand at the same places in all tables unless numbers are too long for that.
    fn class(self) -> &'static str {
        match (self.most_samples < 100_000 && self.most_tokens < 1_000_000, self.longest_name > 14) {
            (true, false) => "cards even",
            (true, true) => "cards even roomy",
            (false, _) => "cards",
        }
    }
}

/// Opens the table and writes its head.
pub(super) fn begin(html: &mut Html, caption: &str, columns: &[Column], content: Content) {
    html.raw("<div class=\"scroll\" role=\"region\" tabindex=\"0\"").attr("aria-label", caption);
    html.raw("><table").attr("class", content.class());
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
pub(super) fn estimate(html: &mut Html, estimate: Option<&Estimate>, counts: &Counts, draw: impl FnOnce(&mut Html)) {
    match estimate {
        Some(estimate) => {
            score(html, &number::mean(estimate.mean));
            plot(html, draw);
            number(html, "interval", &interval(&estimate.interval));
        }
        None => {
            score(html, if counts.unscored() > 0 { "unscored" } else { "no score" });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_get_room_and_long_numbers_free_the_columns() {
        let usage = Usage::default();
        let few = Counts { attempted: 99_999, ..Counts::default() };
        let many = Counts { attempted: 100_000, ..few };
        let cases =
            [("short", few, "cards even"), ("a-rather-long-name", few, "cards even roomy"), ("x", many, "cards")];
        for (name, counts, want) in cases {
            assert_eq!(Content::default().with(name, counts, usage).class(), want);
        }
        let tokens = Usage { input_tokens: 5, output_tokens: 1_000_000 };
        assert_eq!(Content::default().with("x", few, tokens).class(), "cards");
    }

    #[test]
    fn an_interval_shares_its_sign_of_percent() {
        let wide = Interval { high: 1.0, level: 0.95, low: 0.071, method: crate::summary::Method::Wilson };
        assert_eq!(interval(&wide), "7.1\u{2013}100.0%");
    }
}
