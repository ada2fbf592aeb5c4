//! The sidecar against what it speaks of: manifest, summary, telemetry, `report.md`.
//!
//! No digest pins the sidecar. What it says stands somewhere else too, most of it in two places, and every place is asked.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use proofmark_canon::{Digest, Value, json};

use super::inventory::Inventory;
use super::ladder::Check;
use crate::manifest::{AssetEntry, AssetRole, DatasetEntry, Manifest};
use crate::replay::{Status, markdown::MAX_MARKDOWN};
use crate::store::{names, read_bounded};
use crate::summary::Summary;
use crate::text::excerpt;
use crate::validate::{Small, validate_small};
use crate::witness::block::{HubFile, Input, ModelEntry, Role, Start};
use crate::witness::requests::RequestIds;
use crate::witness::sidecar::{IdList, counts, each_id};
use crate::witness::{Block, HubAttachments, build, markdown};

/// A block, and the lists of request ids that are not in it.
#[derive(Debug)]
pub(super) struct Loaded<'a> {
    pub(super) block: Block,
    pub(super) ids: &'a [IdList],
}

/// Checks the small files by themselves and the sidecar against all of them. Returns the manifest too.
pub(super) fn check(
    dir: &Path,
    loaded: &Loaded<'_>,
    inventory: &Inventory,
    version: &str,
) -> (Option<Manifest>, Vec<Check>) {
    let block = &loaded.block;
    let mut checks = Vec::new();
    let is_file = |name: &str| inventory.entries.get(name).is_some_and(std::fs::Metadata::is_file);
    let mut settle = |file: &str, check: &str, result: Result<(), String>| {
        checks.push(match result {
            Ok(()) => Check::of(file, check, Status::Ok),
            Err(why) => Check::of(file, check, Status::Fail).note(why),
        });
    };
    settle(names::REPLAY, "agrees with itself", agrees_with_itself(block));
    let mut manifest = None;
    let mut summary = None;
    if is_file(names::MANIFEST) {
        match validate_small(dir) {
            Err(error) => settle(names::MANIFEST, "readable", Err(chain(&error))),
            Ok(small) => {
                let Small { findings, .. } = &small;
                if findings.is_empty() {
                    settle(names::MANIFEST, "fits together and gives the run id", Ok(()));
                }
                for finding in findings {
                    settle(&finding.file, finding.code, Err(finding.message.clone()));
                }
                manifest = small.manifest;
                summary = small.summary;
            }
        }
    }
    if let Some(manifest) = &manifest {
        settle(names::REPLAY, "says what manifest.json says", agrees_with_manifest(block, manifest));
    }
    if let (Some(manifest), Some(summary)) = (&manifest, &summary) {
        settle(names::REPLAY, "says what summary.json says", agrees_with_summary(block, manifest, summary));
    }
    let telemetry = is_file(names::TELEMETRY).then(|| dir.join(names::TELEMETRY));
    match request_ids(dir, loaded, telemetry.as_deref()) {
        Ok(Some(count)) => {
            let note = format!("{count} in the order of the records");
            checks.push(Check::of(names::REPLAY, "request ids of telemetry.jsonl", Status::Ok).note(note));
        }
        Ok(None) => {}
        Err(Ids::Differ(why)) => {
            checks.push(Check::of(names::REPLAY, "request ids of telemetry.jsonl", Status::Fail).note(why));
        }
        Err(Ids::Unreadable(why)) => {
            checks.push(Check::of(names::TELEMETRY, "request ids", Status::Fail).note(why));
        }
    }
    if let Some(summary) = summary.filter(|_| is_file(names::REPORT_MD)) {
        checks.push(derived_report(dir, loaded, &summary, version));
    }
    (manifest, checks)
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// What stands twice in a block is the same both times.
fn agrees_with_itself(block: &Block) -> Result<(), String> {
    let suite = block.inputs.first().filter(|first| first.role == Role::Suite);
    let suite = suite.ok_or("`inputs` does not begin with the suite")?;
    if (suite.hash, suite.mode, &suite.path) != (block.suite.hash, block.suite.mode, &block.suite.path) {
        return Err("`suite` is not the first of `inputs`".to_owned());
    }
    if block.submittable != block.not_submittable.is_empty() {
        return Err("`submittable` and `not_submittable` contradict each other".to_owned());
    }
    if let Some(first) = block.invocations.first() {
        let top = Start {
            argv: block.argv.clone(),
            git_dirty: block.git_dirty,
            invoked_at: block.invoked_at.clone(),
            proofmark_version: block.proofmark_version.clone(),
            repo_commit: block.repo_commit.clone(),
        };
        if *first != top {
            return Err("the first of `invocations` is not the start that the block names".to_owned());
        }
        if !block.resumed {
            return Err("there are `invocations`, but `resumed` is not true".to_owned());
        }
    }
    for (at, input) in block.inputs.iter().enumerate().filter(|(_, input)| !input.files.is_empty()) {
        let bytes = json::to_vec(&input.files).map_err(|error| error.to_string())?;
        if Digest::of(&bytes) != input.hash {
            return Err(format!("the files of `inputs[{at}]` do not give its hash"));
        }
    }
    Ok(())
}

fn agrees_with_manifest(block: &Block, manifest: &Manifest) -> Result<(), String> {
    let differs = |field: &str| Err(format!("`{field}` is not what {} says", names::MANIFEST));
    if block.run_id != Some(manifest.run_id) {
        return differs("run_id");
    }
    let (ours, theirs) = (&block.conditions, &manifest.conditions);
    if (&ours.effective, &ours.requested) != (&theirs.effective, &theirs.requested) {
        return differs("conditions");
    }
    let (ours, theirs) = (block.sampling, &manifest.sampling);
    if (ours.n, ours.seed, ours.temperature) != (theirs.n, Some(theirs.seed), theirs.temperature) {
        return differs("sampling");
    }
    let ours = block.models.iter().map(|model| (&model.id, &model.model, &model.asked, &model.provider));
    let theirs = manifest.models.iter().chain(&manifest.judges);
    if !ours.eq(theirs.map(|model| (&model.id, &model.model, &model.asked, &model.provider))) {
        return differs("models");
    }
    if !manifest.evidence.recorded && block.submittable {
        return differs("submittable");
    }
    if block.invocations.is_empty() && !block.resumed && block.proofmark_version != manifest.harness.version {
        return differs("proofmark_version");
    }
    if let Some(at) = first_other_input(block, manifest) {
        return differs(&format!("inputs[{at}]"));
    }
    Ok(())
}

/// The first input that does not follow from the manifest. Behind those that do there may be programs, which it does not
/// list.
fn first_other_input(block: &Block, manifest: &Manifest) -> Option<usize> {
    let prefix = prefix(block, manifest);
    let path_of = |path: &str| if prefix.is_empty() { path.to_owned() } else { format!("{prefix}/{path}") };
    let hub_files = |digest: Digest| {
        let files = block.inputs.iter().find(|input| input.hash == digest && !input.files.is_empty());
        files.map(|input| input.files.clone()).unwrap_or_default()
    };
    let hub: Vec<_> = manifest
        .datasets
        .iter()
        .map(|dataset| if dataset.repo.is_some() { hub_files(dataset.digest) } else { Vec::new() })
        .collect();
    let outputs = block.inputs.iter().find(|input| input.role == Role::Outputs).and_then(|input| input.path.clone());
    let attached = hub_attachments(block, manifest);
    let listed = (manifest.datasets.as_slice(), manifest.assets.as_slice());
    let expected = build::inputs(block.kind, &block.suite, &path_of, outputs, listed, (&hub, &attached), &[]);
    let is_program = |input: &Input| {
        matches!(input.role, Role::Model | Role::Scorer) && input.path.is_some() && input.repo.is_none()
    };
    (0..expected.len().max(block.inputs.len())).find(|at| match (expected.get(*at), block.inputs.get(*at)) {
        (Some(expected), Some(found)) => expected != found,
        (None, Some(more)) => !is_program(more),
        (_, None) => true,
    })
}

/// What the block says of attachments from the hub, as far as the manifest has the dataset and every one of the files.
fn hub_attachments(block: &Block, manifest: &Manifest) -> Vec<HubAttachments> {
    let assets = manifest.assets.iter().filter(|asset| asset.role == AssetRole::Attachment);
    let known: BTreeSet<(&str, String)> = assets.map(|asset| (asset.path.as_str(), asset.digest.hex())).collect();
    let said = block.inputs.iter().filter(|input| input.role == Role::Attachment).filter_map(|input| {
        let repo = input.repo.clone()?;
        let is_dataset = |dataset: &DatasetEntry| dataset.repo == input.repo && dataset.revision == input.revision;
        let is_file = |file: &HubFile| known.contains(&(file.path.as_str(), file.sha256.clone()));
        let is_known = manifest.datasets.iter().any(is_dataset) && input.files.iter().all(is_file);
        is_known.then(|| HubAttachments { repo, revision: input.revision.clone(), files: input.files.clone() })
    });
    said.collect()
}

/// Where the suite's own paths start below the root of the block: the two differ when a suite stands beside its files.
pub(super) fn prefix(block: &Block, manifest: &Manifest) -> String {
    let of_datasets = manifest.datasets.iter().filter_map(|dataset| Some((dataset.path.as_deref()?, dataset.digest)));
    let attached = hub_attachments(block, manifest);
    let of_hub = build::attached_from_hub(&attached);
    let is_of_suite = |asset: &&AssetEntry| {
        asset.role != AssetRole::Outputs && !of_hub.contains(&(asset.path.as_str(), asset.digest.hex()))
    };
    let of_assets = manifest.assets.iter().filter(is_of_suite).map(|asset| (asset.path.as_str(), asset.digest));
    let Some((path, digest)) = of_datasets.chain(of_assets).next() else { return String::new() };
    let found = block.inputs.iter().filter(|input| input.hash == digest).find_map(|input| {
        let before = input.path.as_deref()?.strip_suffix(path)?;
        if before.is_empty() { Some("") } else { before.strip_suffix('/') }
    });
    found.unwrap_or_default().to_owned()
}

fn agrees_with_summary(block: &Block, manifest: &Manifest, summary: &Summary) -> Result<(), String> {
    if summary.run_id != manifest.run_id {
        return Err(format!("{} belongs to another run", names::SUMMARY));
    }
    for model in &block.models {
        let names = summary.answered_by.iter().filter(|row| row.model == model.id).map(|row| &row.name);
        if !model.answered_by.iter().eq(names) {
            let id = excerpt(&model.id, 80);
            return Err(format!("`answered_by` of model `{id}` is not what {} says", names::SUMMARY));
        }
    }
    Ok(())
}

/// Why request ids do not hold.
enum Ids {
    Differ(String),
    Unreadable(String),
}

/// Holds the request ids of every model against the telemetry. Returns how many there are; `None` without telemetry.
fn request_ids(dir: &Path, loaded: &Loaded<'_>, telemetry: Option<&Path>) -> Result<Option<u64>, Ids> {
    let models = &loaded.block.models;
    let counts = counts(loaded.ids, models.len());
    let Some(path) = telemetry else {
        let some = models.iter().zip(&counts).find(|(_, count)| **count > 0);
        return match some {
            None => Ok(None),
            Some((model, _)) => Err(Ids::Differ(format!(
                "model `{}` has request ids, but there is no {}",
                excerpt(&model.id, 80),
                names::TELEMETRY
            ))),
        };
    };
    let unreadable = |why: String| Ids::Unreadable(why);
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let ids = RequestIds::read(file).map_err(|error| unreadable(chain(&error)))?;
    let digests = ids.digests().map_err(|error| unreadable(error.to_string()))?;
    for (model, listed) in models.iter().zip(&counts) {
        let counted = ids.count(&model.id);
        if *listed != counted {
            return Err(Ids::Differ(format!(
                "model `{}` has {listed} request ids, but {} has {counted} answered calls with one",
                excerpt(&model.id, 80),
                names::TELEMETRY
            )));
        }
    }
    // Digests say whether ids differ; which one does is looked for then.
    for list in loaded.ids.iter().filter(|list| list.count > 0) {
        let Some(model) = models.get(list.model) else { continue };
        if digests.get(model.id.as_str()) != Some(&list.digest) {
            return Err(first_difference(dir, list.model, model, &ids));
        }
    }
    let known: BTreeSet<&str> = models.iter().map(|model| model.id.as_str()).collect();
    match ids.models().iter().find(|name| !known.contains(name.as_str())) {
        Some(other) => {
            Err(unreadable(format!("it has calls of `{}`, which is no model of the run", excerpt(other, 80))))
        }
        None => Ok(Some(counts.iter().sum())),
    }
}

/// Reads the sidecar once more for the first request id of a model that is not the telemetry's.
fn first_difference(dir: &Path, at: usize, model: &ModelEntry, ids: &RequestIds) -> Ids {
    let mut number = 0u64;
    let mut differs = None;
    let look = |found: &[u8]| json::parse(found).map_or_else(|_| String::new(), |id: Value| id.to_plain_text());
    let mut walk = match ids.walk(&model.id) {
        Ok(walk) => walk,
        Err(error) => return Ids::Unreadable(error.to_string()),
    };
    let again = each_id(&dir.join(names::REPLAY), |of, listed| {
        if of != at {
            return Ok(());
        }
        number += 1;
        let found = walk.next()?.unwrap_or_default();
        if found == listed {
            return Ok(());
        }
        differs = Some(format!(
            "request id {number} of model `{}` is `{}`, but {} has `{}` there",
            excerpt(&model.id, 80),
            excerpt(&look(listed), 120),
            names::TELEMETRY,
            excerpt(&look(found), 120)
        ));
        Err(io::Error::other("one is enough"))
    });
    match (differs, again) {
        (Some(why), _) => Ids::Differ(why),
        (None, Err(error)) => Ids::Differ(chain(&error)),
        (None, Ok(_)) => Ids::Differ("the file was changed while it was looked at".to_owned()),
    }
}

/// Renders `report.md` again. A version that renders otherwise can only say so.
fn derived_report(dir: &Path, loaded: &Loaded<'_>, summary: &Summary, version: &str) -> Check {
    let block = &loaded.block;
    let check = |status| Check::of(names::REPORT_MD, "follows from the sidecar and the summary", status);
    let bytes = match read_bounded(&dir.join(names::REPORT_MD), MAX_MARKDOWN) {
        Ok(bytes) => bytes,
        Err(error) => return check(Status::Unchecked).note(chain(&error)),
    };
    let rendered = match markdown::render_counted(block, &counts(loaded.ids, block.models.len()), summary) {
        Ok(rendered) => rendered,
        Err(error) => return check(Status::Fail).note(error.to_string()),
    };
    if rendered.as_bytes() == bytes {
        return check(Status::Ok);
    }
    let made_by = block.invocations.last().map_or(&block.proofmark_version, |last| &last.proofmark_version);
    if made_by != version {
        let note = format!("version {} wrote it, and {version} writes it otherwise", excerpt(made_by, 40));
        return check(Status::Skip).note(note);
    }
    let line =
        1 + bytes.iter().zip(rendered.as_bytes()).take_while(|(a, b)| a == b).filter(|(a, _)| **a == b'\n').count();
    check(Status::Fail).line(Some(line as u64)).note(format!(
        "line {line} is not what {} and {} give",
        names::REPLAY,
        names::SUMMARY
    ))
}
