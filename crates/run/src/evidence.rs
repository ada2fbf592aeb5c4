//! Whether the evidence of a run could be written, and that nobody forgets when it could not.
//!
//! A note is made when a run with evidence begins, long enough to be written over in place: on a full disk there is no
//! room for a new file, but there is for one that exists. A failure stays noted until the run ends, also over kills and
//! resumes, and goes to the witness from there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use proofmark_artefact::store::Bodies;

/// How long the note is.
const SIZE: usize = 4096;
/// What it says while nothing is wrong.
const FINE: &[u8] = b"fine\n";

/// The note of a run under way.
#[derive(Debug)]
pub(crate) struct EvidenceNote {
    file: File,
}

impl EvidenceNote {
    /// Opens the note, or makes one that says that nothing is wrong.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        if file.metadata()?.len() < SIZE as u64 {
            let mut note = FINE.to_vec();
            note.resize(SIZE, b' ');
            file.write_all_at(&note, 0)?;
            file.sync_all()?;
        }
        Ok(Self { file })
    }

    /// Notes a failure. The first one counts.
    pub(crate) fn fail(&self, reason: &str) -> io::Result<()> {
        if self.failure()?.is_some() {
            return Ok(());
        }
        let mut note = format!("failed: {}", reason.replace(['\n', '\r'], " ")).into_bytes();
        note.truncate(SIZE - 1);
        note.push(b'\n');
        note.resize(SIZE, b' ');
        self.file.write_all_at(&note, 0)?;
        self.file.sync_data()
    }

    /// What went wrong. A note that cannot be understood is a failure too.
    pub(crate) fn failure(&self) -> io::Result<Option<String>> {
        let mut note = vec![0; SIZE];
        self.file.read_exact_at(&mut note, 0)?;
        let line = note.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if line == FINE.trim_ascii_end() {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(line);
        Ok(Some(text.strip_prefix("failed: ").unwrap_or("the note about the evidence was changed").to_owned()))
    }
}

/// Keeps whole bodies. One that cannot be kept makes the run not submittable, like any evidence that is missing.
#[derive(Debug)]
pub(crate) struct Keeper {
    bodies: Bodies,
    note: EvidenceNote,
}

impl Keeper {
    pub(crate) fn open(dir: &Path, note: &Path) -> io::Result<Self> {
        Ok(Self { bodies: Bodies::open(dir)?, note: EvidenceNote::open(note)? })
    }

    pub(crate) fn keep(&self, body: &[u8]) {
        if let Err(error) = self.bodies.put(body) {
            // Should even the note fail, the disk is lost, and the journal says so with the next sample.
            let _ = self.note.fail(&format!("a whole body could not be kept: {error}"));
        }
    }
}

/// What the note of a run that is being finished says; `None` when there is no note or nothing is wrong.
pub(crate) fn failure_noted(path: &Path) -> io::Result<Option<String>> {
    match File::open(path) {
        Ok(file) => EvidenceNote { file }.failure(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_stays_noted_and_the_first_one_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("evidence");
        assert_eq!(failure_noted(&path).unwrap(), None);
        let note = EvidenceNote::open(&path).unwrap();
        assert_eq!(note.failure().unwrap(), None);
        note.fail("the disk\nis full").unwrap();
        note.fail("something else").unwrap();
        drop(note);
        let again = EvidenceNote::open(&path).unwrap();
        assert_eq!(again.failure().unwrap().as_deref(), Some("the disk is full"));
        assert_eq!(failure_noted(&path).unwrap().as_deref(), Some("the disk is full"));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), SIZE as u64, "written over in place");
    }

    #[test]
    fn a_note_that_was_changed_is_a_failure() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("evidence");
        EvidenceNote::open(&path).unwrap().file.write_all_at(b"FINE\n", 0).unwrap();
        assert!(failure_noted(&path).unwrap().unwrap().contains("changed"));
        let long = EvidenceNote::open(&dir.path().join("other")).unwrap();
        long.fail(&"é".repeat(9000)).unwrap();
        assert!(long.failure().unwrap().unwrap().len() < SIZE + 8);
    }
}
