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

use std::collections::{BTreeMap, BTreeSet};

use proofmark_artefact::path::RelPath;
use proofmark_artefact::suite::config::Format;
use proofmark_artefact::suite::plan::DatasetPlan;
use proofmark_canon::{Digest, Map, Value};

use super::context::{DataContext, HubContext};
use super::error::{DatasetError, Problem};
use super::gaia;
use super::item::Home;
use super::prepared::{Located, Prepared, delimiter, shown_name};
use super::source::{Origin, Source};
use cache::Cache;
use error::HubProblem;
use http::Client;

/// The branch that is read when the suite names no revision.
const DEFAULT_REVISION: &str = "main";
/// The largest attachment that is fetched.
const MAX_ATTACHMENT: u64 = crate::attach::MAX_ATTACHMENT;

/// Finds and fetches the files of a hub dataset.
pub(super) fn locate(plan: &DatasetPlan, context: &DataContext) -> Result<Located, DatasetError> {
    let whole = |problem| DatasetError::new(shown_name(plan), None, problem);
    let from_hub = |problem| whole(Problem::Hub(problem));
    let hub = context.hub.as_ref().ok_or_else(|| from_hub(HubProblem::NoFolder))?;
    let repo = plan.repo.as_deref().ok_or_else(|| whole(Problem::NotConfigured("repo")))?;
    let repo: Repo = repo.parse().map_err(from_hub)?;
    if !plan.files.is_empty() && plan.format != Format::Gaia {
        return Err(whole(Problem::HubAttachments));
    }
    let delimiter = delimiter(plan).map_err(whole)?;
    let fetched = run_to_end(async || fetch(plan, context.strict, hub, &repo).await).map_err(from_hub)?;

    let mut sources = Vec::with_capacity(fetched.files.len());
    let mut names = Vec::with_capacity(fetched.files.len());
    let home = fetched.home;
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
    Ok(Located { sources, digest: Some(digest), revision: Some(fetched.commit), home })
}

/// Fetches the files that items attach, and no others. Returns the digests of their bytes.
pub(super) fn fetch_attachments(
    plan: &DatasetPlan,
    context: &DataContext,
    prepared: &Prepared,
) -> Result<BTreeMap<RelPath, Digest>, DatasetError> {
    let whole = |problem| DatasetError::new(shown_name(plan), None, problem);
    let from_hub = |problem| whole(Problem::Hub(problem));
    let mut named = BTreeSet::new();
    for item in prepared.items()? {
        named.extend(item?.files.into_iter().map(|file| file.path));
    }
    let hub = context.hub.as_ref().ok_or_else(|| from_hub(HubProblem::NoFolder))?;
    let repo: Repo = plan.repo.as_deref().unwrap_or_default().parse().map_err(from_hub)?;
    let commit = prepared.revision.as_deref().unwrap_or_default();
    let cache = Cache::new(&hub.cache_dir, &repo, commit);
    let listing = cache.load_listing(Scope::All).unwrap_or_default();
    let wanted: Vec<&Entry> = listing.iter().filter(|entry| named.contains(&entry.path)).collect();
    if let Some(entry) = wanted.iter().find(|entry| entry.size > MAX_ATTACHMENT) {
        let (path, bytes) = (entry.path.to_string(), entry.size);
        return Err(whole(Problem::AttachmentTooLarge { path, bytes, limit: MAX_ATTACHMENT }));
    }
    let fetched = run_to_end(async || {
        let client = Client::new(hub, &repo)?;
        let mut digests = BTreeMap::new();
        for entry in wanted {
            let digest = load_or_fetch(&client, hub, &cache, commit, entry).await?;
            digests.insert(entry.path.clone(), digest);
        }
        Ok(digests)
    });
    fetched.map_err(from_hub)
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

/// Which files of a commit are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those that can hold rows.
    Data,
    /// Attachments too.
    All,
}

struct Fetched {
    commit: String,
    home: Option<Home>,
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
    let scope = if plan.format == Format::Gaia { Scope::All } else { Scope::Data };
    let entries = match cache.load_listing(scope) {
        Some(entries) => entries,
        None if hub.offline => return Err(HubProblem::OfflineMiss { path: "the list of files".to_owned() }),
        None => {
            let entries = client.list(&commit, scope).await?;
            cache.store_listing(&entries, scope)?;
            entries
        }
    };
    let mut files = Vec::new();
    for entry in pick::pick(&entries, plan)? {
        let digest = load_or_fetch(&client, hub, &cache, &commit, entry).await?;
        files.push((entry.path.clone(), cache.path_of(&entry.path), digest));
    }
    let home = (scope == Scope::All).then(|| Home {
        root: cache.top().into(),
        below: gaia::folder(plan),
        listed: Some(entries.into_iter().map(|entry| entry.path).collect()),
    });
    Ok(Fetched { commit, home, files })
}

/// Returns the digest of a file that is in the cache then.
async fn load_or_fetch(
    client: &Client,
    hub: &HubContext,
    cache: &Cache,
    commit: &str,
    entry: &Entry,
) -> Result<Digest, HubProblem> {
    match cache.load_verified(entry)? {
        Some(digest) => Ok(digest),
        None if hub.offline => Err(HubProblem::OfflineMiss { path: entry.path.to_string() }),
        None => client.download(commit, entry, cache).await,
    }
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
