//! Files under a root and nothing else.
//!
//! A path is followed step by step, links included, and every step stays under the root: what a link points to outside
//! is not even looked at, so that nobody learns whether it is there.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::block::Dialect;

/// Why a path is not followed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("refused: the path leaves the root")]
    Leaves,
    #[error("refused: the path is absolute")]
    Absolute,
    #[error("refused: the path is not a plain one")]
    Strange,
    #[error("refused: a link on the way leaves the root")]
    LinkOut,
    #[error("refused: links lead in circles")]
    Loop,
    #[error("there is no such file")]
    Missing,
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it cannot be read: {0}")]
    Io(#[source] io::Error),
}

/// Paths under the root that a recorded path may mean, the first one that exists wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidates {
    pub(super) paths: Vec<String>,
    /// Whether the path was absolute, recorded on another machine.
    pub(super) is_rebased: bool,
}

/// Reads a recorded path without a look at the disk.
pub(super) fn candidates(path: &str, dialect: Dialect) -> Result<Candidates, Refusal> {
    if path.is_empty() || path.chars().any(char::is_control) || path.len() > LONGEST {
        return Err(Refusal::Strange);
    }
    let bytes = path.as_bytes();
    let has_drive =
        bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && matches!(bytes[2], b'\\' | b'/');
    let is_foreign = has_drive || path.starts_with(r"\\");
    let is_absolute = is_foreign || path.starts_with('/');
    if dialect == Dialect::Proofmark {
        if is_absolute {
            return Err(Refusal::Absolute);
        }
        if path.split('/').any(|part| part == "..") {
            return Err(Refusal::Leaves);
        }
    }
    let is_separator = |c: char| c == '/' || (is_foreign && c == '\\');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split(is_separator).skip(usize::from(has_drive)) {
        match part {
            "" | "." => {}
            ".." if is_absolute => {
                parts.pop();
            }
            ".." => {
                parts.pop().ok_or(Refusal::Leaves)?;
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() || parts.len() > MOST_PARTS {
        return Err(Refusal::Strange);
    }
    let last = if is_absolute { parts.len() } else { 1 };
    Ok(Candidates { paths: (0..last).map(|from| parts[from..].join("/")).collect(), is_rebased: is_absolute })
}

const LONGEST: usize = 4096;
const MOST_PARTS: usize = 64;
const MOST_LINKS: usize = 40;

/// Opens the first candidate that is there. The root must be real: without links.
pub(super) fn open(root: &Path, candidates: &Candidates) -> Result<(File, String), Refusal> {
    let mut result = Err(Refusal::Missing);
    for path in &candidates.paths {
        result = open_one(root, path).map(|file| (file, path.clone()));
        if !matches!(result, Err(Refusal::Missing)) {
            break;
        }
    }
    result
}

fn open_one(root: &Path, path: &str) -> Result<File, Refusal> {
    let (real, seen) = follow(root, path)?;
    if !seen.is_file() {
        return Err(Refusal::NotAFile);
    }
    let file = File::open(&real).map_err(Refusal::Io)?;
    let opened = file.metadata().map_err(Refusal::Io)?;
    // Somebody may have put another file there in between.
    if opened.is_file() && is_same(&seen, &opened) { Ok(file) } else { Err(Refusal::NotAFile) }
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Follows a path to what is really there.
fn follow(root: &Path, path: &str) -> Result<(PathBuf, Metadata), Refusal> {
    let mut ahead: VecDeque<OsString> = path.split('/').map(OsString::from).collect();
    let mut real = root.to_owned();
    let mut depth = 0usize;
    let mut links = 0;
    let mut seen = fs::symlink_metadata(root).map_err(Refusal::Io)?;
    while let Some(part) = ahead.pop_front() {
        if part == ".." {
            depth = depth.checked_sub(1).ok_or(Refusal::LinkOut)?;
            real.pop();
            seen = fs::symlink_metadata(&real).map_err(Refusal::Io)?;
            continue;
        }
        let next = real.join(&part);
        let metadata = fs::symlink_metadata(&next).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => Refusal::Missing,
            _ => Refusal::Io(error),
        })?;
        if !metadata.is_symlink() {
            real = next;
            depth += 1;
            seen = metadata;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(Refusal::Loop);
        }
        let target = fs::read_link(&next).map_err(Refusal::Io)?;
        let target = if target.is_absolute() {
            real = root.to_owned();
            depth = 0;
            target.strip_prefix(root).map_err(|_| Refusal::LinkOut)?.to_owned()
        } else {
            target
        };
        for component in target.components().rev() {
            match component {
                Component::Normal(part) => ahead.push_front(part.to_owned()),
                Component::ParentDir => ahead.push_front("..".into()),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return Err(Refusal::LinkOut),
            }
        }
        seen = fs::symlink_metadata(&real).map_err(Refusal::Io)?;
    }
    Ok((real, seen))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(path: &str, dialect: Dialect) -> Result<Vec<String>, String> {
        candidates(path, dialect).map(|found| found.paths).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_recorded_path_is_read_without_a_look_at_the_disk() {
        let own = |path| paths(path, Dialect::Proofmark);
        let ahd = |path| paths(path, Dialect::Ahd);
        assert_eq!(own("a/./b.yml").unwrap(), ["a/b.yml"]);
        for path in ["../a", "a/../b", "/a", "C:\\a", "", "a\u{1b}b", ".", "a\nb"] {
            assert!(own(path).is_err(), "{path}");
        }
        assert_eq!(ahd("./tokens/../tokens/a.yml").unwrap(), ["tokens/a.yml"]);
        assert_eq!(ahd("/u/r/t/a.yml").unwrap(), ["u/r/t/a.yml", "r/t/a.yml", "t/a.yml", "a.yml"]);
        assert_eq!(ahd("C:\\r\\a.yml").unwrap(), ["r/a.yml", "a.yml"]);
        for path in ["../a", "a/../../b", "..", "/", "a\0"] {
            assert!(ahd(path).is_err(), "{path}");
        }
        assert!(ahd(&"a/".repeat(2000)).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_inside_and_never_out() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        for name in ["root/a/x", "outside"] {
            crate::store::write_atomic(&base.join(name), b"x").unwrap();
        }
        for (target, link) in [
            ("a/x", "in"),
            ("../a/x", "a/up"),
            ("../../outside", "a/out"),
            ("../outside", "out"),
            ("../nothing", "out-dangling"),
            ("nothing", "dangling"),
            ("loop", "loop"),
            ("a", "dir"),
            ("b/../x", "a/through"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        symlink(root.join("a/x"), root.join("absolute-in")).unwrap();
        symlink(base.join("outside"), root.join("absolute-out")).unwrap();
        symlink("/", root.join("top")).unwrap();
        let result = |path: &str| match open_one(&root, path) {
            Ok(_) => "ok".to_owned(),
            Err(refusal) => format!("{refusal:?}"),
        };
        for (path, want) in [
            ("a/x", "ok"),
            ("in", "ok"),
            ("a/up", "ok"),
            ("a/through", "ok"),
            ("dir/x", "ok"),
            ("dir/up", "ok"),
            ("absolute-in", "ok"),
            ("a/out", "LinkOut"),
            ("out", "LinkOut"),
            ("out-dangling", "LinkOut"),
            ("absolute-out", "LinkOut"),
            ("top/etc/passwd", "LinkOut"),
            ("dangling", "Missing"),
            ("a/x/y", "Missing"),
            ("loop", "Loop"),
            ("a", "NotAFile"),
            ("dir", "NotAFile"),
        ] {
            assert_eq!(result(path), want, "{path}");
        }
    }
}
