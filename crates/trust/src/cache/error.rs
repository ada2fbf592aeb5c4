//! Why a store cannot be used.

use std::io;
use std::path::{Path, PathBuf};

use proofmark_canon::json::EncodeError;

use crate::policy::Distrust;

/// The store cannot be used. What is wrong with single entries is no error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    #[error("there is no judge cache in `{0}`")]
    NoStore(PathBuf),
    #[error("`{0}` holds other files and is no judge cache")]
    NotOurs(PathBuf),
    #[error("`{path}` names the format `{found}`, expected `{expected}`")]
    OtherFormat { path: PathBuf, found: String, expected: &'static str },
    #[error("`{0}` is not a folder")]
    NotFolder(PathBuf),
    #[error("cannot use `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("another process has held `{0}` for a minute")]
    Busy(PathBuf),
    #[error("the judge cache was opened without a key to sign with")]
    ReadOnly,
    #[error("what this key signs would not be believed")]
    SignerNotTrusted(#[source] Distrust),
    #[error("a judgment of {length} bytes is more than the {limit} that an entry may have")]
    EntryTooLarge { length: usize, limit: usize },
    #[error("shard `{shard}` would be larger than {limit} bytes")]
    ShardTooLarge { shard: String, limit: u64 },
    #[error("the judgment has no canonical form")]
    Encode(#[from] EncodeError),
}

impl CacheError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoStore(_) => Some("a run with judges makes one, and so does `proofmark cache import`"),
            Self::NotOurs(_) => Some(
                "name an empty or a new folder; unsigned entries of other programs cannot be taken over, the judge is \
                 asked again",
            ),
            Self::OtherFormat { .. } => Some("it may be of a newer Proofmark; name another folder"),
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => Some(
                    "whoever uses a judge cache must be able to read it, and to write into its folders to add to it",
                ),
                io::ErrorKind::ReadOnlyFilesystem => Some("name a judge cache that can be written"),
                io::ErrorKind::StorageFull => Some("make room, or remove old entries with `proofmark cache gc`"),
                _ => None,
            },
            Self::Busy(_) => Some("see whether it hangs: a write takes milliseconds"),
            Self::ReadOnly => Some("make a key with `proofmark keys new --role judge`"),
            Self::SignerNotTrusted(_) => Some("trust it as judge: `proofmark keys trust KEY --role judge`"),
            Self::ShardTooLarge { .. } => Some("remove old entries with `proofmark cache gc --older-than DAYS`"),
            _ => None,
        }
    }
}
