//! One start of a program, in a process group of its own.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use proofmark_process::pipe::{read, write};
use proofmark_process::{Ends, Group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep_until, timeout_at};

/// What is started.
#[derive(Debug)]
pub(super) struct Launch<'a> {
    pub(super) program: &'a Path,
    pub(super) arguments: &'a [OsString],
    pub(super) folder: &'a Path,
    pub(super) environment: &'a [(String, OsString)],
    /// `None` for a program that is given no stdin at all.
    pub(super) input: Option<&'a [u8]>,
    pub(super) timeout: Duration,
    pub(super) max_output: usize,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) end: Result<Ended, Broken>,
    pub(super) first_byte: Option<Duration>,
    /// Bytes of stdout.
    pub(super) read: usize,
}

/// The program ended by itself.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    /// Its last bytes.
    pub(super) stderr: Vec<u8>,
}

/// It did not.
#[derive(Debug)]
pub(super) enum Broken {
    /// It never began.
    Start(io::Error),
    TimedOut,
    /// More than [`Launch::max_output`] bytes on the stream of this name.
    Flood(&'static str),
    /// It cannot be watched or stopped.
    Lost(io::Error),
}

/// Starts the program and waits for its end; whatever it started is dead when this returns. Dropping the future
/// kills the group, too.
pub(super) async fn run(launch: &Launch<'_>) -> Run {
    let started = Instant::now();
    let mut process = match Process::start(launch) {
        Ok(process) => process,
        Err(error) => return Run { end: Err(Broken::Start(error)), first_byte: None, read: 0 },
    };
    let watched = process.watch(launch, started).await;
    let (first_byte, read) = (process.first_byte, process.out.len());
    let reaped = process.group.reap(&mut process.child, DRAIN).await;
    let end = match (watched, reaped) {
        (Err(broken), _) => Err(broken),
        (Ok(()), Err(error)) => Err(Broken::Lost(error)),
        (Ok(()), Ok(status)) => Ok(Ended {
            status,
            stdout: std::mem::take(&mut process.out),
            stderr: std::mem::take(&mut process.err.tail),
        }),
    };
    Run { end, first_byte, read }
}

/// A running program. Dropping it kills its whole group.
#[derive(Debug)]
struct Process {
    child: Child,
    group: Group,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    ends: Ends,
    out: Vec<u8>,
    err: Tail,
    first_byte: Option<Duration>,
}

/// How much was read, and the end of it.
#[derive(Debug, Default)]
struct Tail {
    read: usize,
    tail: Vec<u8>,
}

impl Process {
    fn start(launch: &Launch<'_>) -> io::Result<Self> {
        let mut command = Command::new(launch.program);
        command.args(launch.arguments).current_dir(launch.folder).env_clear();
        command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(if launch.input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let ends = Ends::listen()?;
        let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
        let group = Group::of(child.id());
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (out, err) = (Vec::new(), Tail::default());
        Ok(Self { child, group, stdin, stdout, stderr, ends, out, err, first_byte: None })
    }

    /// Feeds and reads the program until it ended.
    async fn watch(&mut self, launch: &Launch<'_>, started: Instant) -> Result<(), Broken> {
        let deadline = started + launch.timeout;
        let input = launch.input.unwrap_or_default();
        let mut written = 0;
        let (mut out, mut err) = (vec![0; CHUNK], vec![0; CHUNK]);
        loop {
            if written == input.len() {
                self.stdin = None;
            }
            // In this order: a program that floods cannot keep its time from running out.
            tokio::select! {
                biased;
                () = sleep_until(deadline) => return Err(Broken::TimedOut),
                ended = self.ends.of(&self.group) => {
                    ended.map_err(Broken::Lost)?;
                    break;
                }
                read = read(&mut self.stdout, &mut out), if self.stdout.is_some() => {
                    self.keep_out(&out[..read], launch, started)?;
                }
                wrote = write(&mut self.stdin, &input[written..]), if self.stdin.is_some() => {
                    match wrote {
                        Ok(bytes) if bytes > 0 => written += bytes,
                        // It does not read; what it says still counts.
                        _ => written = input.len(),
                    }
                }
                read = read(&mut self.stderr, &mut err), if self.stderr.is_some() => {
                    self.keep_err(&err[..read], launch)?;
                }
            }
        }
        // What it left behind would hold the pipes open; what it wrote itself is in them.
        self.group.kill();
        let deadline = Instant::now() + DRAIN;
        while self.stdout.is_some() || self.stderr.is_some() {
            let more = async {
                tokio::select! {
                    biased;
                    read = read(&mut self.stdout, &mut out), if self.stdout.is_some() => (read, 0),
                    read = read(&mut self.stderr, &mut err), if self.stderr.is_some() => (0, read),
                }
            };
            // A process that left the group may hold a pipe for ever.
            let Ok((from_out, from_err)) = timeout_at(deadline, more).await else { break };
            self.keep_out(&out[..from_out], launch, started)?;
            self.keep_err(&err[..from_err], launch)?;
        }
        Ok(())
    }

    fn keep_out(&mut self, bytes: &[u8], launch: &Launch<'_>, started: Instant) -> Result<(), Broken> {
        if !bytes.is_empty() && self.first_byte.is_none() {
            self.first_byte = Some(started.elapsed());
        }
        if bytes.len() > launch.max_output.saturating_sub(self.out.len()) {
            return Err(Broken::Flood("stdout"));
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn keep_err(&mut self, bytes: &[u8], launch: &Launch<'_>) -> Result<(), Broken> {
        self.err.read = self.err.read.saturating_add(bytes.len());
        if self.err.read > launch.max_output {
            return Err(Broken::Flood("stderr"));
        }
        self.err.tail.extend_from_slice(bytes);
        // Cut now and then, not at every read.
        if self.err.tail.len() > 2 * TAIL {
            self.err.tail.drain(..self.err.tail.len() - TAIL);
        }
        Ok(())
    }
}

const CHUNK: usize = 16 << 10;
const TAIL: usize = 32 << 10;
const DRAIN: Duration = Duration::from_millis(200);
