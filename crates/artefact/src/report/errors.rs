//! Samples without a score, by the class of their error.

use super::html::Html;
use super::samples::{anchor, clip};
use super::select::{ErrorGroup, Selection};
use crate::manifest::Manifest;
use crate::number::count;

pub(super) fn section(html: &mut Html, manifest: &Manifest, selection: &Selection) {
    html.raw("<section id=\"errors\">\n<h2>Errors</h2>\n");
    if selection.errors.is_empty() {
        html.raw("<p class=\"lead\">There are no errors.</p>\n</section>\n");
        return;
    }
    html.raw("<p class=\"lead\">Samples without an answer or without a score. They count in no mean.</p>\n");
    html.raw("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Errors by class\"><table>");
    html.raw("<caption>Errors by class</caption>\n<thead><tr><th scope=\"col\">Class</th>");
    html.raw("<th scope=\"col\" class=\"n\">Samples</th><th scope=\"col\">Models</th>");
    html.raw("<th scope=\"col\">First example</th></tr></thead>\n<tbody>\n");
    for group in &selection.errors {
        html.raw("<tr><th scope=\"row\">").name(&group.class).raw("</th><td class=\"n bad\"><strong>");
        html.text(&count(group.count)).raw("</strong></td><td>");
        models(html, manifest, group);
        html.raw("</td><td class=\"example\">");
        example(html, selection, group);
        html.raw("</td></tr>\n");
    }
    if selection.other_errors > 0 {
        html.raw("<tr><th scope=\"row\">other classes</th><td class=\"n bad\"><strong>");
        html.text(&count(selection.other_errors)).raw("</strong></td><td></td><td></td></tr>\n");
    }
    html.raw("</tbody></table></div>\n</section>\n");
}

fn models(html: &mut Html, manifest: &Manifest, group: &ErrorGroup) {
    let hit = group.models.iter().zip(&manifest.models).filter(|(count, _)| **count > 0);
    for (at, (number, model)) in hit.enumerate() {
        html.raw(if at > 0 { ", " } else { "" });
        html.raw("<span class=\"nowrap\">").name(&model.id).raw(" ").text(&count(*number)).raw("</span>");
    }
}

fn example(html: &mut Html, selection: &Selection, group: &ErrorGroup) {
    let Some(sample) = &group.example else { return };
    if let Some((_, message)) = &sample.error {
        html.raw("<p>");
        clip(html, message);
        html.raw("</p>");
    }
    html.raw("<p class=\"quiet\">");
    if selection.shows(sample.outcome, sample.position) {
        html.raw("<a").attr("href", &format!("#{}", anchor(sample))).raw(">");
        clip(html, &sample.key);
        html.raw("</a>");
    } else {
        clip(html, &sample.key);
    }
    html.raw("</p>");
}
