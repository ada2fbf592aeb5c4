//! The run in a package: how far it can be trusted, and whether its score was earned. `seal` and `verify` both ask here, so
//! that a stranger gets what the sealer got.

use std::path::Path;

use proofmark_artefact::audit::Report;
use proofmark_artefact::package::Inputs;
use proofmark_artefact::package::names::{INPUTS, RUN};
use proofmark_artefact::replay::{Answer, At, Options, Status, Target};
use proofmark_artefact::store::{RunDir, names};
use proofmark_artefact::verify::artefacts::{Whole, climb_artefacts, suite_root};
use proofmark_artefact::verify::inputs::climb_inputs;
use proofmark_artefact::verify::{Check, Climb, Demand, InputsSeen, Outcome, Rung};
use proofmark_artefact::witness::Sidecar;
use proofmark_audit::{AuditError, audit_run};
use proofmark_run::ladder::Commands;
use proofmark_run::ladder::scores::climb_scores;
use proofmark_run::ready::Ready;
use proofmark_run::rescore::{self, FindingKind, Rescored};
use proofmark_trust::policy::Trust;

/// Loads the suite of a run again: the run directory, where its paths start, and where files of the hub are. No model is
/// built to be asked.
pub type Load<'a> = dyn Fn(&Path, &Path, &Path) -> Result<Ready, String> + 'a;

/// How to look at the run in a package.
pub struct Look<'a> {
    pub folder: &'a Path,
    /// Where the inputs are, when they are not in the package or others are to be used.
    pub root: Option<&'a Path>,
    /// Where files of the hub are, when they are not in the package.
    pub cache: Option<&'a Path>,
    pub inputs: Inputs,
    pub load: &'a Load<'a>,
    pub version: &'a str,
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
}

/// What stands where the folder of a package stood, so that a verdict says nothing of the machine.
const HERE: &str = "PACKAGE";

/// Climbs up to rung 3.
pub fn climb(look: &Look<'_>, commands: Commands, trust: &Trust, demand: Demand) -> Outcome {
    let mut outcome = Outcome::new(RUN);
    climb_all(look, commands, trust, demand, &mut outcome);
    let mut outcome = outcome.finish(demand);
    for climb in &mut outcome.rungs {
        for check in &mut climb.checks {
            for text in [&mut check.note, &mut check.actual, &mut check.expected].into_iter().flatten() {
                *text = without_place(text, look.folder);
            }
        }
    }
    outcome
}

fn climb_all(look: &Look<'_>, commands: Commands, trust: &Trust, demand: Demand, outcome: &mut Outcome) {
    let run = look.folder.join(RUN);
    let own = look.folder.join(INPUTS);
    let root = look.root.or((look.inputs == Inputs::Included).then_some(own.as_path()));
    let (first, sidecar) = first_rung(look, &run, root);
    if !outcome.climb(first) || demand.rung() < Rung::Artefacts {
        return;
    }
    let Some(sidecar) = sidecar else { return };
    let second = climb_artefacts(&run, &sidecar, Whole::Demanded, look.version, look.progress);
    let holds = outcome.climb(second);
    if holds {
        outcome.run_id = RunDir::open(&run).ok().map(|run| run.manifest().run_id);
    }
    if !holds || demand.rung() < Rung::Scores {
        return;
    }
    let Some(root) = root else {
        let why = "the inputs are not in the package; say where they are with `--root DIR`";
        outcome.climb(Climb::open(Rung::Scores, "evidence", why));
        return;
    };
    let Some(root) = suite_root(&run, &sidecar, root) else {
        outcome.climb(Climb::open(Rung::Scores, "evidence", "it is not known where the suite's files are"));
        return;
    };
    outcome.climb(match (look.load)(&run, &root, look.folder) {
        Ok(ready) => climb_scores(ready, &run, commands, trust, look.version, &|_, _| {}),
        Err(why) => Climb::open(Rung::Scores, "evidence", why),
    });
}

/// Rung 1. Inputs that nobody has leave it open without stopping the climb: the signature covers what the run says of them.
fn first_rung(look: &Look<'_>, run: &Path, root: Option<&Path>) -> (Climb, Option<Sidecar>) {
    let sidecar = run.join(names::REPLAY);
    let Some(root) = root else {
        return match Sidecar::read(&sidecar) {
            Ok(sidecar) => {
                let mut climb = Climb::new(Rung::Inputs);
                climb.push(Check::new("inputs", Status::Skip).note("they are not in the package"));
                climb.inputs = InputsSeen::None;
                climb.add_gap("whether the inputs are those that the run was fed: they are not in the package");
                (climb, Some(sidecar))
            }
            Err(error) => (Climb::open(Rung::Inputs, "replay block", error.to_string()), None),
        };
    };
    // A run without files of its own, with its rows inside the suite, leaves no folder.
    let empty = tempfile::tempdir();
    let root = match (&empty, root.is_dir()) {
        (Ok(empty), false) if look.root.is_none() => empty.path(),
        _ => root,
    };
    let target = Target { shown: RUN.to_owned(), sidecar, markdown: run.join(names::REPORT_MD) };
    let options = Options {
        at: Some(At::Worktree),
        root: Some(root.to_owned()),
        cwd: look.folder.to_owned(),
        cache: Some(look.cache.unwrap_or(look.folder).to_owned()),
    };
    let mut inputs = climb_inputs(&target, &options);
    if look.root.is_none() {
        for check in &mut inputs.climb.checks {
            check.check = check.check.replace(" in the work tree", " in the package");
        }
    }
    let is_open = inputs.climb.answer == Answer::CannotCheck && inputs.outcome.error.is_none();
    if is_open && inputs.sidecar.is_some() {
        for check in &mut inputs.climb.checks {
            if check.status == Status::Unchecked {
                check.status = Status::Skip;
            }
        }
        inputs.climb.answer = Answer::Holds;
        if inputs.climb.gaps.is_empty() {
            inputs.climb.add_gap("no input could be checked");
            inputs.climb.inputs = InputsSeen::None;
        }
    }
    (inputs.climb, inputs.sidecar)
}

/// A text in which nothing is said of where the package lies.
pub(crate) fn without_place(text: &str, folder: &Path) -> String {
    let mut out = text.to_owned();
    for place in [folder.canonicalize().ok(), Some(folder.to_owned())].into_iter().flatten() {
        let place = place.display().to_string();
        if place.len() > 1 {
            out = out.replace(&place, HERE);
        }
    }
    out
}

/// Audits the run with what is in the package and nothing else: no trust file, no program, no other inputs. Anybody gets
/// the same report.
pub fn audit(look: &Look<'_>) -> Result<Report, AuditError> {
    let options = proofmark_audit::Options::default();
    audit_run(&look.folder.join(RUN), &options, score_again(look).as_ref())
}

/// Audits the run against the dataset's own answers.
pub fn audit_with_gold(look: &Look<'_>, gold: &Path) -> Result<Report, AuditError> {
    let options = proofmark_audit::Options { gold: Some(gold.to_owned()), ..proofmark_audit::Options::default() };
    audit_run(&look.folder.join(RUN), &options, score_again(look).as_ref())
}

fn score_again(look: &Look<'_>) -> Option<Rescored> {
    if look.inputs == Inputs::LeftOut {
        return None;
    }
    let run = look.folder.join(RUN);
    let sidecar = Sidecar::read(&run.join(names::REPLAY)).ok()?;
    let root = suite_root(&run, &sidecar, &look.folder.join(INPUTS))?;
    let ready = (look.load)(&run, &root, look.folder).ok()?;
    let options = rescore::Options { run_commands: false };
    let rescored = rescore::check(ready, &run, options, &Trust::default(), &|_, _| {}).ok()?;
    let is_other = rescored.findings.iter().any(|finding| finding.kind == FindingKind::OtherSuite);
    (!is_other).then_some(rescored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_says_nothing_of_the_folder_it_is_about() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("p");
        std::fs::create_dir(&folder).unwrap();
        let text = format!("cannot read `{}/run/x`", folder.display());
        assert_eq!(without_place(&text, &folder), "cannot read `PACKAGE/run/x`");
        assert_eq!(without_place("no place", &folder), "no place");
        assert_eq!(without_place("a/b", Path::new("/")), "a/b");
    }
}
