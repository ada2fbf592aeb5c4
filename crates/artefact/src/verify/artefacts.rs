//! Rung 2: no byte of planes 1 and 2 changed since the run.
//!
//! The sidecar pins every other file of the run by its digest, and the manifest pins plane 1 once more. The sidecar itself
//! is pinned by nothing; it is held against everything that it speaks of.
//!
//! Large files are hashed here and nothing else: what takes a look into records and trajectories is rung 3, so that this
//! rung runs as fast as the processors hash. Only `telemetry.jsonl` is read through, while others are hashed, because
//! request ids have no other witness.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proofmark_canon::json;
use proofmark_canon::{Digest, Value};

use super::hashing::{Hashed, Seen, hash_all};
use super::inventory::{Inventory, what_is};
use super::ladder::{Check, Climb, Rung};
use super::witness::{self, Loaded};
use crate::manifest::Manifest;
use crate::path::RelPath;
use crate::replay::{Status, Target};
use crate::store::{OutputName, RunDir, names};
use crate::text::excerpt;
use crate::witness::{Block, Sidecar};

/// The name of the check of a file's bytes.
const DIGEST: &str = "digest";

/// Whether all of a run must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// A run directory was named: what is missing was taken away.
    Demanded,
    /// A report was named, which may stand alone.
    NotDemanded,
}

/// The folder of the run that a sidecar belongs to; `None` for a report that was put elsewhere.
pub fn run_dir_of(target: &Target) -> Option<&Path> {
    let name = target.sidecar.file_name()?;
    let folder = target.sidecar.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    (name == names::REPLAY).then_some(folder)
}

/// Checks every file of a run directory against its pins, and the pins against each other. The sidecar is what rung 1
/// read. `version` is that of this program, which can render what it wrote itself. `progress` is told how many bytes are
/// hashed, of how many.
pub fn climb_artefacts(
    dir: &Path,
    sidecar: &Sidecar,
    whole: Whole,
    version: &str,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Climb {
    let mut climb = Climb::new(Rung::Artefacts);
    let inventory = match Inventory::read(dir) {
        Ok(inventory) => inventory,
        Err(error) => return Climb::open(Rung::Artefacts, "run directory", format!("it cannot be listed: {error}")),
    };
    if whole == Whole::NotDemanded && !inventory.has_run() {
        return Climb::open(Rung::Artefacts, "run directory", "the files of the run are not beside the report");
    }
    inventory.report(&mut climb);
    let (loaded, unknown) = match load_sidecar(sidecar, &inventory, version) {
        Ok(loaded) => loaded,
        Err(why) => {
            climb.push(Check::of(names::REPLAY, "replay block", Status::Fail).note(why));
            return climb;
        }
    };
    let block = &loaded.block;
    climb.settle(names::REPLAY, "canonical and of its schema", Ok(()));
    if unknown == Unknown::Some {
        let note =
            format!("version {} wrote fields that {version} does not know", excerpt(&block.proofmark_version, 40));
        climb.push(Check::of(names::REPLAY, "all fields known", Status::Skip).note(note));
        climb.add_gap(format!("fields of {} that this version does not know were not checked", names::REPLAY));
    }
    if block.backfilled {
        climb.push(
            Check::of(names::REPLAY, "artifacts", Status::Unchecked)
                .note("the block was reconstructed after the run, so it cannot say what the run left"),
        );
        return climb;
    }
    let files = look(dir, block, &inventory, &mut climb);
    let (names_of, seen): (Vec<&String>, Vec<Seen>) = files.into_iter().unzip();
    let meanwhile = || witness::check(dir, &loaded, &inventory, version);
    let (hashed, (manifest, consistency)) = hash_all(&seen, progress, meanwhile);
    compare(block, manifest.as_ref(), &names_of, &hashed, &mut climb);
    for check in consistency {
        if check.status == Status::Skip {
            let file = check.file.as_deref().unwrap_or_default();
            climb.add_gap(format!("whether {file} {} could not be checked", check.check));
        }
        climb.push(check);
    }
    climb
}

/// Where the suite of a run has its files, given the root of the sidecar; `None` when the two files do not say.
pub fn suite_root(dir: &Path, sidecar: &Sidecar, root: &Path) -> Option<PathBuf> {
    let inventory = Inventory::read(dir).ok()?;
    // Unknown fields do not matter here.
    let (loaded, _) = load_sidecar(sidecar, &inventory, "").ok()?;
    let run = RunDir::open(dir).ok()?;
    let prefix = witness::prefix(&loaded.block, run.manifest());
    // A recorded path never leaves the root.
    let prefix = if prefix.is_empty() { None } else { Some(prefix.parse::<RelPath>().ok()?) };
    Some(prefix.map_or_else(|| root.to_owned(), |prefix| prefix.under(root)))
}

/// Whether a sidecar has fields that we do not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    None,
    Some,
}

/// Reads the block of a sidecar, which must be written as we write it. Only another version may have written more.
fn load_sidecar<'a>(
    sidecar: &'a Sidecar,
    inventory: &Inventory,
    version: &str,
) -> Result<(Loaded<'a>, Unknown), String> {
    match inventory.entries.get(names::REPLAY) {
        Some(metadata) if metadata.is_file() => {}
        Some(metadata) => return Err(format!("this is {}, expected a file; it was not read", what_is(metadata))),
        None => return Err("the file is not there".to_owned()),
    }
    sidecar.check_canonical().map_err(|why| format!("{why}; expected canonical JSON and one line end"))?;
    let body = sidecar.text().strip_suffix(b"\n").unwrap_or_default();
    // Positions are told, contents are not: the message may quote them.
    let block: Block = serde_json::from_slice(body).map_err(|error| {
        let column = sidecar.offset(error.column().saturating_sub(1)) + 1;
        format!("the block does not have the fields and types of its schema (column {column})")
    })?;
    let loaded = |block| Loaded { block, ids: sidecar.lists() };
    let ours = json::to_vec(&block).map_err(|error| error.to_string())?;
    if ours == body {
        return Ok((loaded(block), Unknown::None));
    }
    if block.proofmark_version == version {
        return Err("the block has other fields than its schema".to_owned());
    }
    let [ours, theirs] = [ours.as_slice(), body].map(json::parse);
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) if holds(&theirs, &ours) => Ok((loaded(block), Unknown::Some)),
        _ => Err("the block lacks fields of its schema".to_owned()),
    }
}

/// Whether everything of a value stands in another one, which may have more members.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(name, value)| whole.get(name).is_some_and(|found| holds(found, value)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| holds(whole, part))
        }
        _ => whole == part,
    }
}

/// Looks at every name that is pinned or is there, and returns the files to hash.
fn look<'a>(dir: &Path, block: &'a Block, inventory: &'a Inventory, climb: &mut Climb) -> BTreeMap<&'a String, Seen> {
    let mut files = BTreeMap::new();
    for name in block.artifacts.keys() {
        if !may_be_pinned(name) {
            let shown = excerpt(name, 200);
            let check = Check::of(names::REPLAY, "artifacts", Status::Fail);
            climb.push(check.note(format!("it pins `{shown}`, which is no file of a run; it was not read")));
            continue;
        }
        match inventory.entries.get(name) {
            None => climb.push(
                Check::of(name, DIGEST, Status::Fail)
                    .note(format!("the file is not there, but {} pins it", names::REPLAY)),
            ),
            Some(metadata) if metadata.is_file() => {
                files.insert(name, Seen { path: dir.join(name), metadata: metadata.clone() });
            }
            Some(metadata) => climb.push(
                Check::of(name, DIGEST, Status::Fail)
                    .note(format!("this is {}, expected a file; it was not read", what_is(metadata))),
            ),
        }
    }
    for name in inventory.entries.keys() {
        if *name != names::REPLAY && !block.artifacts.contains_key(name) {
            climb.push(Check::of(name, DIGEST, Status::Fail).note("the file is there, but nothing pins it"));
        }
    }
    for name in REQUIRED {
        if !block.artifacts.contains_key(name) && !inventory.entries.contains_key(name) {
            climb.push(Check::of(name, DIGEST, Status::Fail).note("the file is not there, but every run has it"));
        }
    }
    files
}

/// What every run has, besides the sidecar.
const REQUIRED: [&str; 5] = [names::RECORDS, names::CONFIG, names::SUMMARY, names::MANIFEST, names::REPORT_MD];

/// Whether a name is one that a sidecar may pin: a file of planes 1 and 2, or a picture.
fn may_be_pinned(name: &str) -> bool {
    let of_plane = names::PLANE_1.contains(&name) || (names::PLANE_2.contains(&name) && name != names::REPLAY);
    let picture = || name.strip_prefix(names::OUTPUTS)?.strip_prefix('/').and_then(OutputName::parse);
    of_plane || picture().is_some()
}

/// Holds digests against the pins of the sidecar, of the manifest, and of pictures' own names.
fn compare(block: &Block, manifest: Option<&Manifest>, names_of: &[&String], hashed: &[Hashed], climb: &mut Climb) {
    let mut pictures = 0u64;
    for (name, hashed) in names_of.iter().zip(hashed) {
        let (digest, bytes) = match hashed {
            Hashed::Whole { digest, bytes } => (*digest, *bytes),
            Hashed::Replaced => {
                climb.push(Check::of(*name, DIGEST, Status::Fail).note("it was replaced while it was looked at"));
                continue;
            }
            Hashed::Failed(error) => {
                climb.push(Check::of(*name, DIGEST, Status::Unchecked).note(format!("it cannot be read: {error}")));
                continue;
            }
        };
        let of_sidecar = block.artifacts.get(*name).map(|pin| (*pin, names::REPLAY));
        let of_manifest =
            manifest.and_then(|manifest| manifest.artifacts.get(*name)).map(|pin| (*pin, names::MANIFEST));
        let picture = name.strip_prefix(names::OUTPUTS).and_then(|rest| OutputName::parse(rest.strip_prefix('/')?));
        let of_name = picture.map(|picture| (picture.digest, "its name"));
        let wrong = [of_sidecar, of_manifest, of_name].into_iter().flatten().find(|(pin, _)| *pin != digest);
        match wrong {
            Some((pin, who)) => {
                climb.push(digest_check(name, Status::Fail, digest, pin).note(format!("{who} pins it")))
            }
            None if picture.is_some() => pictures += 1,
            None => {
                let bytes = crate::number::counted(bytes, "byte", "bytes");
                climb.push(Check { expected: None, ..digest_check(name, Status::Ok, digest, digest) }.note(bytes));
            }
        }
    }
    if pictures > 0 {
        let note = crate::number::counted(pictures, "picture has", "pictures have");
        climb.push(Check::of(names::OUTPUTS, DIGEST, Status::Ok).note(format!("{note} the digest that names it")));
    }
    // The two lists of pins must agree, also about files that are gone.
    if let Some(manifest) = manifest {
        for (name, pin) in &manifest.artifacts {
            if block.artifacts.get(name) != Some(pin) {
                let shown = excerpt(name, 200);
                let theirs = block.artifacts.get(name).map_or_else(|| "nothing".to_owned(), ToString::to_string);
                let check = Check::of(names::REPLAY, "artifacts", Status::Fail).values(pin.to_string(), theirs);
                climb.push(check.note(format!("{} and {} pin `{shown}` differently", names::MANIFEST, names::REPLAY)));
            }
        }
    }
}

fn digest_check(name: &str, status: Status, actual: Digest, expected: Digest) -> Check {
    Check::of(name, DIGEST, status).values(expected.to_string(), actual.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_a_run_may_be_pinned() {
        let picture = format!("outputs/{}.png", Digest::of(b"x").hex());
        for name in ["records.jsonl", "manifest.json", "telemetry.jsonl", "report.md", "report.html", &picture] {
            assert!(may_be_pinned(name), "{name}");
        }
        let up = format!("outputs/../{picture}");
        for name in
            ["report.replay.json", "/etc/passwd", "../x", "", "outputs", "outputs/", "outputs/x.png", &up, "lock"]
        {
            assert!(!may_be_pinned(name), "{name}");
        }
    }

    #[test]
    fn a_sidecar_of_another_name_belongs_to_no_run_directory() {
        let target = |sidecar: &str| Target { shown: String::new(), sidecar: sidecar.into(), markdown: "x".into() };
        assert_eq!(run_dir_of(&target("a/report.replay.json")), Some(Path::new("a")));
        assert_eq!(run_dir_of(&target("report.replay.json")), Some(Path::new(".")));
        assert_eq!(run_dir_of(&target("a/2026.replay.json")), None);
    }
}
