//! Which commits a report came with.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::snapshot::{Entry, Snapshot};
use crate::replay::git::{self, GitError};

/// The commits that made a file what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The one that added it, for the last time when it was removed in between.
    pub added: String,
    /// The last one that changed it; the same when none did.
    pub changed: String,
}

/// Why a file has no history to rely on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoHistory {
    #[error("`{0}` is in no commit")]
    NotCommitted(String),
    #[error("the repository is a shallow clone: which commit added `{0}` cannot be told")]
    Shallow(String),
    #[error("`{0}` was changed by more than {MOST_COMMITS} commits")]
    TooLong(String),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl NoHistory {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Shallow(_) => {
                "fetch the whole history with `git fetch --unshallow`, or name the commit: `--commit REV`"
            }
            Self::Git(GitError::Ownership) => "allow it with `git config --global --add safe.directory DIR`",
            _ => "name the commit that the run was made at: `--commit REV`",
        }
    }
}

/// Finds the commits of a file, seen from `HEAD`. The path is relative to the top of the work tree.
///
/// Renames are not followed: git only guesses at them.
pub fn of_file(top: &Path, path: &str) -> Result<History, NoHistory> {
    let not_committed = || NoHistory::NotCommitted(path.to_owned());
    // In a shallow clone the oldest commit there is seems to add everything.
    if lines(top, &["rev-parse", "--is-shallow-repository"], 1)?.first().is_some_and(|line| line == "true") {
        return Err(NoHistory::Shallow(path.to_owned()));
    }
    if Snapshot::open(top, "HEAD")?.is_none() {
        return Err(not_committed());
    }
    // Merges are passed over where one side already had what came out.
    let commits = lines(top, &["rev-list", "--topo-order", "HEAD", "--", path], MOST_COMMITS + 1)?;
    if commits.len() > MOST_COMMITS {
        return Err(NoHistory::TooLong(path.to_owned()));
    }
    let mut history: Option<History> = None;
    for commit in commits {
        let is_there = match Snapshot::open(top, &commit)? {
            Some(mut snapshot) => matches!(snapshot.find(path)?, Entry::File(_)),
            None => false,
        };
        // The newest ones first: before a commit that removed it, it was another file.
        if !is_there {
            break;
        }
        match &mut history {
            Some(history) => history.added = commit,
            None => history = Some(History { added: commit.clone(), changed: commit }),
        }
    }
    history.ok_or_else(not_committed)
}

/// More is no report.
const MOST_COMMITS: usize = 1000;
/// How long git may think about a history.
const HISTORY_PATIENCE: Duration = Duration::from_secs(600);
const LONGEST_LINE: u64 = 4096;

/// The first lines of what git says.
fn lines(top: &Path, arguments: &[&str], most: usize) -> Result<Vec<String>, GitError> {
    let mut child = git::command(top).args(arguments).spawn().map_err(GitError::Start)?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(GitError::Failed("no pipes".to_owned()));
    };
    let complaint = git::listen(stderr);
    let (send, receive) = channel();
    thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        let mut lines = Vec::new();
        let mut line = Vec::new();
        while lines.len() < most {
            line.clear();
            match stdout.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => lines.push(String::from_utf8_lossy(&line).trim_end().to_owned()),
            }
        }
        // Nobody listens any more when the time is up.
        let _ = send.send(lines);
    });
    let lines = receive.recv_timeout(HISTORY_PATIENCE);
    let is_enough = lines.as_ref().is_ok_and(|lines| lines.len() >= most);
    let ended = if lines.is_err() || is_enough {
        // It has said enough, or nothing.
        let _ = child.kill();
        let _ = child.wait();
        is_enough
    } else {
        child.wait().is_ok_and(|status| status.success())
    };
    match lines {
        Err(RecvTimeoutError::Timeout) => Err(GitError::Silent),
        Ok(lines) if ended => Ok(lines),
        _ => Err(git::in_words(&complaint.recv_timeout(Duration::from_secs(1)).unwrap_or_default())),
    }
}
