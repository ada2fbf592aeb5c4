//! Files that rows name: hashed before anything is asked, sent with the last message of the user.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proofmark_artefact::manifest::{AssetEntry, AssetRole, HashMode};
use proofmark_artefact::path::RelPath;
use proofmark_artefact::record::{Attachment, Message, Role};
use proofmark_artefact::store::{OpenError, read_bounded};
use proofmark_artefact::suite::plan::{ScorerPlan, TaskPlan};
use proofmark_canon::Digest;
use proofmark_model::File;

use crate::dataset::{self, DatasetError, Item, Prepared};

/// The largest attachment.
pub(crate) const MAX_ATTACHMENT: u64 = 64 << 20;

/// Every attachment of a run by its path and the folder that the path starts at: what it is, not what it holds.
#[derive(Debug, Default)]
pub struct Attachments {
    files: BTreeMap<(RelPath, PathBuf), Attachment>,
}

/// An attachment cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    #[error("a row names `{path}`, which cannot be read")]
    Open { path: RelPath, source: Arc<OpenError> },
    #[error("`{path}` leads out of the suite's folder")]
    Outside { path: RelPath },
    #[error("`{path}` has changed since the run was planned: it was {expected}, now it is {found}")]
    Changed { path: RelPath, expected: Digest, found: Digest },
}

/// What hashing the attachments of a dataset can fail with.
#[derive(Debug, thiserror::Error)]
pub enum CollectAttachmentsError {
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error(transparent)]
    Dataset(#[from] DatasetError),
}

/// Whether rows of a task name files.
pub(crate) fn names_files(task: &TaskPlan) -> bool {
    !task.dataset.files.is_empty() || has_references(task)
}

/// Whether the targets of a task's rows may name reference pictures.
pub(crate) fn has_references(task: &TaskPlan) -> bool {
    task.scorers.iter().any(|scorer| matches!(scorer, ScorerPlan::ImageHash { .. }))
}

impl Attachments {
    /// Reads and hashes every file that the items of these datasets name: those that are sent with them, and where
    /// the second value says so, the reference picture that an item's target names.
    pub fn load<'a>(
        datasets: impl Iterator<Item = (&'a Prepared, bool)>,
        root: &Path,
    ) -> Result<Self, CollectAttachmentsError> {
        let mut all = Self::default();
        for (prepared, has_references) in datasets {
            for item in prepared.items()? {
                let item = item?;
                let reference = item.expected.as_str().filter(|_| has_references).and_then(|path| path.parse().ok());
                for file in item.files {
                    let pinned = prepared.attachments.get(&file.path).copied();
                    all.add(file.path, &file.root, pinned)?;
                }
                // The scorer itself says what is wrong with one that cannot be read.
                reference.map(|path| all.add(path, root, None)).and_then(Result::ok);
            }
        }
        Ok(all)
    }

    /// Hashes a file. One from the hub must be what was fetched.
    fn add(&mut self, path: RelPath, root: &Path, pinned: Option<Digest>) -> Result<(), AttachError> {
        let place = (path, root.to_owned());
        if self.files.contains_key(&place) {
            return Ok(());
        }
        let (path, _) = &place;
        let bytes = read(path, root)?;
        let digest = Digest::of(&bytes);
        if let Some(expected) = pinned.filter(|expected| *expected != digest) {
            return Err(AttachError::Changed { path: path.clone(), expected, found: digest });
        }
        let (name, media_type) = (path.to_string(), media_type(path.as_str()).to_owned());
        self.files.insert(place, Attachment { bytes: bytes.len() as u64, digest, media_type, name });
        Ok(())
    }

    fn facts(&self, file: &dataset::Attachment) -> Option<&Attachment> {
        self.files.get(&(file.path.clone(), file.root.to_path_buf()))
    }

    /// What the manifest says of them. Where the folders are that hold them does not count.
    pub fn entries(&self) -> impl Iterator<Item = AssetEntry> {
        let named: BTreeSet<(&RelPath, Digest)> =
            self.files.iter().map(|((path, _), facts)| (path, facts.digest)).collect();
        named.into_iter().map(|(path, digest)| AssetEntry {
            digest,
            mode: HashMode::Raw,
            path: path.to_string(),
            role: AssetRole::Attachment,
        })
    }

    /// Names an item's attachments in the last message of the user.
    pub(crate) fn attach(&self, item: &Item, messages: &mut [Message]) {
        if item.files.is_empty() {
            return;
        }
        if let Some(message) = messages.iter_mut().rev().find(|message| message.role == Role::User) {
            message.attachments = item.files.iter().filter_map(|file| self.facts(file).cloned()).collect();
        }
    }

    /// The bytes of an item's attachments, which must be those that were hashed.
    pub(crate) fn bytes(&self, item: &Item) -> Result<Arc<[File]>, AttachError> {
        let mut files = Vec::with_capacity(item.files.len());
        for file in &item.files {
            let Some(facts) = self.facts(file) else { continue };
            let bytes = read(&file.path, &file.root)?;
            let (expected, found) = (facts.digest, Digest::of(&bytes));
            if expected != found {
                return Err(AttachError::Changed { path: file.path.clone(), expected, found });
            }
            files.push(File { digest: found, bytes: bytes.into() });
        }
        Ok(files.into())
    }
}

fn read(path: &RelPath, root: &Path) -> Result<Vec<u8>, AttachError> {
    let full = path.under(root);
    let open_error = |source| AttachError::Open { path: path.clone(), source: Arc::new(source) };
    let io_error = |source: io::Error| open_error(OpenError::Io { path: full.clone(), source });
    // A link inside the folder may point anywhere; what is read must really be inside.
    let real = full.canonicalize().map_err(io_error)?;
    if !real.starts_with(root.canonicalize().map_err(io_error)?) {
        return Err(AttachError::Outside { path: path.clone() });
    }
    if !real.is_file() {
        return Err(open_error(OpenError::NotAFile(full.clone())));
    }
    read_bounded(&real, MAX_ATTACHMENT).map_err(open_error)
}

/// Tells an agent which files are in its working directory.
pub(crate) fn name_files(messages: &mut [Message]) {
    let Some(message) = messages.iter_mut().rev().find(|message| !message.attachments.is_empty()) else { return };
    message.content.push_str("\n\nFiles in the working directory:");
    for (name, file) in plain_names(&message.attachments).iter().zip(&message.attachments) {
        message.content.push_str(&format!("\n- {name} ({}, {} bytes)", file.media_type, file.bytes));
    }
}

/// Names without folders, each once: a second `a.csv` is `2-a.csv`.
pub(crate) fn plain_names(attachments: &[Attachment]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(attachments.len());
    for attachment in attachments {
        let base = attachment.name.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("file");
        let mut name = base.to_owned();
        let mut number = 1;
        while names.contains(&name) {
            number += 1;
            name = format!("{number}-{base}");
        }
        names.push(name);
    }
    names
}

/// What a file is, by its name: what it is sent as must not depend on guesses about its content.
fn media_type(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
    match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "txt" | "log" | "py" | "rs" | "c" | "h" | "js" | "ts" | "java" | "sh" | "tex" | "yaml" | "yml" | "toml"
        | "pdb" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "tsv" => "text/tab-separated-values",
        "html" | "htm" => "text/html",
        "xml" => "text/xml",
        "json" => "application/json",
        "jsonl" | "jsonld" => "application/jsonl",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "m4a" => "audio/mp4",
        "ogg" => "audio/ogg",
        "flac" => "audio/flac",
        "mp4" => "video/mp4",
        "mov" => "video/quicktime",
        "webm" => "video/webm",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "zip" => "application/zip",
        _ => "application/octet-stream",
    }
}
