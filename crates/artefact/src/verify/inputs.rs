//! Rung 1: the inputs, as `verify-replay` checks them.

use std::collections::BTreeMap;
use std::path::Path;

use super::ladder::{Check, Climb, InputsSeen, Rung};
use crate::replay::{self, Answer, Line, Options, Status, Target, Where};
use crate::store::names;
use crate::witness::Sidecar;

/// What came of the first rung.
#[derive(Debug)]
pub struct Inputs {
    pub climb: Climb,
    /// Of `verify-replay`: it knows where the root is.
    pub outcome: replay::Outcome,
    /// For the next rungs. It may be long and is read once. `None` when it could not be read; this rung does not hold
    /// then.
    pub sidecar: Option<Sidecar>,
}

/// Checks the inputs.
pub fn climb_inputs(target: &Target, options: &Options) -> Inputs {
    if let Some(climb) = refuse_links(target) {
        return Inputs { climb, outcome: replay::Outcome::new(&target.shown), sidecar: None };
    }
    let (outcome, sidecar) = replay::verify_and_keep(target, options);
    Inputs { climb: climb_of(target, &outcome), outcome, sidecar }
}

/// The two files of a run directory are files: a link may lead to anything, and nothing of that is looked at.
fn refuse_links(target: &Target) -> Option<Climb> {
    let of_run = [(&target.sidecar, names::REPLAY), (&target.markdown, names::REPORT_MD)];
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let (_, name) = of_run.into_iter().find(|(path, name)| path.ends_with(name) && is_link(path))?;
    let mut climb = Climb::new(Rung::Inputs);
    let note = "this is a symbolic link, expected a file; it was not read";
    climb.push(Check::of(name, "kind of file", Status::Fail).note(note));
    Some(climb)
}

fn climb_of(target: &Target, outcome: &replay::Outcome) -> Climb {
    let mut climb = Climb::new(Rung::Inputs);
    let sidecar = name_of(&target.sidecar);
    if let Some(error) = &outcome.error {
        let hint = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        climb.push(Check::of(sidecar, "replay block", Status::Unchecked).note(format!("{}{hint}", error.message)));
        return climb;
    }
    for line in &outcome.lines {
        // That artefacts are left to others is no news here: they are the next rung.
        if line.r#where == Where::Block && line.field == "artifacts" {
            continue;
        }
        climb.push(check_of(line, target, &sidecar));
    }
    // What is open counts only where somebody asked for it, and that is for `verify-replay` to say.
    if climb.answer == Answer::CannotCheck && outcome.answer == Answer::Holds {
        climb.answer = Answer::Holds;
    }
    if outcome.answer == Answer::CannotCheck && climb.answer == Answer::Holds {
        climb.push(Check::of(sidecar, "inputs", Status::Unchecked).note("no input could be checked"));
    }
    let (all, open) = counted(&outcome.lines);
    if open > 0 {
        climb.inputs = if open == all { InputsSeen::None } else { InputsSeen::Some };
        let were = if all == 1 { "the only input".to_owned() } else { format!("{open} of {all} inputs") };
        climb.add_gap(format!("{were} could not be checked"));
    }
    if outcome.backfilled {
        climb.add_gap("the block was reconstructed after the run");
    }
    climb
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn check_of(line: &Line, target: &Target, sidecar: &str) -> Check {
    let (file, place) = match line.r#where {
        Where::Block => (Some(sidecar.to_owned()), ""),
        Where::Markdown => (Some(name_of(&target.markdown)), ""),
        Where::Worktree => (line.path.clone(), " in the work tree"),
        Where::Commit if line.field == "commit" => (None, ""),
        Where::Commit => (line.path.clone(), " at the commit"),
    };
    let mut note = line.note.clone();
    if line.status == Status::Fail && line.expected.is_some() {
        // Either of the two may be the one that was changed.
        let whose = format!("{sidecar} has the expected value");
        note = Some(note.map_or(whose.clone(), |note| format!("{note}; {whose}")));
    }
    let mode = line.mode.map(|mode| format!(" ({mode})")).unwrap_or_default();
    Check {
        actual: line.actual.clone(),
        check: format!("{}{mode}{place}", line.field),
        expected: line.expected.clone(),
        file,
        line: None,
        note,
        status: line.status,
    }
}

/// How many inputs there are, and how many of them were found nowhere.
fn counted(lines: &[Line]) -> (usize, usize) {
    let mut found: BTreeMap<&str, bool> = BTreeMap::new();
    for line in lines.iter().filter(|line| matches!(line.r#where, Where::Worktree | Where::Commit)) {
        // A commit that cannot be looked at is no input.
        if line.path.is_some() || line.expected.is_some() {
            *found.entry(&line.field).or_default() |= line.status == Status::Ok;
        }
    }
    (found.len(), found.values().filter(|found| !**found).count())
}
