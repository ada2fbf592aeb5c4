//! Writes `telemetry.jsonl`: every attempt when it is over.
//!
//! The line is written before the reply is journalled, so that a sample that counts always has its attempts on
//! record, also after a kill.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use proofmark_artefact::store::{Claim, digest_file, names};
use proofmark_artefact::telemetry::Attempt;
use proofmark_artefact::witness::requests::{Gathering, RequestIds};
use proofmark_canon::{Digest, Hasher, json};
use proofmark_model::AttemptLog;

use crate::appender::{Appender, with_line};
use crate::publish::PublishError;

/// What the witness says of a telemetry that is complete.
pub(crate) struct Settled {
    /// What the providers called the calls that they answered.
    pub(crate) ids: RequestIds,
    pub(crate) digest: Digest,
}

/// The telemetry of a run in progress.
pub(crate) struct Telemetry {
    path: PathBuf,
    /// Opened with the first attempt: a run of offline models leaves no telemetry.
    lines: Mutex<Option<Lines>>,
    failure: Mutex<Option<io::Error>>,
}

/// The lines that are written.
struct Lines {
    appender: Appender,
    /// What they say, when all of them were written here. What an interrupted run left has to be read first.
    gathered: Option<Gathered>,
}

#[derive(Default)]
struct Gathered {
    ids: Gathering,
    hasher: Hasher,
}

impl Telemetry {
    /// Goes on with what an interrupted run left.
    pub(crate) fn open(claim: &Claim) -> io::Result<Self> {
        Self::at(claim.work_file(names::TELEMETRY))
    }

    pub(crate) fn at(path: PathBuf) -> io::Result<Self> {
        let file = match File::options().read(true).append(true).open(&path) {
            Ok(mut file) => {
                cut_torn_line(&mut file)?;
                Some(file)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let lines = file.map(|file| Lines { appender: Appender::new(file), gathered: None });
        Ok(Self { path, lines: Mutex::new(lines), failure: Mutex::new(None) })
    }

    /// What went wrong while writing.
    pub(crate) fn take_failure(&self) -> Option<io::Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Brings everything to the disk and says what it comes to. `None` when nobody was asked.
    pub(crate) fn settle(&self, run_dir: &Path) -> Result<Option<Settled>, PublishError> {
        let mut gathered = None;
        let settled = self.lock().as_mut().map(|lines| {
            gathered = lines.gathered.take();
            lines.appender.flush().and_then(|()| lines.appender.file().sync_data())
        });
        let path = match settled {
            Some(settled) => {
                settled.map(|()| self.path.clone()).map_err(|source| PublishError::io(&self.path, source))?
            }
            // A kill may have come when it had its name already.
            None => run_dir.join(names::TELEMETRY),
        };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(PublishError::io(&path, source)),
        };
        if let Some(Gathered { ids, hasher }) = gathered {
            let ids = ids.finish(file).map_err(PublishError::Telemetry)?;
            return Ok(Some(Settled { ids, digest: hasher.finish() }));
        }
        let ids = RequestIds::read(file).map_err(PublishError::Telemetry)?;
        let (digest, _) = digest_file(&path).map_err(|source| PublishError::io(&path, source))?;
        Ok(Some(Settled { ids, digest }))
    }

    /// Gives the file, which was settled before, its final name.
    pub(crate) fn publish(&self, run_dir: &Path) -> io::Result<()> {
        match self.lock().take() {
            Some(_) => std::fs::rename(&self.path, run_dir.join(names::TELEMETRY)),
            None => Ok(()),
        }
    }

    fn write(&self, attempt: &Attempt) -> io::Result<()> {
        with_line(|line| {
            json::to_writer(attempt, line).map_err(io::Error::other)?;
            line.push(b'\n');
            let mut lines = self.lock();
            let lines = match &mut *lines {
                Some(lines) => lines,
                none => none.insert(Lines {
                    appender: Appender::new(File::options().create_new(true).append(true).open(&self.path)?),
                    gathered: Some(Gathered::default()),
                }),
            };
            if let Some(gathered) = &mut lines.gathered {
                gathered.hasher.update(line);
                // What cannot be gathered is read in the end, and told then.
                if gathered.ids.push(attempt, line.trim_ascii_end()).is_err() {
                    lines.gathered = None;
                }
            }
            if lines.appender.push(line) { lines.appender.flush() } else { Ok(()) }
        })
    }

    /// Writes what waits for others.
    pub(crate) fn flush(&self) {
        let flushed = self.lock().as_mut().map_or(Ok(()), |lines| lines.appender.flush());
        self.note_failure(flushed);
    }

    fn note_failure(&self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Lines>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AttemptLog for Telemetry {
    fn attempt(&self, attempt: &Attempt) {
        self.note_failure(self.write(attempt));
    }
}

/// Cuts off what a kill left of the last line.
fn cut_torn_line(file: &mut File) -> io::Result<()> {
    const BLOCK: u64 = 4096;
    let mut end = file.metadata()?.len();
    let whole = end;
    let mut block = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start))?;
        block.clear();
        io::Read::by_ref(file).take(end - start).read_to_end(&mut block)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            end = start + at as u64 + 1;
            break;
        }
        end = start;
    }
    if end < whole { file.set_len(end) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_torn_line_is_cut_off_and_whole_ones_stay() {
        let long = "x".repeat(10_000);
        for (left, kept) in
            [("", ""), ("torn", ""), ("a\nb\n", "a\nb\n"), ("a\nto", "a\n"), (&format!("a\n{long}"), "a\n")]
        {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(left.as_bytes()).unwrap();
            cut_torn_line(&mut file).unwrap();
            let mut text = String::new();
            file.seek(SeekFrom::Start(0)).unwrap();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, kept);
        }
    }
}
