//! How an answer was earned, as the page shows it: votes, and each attempt step by step.

use super::html::Html;
use super::sample::{Clip, Sample};
use super::samples::{block, clip};
use super::timeline::{Attempt, Body, Event};
use crate::manifest::PriceEntry;
use crate::number::{count, counted};
use crate::record::Usage;
use crate::words;

/// Writes how one of several answers was chosen.
pub(super) fn votes(html: &mut Html, sample: &Sample) {
    let Some(votes) = &sample.votes else { return };
    html.raw("<div class=\"votes\"><h4>Votes</h4>\n<p>").text(&votes.words).raw("</p>\n<ol start=\"0\">");
    for (at, answer) in votes.answers.iter().enumerate() {
        let counts = votes.chosen.is_some_and(|chosen| chosen as usize == at);
        html.raw(if counts { "<li class=\"chosen\">" } else { "<li>" });
        match answer {
            Some(answer) => {
                html.raw("<bdi>");
                clip(html, answer);
                html.raw("</bdi>");
            }
            None => {
                html.raw("<span class=\"quiet\">no answer</span>");
            }
        }
        html.raw(if counts { " <span class=\"good\">counts</span></li>" } else { "</li>" });
    }
    html.raw("</ol>\n");
    let left_out = (votes.all as usize).saturating_sub(votes.answers.len());
    if left_out > 0 {
        html.raw("<p class=\"quiet\">").text(&counted(left_out as u64, "answer", "answers")).raw(" left out</p>\n");
    }
    html.raw("</div>\n");
}

/// Writes every attempt, each folded.
pub(super) fn attempts(html: &mut Html, sample: &Sample, attempts: &[Attempt], price: Option<&PriceEntry>) {
    for attempt in attempts {
        let cost = |usage: Usage| words::tokens(usage, price.map(|price| price.cost(usage)));
        html.raw("<details class=\"course\"><summary><strong>");
        match attempt.number {
            Some(number) => html.raw("Attempt ").text(&number.to_string()),
            None => html.raw("Trajectory"),
        };
        html.raw("</strong>");
        let chosen = sample.votes.as_ref().and_then(|votes| votes.chosen);
        if attempt.number.is_some() && attempt.number == chosen {
            html.raw(" <span class=\"good\">counts</span>");
        }
        html.raw(" <span class=\"quiet\">").text(&counted(attempt.turns.into(), "turn", "turns")).raw(", ");
        html.text(&counted(attempt.tool_calls, "tool call", "tool calls")).raw(", ").text(&cost(attempt.usage));
        if let Some(stop) = attempt.stop {
            html.raw("; stopped: ").raw(words::stop(stop));
        }
        html.raw("</span></summary>\n<ol class=\"steps\">\n");
        for (at, event) in attempt.events.iter().enumerate() {
            let (left_out, before) = attempt.left_out;
            if left_out > 0 && at == before {
                html.raw("<li class=\"gap quiet\">").text(&counted(left_out as u64, "step", "steps"));
                html.raw(" left out</li>\n");
            }
            step(html, event, &cost);
        }
        end(html, attempt);
        html.raw("</ol></details>\n");
    }
}

fn step(html: &mut Html, event: &Event, cost: &dyn Fn(Usage) -> String) {
    match event {
        Event::Prompt { role, body } => {
            html.raw("<li class=\"shown\"><p class=\"what\"><strong>").text(role.as_str()).raw("</strong>");
            size(html, body);
            html.raw("</p>\n");
            block(html, &body.head);
        }
        Event::Turn { number, body, usage } => {
            html.raw("<li class=\"turn\"><p class=\"what\"><strong>Turn ").text(&count((*number).into()));
            html.raw("</strong>");
            if let Some(usage) = usage {
                html.raw(" <span class=\"quiet\">").text(&cost(*usage)).raw("</span>");
            }
            size(html, body);
            html.raw("</p>\n");
            if body.bytes == 0 {
                html.raw("<p class=\"quiet\">says nothing</p>\n");
            } else {
                block(html, &body.head);
            }
        }
        Event::Call { name, args, cut } => {
            html.raw("<li class=\"call\"><p class=\"what\"><strong>calls <code>").text(name).raw("</code></strong>");
            if let Some(bytes) = cut {
                html.raw(" <span class=\"quiet\">").text(&counted(*bytes, "byte", "bytes"));
                html.raw(" of arguments, of which the beginning is recorded</span>");
            }
            html.raw("</p>\n");
            block(html, args);
        }
        Event::Result { name, body, source, error, binary, finds } => {
            html.raw("<li class=\"result\"><p class=\"what\"><strong>result of <code>").text(name);
            html.raw("</code></strong>");
            if let Some(error) = error {
                html.raw(" <span class=\"bad\">error: ").text(error).raw("</span>");
            }
            size(html, body);
            if *binary {
                html.raw(" <span class=\"quiet\">not text</span>");
            }
            html.raw("</p>\n");
            if let Some(source) = source {
                html.raw("<p class=\"quiet\">from <bdi>");
                clip(html, source);
                html.raw("</bdi></p>\n");
            }
            for find in finds {
                html.raw("<p class=\"find\">").text(find).raw("</p>\n");
            }
            block(html, &body.head);
        }
    }
    html.raw("</li>\n");
}

fn size(html: &mut Html, body: &Body) {
    html.raw(" <span class=\"quiet\">").text(&counted(body.bytes, "byte", "bytes"));
    if body.head_bytes < body.bytes {
        html.raw(", of which the first ").text(&count(body.head_bytes)).raw(" are recorded");
    }
    html.raw(" <code")
        .attr("title", &body.digest.to_string())
        .raw(">")
        .text(&body.digest.short())
        .raw("</code></span>");
}

fn end(html: &mut Html, attempt: &Attempt) {
    html.raw("<li class=\"end\"><p class=\"what\"><strong>");
    let text: Option<&Clip> = match (&attempt.answer, &attempt.no_answer) {
        (Some(answer), _) => {
            html.raw("Final answer</strong></p>\n");
            Some(answer)
        }
        (None, why) => {
            html.raw("No final answer</strong></p>\n");
            why.as_ref()
        }
    };
    if let Some(text) = text {
        block(html, text);
    }
    html.raw("</li>\n");
}
