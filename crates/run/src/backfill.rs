//! The witness of a report that predates it: what a run at a commit would have eaten.
//!
//! The suite, and every file it names, is read out of the commit. Nothing is asked of a model, nothing is fetched, and
//! nothing in the work tree counts but the report itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proofmark_artefact::backfill::history::{self, NoHistory};
use proofmark_artefact::backfill::sidecar::{Report, SidecarError};
use proofmark_artefact::backfill::snapshot::Entry;
use proofmark_artefact::backfill::{Missing, Reconstructed, Snapshot, build};
use proofmark_artefact::manifest::{AssetEntry, DatasetEntry, HashMode, Manifest};
use proofmark_artefact::path::RelPath;
use proofmark_artefact::replay::{GitError, hash};
use proofmark_artefact::store::{OutputName, names};
use proofmark_artefact::suite::assets::{AssetRole, mode_of, named};
use proofmark_artefact::suite::load::{SuiteError, SuiteFile};
use proofmark_artefact::suite::plan::{DatasetPlan, Plan, TaskPlan};
use proofmark_artefact::suite::resolve::Overrides;
use proofmark_artefact::witness::block::{Block, HubFile, Kind, Role};
use proofmark_artefact::witness::place::{Ground, Surroundings};
use proofmark_canon::json::{self, EncodeError};
use proofmark_canon::{Digest, json::ShapeError};

use crate::attach::{has_references, names_files};
use crate::dataset::{DataContext, DatasetError, HasFile, HubContext, prepare};
use crate::witness::{command_words, files_of, real_path};

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

/// A block cannot be reconstructed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackfillError {
    #[error(transparent)]
    Sidecar(#[from] SidecarError),
    #[error("`{0}` is in no git work tree")]
    NoRepository(PathBuf),
    #[error("`{path}` is not in the repository of the report, `{top}`")]
    Elsewhere { path: PathBuf, top: PathBuf },
    #[error(transparent)]
    History(#[from] NoHistory),
    #[error("there is no commit `{0}` in the repository")]
    NoCommit(String),
    #[error("the report was added at commit {added} and changed at commit {changed}, and the inputs differ: {what}")]
    Ambiguous { added: String, changed: String, what: String },
    #[error(transparent)]
    Missing(#[from] Missing),
    #[error("the suite at commit {commit} cannot be used")]
    Suite { commit: String, source: SuiteError },
    #[error("`{path}` at commit {commit} is not valid YAML or JSON: {problem}")]
    Malformed { path: String, commit: String, problem: String },
    #[error("no folder above `{suite}` holds the files that it names at commit {commit}")]
    NoRoot { suite: String, commit: String },
    #[error("a dataset at commit {commit} cannot be read")]
    Dataset { commit: String, source: DatasetError },
    #[error("the suite says that `{path}` has the digest {expected}, and at commit {commit} it is {found}")]
    Pinned { path: String, commit: String, expected: Digest, found: Digest },
    #[error("the suite at commit {commit} does not pin `{repo}` to a commit of the hub: what was read cannot be known")]
    NotPinned { repo: String, commit: String },
    #[error("the files of `{repo}` are not known here")]
    Hub { repo: String, source: DatasetError },
    #[error("the block has no canonical form")]
    Encode(#[from] EncodeError),
    #[error("cannot keep a copy of a dataset")]
    Scratch(#[source] io::Error),
}

impl From<GitError> for BackfillError {
    fn from(error: GitError) -> Self {
        Self::Missing(error.into())
    }
}

impl BackfillError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Sidecar(error) => error.hint()?,
            Self::NoRepository(_) => "the inputs of a report are read out of git's history: work inside its repository",
            Self::Elsewhere { .. } => {
                "report, suite and inputs must be of one repository, so that one commit pins them"
            }
            Self::History(error) => error.hint(),
            Self::NoCommit(_) => "name one that `git log` shows; in a shallow clone, fetch the rest first",
            Self::Ambiguous { added, changed, .. } => {
                return Some(format!("say which it was: `--commit {added}` or `--commit {changed}`"));
            }
            Self::Missing(error) => error.hint()?,
            Self::NoRoot { .. } => "say where the suite's files are: `--root DIR`",
            Self::NotPinned { .. } => "only a dataset with `revision:` and a full commit can be backfilled",
            Self::Hub { source, .. } if source.is_of_surroundings() => {
                "the hub is not asked: fill the cache first, for example with `proofmark validate SUITE`"
            }
            Self::Hub { source, .. } | Self::Dataset { source, .. } => return source.hint(),
            Self::Pinned { .. } => "the run cannot have been made at that commit: name another with `--commit REV`",
            Self::Suite { .. } | Self::Malformed { .. } | Self::Encode(_) | Self::Scratch(_) => return None,
        };
        Some(text.to_owned())
    }
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
        let top = proofmark_artefact::backfill::work_tree(&report.folder)
            .ok_or_else(|| BackfillError::NoRepository(request.report.clone()))?;
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

/// What a run reads, besides its suite.
struct Eaten {
    datasets: Vec<DatasetEntry>,
    hub_files: Vec<Vec<HubFile>>,
    assets: Vec<AssetEntry>,
    programs: Vec<(Role, String, Digest)>,
}

/// The files of one commit, and where the suite's paths start in it.
struct AtCommit {
    short: String,
    /// Shared with the reader of rows, which asks whether files are there.
    snapshot: Arc<Mutex<Snapshot>>,
    /// From the top, empty for the top itself.
    root: String,
}

impl AtCommit {
    fn lock(&self) -> MutexGuard<'_, Snapshot> {
        // Nothing is left half done when a thread panics in there.
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a file by its path from the top.
    fn read(&self, path: &str) -> Result<hash::Content, Missing> {
        self.lock().read(path)
    }

    fn under_root(&self, path: &str) -> String {
        join(&self.root, path)
    }

    /// Hashes everything that a run of the plan would read.
    fn eat(&self, plan: &Plan, kind: Kind, hub: Option<&HubContext>) -> Result<Eaten, BackfillError> {
        let scratch = tempfile::tempdir().map_err(BackfillError::Scratch)?;
        let (look, root) = (Arc::clone(&self.snapshot), self.root.clone());
        let has_file = move |path: &RelPath| {
            let mut snapshot = look.lock().unwrap_or_else(PoisonError::into_inner);
            // What cannot be told, and what is a link, is said when it is read.
            !matches!(snapshot.find(&join(&root, path.as_str())), Ok(Entry::Nothing | Entry::Folder))
        };
        let context = DataContext {
            strict: plan.determinism.strict_serialization,
            hub: hub.map(|hub| HubContext { offline: true, ..hub.clone() }),
            has_file: Some(HasFile(Arc::new(has_file))),
            ..DataContext::new(scratch.path())
        };
        let (mut datasets, mut hub_files) = (Vec::new(), Vec::new());
        let mut attached = BTreeSet::new();
        for task in &plan.tasks {
            let (digest, files) = match &task.dataset.repo {
                Some(repo) => self.of_hub(repo, task, &context)?,
                None => (self.of_commit(task, &context, &mut attached)?, Vec::new()),
            };
            datasets.push(entry(&task.id, &task.dataset, digest));
            hub_files.push(files);
        }
        let mut assets = Vec::new();
        for path in attached {
            assets.push(self.asset(AssetRole::Attachment, &path)?);
        }
        let named: BTreeSet<(AssetRole, RelPath)> = named(plan).into_iter().collect();
        for (role, path) in named {
            // Answers that were there already were not asked for with a brief.
            if kind != Kind::Critique || role != AssetRole::Brief {
                assets.push(self.asset(role, &path)?);
            }
        }
        let mut programs = Vec::new();
        for (role, path) in command_words(plan) {
            let full = self.under_root(path.as_str());
            // A word that only looks like a path is no file of the suite.
            if !matches!(self.lock().find(&full)?, Entry::Nothing | Entry::Folder) {
                programs.push((role, path.to_string(), self.read(&full)?.raw));
            }
        }
        Ok(Eaten { datasets, hub_files, assets, programs })
    }

    fn asset(&self, role: AssetRole, path: &RelPath) -> Result<AssetEntry, BackfillError> {
        let content = self.read(&self.under_root(path.as_str()))?;
        let mode = mode_of(role, path);
        let digest = match mode {
            HashMode::Raw => content.raw,
            HashMode::Structured => {
                let canonical = content.structured().map_err(|error| BackfillError::Malformed {
                    path: path.to_string(),
                    commit: self.short.clone(),
                    problem: error.to_string(),
                })?;
                Digest::of(&canonical)
            }
        };
        Ok(AssetEntry { digest, mode, path: path.to_string(), role })
    }

    /// Hashes a dataset of the commit, and where its rows name files, reads them for these.
    fn of_commit(
        &self,
        task: &TaskPlan,
        context: &DataContext,
        attached: &mut BTreeSet<RelPath>,
    ) -> Result<Digest, BackfillError> {
        let dataset = &task.dataset;
        let bad = |source| BackfillError::Dataset { commit: self.short.clone(), source };
        let path = match &dataset.path {
            Some(path) if !names_files(task) => {
                let digest = self.read(&self.under_root(path.as_str()))?.raw;
                return self.pinned(dataset, digest);
            }
            path => path.as_ref(),
        };
        if let Some(path) = path {
            self.copy(path, &path.under(&context.root))?;
        } else if !names_files(task) {
            // Rows inside the suite are pinned with it.
            return Ok(Digest::of(b""));
        }
        let prepared = prepare(dataset, context).map_err(bad)?;
        for item in prepared.items().map_err(bad)? {
            let item = item.map_err(bad)?;
            attached.extend(item.files.into_iter().map(|file| file.path));
            let reference = item.expected.as_str().filter(|_| has_references(task)).and_then(|path| path.parse().ok());
            let reference: Option<RelPath> = reference;
            if let Some(path) = reference {
                // The scorer itself says what is wrong with one that is not there.
                if !matches!(self.lock().find(&self.under_root(path.as_str()))?, Entry::Nothing | Entry::Folder) {
                    attached.insert(path);
                }
            }
        }
        Ok(prepared.digest)
    }

    fn pinned(&self, dataset: &DatasetPlan, found: Digest) -> Result<Digest, BackfillError> {
        match dataset.dataset_hash.filter(|expected| *expected != found) {
            None => Ok(found),
            Some(expected) => Err(BackfillError::Pinned {
                path: dataset.path.as_ref().map(ToString::to_string).unwrap_or_default(),
                commit: self.short.clone(),
                expected,
                found,
            }),
        }
    }

    fn copy(&self, path: &RelPath, to: &Path) -> Result<(), BackfillError> {
        if to.exists() {
            // Another task has the same rows.
            return Ok(());
        }
        fs::create_dir_all(to.parent().unwrap_or(to)).map_err(BackfillError::Scratch)?;
        let file = File::create_new(to).map_err(BackfillError::Scratch)?;
        self.lock().copy(&self.under_root(path.as_str()), file)?;
        Ok(())
    }

    /// The digest of a dataset of the hub, whose files must be in the cache.
    fn of_hub(
        &self,
        repo: &str,
        task: &TaskPlan,
        context: &DataContext,
    ) -> Result<(Digest, Vec<HubFile>), BackfillError> {
        let is_commit = |text: &str| text.len() == 40 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        // What a branch is today is not what it was.
        if !task.dataset.revision.as_deref().is_some_and(is_commit) {
            return Err(BackfillError::NotPinned { repo: repo.to_owned(), commit: self.short.clone() });
        }
        let unknown = |source| BackfillError::Hub { repo: repo.to_owned(), source };
        let prepared = prepare(&task.dataset, context).map_err(unknown)?;
        Ok((prepared.digest, files_of(repo, &prepared)))
    }

    /// The nearest folder at or above a suite's own that has every file it names.
    fn find_root(&self, suite: &RelPath, plan: &Plan) -> Result<String, BackfillError> {
        let data = plan.tasks.iter().filter_map(|task| task.dataset.path.clone());
        let files: Vec<RelPath> = data.chain(named(plan).into_iter().map(|(_, path)| path)).collect();
        let mut root = suite.as_str();
        while !root.is_empty() {
            root = folder_of(root);
            let mut has_all = true;
            for path in &files {
                has_all &= matches!(self.lock().find(&join(root, path.as_str()))?, Entry::File(_));
            }
            if has_all {
                return Ok(root.to_owned());
            }
        }
        Err(BackfillError::NoRoot { suite: suite.to_string(), commit: self.short.clone() })
    }

    /// A manifest of ours, when there is one.
    fn manifest(&self, path: &str) -> Option<Manifest> {
        let bytes = self.read(path).ok()?.bytes?;
        let shaped: Result<Manifest, ShapeError> = json::from_value(&json::parse(&bytes).ok()?);
        shaped.ok()
    }
}

/// What an input of the manifest needs; nobody counts rows here.
fn entry(task: &str, dataset: &DatasetPlan, digest: Digest) -> DatasetEntry {
    DatasetEntry {
        digest,
        format: String::new(),
        path: dataset.path.as_ref().map(ToString::to_string),
        repo: dataset.repo.clone(),
        revision: dataset.revision.clone(),
        rows: 0,
        rows_skipped: 0,
        split: dataset.split.clone(),
        task: task.to_owned(),
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

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}
