//! Where the judge cache is, and what a command brings along to use it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proofmark_trust::cache::{Access, Cache, CacheError};
use proofmark_trust::policy::Role;

use crate::args::CacheKeyArgs;
use crate::exit::Failure;
use crate::settings::Settings;
use crate::signing::{load_trust, signer};

/// The folder under the user's cache.
const FOLDER: &str = "judgments";
/// What was seen before, under the user's state.
const MEMORY: &str = "judge-cache-seen.jsonl";

/// Whether a command signs.
pub(crate) enum Signing<'a> {
    Never,
    With(&'a CacheKeyArgs),
}

/// The user's cache.
pub(crate) fn usual(settings: &Settings) -> Option<PathBuf> {
    settings.cache_dir().map(|dir| dir.join(FOLDER))
}

/// The cache's folder: the one that was named, or the user's.
pub(crate) fn folder(settings: &Settings, named: Option<&Path>) -> Result<PathBuf, Failure> {
    named.map(Path::to_owned).or_else(|| usual(settings)).ok_or_else(|| {
        Failure::new("there is no place for a judge cache")
            .hint("give `--cache DIR`, or set PROOFMARK_CACHE_DIR".to_owned())
    })
}

/// The file in which conflicts that were seen are remembered.
pub(crate) fn memory(settings: &Settings) -> Option<PathBuf> {
    settings.state_dir().map(|dir| dir.join(MEMORY))
}

/// Whom a command believes, and what it signs with.
pub(crate) fn access(settings: &Settings, trust: Option<&Path>, signing: &Signing<'_>) -> Result<Access, Failure> {
    let trust = load_trust(settings, trust)?;
    let signer = match signing {
        Signing::Never => None,
        Signing::With(args) => {
            let file = args.passphrase.passphrase_file.as_deref();
            Some(Arc::new(signer(settings, &trust, Role::Judge, args.key.as_deref(), file)?.key))
        }
    };
    Ok(Access { trust: Arc::new(trust), signer, memory: memory(settings), now: settings.now() })
}

/// Opens a cache that is there.
pub(crate) fn open(dir: &Path, access: Access) -> Result<Cache, Failure> {
    Cache::open(dir, access).map_err(|error| failure(&error))
}

/// Opens a cache, or makes one.
pub(crate) fn open_or_make(settings: &Settings, dir: &Path, access: Access) -> Result<Cache, Failure> {
    Cache::open_or_make(dir, *settings.random()?, access).map_err(|error| failure(&error))
}

pub(crate) fn failure(error: &CacheError) -> Failure {
    Failure::from_error(error).hint(error.hint().map(str::to_owned))
}
