//! A package's files to one archive: the same files always give the same bytes.

use std::fs::{self, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use proofmark_artefact::store::AtomicFile;
use proofmark_canon::Digest;

use super::contents::Contents;
use super::error::ArchiveError;
use super::folder::{check_kind, open_seen};
use super::header::{self, BLOCK, padding};
use super::input::{BUFFER, fill};
use super::limits::Limits;
use super::name::Name;

/// An archive that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub digest: Digest,
    pub bytes: u64,
}

/// The archive was not written; nothing is left of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    #[error("`{0}` is not a name for the archive's folder")]
    Top(String),
    #[error("`{0}` exists")]
    Exists(PathBuf),
    #[error("the name `{name}` does not fit an archive in the folder `{top}/`")]
    TooLong { name: Name, top: String },
    /// What no reader would accept is not written either.
    #[error(transparent)]
    Unfit(#[from] ArchiveError),
    #[error("cannot write `{path}`")]
    Io { path: PathBuf, source: io::Error },
}

/// Writes files to an archive in which all of them are in one folder. The archive appears whole or not at all, and never
/// in the place of another file.
///
/// In it those of the names in `first` come first, in that order, so that a reader has them before it unpacks the others. The
/// others are sorted by name. All belong to nobody, were changed at the beginning of time, and everybody may read them.
pub fn write(
    target: &Path,
    top: &str,
    first: &[&str],
    files: impl IntoIterator<Item = (Name, PathBuf)>,
) -> Result<Written, WriteError> {
    if top.contains('/') || top.parse::<Name>().is_err() {
        return Err(WriteError::Top(proofmark_artefact::text::excerpt(top, 120)));
    }
    if fs::symlink_metadata(target).is_ok() {
        return Err(WriteError::Exists(target.to_owned()));
    }
    let files = check(top, first, files.into_iter().collect())?;
    let failed = |source| WriteError::Io { path: target.to_owned(), source };
    let mut archive = AtomicFile::create(target).map_err(failed)?;
    let mut bytes = 0;
    let mut buffer = vec![0; BUFFER];
    for Checked { path, header, metadata, name } in &files {
        archive.write_all(header).map_err(failed)?;
        let changed = || ArchiveError::Changed { name: name.to_string() };
        let mut file = open_seen(path, metadata)?.ok_or_else(changed)?.take(metadata.len() + 1);
        let mut size = 0;
        loop {
            let read =
                fill(&mut file, &mut buffer).map_err(|source| ArchiveError::Read { path: path.clone(), source })?;
            size += read as u64;
            if size > metadata.len() {
                return Err(changed().into());
            }
            archive.write_all(&buffer[..read]).map_err(failed)?;
            if read < buffer.len() {
                break;
            }
        }
        if size < metadata.len() {
            return Err(changed().into());
        }
        archive.write_all(&[0; BLOCK][..padding(size)]).map_err(failed)?;
        bytes += (BLOCK + padding(size)) as u64 + size;
    }
    archive.write_all(&[0; 2 * BLOCK]).map_err(failed)?;
    let digest = archive.commit().map_err(failed)?;
    Ok(Written { digest, bytes: bytes + 2 * BLOCK as u64 })
}

/// A file that can be written: its header says what it is, its metadata which one.
struct Checked {
    name: Name,
    path: PathBuf,
    metadata: Metadata,
    header: header::Block,
}

/// Makes sure of all files before the first is written, and sorts them.
fn check(top: &str, first: &[&str], mut files: Vec<(Name, PathBuf)>) -> Result<Vec<Checked>, WriteError> {
    let place = |name: &Name| first.iter().position(|one| *one == name.as_str()).unwrap_or(first.len());
    files.sort_by(|(one, _), (other, _)| (place(one), one).cmp(&(place(other), other)));
    let limits = Limits::default();
    let mut contents = Contents::new(&limits);
    let mut checked = Vec::with_capacity(files.len());
    for (name, path) in files {
        contents.count()?;
        let metadata =
            fs::symlink_metadata(&path).map_err(|source| ArchiveError::Read { path: path.clone(), source })?;
        check_kind(&metadata, name.as_str())?;
        contents.add_file(&name, metadata.len(), |_, _| Ok(()))?;
        let header = header::encode(&format!("{top}/{name}"), metadata.len());
        let header = header.ok_or_else(|| WriteError::TooLong { name: name.clone(), top: top.to_owned() })?;
        checked.push(Checked { name, path, metadata, header });
    }
    contents.finish()?;
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::testing::tree;
    use crate::archive::{Opened, Source, open};
    use proofmark_artefact::store::{digest_file, write_atomic};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::process::Command;

    const TOP: &str = "submission-2026-11-16-0a1b2c3d4e5f";
    const FIRST: [&str; 2] = ["records.jsonl", "attestations/package.json.sig"];

    /// Files with a content each.
    type Files = BTreeMap<String, Vec<u8>>;

    fn some_files() -> Files {
        let long = format!("inputs/{}/{}/x.json", "d".repeat(60), "e".repeat(60));
        [
            ("records.jsonl", vec![b'x'; 512]),
            ("trajectories.jsonl", vec![b'y'; 300_000]),
            ("README.md", b"# read me\n".to_vec()),
            ("attestations/package.json.sig", Vec::new()),
            ("inputs/Zażółć gęślą jaźń.csv", vec![0; 511]),
            (long.as_str(), vec![7; 513]),
        ]
        .map(|(name, content)| (name.to_owned(), content))
        .into()
    }

    fn lay_out(files: &Files, folder: &Path) -> Vec<(Name, PathBuf)> {
        let write = |(name, content): (&String, &Vec<u8>)| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            write_atomic(&path, content).unwrap();
            (name.parse().unwrap(), path)
        };
        files.iter().map(write).collect()
    }

    fn unpack(archive: &Path) -> (Opened, Files) {
        let into = tempfile::tempdir().unwrap();
        let source = Source::at(archive).unwrap();
        let opened = open(&source, into.path(), &Limits::default(), |_, _| Ok(())).unwrap();
        let found = tree(into.path()).into_iter().filter(|name| !name.ends_with('/'));
        let files = found.map(|name| (name.clone(), fs::read(into.path().join(name)).unwrap())).collect();
        (opened, files)
    }

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let files = some_files();
        let target = folder.path().join("p.tar");
        let written = write(&target, TOP, &FIRST, lay_out(&files, &folder.path().join("files"))).unwrap();
        assert_eq!(digest_file(&target).unwrap(), (written.digest, written.bytes));
        let (opened, found) = unpack(&target);
        assert_eq!(found, files);
        assert_eq!(opened.top.as_deref(), Some(TOP));
        for (name, member) in &opened.files {
            let content = &files[name.as_str()];
            assert_eq!((member.size, member.digest), (content.len() as u64, Digest::of(content)));
        }
        assert_eq!(opened.files.len(), files.len());
    }

    #[test]
    fn order_times_and_rights_of_the_files_do_not_matter() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let mut listed = lay_out(&some_files(), &folder.path().join("one"));
        let one = write(&folder.path().join("one.tar"), TOP, &FIRST, listed.clone()).unwrap();
        listed.reverse();
        for (_, path) in &listed {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
            let file = fs::File::options().append(true).open(path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400)).unwrap();
        }
        let two = write(&folder.path().join("two.tar"), TOP, &FIRST, listed).unwrap();
        assert_eq!(one, two);
        // Moves only when the format does: then packages of before have another digest.
        assert_eq!(one.digest.short(), "60d7d4db3a15");
    }

    #[test]
    fn other_programs_read_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("p.tar");
        let files = some_files();
        write(&target, TOP, &FIRST, lay_out(&files, &folder.path().join("files"))).unwrap();
        let mut names: Vec<&String> = files.keys().collect();
        names.sort_by_key(|name| (FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()), *name));
        let want: Vec<String> = names.iter().map(|name| format!("{TOP}/{name}")).collect();
        let run = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).arg(&target).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let listed = run("tar", &["--quoting-style=literal", "-tf"]);
        assert_eq!(listed.lines().collect::<Vec<_>>(), want);
        let code = "import hashlib, sys, tarfile\n\
                    for e in tarfile.open(sys.argv[1], 'r:', errors='strict'):\n    \
                    assert e.isreg() and (e.mode, e.uid, e.gid, e.mtime, e.uname, e.gname) == (0o644, 0, 0, 0, '', '')\n    \
                    print(e.name, e.size, sep='\\t')";
        let listed = run("python3", &["-X", "utf8", "-c", code]);
        let want: Vec<String> = names.iter().map(|name| format!("{TOP}/{name}\t{}", files[*name].len())).collect();
        assert_eq!(listed.lines().collect::<Vec<_>>(), want);
    }

    #[test]
    fn archives_that_other_programs_make_of_the_folder_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let files = some_files();
        lay_out(&files, &folder.path().join(TOP));
        let target = folder.path().join("p.tar");
        let tar = |arguments: &[&str]| {
            let mut tar = Command::new("tar");
            tar.arg("-C").arg(folder.path()).args(arguments).arg("-cf").arg(&target).arg(TOP);
            assert!(tar.status().unwrap().success());
        };
        // In GNU's format the one long name is an extension.
        tar(&["--format=gnu"]);
        let into = tempfile::tempdir().unwrap();
        let error = open(&Source::at(&target).unwrap(), into.path(), &Limits::default(), |_, _| Ok(())).unwrap_err();
        assert_eq!(error.code(), "extension");
        for (arguments, count) in [(&["--format=ustar"][..], 6), (&["--format=gnu", "--exclude=inputs/d*"], 5)] {
            tar(arguments);
            let (opened, found) = unpack(&target);
            assert_eq!((opened.top.as_deref(), opened.files.len()), (Some(TOP), count));
            assert!(found.iter().all(|(name, content)| files.get(name) == Some(content)));
        }
        let packed = zstd::encode_all(fs::read(&target).unwrap().as_slice(), 3).unwrap();
        let before = unpack(&target);
        write_atomic(&target, &packed).unwrap();
        let (opened, found) = unpack(&target);
        assert_eq!((opened.files, found), (before.0.files, before.1));
    }

    #[test]
    fn what_cannot_be_read_back_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write_atomic(&root.join("x"), b"x").unwrap();
        std::os::unix::fs::symlink("x", root.join("link")).unwrap();
        let target = root.join("p.tar");
        let list = |names: &[(&str, &str)]| -> Vec<(Name, PathBuf)> {
            names.iter().map(|(name, path)| (name.parse().unwrap(), root.join(path))).collect()
        };
        let long = format!("{}/{}", "d".repeat(100), "e".repeat(100)).replace("dd/", "/dd/");
        for (top, names, want) in [
            ("", &[("a", "x")][..], "not a name"),
            ("a/b", &[("a", "x")], "not a name"),
            ("..", &[("a", "x")], "not a name"),
            (TOP, &[], "no files"),
            (TOP, &[("a", "x"), ("a", "x")], "twice"),
            (TOP, &[("a", "x"), ("A", "x")], "are one name"),
            (TOP, &[("a", "x"), ("a/b", "x")], "twice"),
            (TOP, &[("a", "link")], "is a link"),
            (TOP, &[("a", "nothing")], "cannot read"),
            (TOP, &[("a", "")], "is a device"),
            (&"t".repeat(60), &[(&long, "x")], "does not fit"),
        ] {
            let error = write(&target, top, &FIRST, list(names)).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
        assert_eq!(tree(root), ["link", "x"]);
        write(&target, TOP, &FIRST, list(&[("a", "x")])).unwrap();
        assert!(matches!(write(&target, TOP, &FIRST, list(&[("b", "x")])), Err(WriteError::Exists(_))));
        let huge = root.join("huge");
        fs::File::create(&huge).unwrap().set_len(super::super::LARGEST_FILE + 1).unwrap();
        let error = write(&root.join("q.tar"), TOP, &FIRST, list(&[("a", "huge")])).unwrap_err();
        assert!(matches!(error, WriteError::Unfit(ArchiveError::TooLarge { .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn any_files_with_names_survive(
            files in proptest::collection::btree_map("[a-cé]{1,3}(/[a-c ]{1,3}){0,2}", proptest::collection::vec(any::<u8>(), 0..1200), 1..12),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut contents = Contents::new(const { &Limits {
                entries: 99, folders: 99, file_bytes: 9999, total_bytes: 99_999, ratio: 1, ratio_free_bytes: 1, unvouched_bytes: 1,
            } });
            let fit = |(name, content): &(String, Vec<u8>)| {
                name.parse().is_ok_and(|name| contents.add_file(&name, content.len() as u64, |_, _| Ok(())).is_ok())
            };
            let files: Files = files.into_iter().filter(fit).collect();
            prop_assume!(!files.is_empty());
            // A name that was refused may still have left its folders behind; that is stricter, not wrong.
            let listed = lay_out(&files, &folder.path().join("files"));
            let target = folder.path().join("p.tar");
            let written = write(&target, "top", &FIRST, listed).unwrap();
            prop_assert_eq!(digest_file(&target).unwrap(), (written.digest, written.bytes));
            prop_assert_eq!(unpack(&target).1, files);
        }
    }
}
