//! What the run was made from: datasets, tasks, models, conditions, settings.

use proofmark_canon::Value;

use super::html::Html;
use super::sample::Clip;
use super::samples::clip;
use crate::answerer::Answerer;
use crate::manifest::{DatasetEntry, Manifest};
use crate::number::{count, counted, plain};
use crate::summary::Summary;

const MAX_ROWS: usize = 500;
const MAX_PARAMS: usize = 1024;

pub(super) fn section(html: &mut Html, manifest: &Manifest, summary: &Summary) {
    html.raw("<section id=\"setup\">\n<h2>Setup</h2>\n");
    datasets(html, manifest);
    models(html, manifest);
    answered(html, manifest, summary);
    settings(html, manifest);
    html.raw("</section>\n");
}

fn datasets(html: &mut Html, manifest: &Manifest) {
    begin(html, "Tasks and datasets");
    html.raw("<th scope=\"col\">Task</th><th scope=\"col\">Scorers</th><th scope=\"col\">Dataset</th>");
    html.raw("<th scope=\"col\">Format</th><th scope=\"col\" class=\"n\">Items</th>");
    html.raw("<th scope=\"col\" class=\"n\">Rows left out</th><th scope=\"col\">SHA-256</th></tr></thead>\n<tbody>\n");
    for dataset in manifest.datasets.iter().take(MAX_ROWS) {
        let scorers = manifest.tasks.iter().find(|task| task.id == dataset.task).map(|task| task.scorers.as_slice());
        html.raw("<tr><th scope=\"row\">").name(&dataset.task).raw("</th><td>");
        for (at, scorer) in scorers.unwrap_or_default().iter().enumerate() {
            html.raw(if at > 0 { ", " } else { "" }).name(scorer);
        }
        html.raw("</td><td>");
        source(html, dataset);
        html.raw("</td><td>").text(&dataset.format).raw("</td><td class=\"n\">").text(&count(dataset.rows));
        html.raw(if dataset.rows_skipped > 0 { "</td><td class=\"n bad\">" } else { "</td><td class=\"n\">" });
        html.text(&count(dataset.rows_skipped)).raw("</td><td><code").attr("title", &dataset.digest.to_string());
        html.raw(">").text(&dataset.digest.short()).raw("</code></td></tr>\n");
    }
    end(html, manifest.datasets.len());
}

fn source(html: &mut Html, dataset: &DatasetEntry) {
    match (&dataset.path, &dataset.repo) {
        (Some(path), _) => html.name(path),
        (None, Some(repo)) => html.name(repo),
        (None, None) => html.raw("in the suite"),
    };
    if let Some(revision) = &dataset.revision {
        html.raw(" <code").attr("title", revision).raw(">@");
        html.text(&revision[..revision.floor_char_boundary(12)]).raw("</code>");
    }
    if let Some(split) = &dataset.split {
        html.raw(", split ").name(split);
    }
}

fn models(html: &mut Html, manifest: &Manifest) {
    begin(html, "Models");
    html.raw("<th scope=\"col\">Id</th><th scope=\"col\">Model</th><th scope=\"col\">Provider</th>");
    html.raw("<th scope=\"col\">Parameters</th></tr></thead>\n<tbody>\n");
    for model in manifest.models.iter().take(MAX_ROWS) {
        html.raw("<tr><th scope=\"row\">").name(&model.id).raw("</th><td><code>").text(&model.model);
        html.raw("</code></td><td>").name(&model.provider).raw("</td><td>");
        if model.params.is_empty() {
            html.raw("<span class=\"quiet\">none</span>");
        } else {
            html.raw("<code>");
            clip(html, &Clip::of(&Value::Object(model.params.clone()).to_string(), MAX_PARAMS));
            html.raw("</code>");
        }
        html.raw("</td></tr>\n");
    }
    end(html, manifest.models.len());
}

/// Who the providers say has answered. Another model than the one that was asked for stands out.
fn answered(html: &mut Html, manifest: &Manifest, summary: &Summary) {
    if summary.answered_by.is_empty() {
        return;
    }
    begin(html, "Answered by");
    html.raw("<th scope=\"col\">Id</th><th scope=\"col\">Asked for</th><th scope=\"col\">Answered by</th>");
    html.raw("<th scope=\"col\" class=\"n\">Samples</th></tr></thead>\n<tbody>\n");
    for row in summary.answered_by.iter().take(MAX_ROWS) {
        let asked = manifest.models.iter().find(|model| model.id == row.model);
        let is_other = asked.is_none_or(|model| model.answerer(&row.name) == Answerer::Another);
        html.raw("<tr><th scope=\"row\">").name(&row.model).raw("</th><td><code>");
        html.text(asked.map_or("", |model| model.asked_for()));
        html.raw(if is_other { "</code></td><td class=\"bad\"><code>" } else { "</code></td><td><code>" });
        clip(html, &Clip::of(&row.name, MAX_PARAMS));
        html.raw(if is_other { "</code> (another model)" } else { "</code>" });
        html.raw("</td><td class=\"n\">").text(&count(row.samples)).raw("</td></tr>\n");
    }
    end(html, summary.answered_by.len());
}

fn settings(html: &mut Html, manifest: &Manifest) {
    html.raw("<h3>Settings</h3>\n<dl class=\"settings\">\n<div><dt>Conditions</dt><dd>");
    for (at, condition) in manifest.conditions.requested.iter().take(MAX_ROWS).enumerate() {
        html.raw(if at > 0 { ", " } else { "" }).name(condition);
    }
    html.raw("</dd></div>\n");
    let mut setting = |label: &'static str, value: &str| {
        html.raw("<div><dt>").raw(label).raw("</dt><dd>").text(value).raw("</dd></div>\n");
    };
    let on = |flag: bool| if flag { "on" } else { "off" };
    let sampling = &manifest.sampling;
    setting("Samples per item", &count(sampling.n.into()));
    setting("Temperature", &sampling.temperature.map_or_else(|| "the provider\u{2019}s default".to_owned(), plain));
    setting("Seed", &sampling.seed.to_string());
    if let Some(attempts) = sampling.voting_attempts {
        setting("Voting", &counted(attempts.into(), "attempt", "attempts"));
    }
    setting("Strict serialisation", on(manifest.determinism.strict_serialization));
    setting("Deterministic artefacts", on(manifest.determinism.deterministic_artifacts));
    setting("Evidence recorded", on(manifest.evidence.recorded));
    if let Some(platform) = &manifest.platform {
        setting("Platform", &format!("{} {}", platform.os, platform.arch));
    }
    html.raw("</dl>\n");
}

fn begin(html: &mut Html, caption: &'static str) {
    html.raw("<h3>").raw(caption).raw("</h3>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\"");
    html.attr("aria-label", caption).raw("><table><caption>").raw(caption).raw("</caption>\n<thead><tr>");
}

fn end(html: &mut Html, rows: usize) {
    html.raw("</tbody></table></div>\n");
    if rows > MAX_ROWS {
        html.raw("<p class=\"quiet\">").text(&count((rows - MAX_ROWS) as u64));
        html.raw(" more are in <code>manifest.json</code>.</p>\n");
    }
}
