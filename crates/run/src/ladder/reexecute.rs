//! Rung 4: the harness gives the same bytes from the recorded responses.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use proofmark_artefact::manifest::{AssetRole, Manifest, Platform};
use proofmark_artefact::replay::Status;
use proofmark_artefact::store::{OnExisting, RunDir, names};
use proofmark_artefact::verify::{Check, Climb, Rung};
use proofmark_model::cassette::store::Store;
use tokio::sync::watch;

use super::same::first_difference;
use super::{ALLOW, Commands, chain, command_scorer};
use crate::budget::Budget;
use crate::collect::{Observer, Progress};
use crate::execute::{self, Options, RunError};
use crate::judge::NoShelf;
use crate::ready::Ready;
use crate::witness::Invocation;

/// How to run again.
pub struct Reexecution<'a> {
    /// The cassette that answers; `None` where every model is offline.
    pub cassette: Option<&'a Path>,
    pub commands: Commands,
    /// An empty folder.
    pub scratch: &'a Path,
    /// Of this program.
    pub version: &'a str,
    /// Turns true when the run should stop where it is.
    pub stop: watch::Receiver<bool>,
}

const CHECK: &str = "the run made again";

/// Runs the suite again and compares plane 1. The models of `ready` must be such that they ask nobody.
pub fn climb_reexecution(mut ready: Ready, dir: &Path, how: Reexecution<'_>) -> Climb {
    let open = |why: String| Climb::open(Rung::Reexecution, CHECK, why);
    let manifest = match RunDir::open(dir) {
        Ok(run) => run.manifest().clone(),
        Err(error) => return open(chain(&error)),
    };
    if let Some(why) = hindrance(&ready, &manifest, &how) {
        return open(why);
    }
    if let Err(why) = ready.use_recorded_tools(&manifest, dir) {
        return open(why);
    }
    if let Err(error) = ready.use_recorded_judgments(dir) {
        return open(chain(&error));
    }
    let mut climb = Climb::new(Rung::Reexecution);
    for (at, recorded) in manifest.models.iter().enumerate() {
        // List prices change with the version; those of the run are what its costs were computed with.
        if ready.plan.models[at].price.is_none() && ready.prices[at] != recorded.price {
            ready.prices[at].clone_from(&recorded.price);
        }
    }
    if manifest.harness.version != how.version {
        let note = format!("version {} made the run, this is {}", manifest.harness.version, how.version);
        climb.push(Check::of(names::MANIFEST, "harness.version", Status::Skip).note(note));
    }
    let again = how.scratch.join("run");
    let options = Options {
        run_dir: again.clone(),
        on_existing: OnExisting::Refuse,
        concurrency: None,
        budget: Budget::default(),
        skip_report: !manifest.artifacts.contains_key(names::REPORT_HTML),
        version: manifest.harness.version.clone(),
        platform: manifest.platform.clone().unwrap_or_else(|| Platform { arch: String::new(), os: String::new() }),
        invocation: Invocation { cwd: how.scratch.to_owned(), ..Invocation::default() },
        shelf: Arc::new(NoShelf),
        stop: how.stop,
    };
    if let Err(error) = execute::run(ready, options, Box::new(Silent)) {
        report_failure(&error, how.cassette, &mut climb);
        return climb;
    }
    compare(dir, &again, &mut climb);
    climb
}

/// Why it is not even tried.
fn hindrance(ready: &Ready, manifest: &Manifest, how: &Reexecution<'_>) -> Option<String> {
    if manifest.assets.iter().any(|asset| asset.role == AssetRole::Outputs) {
        return Some("the answers were given and no model was asked: there is nothing to execute again".to_owned());
    }
    if ready.run_id != manifest.run_id {
        return Some("the suite, a dataset or an asset is not the one of this run".to_owned());
    }
    if let Some(scorer) = command_scorer(&ready.plan).filter(|_| how.commands == Commands::Refuse) {
        return Some(format!("scorer `{scorer}` starts a program; {ALLOW}"));
    }
    if ready.has_judges() && manifest.status_counts.get("error").is_some_and(|count| *count > 0) {
        return Some("samples have errors, and a judge that failed then cannot be made to fail again".to_owned());
    }
    let asked = ready.plan.models.iter().find(|model| model.provider() != "offline");
    match (asked, how.cassette) {
        (Some(model), None) => Some(format!(
            "model `{}` was asked and there is no cassette to answer for it; name one with `--cassette DIR`",
            model.id
        )),
        _ => None,
    }
}

/// A run that did not come to its end: a damaged cassette is a finding, a missing entry is missing evidence.
fn report_failure(error: &RunError, cassette: Option<&Path>, climb: &mut Climb) {
    let damaged = match (error, cassette) {
        (RunError::Stopped { .. }, Some(cassette)) => damaged(cassette),
        _ => Vec::new(),
    };
    if damaged.is_empty() {
        climb.push(Check::new(CHECK, Status::Unchecked).note(chain(error)));
    }
    for (file, why) in damaged {
        climb.push(Check::of(file, "entry of the cassette", Status::Fail).note(why));
    }
}

/// Entries of a cassette that cannot be used, by their place in it.
fn damaged(cassette: &Path) -> Vec<(String, String)> {
    let Ok(store) = Store::open(cassette) else { return Vec::new() };
    let Ok(listing) = store.list() else { return Vec::new() };
    let bad = listing.entries.into_iter().filter_map(|digest| {
        let error = store.load(digest).err()?;
        let path = store.path(digest);
        let place = path.strip_prefix(cassette).unwrap_or(&path).display().to_string();
        Some((place, chain(&error)))
    });
    bad.collect()
}

/// Every file of plane 1, byte by byte, and the pictures by their names, which are their digests.
fn compare(dir: &Path, again: &Path, climb: &mut Climb) {
    for name in names::PLANE_1 {
        let is_there = [dir, again].map(|folder| folder.join(name).is_file());
        let check = |status| Check::of(name, "comes out byte for byte", status);
        match is_there {
            [false, false] => {}
            [true, false] => climb.push(check(Status::Fail).note("the run made again does not have it")),
            [false, true] => climb.push(check(Status::Fail).note("only the run made again has it")),
            [true, true] => climb.push(match first_difference(&dir.join(name), &again.join(name)) {
                Ok(None) => check(Status::Ok),
                Ok(Some(at)) => check(Status::Fail)
                    .line(Some(at.line))
                    .note(format!("it differs from byte {} on, in line {}", at.byte, at.line)),
                Err(error) => check(Status::Unchecked).note(error.to_string()),
            }),
        }
    }
    match [pictures(dir), pictures(again)] {
        [Ok(recorded), Ok(made)] => {
            for name in recorded.symmetric_difference(&made) {
                let note = if made.contains(name) { "only the run made again has it" } else { "it was not made again" };
                climb.push(Check::of(format!("{}/{name}", names::OUTPUTS), "made again", Status::Fail).note(note));
            }
            if !recorded.is_empty() && recorded == made {
                let note = proofmark_artefact::number::counted(made.len() as u64, "picture", "pictures");
                climb.push(Check::of(names::OUTPUTS, "made again", Status::Ok).note(note));
            }
        }
        [Err(error), _] | [_, Err(error)] => {
            climb.push(Check::of(names::OUTPUTS, "made again", Status::Unchecked).note(error.to_string()));
        }
    }
}

fn pictures(dir: &Path) -> io::Result<BTreeSet<String>> {
    let entries = match fs::read_dir(dir.join(names::OUTPUTS)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(error),
    };
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Nobody watches.
struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: Progress) {}
}
