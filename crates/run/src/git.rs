//! The repository that holds a suite, as it is before a run starts.
//!
//! `git` itself is asked, with a time limit, without hooks, without the file system monitor and without the caller's
//! environment. It missing, failing or taking too long is no error: then nothing is known.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use proofmark_artefact::witness::GitState;
use rustix::process::{Pid, Signal, kill_process_group};

/// How git is called.
#[derive(Debug, Clone)]
pub struct Git {
    /// Where programs are found.
    pub path: Option<OsString>,
    /// Where its configuration is: the owners of folders that it trusts.
    pub home: Option<PathBuf>,
    /// For all calls together.
    pub limit: Duration,
}

impl Git {
    /// Looks at the repository that holds a folder. What is inside the run directory does not make it dirty: the run
    /// writes there itself, and a resumed run has done so already.
    pub fn look(&self, folder: &Path, run_dir: &Path) -> GitState {
        let deadline = Instant::now() + self.limit;
        let text = |arguments: &[&str]| self.text(folder, arguments, deadline);
        let Some(top) = text(&["rev-parse", "--show-toplevel"]) else { return GitState::default() };
        let top = PathBuf::from(OsStr::from_bytes(&top));
        let top = top.canonicalize().unwrap_or(top);
        let commit = text(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
            .and_then(|line| String::from_utf8(line).ok())
            .filter(|id| matches!(id.len(), 40 | 64) && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
        let dirty = commit.as_ref().and_then(|_| self.is_dirty(&top, run_dir, deadline));
        GitState { commit, dirty, top: Some(top) }
    }

    fn is_dirty(&self, top: &Path, run_dir: &Path, deadline: Instant) -> Option<bool> {
        let own = run_dir.strip_prefix(top).ok().map(|path| path.as_os_str().as_bytes().to_vec());
        // Every untracked file by its name: a folder may hold the run directory and something else.
        let arguments = ["status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all"];
        let look = move |stdout: ChildStdout| has_change(stdout, own.as_deref());
        match self.ask(top, &arguments, deadline, look)? {
            // It was told to stop as soon as one change was seen.
            (true, _) => Some(true),
            (false, is_good) => is_good.then_some(false),
        }
    }

    /// One line of output, without its end.
    fn text(&self, folder: &Path, arguments: &[&str], deadline: Instant) -> Option<Vec<u8>> {
        let read = |stdout: ChildStdout| {
            let mut bytes = Vec::new();
            // What came before an error is no line.
            let _ = stdout.take(MAX_LINE).read_to_end(&mut bytes);
            bytes
        };
        let (bytes, is_good) = self.ask(folder, arguments, deadline, read)?;
        let line = bytes.strip_suffix(b"\n")?;
        (is_good && !line.is_empty()).then(|| line.to_vec())
    }

    /// Starts git, hands its output to a reader and says whether it ended well.
    fn ask<T: Send + 'static>(
        &self,
        folder: &Path,
        arguments: &[&str],
        deadline: Instant,
        read: impl FnOnce(ChildStdout) -> T + Send + 'static,
    ) -> Option<(T, bool)> {
        let mut command = Command::new("git");
        command
            .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C"])
            .arg(folder)
            .args(arguments);
        command.env_clear().env("PATH", self.path.as_ref()?).env("LC_ALL", "C");
        // Looking must not write: `status` would refresh the index.
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0");
        command.envs(self.home.as_ref().map(|home| ("HOME", home)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().ok()?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let stdout = child.stdout.take();
        let (sender, receiver) = channel();
        let reader = std::thread::Builder::new().name("git".to_owned()).spawn(move || {
            // Nobody listens any more when the time is up.
            let _ = sender.send(stdout.map(read));
        });
        let left = deadline.saturating_duration_since(Instant::now());
        let value = reader.ok().and_then(|_| receiver.recv_timeout(left).ok()).flatten();
        let mut is_good = false;
        while value.is_some() && Instant::now() < deadline {
            match child.try_wait() {
                Ok(Some(status)) => {
                    is_good = status.success();
                    break;
                }
                Ok(None) => std::thread::sleep(TICK),
                Err(_) => break,
            }
        }
        if let Some(group) = group.filter(|_| !matches!(child.try_wait(), Ok(Some(_)))) {
            // Fails only when nothing of the group is left.
            let _ = kill_process_group(group, Signal::KILL);
            let _ = child.wait();
        }
        value.map(|value| (value, is_good))
    }
}

/// Whether `status --porcelain=v2 -z` lists anything outside a folder.
fn has_change(mut output: impl Read, own: Option<&[u8]>) -> bool {
    let mut entry: Vec<u8> = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = match output.read(&mut buffer) {
            Ok(0) => return false,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return false,
            Ok(read) => read,
        };
        let mut rest = &buffer[..read];
        while let Some(end) = rest.iter().position(|byte| *byte == 0) {
            entry.extend_from_slice(&rest[..end]);
            if !is_inside(&entry, own) {
                return true;
            }
            entry.clear();
            rest = &rest[end + 1..];
        }
        entry.extend_from_slice(rest);
        if entry.len() > MAX_ENTRY {
            return true;
        }
    }
}

/// Whether an entry is about something in a folder.
fn is_inside(entry: &[u8], own: Option<&[u8]>) -> bool {
    let fields = match entry.first() {
        Some(b'1') => 8,
        Some(b'u') => 10,
        Some(b'?' | b'!') => 1,
        _ => return false,
    };
    let path = entry.splitn(fields + 1, |byte| *byte == b' ').nth(fields);
    match (path, own) {
        (Some(path), Some(own)) => path.strip_prefix(own).is_some_and(|rest| rest.first() == Some(&b'/')),
        _ => false,
    }
}

const MAX_LINE: u64 = 64 << 10;
/// A path and a few fields.
const MAX_ENTRY: usize = 1 << 20;
const TICK: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[expect(clippy::disallowed_methods, reason = "programs that tests call are found where the caller finds them")]
    fn search_path() -> Option<OsString> {
        std::env::var_os("PATH")
    }

    fn git() -> Git {
        Git { path: search_path(), home: None, limit: Duration::from_secs(60) }
    }

    struct Repository(tempfile::TempDir);

    impl Repository {
        fn new() -> Self {
            let repository = Self(tempfile::tempdir().unwrap());
            repository.call(&["init", "-q", "-b", "main"]);
            repository.call(&["config", "user.email", "a@example.org"]);
            repository.call(&["config", "user.name", "a"]);
            repository
        }

        fn call(&self, arguments: &[&str]) {
            let ran = Command::new("git").arg("-C").arg(self.0.path()).args(arguments).output().unwrap();
            assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        }

        fn put(&self, name: &str, text: &str) {
            let path = self.0.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            proofmark_artefact::store::write_atomic(&path, text.as_bytes()).unwrap();
        }

        fn commit(&self) {
            self.call(&["add", "-A"]);
            self.call(&["commit", "-q", "-m", "x"]);
        }

        fn top(&self) -> PathBuf {
            self.0.path().canonicalize().unwrap()
        }

        fn look(&self, run_dir: &str) -> GitState {
            git().look(&self.top().join("evals"), &self.top().join(run_dir))
        }
    }

    #[test]
    fn clean_dirty_and_untracked_are_told_apart_and_the_run_directory_does_not_count() {
        let repository = Repository::new();
        repository.put("evals/suite.yaml", "a");
        repository.put("runs/old/report.md", "a");
        repository.commit();
        let clean = repository.look("runs/new");
        assert_eq!(clean.top.as_deref(), Some(repository.top().as_path()));
        assert_eq!(clean.commit.as_ref().map(String::len), Some(40));
        assert_eq!(clean.dirty, Some(false));
        // The run's own directory, tracked or not.
        repository.put("runs/new/.proofmark/journal.jsonl", "a");
        repository.put("runs/old/report.md", "b");
        assert_eq!(repository.look("runs").dirty, Some(false));
        assert_eq!(repository.look("runs/new").dirty, Some(true), "another run was changed");
        repository.call(&["checkout", "-q", "runs/old"]);
        assert_eq!(repository.look("runs/new").dirty, Some(false));
        assert_eq!(repository.look("runs/ne").dirty, Some(true), "a name that begins the same is another folder");
        repository.put("evals/new data \u{e9}\n.jsonl", "a");
        assert_eq!(repository.look("runs/new").dirty, Some(true), "an untracked file is at no commit");
        repository.put(".gitignore", "evals/new*\n");
        repository.call(&["add", ".gitignore"]);
        assert_eq!(repository.look("runs/new").dirty, Some(true), "staged");
        repository.call(&["commit", "-q", "-m", "ignore"]);
        assert_eq!(repository.look("runs/new").dirty, Some(false), "an ignored file does not count");
        fs::remove_file(repository.top().join("evals/suite.yaml")).unwrap();
        assert_eq!(repository.look("runs/new").dirty, Some(true), "a file that is gone");
    }

    #[test]
    fn a_detached_head_is_a_commit_and_a_repository_without_one_has_none() {
        let repository = Repository::new();
        repository.put("evals/suite.yaml", "a");
        let unborn = repository.look("run");
        assert_eq!((unborn.commit, unborn.dirty), (None, None));
        assert!(unborn.top.is_some());
        repository.commit();
        let attached = repository.look("run");
        repository.call(&["checkout", "-q", "--detach"]);
        assert_eq!(repository.look("run"), attached);
        assert!(attached.commit.is_some());
    }

    #[test]
    fn no_repository_no_git_and_no_time_give_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(git().look(dir.path(), dir.path()), GitState::default());
        let repository = Repository::new();
        repository.put("evals/suite.yaml", "a");
        repository.commit();
        let look = |git: Git| git.look(&repository.top(), Path::new("/nonexistent"));
        assert_eq!(look(Git { path: Some("/nonexistent".into()), ..git() }), GitState::default());
        assert_eq!(look(Git { path: None, ..git() }), GitState::default());
        assert_eq!(look(Git { limit: Duration::ZERO, ..git() }), GitState::default());
        // A `git` that never answers is left behind.
        let script = dir.path().join("git");
        proofmark_artefact::store::write_atomic(&script, b"#!/bin/sh\n/bin/sleep 600 & /bin/sleep 600\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&script, mode).unwrap();
        let before = Instant::now();
        let slow = Git { path: Some(dir.path().into()), home: None, limit: Duration::from_millis(200) };
        assert_eq!(look(slow), GitState::default());
        assert!(before.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn hooks_and_monitors_of_a_repository_are_not_run() {
        let repository = Repository::new();
        repository.put("evals/suite.yaml", "a");
        repository.commit();
        let trap = repository.0.path().join(".git/trap");
        let script = format!("#!/bin/sh\ntouch '{}'\n", repository.0.path().join(".git/sprung").display());
        proofmark_artefact::store::write_atomic(&trap, script.as_bytes()).unwrap();
        fs::set_permissions(&trap, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        repository.call(&["config", "core.fsmonitor", trap.to_str().unwrap()]);
        for name in ["post-index-change", "fsmonitor-watchman", "reference-transaction"] {
            fs::create_dir_all(repository.0.path().join(".git/hooks")).unwrap();
            fs::copy(&trap, repository.0.path().join(".git/hooks").join(name)).unwrap();
        }
        assert_eq!(repository.look("run").dirty, Some(false));
        assert!(!repository.0.path().join(".git/sprung").exists());
    }
}
