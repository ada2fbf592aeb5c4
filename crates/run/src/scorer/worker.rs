//! One process of a command scorer, in a group of its own.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use proofmark_process::Group;
use proofmark_process::pipe::write;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};

/// What is started, and where.
#[derive(Debug)]
pub(super) struct Program {
    /// The scorer's name, for messages.
    pub(super) scorer: String,
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) folder: PathBuf,
    pub(super) path: Option<OsString>,
}

/// A running process. Dropping it kills its whole group.
#[derive(Debug)]
pub(super) struct Worker {
    child: Child,
    group: Group,
    /// `None` once the process stopped reading or was asked to finish.
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    stderr: Option<ChildStderr>,
    /// The last bytes of its stderr.
    tail: Vec<u8>,
    is_used: bool,
}

/// A line that came back.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) line: Vec<u8>,
    /// Whether the process took the whole request and may be asked again.
    pub(super) reusable: bool,
}

/// Why no line came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// Its stdout ended; `silent` when it had written nothing since the last line.
    Ended { silent: bool },
    /// A line of more than [`MAX_LINE`] bytes.
    TooLong,
    /// It wrote something that no request asked for.
    Unasked,
}

/// How a process that was killed had ended.
#[derive(Debug)]
pub(super) struct End {
    pub(super) how: String,
    pub(super) stderr: String,
}

impl Worker {
    pub(super) fn start(program: &Program) -> io::Result<Self> {
        let mut command = Command::new(&program.program);
        command.args(&program.arguments).current_dir(&program.folder);
        command.env_clear().env("LANG", "C.UTF-8");
        if let Some(path) = &program.path {
            command.env("PATH", path);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
        let group = Group::of(child.id());
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let stdout = child.stdout.take().ok_or_else(|| io::Error::other("it has no stdout"))?;
        Ok(Self { child, group, stdin, stdout, stderr, tail: Vec::new(), is_used: false })
    }

    /// Writes a request and reads one line. When it is cut short, the worker must not be asked again.
    pub(super) async fn ask(&mut self, request: &[u8]) -> Result<Reply, Broken> {
        if self.is_used {
            self.check_quiet().await?;
        }
        self.is_used = true;
        self.tail.clear();
        let mut line = Vec::new();
        let mut written = 0;
        let mut out = vec![0; CHUNK];
        let mut err = vec![0; CHUNK];
        loop {
            // In this order: a process that floods its stderr cannot keep the request from going out.
            tokio::select! {
                biased;
                read = self.stdout.read(&mut out) => {
                    let read = read.unwrap_or(0);
                    if read == 0 {
                        return Err(Broken::Ended { silent: line.is_empty() });
                    }
                    let found = out[..read].iter().position(|byte| *byte == b'\n');
                    line.extend_from_slice(&out[..found.unwrap_or(read)]);
                    if line.len() > MAX_LINE {
                        return Err(Broken::TooLong);
                    }
                    if let Some(end) = found {
                        if end + 1 < read {
                            return Err(Broken::Unasked);
                        }
                        return Ok(Reply { line, reusable: written == request.len() && self.stdin.is_some() });
                    }
                }
                wrote = write(&mut self.stdin, &request[written..]), if written < request.len() && self.stdin.is_some() => {
                    match wrote {
                        Ok(bytes) if bytes > 0 => written += bytes,
                        // It does not read; what it says still counts.
                        _ => self.stdin = None,
                    }
                }
                read = read(&mut self.stderr, &mut err), if self.stderr.is_some() => {
                    match read {
                        Ok(bytes) if bytes > 0 => self.keep(&err[..bytes]),
                        _ => self.stderr = None,
                    }
                }
            }
        }
    }

    /// Kills the group, waits for the leader and tells how it had ended.
    pub(super) async fn kill(mut self) -> End {
        self.group.kill();
        let mut chunk = vec![0; CHUNK];
        // A process that left the group may hold the pipe open for ever.
        let deadline = Instant::now() + DRAIN;
        while let Ok(Ok(bytes @ 1..)) = timeout_at(deadline, read(&mut self.stderr, &mut chunk)).await {
            self.keep(&chunk[..bytes]);
        }
        let status = timeout(REAP, self.child.wait()).await;
        if matches!(status, Ok(Ok(_))) {
            self.group.forget();
        }
        let how = match status {
            Ok(Ok(status)) => how(status),
            _ => "cannot be stopped".to_owned(),
        };
        End { how, stderr: String::from_utf8_lossy(&self.tail).into_owned() }
    }

    /// Ends a process that is not asked again; returns whether it wrote nothing more.
    pub(super) async fn let_go(mut self, deadline: Instant) -> bool {
        self.stdin = None;
        let deadline = deadline.min(Instant::now() + POLITE);
        let (mut out, mut err) = (vec![0; CHUNK], vec![0; CHUNK]);
        let mut was_quiet = true;
        while was_quiet {
            let more = timeout_at(deadline, async {
                tokio::select! {
                    biased;
                    read = self.stdout.read(&mut out) => read.unwrap_or(0).checked_sub(1).map(|last| &out[..=last]),
                    read = read(&mut self.stderr, &mut err), if self.stderr.is_some() => {
                        if !matches!(read, Ok(1..)) {
                            self.stderr = None;
                        }
                        Some(&out[..0])
                    }
                }
            });
            // Its end, or a process that stays although nobody talks to it.
            let Ok(Some(more)) = more.await else { break };
            was_quiet = more.trim_ascii().is_empty();
        }
        self.kill().await;
        was_quiet
    }

    /// Ends processes that nobody asks any more: first their stdin, and what then still runs is killed.
    pub(super) async fn stop(mut workers: Vec<Self>) {
        for worker in &mut workers {
            worker.stdin = None;
        }
        let deadline = Instant::now() + POLITE;
        let mut chunk = vec![0; CHUNK];
        for mut worker in workers {
            // The end of its stdout is the end of the leader, without giving up the leader's id.
            while let Ok(Ok(1..)) = timeout_at(deadline, worker.stdout.read(&mut chunk)).await {}
            worker.kill().await;
        }
    }

    /// Looks whether the process wrote or ended since its last line.
    async fn check_quiet(&mut self) -> Result<(), Broken> {
        let mut byte = [0];
        tokio::select! {
            biased;
            read = self.stdout.read(&mut byte) => match read {
                Ok(1..) => Err(Broken::Unasked),
                _ => Err(Broken::Ended { silent: true }),
            },
            () = std::future::ready(()) => Ok(()),
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        let excess = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..excess);
    }
}

async fn read(stderr: &mut Option<ChildStderr>, chunk: &mut [u8]) -> io::Result<usize> {
    match stderr {
        Some(stderr) => stderr.read(chunk).await,
        None => Ok(0),
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        // Ours: it had closed its stdout and still ran.
        (None, Some(9)) => "closed its output".to_owned(),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
    }
}

/// How long a verdict line may be.
pub(super) const MAX_LINE: usize = 1 << 20;
const CHUNK: usize = 16 << 10;
const TAIL: usize = 2 << 10;
const DRAIN: Duration = Duration::from_millis(200);
const REAP: Duration = Duration::from_secs(5);
const POLITE: Duration = Duration::from_secs(1);
