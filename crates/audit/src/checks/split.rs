//! AUD-7: which split and revision was asked, and whether that is what it is said to be.

use std::io;

use proofmark_artefact::audit::{Coverage, Evidence, Severity};
use proofmark_artefact::suite::gaia;
use proofmark_artefact::text::excerpt;
use proofmark_canon::Digest;

use super::{Checking, Outcome, Scene, Subject};
use crate::kept::finding_of_all;
use crate::sample::{Disclosure, TaskFacts};

/// By task, whether results hold gold answers.
#[derive(Default)]
pub(super) struct Split(Vec<bool>);

impl Checking for Split {
    fn take(&mut self, scene: &Scene<'_>, subject: &Subject<'_>) -> io::Result<()> {
        self.0.resize(scene.facts.tasks.len(), false);
        if let Some(has_gold) = self.0.get_mut(subject.sample.task) {
            *has_gold |= subject.sample.has_gold();
        }
        Ok(())
    }

    fn finish(self: Box<Self>, scene: &Scene<'_>) -> io::Result<Outcome> {
        let of = scene.facts.tasks.len() as u64;
        let mut outcome = Outcome { coverage: Coverage { of, seen: of }, ..Outcome::default() };
        let gold = scene.samples.gold();
        for (at, task) in scene.facts.tasks.iter().enumerate() {
            let given = gold.map(|gold| gold.digest).filter(|_| of == 1);
            outcome.kept.extend(look_at(task, self.0.get(at).copied().unwrap_or_default(), given));
            // A dataset that is given here is the one that it is.
            if task.needs_revision && task.revision.is_none() && task.digest.is_none() && given.is_none() {
                let message = format!("{}the revision of the dataset is not recorded", of_task(task));
                outcome.kept.push(finding_of_all(Severity::Warn, "revision_not_recorded", message));
                let gap = format!("{}neither the dataset's revision nor its digest is recorded", of_task(task));
                outcome.gaps.push(gap);
            }
        }
        if let Some(gold) = gold
            && !(0..scene.facts.tasks.len()).any(|at| scene.samples.gold_of(at).is_some())
        {
            let message = format!("no dataset of the run has the digest of the given one, {}", gold.digest);
            outcome.kept.push(finding_of_all(Severity::Critical, "dataset_differs", message));
        }
        Ok(outcome)
    }
}

fn look_at(task: &TaskFacts, has_gold: bool, given: Option<Digest>) -> Vec<Evidence> {
    let mut found = Vec::new();
    let mut add = |severity, name: &str, message: String| {
        found.push(finding_of_all(severity, name, format!("{}{message}", of_task(task))));
    };
    match &task.split {
        Disclosure::Missing if task.needs_split => {
            add(Severity::Warn, "split_not_recorded", "the split is not recorded".to_owned());
        }
        Disclosure::Malformed(what) => {
            add(Severity::Warn, "split_not_a_name", format!("the split is {what}, expected its name"));
        }
        Disclosure::Given(split) => {
            let is_hidden = is_held_out_name(split);
            if is_hidden && has_gold {
                let message = format!(
                    "the split is said to be `{}`, whose gold answers nobody has, but the results hold gold answers",
                    excerpt(split, 40)
                );
                add(Severity::Critical, "split_contradicted", message);
            }
            if let Some(place) = task.held_out.as_ref().filter(|_| !is_hidden) {
                let message = format!(
                    "`{}` presents the results as held out, but the split is `{}`, whose answers are public",
                    excerpt(place, 60),
                    excerpt(split, 40)
                );
                add(Severity::Critical, "presented_as_held_out", message);
            }
        }
        Disclosure::Missing => {}
    }
    if let (Some(recorded), Some(given)) = (task.digest, given)
        && recorded != given
    {
        let message = format!("digest of the dataset is {recorded}, but the one given has {given}");
        add(Severity::Critical, "dataset_differs", message);
    }
    found
}

/// Whether a split of this name is one whose answers are kept back.
fn is_held_out_name(split: &str) -> bool {
    let plain: String = split.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    plain == gaia::HIDDEN_SPLIT || matches!(plain.as_str(), "heldout" | "hidden" | "private")
}

fn of_task(task: &TaskFacts) -> String {
    if task.id.is_empty() { String::new() } else { format!("task `{}`: ", excerpt(&task.id, 60)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_is_named_and_is_what_it_is_said_to_be() {
        let named = |split: &str| Disclosure::Given(split.to_owned());
        let task = TaskFacts { needs_split: true, split: named("validation"), ..TaskFacts::default() };
        let digest = Digest::of(b"a");
        for (task, has_gold, given, want) in [
            (task.clone(), true, None, vec![]),
            (TaskFacts { split: Disclosure::Missing, ..task.clone() }, true, None, vec!["split_not_recorded"]),
            (TaskFacts { split: Disclosure::Missing, needs_split: false, ..task.clone() }, true, None, vec![]),
            (
                TaskFacts { split: Disclosure::Malformed("a number `7`".into()), ..task.clone() },
                true,
                None,
                vec!["split_not_a_name"],
            ),
            (TaskFacts { split: named("Test"), ..task.clone() }, true, None, vec!["split_contradicted"]),
            (TaskFacts { split: named("test"), ..task.clone() }, false, None, vec![]),
            (
                TaskFacts { held_out: Some("metadata.held_out".into()), ..task.clone() },
                true,
                None,
                vec!["presented_as_held_out"],
            ),
            (TaskFacts { digest: Some(digest), ..task.clone() }, true, Some(digest), vec![]),
            (TaskFacts { digest: Some(digest), ..task }, true, Some(Digest::of(b"b")), vec!["dataset_differs"]),
        ] {
            let found = look_at(&task, has_gold, given);
            let names: Vec<&str> = found.iter().map(|evidence| evidence.finding.as_str()).collect();
            assert_eq!(names, want, "{task:?}");
        }
    }
}
