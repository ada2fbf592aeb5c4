//! A server that is a program: one process group for each session.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use proofmark_artefact::path::RelPath;
use proofmark_process::Group;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::error::McpError;
use crate::build::Surroundings;
use crate::sandbox::Sandbox;
use crate::workspace::Workspace;

/// A program that can be started.
pub(super) struct Program {
    sandbox: Sandbox,
    words: Vec<OsString>,
    environment: Vec<(String, String)>,
    /// Files of the suite that it may read. Nothing else of the suite is in reach: the suite holds the answers.
    files: Vec<PathBuf>,
}

/// What a suite says about a program.
pub(super) struct Wanted<'a> {
    pub(super) command: &'a [String],
    pub(super) files: &'a [RelPath],
    pub(super) env: &'a [String],
}

impl Program {
    pub(super) fn new(wanted: &Wanted<'_>, sandbox: Sandbox, world: &Surroundings) -> Result<Self, McpError> {
        let words: Vec<OsString> = wanted.command.iter().map(|word| expand(word, &world.suite_root)).collect();
        let mut files = Vec::new();
        for file in wanted.files {
            let path = file.under(&world.suite_root);
            if !path.is_file() {
                return Err(McpError::NoFile(file.clone()));
            }
            files.push(path);
        }
        let value = |name: &String| (world.variable)(name).map(|value| (name.clone(), value));
        let environment = wanted.env.iter().filter_map(value).collect();
        Ok(Self { sandbox, words, environment, files })
    }

    /// Whether the program is anywhere on this machine. A container has programs of its own.
    pub(super) fn check_presence(&self, world: &Surroundings) -> Result<(), McpError> {
        let Some(word) = self.words.first() else { return Ok(()) };
        let path = Path::new(word);
        let is_there = if path.components().count() > 1 {
            path.is_file()
        } else {
            let folders = world.program_path.as_deref().unwrap_or_default();
            std::env::split_paths(folders).any(|folder| folder.join(path).is_file())
        };
        let program = || proofmark_artefact::text::excerpt(&word.to_string_lossy(), 120);
        if is_there { Ok(()) } else { Err(McpError::NoProgram { program: program() }) }
    }

    pub(super) fn start(&self, workspace: &Workspace) -> Result<(Process, ChildStdout, ChildStdin), McpError> {
        let mut command = self.sandbox.command(&self.words, workspace, &self.environment, &self.files)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).kill_on_drop(true).spawn().map_err(McpError::Start)?;
        let group = Group::of(child.id());
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let tail = Arc::<Mutex<Vec<u8>>>::default();
        let drain = stderr.map(|stderr| tokio::spawn(drain(stderr, Arc::clone(&tail))));
        // Before the pipes are looked at: what was started is killed whatever comes.
        let process = Process { child, group, tail, drain };
        match (stdout, stdin) {
            (Some(stdout), Some(stdin)) => Ok((process, stdout, stdin)),
            _ => Err(McpError::Start(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

/// A running program. Dropping it kills its whole group.
pub(super) struct Process {
    child: Child,
    group: Group,
    /// The end of stderr, for people who look for the reason why nothing works.
    tail: Arc<Mutex<Vec<u8>>>,
    drain: Option<JoinHandle<()>>,
}

impl Process {
    /// Kills the group and waits until its leader is gone. Returns the end of stderr.
    pub(super) async fn end(mut self) -> Vec<u8> {
        self.group.kill();
        // A process that cannot be waited for is left to the runtime, which reaps what it has started.
        if timeout(REAP, self.child.wait()).await.is_ok() {
            self.group.forget();
        }
        if let Some(mut drain) = self.drain.take() {
            // What left the group may hold the pipe for ever.
            if timeout(DRAIN, &mut drain).await.is_err() {
                drain.abort();
            }
        }
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(drain) = &self.drain {
            drain.abort();
        }
    }
}

/// A stdin that takes everything. A program that has ended does not read, but what it said before still counts.
pub(super) struct Patient<W>(pub(super) W);

impl<W: AsyncWrite + Unpin> AsyncWrite for Patient<W> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes).map(|written| written.or(Ok(bytes.len())))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx).map(|_| Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx).map(|_| Ok(()))
    }
}

/// Puts the suite's root where a command says `{suite}`.
fn expand(word: &str, root: &Path) -> OsString {
    let mut out = OsString::new();
    for (at, part) in word.split("{suite}").enumerate() {
        if at > 0 {
            out.push(root);
        }
        out.push(part);
    }
    out
}

/// Reads a stream to its end and keeps its last bytes.
async fn drain<R: AsyncRead + Unpin>(mut stream: R, tail: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = vec![0; 16 << 10];
    while let Ok(read @ 1..) = stream.read(&mut chunk).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(&chunk[..read]);
        let excess = tail.len().saturating_sub(TAIL);
        tail.drain(..excess);
    }
}

const TAIL: usize = 1 << 10;
const REAP: Duration = Duration::from_secs(5);
const DRAIN: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_stands_wherever_a_word_says_so() {
        let root = Path::new("/a b");
        for (word, want) in [
            ("{suite}/x.py", "/a b/x.py"),
            ("--in={suite}:{suite}", "--in=/a b:/a b"),
            ("{Suite} {suit", "{Suite} {suit"),
            ("", ""),
        ] {
            assert_eq!(expand(word, root), OsString::from(want), "{word}");
        }
    }

    #[tokio::test]
    async fn only_the_end_of_stderr_is_kept() {
        let tail = Arc::default();
        let mut text = vec![b'x'; 300_000];
        text.extend_from_slice(b"the end");
        drain(&text[..], Arc::clone(&tail)).await;
        let tail = tail.lock().unwrap();
        assert!(tail.len() == TAIL && tail.ends_with(b"the end"));
    }
}
