//! The part of a stream that is in memory.

use std::io::{self, Read};

const BLOCK: usize = 256 * 1024;

/// Reads a source in large blocks. What is behind the place of reading is forgotten with the next block, what is before
/// it stays, however long it becomes.
pub(super) struct Window<R> {
    source: R,
    buffer: Vec<u8>,
    /// The place of reading in the buffer, and the end of what was read.
    at: usize,
    end: usize,
    /// Where the buffer starts in the source.
    start: u64,
}

impl<R: Read> Window<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; BLOCK], at: 0, end: 0, start: 0 }
    }

    /// What is before the place of reading, as far as it is in memory.
    pub(super) fn rest(&self) -> &[u8] {
        &self.buffer[self.at..self.end]
    }

    /// The last bytes behind the place of reading. To be asked for before the next block is read.
    pub(super) fn last(&self, bytes: usize) -> &[u8] {
        &self.buffer[self.at - bytes.min(self.at)..self.at]
    }

    /// Where the place of reading is in the source.
    pub(super) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.end);
    }

    /// The next byte; `None` at the end.
    pub(super) fn peek(&mut self) -> io::Result<Option<u8>> {
        if self.at == self.end && !self.more()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.at]))
    }

    /// Reads more; false at the end.
    pub(super) fn more(&mut self) -> io::Result<bool> {
        if self.at > 0 {
            self.buffer.copy_within(self.at..self.end, 0);
            self.start += self.at as u64;
            self.end -= self.at;
            self.at = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
