//! Long files read line by line, in constant memory.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use memchr::memchr;

use super::hashed::read_some;

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

/// The longest line of a record, a trajectory or a journal that we read.
pub const MAX_LINE: usize = 256 << 20;

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
    /// Where the last line is in the buffer.
    last: Range<usize>,
    /// Whether the unread part starts inside a line that was too long.
    is_inside: bool,
}

const BLOCK: usize = 256 * 1024;

impl Lines<File> {
    pub fn open(path: &Path, limit: usize) -> io::Result<Self> {
        Ok(Self::new(File::open(path)?, limit))
    }
}

impl<R: Read> Lines<R> {
    pub fn new(source: R, limit: usize) -> Self {
        Self {
            source,
            buffer: vec![0; BLOCK],
            start: 0,
            end: 0,
            offset: 0,
            number: 0,
            limit,
            at_end: false,
            last: 0..0,
            is_inside: false,
        }
    }

    /// Returns the next line, or `None` at the end of the file. After a line that is too long it goes on behind it.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, LineError> {
        let number = self.number + 1;
        let read_failed = |source| LineError::Io { number, source };
        if self.is_inside {
            self.skip_line().map_err(read_failed)?;
        }
        let mut searched = 0;
        let (length, ended) = loop {
            let unread = &self.buffer[self.start..self.end];
            if let Some(at) = memchr(b'\n', &unread[searched..]) {
                break (searched + at, true);
            }
            searched = unread.len();
            if searched > self.limit || self.at_end {
                break (searched, false);
            }
            self.fill().map_err(read_failed)?;
        };
        if length == 0 && !ended {
            return Ok(None);
        }
        let (start, offset) = (self.start, self.offset);
        self.advance(length + usize::from(ended));
        self.number = number;
        if length > self.limit {
            self.is_inside = !ended;
            return Err(LineError::TooLong { number, limit: self.limit });
        }
        self.last = start..start + length;
        Ok(Some(Line { number, offset, bytes: &self.buffer[self.last.clone()], ended }))
    }

    /// Returns the bytes of the line that [`Lines::next_line`] gave last.
    pub fn last_line(&self) -> &[u8] {
        &self.buffer[self.last.clone()]
    }

    /// Reads on to the end of the file and returns the source.
    pub fn drain(mut self) -> io::Result<R> {
        while !self.at_end {
            self.advance(self.end - self.start);
            self.fill()?;
        }
        Ok(self.source)
    }

    /// Passes over the rest of a line.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let unread = &self.buffer[self.start..self.end];
            if let Some(at) = memchr(b'\n', unread) {
                self.is_inside = false;
                self.advance(at + 1);
                return Ok(());
            }
            self.advance(unread.len());
            if self.at_end {
                return Ok(());
            }
            self.fill()?;
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Makes room and reads once.
    fn fill(&mut self) -> io::Result<()> {
        self.last = 0..0;
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            // Up to the limit and a block: what is beyond is not needed to know that a line is too long.
            let larger = (self.buffer.len() * 2).min(self.limit.saturating_add(BLOCK)).max(self.end + 1);
            self.buffer.resize(larger, 0);
        } else if self.buffer.len() > BLOCK && self.end <= BLOCK / 2 {
            // The memory of an enormous line is given back.
            self.buffer.truncate(BLOCK);
            self.buffer.shrink_to_fit();
        }
        let read = read_some(&mut self.source, &mut self.buffer[self.end..])?;
        self.at_end = read == 0;
        self.end += read;
        Ok(())
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

    #[test]
    fn after_a_line_that_is_too_long_the_next_one_comes() {
        let long = "x".repeat(BLOCK * 2);
        let text = format!("1234\n12345\n\n{long}\nb\n{long}");
        let mut lines = Lines::new(text.as_bytes(), 4);
        let mut found = Vec::new();
        loop {
            found.push(match lines.next_line() {
                Ok(None) => break,
                Ok(Some(line)) => {
                    let (number, offset, length) = (line.number, line.offset as usize, line.bytes.len());
                    let same = text.as_bytes()[offset..].starts_with(lines.last_line());
                    assert!(same && lines.last_line().len() == length);
                    format!("{number} {length}")
                }
                Err(LineError::TooLong { number, .. }) => format!("{number} long"),
                Err(error) => panic!("{error}"),
            });
        }
        assert_eq!(found, ["1 4", "2 long", "3 0", "4 long", "5 1", "6 long"]);
    }

    /// A line without end, and how much of it was read.
    struct Endless(u64);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(b'a');
            self.0 += buffer.len() as u64;
            Ok(buffer.len())
        }
    }

    #[test]
    fn a_line_without_end_is_not_read_to_its_end() {
        let mut lines = Lines::new(Endless(0), 1 << 20);
        assert!(matches!(lines.next_line(), Err(LineError::TooLong { number: 1, .. })));
        assert!(lines.source.0 <= (1 << 20) + BLOCK as u64, "{}", lines.source.0);
    }

    #[test]
    fn a_long_line_leaves_no_large_buffer_behind() {
        let text = format!("{}\n{}", "x".repeat(BLOCK * 4), "y\n".repeat(BLOCK));
        let mut lines = Lines::new(text.as_bytes(), BLOCK * 8);
        while lines.next_line().unwrap().is_some() {}
        assert_eq!(lines.buffer.capacity(), BLOCK);
    }

    #[test]
    fn what_is_left_can_be_read_to_its_end() {
        let text = "x\n".repeat(BLOCK);
        let mut lines = Lines::new(super::super::Hashed::new(text.as_bytes()), 10);
        lines.next_line().unwrap();
        assert_eq!(lines.drain().unwrap().finish(), (proofmark_canon::Digest::of(text.as_bytes()), text.len() as u64));
    }
}
