//! The files of a commit, out of git's own objects.
//!
//! Trees are walked here, entry by entry, so that a link is seen as a link and a submodule as a submodule. Only ids
//! and one revision are ever said to git: no name of a file can be taken for anything else.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use proofmark_canon::Digest;

use crate::replay::git::{self, Batch, GitError, Head, PATIENCE};
use crate::replay::hash::{self, Content, MAX_RAW};
use crate::store::Hashed;

/// One commit of a repository and everything in it.
#[derive(Debug)]
pub struct Snapshot {
    commit: Commit,
    objects: Objects,
    trees: BTreeMap<String, Arc<Tree>>,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// 40 hex digits, 64 in repositories that hash with SHA-256.
    pub id: String,
    /// Seconds since 1970 when it was committed.
    pub committed_at: u64,
    tree: String,
}

/// What a commit has at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    File(ObjectId),
    Folder,
    /// A link, or something behind one.
    Link,
    /// A submodule, or something inside one.
    Submodule,
    Nothing,
}

/// The name that git gives a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectId(String);

/// A file that the commit does not have, or not in a way that pins it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    #[error("commit {commit} has no `{path}`")]
    NotThere { commit: String, path: String },
    #[error("`{path}` is a folder at commit {commit}")]
    Folder { commit: String, path: String },
    #[error("`{path}` is a link at commit {commit}, or behind one")]
    Link { commit: String, path: String },
    #[error("`{path}` is in a submodule at commit {commit}")]
    Submodule { commit: String, path: String },
    #[error("`{path}` is larger than 1 GiB at commit {commit}")]
    TooLarge { commit: String, path: String },
    #[error("cannot write a copy of `{path}`")]
    Copy { path: String, source: io::Error },
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Missing {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotThere { .. } => {
                Some("paths must be the ones of that commit; `--commit REV` names the commit that the run was made at")
            }
            Self::Link { .. } | Self::Submodule { .. } => {
                Some("its content is not part of the commit's own files, so the commit does not pin it")
            }
            Self::TooLarge { .. } => Some("`verify-replay` could not check it either"),
            Self::Git(GitError::Ownership) => Some("allow it with `git config --global --add safe.directory DIR`"),
            _ => None,
        }
    }
}

impl Snapshot {
    /// Opens a commit of the repository whose work tree starts at `top`. `None`: there is no such commit.
    pub fn open(top: &Path, revision: &str) -> Result<Option<Self>, GitError> {
        if revision.is_empty() || revision.len() > LONGEST_REVISION || revision.chars().any(char::is_control) {
            return Ok(None);
        }
        let mut objects = Objects::open(top)?;
        let Answer::Bytes { id, kind, bytes } = objects.ask(format!("{revision}^{{commit}}"), Want::Bytes)? else {
            return Ok(None);
        };
        if kind != "commit" {
            return Ok(None);
        }
        let commit = parse_commit(id, &bytes).ok_or_else(|| GitError::Failed("a commit cannot be read".to_owned()))?;
        Ok(Some(Self { commit, objects, trees: BTreeMap::new() }))
    }

    pub fn commit(&self) -> &Commit {
        &self.commit
    }

    /// Looks a path up: relative to the top, `/` between its parts.
    pub fn find(&mut self, path: &str) -> Result<Entry, GitError> {
        let mut at = Entry::Folder;
        let mut tree = self.commit.tree.clone();
        for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
            if at != Entry::Folder {
                // A file has nothing inside.
                return Ok(Entry::Nothing);
            }
            match self.tree(&tree)?.0.get(part.as_bytes()) {
                None => return Ok(Entry::Nothing),
                Some((Mode::Link, _)) => return Ok(Entry::Link),
                Some((Mode::Submodule, _)) => return Ok(Entry::Submodule),
                Some((Mode::Folder, id)) => tree.clone_from(id),
                Some((Mode::File, id)) => at = Entry::File(ObjectId(id.clone())),
            }
        }
        Ok(at)
    }

    /// Reads and hashes a file.
    pub fn read(&mut self, path: &str) -> Result<Content, Missing> {
        let id = self.file(path)?;
        match self.objects.ask(id, Want::Content)? {
            Answer::Content(content) => Ok(content),
            Answer::TooLarge => Err(Missing::TooLarge { commit: self.commit.short(), path: path.to_owned() }),
            _ => Err(gone()),
        }
    }

    /// Writes a file's bytes elsewhere and returns their digest.
    pub fn copy(&mut self, path: &str, to: File) -> Result<Digest, Missing> {
        let id = self.file(path)?;
        match self.objects.ask(id, Want::Copy(to))? {
            Answer::Copied(Ok(digest)) => Ok(digest),
            Answer::Copied(Err(source)) => Err(Missing::Copy { path: path.to_owned(), source }),
            Answer::TooLarge => Err(Missing::TooLarge { commit: self.commit.short(), path: path.to_owned() }),
            _ => Err(gone()),
        }
    }

    /// The names of the files in a folder, in git's order; nothing when it is none.
    pub fn list(&mut self, folder: &str) -> Result<Vec<String>, GitError> {
        let mut tree = self.commit.tree.clone();
        for part in folder.split('/').filter(|part| !part.is_empty() && *part != ".") {
            match self.tree(&tree)?.0.get(part.as_bytes()) {
                Some((Mode::Folder, id)) => tree.clone_from(id),
                _ => return Ok(Vec::new()),
            }
        }
        let names = self.tree(&tree)?;
        let files = names.0.iter().filter(|(_, (mode, _))| *mode == Mode::File);
        Ok(files.filter_map(|(name, _)| String::from_utf8(name.clone()).ok()).collect())
    }

    fn file(&mut self, path: &str) -> Result<String, Missing> {
        let (commit, name) = (self.commit.short(), path.to_owned());
        match self.find(path)? {
            Entry::File(ObjectId(id)) => Ok(id),
            Entry::Folder => Err(Missing::Folder { commit, path: name }),
            Entry::Link => Err(Missing::Link { commit, path: name }),
            Entry::Submodule => Err(Missing::Submodule { commit, path: name }),
            Entry::Nothing => Err(Missing::NotThere { commit, path: name }),
        }
    }

    fn tree(&mut self, id: &str) -> Result<Arc<Tree>, GitError> {
        if let Some(tree) = self.trees.get(id) {
            return Ok(Arc::clone(tree));
        }
        let broken = || GitError::Failed("a tree cannot be read".to_owned());
        let Answer::Bytes { kind, bytes, .. } = self.objects.ask(id.to_owned(), Want::Bytes)? else {
            return Err(broken());
        };
        let tree = Some(bytes).filter(|_| kind == "tree").and_then(|bytes| parse_tree(&bytes, id.len() / 2));
        let tree = Arc::new(tree.ok_or_else(broken)?);
        if self.trees.len() >= MOST_TREES {
            self.trees.clear();
        }
        self.trees.insert(id.to_owned(), Arc::clone(&tree));
        Ok(tree)
    }
}

impl Commit {
    /// The beginning of the id, for people.
    pub fn short(&self) -> String {
        self.id.chars().take(12).collect()
    }
}

/// An object that a tree names and the repository does not have: a partial clone.
fn gone() -> Missing {
    Missing::Git(GitError::Failed("an object of the commit is not in the repository".to_owned()))
}

const LONGEST_REVISION: usize = 1024;
/// Trees that are kept in memory.
const MOST_TREES: usize = 4096;
/// The largest commit or tree.
const MAX_OBJECT: u64 = 64 << 20;

/// By name: what an entry is, and its id.
#[derive(Debug, PartialEq, Eq)]
struct Tree(BTreeMap<Vec<u8>, (Mode, String)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    File,
    Folder,
    Link,
    Submodule,
}

/// Reads `mode name NUL id`, again and again.
fn parse_tree(mut bytes: &[u8], id_length: usize) -> Option<Tree> {
    let mut entries = BTreeMap::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let end = bytes.iter().position(|byte| *byte == 0).filter(|end| *end > space)?;
        let mode = match &bytes[..space] {
            b"40000" | b"040000" => Mode::Folder,
            b"120000" => Mode::Link,
            b"160000" => Mode::Submodule,
            mode if mode.starts_with(b"100") => Mode::File,
            _ => return None,
        };
        let id = bytes.get(end + 1..end + 1 + id_length)?;
        let hex = id.iter().map(|byte| format!("{byte:02x}")).collect();
        // Git writes each name once; a tree that does not is not one to rely on.
        if entries.insert(bytes[space + 1..end].to_vec(), (mode, hex)).is_some() {
            return None;
        }
        bytes = &bytes[end + 1 + id_length..];
    }
    Some(Tree(entries))
}

/// Reads the tree and the committer's time out of a commit.
fn parse_commit(id: String, bytes: &[u8]) -> Option<Commit> {
    let head = bytes.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    let (mut tree, mut committed_at) = (None, None);
    for line in head {
        if let Some(hex) = line.strip_prefix(b"tree ") {
            tree = tree.or_else(|| String::from_utf8(hex.to_vec()).ok());
        }
        if let Some(rest) = line.strip_prefix(b"committer ") {
            // The name before it may hold anything but the sign that ends the address.
            let end = rest.iter().rposition(|byte| *byte == b'>')?;
            let text = std::str::from_utf8(&rest[end + 1..]).ok()?;
            committed_at = committed_at.or_else(|| text.split_whitespace().next()?.parse().ok());
        }
    }
    let tree = tree.filter(|tree| tree.len() == id.len() && tree.bytes().all(|b| b.is_ascii_hexdigit()))?;
    Some(Commit { id, tree, committed_at: committed_at.filter(|seconds| *seconds <= LAST_SECOND)? })
}

/// The end of the year 9999: RFC 3339 has four digits.
const LAST_SECOND: u64 = 253_402_300_799;

/// A conversation with git on a thread of its own, so that it cannot make anybody wait for ever.
#[derive(Debug)]
struct Objects {
    child: Child,
    asks: Sender<(String, Want)>,
    answers: Receiver<io::Result<Answer>>,
    complaint: Receiver<String>,
}

/// What is wanted of an object.
#[derive(Debug)]
enum Want {
    /// All of a small one.
    Bytes,
    Content,
    Copy(File),
}

enum Answer {
    Missing,
    Bytes { id: String, kind: String, bytes: Vec<u8> },
    Content(Content),
    Copied(io::Result<Digest>),
    TooLarge,
}

impl Objects {
    fn open(top: &Path) -> Result<Self, GitError> {
        let (child, mut batch, complaint) = git::converse(top, &[])?;
        let (asks, asked) = channel::<(String, Want)>();
        let (send, answers) = channel();
        thread::spawn(move || {
            while let Ok((name, want)) = asked.recv() {
                if send.send(answer(&mut batch, &name, want)).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, asks, answers, complaint })
    }

    fn ask(&mut self, name: String, want: Want) -> Result<Answer, GitError> {
        // A thread that has ended shows when it does not answer.
        let _ = self.asks.send((name, want));
        match self.answers.recv_timeout(PATIENCE) {
            Ok(Ok(answer)) => Ok(answer),
            Err(RecvTimeoutError::Timeout) => Err(GitError::Silent),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                Err(git::in_words(&self.complaint.recv_timeout(Duration::from_secs(1)).unwrap_or_default()))
            }
        }
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // Nothing more is asked of it; it may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answer(batch: &mut Batch, name: &str, want: Want) -> io::Result<Answer> {
    let Some(Head { id, kind, size }) = batch.ask(name)? else { return Ok(Answer::Missing) };
    let is_blob = kind == "blob";
    let (limit, fits) = match want {
        Want::Bytes => (MAX_OBJECT, !is_blob),
        Want::Content | Want::Copy(_) => (MAX_RAW, is_blob),
    };
    if size > limit || !fits {
        batch.skip(size)?;
        return Ok(if fits { Answer::TooLarge } else { Answer::Missing });
    }
    let answer = match want {
        Want::Bytes => {
            let mut bytes = Vec::new();
            let read = batch.body(size).read_to_end(&mut bytes)?;
            Some(Answer::Bytes { id, kind, bytes }).filter(|_| read as u64 == size)
        }
        Want::Content => hash::read(batch.body(size))?.filter(|content| content.size == size).map(Answer::Content),
        Want::Copy(file) => match copy(batch.body(size), file, size)? {
            // What is left of the object is not known any more; nothing else is asked after this.
            Err(error) => return Ok(Answer::Copied(Err(error))),
            Ok(digest) => digest.map(|digest| Answer::Copied(Ok(digest))),
        },
    };
    batch.skip(0)?;
    answer.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Copies and hashes. The outer error is git's, the inner one the file's; `None`: there was less than was said.
fn copy(source: impl Read, mut file: File, size: u64) -> io::Result<io::Result<Option<Digest>>> {
    let mut source = Hashed::new(source);
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                if let Err(error) = file.write_all(&buffer[..read]) {
                    return Ok(Err(error));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let (digest, read) = source.finish();
    Ok(Ok((read == size).then_some(digest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_read_entry_by_entry_or_not_at_all() {
        let id = [0xab; 20];
        let entry = |mode: &str, name: &[u8]| [mode.as_bytes(), b" ", name, b"\0", &id].concat();
        let bytes = [
            entry("100644", b"a b\n"),
            entry("100755", b"run"),
            entry("120000", b"link"),
            entry("160000", b"sub"),
            entry("40000", b"\xff"),
        ];
        let tree = parse_tree(&bytes.concat(), 20).unwrap();
        let modes: Vec<(&[u8], Mode)> = tree.0.iter().map(|(name, (mode, _))| (name.as_slice(), *mode)).collect();
        let want: [(&[u8], Mode); 5] = [
            (b"a b\n", Mode::File),
            (b"link", Mode::Link),
            (b"run", Mode::File),
            (b"sub", Mode::Submodule),
            (b"\xff", Mode::Folder),
        ];
        assert_eq!(modes, want);
        assert_eq!(tree.0[b"run".as_slice()].1, "ab".repeat(20));
        assert_eq!(parse_tree(b"", 20), Some(Tree(BTreeMap::new())));
        let whole = entry("100644", b"a");
        for cut in 1..whole.len() {
            assert_eq!(parse_tree(&whole[..cut], 20), None, "{cut}");
        }
        assert_eq!(parse_tree(&whole, 32), None, "ids of the other length");
        assert_eq!(parse_tree(&[whole.clone(), whole].concat(), 20), None, "a name twice");
        assert_eq!(parse_tree(&entry("7", b"a"), 20), None);
    }

    #[test]
    fn a_commit_gives_its_tree_and_when_it_was_committed() {
        let (id, tree) = ("c".repeat(40), "d".repeat(40));
        let text = |committer: &str| format!("tree {tree}\nauthor A <a> 5 +0000\ncommitter {committer}\n\ntree x\n");
        let read = |committer: &str| parse_commit(id.clone(), text(committer).as_bytes());
        let commit = read("B > C <b@x> 1776852000 +0200").unwrap();
        assert_eq!((commit.committed_at, commit.tree.as_str()), (1_776_852_000, tree.as_str()));
        for wrong in ["B", "B <b>", "B <b> -5 +0000", "B <b> x +0000", "B <b> 253402300800 +0000", ""] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(parse_commit("c".repeat(64), text("B <b> 1 +0000").as_bytes()), None, "a tree of another length");
        assert_eq!(parse_commit(id.clone(), b"\n"), None);
    }
}
