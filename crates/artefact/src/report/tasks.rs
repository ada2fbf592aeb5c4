//! Every task by model, condition and scorer.

use std::collections::BTreeMap;

use super::chart::{self, Axis};
use super::html::Html;
use super::table::{self, COUNTS, Column, Content};
use crate::number::{counted, mean, percent};
use crate::record::Usage;
use crate::summary::{Cell, Summary, TaskRow};

/// Up to this many tasks are open when the page opens.
const OPEN_TASKS: usize = 8;
const MAX_ROWS: usize = 2000;

pub(super) fn breakdown(html: &mut Html, summary: &Summary) {
    html.raw("<section id=\"tasks\">\n<h2>Tasks</h2>\n");
    html.raw("<p class=\"lead\">Each task by scorer, model and condition. ");
    html.raw("The first scorer of a task makes the headline.</p>\n");
    let rows: BTreeMap<&str, &TaskRow> = summary.tasks.iter().map(|row| (row.task.as_str(), row)).collect();
    let open = summary.tasks.len() <= OPEN_TASKS;
    let mut room = MAX_ROWS;
    for cells in summary.cells.chunk_by(|a, b| a.task == b.task) {
        if cells.len() > room {
            html.raw("<p class=\"quiet\">The other tasks are in <code>summary.json</code>.</p>\n");
            break;
        }
        room -= cells.len();
        task(html, cells, rows.get(cells[0].task.as_str()).copied(), open);
    }
    html.raw("</section>\n");
}

fn task(html: &mut Html, cells: &[Cell], over_all: Option<&TaskRow>, open: bool) {
    let name = &cells[0].task;
    html.raw(if open { "<details class=\"task\" open><summary>" } else { "<details class=\"task\"><summary>" });
    html.raw("<h3>").name(name).raw("</h3> ");
    if let Some(row) = over_all {
        html.raw("<span class=\"quiet\">");
        if let Some(estimate) = row.estimate {
            html.text(&mean(estimate.mean)).raw(" over all models and conditions (");
            html.text(&percent(estimate.interval.low)).raw(" to ").text(&percent(estimate.interval.high)).raw("), ");
            html.text(&counted(estimate.items, "item", "items")).raw(", ");
        }
        html.text(&counted(row.counts.attempted, "sample", "samples")).raw("</span>");
    }
    html.raw("</summary>\n");
    let [passed, scored, asked, errors] = COUNTS;
    let columns = [
        Column::Text("Scorer"),
        Column::Text("Model"),
        Column::Text("Condition"),
        Column::Number("Score"),
        Column::Chart("Score and interval as a chart", Axis::PARTS),
        Column::Wide("Interval"),
        passed,
        scored,
        asked,
        errors,
    ];
    let caption = format!("Task {name} by scorer, model and condition");
    // Tokens are not in this table.
    let content = cells
        .iter()
        .fold(Content::default(), |content, cell| content.with(&cell.scorer, cell.counts, Usage::default()));
    table::begin(html, &caption, &columns, content);
    // Grouped by scorer, so that numbers that can be compared stand under each other.
    let mut scorers: BTreeMap<(usize, &str), Vec<&Cell>> = BTreeMap::new();
    let mut order: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in cells {
        let next = order.len();
        let at = *order.entry(&cell.scorer).or_insert(next);
        scorers.entry((at, &cell.scorer)).or_default().push(cell);
    }
    for ((_, scorer), cells) in scorers {
        for (at, cell) in cells.into_iter().enumerate() {
            table::row(html, at == 0);
            table::head(html, scorer, at == 0);
            table::name(html, &cell.model);
            table::name(html, &cell.condition);
            let bar = |html: &mut Html| chart::bar(html, cell.estimate.as_ref());
            table::estimate(html, cell.estimate.as_ref(), &cell.counts, bar);
            table::counts(html, &cell.counts);
            html.raw("</tr>\n");
        }
    }
    table::end(html, 0);
    html.raw("</details>\n");
}
