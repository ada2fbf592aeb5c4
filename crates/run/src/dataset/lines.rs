//! Bounded lines of a file that is hashed on its way.

use std::io::{self, Read};

use proofmark_artefact::store::{self, Hashed, LineError};
use proofmark_canon::Digest;

/// Lines of at most `limit` bytes. Empty ones are told apart, and passed over at the end of the file.
pub(super) struct Lines<R> {
    lines: store::Lines<Hashed<R>>,
    /// Lines read so far.
    read: u64,
    /// The next empty line to report before the last one that was read.
    empty_from: Option<u64>,
    /// The last line that was read, when it was not given out.
    held: Option<Kind>,
}

/// One line, without its line feed.
pub(super) enum Line<'a> {
    Text(&'a [u8]),
    /// Only white space, though another line follows.
    Empty,
    TooLong,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    TooLong,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(source: R, limit: usize) -> Self {
        Self { lines: store::Lines::new(Hashed::new(source), limit), read: 0, empty_from: None, held: None }
    }

    /// Returns the next line and its number. Empty lines at the end of the file are passed over.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        while self.held.is_none() {
            let Some(kind) = self.fill()? else { return Ok(None) };
            if kind == Kind::Text && self.lines.last_line().iter().all(u8::is_ascii_whitespace) {
                self.empty_from.get_or_insert(self.read);
            } else {
                self.held = Some(kind);
            }
        }
        if let Some(empty) = self.empty_from {
            self.empty_from = (empty + 1 < self.read).then_some(empty + 1);
            return Ok(Some((empty, Line::Empty)));
        }
        let number = self.read;
        Ok(self.held.take().map(|kind| (number, self.line(kind))))
    }

    /// Returns the line right after the last one, whatever it holds: for records that span lines.
    pub(super) fn next_raw(&mut self) -> io::Result<Option<Line<'_>>> {
        let kind = self.fill()?;
        Ok(kind.map(|kind| self.line(kind)))
    }

    /// Reads to the end and returns the digest of the whole file.
    pub(super) fn finish(self) -> io::Result<Digest> {
        self.lines.drain().map(|source| source.finish().0)
    }

    fn fill(&mut self) -> io::Result<Option<Kind>> {
        let (number, kind) = match self.lines.next_line() {
            Ok(None) => return Ok(None),
            Ok(Some(line)) => (line.number, Kind::Text),
            Err(LineError::TooLong { number, .. }) => (number, Kind::TooLong),
            Err(LineError::Io { source, .. }) => return Err(source),
        };
        self.read = number;
        Ok(Some(kind))
    }

    /// The line that was read last.
    fn line(&self, kind: Kind) -> Line<'_> {
        match kind {
            Kind::Text => Line::Text(self.lines.last_line()),
            Kind::TooLong => Line::TooLong,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8], limit: usize) -> Vec<String> {
        let mut lines = Lines::new(text, limit);
        let mut out = Vec::new();
        while let Some((number, line)) = lines.next().unwrap() {
            out.push(match line {
                Line::Text(text) => format!("{number} {}", String::from_utf8_lossy(text)),
                Line::Empty => format!("{number} empty"),
                Line::TooLong => format!("{number} long"),
            });
        }
        assert_eq!(lines.finish().unwrap(), Digest::of(text));
        out
    }

    #[test]
    fn lines_are_numbered_and_bounded() {
        for (text, want) in [
            ("", &[][..]),
            ("a\nb", &["1 a", "2 b"]),
            ("a\n\n \nb\n\n\n", &["1 a", "2 empty", "3 empty", "4 b"]),
            ("\n\n", &[]),
            ("\na", &["1 empty", "2 a"]),
            ("1234\n12345\nx\n", &["1 1234", "2 long", "3 x"]),
            ("12345", &["1 long"]),
            ("\n123456789\n\n\nx", &["1 empty", "2 long", "3 empty", "4 empty", "5 x"]),
        ] {
            assert_eq!(all(text.as_bytes(), 4), want, "{text:?}");
        }
    }
}
