//! What was seen before: for questions with several verdicts, all of them.
//!
//! A store can be put back to an older state whole, with every signature in order. The memory is outside of it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use proofmark_artefact::store::{Lines, write_atomic};
use proofmark_canon::{Digest, json};
use serde::{Deserialize, Serialize};

use super::error::CacheError;

/// The longest line: one question with some thousands of verdicts.
const MAX_LINE: usize = 1 << 20;
/// Lines that may be out of date before the file is written anew.
const MAX_STALE: usize = 1024;

/// One question of one store. A later line replaces an earlier one; no digests: forgotten.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    digests: Vec<Digest>,
    key: Digest,
    store: String,
}

/// The digests of judgments, by store and key of the question.
type Map = BTreeMap<(String, Digest), Vec<Digest>>;

#[derive(Debug)]
pub(super) struct Memory {
    path: PathBuf,
    store: String,
    /// Of this store; read at the first need.
    seen: Mutex<Option<BTreeMap<Digest, Vec<Digest>>>>,
}

impl Memory {
    pub(super) fn new(path: PathBuf, store: &str) -> Self {
        Self { path, store: store.to_owned(), seen: Mutex::new(None) }
    }

    /// The judgments of a question that were seen, when there was more than one.
    pub(super) fn seen(&self, key: &Digest) -> Result<Vec<Digest>, CacheError> {
        self.with(|seen| seen.get(key).cloned().unwrap_or_default())
    }

    /// Every question of this store of which more than one judgment was seen.
    pub(super) fn all(&self) -> Result<Vec<(Digest, Vec<Digest>)>, CacheError> {
        self.with(|seen| seen.iter().map(|(key, digests)| (*key, digests.clone())).collect())
    }

    /// Notes what there is on questions. One judgment alone is nothing to remember.
    pub(super) fn remember(&self, questions: &[(Digest, Vec<Digest>)]) -> Result<(), CacheError> {
        let mut text = Vec::new();
        self.with(|seen| {
            for (key, digests) in questions {
                let digests: &[Digest] = if digests.len() > 1 { digests } else { &[] };
                if seen.get(key).map_or(&[][..], Vec::as_slice) == digests {
                    continue;
                }
                let line = Seen { digests: digests.to_vec(), key: *key, store: self.store.clone() };
                json::to_writer(&line, &mut text)?;
                text.push(b'\n');
                if digests.is_empty() {
                    seen.remove(key);
                } else {
                    seen.insert(*key, digests.to_vec());
                }
            }
            Ok::<(), CacheError>(())
        })??;
        if text.is_empty() { Ok(()) } else { append(&self.path, &text).map_err(CacheError::io(&self.path)) }
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<Digest, Vec<Digest>>) -> T) -> Result<T, CacheError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.is_none() {
            let all = load(&self.path).map_err(CacheError::io(&self.path))?;
            let ours = all.into_iter().filter(|((store, _), _)| *store == self.store);
            *seen = Some(ours.map(|((_, key), digests)| (key, digests)).collect());
        }
        Ok(act(seen.get_or_insert_default()))
    }
}

/// Reads the file, and writes it anew when much of it is out of date.
fn load(path: &Path) -> io::Result<Map> {
    let (map, lines) = read(path)?;
    if lines <= map.len() * 2 + MAX_STALE {
        return Ok(map);
    }
    let _lock = lock(path)?;
    let (map, _) = read(path)?;
    let mut text = Vec::new();
    for ((store, key), digests) in &map {
        let line = Seen { digests: digests.clone(), key: *key, store: store.clone() };
        json::to_writer(&line, &mut text).map_err(io::Error::other)?;
        text.push(b'\n');
    }
    write_atomic(path, &text)?;
    Ok(map)
}

/// What the file says, and how many lines it takes to say it. Lines that say nothing are passed over.
fn read(path: &Path) -> io::Result<(Map, usize)> {
    let (mut map, mut count) = (Map::new(), 0);
    let mut lines = match Lines::open(path, MAX_LINE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((map, count)),
        opened => opened?,
    };
    loop {
        let line = match lines.next_line() {
            Ok(None) => return Ok((map, count)),
            Ok(Some(line)) => line,
            Err(proofmark_artefact::store::LineError::Io { source, .. }) => return Err(source),
            Err(_) => continue,
        };
        count += 1;
        let seen = json::parse(line.bytes).ok().and_then(|value| json::from_value::<Seen>(&value).ok());
        match seen {
            Some(seen) if seen.digests.is_empty() => drop(map.remove(&(seen.store, seen.key))),
            Some(seen) => drop(map.insert((seen.store, seen.key), seen.digests)),
            None => {}
        }
    }
}

fn append(path: &Path, text: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let _lock = lock(path)?;
    let mut file = File::options().create(true).read(true).append(true).open(path)?;
    let mut whole = Vec::with_capacity(text.len() + 1);
    // What a kill cut off must not swallow the line that comes now.
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            whole.push(b'\n');
        }
    }
    whole.extend_from_slice(text);
    file.write_all(&whole)?;
    file.sync_data()
}

/// Held while the file is written.
fn lock(path: &Path) -> io::Result<File> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let file = File::options().create(true).write(true).truncate(false).open(path.with_file_name(name))?;
    file.lock()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(count: u8) -> Vec<Digest> {
        (0..count).map(|one| Digest::of(&[one])).collect()
    }

    #[test]
    fn several_verdicts_are_remembered_by_store_and_one_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/seen.jsonl");
        let key = Digest::of(b"key");
        let memory = Memory::new(path.clone(), "a");
        assert!(memory.seen(&key).unwrap().is_empty());
        memory.remember(&[(key, digests(1))]).unwrap();
        assert!(!path.exists(), "nothing to remember");
        memory.remember(&[(key, digests(2))]).unwrap();
        assert_eq!(Memory::new(path.clone(), "a").seen(&key).unwrap(), digests(2));
        assert!(Memory::new(path.clone(), "b").seen(&key).unwrap().is_empty());
        memory.remember(&[(key, digests(1))]).unwrap();
        assert!(Memory::new(path, "a").seen(&key).unwrap().is_empty());
    }

    #[test]
    fn a_cut_off_line_takes_no_other_along() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("seen.jsonl");
        let (one, two) = (Digest::of(b"1"), Digest::of(b"2"));
        Memory::new(path.clone(), "a").remember(&[(one, digests(2))]).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend_from_slice(b"{\"digests\":[");
        write_atomic(&path, &bytes).unwrap();
        Memory::new(path.clone(), "a").remember(&[(two, digests(3))]).unwrap();
        let memory = Memory::new(path, "a");
        assert_eq!(memory.seen(&one).unwrap(), digests(2));
        assert_eq!(memory.seen(&two).unwrap(), digests(3));
    }

    #[test]
    fn a_file_that_is_mostly_out_of_date_is_written_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("seen.jsonl");
        let line = |count: u8| {
            let seen = Seen { digests: digests(count), key: Digest::of(b"k"), store: "a".into() };
            String::from_utf8(proofmark_canon::to_vec(&seen).unwrap()).unwrap() + "\n"
        };
        let text: String = (0..MAX_STALE + 10).map(|at| line(2 + (at % 2) as u8)).collect();
        write_atomic(&path, text.as_bytes()).unwrap();
        assert_eq!(Memory::new(path.clone(), "a").seen(&Digest::of(b"k")).unwrap(), digests(3));
        assert_eq!(fs::read_to_string(&path).unwrap(), line(3));
    }
}
