//! The journal: every finished sample, before it counts.
//!
//! One line a sample, in the order in which answers came: the entry and a digest over the run's id
//! and the entry's canonical bytes. Only what came back is kept; everything else follows from the
//! plan, and the input's fingerprint ties the two together.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proofmark_artefact::store::{Line, LineError, Lines, MAX_LINE};
use proofmark_canon::json::{self, EncodeError};
use proofmark_canon::{Digest, RunId, Value, seed};
use proofmark_model::Reply;
use serde::{Deserialize, Serialize};

use crate::agent::Earned;
use crate::appender::{Appender, with_line};
use crate::begin::Begun;
use crate::telemetry::Telemetry;

/// What one sample came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// How an agent earned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earned: Option<Earned>,
    pub fingerprint: Digest,
    pub ordinal: u64,
    pub reply: Reply,
}

/// The journal cannot be trusted, so nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    #[error("cannot read the journal `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot read the journal `{path}`")]
    Line { path: PathBuf, source: LineError },
    #[error("line {line} of the journal `{path}` is not an entry: {why}")]
    Malformed { path: PathBuf, line: u64, why: String },
    #[error("line {line} of the journal `{path}` was changed: its digest is {recorded}, its content has {actual}")]
    Changed { path: PathBuf, line: u64, recorded: Digest, actual: Digest },
    #[error("line {line} of the journal `{path}` answers sample {ordinal} a second time")]
    Twice { path: PathBuf, line: u64, ordinal: u64 },
    #[error("line {line} of the journal `{path}` answers sample {ordinal}, but the run has only {samples}")]
    Beyond { path: PathBuf, line: u64, ordinal: u64, samples: u64 },
    #[error(
        "sample {ordinal} (`{key}`) was asked with other input: the journal has {recorded}, the suite gives {actual}"
    )]
    OtherInput { key: String, ordinal: u64, recorded: Digest, actual: Digest },
}

/// The journal of a run in progress, shared by everyone who asks.
pub struct Journal {
    run_id: RunId,
    lines: Mutex<Appender>,
    /// To sync without holding up those who append.
    file: File,
    /// Written before the lines that depend on it.
    telemetry: Arc<Telemetry>,
    /// No answer is kept before it.
    begun: Begun,
}

impl Journal {
    /// Opens the journal for appending, cutting off what a kill left of its last line.
    pub(crate) fn open(
        path: &Path,
        run_id: RunId,
        valid_length: u64,
        telemetry: Arc<Telemetry>,
        begun: Begun,
    ) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(path)?;
        if file.metadata()?.len() != valid_length {
            file.set_len(valid_length)?;
        }
        let lines = Mutex::new(Appender::new(file.try_clone()?));
        Ok(Self { run_id, lines, file, telemetry, begun })
    }

    /// Writes one entry. When this returns, a kill of the process no longer loses it.
    pub async fn append(&self, entry: &Entry) -> io::Result<()> {
        self.begun.wait().await?;
        let end = with_line(|line| {
            encode(&self.run_id, entry, line)?;
            let mut lines = self.lock();
            lines.push(line);
            io::Result::Ok(lines.end())
        })?;
        // Others whose answers are there already get to add theirs, and one of them writes for all.
        tokio::task::yield_now().await;
        let mut lines = self.lock();
        if lines.has_written(end) { Ok(()) } else { self.write(&mut lines) }
    }

    /// Brings everything to the disk that was added before.
    pub fn sync(&self) -> io::Result<()> {
        self.write(&mut self.lock())?;
        self.file.sync_data()
    }

    fn write(&self, lines: &mut Appender) -> io::Result<()> {
        self.telemetry.flush();
        lines.flush()
    }

    fn lock(&self) -> MutexGuard<'_, Appender> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the line of an entry in an empty room.
fn encode(run_id: &RunId, entry: &Entry, line: &mut Vec<u8>) -> Result<(), EncodeError> {
    const DIGEST: &[u8] = b"{\"digest\":\"";
    const ENTRY: &[u8] = b"\",\"entry\":";
    let body_at = DIGEST.len() + Digest::TEXT_LENGTH + ENTRY.len();
    // The digest's place, until it is known.
    line.resize(body_at, b' ');
    json::to_writer(entry, line)?;
    let digest = digest_of(run_id, &line[body_at..]).text();
    let mut start = &mut line[..body_at];
    for part in [DIGEST, &digest, ENTRY] {
        let (here, rest) = start.split_at_mut(part.len());
        here.copy_from_slice(part);
        start = rest;
    }
    line.extend_from_slice(b"}\n");
    Ok(())
}

fn digest_of(run_id: &RunId, body: &[u8]) -> Digest {
    seed::derive("proofmark.journal/1", &[run_id.as_bytes(), body])
}

/// What a journal holds, without its answers: one bit a sample.
#[derive(Debug, Default)]
pub struct Done {
    bits: Vec<u64>,
    pub count: u64,
    /// Up to where the file holds whole lines.
    pub valid_length: u64,
}

impl Done {
    pub fn contains(&self, ordinal: u64) -> bool {
        self.bits.get((ordinal / 64) as usize).is_some_and(|word| word >> (ordinal % 64) & 1 == 1)
    }

    /// Returns false when the bit was set already.
    fn insert(&mut self, ordinal: u64) -> bool {
        let at = (ordinal / 64) as usize;
        if at >= self.bits.len() {
            self.bits.resize(at + 1, 0);
        }
        let bit = 1 << (ordinal % 64);
        let is_new = self.bits[at] & bit == 0;
        self.bits[at] |= bit;
        self.count += u64::from(is_new);
        is_new
    }
}

/// Reads the journal and checks every digest. Changes nothing.
///
/// A last line without its line end is what a kill leaves; it does not count. Anything else that is
/// not whole is refused.
pub fn scan(path: &Path, run_id: &RunId, samples: u64) -> Result<Done, JournalError> {
    let mut done = Done::default();
    let decoder = Decoder { path: path.to_owned(), run_id: *run_id };
    let mut lines = match Lines::open(path, MAX_LINE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(done),
        other => other.map_err(|source| decoder.io_error(source))?,
    };
    while let Some(line) = next_line(&mut lines, &decoder)? {
        let ordinal = decoder.decode(line.number, line.bytes)?.ordinal;
        if ordinal >= samples {
            return Err(JournalError::Beyond { path: decoder.path, line: line.number, ordinal, samples });
        }
        if !done.insert(ordinal) {
            return Err(JournalError::Twice { path: decoder.path, line: line.number, ordinal });
        }
        done.valid_length = line.offset + line.bytes.len() as u64 + 1;
    }
    Ok(done)
}

/// Returns the next whole line.
fn next_line<'a>(lines: &'a mut Lines, decoder: &Decoder) -> Result<Option<Line<'a>>, JournalError> {
    let line = lines.next_line().map_err(|source| JournalError::Line { path: decoder.path.clone(), source })?;
    Ok(line.filter(|line| line.ended))
}

/// Turns lines of one run's journal to entries, and holds each against its digest.
struct Decoder {
    path: PathBuf,
    run_id: RunId,
}

impl Decoder {
    fn decode(&self, number: u64, line: &[u8]) -> Result<Entry, JournalError> {
        let malformed = |why: String| self.malformed(number, why);
        let value = json::parse(line).map_err(|error| malformed(error.to_string()))?;
        let (Some(recorded), Some(body)) = (value.get("digest").and_then(Value::as_str), value.get("entry")) else {
            return Err(malformed("it has no digest or no entry".to_owned()));
        };
        let recorded: Digest = recorded.parse().map_err(|error| malformed(format!("{error}")))?;
        let actual = digest_of(&self.run_id, &body.to_canonical());
        if recorded != actual {
            return Err(JournalError::Changed { path: self.path.clone(), line: number, recorded, actual });
        }
        json::from_value(body).map_err(|error| malformed(error.to_string()))
    }

    /// Decodes an entry that was found by its ordinal.
    fn decode_as(&self, ordinal: u64, number: u64, line: &[u8]) -> Result<Entry, JournalError> {
        let entry = self.decode(number, line)?;
        if entry.ordinal == ordinal {
            Ok(entry)
        } else {
            Err(self.malformed(number, format!("it answers sample {}, not {ordinal}", entry.ordinal)))
        }
    }

    fn malformed(&self, line: u64, why: String) -> JournalError {
        JournalError::Malformed { path: self.path.clone(), line, why }
    }

    fn io_error(&self, source: io::Error) -> JournalError {
        JournalError::Io { path: self.path.clone(), source }
    }
}

/// Gives journalled entries in the order of the plan.
///
/// Answers came nearly in that order. What is passed on the way to the wanted entry is remembered by
/// its place and read again when its turn comes, so that an answer that came very late holds no others
/// in memory.
pub struct Replay {
    /// `None` when there is nothing to replay.
    open: Option<Open>,
    passed: BTreeMap<u64, Place>,
}

struct Open {
    file: File,
    lines: Lines,
    decoder: Decoder,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    offset: u64,
    line: u64,
    /// Below [`MAX_LINE`].
    length: u32,
}

impl Replay {
    pub fn open(path: &Path, run_id: RunId, done: &Done) -> Result<Self, JournalError> {
        let open = if done.count == 0 { None } else { Some(Open::new(path, run_id)?) };
        Ok(Self { open, passed: BTreeMap::new() })
    }

    /// Takes the entry of a sample that [`scan`] found.
    pub fn take(&mut self, ordinal: u64) -> Result<Option<Entry>, JournalError> {
        let Some(Open { file, lines, decoder }) = &mut self.open else { return Ok(None) };
        if let Some(place) = self.passed.remove(&ordinal) {
            let mut bytes = vec![0; place.length as usize];
            file.read_exact_at(&mut bytes, place.offset).map_err(|source| decoder.io_error(source))?;
            return decoder.decode_as(ordinal, place.line, &bytes).map(Some);
        }
        while let Some(line) = next_line(lines, decoder)? {
            let found = match ordinal_of(line.bytes) {
                Some(found) => found,
                None => decoder.decode(line.number, line.bytes)?.ordinal,
            };
            if found == ordinal {
                return decoder.decode_as(ordinal, line.number, line.bytes).map(Some);
            }
            let place = Place { offset: line.offset, line: line.number, length: line.bytes.len() as u32 };
            self.passed.insert(found, place);
        }
        Ok(None)
    }
}

impl Open {
    fn new(path: &Path, run_id: RunId) -> Result<Self, JournalError> {
        let decoder = Decoder { path: path.to_owned(), run_id };
        let open = || -> io::Result<(File, File)> {
            let file = File::open(path)?;
            Ok((file.try_clone()?, file))
        };
        let (file, source) = open().map_err(|source| decoder.io_error(source))?;
        Ok(Self { file, lines: Lines::new(source, MAX_LINE), decoder })
    }
}

/// Reads the ordinal out of a line that has exactly the form we write, without parsing the rest.
fn ordinal_of(line: &[u8]) -> Option<u64> {
    const DIGEST: usize = Digest::TEXT_LENGTH;
    let rest = line.strip_prefix(b"{\"digest\":\"")?.get(DIGEST..)?;
    let rest = rest.strip_prefix(b"\",\"entry\":{\"fingerprint\":\"")?.get(DIGEST..)?;
    let rest = rest.strip_prefix(b"\",\"ordinal\":")?;
    let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use proofmark_artefact::record::Usage;
    use proptest::prelude::*;

    fn entry(ordinal: u64, text: &str) -> Entry {
        let reply = Reply::of_text(text, Usage::default());
        Entry { earned: None, fingerprint: Digest::of(text.as_bytes()), ordinal, reply }
    }

    fn run_id() -> RunId {
        RunId::from_digest(&Digest::of(b"run"))
    }

    fn open(path: &Path, valid_length: u64) -> Journal {
        let telemetry = Telemetry::at(path.with_file_name("telemetry.jsonl")).unwrap();
        Journal::open(path, run_id(), valid_length, Arc::new(telemetry), Begun::now()).unwrap()
    }

    fn append(journal: &Journal, entry: &Entry) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(journal.append(entry)).unwrap();
    }

    /// However many add at once, each finds its line in the file when it goes on.
    #[test]
    fn an_entry_is_in_the_file_when_it_was_added() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        let journal = Arc::new(open(&path, 0));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let add = |number: u64| {
            let (journal, path) = (Arc::clone(&journal), path.clone());
            runtime.spawn(async move {
                journal.append(&entry(number, "x")).await.unwrap();
                let found = std::fs::read_to_string(&path).unwrap();
                assert!(found.ends_with('\n') && found.contains(&format!("\"ordinal\":{number},")), "{number}");
            })
        };
        let added: Vec<_> = (0..200).map(add).collect();
        added.into_iter().for_each(|one| runtime.block_on(one).unwrap());
        assert_eq!(scan(&path, &run_id(), 200).unwrap().count, 200);
    }

    fn journal_of(entries: &[Entry]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        let journal = open(&path, 0);
        entries.iter().for_each(|entry| append(&journal, entry));
        (dir, path)
    }

    #[test]
    fn entries_come_back_in_the_order_of_the_plan() {
        let (_dir, path) = journal_of(&[entry(2, "c"), entry(0, "a"), entry(5, "f"), entry(1, "b")]);
        let done = scan(&path, &run_id(), 6).unwrap();
        assert_eq!(done.count, 4);
        let ordinals: Vec<_> =
            std::fs::read_to_string(&path).unwrap().lines().map(|l| ordinal_of(l.as_bytes())).collect();
        assert_eq!(ordinals, [2, 0, 5, 1].map(Some));
        let found: Vec<u64> = (0..6).filter(|ordinal| done.contains(*ordinal)).collect();
        assert_eq!(found, [0, 1, 2, 5]);
        let mut replay = Replay::open(&path, run_id(), &done).unwrap();
        for (ordinal, text) in [(0, "a"), (1, "b"), (2, "c"), (5, "f")] {
            assert_eq!(replay.take(ordinal).unwrap(), Some(entry(ordinal, text)));
        }
    }

    #[test]
    fn a_very_late_entry_holds_only_the_places_of_others() {
        let long = "x".repeat(10_000);
        let mut entries: Vec<Entry> = (1..500).map(|ordinal| entry(ordinal, &long)).collect();
        entries.push(entry(0, "late"));
        let (_dir, path) = journal_of(&entries);
        let done = scan(&path, &run_id(), 500).unwrap();
        let mut replay = Replay::open(&path, run_id(), &done).unwrap();
        assert_eq!(replay.take(0).unwrap(), Some(entry(0, "late")));
        assert_eq!(replay.passed.len(), 499);
        for ordinal in 1..500 {
            assert_eq!(replay.take(ordinal).unwrap().as_ref(), Some(&entries[ordinal as usize - 1]));
        }
        assert!(replay.passed.is_empty());
        assert_eq!(replay.take(7).unwrap(), None);
    }

    #[test]
    fn an_entry_that_changes_between_scan_and_replay_is_refused() {
        let (_dir, path) = journal_of(&[entry(1, "b"), entry(0, "a")]);
        let done = scan(&path, &run_id(), 2).unwrap();
        let mut replay = Replay::open(&path, run_id(), &done).unwrap();
        assert!(replay.take(0).unwrap().is_some());
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(8).position(|window| window == b"\"text\":\"").unwrap() + 8;
        bytes[at] = b'c';
        File::options().write(true).open(&path).unwrap().write_all(&bytes).unwrap();
        assert!(matches!(replay.take(1), Err(JournalError::Changed { line: 1, .. })));
    }

    #[test]
    fn a_line_in_another_form_is_replayed_all_the_same() {
        let (_dir, path) = journal_of(&[entry(1, "b"), entry(0, "a")]);
        let text = std::fs::read_to_string(&path).unwrap().replace("{\"digest\":", "{ \"digest\": ");
        assert!(text.lines().all(|line| ordinal_of(line.as_bytes()).is_none()));
        File::options().write(true).open(&path).unwrap().write_all(text.as_bytes()).unwrap();
        let done = scan(&path, &run_id(), 2).unwrap();
        let mut replay = Replay::open(&path, run_id(), &done).unwrap();
        assert_eq!(replay.take(0).unwrap(), Some(entry(0, "a")));
        assert_eq!(replay.take(1).unwrap(), Some(entry(1, "b")));
    }

    #[test]
    fn a_torn_last_line_does_not_count_and_is_cut_off() {
        let (_dir, path) = journal_of(&[entry(0, "a"), entry(1, "b")]);
        let whole = std::fs::read(&path).unwrap();
        for cut in 1..80 {
            File::options().write(true).open(&path).unwrap().set_len((whole.len() - cut) as u64).unwrap();
            let done = scan(&path, &run_id(), 2).unwrap();
            assert_eq!(done.count, 1, "cut {cut}");
            let journal = open(&path, done.valid_length);
            append(&journal, &entry(1, "b"));
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
    }

    #[test]
    fn an_edit_anywhere_is_refused() {
        let (_dir, path) = journal_of(&[entry(0, "yes"), entry(1, "no")]);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() - 1 {
            let mut edited = whole.clone();
            edited[at] ^= 1;
            File::options().write(true).open(&path).unwrap().write_all(&edited).unwrap();
            // Turning a line end to something else tears the file; everything else is a refusal.
            let refused = scan(&path, &run_id(), 2).is_err();
            assert!(refused || whole[at] == b'\n', "byte {at}");
        }
    }

    #[test]
    fn an_entry_of_another_run_or_a_second_answer_is_refused() {
        let (_dir, path) = journal_of(&[entry(0, "a")]);
        let other = RunId::from_digest(&Digest::of(b"other"));
        assert!(matches!(scan(&path, &other, 2), Err(JournalError::Changed { line: 1, .. })));
        let (_dir, path) = journal_of(&[entry(0, "a"), entry(0, "a")]);
        assert!(matches!(scan(&path, &run_id(), 2), Err(JournalError::Twice { line: 2, .. })));
        assert!(matches!(scan(&path, &run_id(), 0), Err(JournalError::Beyond { .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_are_scanned_without_a_panic(
            lines in prop::collection::vec(prop_oneof![Just(None), any::<Vec<u8>>().prop_map(Some)], 0..6),
            at in any::<usize>(),
            byte in any::<u8>(),
        ) {
            let mut bytes = Vec::new();
            for (ordinal, line) in (0..).zip(&lines) {
                match line {
                    Some(noise) => bytes.extend_from_slice(noise),
                    None => {
                        let mut line = Vec::new();
                        encode(&run_id(), &entry(ordinal, "x"), &mut line).unwrap();
                        bytes.extend(line);
                    }
                }
            }
            if !bytes.is_empty() {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("journal.jsonl");
            File::create(&path).unwrap().write_all(&bytes).unwrap();
            if let Ok(done) = scan(&path, &run_id(), 6) {
                prop_assert!(done.valid_length <= bytes.len() as u64);
                let mut replay = Replay::open(&path, run_id(), &done).unwrap();
                for ordinal in 0..6 {
                    let taken = replay.take(ordinal).unwrap();
                    prop_assert_eq!(taken.is_some(), done.contains(ordinal));
                }
            }
        }
    }
}
