//! The files of a package, as they are listed: each name once, and within the limits.

use std::collections::BTreeMap;

use proofmark_artefact::text::excerpt;

use super::error::{ArchiveError, Refusal};
use super::limits::Limits;
use super::name::{Name, folded};

/// What was listed so far.
#[derive(Debug)]
pub(super) struct Contents<'a> {
    limits: &'a Limits,
    entries: u64,
    total_bytes: u64,
    folders: u64,
    files: Vec<(Name, u64)>,
    /// By their folded names: what a file system may take for one is one here.
    seen: BTreeMap<String, Seen>,
    /// The folder of the file before. Files of a folder mostly come together.
    last_folder: String,
}

#[derive(Debug)]
struct Seen {
    spelling: Box<str>,
    what: What,
}

#[derive(Debug, PartialEq)]
enum What {
    File,
    /// Named on the way to a file.
    Folder,
    /// Has an entry of its own, and files or not.
    ListedFolder {
        is_empty: bool,
    },
}

impl<'a> Contents<'a> {
    pub(super) fn new(limits: &'a Limits) -> Self {
        let (files, seen) = (Vec::new(), BTreeMap::new());
        Self { limits, entries: 0, total_bytes: 0, folders: 0, files, seen, last_folder: String::new() }
    }

    /// Counts an entry before anything else is known about it.
    pub(super) fn count(&mut self) -> Result<(), ArchiveError> {
        self.entries += 1;
        let limit = self.limits.entries;
        if self.entries > limit { Err(ArchiveError::TooMany { what: "entries", limit }) } else { Ok(()) }
    }

    /// Adds a file, unless its name, its size or the owner of an allow-list speaks against it.
    pub(super) fn add_file(
        &mut self,
        name: &Name,
        size: u64,
        mut admit: impl FnMut(&Name, u64) -> Result<(), Refusal>,
    ) -> Result<(), ArchiveError> {
        let shown = || excerpt(name.as_str(), SHOWN);
        let limit = self.limits.file_bytes;
        if size > limit {
            return Err(ArchiveError::TooLarge { name: shown(), size, limit });
        }
        self.total_bytes = self.total_bytes.saturating_add(size);
        let limit = self.limits.total_bytes;
        if self.total_bytes > limit {
            return Err(ArchiveError::TooLargeTogether { name: shown(), limit });
        }
        self.enter_folders(name)?;
        self.enter(name.as_str(), What::File)?;
        admit(name, size).map_err(|source| ArchiveError::NotAdmitted { name: shown(), source })?;
        self.files.push((name.clone(), size));
        Ok(())
    }

    /// Adds a folder that has an entry of its own.
    pub(super) fn add_folder(&mut self, name: &Name) -> Result<(), ArchiveError> {
        self.enter_folders(name)?;
        self.enter(name.as_str(), What::ListedFolder { is_empty: true })
    }

    /// Returns the files in the order in which they were listed.
    pub(super) fn finish(self) -> Result<Vec<(Name, u64)>, ArchiveError> {
        // A folder without files is nothing that a list of files could vouch for.
        let empty = self.seen.values().find(|seen| seen.what == What::ListedFolder { is_empty: true });
        if let Some(seen) = empty {
            return Err(ArchiveError::EmptyFolder { name: excerpt(&seen.spelling, SHOWN) });
        }
        if self.files.is_empty() { Err(ArchiveError::Empty) } else { Ok(self.files) }
    }

    fn enter_folders(&mut self, name: &Name) -> Result<(), ArchiveError> {
        let folder = name.folders().last().unwrap_or_default();
        if self.last_folder == folder {
            return Ok(());
        }
        for folder in name.folders() {
            self.enter(folder, What::Folder)?;
        }
        folder.clone_into(&mut self.last_folder);
        Ok(())
    }

    fn enter(&mut self, name: &str, what: What) -> Result<(), ArchiveError> {
        let key = folded(name);
        if let Some(there) = self.seen.get_mut(key.as_ref()) {
            if *there.spelling != *name {
                let other = excerpt(&there.spelling, SHOWN);
                return Err(ArchiveError::Collision { name: excerpt(name, SHOWN), other });
            }
            return match (&mut there.what, what) {
                (What::Folder, What::Folder) => Ok(()),
                (What::ListedFolder { is_empty }, What::Folder) => {
                    *is_empty = false;
                    Ok(())
                }
                (there @ What::Folder, What::ListedFolder { .. }) => {
                    *there = What::ListedFolder { is_empty: false };
                    Ok(())
                }
                _ => Err(ArchiveError::Duplicate { name: excerpt(name, SHOWN) }),
            };
        }
        if what != What::File {
            self.folders += 1;
            let limit = self.limits.folders;
            if self.folders > limit {
                return Err(ArchiveError::TooMany { what: "folders", limit });
            }
        }
        self.seen.insert(key.into_owned(), Seen { spelling: name.into(), what });
        Ok(())
    }
}

/// How much of a name messages show.
pub(super) const SHOWN: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str], limits: &Limits) -> Result<Vec<String>, &'static str> {
        let mut contents = Contents::new(limits);
        let mut add = |name: &str| {
            contents.count()?;
            match name.strip_suffix('/') {
                Some(folder) => contents.add_folder(&folder.parse().unwrap()),
                None => contents.add_file(&name.parse().unwrap(), 10, |name, _| {
                    let code = "unlisted";
                    if name.as_str() == "extra" { Err(Refusal { code, why: String::new() }) } else { Ok(()) }
                }),
            }
        };
        names.iter().try_for_each(|name| add(name)).map_err(|error| error.code())?;
        let files = contents.finish().map_err(|error| error.code())?;
        Ok(files.into_iter().map(|(name, _)| name.to_string()).collect())
    }

    #[test]
    fn each_name_is_there_once_however_it_is_spelt() {
        let limits = Limits::default();
        for (names, want) in [
            (&["a", "a"][..], "duplicate"),
            (&["a", "b", "a"], "duplicate"),
            (&["a", "a/b"], "duplicate"),
            (&["a/b", "a"], "duplicate"),
            (&["a/b", "a/b/c"], "duplicate"),
            (&["a/", "a/", "a/b"], "duplicate"),
            (&["a", "a/"], "duplicate"),
            (&["README.md", "readme.md"], "collision"),
            (&["A/x", "a/y"], "collision"),
            (&["A/x", "a"], "collision"),
            (&["A/", "a/x"], "collision"),
            (&["é", "e\u{301}"], "collision"),
            (&["a/é/x", "a/e\u{301}/y"], "collision"),
            (&["a/", "b"], "empty_folder"),
            (&["a/b/", "a/c"], "empty_folder"),
            (&["a/"], "empty_folder"),
            (&[], "empty"),
            (&["extra"], "unlisted"),
        ] {
            assert_eq!(list(names, &limits), Err(want), "{names:?}");
        }
        for names in [&["a", "b"][..], &["a/x", "a/y", "b/x", "a/z"], &["a/b/c", "a/c"]] {
            assert_eq!(list(names, &limits).unwrap(), names);
        }
        for names in [&["a/", "a/x"][..], &["a/x", "a/"], &["a/", "a/b/", "a/b/x"], &["a/b/x", "a/b/", "a/"]] {
            assert_eq!(list(names, &limits).unwrap().len(), 1, "{names:?}");
        }
    }

    #[test]
    fn every_limit_is_exact() {
        let limits = Limits { entries: 3, folders: 2, file_bytes: 10, total_bytes: 30, ..Limits::default() };
        let check = |names, limits: &Limits| list(names, limits).err();
        assert_eq!(check(&["a", "b", "c"], &limits), None);
        assert_eq!(check(&["a", "b", "c", "d"], &limits), Some("too_many"));
        assert_eq!(check(&["a/b/c"], &limits), None);
        assert_eq!(check(&["a/b/c/d"], &limits), Some("too_many"));
        assert_eq!(check(&["a", "b", "c"], &Limits { total_bytes: 29, ..limits.clone() }), Some("too_large"));
        assert_eq!(check(&["a"], &Limits { file_bytes: 9, ..limits }), Some("too_large"));
    }
}
