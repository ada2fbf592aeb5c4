//! The working directory of one start: fresh, ours alone, and gone afterwards.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::ask::Request;

/// A directory that is removed when it is dropped. Processes in it must have been killed before.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(super) fn make(scratch: &Path) -> io::Result<Self> {
        let made = tempfile::Builder::new().prefix("sample-").tempdir_in(scratch).map(TempDir::keep)?;
        // Programs name the directory without links in it; so do we, in order to know it in what they say.
        let path = made.canonicalize().unwrap_or(made);
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Copies the attachments of a request, each under the last part of its name. The error says which one cannot be.
    pub(super) fn copy_attachments(&self, request: &Request) -> Result<(), String> {
        for attachment in request.messages.iter().flat_map(|message| &message.attachments) {
            let bytes = request
                .file(&attachment.digest)
                .ok_or_else(|| format!("the bytes of `{}` are not at hand", attachment.name))?;
            self.copy(base_name(&attachment.name), bytes)
                .map_err(|error| format!("cannot copy `{}`: {}", attachment.name, error.kind()))?;
        }
        Ok(())
    }

    fn copy(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (stem, extension) = match name.rfind('.') {
            Some(at) if at > 0 => name.split_at(at),
            _ => (name, ""),
        };
        let mut path = self.path.join(name);
        for number in 2..=MAX_SAME_NAME {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    path = self.path.join(format!("{stem}-{number}{extension}"));
                }
                file => return file?.write_all(bytes),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What was killed a moment ago may still be writing its last file.
        for _ in 0..REMOVALS {
            match std::fs::remove_dir_all(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => make_writable(&self.path),
                Err(error) if error.kind() != io::ErrorKind::NotFound => std::thread::sleep(PAUSE),
                _ => return,
            }
        }
    }
}

/// Gives us back the right to remove what lies in a directory: some programs keep read-only folders.
fn make_writable(folder: &Path) {
    let _ = std::fs::set_permissions(folder, Permissions::from_mode(0o700));
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        // The type of the entry itself: a link to a folder elsewhere is none.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}

/// The last part of a path; never one that leads out of a directory.
fn base_name(name: &str) -> &str {
    match name.rsplit('/').next().unwrap_or_default() {
        "" | "." | ".." => "attachment",
        last => last,
    }
}

const MAX_SAME_NAME: u32 = 1000;
const REMOVALS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_name_never_leads_out() {
        for (name, want) in [
            ("a/b/c.png", "c.png"),
            ("c", "c"),
            ("../..", "attachment"),
            ("a/", "attachment"),
            ("/etc/passwd", "passwd"),
        ] {
            assert_eq!(base_name(name), want);
        }
    }

    #[test]
    fn read_only_folders_are_opened_and_links_are_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let [inside, outside] = ["folder/a/b", "outside"].map(|name| scratch.path().join(name));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        let set = |path: &Path| std::fs::set_permissions(path, Permissions::from_mode(0o500)).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        set(&inside);
        set(&outside);
        make_writable(&scratch.path().join("folder"));
        assert_eq!((mode(&inside), mode(&outside)), (0o700, 0o500));
    }

    #[test]
    fn files_of_one_name_get_names_of_their_own() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::make(scratch.path()).unwrap();
        for (name, bytes) in [("a.tar.gz", "1"), ("a.tar.gz", "2"), (".rc", "3"), (".rc", "4"), ("a.tar-2.gz", "5")] {
            folder.copy(name, bytes.as_bytes()).unwrap();
        }
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let all: Vec<_> = ["a.tar.gz", "a.tar-2.gz", ".rc", ".rc-2", "a.tar-2-2.gz"].map(read).into();
        assert_eq!(all, ["1", "2", "3", "4", "5"]);
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }
}
