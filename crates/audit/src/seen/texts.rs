//! Single texts: what prompts hold of the gold answer, and what answers say to the grader.

use proofmark_artefact::audit::{Evidence, Severity};

use super::{Lens, MOST_OF_ONE};
use crate::kept::{Reveal, finding};
use crate::look::{Grade, Plea, PleaKind, Sighting, Subject, Watch, pleas};
use crate::sample::Sample;

/// Pleas to the grader in a text; not those that the question or the gold answer holds itself.
pub(crate) fn pleas_of(reveal: Reveal, sample: &Sample, text: &str, place: &str) -> Vec<Evidence> {
    let own = |plea: &Plea| text.get(plea.offset..plea.offset.saturating_add(plea.length)).unwrap_or_default();
    let found = pleas(text).into_iter().filter(|plea| {
        let own = own(plea);
        !sample.question.contains(own) && !sample.golds().iter().any(|gold| gold.contains(own))
    });
    found
        .map(|plea| {
            // Nobody hides by chance what is said to a grader.
            let severity = if plea.is_hidden { Severity::Critical } else { Severity::Warn };
            let (name, sentence) = words_of(plea.kind);
            let message = format!("{sentence}: {}", reveal.text(sample, own(&plea), 120));
            let mut evidence = finding(severity, name, sample, message);
            evidence.place = Some(place.to_owned());
            evidence
        })
        .take(MOST_OF_ONE)
        .collect()
}

/// A name and a sentence for what a plea does.
fn words_of(kind: PleaKind) -> (&'static str, &'static str) {
    match kind {
        PleaKind::Override => ("override", "the text tells the grader to forget its instructions"),
        PleaKind::Demand => ("demand", "the text tells the grader what to say"),
        PleaKind::Address => ("address", "the text speaks to the grader"),
        PleaKind::Verdict => ("fake_verdict", "the text looks like a verdict"),
        PleaKind::RoleMarker => ("role_marker", "the text looks like the beginning of somebody else's message"),
        PleaKind::Comment => ("comment", "the text hides a comment"),
        PleaKind::Invisible => ("invisible", "the text holds characters that cannot be seen"),
    }
}

/// The gold answer in texts that the agent was given, each of them whole.
pub(crate) fn look_at_prompt(lens: &Lens<'_>, sample: &Sample, texts: &[&str], place: &str) -> Vec<Evidence> {
    let golds = sample.golds();
    if golds.is_empty() {
        return Vec::new();
    }
    let watch = watch_of(lens, sample, &golds);
    let sightings = texts.iter().flat_map(|text| watch.oracle(text));
    let found = sightings.map(|sighting| evidence_of(lens, sample, sighting.why.as_str(), &sighting, place));
    found.take(MOST_OF_ONE).collect()
}

/// The gold answer in the words that all prompts of a task have, where they call it the answer.
pub(crate) fn look_at_frame(lens: &Lens<'_>, sample: &Sample, texts: &[String], place: &str) -> Vec<Evidence> {
    let golds = sample.golds();
    let watch = watch_of(lens, sample, &golds);
    let sightings = texts.iter().flat_map(|text| watch.told(text));
    sightings.map(|sighting| evidence_of(lens, sample, sighting.why.as_str(), &sighting, place)).take(1).collect()
}

pub(super) fn watch_of(lens: &Lens<'_>, sample: &Sample, golds: &[String]) -> Watch {
    Watch::new(&Subject {
        gold: golds,
        question: &sample.question,
        task_id: &sample.item,
        choices: &sample.choices,
        shown: &[],
        marks: lens.marks,
    })
}

pub(super) fn evidence_of(lens: &Lens<'_>, sample: &Sample, name: &str, sighting: &Sighting, place: &str) -> Evidence {
    let severity = match sighting.grade {
        Grade::Critical => Severity::Critical,
        Grade::Information => Severity::Info,
    };
    let mut evidence = finding(severity, name, sample, sighting.why.sentence());
    evidence.gold = lens.reveal.gold(sample);
    evidence.place = Some(match sighting.form {
        Some(_) => format!("{place}, byte {}", sighting.offset),
        None => place.to_owned(),
    });
    evidence
}
