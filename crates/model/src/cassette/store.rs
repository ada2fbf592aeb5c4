//! The folder of a cassette: `<2 hex>/<62 hex>.json.zst`, each file written whole by whoever comes.
//!
//! Several processes may read and write at once: a file gets its name when it is complete, and never changes after. What
//! a kill leaves has a name of its own and is nobody's answer.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use proofmark_artefact::store::{OpenError, read_bounded, sync_dir};
use proofmark_canon::json::{self, EncodeError, Value};
use serde::Serialize;

use super::entry::{Entry, EntryError, RequestDigest};

/// The file that says that a folder is a cassette.
pub const HEADER: &str = "cassette.json";
const FORMAT: &str = "proofmark.cassette";
const VERSION: u32 = 1;
/// The largest entry. The longest reply is 128 MiB; base64 makes a third more of it, and there is the request.
const MAX_ENTRY: u64 = 512 << 20;
/// Behind the digits of an entry's name.
const EXTENSION: &str = ".json.zst";
/// Before the name of a file that is being written.
const PARTIAL: &str = ".partial-";

/// A folder of entries.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
}

/// A cassette cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    #[error("there is no cassette at `{0}`")]
    Missing(PathBuf),
    #[error("`{0}` is a folder with other things in it, not a cassette")]
    NotACassette(PathBuf),
    #[error("`{path}` has version {found}, this build reads {VERSION}")]
    Newer { path: PathBuf, found: u64 },
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write `{path}`")]
    Write { path: PathBuf, source: io::Error },
    #[error("`{path}` is larger than {limit} bytes, once unpacked")]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("`{path}` cannot be unpacked")]
    Broken { path: PathBuf, source: io::Error },
    #[error("`{path}` cannot be used")]
    Entry { path: PathBuf, source: EntryError },
    #[error("the reply has no canonical form")]
    Encode(#[from] EncodeError),
}

impl CassetteError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Missing(_) => Some("record one with `proofmark run SUITE --cassette DIR`".to_owned()),
            Self::NotACassette(_) => Some("name a folder that is empty or does not exist yet".to_owned()),
            Self::Newer { .. } | Self::Entry { source: EntryError::Newer(_), .. } => {
                Some("read it with the version of Proofmark that made it, or a newer one".to_owned())
            }
            Self::TooLarge { .. } | Self::Broken { .. } | Self::Entry { .. } => {
                Some("the file was changed by something else; put it back, or remove it and record it anew".to_owned())
            }
            _ => None,
        }
    }
}

#[derive(Serialize)]
struct Header {
    format: &'static str,
    version: u32,
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    Added,
    /// Somebody else was faster; theirs stands.
    WasThere,
}

/// What is in the folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// In the order of their digests.
    pub entries: Vec<RequestDigest>,
    /// What writers that were killed left.
    pub partial: Vec<PathBuf>,
    /// What is not ours.
    pub foreign: Vec<PathBuf>,
}

impl Store {
    /// Opens a cassette that is there.
    pub fn open(dir: &Path) -> Result<Self, CassetteError> {
        let path = dir.join(HEADER);
        let bytes = match read_bounded(&path, 64 << 10) {
            Ok(bytes) => bytes,
            Err(OpenError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                let is_folder = dir.is_dir() && !is_empty(dir)?;
                let dir = dir.to_owned();
                return Err(if is_folder { CassetteError::NotACassette(dir) } else { CassetteError::Missing(dir) });
            }
            Err(OpenError::Io { source, .. }) => return Err(CassetteError::Read { path, source }),
            Err(_) => return Err(CassetteError::NotACassette(dir.to_owned())),
        };
        let value = json::parse(bytes.trim_ascii_end()).unwrap_or(Value::Null);
        if value.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return Err(CassetteError::NotACassette(dir.to_owned()));
        }
        match value.get("version").and_then(Value::as_u64).unwrap_or(0) {
            found if found == u64::from(VERSION) => Ok(Self { dir: dir.to_owned() }),
            found => Err(CassetteError::Newer { path, found }),
        }
    }

    /// Opens a cassette, or makes one in a folder that is empty or not there.
    pub fn open_or_create(dir: &Path) -> Result<Self, CassetteError> {
        match Self::open(dir) {
            Err(CassetteError::Missing(_)) => {}
            other => return other,
        }
        let store = Self { dir: dir.to_owned() };
        let path = dir.join(HEADER);
        let io_error = |source| CassetteError::Write { path: path.clone(), source };
        fs::create_dir_all(dir).map_err(io_error)?;
        let mut bytes = json::to_vec(&Header { format: FORMAT, version: VERSION })?;
        bytes.push(b'\n');
        // Whoever comes second finds the same bytes.
        store.put(&path, &bytes, OnClash::Keep).map_err(io_error)?;
        sync_dir(dir).map_err(io_error)?;
        Self::open(dir)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the entry of a request is.
    pub fn path(&self, digest: RequestDigest) -> PathBuf {
        let hex = digest.get().hex();
        self.dir.join(&hex[..2]).join(format!("{}{EXTENSION}", &hex[2..]))
    }

    /// Reads and checks the entry of a request; `None` when there is none.
    pub fn load(&self, digest: RequestDigest) -> Result<Option<Entry>, CassetteError> {
        self.load_within(digest, MAX_ENTRY)
    }

    fn load_within(&self, digest: RequestDigest, limit: u64) -> Result<Option<Entry>, CassetteError> {
        let path = self.path(digest);
        let io_error = |source| CassetteError::Read { path: path.clone(), source };
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => {}
            // A link may lead to anything, and a pipe waits for its writer.
            Ok(_) => return Err(io_error(io::Error::other("it is not a regular file"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error(error)),
        }
        let file = File::open(&path).map_err(io_error)?;
        let broken = |source| CassetteError::Broken { path: path.clone(), source };
        let unpacked = zstd::stream::read::Decoder::new(file).map_err(broken)?;
        let mut bytes = Vec::new();
        unpacked.take(limit + 1).read_to_end(&mut bytes).map_err(broken)?;
        if bytes.len() as u64 > limit {
            return Err(CassetteError::TooLarge { path, limit });
        }
        Entry::decode(&bytes, digest).map(Some).map_err(|source| CassetteError::Entry { path, source })
    }

    /// Writes an entry, in place of one that is there.
    pub(crate) fn replace(&self, entry: &Entry) -> Result<(), CassetteError> {
        self.write(entry, OnClash::Replace).map(|_| ())
    }

    /// Writes an entry unless there is one.
    pub(crate) fn add(&self, entry: &Entry) -> Result<Written, CassetteError> {
        self.write(entry, OnClash::Keep)
    }

    fn write(&self, entry: &Entry, on_clash: OnClash) -> Result<Written, CassetteError> {
        let path = self.path(entry.digest);
        let bytes = entry.encode()?;
        if bytes.len() as u64 > MAX_ENTRY {
            return Err(CassetteError::TooLarge { path, limit: MAX_ENTRY });
        }
        let io_error = |source| CassetteError::Write { path: path.clone(), source };
        let packed = pack(&bytes).map_err(io_error)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(io_error)?;
        }
        self.put(&path, &packed, on_clash).map_err(io_error)
    }

    /// Writes a file that appears whole. Its temporary name is nobody else's, so that writers do not meet.
    fn put(&self, path: &Path, bytes: &[u8], on_clash: OnClash) -> io::Result<Written> {
        let folder = path.parent().unwrap_or(&self.dir);
        let mut file = tempfile::Builder::new()
            .prefix(PARTIAL)
            // As any other file: the mask has the last word.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_data()?;
        match on_clash {
            OnClash::Replace => file.persist(path).map_err(|error| error.error)?,
            OnClash::Keep => match file.persist_noclobber(path) {
                Ok(file) => file,
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => return Ok(Written::WasThere),
                Err(error) => return Err(error.error),
            },
        };
        Ok(Written::Added)
    }

    /// Lists what is in the folder.
    pub fn list(&self) -> Result<Listing, CassetteError> {
        let mut listing = Listing::default();
        for folder in children(&self.dir)? {
            let name = name_of(&folder);
            if name == HEADER {
                continue;
            }
            if name.starts_with(PARTIAL) {
                listing.partial.push(folder);
                continue;
            }
            let is_ours = name.len() == 2 && name.bytes().all(is_hex) && is_plain_dir(&folder);
            if !is_ours {
                listing.foreign.push(folder);
                continue;
            }
            for file in children(&folder)? {
                let rest = name_of(&file);
                let digest = rest.strip_suffix(EXTENSION).and_then(|rest| format!("sha256:{name}{rest}").parse().ok());
                match digest {
                    Some(digest) => listing.entries.push(digest),
                    None if rest.starts_with(PARTIAL) => listing.partial.push(file),
                    None => listing.foreign.push(file),
                }
            }
        }
        listing.entries.sort_unstable();
        listing.partial.sort_unstable();
        listing.foreign.sort_unstable();
        Ok(listing)
    }

    /// The length of an entry's file.
    pub fn packed_size(&self, digest: RequestDigest) -> u64 {
        fs::symlink_metadata(self.path(digest)).map_or(0, |metadata| metadata.len())
    }

    /// Removes an entry.
    pub fn remove(&self, digest: RequestDigest) -> Result<(), CassetteError> {
        self.remove_file(&self.path(digest))
    }

    /// Removes a file that [`Store::list`] named. One that is gone is gone.
    pub fn remove_file(&self, path: &Path) -> Result<(), CassetteError> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(CassetteError::Write { path: path.to_owned(), source: error })
            }
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum OnClash {
    Replace,
    Keep,
}

fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3)?;
    encoder.include_checksum(true)?;
    encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn children(dir: &Path) -> Result<Vec<PathBuf>, CassetteError> {
    let io_error = |source| CassetteError::Read { path: dir.to_owned(), source };
    let read = fs::read_dir(dir).map_err(io_error)?;
    read.map(|entry| entry.map(|entry| entry.path()).map_err(io_error)).collect()
}

fn is_empty(dir: &Path) -> Result<bool, CassetteError> {
    // Another process may be about to make it a cassette.
    Ok(children(dir)?.iter().all(|path| name_of(path).starts_with(PARTIAL) || name_of(path) == HEADER))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn is_plain_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::super::entry::{Answer, Body, Question};
    use super::*;

    fn entry(seed: u32, text: &str) -> Entry {
        let text_of = |text: &str| text.to_owned();
        let question = Question {
            body: text_of("{}"),
            headers: None,
            model: text_of("m"),
            path: text_of("/p"),
            provider: text_of("openai"),
            seed,
        };
        let (headers, status) = (std::collections::BTreeMap::new(), 200);
        Entry::new(question, Answer::Http { body: Body::of(text.into()), headers, status }).unwrap()
    }

    fn put(path: &Path, bytes: &[u8]) {
        File::create(path).unwrap().write_all(bytes).unwrap();
    }

    #[test]
    fn what_was_written_is_found_and_nothing_else_is() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&dir.path().join("a/b")).unwrap();
        let (one, other) = (entry(1, "one"), entry(1, "other"));
        assert_eq!(store.load(one.digest).unwrap(), None);
        assert_eq!(store.add(&one).unwrap(), Written::Added);
        assert_eq!(store.add(&other).unwrap(), Written::WasThere);
        assert_eq!(store.load(one.digest).unwrap(), Some(one.clone()));
        store.replace(&other).unwrap();
        assert_eq!(store.load(one.digest).unwrap(), Some(other));
        assert_eq!(store.load(entry(2, "").digest).unwrap(), None);
        let listing = Store::open(store.dir()).unwrap().list().unwrap();
        assert_eq!(listing, Listing { entries: vec![one.digest], ..Listing::default() });
    }

    #[test]
    fn a_changed_file_is_an_error_with_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(dir.path()).unwrap();
        let (one, two) = (entry(1, "one"), entry(2, "two"));
        store.replace(&one).unwrap();
        store.replace(&two).unwrap();
        let path = store.path(one.digest);
        let bytes = fs::read(&path).unwrap();
        let refuse = |changed: &[u8], what: &str| {
            put(&path, changed);
            let error = store.load(one.digest).expect_err(what);
            assert!(error.to_string().contains(&path.display().to_string()), "{what}: {error}");
            assert!(error.hint().is_some());
        };
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            // A bit of the frame's head may change without effect on what it holds; then it is the same entry.
            put(&path, &changed);
            assert!(!matches!(store.load(one.digest), Ok(found) if found.as_ref() != Some(&one)), "byte {at}");
            refuse(&bytes[..at], "cut");
        }
        refuse(&fs::read(store.path(two.digest)).unwrap(), "another entry");
        refuse(&[bytes.as_slice(), b"more"].concat(), "more bytes");
        refuse(&[bytes.as_slice(), &bytes].concat(), "twice");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(store.path(two.digest), &path).unwrap();
        assert!(store.load(one.digest).is_err());
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(dir.path()).unwrap();
        let one = entry(1, "one");
        store.replace(&one).unwrap();
        let limit = one.encode().unwrap().len() as u64;
        assert_eq!(store.load_within(one.digest, limit).unwrap().as_ref(), Some(&one));
        let bomb = pack(&vec![0; 64 << 20]).unwrap();
        assert!(bomb.len() < 16 << 10);
        put(&store.path(one.digest), &bomb);
        assert!(matches!(store.load_within(one.digest, limit), Err(CassetteError::TooLarge { .. })));
    }

    #[test]
    fn a_folder_of_something_else_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(Store::open(&dir.path().join("none")), Err(CassetteError::Missing(_))));
        assert!(matches!(Store::open(dir.path()), Err(CassetteError::Missing(_))));
        put(&dir.path().join("notes.txt"), b"mine");
        assert!(matches!(Store::open_or_create(dir.path()), Err(CassetteError::NotACassette(_))));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        put(&dir.path().join(HEADER), b"{\"format\":\"proofmark.cassette\",\"version\":2}\n");
        assert!(matches!(Store::open(dir.path()), Err(CassetteError::Newer { found: 2, .. })));
    }

    #[test]
    fn what_is_not_an_entry_is_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(dir.path()).unwrap();
        let one = entry(1, "one");
        store.replace(&one).unwrap();
        let folder = store.path(one.digest).parent().unwrap().to_owned();
        put(&folder.join(".partial-abc"), b"half");
        put(&folder.join("x.json.zst"), b"");
        put(&dir.path().join("README"), b"");
        let listing = store.list().unwrap();
        assert_eq!(listing.entries, [one.digest]);
        assert_eq!(listing.partial, [folder.join(".partial-abc")]);
        assert_eq!(listing.foreign.len(), 2);
    }
}
