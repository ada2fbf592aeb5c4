//! A file to whose end many write lines.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

/// How long after a write the next lines may wait for others. Whoever writes less often writes at once.
const GATHER: Duration = Duration::from_millis(1);
/// As many bytes wait.
const FULL: usize = 256 << 10;

/// Lines are added one by one, and written together with others that came meanwhile.
pub(crate) struct Appender {
    file: File,
    waiting: Vec<u8>,
    /// How many bytes were written.
    length: u64,
    /// When some were written last.
    written: Option<Instant>,
    /// A write failed, perhaps in the middle of a line: nothing may follow.
    is_broken: bool,
}

impl Appender {
    /// Appends to a file that is open for it.
    pub(crate) fn new(file: File) -> Self {
        Self { file, waiting: Vec::new(), length: 0, written: None, is_broken: false }
    }

    /// Adds whole lines; returns whether it is time to write for those that need not be written at once.
    pub(crate) fn push(&mut self, lines: &[u8]) -> bool {
        self.waiting.extend_from_slice(lines);
        self.waiting.len() >= FULL || self.written.is_none_or(|written| written.elapsed() >= GATHER)
    }

    /// Writes what waits. When this returns, a kill of the process no longer loses it.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier write to it failed"));
        }
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.is_broken = true;
        self.file.write_all(&self.waiting)?;
        self.is_broken = false;
        self.length += self.waiting.len() as u64;
        self.waiting.clear();
        self.written = Some(Instant::now());
        Ok(())
    }

    /// Where the last line ends, once it is written.
    pub(crate) fn end(&self) -> u64 {
        self.length + self.waiting.len() as u64
    }

    /// Whether everything was written up to an end.
    pub(crate) fn has_written(&self, end: u64) -> bool {
        self.length >= end
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

/// Makes a line in room that is used for the next one again: every sample writes several.
pub(crate) fn with_line<T>(make: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    /// More room than this is given back.
    const KEPT: usize = 64 << 10;
    thread_local! {
        static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    let mut line = ROOM.take();
    line.clear();
    let made = make(&mut line);
    if line.capacity() <= KEPT {
        ROOM.set(line);
    }
    made
}

/// Whoever stops early loses nothing that was handed over.
impl Drop for Appender {
    fn drop(&mut self) {
        // Nobody is left to tell, and nothing counts that was not written before.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &std::path::Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn lines_that_come_at_once_are_written_together_and_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        let mut appender = Appender::new(File::options().create(true).append(true).open(&path).unwrap());
        assert!(appender.push(b"first\n"), "nothing was written before");
        appender.flush().unwrap();
        // As if it had just been: a slow machine must not turn this to chance.
        appender.written = Some(Instant::now() + Duration::from_secs(60));
        assert!(!appender.push(b"second\n"));
        assert!(!appender.push(b"third\n"));
        assert_eq!(text(&path), "first\n");
        appender.written = Instant::now().checked_sub(GATHER);
        assert!(appender.push(b"fourth\n"));
        appender.flush().unwrap();
        assert_eq!(text(&path), "first\nsecond\nthird\nfourth\n");
        appender.push(b"fifth\n");
        drop(appender);
        assert_eq!(text(&path), "first\nsecond\nthird\nfourth\nfifth\n");
    }

    #[test]
    fn nothing_waits_without_end() {
        let dir = tempfile::tempdir().unwrap();
        let file = File::options().create(true).append(true).open(dir.path().join("lines")).unwrap();
        let mut appender = Appender::new(file);
        appender.written = Some(Instant::now() + Duration::from_secs(60));
        assert!(!appender.push(&vec![b'x'; FULL - 1]));
        assert!(appender.push(b"\n"));
    }

    #[test]
    fn after_a_write_that_failed_there_is_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        File::create(&path).unwrap();
        // Open for reading alone.
        let mut appender = Appender::new(File::open(&path).unwrap());
        appender.push(b"line\n");
        assert!(appender.flush().is_err());
        appender.file = File::options().append(true).open(&path).unwrap();
        assert!(appender.flush().is_err(), "it might stand there twice");
        drop(appender);
        assert_eq!(text(&path), "");
    }
}
