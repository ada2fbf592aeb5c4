//! What a run at a commit would have read.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proofmark_artefact::backfill::snapshot::Entry;
use proofmark_artefact::backfill::{Missing, Snapshot};
use proofmark_artefact::manifest::{AssetEntry, DatasetEntry, HashMode, Manifest};
use proofmark_artefact::path::RelPath;
use proofmark_artefact::replay::hash;
use proofmark_artefact::suite::assets::{AssetRole, mode_of, named};
use proofmark_artefact::suite::plan::{DatasetPlan, Plan, TaskPlan};
use proofmark_artefact::witness::block::{HubFile, Kind, Role};
use proofmark_canon::Digest;
use proofmark_canon::json::{self, ShapeError};

use super::error::BackfillError;
use crate::attach::{has_references, names_files};
use crate::dataset::{DataContext, HasFile, HubContext, prepare};
use crate::witness::{command_words, files_of};

/// What a run reads, besides its suite.
pub(super) struct Eaten {
    pub(super) datasets: Vec<DatasetEntry>,
    pub(super) hub_files: Vec<Vec<HubFile>>,
    pub(super) assets: Vec<AssetEntry>,
    pub(super) programs: Vec<(Role, String, Digest)>,
}

/// The files of one commit, and where the suite's paths start in it.
pub(super) struct AtCommit {
    pub(super) short: String,
    /// Shared with the reader of rows, which asks whether files are there.
    pub(super) snapshot: Arc<Mutex<Snapshot>>,
    /// From the top, empty for the top itself.
    pub(super) root: String,
}

impl AtCommit {
    pub(super) fn lock(&self) -> MutexGuard<'_, Snapshot> {
        // Nothing is left half done when a thread panics in there.
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a file by its path from the top.
    pub(super) fn read(&self, path: &str) -> Result<hash::Content, Missing> {
        self.lock().read(path)
    }

    fn under_root(&self, path: &str) -> String {
        join(&self.root, path)
    }

    /// Hashes everything that a run of the plan would read.
    pub(super) fn eat(&self, plan: &Plan, kind: Kind, hub: Option<&HubContext>) -> Result<Eaten, BackfillError> {
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
    pub(super) fn find_root(&self, suite: &RelPath, plan: &Plan) -> Result<String, BackfillError> {
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
    pub(super) fn manifest(&self, path: &str) -> Option<Manifest> {
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

/// The part before the last `/`; empty for what stands at the top.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(super) fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}
