//! Datasets of the Hugging Face hub, over its HTTP API.
//!
//! A revision is resolved to a commit, the commit's files are listed, the data files of the split are picked and fetched
//! to a cache, and read from there like local files. Commits never change, so a pinned commit whose files
//! are all in the cache needs no network.
//!
//! Only plain data files are read: a repository's loading script is never run and its README is not
//! interpreted. What the conventions of [`pick`] do not find, `data_files` can name.
//!
//! Parts: [`error`] what can go wrong, [`http`] requests with retries, [`pick`] which files, [`cache`] where they are kept.

pub(super) mod cache;
pub(super) mod error;
mod http;
mod pick;

use proofmark_artefact::path::RelPath;
use proofmark_artefact::suite::plan::DatasetPlan;
use proofmark_canon::{Digest, Map, Value};

use super::context::{DataContext, HubContext};
use super::error::{DatasetError, Problem};
use super::prepared::{Located, delimiter, shown_name};
use super::source::{Origin, Source};
use cache::Cache;
use error::HubProblem;
use http::Client;

/// The branch that is read when the suite names no revision.
const DEFAULT_REVISION: &str = "main";

/// Finds and fetches the files of a hub dataset.
pub(super) fn locate(plan: &DatasetPlan, context: &DataContext) -> Result<Located, DatasetError> {
    let whole = |problem| DatasetError::new(shown_name(plan), None, problem);
    let from_hub = |problem| whole(Problem::Hub(problem));
    let hub = context.hub.as_ref().ok_or_else(|| from_hub(HubProblem::NoFolder))?;
    let repo = plan.repo.as_deref().ok_or_else(|| whole(Problem::NotConfigured("repo")))?;
    let repo: Repo = repo.parse().map_err(from_hub)?;
    if !plan.files.is_empty() {
        return Err(whole(Problem::HubAttachments));
    }
    let delimiter = delimiter(plan).map_err(whole)?;
    let fetched = run_to_end(async || fetch(plan, context.strict, hub, &repo).await).map_err(from_hub)?;

    let mut sources = Vec::with_capacity(fetched.files.len());
    let mut names = Vec::with_capacity(fetched.files.len());
    for (path, local, digest) in fetched.files {
        let kind = pick::kind_of(&path, delimiter)
            .ok_or_else(|| from_hub(HubProblem::UnknownKind { path: path.to_string() }))?;
        let mut name = Map::new();
        name.insert("path", path.as_str());
        name.insert("sha256", digest.hex());
        names.push(Value::Object(name));
        let origin = Origin::File { path: local, kind };
        sources.push(Source { shown: format!("{repo}/{path}"), origin, pinned: Some(digest) });
    }
    let digest = Digest::of(&Value::Array(names).to_canonical());
    Ok(Located { sources, digest: Some(digest), revision: Some(fetched.commit) })
}

/// `owner/name`, checked so that it can stand in a URL and in a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repo {
    owner: String,
    name: String,
}

impl std::str::FromStr for Repo {
    type Err = HubProblem;

    fn from_str(text: &str) -> Result<Self, HubProblem> {
        let is_good = |part: &str| {
            !part.is_empty()
                && part.len() <= 96
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
                // The hub refuses these too; they keep `owner--name` readable in one way only.
                && !part.contains("--")
                && !part.contains("..")
                && !part.starts_with(['.', '-'])
                && !part.ends_with(['.', '-'])
        };
        match text.split_once('/') {
            Some((owner, name)) if is_good(owner) && is_good(name) => {
                Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
            }
            _ => Err(HubProblem::Repo(super::names::show(text))),
        }
    }
}

impl std::fmt::Display for Repo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// One file of a commit, as the hub lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub path: RelPath,
    pub size: u64,
    /// Known for files in large-file storage.
    pub sha256: Option<Digest>,
}

struct Fetched {
    commit: String,
    files: Vec<(RelPath, std::path::PathBuf, Digest)>,
}

async fn fetch(plan: &DatasetPlan, strict: bool, hub: &HubContext, repo: &Repo) -> Result<Fetched, HubProblem> {
    let client = Client::new(hub, repo)?;
    if strict && plan.revision.is_none() && plan.dataset_hash.is_none() {
        let commit = if hub.offline { None } else { client.resolve(DEFAULT_REVISION).await.ok() };
        return Err(HubProblem::NotPinned { commit });
    }
    let revision = plan.revision.as_deref().unwrap_or(DEFAULT_REVISION);
    let commit = match revision {
        commit if is_commit(commit) => commit.to_owned(),
        revision if hub.offline => return Err(HubProblem::OfflineRevision(super::names::show(revision))),
        revision => client.resolve(revision).await?,
    };
    let cache = Cache::new(&hub.cache_dir, repo, &commit);
    let entries = match cache.load_listing() {
        Some(entries) => entries,
        None if hub.offline => return Err(HubProblem::OfflineMiss { path: "the list of files".to_owned() }),
        None => {
            let entries = client.list(&commit).await?;
            cache.store_listing(&entries)?;
            entries
        }
    };
    let mut files = Vec::new();
    for entry in pick::pick(&entries, plan)? {
        let digest = match cache.load_verified(entry)? {
            Some(digest) => digest,
            None if hub.offline => return Err(HubProblem::OfflineMiss { path: entry.path.to_string() }),
            None => client.download(&commit, entry, &cache).await?,
        };
        files.push((entry.path.clone(), cache.path_of(&entry.path), digest));
    }
    Ok(Fetched { commit, files })
}

/// Whether the text is a full commit id.
fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Runs work on a thread and a runtime of its own, so that callers inside and outside a runtime can wait for it.
fn run_to_end<T: Send>(work: impl AsyncFnOnce() -> Result<T, HubProblem> + Send) -> Result<T, HubProblem> {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(HubProblem::Runtime)?.block_on(work())
        });
        worker.join().unwrap_or(Err(HubProblem::Worker))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_cannot_name_anything_else() {
        for text in ["", "squad", "a/b/c", "../b", "a/..", "a/b?x", "a/b c", "a--b/c", "/b", "a/", "a/.git", "é/b"] {
            assert!(text.parse::<Repo>().is_err(), "{text}");
        }
        assert_eq!("open-ai/gsm_8k.v1".parse::<Repo>().unwrap().to_string(), "open-ai/gsm_8k.v1");
    }

    #[test]
    fn only_full_commits_are_commits() {
        assert!(is_commit(&"a0".repeat(20)));
        for text in ["main", "A0A0A0A0A0A0A0A0A0A0A0A0A0A0A0A0A0A0A0A0", "a0a0a0"] {
            assert!(!is_commit(text));
        }
    }
}
