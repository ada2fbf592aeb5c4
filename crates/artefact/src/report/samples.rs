//! The list of samples and the controls above it.
//!
//! Each sample is a `<details>`, so reading needs no script. The controls stay hidden until the
//! script that serves them has started.

use std::io;

use super::course;
use super::html::Html;
use super::images::{self, Thumbnails};
use super::sample::{Clip, Outcome, Said, Sample};
use super::select::Selection;
use super::timeline::{self, Timelines};
use crate::manifest::Manifest;
use crate::number::{self, count, counted};
use crate::record::{Order, Stage, Status};

/// Names beyond this many have no entry in a menu; the text search still finds them.
const MAX_OPTIONS: usize = 500;

/// Writes the section sample by sample, so that the page is never in memory as a whole.
pub(super) fn section(
    html: &mut Html,
    manifest: &Manifest,
    selection: &Selection,
    timelines: &Timelines,
    thumbnails: &mut Thumbnails<'_>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    html.raw("<section id=\"samples\">\n<h2>Samples</h2>\n");
    intro(html, selection, timelines);
    if selection.shown() > 0 {
        controls(html, manifest, selection);
    }
    for outcome in Outcome::ALL {
        let (shown, seen) = selection.share(outcome);
        if shown == 0 {
            continue;
        }
        html.raw("<div class=\"group\"><h3>").raw(plural(outcome)).raw(" <span class=\"quiet\">");
        html.text(&count(shown));
        if shown < seen {
            html.raw(" of ").text(&count(seen));
        }
        html.raw("</span></h3>\n");
        for sample in selection.samples.iter().filter(|sample| sample.outcome == outcome) {
            entry(html, manifest, sample, timelines, thumbnails);
            html.write_to(out)?;
        }
        html.raw("</div>\n");
    }
    html.raw("<p id=\"none\" class=\"lead\" hidden>No sample matches.</p>\n</section>\n");
    html.write_to(out)
}

/// The sample's place in the page. Made here: nothing from outside becomes an id.
pub(super) fn anchor(sample: &Sample) -> String {
    format!("s{}", sample.position)
}

/// Writes a text, with a word where something was left out.
pub(super) fn clip(html: &mut Html, clip: &Clip) {
    html.text(&clip.head);
    if clip.left_out > 0 {
        html.raw("<span class=\"cut\"> \u{2026} ").text(&counted(clip.left_out as u64, "byte", "bytes"));
        html.raw(" left out \u{2026} </span>").text(&clip.tail);
    }
}

fn intro(html: &mut Html, selection: &Selection, timelines: &Timelines) {
    let (shown, seen) = (selection.shown() as u64, selection.seen());
    if seen == 0 {
        html.raw("<p class=\"lead\">There are no samples.</p>\n");
        return;
    }
    html.raw("<p class=\"lead\">Showing ");
    if shown == seen {
        html.text(&if seen == 1 { "the only sample".to_owned() } else { format!("all {} samples", count(seen)) });
    } else {
        html.text(&format!("{} of {}", count(shown), counted(seen, "sample", "samples")));
    }
    let mut before = false;
    for outcome in Outcome::ALL {
        let (shown, seen) = selection.share(outcome);
        if seen > 0 {
            html.raw(if before { ", " } else { ": " });
            let words = match (shown == seen, outcome) {
                (true, Outcome::Errored) => counted(seen, "error", "errors"),
                (true, Outcome::Failed) => counted(seen, "failure", "failures"),
                (true, Outcome::Passed) => counted(seen, "pass", "passes"),
                (true, Outcome::Unscored) => format!("{} unscored", count(seen)),
                (false, Outcome::Errored) => format!("{} of {}", count(shown), counted(seen, "error", "errors")),
                (false, Outcome::Failed) => format!("{} of {}", count(shown), counted(seen, "failure", "failures")),
                (false, Outcome::Passed) => format!("{} of {}", count(shown), counted(seen, "pass", "passes")),
                (false, Outcome::Unscored) => format!("{} of {} unscored", count(shown), count(seen)),
            };
            html.text(&words);
            before = true;
        }
    }
    html.raw(".</p>\n<details class=\"rule\"><summary>How these were chosen</summary><p>In each cell (task, model, ");
    html.raw("condition) errors come first, then failures, then passes, each in record order, and the first ");
    html.text(&count(selection.quota.into())).raw(" are candidates. Of all candidates, in the same order, the first ");
    html.text(&count(selection.limits.samples as u64)).raw(" are shown, as long as they fit in ");
    html.text(&counted(selection.limits.bytes as u64, "byte", "bytes")).raw(" of text. Texts longer than ");
    html.text(&count(super::sample::MAX_TEXT as u64));
    html.raw(" bytes keep their beginning and end. Every sample is in <code>records.jsonl</code>.");
    if !timelines.is_empty() {
        html.raw(" Trajectories share ").text(&counted(timeline::ALL as u64, "byte", "bytes"));
        html.raw(" evenly; long ones keep both ends. They are whole in <code>trajectories.jsonl</code>.");
    }
    html.raw("</p></details>\n");
    html.raw("<p class=\"print quiet\">On paper only the samples that were open are shown.</p>\n");
}

fn controls(html: &mut Html, manifest: &Manifest, selection: &Selection) {
    html.raw("<form id=\"filter\" hidden>\n<label class=\"search\">Search<input type=\"search\" name=\"text\" ");
    html.raw("placeholder=\"prompt, answer, id, explanation\" autocomplete=\"off\" spellcheck=\"false\"></label>\n");
    menu(html, "Task", "task", manifest.tasks.iter().map(|task| task.id.as_str()));
    menu(html, "Model", "model", manifest.models.iter().map(|model| model.id.as_str()));
    menu(html, "Condition", "condition", manifest.conditions.requested.iter().map(String::as_str));
    html.raw("<label>Outcome<select name=\"outcome\"><option value=\"\">any</option>");
    html.raw("<option value=\"errored\">error</option><option value=\"failed\">fail</option>");
    html.raw("<option value=\"passed\">pass</option>");
    if selection.share(Outcome::Unscored).1 > 0 {
        html.raw("<option value=\"unscored\">unscored</option>");
    }
    html.raw("</select></label>\n");
    html.raw("<label class=\"check\"><input type=\"checkbox\" name=\"bad\"> Only failures and errors</label>\n");
    html.raw("<span class=\"buttons\"><button type=\"button\" name=\"open\">Open all</button>");
    html.raw("<button type=\"button\" name=\"close\">Close all</button><button type=\"reset\">Reset</button></span>\n");
    html.raw("<output name=\"shown\" aria-live=\"polite\"></output>\n</form>\n");
}

fn menu<'a>(html: &mut Html, label: &'static str, name: &'static str, entries: impl ExactSizeIterator<Item = &'a str>) {
    // A menu with one entry only takes room.
    if entries.len() < 2 {
        return;
    }
    html.raw("<label>").raw(label).raw("<select").attr("name", name).raw("><option value=\"\">any</option>");
    for (at, entry) in entries.take(MAX_OPTIONS).enumerate() {
        html.raw("<option").attr("value", &at.to_string()).raw(">").text(entry).raw("</option>");
    }
    html.raw("</select></label>\n");
}

fn entry(
    html: &mut Html,
    manifest: &Manifest,
    sample: &Sample,
    timelines: &Timelines,
    thumbnails: &mut Thumbnails<'_>,
) {
    let task = manifest.tasks.get(sample.task).map_or("", |task| &task.id);
    let model = manifest.models.get(sample.model).map_or("", |model| &model.id);
    let condition = manifest.conditions.requested.get(sample.condition).map_or("", |condition| condition);
    let (outcome, mark) = match sample.outcome {
        Outcome::Errored => ("errored", error_mark(sample.status)),
        Outcome::Failed => ("failed", "fail"),
        Outcome::Passed => ("passed", "pass"),
        Outcome::Unscored => ("unscored", "unscored"),
    };
    html.raw("<details class=\"sample\"").attr("id", &anchor(sample)).attr("data-outcome", outcome);
    html.attr("data-task", &sample.task.to_string()).attr("data-model", &sample.model.to_string());
    html.attr("data-condition", &sample.condition.to_string()).raw("><summary><span class=\"mark\">").raw(mark);
    html.raw("</span> <span class=\"item\"><bdi>");
    clip(html, &sample.item);
    html.raw("</bdi></span> <span class=\"glance\">");
    glance(html, sample);
    html.raw("</span> <span class=\"where\">").name(task).raw(" \u{b7} ").name(model).raw(" \u{b7} ").name(condition);
    html.raw(" \u{b7} #").text(&sample.index.to_string()).raw("</span></summary>\n<div class=\"body\">\n");
    texts(html, sample, thumbnails);
    course::votes(html, sample);
    let price = manifest.models.get(sample.model).and_then(|model| model.price.as_ref());
    course::attempts(html, sample, timelines.at(sample.position), price);
    scores(html, sample);
    facts(html, sample);
    html.raw("</div></details>\n");
}

/// What a reader sees before the sample is opened.
fn glance(html: &mut Html, sample: &Sample) {
    if let Some((class, message)) = &sample.error {
        html.raw("<span>").text(&one_line(&class.head)).raw(": ").text(&one_line(&message.head)).raw("</span>");
        return;
    }
    let Some(answer) = &sample.answer else { return };
    if answer.head.is_empty() && !sample.images.is_empty() {
        images::glance(html, sample);
    } else {
        html.raw("<bdi>").text(&one_line(&answer.head)).raw("</bdi>");
    }
    if let (Outcome::Failed, Some(expected)) = (sample.outcome, &sample.expected) {
        html.raw(" <span class=\"quiet\">expected <bdi>").text(&one_line(&expected.head)).raw("</bdi></span>");
    }
}

/// The first words of a text with its white space folded.
fn one_line(text: &str) -> String {
    let head = &text[..text.floor_char_boundary(240)];
    let mut line = String::with_capacity(head.len());
    for word in head.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if head.len() < text.len() {
        line.push('\u{2026}');
    }
    line
}

fn texts(html: &mut Html, sample: &Sample, thumbnails: &mut Thumbnails<'_>) {
    html.raw("<div class=\"columns\"><div>\n<h4>Prompt</h4>\n");
    for (at, (role, content)) in sample.messages.iter().enumerate() {
        if sample.messages_left_out > 0 && at + 1 == sample.messages.len() {
            html.raw("<p class=\"quiet\">").text(&counted(sample.messages_left_out as u64, "message", "messages"));
            html.raw(" left out</p>\n");
        }
        html.raw("<div class=\"message\"><span class=\"role\">").text(role.as_str()).raw("</span>");
        block(html, content);
        html.raw("</div>\n");
    }
    html.raw("</div><div>\n");
    if let Some((class, message)) = &sample.error {
        html.raw("<h4>Error</h4>\n<div class=\"error\"><strong>");
        clip(html, class);
        html.raw("</strong>");
        block(html, message);
        html.raw("</div>\n");
    }
    html.raw("<h4>Answer</h4>\n");
    images::figures(html, sample, thumbnails);
    match &sample.answer {
        // A picture is an answer by itself.
        Some(answer) if answer.head.is_empty() && !sample.images.is_empty() => {}
        Some(answer) => block(html, answer),
        None => {
            html.raw("<p class=\"quiet\">none came</p>\n");
        }
    }
    html.raw("<h4>Expected</h4>\n");
    match &sample.expected {
        Some(expected) => block(html, expected),
        None => {
            html.raw("<p class=\"quiet\">the item has no expected answer</p>\n");
        }
    }
    html.raw("</div></div>\n");
}

pub(super) fn block(html: &mut Html, text: &Clip) {
    if text.head.trim().is_empty() && text.left_out == 0 {
        html.raw(if text.head.is_empty() {
            "<p class=\"quiet\">empty</p>\n"
        } else {
            "<p class=\"quiet\">only white space</p>\n"
        });
        return;
    }
    // HTML drops a line end right after `<pre>`: this one is for it.
    html.raw("<pre>\n");
    clip(html, text);
    html.raw("</pre>\n");
}

fn scores(html: &mut Html, sample: &Sample) {
    if sample.scores.is_empty() {
        return;
    }
    html.raw("<div class=\"scroll\"><table class=\"scores\"><caption>Scores</caption><thead><tr>");
    html.raw(
        "<th scope=\"col\">Verdict</th><th scope=\"col\" class=\"n\">Value</th><th scope=\"col\">Explanation</th>",
    );
    html.raw("</tr></thead><tbody>\n");
    for score in &sample.scores {
        html.raw("<tr><th scope=\"row\"><bdi>");
        clip(html, &score.scorer);
        html.raw(if score.passed { "</bdi></th><td class=\"good\">pass" } else { "</bdi></th><td class=\"bad\">fail" });
        html.raw("</td><td class=\"n\">").text(&number::value(score.value)).raw("</td><td><bdi>");
        clip(html, &score.explanation);
        html.raw("</bdi>");
        if let Some((stage, said)) = &score.judged {
            opinions(html, *stage, said);
        }
        html.raw("</td></tr>\n");
    }
    html.raw("</tbody></table></div>\n");
    if sample.scores_left_out > 0 {
        html.raw("<p class=\"quiet\">").text(&counted(sample.scores_left_out as u64, "score", "scores"));
        html.raw(" left out</p>\n");
    }
}

/// What decided, and what each judge said.
fn opinions(html: &mut Html, stage: Stage, said: &[Said]) {
    html.raw("<p class=\"quiet\">").raw(match stage {
        Stage::Empty => "decided without a judge: no answer",
        Stage::Exact => "decided without a judge: an exact match",
        Stage::Normalised => "decided without a judge: a match but for case, punctuation and white space",
        Stage::Judge => "decided by judges",
    });
    html.raw("</p>");
    if said.is_empty() {
        return;
    }
    html.raw("<ul class=\"opinions\">");
    for one in said {
        html.raw("<li><bdi>");
        clip(html, &one.judge);
        html.raw(match one.order {
            None => "</bdi>: ",
            Some(Order::AnswerFirst) => "</bdi> (answer first): ",
            Some(Order::AnswerSecond) => "</bdi> (answer second): ",
        });
        html.raw(if one.passed { "<span class=\"good\">" } else { "<span class=\"bad\">" });
        clip(html, &one.verdict);
        html.raw("</span>");
        if let Some(score) = one.score {
            html.raw(", ").text(&number::value(score));
        }
        html.raw(" <bdi class=\"quiet\">");
        clip(html, &one.reason);
        html.raw("</bdi></li>");
    }
    html.raw("</ul>");
}

fn facts(html: &mut Html, sample: &Sample) {
    html.raw("<dl class=\"settings\"><div class=\"wide\"><dt>Key</dt><dd><code class=\"copy\">");
    clip(html, &sample.key);
    html.raw("</code></dd></div>");
    let mut fact = |label: &'static str, value: &str| {
        html.raw("<div><dt>").raw(label).raw("</dt><dd>").text(value).raw("</dd></div>");
    };
    fact("Status", sample.status.as_str());
    fact("Seed", &sample.seed.to_string());
    fact("Tokens", &format!("{} in, {} out", count(sample.usage.input_tokens), count(sample.usage.output_tokens)));
    if let Some(reason) = &sample.finish_reason {
        fact("Finish reason", &reason.head);
    }
    if sample.turns > 1 || sample.tool_calls > 0 {
        fact("Turns", &count(sample.turns.into()));
        fact("Tool calls", &count(sample.tool_calls.into()));
    }
    for (label, digest) in [("Input", &sample.input_fingerprint), ("Output", &sample.output_fingerprint)] {
        html.raw("<div><dt>").raw(label).raw("</dt><dd><code").attr("title", &digest.to_string()).raw(">");
        html.text(&digest.short()).raw("</code></dd></div>");
    }
    html.raw("</dl>\n");
}

fn plural(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Errored => "Errors",
        Outcome::Failed => "Failures",
        Outcome::Passed => "Passes",
        Outcome::Unscored => "Unscored",
    }
}

fn error_mark(status: Status) -> &'static str {
    match status {
        Status::Success => "unscored",
        Status::Error => "error",
        Status::Timeout => "timeout",
        Status::RateLimited => "limited",
        Status::Skipped => "skipped",
    }
}
