//! The repository that holds a suite, as it is before a run starts.
//!
//! `git` itself is asked, with a time limit, without hooks, without the file system monitor and without the caller's
//! environment. It missing, failing or taking too long is no error: then nothing is known.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use proofmark_artefact::witness::GitState;
use proofmark_process::Group;

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
    /// Starts to look at the repository that holds a folder. There is other work to do until it has answered.
    pub fn start(&self, folder: &Path) -> Looking {
        let (own, whose) = channel();
        let (sender, started) = channel();
        let (git, folder) = (self.clone(), folder.to_owned());
        // To start a program takes a moment, too. Without the thread nothing is known.
        let _ = std::thread::Builder::new().name("git".to_owned()).spawn(move || {
            // Nobody listens any more: then it ends with what is sent.
            let _ = sender.send(git.ask_both(&folder, whose));
        });
        Looking { limit: self.limit, started, own }
    }

    fn ask_both(&self, folder: &Path, whose: Receiver<Option<Vec<u8>>>) -> Started {
        let place = self.ask(folder, &["rev-parse", "--show-toplevel", HEAD], |stdout: ChildStdout| {
            let mut bytes = Vec::new();
            // What came before an error is checked like everything else.
            let _ = stdout.take(MAX_PLACE).read_to_end(&mut bytes);
            bytes
        });
        // Every untracked file by its name: a folder may hold the run directory and something else.
        let arguments = ["status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all"];
        let status = self.ask(folder, &arguments, move |stdout: ChildStdout| {
            // Nobody asks any more when the other end is gone.
            whose.recv().is_ok_and(|own| has_change(stdout, own.as_deref()))
        });
        Started { place, status }
    }

    /// Where git is. A search path may name the current folder, which whoever wrote a suite may have filled: that is
    /// passed over.
    fn program(&self) -> Option<PathBuf> {
        let folders = std::env::split_paths(self.path.as_ref()?);
        let candidates = folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join("git"));
        let is_program = |path: &PathBuf| {
            let found = path.metadata().ok();
            found.is_some_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        };
        candidates.into_iter().find(is_program)
    }

    /// Starts git and hands its output to a reader.
    fn ask<T: Send + 'static>(
        &self,
        folder: &Path,
        arguments: &[&str],
        read: impl FnOnce(ChildStdout) -> T + Send + 'static,
    ) -> Option<Asked<T>> {
        // By its place: then it is started without a copy of this process.
        let mut command = Command::new(self.program()?);
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
        let stdout = child.stdout.take();
        let (sender, receiver) = channel();
        // Without the thread there is nobody to wait for, which ends it.
        let _ = std::thread::Builder::new().name("git".to_owned()).spawn(move || {
            // Nobody listens any more when the time is up.
            let _ = sender.send(stdout.map(read));
        });
        Some(Asked { child, receiver })
    }
}

/// What git was asked.
struct Started {
    /// Where the repository is, and at which commit.
    place: Option<Asked<Vec<u8>>>,
    /// Whether it is dirty.
    status: Option<Asked<bool>>,
}

/// Git under way.
#[derive(Debug)]
pub struct Looking {
    limit: Duration,
    started: Receiver<Started>,
    /// Tells the reader of the status which folder does not count.
    own: Sender<Option<Vec<u8>>>,
}

impl Looking {
    /// What git says. What is inside the run directory does not make a repository dirty: the run writes there itself, and
    /// a resumed run has done so already.
    pub fn finish(self, run_dir: &Path) -> GitState {
        let deadline = Instant::now() + self.limit;
        let Ok(Started { place, status }) = self.started.recv_timeout(self.limit) else { return GitState::default() };
        let Some((place, is_good)) = place.and_then(|place| place.wait(deadline)) else {
            return GitState::default();
        };
        let Some((top, commit)) = place_of(&place, is_good) else { return GitState::default() };
        let top = PathBuf::from(OsStr::from_bytes(top));
        let top = top.canonicalize().unwrap_or(top);
        let own = run_dir.strip_prefix(&top).ok().map(|path| path.as_os_str().as_bytes().to_vec());
        // The reader may have given up; then there is no answer.
        let _ = self.own.send(own);
        let status = status.filter(|_| commit.is_some()).and_then(|status| status.wait(deadline));
        let dirty = match status {
            None => None,
            // It was told to stop as soon as one change was seen.
            Some((true, _)) => Some(true),
            Some((false, is_good)) => is_good.then_some(false),
        };
        GitState { commit, dirty, top: Some(top) }
    }
}

/// The folder and the commit out of `rev-parse`, which repeats what it cannot find. The folder may have any name.
fn place_of(bytes: &[u8], is_good: bool) -> Option<(&[u8], Option<String>)> {
    let lines = bytes.strip_suffix(b"\n")?;
    let at = lines.iter().rposition(|byte| *byte == b'\n')?;
    let (top, last) = (&lines[..at], &lines[at + 1..]);
    if !is_good {
        return (last == HEAD.as_bytes() && !top.is_empty()).then_some((top, None));
    }
    let is_id = matches!(last.len(), 40 | 64) && last.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let commit = std::str::from_utf8(last).ok().filter(|_| is_id).map(str::to_owned);
    (!top.is_empty()).then_some((top, commit))
}

/// A git that was started. It is gone with this.
struct Asked<T> {
    child: Child,
    receiver: Receiver<Option<T>>,
}

impl<T> Asked<T> {
    /// What the reader made of its output, and whether it ended well.
    fn wait(mut self, deadline: Instant) -> Option<(T, bool)> {
        let left = deadline.saturating_duration_since(Instant::now());
        let value = self.receiver.recv_timeout(left).ok().flatten()?;
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some((value, status.success())),
                Ok(None) => std::thread::sleep(TICK),
                Err(_) => break,
            }
        }
        Some((value, false))
    }
}

impl<T> Drop for Asked<T> {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            drop(Group::of(Some(self.child.id())));
            let _ = self.child.wait();
        }
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

const HEAD: &str = "HEAD^{commit}";
const MAX_PLACE: u64 = 64 << 10;
/// A path and a few fields.
const MAX_ENTRY: usize = 1 << 20;
const TICK: Duration = Duration::from_micros(100);

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
            git().start(&self.top().join("evals")).finish(&self.top().join(run_dir))
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
        assert_eq!(git().start(dir.path()).finish(dir.path()), GitState::default());
        let repository = Repository::new();
        repository.put("evals/suite.yaml", "a");
        repository.commit();
        let look = |git: Git| git.start(&repository.top()).finish(Path::new("/nonexistent"));
        assert_eq!(look(Git { path: Some("/nonexistent".into()), ..git() }), GitState::default());
        assert_eq!(look(Git { path: None, ..git() }), GitState::default());
        assert_eq!(
            Git { path: Some("bin::.".into()), ..git() }.program(),
            None,
            "only where nobody else puts programs"
        );
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
