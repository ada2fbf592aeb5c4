//! What of a package is read before anything else: the list of its files, and what signs it. Nothing is unpacked that is not
//! on the list, with the size that the list has.

use std::collections::BTreeMap;
use std::path::Path;

use proofmark_artefact::package::names::{BUNDLE, CONTENTS, SIGNER, SIGNING, SSH_SIGNATURE};
use proofmark_artefact::package::{Contents, PACKAGE_FORMAT, PACKAGE_VERSION};
use proofmark_artefact::store::{OpenError, read_bounded};
use proofmark_artefact::text::excerpt;
use proofmark_canon::{Digest, json};
use proofmark_trust::public::MAX_PUBLIC_KEY;
use proofmark_trust::sshsig::MAX_SIGNATURE;

use crate::archive::{self, ArchiveError, Limits, Name, Opened, Refusal, Source};
use crate::seal::{line, role_of};
use crate::verify::chain;

/// The papers in the order in which archives have them, each with its largest size.
pub const PAPERS: [(&str, u64); 4] =
    [(CONTENTS, MAX_PAPER), (BUNDLE, MAX_PAPER), (SSH_SIGNATURE, MAX_SIGNATURE as u64), (SIGNER, MAX_PUBLIC_KEY)];

/// Room for as many files as an archive may list, with names of 80 bytes, as those of pictures are. A verifier holds several
/// copies in memory.
pub(crate) const MAX_PAPER: u64 = 16 << 20;
/// Five for each file, and the rest.
const MAX_VALUES: usize = 5 * 65_536 + 16;

/// The papers of a package, as far as they are there.
#[derive(Debug)]
pub(crate) struct Papers(BTreeMap<String, Result<Vec<u8>, String>>);

impl Papers {
    /// Reads them out of an archive.
    pub(crate) fn of_archive(path: &Path, limits: &Limits) -> Result<Self, ArchiveError> {
        let found = archive::peek(path, &PAPERS, limits)?;
        Ok(Self(found.into_iter().map(|(name, bytes)| (name.to_string(), Ok(bytes))).collect()))
    }

    /// Reads them where the files are.
    pub(crate) fn of_folder(opened: &Opened) -> Self {
        let read = |(name, limit): (&str, u64)| {
            opened.files.keys().find(|there| there.as_str() == name)?;
            let bytes = read_bounded(&opened.folder.join(name), limit).map_err(|error| match error {
                OpenError::TooLarge { limit, .. } => format!("it is larger than {limit} bytes"),
                _ => "it cannot be read".to_owned(),
            });
            Some((name.to_owned(), bytes))
        };
        Self(PAPERS.into_iter().filter_map(read).collect())
    }

    /// One of them, or why there is none.
    pub(crate) fn bytes(&self, name: &str) -> Result<&[u8], String> {
        match self.0.get(name) {
            None => Err("the file is not there".to_owned()),
            Some(Err(why)) => Err(why.clone()),
            Some(Ok(bytes)) => Ok(bytes),
        }
    }

    /// Unpacks an archive: the papers, which must still be the same, and what is on the list.
    pub(crate) fn unpack(
        &self,
        archive: &Path,
        into: &Path,
        limits: &Limits,
        list: &Contents,
    ) -> Result<Opened, ArchiveError> {
        let source = Source::Archive(archive.to_owned());
        let mut sizes: BTreeMap<&str, u64> = list.files.iter().map(|file| (file.path.as_str(), file.size)).collect();
        let papers = self.0.iter().filter_map(|(name, bytes)| Some((name.as_str(), bytes.as_ref().ok()?)));
        sizes.extend(papers.clone().map(|(name, bytes)| (name, bytes.len() as u64)));
        let opened = archive::open(&source, into, limits, |name, size| admit(&sizes, name, size))?;
        for (name, bytes) in papers {
            let there = opened.files.iter().find(|(there, _)| there.as_str() == name);
            if there.is_none_or(|(_, member)| member.digest != Digest::of(bytes)) {
                return Err(ArchiveError::Changed { name: name.to_owned() });
            }
        }
        Ok(opened)
    }
}

/// Whether a file is on the list, with its size.
fn admit(sizes: &BTreeMap<&str, u64>, name: &Name, size: u64) -> Result<(), Refusal> {
    match sizes.get(name.as_str()) {
        Some(listed) if *listed == size => Ok(()),
        Some(listed) => {
            let why = format!("it has {size} bytes, but {listed} on the list of files in `{CONTENTS}`");
            Err(Refusal { code: "other_size", why })
        }
        None => {
            let why = format!("nobody signed it: it is not on the list of files in `{CONTENTS}`");
            Err(Refusal { code: "unlisted", why })
        }
    }
}

/// Opens a package without asking who signed it: of an archive only what is on its list is unpacked.
pub fn open_listed(source: &Source, into: &Path, limits: &Limits) -> Result<Opened, ArchiveError> {
    let Source::Archive(path) = source else { return archive::open(source, into, limits, |_, _| Ok(())) };
    let papers = Papers::of_archive(path, limits)?;
    let list = papers.bytes(CONTENTS).and_then(read_list);
    let list = list.and_then(|list| check_list_form(&list).map(|()| list));
    papers.unpack(path, into, limits, &list.map_err(|why| ArchiveError::NoList { why })?)
}

/// Reads a list that is written as we write it.
pub(crate) fn read_list(bytes: &[u8]) -> Result<Contents, String> {
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let value = json::parse_bounded(body, MAX_VALUES).map_err(|error| format!("it is not JSON: {error}"))?;
    if let Some(version) = value.get("version").and_then(json::Value::as_u64).filter(|v| *v > PACKAGE_VERSION.into()) {
        return Err(format!("it has version {version}; this program knows version {PACKAGE_VERSION}"));
    }
    let contents: Contents = json::from_value(&value).map_err(|error| chain(&error))?;
    if contents.format != PACKAGE_FORMAT || contents.version != PACKAGE_VERSION {
        return Err(format!("it is not a `{PACKAGE_FORMAT}` of version {PACKAGE_VERSION}"));
    }
    match line(&contents) {
        Ok(canonical) if canonical == bytes => Ok(contents),
        _ => Err("it is not canonical JSON and one line end".to_owned()),
    }
}

/// Checks that a list names files that have a place in a package, each once.
pub(crate) fn check_list_form(contents: &Contents) -> Result<(), String> {
    let mut before: Option<&str> = None;
    for file in &contents.files {
        let path = file.path.as_str();
        let shown = excerpt(path, 200);
        if before.is_some_and(|before| before >= path) {
            return Err(format!("`{shown}` is not in the order of paths, or there twice"));
        }
        if path == CONTENTS || SIGNING.contains(&path) {
            return Err(format!("it lists `{shown}`, which signs it"));
        }
        if file.digest().is_none() {
            return Err(format!("the digest of `{shown}` is not 64 lower-case hex digits"));
        }
        match role_of(path) {
            None => return Err(format!("it lists `{shown}`, which has no place in a package")),
            Some(role) if role != file.role => return Err(format!("the role of `{shown}` is not that of its place")),
            Some(_) => {}
        }
        before = Some(path);
    }
    Ok(())
}
