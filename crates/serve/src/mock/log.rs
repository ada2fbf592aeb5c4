//! A line of JSON for every request. Never the key, only whether there was one.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use proofmark_canon::Digest;
use serde::Serialize;

/// Where lines go.
pub(super) struct Log(Mutex<File>);

/// What is said of a request.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    pub(super) request: u64,
    pub(super) method: &'a str,
    /// Without the query, which may hold a key.
    pub(super) path: &'a str,
    pub(super) body: Digest,
    /// How often this body came to this path, this time included.
    pub(super) attempt: u32,
    pub(super) key: bool,
    pub(super) stream: bool,
    pub(super) fault: Option<&'a str>,
    /// Null when there was no answer.
    pub(super) status: Option<u16>,
}

impl Log {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(Mutex::new(File::options().create(true).append(true).open(path)?)))
    }

    pub(super) fn write(&self, line: &Line<'_>) {
        let Ok(mut text) = serde_json::to_vec(line) else { return };
        text.push(b'\n');
        // A log that cannot be written must not change what a client sees.
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&text);
    }
}
