//! The program run as a user would run it: in a folder of its own, with an environment of its own.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::tree::{Tree, put};

/// How long a program may take before the test calls it hung.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder with a program that is run in it. Nothing of the caller's environment but `PATH` gets through.
pub struct TestEnv {
    folder: TempDir,
    program: PathBuf,
}

impl TestEnv {
    /// Takes the program's path, such as `env!("CARGO_BIN_EXE_…")`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { folder: TempDir::new().expect("a temporary folder"), program: program.into() }
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        put(&self.path(name), bytes);
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("cannot read `{}`: {error}", path.display()))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).expect("UTF-8 text")
    }

    /// Everything in a folder; `""` for all.
    pub fn tree(&self, name: &str) -> Tree {
        Tree::read(&self.path(name))
    }

    /// Prepares a call of the program.
    pub fn call<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Call {
        let mut command = Command::new(&self.program);
        command.args(arguments);
        self.prepare(command)
    }

    /// Prepares a call through a shell that sets a file mode mask first.
    pub fn call_with_umask<S: AsRef<OsStr>>(&self, mask: &str, arguments: &[S]) -> Call {
        let mut command = Command::new("sh");
        command.args(["-c", r#"umask "$1"; shift; exec "$@""#, "sh", mask]).arg(&self.program).args(arguments);
        self.prepare(command)
    }

    /// Prepares a call that may have so many KiB of memory to write to, stacks included, and dies when it wants more.
    pub fn call_with_memory<S: AsRef<OsStr>>(&self, kib: u64, arguments: &[S]) -> Call {
        self.call_with_limits(&[("-d", kib)], arguments)
    }

    /// Prepares a call under limits that the shell's `ulimit` sets, and that end it by a signal: `-t` seconds of CPU, `-f` blocks
    /// of 512 bytes in a file.
    pub fn call_with_limits<S: AsRef<OsStr>>(&self, limits: &[(&str, u64)], arguments: &[S]) -> Call {
        let mut command = Command::new("sh");
        let set: String =
            limits.iter().map(|(option, limit)| format!("ulimit {option} {limit} || exit 99; ")).collect();
        command.args(["-c", &format!(r#"{set}exec "$@""#), "sh"]).arg(&self.program).args(arguments);
        self.prepare(command)
    }

    /// Runs the program to its end.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Ran {
        self.call(arguments).run()
    }

    fn prepare(&self, mut command: Command) -> Call {
        command.current_dir(self.root()).env_clear();
        if let Some(path) = search_path() {
            command.env("PATH", path);
        }
        Call(command)
    }
}

#[expect(clippy::disallowed_methods, reason = "programs that tests call are found where the caller finds them")]
fn search_path() -> Option<std::ffi::OsString> {
    std::env::var_os("PATH")
}

/// A program that is about to be run.
pub struct Call(Command);

impl Call {
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// Runs in another folder.
    #[must_use]
    pub fn within(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    /// Runs to the end and returns what came of it.
    ///
    /// Panics when the program takes too long, dies of a signal, or panicked itself.
    pub fn run(self) -> Ran {
        self.start().wait()
    }

    /// Starts without waiting.
    pub fn start(mut self) -> Running {
        let shown = format!("{:?}", self.0);
        let command = self.0.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a program that can be started");
        let stdout = listen(child.stdout.take().expect("piped above"));
        let stderr = listen(child.stderr.take().expect("piped above"));
        Running { child, shown, stdout, stderr }
    }
}

/// A program that is running. It is killed when dropped.
pub struct Running {
    child: Child,
    shown: String,
    stdout: Receiver<Vec<u8>>,
    stderr: Receiver<Vec<u8>>,
}

impl Running {
    /// Waits for the end, and returns the most memory that the program had, in KiB.
    pub fn wait_with_memory(self) -> (Ran, u64) {
        let status = format!("/proc/{}/status", self.id());
        let of = |text: String| -> Option<u64> {
            text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().trim_end_matches(" kB").parse().ok())
        };
        let mut most = 0;
        // A program that has ended has no memory any more.
        while let Some(now) = std::fs::read_to_string(&status).ok().and_then(of) {
            most = most.max(now);
            std::thread::sleep(Duration::from_millis(2));
        }
        (self.wait(), most)
    }

    /// Waits for the end.
    pub fn wait(mut self) -> Ran {
        let deadline = Instant::now() + PATIENCE;
        let [stdout, stderr] = [&self.stdout, &self.stderr].map(|stream| {
            match stream.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => String::from_utf8(bytes).expect("output in UTF-8"),
                Err(RecvTimeoutError::Timeout) => panic!("{} did not end in {PATIENCE:?}", self.shown),
                Err(RecvTimeoutError::Disconnected) => panic!("cannot read what {} says", self.shown),
            }
        });
        let status = self.child.wait().expect("a program that was started");
        let code = status.code().unwrap_or_else(|| panic!("{} died: {status}\n{stderr}", self.shown));
        let ran = Ran { code, stdout, stderr, shown: std::mem::take(&mut self.shown) };
        for sign in ["panicked", "RUST_BACKTRACE", "stack backtrace"] {
            assert!(!ran.stderr.contains(sign), "{ran}");
        }
        ran
    }

    /// Kills the program (signal 9) as soon as a condition holds; returns false when it ended before.
    pub fn kill_when(mut self, mut condition: impl FnMut() -> bool) -> bool {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if condition() {
                self.child.kill().expect("a program that can be killed");
                let status = self.child.wait().expect("a program that was started");
                // A program that ended by itself in the last moment was not killed.
                return status.code().is_none();
            }
            if self.child.try_wait().expect("a program that was started").is_some() {
                return false;
            }
            assert!(Instant::now() < deadline, "{} did not come so far in {PATIENCE:?}", self.shown);
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Waits until a condition holds while the program runs.
    pub fn until(&mut self, mut condition: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !condition() {
            let ended = self.child.try_wait().expect("a program that was started");
            assert!(ended.is_none(), "{} ended too early", self.shown);
            assert!(Instant::now() < deadline, "{} did not come so far in {PATIENCE:?}", self.shown);
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the program now.
    pub fn kill(self) {
        self.kill_when(|| true);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended, or the test failed and nobody waits for it any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a stream to its end, on a thread of its own.
fn listen(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if stream.read_to_end(&mut bytes).is_ok() {
            // A test that no longer listens does not want it.
            let _ = sender.send(bytes);
        }
    });
    receiver
}

/// A program that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    shown: String,
}

impl Ran {
    /// Panics with everything the program said when it ended with another code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self}");
        self
    }

    /// Panics when stdout lacks one of the texts.
    #[track_caller]
    pub fn says(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stdout.contains(text), "stdout lacks `{text}`: {self}");
        }
        self
    }

    /// Panics when stderr lacks one of the texts.
    #[track_caller]
    pub fn complains(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stderr.contains(text), "stderr lacks `{text}`: {self}");
        }
        self
    }

    /// Parses stdout as one JSON document.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("not JSON ({error}): {self}"))
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, stdout, stderr, shown } = self;
        write!(f, "{shown} ended with {code}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}
