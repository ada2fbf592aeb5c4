//! The witness of a report that predates it: what a run at a commit would have eaten.
//!
//! The suite, and every file it names, is read out of the commit. Nothing is asked of a model, nothing is fetched, and
//! nothing in the work tree counts but the report itself.
//!
//! [`inputs`] follows a suite to what it reads; [`error`] says why that cannot be done.

mod error;
mod inputs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use proofmark_artefact::backfill::sidecar::Report;
use proofmark_artefact::backfill::snapshot::Entry;
use proofmark_artefact::backfill::{Missing, Reconstructed, Snapshot, build, history, work_tree};
use proofmark_artefact::manifest::Manifest;
use proofmark_artefact::path::RelPath;
use proofmark_artefact::store::{OutputName, names};
use proofmark_artefact::suite::load::SuiteFile;
use proofmark_artefact::suite::resolve::Overrides;
use proofmark_artefact::witness::block::{Block, Kind};
use proofmark_artefact::witness::place::{Ground, Surroundings};
use proofmark_canon::Digest;
use proofmark_canon::json;

use crate::dataset::HubContext;
use crate::witness::real_path;

pub use error::BackfillError;
use inputs::{AtCommit, Eaten, folder_of, join};

/// What to backfill.
#[derive(Debug, Clone)]
pub struct Request {
    pub report: PathBuf,
    /// The suite by the path that it had at the commit.
    pub suite: PathBuf,
    /// The commit that the run was made at; `None` for the one that added the report.
    pub commit: Option<String>,
    /// Where the suite's paths start; its own folder when `None`.
    pub root: Option<PathBuf>,
    /// `None` for what the suite's models make.
    pub kind: Option<Kind>,
    pub overrides: Overrides,
    pub cwd: PathBuf,
    /// Where files of hub datasets may be. The hub itself is never asked.
    pub hub: Option<HubContext>,
}

/// A block that was reconstructed.
#[derive(Debug)]
pub struct Backfilled {
    pub block: Block,
    /// What goes to the sidecar.
    pub bytes: Vec<u8>,
    pub sidecar: PathBuf,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

/// Reconstructs the block of a report. Nothing is written.
pub fn backfill(request: &Request) -> Result<Backfilled, BackfillError> {
    let report = Report::look(&request.report)?;
    let scene = Scene::new(report, request)?;
    let mut notes = Vec::new();
    let block = match &request.commit {
        Some(revision) => scene.at(revision)?,
        None => scene.at_report(&mut notes)?,
    };
    if block.kind == Kind::Critique {
        notes.push("which answers were scored is not known: they are not among the inputs".to_owned());
    }
    if scene.committed_report()? != Some(scene.report.digest) {
        notes.push(format!("`{}` is not as it is at HEAD; it is pinned as it is here", scene.report.name));
    }
    let mut bytes = json::to_vec(&block)?;
    bytes.push(b'\n');
    Ok(Backfilled { block, bytes, sidecar: scene.report.sidecar.clone(), notes })
}

/// Where everything is.
struct Scene<'a> {
    request: &'a Request,
    report: Report,
    top: PathBuf,
    /// Of the report, from the top.
    report_path: String,
    suite: RelPath,
    /// From the top, empty for the top itself; `None` for the suite's folder.
    root: Option<String>,
}

impl<'a> Scene<'a> {
    fn new(report: Report, request: &'a Request) -> Result<Self, BackfillError> {
        let top = work_tree(&report.folder).ok_or_else(|| BackfillError::NoRepository(request.report.clone()))?;
        let inside = |path: &Path, typed: &Path| {
            let text = path.strip_prefix(&top).ok().and_then(Path::to_str).map(ToOwned::to_owned);
            text.ok_or_else(|| BackfillError::Elsewhere { path: typed.to_owned(), top: top.clone() })
        };
        let report_path = inside(&report.folder.join(&report.name), &request.report)?;
        let suite = inside(&real_parent(&request.suite, &request.cwd), &request.suite)?;
        let elsewhere = |_| BackfillError::Elsewhere { path: request.suite.clone(), top: top.clone() };
        let suite = suite.parse().map_err(elsewhere)?;
        let root = request.root.as_ref().map(|root| inside(&real_path(root, &request.cwd), root)).transpose()?;
        Ok(Self { request, report_path, suite, root, report, top: top.clone() })
    }

    /// The block at the commit that added the report, when nothing that came later speaks against it.
    fn at_report(&self, notes: &mut Vec<String>) -> Result<Block, BackfillError> {
        let history = history::of_file(&self.top, &self.report_path)?;
        let block = self.at(&history.added)?;
        if history.changed == history.added {
            return Ok(block);
        }
        // An edit of words leaves the inputs alone. New results under an old name need not.
        let what = match self.at(&history.changed) {
            Ok(later) => difference(&block, &later),
            Err(error) => Some(error.to_string()),
        };
        let short = |commit: &str| commit.chars().take(12).collect::<String>();
        let (added, changed) = (short(&history.added), short(&history.changed));
        match what {
            Some(what) => Err(BackfillError::Ambiguous { added, changed, what }),
            None => {
                notes.push(format!("the report was changed later, at commit {changed}; its inputs were not"));
                Ok(block)
            }
        }
    }

    fn at(&self, revision: &str) -> Result<Block, BackfillError> {
        let no_commit = || BackfillError::NoCommit(revision.to_owned());
        let snapshot = Snapshot::open(&self.top, revision)?.ok_or_else(no_commit)?;
        let commit = snapshot.commit().clone();
        let mut at = AtCommit { short: commit.short(), snapshot: Arc::new(Mutex::new(snapshot)), root: String::new() };
        let bad_suite = |source| BackfillError::Suite { commit: commit.short(), source };
        let content = at.read(self.suite.as_str())?;
        let bytes =
            content.bytes.ok_or_else(|| Missing::TooLarge { commit: commit.short(), path: self.suite.to_string() })?;
        let file = SuiteFile::parse(Path::new(self.suite.as_str()), &bytes).map_err(bad_suite)?;
        let plan = file.resolve(&self.request.overrides).map_err(bad_suite)?;
        at.root = match &self.root {
            Some(root) => root.clone(),
            None if file.is_resolved() => at.find_root(&self.suite, &plan)?,
            None => folder_of(self.suite.as_str()).to_owned(),
        };
        let makes_images = plan.models.iter().any(|model| model.makes_images());
        let kind = self.request.kind.unwrap_or(if makes_images { Kind::EvalImage } else { Kind::EvalLive });
        let eaten = at.eat(&plan, kind, self.request.hub.as_ref())?;
        let (manifest, artifacts) = self.artifacts(&at)?;
        let ground = Ground::new(Surroundings {
            outputs: None,
            root: self.top.join(&at.root),
            suite: self.top.join(self.suite.as_str()),
            run_dir: self.report.folder.clone(),
            // Where the command is given must not show.
            cwd: self.top.clone(),
            home: None,
            repository: Some(self.top.clone()),
        });
        let Eaten { datasets, hub_files, assets, programs } = eaten;
        Ok(build(Reconstructed {
            commit: &commit,
            kind,
            plan: &plan,
            ground: &ground,
            suite: file.digest(),
            datasets,
            hub_files,
            assets,
            programs,
            effective: manifest.map(|manifest| manifest.conditions.effective),
            artifacts,
        }))
    }

    /// The report, and where it stands in a run directory that is committed with it, the files of the run.
    fn artifacts(&self, at: &AtCommit) -> Result<(Option<Manifest>, BTreeMap<String, Digest>), BackfillError> {
        let mut pins = BTreeMap::from([(self.report.name.clone(), self.report.digest)]);
        let folder = folder_of(&self.report_path);
        let manifest = at.manifest(&join(folder, names::MANIFEST)).filter(|_| self.report.name == names::REPORT_MD);
        if manifest.is_none() {
            return Ok((None, pins));
        }
        let own = names::PLANE_1.into_iter().chain([names::TELEMETRY]).map(ToOwned::to_owned);
        let pictures = at.lock().list(&join(folder, names::OUTPUTS))?;
        let pictures = pictures.iter().filter_map(|name| OutputName::parse(name)).map(|name| name.to_string());
        for name in own.chain(pictures) {
            let path = join(folder, &name);
            if matches!(at.lock().find(&path)?, Entry::File(_)) {
                pins.insert(name, at.read(&path)?.raw);
            }
        }
        Ok((manifest, pins))
    }

    /// The digest of the report at `HEAD`; `None` when it is not there.
    fn committed_report(&self) -> Result<Option<Digest>, BackfillError> {
        let Some(mut head) = Snapshot::open(&self.top, "HEAD")? else { return Ok(None) };
        Ok(head.read(&self.report_path).ok().map(|content| content.raw))
    }
}

/// The first thing that two blocks say differently about what was run.
fn difference(a: &Block, b: &Block) -> Option<String> {
    if a.suite != b.suite {
        return Some("the suite".to_owned());
    }
    // Both lists are in the same order: where they part, one has an input that the other has not.
    let parted = a.inputs.iter().zip(&b.inputs).find(|(a, b)| a != b).map(|(a, _)| a);
    let longer = || a.inputs.get(b.inputs.len()).or_else(|| b.inputs.get(a.inputs.len()));
    if let Some(input) = parted.or_else(longer) {
        return Some(format!("`{}`", input.path.as_deref().unwrap_or_default()));
    }
    (a.artifacts != b.artifacts || a.conditions != b.conditions).then(|| "the files of the run".to_owned())
}

/// A path whose folder is real. Its last part is not followed: at the commit it may have been something else.
fn real_parent(path: &Path, cwd: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real_path(parent, cwd).join(name),
        _ => real_path(path, cwd),
    }
}
