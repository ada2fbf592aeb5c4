//! Where hub files are kept.
//!
//! `{cache}/hub/datasets/{owner}--{name}/{commit}/{path}` holds a file, `{commit}.sums/{path}` beside it the
//! digest that it had when it was fetched, `{commit}.files.json` the list of data files, `{commit}.tree.json` that of all. A file counts only
//! while its bytes still have that digest.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use proofmark_artefact::path::RelPath;
use proofmark_artefact::replay::hub::folder;
use proofmark_artefact::store::digest_reader;
use proofmark_canon::{Digest, Map, Number, Value, json};
use tempfile::NamedTempFile;

use super::error::HubProblem;
use super::{Entry, Repo, Scope};

/// The largest list of files that is read back.
const MAX_LISTING: u64 = 256 << 20;

pub(super) struct Cache {
    /// The folder of the repository.
    folder: PathBuf,
    commit: String,
}

impl Cache {
    pub(super) fn new(cache: &Path, repo: &Repo, commit: &str) -> Self {
        let files = folder(cache, &repo.owner, &repo.name, commit);
        let folder = files.parent().unwrap_or(&files).to_owned();
        Self { folder, commit: commit.to_owned() }
    }

    /// The folder that holds the files of the commit.
    pub(super) fn top(&self) -> PathBuf {
        self.folder.join(&self.commit)
    }

    pub(super) fn path_of(&self, path: &RelPath) -> PathBuf {
        path.under(&self.top())
    }

    /// Returns the digest of a cached file whose bytes are still those that were fetched.
    pub(super) fn load_verified(&self, entry: &Entry) -> Result<Option<Digest>, HubProblem> {
        let mut text = String::new();
        let sum = File::open(self.sum_of(&entry.path)).and_then(|file| file.take(100).read_to_string(&mut text));
        let Some(recorded) = sum.ok().and_then(|_| text.trim_end().parse::<Digest>().ok()) else { return Ok(None) };
        if entry.sha256.is_some_and(|listed| listed != recorded) {
            return Ok(None);
        }
        let path = self.path_of(&entry.path);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("open a file", &path)(error)),
        };
        let found = digest_reader(file).map_err(failed("read a file", &path))?.0;
        Ok((found == recorded).then_some(found))
    }

    /// Opens a temporary file beside the place of a file.
    pub(super) fn start(&self, path: &RelPath) -> Result<NamedTempFile, HubProblem> {
        temporary_beside(&self.path_of(path))
    }

    /// Puts a fetched file in its place, with its digest on record.
    pub(super) fn keep(&self, path: &RelPath, file: NamedTempFile, digest: Digest) -> Result<(), HubProblem> {
        let place = self.path_of(path);
        persist(file, &place)?;
        let sum = self.sum_of(path);
        write_atomic(&sum, format!("{digest}\n").as_bytes())
    }

    /// Returns the stored list of files, or `None` when there is none that can be used.
    pub(super) fn load_listing(&self, scope: Scope) -> Option<Vec<Entry>> {
        let mut bytes = Vec::new();
        File::open(self.listing(scope)).ok()?.take(MAX_LISTING).read_to_end(&mut bytes).ok()?;
        json::parse(&bytes).ok()?.as_array()?.iter().map(entry_from).collect()
    }

    pub(super) fn store_listing(&self, entries: &[Entry], scope: Scope) -> Result<(), HubProblem> {
        let list = entries.iter().map(|entry| {
            let mut map = Map::new();
            map.insert("path", entry.path.as_str());
            map.insert("size", Number::from_u64(entry.size).map(Value::Number));
            map.insert("sha256", entry.sha256.map(|digest| digest.to_string()));
            Value::Object(map)
        });
        write_atomic(&self.listing(scope), &Value::Array(list.collect()).to_canonical())
    }

    fn sum_of(&self, path: &RelPath) -> PathBuf {
        path.under(&self.folder.join(format!("{}.sums", self.commit)))
    }

    fn listing(&self, scope: Scope) -> PathBuf {
        let kind = match scope {
            Scope::Data => "files",
            Scope::All => "tree",
        };
        self.folder.join(format!("{}.{kind}.json", self.commit))
    }
}

fn entry_from(value: &Value) -> Option<Entry> {
    let sha256 = match value.get("sha256")? {
        Value::Null => None,
        digest => Some(digest.as_str()?.parse().ok()?),
    };
    Some(Entry { path: value.get("path")?.as_str()?.parse().ok()?, size: value.get("size")?.as_u64()?, sha256 })
}

fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), HubProblem> {
    let mut file = temporary_beside(path)?;
    file.write_all(bytes).map_err(failed("write a file", path))?;
    persist(file, path)
}

fn temporary_beside(path: &Path) -> Result<NamedTempFile, HubProblem> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(failed("make a folder", folder))?;
    NamedTempFile::new_in(folder).map_err(failed("make a file", folder))
}

fn persist(file: NamedTempFile, path: &Path) -> Result<(), HubProblem> {
    file.as_file().sync_all().map_err(failed("write a file", path))?;
    file.persist(path).map(drop).map_err(|error| failed("move a file", path)(error.error))
}

pub(super) fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> HubProblem {
    let path = path.display().to_string();
    move |source| HubProblem::Cache { action, path, source }
}
