//! A package that is a folder: looked at where it is, no link followed.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use proofmark_artefact::store::digest_reader;
use proofmark_artefact::text::excerpt;

use super::contents::{Contents, SHOWN};
use super::error::{ArchiveError, Refusal};
use super::limits::Limits;
use super::name::{Name, NameError};
use super::open::{Member, Opened};

/// Lists and hashes the files of a folder, under the rules that hold for archives.
///
/// Nothing is read before everything is listed and admitted.
pub(super) fn read(
    root: &Path,
    limits: &Limits,
    mut admit: impl FnMut(&Name, u64) -> Result<(), Refusal>,
) -> Result<Opened, ArchiveError> {
    let mut contents = Contents::new(limits);
    let mut seen = Seen::default();
    let mut ahead: Vec<Option<Name>> = vec![None];
    while let Some(folder) = ahead.pop() {
        for (name, metadata) in list(root, folder.as_ref(), limits)? {
            contents.count()?;
            if metadata.is_dir() {
                contents.add_folder(&name)?;
                ahead.push(Some(name));
                continue;
            }
            check_kind(&metadata, name.as_str())?;
            contents.add_file(&name, metadata.len(), &mut admit)?;
            seen.insert(name, metadata);
        }
    }
    contents.finish()?;
    let mut files = BTreeMap::new();
    for (name, metadata) in seen {
        let path = name.under(root);
        let file = open_seen(&path, &metadata)?.ok_or_else(|| changed(&name))?;
        // One byte more, to see that it has not grown.
        let bytes = file.take(metadata.len() + 1);
        let (digest, size) = digest_reader(bytes).map_err(|source| ArchiveError::Read { path, source })?;
        if size != metadata.len() {
            return Err(changed(&name));
        }
        files.insert(name, Member { size, digest });
    }
    Ok(Opened { folder: root.to_owned(), top: None, files })
}

type Seen = BTreeMap<Name, Metadata>;

/// Returns what is directly in a folder, by name: whoever looks finds the same fault first.
fn list(root: &Path, folder: Option<&Name>, limits: &Limits) -> Result<Seen, ArchiveError> {
    let path = folder.map_or_else(|| root.to_owned(), |folder| folder.under(root));
    let failed = |source| ArchiveError::Read { path: path.clone(), source };
    let mut found = Seen::new();
    let mut worst: Option<(String, NameError)> = None;
    for entry in fs::read_dir(&path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let own = entry.file_name();
        let text = match folder {
            Some(folder) => format!("{folder}/{}", own.to_string_lossy()),
            None => own.to_string_lossy().into_owned(),
        };
        let name = match own.to_str() {
            Some(_) => text.parse::<Name>(),
            None => Err(NameError::NotUtf8),
        };
        match name {
            Ok(name) => {
                // Of the entry itself, not of what it may lead to.
                found.insert(name, entry.metadata().map_err(failed)?);
            }
            Err(error) => {
                let refused = (text, error);
                worst = Some(worst.map_or(refused.clone(), |worst| if worst.0 <= refused.0 { worst } else { refused }));
            }
        }
        if found.len() as u64 > limits.entries {
            return Err(ArchiveError::TooMany { what: "entries", limit: limits.entries });
        }
    }
    match worst {
        Some((name, source)) => Err(ArchiveError::Name { name: excerpt(&name, SHOWN), source }),
        None => Ok(found),
    }
}

/// Refuses what is not a regular file.
pub(super) fn check_kind(metadata: &Metadata, name: &str) -> Result<(), ArchiveError> {
    let kind = metadata.file_type();
    let name = || excerpt(name, SHOWN);
    if kind.is_symlink() {
        return Err(ArchiveError::Link { name: name() });
    }
    if kind.is_file() { Ok(()) } else { Err(ArchiveError::Device { name: name() }) }
}

/// Opens a file that was looked at before; `None` when it is not that file any more.
pub(super) fn open_seen(path: &Path, seen: &Metadata) -> Result<Option<File>, ArchiveError> {
    let failed = |source: io::Error| ArchiveError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let opened = file.metadata().map_err(failed)?;
    let is_same = (opened.dev(), opened.ino(), opened.len()) == (seen.dev(), seen.ino(), seen.len());
    Ok((opened.is_file() && is_same).then_some(file))
}

fn changed(name: &Name) -> ArchiveError {
    ArchiveError::Changed { name: excerpt(name.as_str(), SHOWN) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_artefact::store::write_atomic;
    use std::os::unix::fs::symlink;

    fn code(root: &Path, limits: &Limits) -> &'static str {
        read(root, limits, |_, _| Ok(())).err().map_or("opened", |error| error.code())
    }

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            write_atomic(&path, name.as_bytes()).unwrap();
        }
        folder
    }

    #[test]
    fn a_folder_is_listed_and_hashed_where_it_is() {
        let folder = folder(&["b", "a/x", "a/b/y"]);
        let opened = read(folder.path(), &Limits::default(), |_, _| Ok(())).unwrap();
        assert_eq!(opened.folder, folder.path());
        let names: Vec<&str> = opened.files.keys().map(Name::as_str).collect();
        assert_eq!(names, ["a/b/y", "a/x", "b"]);
        for (name, member) in &opened.files {
            let content = name.as_str().as_bytes();
            assert_eq!((member.size, member.digest), (content.len() as u64, proofmark_canon::Digest::of(content)));
        }
    }

    #[test]
    fn the_rules_of_archives_hold_for_folders() {
        let limits = Limits::default();
        let none = |_: &Path| {};
        let check = |names: &[&str], spoil: &dyn Fn(&Path), limits: &Limits| {
            let folder = folder(names);
            spoil(folder.path());
            code(folder.path(), limits)
        };
        assert_eq!(check(&["a"], &none, &limits), "opened");
        assert_eq!(check(&[], &none, &limits), "empty");
        assert_eq!(check(&["a"], &|root| symlink("/etc/passwd", root.join("l")).unwrap(), &limits), "link");
        assert_eq!(check(&["a"], &|root| symlink("/etc", root.join("l")).unwrap(), &limits), "link");
        assert_eq!(check(&["a/b"], &|root| symlink("nothing", root.join("a/l")).unwrap(), &limits), "link");
        let pipe = |root: &Path| {
            assert!(std::process::Command::new("mkfifo").arg(root.join("p")).status().unwrap().success());
        };
        assert_eq!(check(&["a"], &pipe, &limits), "device");
        let socket = |root: &Path| drop(std::os::unix::net::UnixListener::bind(root.join("s")).unwrap());
        assert_eq!(check(&["a"], &socket, &limits), "device");
        assert_eq!(check(&["a"], &|root| fs::create_dir(root.join("e")).unwrap(), &limits), "empty_folder");
        assert_eq!(check(&["a\\b"], &none, &limits), "name");
        assert_eq!(check(&["a\n"], &none, &limits), "name");
        assert_eq!(check(&["é", "e\u{301}"], &none, &limits), "collision");
        assert_eq!(check(&["a/x", "A/y"], &none, &limits), "collision");
        let strict = Limits { entries: 2, folders: 1, file_bytes: 3, total_bytes: 4, ..limits };
        assert_eq!(check(&["a", "b"], &none, &strict), "opened");
        assert_eq!(check(&["a", "b", "c"], &none, &strict), "too_many");
        assert_eq!(check(&["a/b", "c"], &none, &strict), "too_many");
        assert_eq!(check(&["long"], &none, &strict), "too_large");
        assert_eq!(check(&["abc", "def"], &none, &strict), "too_large");
    }

    #[test]
    fn the_first_fault_by_name_is_the_one_that_is_told() {
        for _ in 0..5 {
            let folder = folder(&["z*", "b?", "m|", "ok"]);
            let error = read(folder.path(), &Limits::default(), |_, _| Ok(())).unwrap_err();
            assert!(error.to_string().starts_with("`b?` "), "{error}");
        }
    }

    #[test]
    fn nothing_is_read_that_is_not_admitted() {
        let folder = folder(&["a", "b"]);
        let refuse = |name: &Name, _| match name.as_str() {
            "b" => Err(Refusal { code: "unlisted", why: "nobody lists it".to_owned() }),
            _ => Ok(()),
        };
        let error = read(folder.path(), &Limits::default(), refuse).unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), ("unlisted", "`b` is refused: nobody lists it"));
    }
}
