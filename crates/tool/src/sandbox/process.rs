//! One start of a program: fed, read, timed, and dead with everything it started.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use proofmark_artefact::suite::solver::LimitsPlan;
use proofmark_process::pipe::{read, write};
use proofmark_process::{Ends, Group};
use rustix::process::Pid;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::{MIB, watch};

/// What a program left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Its first bytes; all of them when it [`End::Exited`].
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub end: End,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself or by a signal, which is 128 and its number.
    Exited(i32),
    /// Killed: it took too long.
    TimedOut,
    /// Killed: it printed more than may be read.
    Flooded,
    /// Killed: its processes together had more memory than they may.
    OverMemory,
    /// Killed: it had more processes than it may.
    OverProcesses,
    /// The sample's files are more, or larger, than they may be. Killed, unless that was found when it had ended.
    OverDisk,
}

/// What is started.
pub(super) struct Launch<'a> {
    pub(super) command: Command,
    pub(super) leash: Option<Leash>,
    pub(super) input: &'a [u8],
    pub(super) timeout: Duration,
    /// Bytes of each stream.
    pub(super) max_output: usize,
    pub(super) limits: &'a LimitsPlan,
    /// The sample's files.
    pub(super) folder: &'a Path,
    /// Whether nobody else limits the number of processes.
    pub(super) counts_processes: bool,
}

/// Another program that ends what the started one only speaks to.
pub(super) struct Leash {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Leash {
    pub(super) fn new(program: PathBuf, arguments: Vec<OsString>) -> Self {
        Self { program, arguments }
    }
}

/// A leash on something that runs. Pulled when dropped, unless that ended by itself.
struct Held(Option<Leash>);

impl Held {
    fn let_go(&mut self) {
        self.0 = None;
    }

    /// Waits until it is ended.
    async fn pull(&mut self) {
        if let Some(leash) = self.0.take() {
            let mut command = Command::new(&leash.program);
            command.args(&leash.arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            // Nothing can be done when this fails, too.
            let _ = timeout(PULL, command.kill_on_drop(true).status()).await;
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(leash) = self.0.take() {
            let mut command = std::process::Command::new(leash.program);
            command.args(leash.arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            // A thread, as nobody can wait here.
            let _ = std::thread::Builder::new().spawn(move || command.status());
        }
    }
}

/// Starts the program and waits for its end; whatever it started is dead when this returns. Dropping the future
/// kills it, too.
pub(super) async fn run(launch: Launch<'_>) -> io::Result<Ran> {
    let Launch { command, leash, input, timeout, max_output, limits, folder, counts_processes } = launch;
    let deadline = Instant::now().checked_add(timeout);
    let watch = Watch { limits, folder, counts_processes, next_disk: Instant::now() + DISK };
    let mut process = Process::start(command, max_output)?;
    let mut held = Held(leash);
    let ended_early = process.watch(input, deadline, watch).await?;
    let status = process.group.reap(&mut process.child, DRAIN).await?;
    match ended_early {
        Some(_) => held.pull().await,
        None => held.let_go(),
    }
    let end = ended_early.unwrap_or_else(|| End::Exited(code_of(status)));
    let (stdout, stderr) = (std::mem::take(&mut process.out), std::mem::take(&mut process.err));
    Ok(Ran { stdout, stderr, end })
}

/// A running program. Dropping it kills its whole group.
struct Process {
    child: Child,
    group: Group,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    ends: Ends,
    out: Vec<u8>,
    err: Vec<u8>,
    max_output: usize,
}

/// What is looked at now and then.
struct Watch<'a> {
    limits: &'a LimitsPlan,
    folder: &'a Path,
    counts_processes: bool,
    next_disk: Instant,
}

impl Process {
    fn start(mut command: Command, max_output: usize) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ends = Ends::listen()?;
        let mut child = command.spawn()?;
        let group = Group::of(child.id());
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Ok(Self { child, group, stdin, stdout, stderr, ends, out: Vec::new(), err: Vec::new(), max_output })
    }

    /// Feeds and reads the program until it ended, or until it must be ended.
    async fn watch(
        &mut self,
        input: &[u8],
        deadline: Option<Instant>,
        mut watch: Watch<'_>,
    ) -> io::Result<Option<End>> {
        let mut written = 0;
        let mut next_look = Instant::now() + LOOK;
        let (mut out, mut err) = (vec![0; CHUNK], vec![0; CHUNK]);
        loop {
            if written == input.len() {
                self.stdin = None;
            }
            // In this order: a program that floods cannot keep its time from running out.
            tokio::select! {
                biased;
                () = until(deadline) => return Ok(Some(End::TimedOut)),
                () = sleep_until(next_look) => {
                    if let Some(end) = self.group.leader().and_then(|group| watch.look(group)) {
                        return Ok(Some(end));
                    }
                    next_look = Instant::now() + LOOK;
                }
                ended = self.ends.of(&self.group) => {
                    ended?;
                    break;
                }
                read = read(&mut self.stdout, &mut out), if self.stdout.is_some() => {
                    if !keep(&mut self.out, &out[..read], self.max_output) {
                        return Ok(Some(End::Flooded));
                    }
                }
                wrote = write(&mut self.stdin, &input[written..]), if self.stdin.is_some() => {
                    match wrote {
                        Ok(bytes) if bytes > 0 => written += bytes,
                        // It does not read; what it says still counts.
                        _ => written = input.len(),
                    }
                }
                read = read(&mut self.stderr, &mut err), if self.stderr.is_some() => {
                    if !keep(&mut self.err, &err[..read], self.max_output) {
                        return Ok(Some(End::Flooded));
                    }
                }
            }
        }
        self.drain(&mut out, &mut err).await
    }

    /// Reads what is still in the pipes. They close when the last process of the sandbox is gone.
    async fn drain(&mut self, out: &mut [u8], err: &mut [u8]) -> io::Result<Option<End>> {
        self.group.kill();
        let deadline = Instant::now() + DRAIN;
        while self.stdout.is_some() || self.stderr.is_some() {
            let more = async {
                tokio::select! {
                    biased;
                    read = read(&mut self.stdout, out), if self.stdout.is_some() => (read, 0),
                    read = read(&mut self.stderr, err), if self.stderr.is_some() => (0, read),
                }
            };
            // Unconfined, a process that left the group may hold a pipe for ever.
            let Ok((from_out, from_err)) = timeout_at(deadline, more).await else { break };
            let fits = keep(&mut self.out, &out[..from_out], self.max_output)
                && keep(&mut self.err, &err[..from_err], self.max_output);
            if !fits {
                return Ok(Some(End::Flooded));
            }
        }
        Ok(None)
    }
}

impl Watch<'_> {
    fn look(&mut self, group: Pid) -> Option<End> {
        let processes = watch::processes(group);
        if processes.memory > u64::from(self.limits.memory_mb) * MIB + OVERHEAD {
            return Some(End::OverMemory);
        }
        if self.counts_processes && processes.count > u64::from(self.limits.pids) {
            return Some(End::OverProcesses);
        }
        let now = Instant::now();
        if now >= self.next_disk {
            let is_over = watch::is_over(&watch::disk(self.folder), self.limits);
            // Thousands of files take a while: not more than a tenth of the time.
            self.next_disk = Instant::now() + DISK.max(now.elapsed() * 9);
            if is_over {
                return Some(End::OverDisk);
            }
        }
        None
    }
}

/// Whether all bytes could be kept. As many are as fit.
fn keep(kept: &mut Vec<u8>, bytes: &[u8], most: usize) -> bool {
    let room = most.saturating_sub(kept.len()).min(bytes.len());
    kept.extend_from_slice(&bytes[..room]);
    room == bytes.len()
}

fn code_of(status: ExitStatus) -> i32 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => -1,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

const CHUNK: usize = 16 << 10;
const DRAIN: Duration = Duration::from_secs(1);
const PULL: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(100);
const DISK: Duration = Duration::from_millis(250);
/// Memory beyond the limit of one process that all of them together may have: stacks, and the sandbox's own.
const OVERHEAD: u64 = 32 * MIB;
