//! What the caller hands in.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use proofmark_artefact::path::RelPath;
use proofmark_model::Secret;

/// Where data is found and how strictly it is read.
#[derive(Debug, Clone)]
pub struct DataContext {
    /// The suite's folder; paths of the plan and attachments named by rows are under it.
    pub root: PathBuf,
    /// Refuse integers that would lose digits and hub datasets without a pin.
    pub strict: bool,
    /// Folder of the unlinked scratch files of large sorts. `None` for the system's.
    pub scratch: Option<PathBuf>,
    /// `None` when there is no folder for the hub's cache, so that the hub cannot be used.
    pub hub: Option<HubContext>,
    /// Says whether a file that a row names is there. `None` to look under the root.
    pub has_file: Option<HasFile>,
    pub tuning: Tuning,
}

/// Whether there is a regular file at a path.
#[derive(Clone)]
pub struct HasFile(pub Arc<dyn Fn(&RelPath) -> bool + Send + Sync>);

impl fmt::Debug for HasFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HasFile")
    }
}

impl DataContext {
    /// Strict, without a hub.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), strict: true, scratch: None, hub: None, has_file: None, tuning: Tuning::default() }
    }
}

/// How to reach the Hugging Face hub.
#[derive(Debug, Clone)]
pub struct HubContext {
    /// Scheme and host, `https://huggingface.co` by default of the caller.
    pub endpoint: String,
    pub token: Option<Secret>,
    pub cache_dir: PathBuf,
    /// Never touch the network; everything must be in the cache.
    pub offline: bool,
    /// First pause before a request is tried again; doubled each time.
    pub pause: Duration,
    /// How long a connection may stay silent.
    pub timeout: Duration,
}

impl HubContext {
    pub fn new(endpoint: impl Into<String>, cache_dir: impl Into<PathBuf>) -> Self {
        Self {
            endpoint: endpoint.into(),
            token: None,
            cache_dir: cache_dir.into(),
            offline: false,
            pause: Duration::from_millis(500),
            timeout: Duration::from_secs(60),
        }
    }
}

/// Sizes that decide between memory and disk. The defaults keep a pass within a few MB.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// Entries that a sort holds before it spills a run.
    pub sort_entries: usize,
    /// Bytes of shuffled rows that are held before they go to disk.
    pub spool_bytes: usize,
    /// The longest line or record.
    pub max_line: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { sort_entries: 1 << 14, spool_bytes: 1 << 20, max_line: 16 << 20 }
    }
}
