//! Where the body of a reply of HTTP/1.1 ends.

use std::ops::Range;

/// How a body is framed, and what is still to come of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// As many bytes.
    Length(u64),
    Chunked(Chunks),
    /// Everything until the server closes the connection.
    UntilClosed,
}

/// A body breaks the rules of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BreaksRules;

/// Reads a body in chunks, as far as it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Chunks {
    state: State,
    /// Of the chunk under way.
    left: u64,
    /// Bytes of extensions and trailers, which nobody reads.
    unread: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// Before the first digit of a size.
    #[default]
    Start,
    Size,
    Extension,
    SizeEnd,
    Data,
    /// Behind the data: a carriage return, a line feed.
    DataOver,
    DataEnd,
    /// The first byte of a line behind the last chunk.
    TrailerStart,
    Trailer,
    LastEnd,
    Over,
}

/// The most bytes of extensions and trailers.
const MOST_UNREAD: usize = 16 << 10;

impl Framing {
    /// Takes what has come: what of it is the next part of the body, and how much is used up with it. The part is empty
    /// when more has to come, or when the body is over.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(Range<usize>, usize), BreaksRules> {
        match self {
            Self::Length(left) => {
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= length as u64;
                Ok((0..length, length))
            }
            Self::Chunked(chunks) => chunks.take(bytes),
            Self::UntilClosed => Ok((0..bytes.len(), bytes.len())),
        }
    }

    /// Nothing more belongs to the body.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(chunks) => chunks.state == State::Over,
            Self::UntilClosed => false,
        }
    }

    /// How long the whole body is, before any of it was taken.
    pub(super) fn announced(&self) -> Option<u64> {
        match self {
            Self::Length(length) => Some(*length),
            _ => None,
        }
    }
}

impl Chunks {
    fn take(&mut self, bytes: &[u8]) -> Result<(Range<usize>, usize), BreaksRules> {
        let mut at = 0;
        let mut part = 0..0;
        while at < bytes.len() && self.state != State::Over {
            if self.state == State::Data {
                if !part.is_empty() {
                    return Ok((part, at));
                }
                let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len() - at);
                part = at..at + length;
                at += length;
                self.left -= length as u64;
                if self.left == 0 {
                    self.state = State::DataOver;
                }
            } else {
                self.step(bytes[at])?;
                at += 1;
            }
        }
        Ok((part, at))
    }

    /// RFC 9112 §7.1.
    fn step(&mut self, byte: u8) -> Result<(), BreaksRules> {
        self.state = match (self.state, byte) {
            (State::Start | State::Size, digit) if digit.is_ascii_hexdigit() => {
                let digit = (digit as char).to_digit(16).map_or(0, u64::from);
                let size = self.left.checked_mul(16).and_then(|size| size.checked_add(digit));
                self.left = size.ok_or(BreaksRules)?;
                State::Size
            }
            (State::Size, b';' | b' ' | b'\t') => State::Extension,
            (State::Size | State::Extension, b'\r') => State::SizeEnd,
            (State::SizeEnd, b'\n') if self.left == 0 => State::TrailerStart,
            (State::SizeEnd, b'\n') => State::Data,
            (State::DataOver, b'\r') => State::DataEnd,
            (State::DataEnd, b'\n') => State::Start,
            (State::TrailerStart, b'\r') => State::LastEnd,
            (State::LastEnd, b'\n') => State::Over,
            (State::Trailer, b'\n') => State::TrailerStart,
            (State::Extension | State::TrailerStart | State::Trailer, other) if other != b'\n' => {
                self.unread += 1;
                if self.unread > MOST_UNREAD {
                    return Err(BreaksRules);
                }
                if self.state == State::Extension { State::Extension } else { State::Trailer }
            }
            _ => return Err(BreaksRules),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a chunked body that comes in pieces of a length; returns it and whether it is over.
    fn read(text: &[u8], piece: usize) -> Result<(Vec<u8>, bool), BreaksRules> {
        let mut framing = Framing::Chunked(Chunks::default());
        let (mut body, mut come, mut used) = (Vec::new(), 0, 0);
        while come < text.len() {
            come = (come + piece).min(text.len());
            while used < come && !framing.is_over() {
                let (part, more) = framing.take(&text[used..come])?;
                body.extend_from_slice(&text[used..come][part]);
                used += more;
            }
        }
        Ok((body, framing.is_over()))
    }

    #[test]
    fn chunks_are_joined_wherever_they_are_cut() {
        let text = b"5\r\nhello\r\n1; name=value\r\n \r\n00A\t\r\nworld, you.\r\n0\r\nx-trailer: y\r\nz: \r\n\r\n";
        let text = text.iter().copied().filter(|byte| *byte != b'.').collect::<Vec<u8>>();
        for piece in 1..=text.len() {
            assert_eq!(read(&text, piece), Ok((b"hello world, you".to_vec(), true)), "{piece}");
            let (body, is_over) = read(&text[..text.len() - 1], piece).unwrap();
            assert_eq!((body.len(), is_over), (16, false), "{piece}");
        }
    }

    #[test]
    fn what_breaks_the_rules_is_refused() {
        let long = format!("1;{}", "x".repeat(MOST_UNREAD + 1));
        for text in [
            "zz\r\n",
            "\r\n",
            ";\r\n",
            "1\n",
            "1\rx",
            "1\r\nab",
            "1\r\na\rb",
            "1;\n",
            "ffffffffffffffffff\r\n",
            "-1\r\n",
            &long,
        ] {
            assert_eq!(read(text.as_bytes(), 3), Err(BreaksRules), "{text}");
        }
    }

    #[test]
    fn what_follows_a_body_is_left() {
        let mut framing = Framing::Length(3);
        assert_eq!(framing.take(b"ab"), Ok((0..2, 2)));
        assert_eq!(framing.take(b"cde"), Ok((0..1, 1)));
        assert!(framing.is_over());
        let mut framing = Framing::Chunked(Chunks::default());
        assert_eq!(framing.take(b"0\r\n\r\nHTTP/1.1"), Ok((0..0, 5)));
        assert!(framing.is_over());
    }
}
