//! Files as they were at a commit, out of a repository that nobody vouches for.
//!
//! One `git cat-file --batch` answers everything. It runs no hook, no filter and no textconv, fetches nothing, follows
//! links only inside the commit, and ignores replaced objects.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::hash::{self, Content};
use crate::text::excerpt;

/// What a commit has at a path.
#[derive(Debug)]
pub(super) enum Found {
    File(Content),
    Missing,
    NotAFile,
    LinkOut,
    TooLarge,
}

/// Git could not say.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    #[error("git cannot be started: {0}")]
    Start(#[source] io::Error),
    #[error("commit {0} is not in the repository")]
    NoCommit(String),
    #[error("git refuses the repository, which belongs to somebody else")]
    Ownership,
    #[error("git did not answer in {} seconds", PATIENCE.as_secs())]
    Silent,
    #[error("git failed: {0}")]
    Failed(String),
}

/// How long one object may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Reads files at a commit: for each list, the first of its paths that is there, and which one that is.
///
/// Paths are relative to the top of the work tree and hold no control characters.
pub(super) fn read(top: &Path, commit: &str, wanted: &[Vec<String>]) -> Result<Vec<(Found, usize)>, GitError> {
    let (mut child, mut batch, complaint) = converse(top, &["--follow-symlinks"])?;
    let (send, answers) = channel();
    let (name, paths) = (commit.to_owned(), wanted.to_vec());
    thread::spawn(move || {
        // When nobody listens any more there is nobody to tell.
        let _ = match batch.has_commit(&name) {
            Ok(true) => {
                let mut found = paths.iter().map(|paths| batch.first_of(&name, paths));
                found.try_for_each(|found| send.send(found.map(Some)))
            }
            Ok(false) => send.send(Ok(None)),
            Err(error) => send.send(Err(error)),
        };
    });
    let mut found = Vec::with_capacity(wanted.len());
    let result = loop {
        if found.len() == wanted.len() {
            break Ok(());
        }
        match answers.recv_timeout(PATIENCE) {
            Ok(Ok(Some(file))) => found.push(file),
            Ok(Ok(None)) => break Err(GitError::NoCommit(commit.chars().take(12).collect())),
            Err(RecvTimeoutError::Timeout) => break Err(GitError::Silent),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                break Err(in_words(&complaint.recv_timeout(Duration::from_secs(1)).unwrap_or_default()));
            }
        }
    };
    // Nothing more is asked of it, whatever came; it may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
    result.map(|()| found)
}

/// Starts a `git cat-file --batch` to be asked about objects, and what receives its complaints.
pub(crate) fn converse(top: &Path, options: &[&str]) -> Result<(Child, Batch, Receiver<String>), GitError> {
    let mut command = command(top);
    command.args(["cat-file", "--batch"]).args(options).stdin(Stdio::piped());
    let mut child = command.spawn().map_err(GitError::Start)?;
    let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(GitError::Failed("no pipes".to_owned()));
    };
    let batch = Batch { stdin, stdout: BufReader::with_capacity(256 * 1024, stdout) };
    Ok((child, batch, listen(stderr)))
}

/// A git that looks at one work tree, runs nothing that the repository names, and fetches nothing.
pub(crate) fn command(top: &Path) -> Command {
    let mut command = Command::new("git");
    for name in FOREIGN {
        command.env_remove(name);
    }
    command
        .arg("-C")
        .arg(top)
        .args(["--literal-pathspecs", "--no-pager", "--no-optional-locks"])
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never"])
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_GRAFT_FILE", "/dev/null")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // A `.git` that is no repository must not lead to one further up.
    if let Some(parent) = top.parent() {
        command.env("GIT_CEILING_DIRECTORIES", parent);
    }
    command
}

/// Variables that would make git look at another repository, or somewhere else in this one.
const FOREIGN: [&str; 13] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_TRACE",
];

/// Keeps the beginning of what git complains about, and reads the rest so that it never waits.
pub(crate) fn listen(stderr: impl Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = channel();
    thread::spawn(move || {
        let mut stderr = stderr;
        let mut text = Vec::new();
        let _ = stderr.by_ref().take(16 * 1024).read_to_end(&mut text);
        let _ = io::copy(&mut stderr, &mut io::sink());
        let _ = send.send(String::from_utf8_lossy(&text).into_owned());
    });
    receive
}

pub(crate) fn in_words(complaint: &str) -> GitError {
    if complaint.contains("dubious ownership") {
        return GitError::Ownership;
    }
    let line = complaint.lines().next().unwrap_or("it ended without an answer");
    GitError::Failed(excerpt(line, 200))
}

/// A conversation: one question, one answer.
pub(crate) struct Batch {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Batch {
    fn has_commit(&mut self, commit: &str) -> io::Result<bool> {
        let Some(Head { kind, size, .. }) = self.ask(&format!("{commit}^{{commit}}"))? else { return Ok(false) };
        self.skip(size)?;
        Ok(kind == "commit")
    }

    fn first_of(&mut self, commit: &str, paths: &[String]) -> io::Result<(Found, usize)> {
        for (at, path) in paths.iter().enumerate() {
            match self.file(&format!("{commit}:{path}"))? {
                Found::Missing => {}
                found => return Ok((found, at)),
            }
        }
        Ok((Found::Missing, 0))
    }

    fn file(&mut self, name: &str) -> io::Result<Found> {
        let Some(Head { kind, size, .. }) = self.ask(name)? else { return Ok(Found::Missing) };
        if kind != "blob" {
            self.skip(size)?;
            return Ok(match kind.as_str() {
                "symlink" => Found::LinkOut,
                "dangling" | "notdir" => Found::Missing,
                _ => Found::NotAFile,
            });
        }
        if size > hash::MAX_RAW {
            self.skip(size)?;
            return Ok(Found::TooLarge);
        }
        let content = hash::read(self.stdout.by_ref().take(size))?;
        self.skip(0)?;
        match content {
            Some(content) if content.size == size => Ok(Found::File(content)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Asks for an object; its bytes and a line end follow. `None`: it is not there. The name holds no line end.
    pub(crate) fn ask(&mut self, name: &str) -> io::Result<Option<Head>> {
        self.stdin.write_all(format!("{name}\n").as_bytes())?;
        self.stdin.flush()?;
        let mut head = Vec::new();
        self.stdout.by_ref().take(LONGEST_HEAD).read_until(b'\n', &mut head)?;
        let head = head.strip_suffix(b"\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        let head = String::from_utf8_lossy(head);
        // The name of what is missing is repeated, and may hold spaces.
        if head.ends_with(" missing") || head.ends_with(" ambiguous") {
            return Ok(None);
        }
        let words: Vec<&str> = head.split(' ').collect();
        let (id, kind, size) = match words[..] {
            [id, kind, size] => (id, kind, size),
            [kind, size] => ("", kind, size),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        let size = size.parse().map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(Some(Head { id: id.to_owned(), kind: kind.to_owned(), size }))
    }

    /// The bytes of the object that was asked for, of the size that it was said to have.
    pub(crate) fn body(&mut self, size: u64) -> impl Read {
        self.stdout.by_ref().take(size)
    }

    /// Reads over the rest of an object and the line end behind it.
    pub(crate) fn skip(&mut self, size: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.stdout.by_ref().take(size + 1), &mut io::sink())?;
        if skipped == size + 1 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// What git says of an object before its bytes.
pub(crate) struct Head {
    /// Empty for what is no object, such as a link that leads out.
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) size: u64,
}

const LONGEST_HEAD: u64 = 16 * 1024;
