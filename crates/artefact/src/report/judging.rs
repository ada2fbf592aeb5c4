//! What judges did, and how far they agree with people.

use super::html::Html;
use crate::manifest::Manifest;
use crate::number::{count, counted, money};
use crate::suite::judge::JudgeMode;
use crate::summary::{Judging, Summary};

/// The most rows of a table.
const MAX_ROWS: usize = 200;

/// The section on judges; nothing for a run without any.
pub(super) fn section(html: &mut Html, manifest: &Manifest, summary: &Summary) {
    let Some(judging) = &summary.judging else { return };
    html.raw("<section id=\"judging\">\n<h2>Judging</h2>\n<p class=\"lead\">");
    html.text(&stages(judging)).raw("</p>\n");
    rubrics(html, manifest);
    judges(html, manifest, judging);
    html.raw("</section>\n");
}

/// What decided, in a sentence.
fn stages(judging: &Judging) -> String {
    let stages = &judging.stages;
    let by_match = stages.exact + stages.normalised;
    let all = by_match + stages.judge + stages.empty;
    let mut text = format!("Of {}, ", counted(all, "verdict", "verdicts"));
    let parts = [
        (stages.judge, "decided by judges"),
        (by_match, "by a match with the target"),
        (stages.empty, "for want of an answer"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", count(*number)))
        .collect();
    text.push_str(if parts.is_empty() { "none was decided" } else { "" });
    text.push_str(&parts.join(", "));
    if judging.dissent > 0 {
        text.push_str(&format!("; {} not unanimous", counted(judging.dissent, "is", "are")));
    }
    text.push('.');
    text
}

fn rubrics(html: &mut Html, manifest: &Manifest) {
    let rows: Vec<_> =
        manifest.tasks.iter().flat_map(|task| task.judged.iter().map(move |scorer| (task, scorer))).collect();
    html.raw("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Judge scorers\"><table>");
    html.raw("<caption>Judge scorers</caption>\n<thead><tr><th scope=\"col\">Task</th><th scope=\"col\">Scorer</th>");
    html.raw("<th scope=\"col\">Judges</th><th scope=\"col\">How</th><th scope=\"col\">Rubric</th>");
    html.raw("<th scope=\"col\">Agreement with people</th></tr></thead>\n<tbody>\n");
    for (task, scorer) in rows.iter().take(MAX_ROWS) {
        html.raw("<tr><th scope=\"row\">").name(&task.id).raw("</th><td>").name(&scorer.scorer).raw("</td><td>");
        for (at, judge) in scorer.judges.iter().take(MAX_ROWS).enumerate() {
            html.raw(if at > 0 { ", " } else { "" }).name(judge);
        }
        html.raw("</td><td>").raw(match scorer.mode {
            JudgeMode::Single => "one answer",
            JudgeMode::Pairwise => "two answers, both orders",
        });
        if scorer.votes > 1 {
            html.raw(", ").text(&counted(scorer.votes.into(), "vote", "votes"));
        }
        html.raw("</td><td><code>").text(&scorer.rubric.to_string()[..15]).raw("</code></td>");
        match &scorer.calibration {
            None => html.raw("<td class=\"bad\">not calibrated: nothing is known of it</td>"),
            Some(note) if note.fits => html.raw("<td>").text(&note.text).raw("</td>"),
            Some(note) => html.raw("<td class=\"bad\">").text(&note.text).raw("</td>"),
        };
        html.raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}

fn judges(html: &mut Html, manifest: &Manifest, judging: &Judging) {
    html.raw("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Judges\"><table>");
    html.raw("<caption>Judges</caption>\n<thead><tr><th scope=\"col\">Id</th><th scope=\"col\">Model</th>");
    html.raw("<th scope=\"col\" class=\"n\">Opinions</th><th scope=\"col\" class=\"n\">Tokens in</th>");
    html.raw(
        "<th scope=\"col\" class=\"n\">Tokens out</th><th scope=\"col\" class=\"n\">Cost</th></tr></thead>\n<tbody>\n",
    );
    for row in judging.judges.iter().take(MAX_ROWS) {
        let model = manifest.judges.iter().find(|judge| judge.id == row.id);
        html.raw("<tr><th scope=\"row\">").name(&row.id).raw("</th><td><code>");
        html.text(model.map_or("", |model| &model.model)).raw("</code></td><td class=\"n\">");
        html.text(&count(row.opinions)).raw("</td><td class=\"n\">").text(&count(row.usage.input_tokens));
        html.raw("</td><td class=\"n\">").text(&count(row.usage.output_tokens)).raw("</td><td class=\"n\">");
        match row.cost_usd {
            Some(cost) => html.text(&money(cost)),
            None => html.raw("<span class=\"quiet\">unknown</span>"),
        };
        html.raw("</td></tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}
