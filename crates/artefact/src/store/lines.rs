//! Long files read line by line, in constant memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use memchr::memchr;

/// One line, without its line end.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// From 1.
    pub number: u64,
    /// Where the line starts in the file.
    pub offset: u64,
    pub bytes: &'a [u8],
    /// Whether a `\n` followed. False only for a last line that was cut off.
    pub ended: bool,
}

/// A line could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    #[error("line {number} is longer than {limit} bytes")]
    TooLong { number: u64, limit: usize },
    #[error("cannot read line {number}")]
    Io { number: u64, source: io::Error },
}

/// Reads a file in large blocks and gives its lines, none longer than a limit.
pub struct Lines<R = File> {
    source: R,
    buffer: Vec<u8>,
    /// The unread part of the buffer.
    start: usize,
    end: usize,
    /// Where the unread part starts in the file.
    offset: u64,
    number: u64,
    limit: usize,
    at_end: bool,
}

const BLOCK: usize = 256 * 1024;

impl Lines<File> {
    pub fn open(path: &Path, limit: usize) -> io::Result<Self> {
        Ok(Self::new(File::open(path)?, limit))
    }
}

impl<R: Read> Lines<R> {
    pub fn new(source: R, limit: usize) -> Self {
        Self { source, buffer: vec![0; BLOCK], start: 0, end: 0, offset: 0, number: 0, limit, at_end: false }
    }

    /// Returns the next line, or `None` at the end of the file.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, LineError> {
        let number = self.number + 1;
        let mut searched = 0;
        let (length, ended) = loop {
            let unread = &self.buffer[self.start..self.end];
            if let Some(at) = memchr(b'\n', &unread[searched..]) {
                break (searched + at, true);
            }
            searched = unread.len();
            if searched > self.limit {
                return Err(LineError::TooLong { number, limit: self.limit });
            }
            if self.at_end {
                break (searched, false);
            }
            self.fill().map_err(|source| LineError::Io { number, source })?;
        };
        if length > self.limit {
            return Err(LineError::TooLong { number, limit: self.limit });
        }
        if length == 0 && !ended {
            return Ok(None);
        }
        let (start, offset) = (self.start, self.offset);
        let taken = length + usize::from(ended);
        self.start += taken;
        self.offset += taken as u64;
        self.number = number;
        Ok(Some(Line { number, offset, bytes: &self.buffer[start..start + length], ended }))
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(read) => {
                    self.at_end = read == 0;
                    self.end += read;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, limit: usize) -> Result<Vec<(u64, u64, String, bool)>, LineError> {
        let mut lines = Lines::new(text.as_bytes(), limit);
        let mut found = Vec::new();
        while let Some(line) = lines.next_line()? {
            found.push((line.number, line.offset, String::from_utf8(line.bytes.to_vec()).unwrap(), line.ended));
        }
        Ok(found)
    }

    #[test]
    fn lines_come_with_their_place() {
        let lines = all("a\n\nbc\nd", 10).unwrap();
        let want = [(1, 0, "a", true), (2, 2, "", true), (3, 3, "bc", true), (4, 6, "d", false)];
        assert_eq!(lines, want.map(|(n, o, t, e)| (n, o, t.to_owned(), e)));
        assert!(all("", 10).unwrap().is_empty());
    }

    #[test]
    fn a_line_longer_than_a_block_is_whole_and_one_over_the_limit_is_refused() {
        let long = "x".repeat(BLOCK * 3 + 7);
        let lines = all(&format!("a\n{long}\nb\n"), BLOCK * 4).unwrap();
        assert_eq!(lines[1].2.len(), long.len());
        assert_eq!(lines[2].2, "b");
        assert!(matches!(all(&long, 1000), Err(LineError::TooLong { number: 1, limit: 1000 })));
    }
}
