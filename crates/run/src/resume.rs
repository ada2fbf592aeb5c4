//! What an interrupted run left, and whether it can be gone on with.
//!
//! Everything is checked before anything is changed: the run's identity, every journalled line,
//! that each journalled answer belongs to the input that the suite gives now, and that its pictures are still there.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use proofmark_artefact::store::{Claim, OpenError, names, read_bounded, write_atomic};
use proofmark_canon::json::{self, EncodeError};
use proofmark_canon::{RunId, Value};
use serde::Serialize;

use crate::journal::{Done, JournalError, Replay, scan};
use crate::outputs::{self, StoreError};
use crate::prompt::PromptError;
use crate::ready::Ready;
use crate::source::{Source, SourceError};

/// An unfinished run cannot be gone on with. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    #[error("`{dir}` holds the unfinished run {found}, but the suite now gives {expected}")]
    OtherRun { dir: PathBuf, found: RunId, expected: RunId },
    #[error("`{path}` does not say which run it belongs to: {why}")]
    BadHeader { path: PathBuf, why: String },
    #[error("cannot read what the run left")]
    Open(#[from] OpenError),
    #[error("cannot write `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot encode the header")]
    Encode(#[from] EncodeError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Output(#[from] StoreError),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

/// The state a run starts from: nothing done, or what the journal holds.
pub struct State {
    pub run_dir: PathBuf,
    pub journal_path: PathBuf,
    pub done: Arc<Done>,
}

#[derive(Serialize)]
struct Header {
    format: &'static str,
    run_id: RunId,
    version: u32,
}

/// Changes when a journal's entries do.
const WORK_VERSION: u32 = 2;

/// Reads the state of the claimed directory, or begins a new one.
pub fn open(ready: &Ready, claim: &Claim) -> Result<State, ResumeError> {
    let journal_path = claim.work_file(names::JOURNAL);
    let path = claim.work_file(names::WORK_HEADER);
    if !path.exists() {
        // Killed before it began, or new: a journal without a header belongs to nobody.
        let header = Header { format: "proofmark.work", run_id: ready.run_id, version: WORK_VERSION };
        let io_error = |path: &PathBuf| {
            let path = path.clone();
            move |source| ResumeError::Io { path, source }
        };
        match std::fs::remove_file(&journal_path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error(&journal_path)(error)),
            _ => {}
        }
        write_atomic(&path, &json::to_vec(&header)?).map_err(io_error(&path))?;
        return Ok(State { run_dir: claim.dir().to_owned(), journal_path, done: Arc::default() });
    }
    let bytes = read_bounded(&path, 1 << 16)?;
    let bad = |why: String| ResumeError::BadHeader { path: path.clone(), why };
    let header = json::parse(&bytes).map_err(|error| bad(error.to_string()))?;
    if header.get("version").and_then(Value::as_u64) != Some(WORK_VERSION.into()) {
        return Err(bad(format!("its version is not {WORK_VERSION}")));
    }
    let found = header.get("run_id").and_then(Value::as_str).ok_or_else(|| bad("it has no run id".to_owned()))?;
    let found: RunId = found.parse().map_err(|error| bad(format!("{error}")))?;
    if found != ready.run_id {
        return Err(ResumeError::OtherRun { dir: claim.dir().to_owned(), found, expected: ready.run_id });
    }
    let done = Arc::new(scan(&journal_path, &ready.run_id, ready.samples())?);
    Ok(State { run_dir: claim.dir().to_owned(), journal_path, done })
}

/// Checks every journalled answer against the input that the plan gives, and returns a fresh reader.
pub fn replay(ready: &Arc<Ready>, state: &State) -> Result<Replay, ResumeError> {
    let open = || Replay::open(&state.journal_path, ready.run_id, &state.done);
    if state.done.count > 0 {
        let mut source = Source::new(Arc::clone(ready), Arc::clone(&state.done), Some(open()?));
        let mut left = state.done.count;
        while left > 0 {
            let Some(unit) = source.next_unit()? else { break };
            let Some(journalled) = &unit.journalled else { continue };
            left -= 1;
            let key = unit.key(&ready.plan);
            let (_, actual) = unit.request(ready, &key)?;
            if journalled.fingerprint != actual {
                let (ordinal, recorded) = (unit.ordinal, journalled.fingerprint);
                return Err(JournalError::OtherInput { key: key.to_string(), ordinal, recorded, actual }.into());
            }
            outputs::check(&state.run_dir, unit.ordinal, &journalled.reply)?;
        }
    }
    Ok(open()?)
}
