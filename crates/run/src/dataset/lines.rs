//! Bounded lines of a file that is hashed on its way.

use std::io::{self, BufRead, BufReader, Read};

use proofmark_canon::{Digest, Hasher};

const CHUNK: usize = 256 << 10;

/// Hashes what is read through it.
pub(super) struct Hashed<R> {
    inner: R,
    hasher: Hasher,
}

impl<R: Read> Hashed<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, hasher: Hasher::new() }
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..got]);
        Ok(got)
    }
}

/// Reads the rest of a file and returns the digest of its bytes.
pub(super) fn digest_of(reader: impl Read) -> io::Result<Digest> {
    let mut reader = BufReader::with_capacity(CHUNK, Hashed::new(reader));
    drain(&mut reader)?;
    Ok(reader.into_inner().hasher.finish())
}

/// Lines of at most `limit` bytes.
pub(super) struct Lines<R> {
    reader: BufReader<Hashed<R>>,
    limit: usize,
    buffer: Vec<u8>,
    /// Lines read so far.
    read: u64,
    /// The next empty line to report before the line in `buffer`.
    empty_from: Option<u64>,
    /// Whether `buffer` holds a line that was read but not given out.
    held: Option<Kind>,
    /// Whether the last line was cut and its rest still has to be passed over.
    cut: bool,
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
    pub(super) fn new(inner: R, limit: usize) -> Self {
        let reader = BufReader::with_capacity(CHUNK, Hashed::new(inner));
        Self { reader, limit, buffer: Vec::new(), read: 0, empty_from: None, held: None, cut: false }
    }

    /// Returns the next line and its number. Empty lines at the end of the file are passed over.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        while self.held.is_none() {
            let Some(kind) = self.fill()? else { return Ok(None) };
            if kind == Kind::Text && self.buffer.iter().all(u8::is_ascii_whitespace) {
                self.empty_from.get_or_insert(self.read);
            } else {
                self.held = Some(kind);
            }
        }
        if let Some(empty) = self.empty_from {
            self.empty_from = (empty + 1 < self.read).then_some(empty + 1);
            return Ok(Some((empty, Line::Empty)));
        }
        let kind = self.held.take();
        let line = if kind == Some(Kind::TooLong) { Line::TooLong } else { Line::Text(&self.buffer) };
        Ok(Some((self.read, line)))
    }

    /// Returns the line right after the last one, whatever it holds: for records that span lines.
    pub(super) fn next_raw(&mut self) -> io::Result<Option<Line<'_>>> {
        Ok(match self.fill()? {
            None => None,
            Some(Kind::TooLong) => Some(Line::TooLong),
            Some(Kind::Text) => Some(Line::Text(&self.buffer)),
        })
    }

    /// Reads to the end and returns the digest of the whole file.
    pub(super) fn finish(mut self) -> io::Result<Digest> {
        drain(&mut self.reader)?;
        Ok(self.reader.into_inner().hasher.finish())
    }

    fn fill(&mut self) -> io::Result<Option<Kind>> {
        if std::mem::take(&mut self.cut) {
            self.reader.skip_until(b'\n')?;
        }
        self.buffer.clear();
        let most = self.limit as u64 + 1;
        let got = (&mut self.reader).take(most).read_until(b'\n', &mut self.buffer)?;
        if got == 0 {
            return Ok(None);
        }
        self.read += 1;
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
        } else if got as u64 == most {
            // The buffer has grown to the limit; do not keep that much for the lines to come.
            self.buffer = Vec::new();
            self.cut = true;
            return Ok(Some(Kind::TooLong));
        }
        Ok(Some(Kind::Text))
    }
}

fn drain(reader: &mut impl BufRead) -> io::Result<()> {
    loop {
        let got = reader.fill_buf()?.len();
        if got == 0 {
            return Ok(());
        }
        reader.consume(got);
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

    #[test]
    fn a_line_without_end_is_not_read_to_its_end() {
        struct Endless(u64);
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                buffer.fill(b'a');
                self.0 += buffer.len() as u64;
                Ok(buffer.len())
            }
        }
        let mut lines = Lines::new(Endless(0), 1 << 20);
        assert!(matches!(lines.next().unwrap(), Some((1, Line::TooLong))));
        assert!(lines.reader.get_ref().inner.0 <= (1 << 20) + CHUNK as u64);
        assert_eq!(lines.buffer.capacity(), 0);
    }
}
