//! The frame of the page: head, header, sections, footer.

use std::io;
use std::path::Path;

use proofmark_canon::Digest;

use super::html::Html;
use super::images::Thumbnails;
use super::select::Selection;
use super::timeline::{Timelines, has_timeline};
use super::{errors, judging, results, samples, setup, tasks};
use crate::answerer::Answerer;
use crate::manifest::Manifest;
use crate::number::{count, counted, money, plain};
use crate::summary::Summary;

/// Writes `report.html`.
///
/// The bytes depend on the arguments alone, and not on `manifest.artifacts`: the manifest holds
/// the digest of this very file there, so the report is written before it is known. The directory is
/// looked at only for trajectories of agents, and for pictures that shown samples name and that have the right digest.
pub fn render(
    manifest: &Manifest,
    summary: &Summary,
    selection: &Selection,
    run_dir: &Path,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut html = Html::default();
    let timelines = Timelines::read(run_dir, manifest, selection)?;
    head(&mut html, manifest, selection);
    header(&mut html, manifest, summary, selection);
    html.raw("<main>\n");
    notices(&mut html, manifest, summary);
    results::headline(&mut html, manifest, summary);
    results::comparisons(&mut html, summary);
    judging::section(&mut html, manifest, summary);
    tasks::breakdown(&mut html, summary);
    errors::section(&mut html, manifest, selection);
    html.write_to(out)?;
    samples::section(&mut html, manifest, selection, &timelines, &mut Thumbnails::of(run_dir), out)?;
    setup::section(&mut html, manifest, summary);
    html.raw("</main>\n");
    footer(&mut html, manifest, &timelines);
    html.raw("<script>").raw(SCRIPT).raw("</script>\n</body>\n</html>\n");
    html.write_to(out)
}

const STYLE: &str = include_str!("style.css");
/// Only on pages with pictures: all others keep the bytes that they always had.
const PICTURES_STYLE: &str = include_str!("pictures.css");
/// Only on pages of agents and votes, likewise.
const TIMELINE_STYLE: &str = include_str!("timeline.css");
const SCRIPT: &str = include_str!("filter.js");

fn head(html: &mut Html, manifest: &Manifest, selection: &Selection) {
    let has_pictures = selection.samples.iter().any(|sample| !sample.images.is_empty());
    let has_timelines = selection.samples.iter().any(|sample| has_timeline(manifest, sample));
    let source = |text: &str| format!("'sha256-{}'", base64(Digest::of(text.as_bytes()).as_bytes()));
    let mut styles = vec![STYLE];
    styles.extend(has_pictures.then_some(PICTURES_STYLE));
    styles.extend(has_timelines.then_some(TIMELINE_STYLE));
    // Only this very script and these very style sheets run, and nothing is ever fetched.
    let policy = format!(
        "default-src 'none'; {}style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        if has_pictures { "img-src data:; " } else { "" },
        styles.iter().map(|style| source(style)).collect::<Vec<_>>().join(" "),
        source(SCRIPT),
    );
    html.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.raw("<meta http-equiv=\"Content-Security-Policy\"").attr("content", &policy).raw(">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.raw("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.raw("<title>").text(&manifest.name).raw(" \u{b7} Proofmark report</title>\n");
    for style in styles {
        html.raw("<style>").raw(style).raw("</style>\n");
    }
    html.raw("</head>\n<body>\n");
}

fn header(html: &mut Html, manifest: &Manifest, summary: &Summary, selection: &Selection) {
    let totals = &summary.totals;
    html.raw("<header>\n<p class=\"kind\">Proofmark report</p>\n<h1>").name(&manifest.name).raw("</h1>\n");
    html.raw("<p class=\"run\">run <code class=\"copy\">")
        .text(&manifest.run_id.to_string())
        .raw("</code> \u{b7} made by ");
    html.text(&manifest.harness.name).raw(" ").text(&manifest.harness.version).raw("</p>\n");
    html.raw("<dl class=\"facts\">\n");
    let mut fact = |label: &'static str, value: &str| {
        html.raw("<div><dt>").raw(label).raw("</dt><dd>").text(value).raw("</dd></div>\n");
    };
    fact("Samples", &count(totals.counts.attempted));
    fact("Passed", &count(totals.counts.passed));
    fact("Failed", &count(totals.counts.scored.saturating_sub(totals.counts.passed)));
    fact("No score", &count(totals.counts.errored));
    if totals.counts.unscored() > 0 {
        fact("Unscored", &count(totals.counts.unscored()));
    }
    fact("Items", &count(totals.items));
    fact("Tasks", &count(manifest.tasks.len() as u64));
    fact("Models", &count(manifest.models.len() as u64));
    fact("Conditions", &count(manifest.conditions.requested.len() as u64));
    fact("Per item (n)", &count(manifest.sampling.n.into()));
    fact("Seed", &manifest.sampling.seed.to_string());
    if let Some(temperature) = manifest.sampling.temperature {
        fact("Temperature", &plain(temperature));
    }
    fact("Tokens in", &count(totals.usage.input_tokens));
    fact("Tokens out", &count(totals.usage.output_tokens));
    if let Some(cost) = totals.cost_usd {
        fact("Cost", &money(cost));
    }
    html.raw("</dl>\n<nav aria-label=\"Sections\"><a href=\"#results\">Results</a>");
    if !summary.comparisons.is_empty() {
        html.raw("<a href=\"#differences\">Differences</a>");
    }
    if summary.judging.is_some() {
        html.raw("<a href=\"#judging\">Judging</a>");
    }
    html.raw("<a href=\"#tasks\">Tasks</a>");
    if !selection.errors.is_empty() {
        html.raw("<a href=\"#errors\">Errors</a>");
    }
    html.raw("<a href=\"#samples\">Samples</a><a href=\"#setup\">Setup</a></nav>\n</header>\n");
}

/// What a reader must know before any number.
fn notices(html: &mut Html, manifest: &Manifest, summary: &Summary) {
    let counts = &summary.totals.counts;
    if counts.errored > 0 {
        let share = format!("{} of {}", count(counts.errored), counted(counts.attempted, "sample", "samples"));
        html.raw("<p class=\"notice bad\"><strong>").text(&share).raw(if counts.errored == 1 {
            " has"
        } else {
            " have"
        });
        html.raw(" no score.</strong> Means and intervals below are over scored samples only. ");
        html.raw("<a href=\"#errors\">See the errors</a>.</p>\n");
    }
    if counts.unscored() > 0 {
        html.raw("<p class=\"notice\"><strong>").text(&counted(counts.unscored(), "sample is", "samples are"));
        html.raw(" unscored:</strong> answered, but nobody here has the gold answers. They count in no mean.</p>\n");
    }
    for row in summary.answered_by.iter().take(20) {
        let asked = manifest.models.iter().find(|model| model.id == row.model);
        let Some(asked) = asked.filter(|model| model.answerer(&row.name) == Answerer::Another) else { continue };
        html.raw("<p class=\"notice bad\"><strong>Another model answered.</strong> ").name(&row.model);
        html.raw(" asked for <code>").text(asked.asked_for()).raw("</code>, but ");
        html.text(&counted(row.samples, "sample was", "samples were")).raw(" answered by <code>");
        html.text(&crate::text::excerpt(&row.name, 120)).raw("</code>, says the ");
        html.raw(if asked.provider == "command" { "program" } else { "provider" }).raw(".</p>\n");
    }
    let skipped = manifest.datasets.iter().fold(0u64, |sum, dataset| sum.saturating_add(dataset.rows_skipped));
    if skipped > 0 {
        html.raw("<p class=\"notice\">").text(&counted(skipped, "dataset row was", "dataset rows were"));
        html.raw(" malformed and left out, as the suite allows.</p>\n");
    }
    let silent = |condition: &&String| !manifest.conditions.effective.contains(condition);
    for condition in manifest.conditions.requested.iter().filter(silent).take(20) {
        html.raw("<p class=\"notice\">Condition ").name(condition).raw(" has no scored sample.</p>\n");
    }
}

fn footer(html: &mut Html, manifest: &Manifest, timelines: &Timelines) {
    html.raw("<footer>\n<h2>What this page proves</h2>\n<p>Every number and text here is derived from ");
    html.raw(if timelines.is_empty() {
        "<code>records.jsonl</code> by fixed rules, and the same records give the same bytes of this page on any \
         machine. The run\u{2019}s <code>manifest.json</code> holds the digests of both. Check them with "
    } else {
        "<code>records.jsonl</code> and <code>trajectories.jsonl</code> by fixed rules, and the same files give the same \
         bytes of this page on any machine. The run\u{2019}s <code>manifest.json</code> holds the digests of all three. \
         Check them with "
    });
    html.raw(
        "<code>proofmark validate DIR</code>, and rebuild this page with <code>proofmark report DIR</code>.</p>\n",
    );
    html.raw(
        "<p>It does not prove that a model was really called, which model it was, that the scorers are right, or that ",
    );
    html.raw(
        "no other run was thrown away. Long texts are cut and not every sample is shown; the records have them all.",
    );
    html.raw("</p>\n<p class=\"quiet\">");
    html.text(&manifest.harness.name).raw(" ").text(&manifest.harness.version).raw(" \u{b7} Unicode ");
    html.text(&manifest.unicode_version).raw(" \u{b7} this file makes no request</p>\n</footer>\n");
}

/// RFC 4648 §4, with padding: what a content security policy and a `data:` address want.
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
