//! The folder of a store: what is where, its locks, what is set aside.

use std::fmt;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use data_encoding::HEXLOWER;
use proofmark_artefact::store::write_atomic;
use proofmark_canon::{Digest, json};
use rustix::fs::{Mode, OFlags, openat};
use serde::{Deserialize, Serialize};

use super::error::CacheError;

/// What `format.json` says of the layout.
pub(super) const SCHEMA: &str = "proofmark.judge-cache/1";

const FORMAT: &str = "format.json";
const SHARDS: &str = "shards";
const LOCKS: &str = "locks";
const SET_ASIDE: &str = "set-aside";
/// Held while a store is made.
const STORE_LOCK: &str = "store.lock";
const MAX_FORMAT: u64 = 64 * 1024;
/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(60);

/// One of the 4,096 parts of a store: the first three hex digits of the keys in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard(u16);

/// How many shards a store has.
pub(super) const SHARD_COUNT: usize = 1 << 12;

impl Shard {
    /// The shard in which a key is looked for.
    pub fn of(key: &Digest) -> Self {
        let [first, second, ..] = *key.as_bytes();
        Self(u16::from(first) << 4 | u16::from(second >> 4))
    }

    pub(super) fn number(self) -> usize {
        usize::from(self.0)
    }

    fn file_name(self) -> String {
        format!("{self}.jsonl")
    }

    /// The shard that a file of the store holds.
    fn of_file(name: &str) -> Option<Self> {
        let digits = name.strip_suffix(".jsonl")?;
        let is_hex = digits.len() == 3 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex { u16::from_str_radix(digits, 16).ok().map(Self) } else { None }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03x}", self.0)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Format {
    id: String,
    schema: String,
}

/// A store's folder.
#[derive(Debug)]
pub(super) struct Folder {
    dir: PathBuf,
    id: String,
    /// Where the shards are, once one was looked for.
    way: OnceLock<OwnedFd>,
}

/// The right to replace a shard. Released when dropped or killed.
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

/// Whether a shard's file is there.
pub(super) enum Opened {
    File(File, Metadata),
    /// It is there and is no file of ours: a link, a folder.
    NotFile,
    /// It was never written.
    Never,
    /// It was written once and is gone.
    Gone,
}

impl Opened {
    fn of(file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(if metadata.is_file() { Self::File(file, metadata) } else { Self::NotFile })
    }
}

impl Folder {
    pub(super) fn open(dir: &Path) -> Result<Self, CacheError> {
        let path = dir.join(FORMAT);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) => return Err(why_no_format(dir, &path, error)),
        };
        let mut bytes = Vec::new();
        file.take(MAX_FORMAT).read_to_end(&mut bytes).map_err(CacheError::io(&path))?;
        let value = json::parse(&bytes).ok();
        let schema = value.as_ref().and_then(|value| value.get("schema")?.as_str());
        if schema != Some(SCHEMA) {
            let found = schema.unwrap_or("none").chars().take(80).collect();
            return Err(CacheError::OtherFormat { path, found, expected: SCHEMA });
        }
        let format = value.and_then(|value| json::from_value::<Format>(&value).ok());
        let Some(format) = format.filter(|format| is_id(&format.id)) else {
            return Err(CacheError::OtherFormat { path, found: format!("{SCHEMA} without an id"), expected: SCHEMA });
        };
        for name in [SHARDS, LOCKS] {
            // A link would lead out of the store. A folder that is missing is made by the next write.
            let path = dir.join(name);
            match fs::symlink_metadata(&path) {
                Ok(metadata) if !metadata.is_dir() => return Err(CacheError::NotFolder(path)),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(CacheError::io(&path)(error)),
                _ => {}
            }
        }
        Ok(Self { dir: dir.to_owned(), id: format.id, way: OnceLock::new() })
    }

    pub(super) fn open_or_make(dir: &Path, chance: [u8; 16]) -> Result<Self, CacheError> {
        match Self::open(dir) {
            Err(CacheError::NoStore(_)) => {}
            other => return other,
        }
        let locks = dir.join(LOCKS);
        fs::create_dir_all(&locks).map_err(CacheError::io(&locks))?;
        let _lock = Lock::take(locks.join(STORE_LOCK))?;
        // Another process may have made it meanwhile.
        match Self::open(dir) {
            Err(CacheError::NoStore(_)) => {}
            other => return other,
        }
        let shards = dir.join(SHARDS);
        fs::create_dir_all(&shards).map_err(CacheError::io(&shards))?;
        let format = Format { id: HEXLOWER.encode(&chance), schema: SCHEMA.to_owned() };
        let path = dir.join(FORMAT);
        replace(&path, &proofmark_canon::to_vec(&format)?)?;
        Self::open(dir)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn path(&self, shard: Shard) -> PathBuf {
        self.dir.join(SHARDS).join(shard.file_name())
    }

    /// Opens a shard's file to be read, wherever it stands; a link is not followed.
    pub(super) fn open_shard(&self, shard: Shard) -> Result<Opened, CacheError> {
        // Without `NONBLOCK` a pipe of that name would be waited for.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        // From the folder the way is short. What is not there is looked for all the way: the folder may be another by now.
        if let Some(shards) = self.way()
            && let Ok(file) = openat(shards, shard.file_name(), flags | OFlags::CLOEXEC, Mode::empty())
        {
            return Opened::of(file.into()).map_err(CacheError::io(&self.path(shard)));
        }
        let path = self.path(shard);
        match File::options().read(true).custom_flags(flags.bits() as i32).open(&path) {
            Ok(file) => Opened::of(file).map_err(CacheError::io(&path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let written = fs::symlink_metadata(self.lock_path(shard)).is_ok_and(|metadata| metadata.len() > 0);
                Ok(if written { Opened::Gone } else { Opened::Never })
            }
            // That is how a link is refused.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => Ok(Opened::NotFile),
            Err(source) => Err(CacheError::Io { path, source }),
        }
    }

    /// The folder of the shards, if there is one.
    fn way(&self) -> Option<&OwnedFd> {
        if let Some(shards) = self.way.get() {
            return Some(shards);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::open(self.dir.join(SHARDS), flags, Mode::empty()).ok()?;
        Some(self.way.get_or_init(|| folder))
    }

    pub(super) fn lock(&self, shard: Shard) -> Result<Lock, CacheError> {
        for name in [LOCKS, SHARDS] {
            let path = self.dir.join(name);
            fs::create_dir_all(&path).map_err(CacheError::io(&path))?;
        }
        Lock::take(self.lock_path(shard))
    }

    fn lock_path(&self, shard: Shard) -> PathBuf {
        self.dir.join(LOCKS).join(format!("{shard}.lock"))
    }

    /// Replaces a shard's file whole.
    pub(super) fn write_shard(&self, shard: Shard, lock: &Lock, bytes: &[u8]) -> Result<(), CacheError> {
        replace(&self.path(shard), bytes)?;
        lock.mark_written()
    }

    /// Keeps what a shard held and should not have held. The same bytes are kept once.
    pub(super) fn set_aside(&self, shard: Shard, bytes: &[u8]) -> Result<(), CacheError> {
        let folder = self.dir.join(SET_ASIDE);
        fs::create_dir_all(&folder).map_err(CacheError::io(&folder))?;
        let name = Digest::of(bytes).hex();
        let path = folder.join(format!("{shard}-{}.jsonl", name.get(..8).unwrap_or_default()));
        if fs::symlink_metadata(&path).is_ok() {
            return Ok(());
        }
        replace(&path, bytes)
    }

    /// Moves a file that is too large to be read out of the way.
    pub(super) fn set_aside_whole(&self, shard: Shard) -> Result<(), CacheError> {
        let folder = self.dir.join(SET_ASIDE);
        fs::create_dir_all(&folder).map_err(CacheError::io(&folder))?;
        let path = self.path(shard);
        fs::rename(&path, folder.join(format!("{shard}-whole.jsonl"))).map_err(CacheError::io(&path))
    }

    /// What is set aside: how many files, how many bytes.
    pub(super) fn count_set_aside(&self) -> Result<(u64, u64), CacheError> {
        let folder = self.dir.join(SET_ASIDE);
        let mut count = (0, 0);
        for path in list(&folder)? {
            count.0 += 1;
            count.1 += fs::symlink_metadata(&path).map_or(0, |metadata| metadata.len());
        }
        Ok(count)
    }

    /// Removes what is set aside.
    pub(super) fn clear_set_aside(&self) -> Result<(), CacheError> {
        for path in list(&self.dir.join(SET_ASIDE))? {
            fs::remove_file(&path).map_err(CacheError::io(&path))?;
        }
        Ok(())
    }

    /// The shards that have a file, in order, and the names in the folder that are none of ours.
    pub(super) fn shards(&self) -> Result<(Vec<Shard>, Vec<String>), CacheError> {
        let (mut shards, mut others) = (Vec::new(), Vec::new());
        for path in list(&self.dir.join(SHARDS))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match Shard::of_file(&name) {
                Some(shard) => shards.push(shard),
                // What a kill left of an unfinished write; the next write of the shard removes it.
                None if name.starts_with('.') && name.ends_with(".jsonl.partial") => {}
                None => others.push(name),
            }
        }
        shards.sort_unstable();
        others.sort_unstable();
        Ok((shards, others))
    }

    /// The shards that were written once and have no file any more.
    pub(super) fn gone(&self) -> Result<Vec<Shard>, CacheError> {
        let mut gone = Vec::new();
        for path in list(&self.dir.join(LOCKS))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().replace(".lock", ".jsonl");
            if let Some(shard) = Shard::of_file(&name)
                && matches!(self.open_shard(shard), Ok(Opened::Gone))
            {
                gone.push(shard);
            }
        }
        gone.sort_unstable();
        Ok(gone)
    }
}

impl Lock {
    /// Waits until nobody else holds it, but not for ever: whoever shares the folder could hold it for ever.
    fn take(path: PathBuf) -> Result<Self, CacheError> {
        let file = open_lock(&path).map_err(CacheError::io(&path))?;
        let (mut waited, mut pause) = (Duration::ZERO, Duration::from_millis(1));
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file, path }),
                Err(TryLockError::Error(source)) => return Err(CacheError::Io { path, source }),
                Err(TryLockError::WouldBlock) if waited >= PATIENCE => return Err(CacheError::Busy(path)),
                Err(TryLockError::WouldBlock) => {
                    std::thread::sleep(pause);
                    waited += pause;
                    pause = (pause * 2).min(Duration::from_millis(20));
                }
            }
        }
    }

    /// Notes that the shard has a file, so that it is missed when it goes.
    fn mark_written(&self) -> Result<(), CacheError> {
        if self.file.metadata().map_err(CacheError::io(&self.path))?.len() == 0 {
            // Another user's lock may be held and not written: then a shard that is gone is an ordinary miss.
            let flags = OFlags::NOFOLLOW.bits() as i32;
            if let Ok(mut file) = File::options().write(true).custom_flags(flags).open(&self.path) {
                file.write_all(b"written\n").map_err(CacheError::io(&self.path))?;
            }
        }
        Ok(())
    }
}

/// Opens a lock, or makes it. It need not be our own: to hold it, it is enough to read it.
fn open_lock(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    match File::options().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            File::options().create(true).read(true).write(true).truncate(false).custom_flags(flags).open(path)
        }
        opened => opened,
    }
}

/// The paths in a folder; none when it is not there.
fn list(folder: &Path) -> Result<Vec<PathBuf>, CacheError> {
    let Some(entries) = fs::read_dir(folder).map(Some).or_else(absent).map_err(CacheError::io(folder))? else {
        return Ok(Vec::new());
    };
    entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>().map_err(CacheError::io(folder))
}

/// Why a folder's format cannot be opened.
fn why_no_format(dir: &Path, path: &Path, error: io::Error) -> CacheError {
    match fs::metadata(dir) {
        Ok(metadata) if !metadata.is_dir() => CacheError::NotFolder(dir.to_owned()),
        _ if error.kind() != io::ErrorKind::NotFound => CacheError::io(path)(error),
        Ok(_) => match only_ours(dir) {
            Ok(true) => CacheError::NoStore(dir.to_owned()),
            Ok(false) => CacheError::NotOurs(dir.to_owned()),
            Err(error) => error,
        },
        Err(_) => CacheError::NoStore(dir.to_owned()),
    }
}

fn absent<T>(error: io::Error) -> io::Result<Option<T>> {
    if error.kind() == io::ErrorKind::NotFound { Ok(None) } else { Err(error) }
}

/// Whether a folder without a format holds nothing but what making a store leaves when it is killed.
fn only_ours(dir: &Path) -> Result<bool, CacheError> {
    Ok(list(dir)?.iter().all(|path| {
        let name = path.file_name().unwrap_or_default();
        [SHARDS, LOCKS, ".format.json.partial"].iter().any(|ours| name == *ours)
    }))
}

fn replace(path: &Path, bytes: &[u8]) -> Result<(), CacheError> {
    // Whoever shares the folder may have put a link where the unfinished file goes; it must not be written through.
    if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
        match fs::remove_file(folder.join(format!(".{}.partial", name.to_string_lossy()))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(CacheError::io(path)(error)),
            _ => {}
        }
    }
    write_atomic(path, bytes).map(|_| ()).map_err(CacheError::io(path))
}

fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_the_first_three_digits_of_a_key() {
        for text in ["a", "b", "c", "d"] {
            let key = Digest::of(text.as_bytes());
            let shard = Shard::of(&key);
            assert_eq!(shard.to_string(), key.hex()[..3]);
            assert_eq!(Shard::of_file(&format!("{shard}.jsonl")), Some(shard));
        }
        for name in ["abc", "abcd.jsonl", "ABC.jsonl", "+bc.jsonl", "ab.jsonl", ".abc.jsonl.partial"] {
            assert_eq!(Shard::of_file(name), None, "{name}");
        }
    }

    #[test]
    fn a_store_keeps_its_id_and_is_made_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/down");
        assert!(matches!(Folder::open(&path), Err(CacheError::NoStore(_))));
        let made = Folder::open_or_make(&path, [7; 16]).unwrap();
        assert_eq!(made.id(), "07".repeat(16));
        assert_eq!(Folder::open_or_make(&path, [8; 16]).unwrap().id(), made.id());
        assert_eq!(Folder::open(&path).unwrap().id(), made.id());
    }

    #[test]
    fn folders_of_others_and_other_formats_are_refused_and_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        write_atomic(&dir.path().join("0a1b.json"), b"{\"verdict\":true}").unwrap();
        for result in [Folder::open(dir.path()), Folder::open_or_make(dir.path(), [1; 16])] {
            let error = result.unwrap_err();
            assert!(matches!(error, CacheError::NotOurs(_)), "{error}");
            assert!(error.hint().unwrap().contains("unsigned"));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        for text in [
            "",
            "{}",
            "[]",
            r#"{"id":"x","schema":"proofmark.judge-cache/2"}"#,
            r#"{"id":"x","schema":"proofmark.judge-cache/1"}"#,
        ] {
            write_atomic(&dir.path().join(FORMAT), text.as_bytes()).unwrap();
            for result in [Folder::open(dir.path()), Folder::open_or_make(dir.path(), [1; 16])] {
                assert!(matches!(result, Err(CacheError::OtherFormat { .. })), "{text}");
            }
        }
        let file = dir.path().join("file");
        write_atomic(&file, b"").unwrap();
        assert!(Folder::open_or_make(&file, [1; 16]).is_err());
    }

    #[test]
    fn a_store_that_was_half_made_is_made_whole() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(LOCKS)).unwrap();
        assert!(Folder::open_or_make(dir.path(), [1; 16]).is_ok());
    }

    #[test]
    fn links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open_or_make(&dir.path().join("store"), [1; 16]).unwrap();
        let shard = Shard(0xabc);
        let outside = dir.path().join("outside");
        write_atomic(&outside, b"keep").unwrap();
        std::os::unix::fs::symlink(&outside, folder.path(shard)).unwrap();
        assert!(matches!(folder.open_shard(shard).unwrap(), Opened::NotFile));
        let partial = folder.dir().join("shards/.abc.jsonl.partial");
        std::os::unix::fs::symlink(&outside, &partial).unwrap();
        let lock = folder.lock(shard).unwrap();
        folder.write_shard(shard, &lock, b"new").unwrap();
        assert_eq!(fs::read(&outside).unwrap(), b"keep");
        assert!(matches!(folder.open_shard(shard).unwrap(), Opened::File(..)));
        fs::remove_file(folder.path(shard)).unwrap();
        assert!(matches!(folder.open_shard(shard).unwrap(), Opened::Gone));
        assert!(matches!(folder.open_shard(Shard(1)).unwrap(), Opened::Never));
    }
}
