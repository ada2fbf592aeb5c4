//! The judge cache: signed judgments that any process may read and none can fake.
//!
//! A store is a folder of 4,096 shards. A shard is one file: a signed list of what it holds, and one signed judgment a
//! line. What cannot be believed is a miss with a reason, never an answer.
//!
//! - [`folder`] the folder, its locks and what is set aside; [`error`] why it cannot be used;
//! - [`entry`] one line: whether it can be believed; [`head`] the signed list of a shard;
//! - [`index`] where a shard has what, and what is wrong with it; [`known`] the indexes that are kept in memory;
//! - [`lookup`] a judgment found; [`insert`] judgments added; [`standing`] which of several counts;
//! - [`rewrite`] a shard's file replaced, and healed where it was damaged;
//! - [`memory`] what was seen before, so that a store cannot be put back to an older state unseen;
//! - [`walk`] the whole store, for those who look after it.

mod entry;
mod error;
mod folder;
mod head;
mod index;
mod insert;
mod known;
mod lookup;
mod memory;
mod rewrite;
mod standing;
mod walk;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use entry::{Flaw, check_line};
pub use error::CacheError;
pub use folder::Shard;
pub use insert::Inserted;
pub use lookup::{Found, Hit};
pub use standing::which_counts;
pub use walk::{Gone, Held, Retain, ShardView};

use folder::Folder;
use known::Known;
use memory::Memory;

use crate::key::PrivateKey;
use crate::policy::Trust;

/// What a process brings along to use a cache.
#[derive(Debug, Clone)]
pub struct Access {
    /// Whom it believes.
    pub trust: Arc<Trust>,
    /// What it signs with; without it the cache is only read.
    pub signer: Option<Arc<PrivateKey>>,
    /// The file in which it remembers conflicts that it has seen.
    pub memory: Option<PathBuf>,
    /// When the process started: RFC 3339 in UTC. It goes into the lists that it signs.
    pub now: String,
}

/// A judge cache that is open.
#[derive(Debug)]
pub struct Cache {
    folder: Folder,
    access: Access,
    known: Known,
    memory: Option<Memory>,
}

impl Cache {
    /// Opens a store that is there. The cost does not depend on its size.
    pub fn open(dir: &Path, access: Access) -> Result<Self, CacheError> {
        Ok(Self::new(Folder::open(dir)?, access))
    }

    /// Opens a store, or makes one in a folder that is empty or not there. `chance` becomes the id of a new store.
    pub fn open_or_make(dir: &Path, chance: [u8; 16], access: Access) -> Result<Self, CacheError> {
        Ok(Self::new(Folder::open_or_make(dir, chance)?, access))
    }

    fn new(folder: Folder, access: Access) -> Self {
        let memory = access.memory.clone().map(|path| Memory::new(path, folder.id()));
        Self { folder, access, known: Known::default(), memory }
    }

    pub fn dir(&self) -> &Path {
        self.folder.dir()
    }

    /// The store's own name, whatever its folder is called: 32 hex digits.
    pub fn id(&self) -> &str {
        self.folder.id()
    }

    /// Whether judgments can be added.
    pub fn is_writable(&self) -> bool {
        self.access.signer.is_some()
    }
}
