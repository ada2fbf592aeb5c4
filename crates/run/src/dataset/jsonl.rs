//! JSON Lines: one object a line.

use std::io::{self, Read};

use proofmark_canon::json::{Integers, ParseErrorKind, parse_with};
use proofmark_canon::{Digest, Map, Value};

use super::error::{At, Problem};
use super::lines::{Line, Lines};
use super::source::{Row, RowResult, read_failed};

pub(super) struct JsonlRows<R> {
    lines: Lines<R>,
    integers: Integers,
    limit: usize,
}

impl<R: Read> JsonlRows<R> {
    pub(super) fn new(reader: R, integers: Integers, limit: usize) -> Self {
        Self { lines: Lines::new(reader, limit), integers, limit }
    }

    pub(super) fn next(&mut self) -> Option<RowResult> {
        let (number, line) = match self.lines.next() {
            Ok(line) => line?,
            Err(error) => return Some(Err((None, read_failed(error)))),
        };
        let at = At::Line(number);
        let row = match line {
            Line::Empty => Err(Problem::EmptyLine),
            Line::TooLong => Err(Problem::LineTooLong { limit: self.limit }),
            Line::Text(text) if number == 1 && has_byte_order_mark(text) => Err(Problem::ByteOrderMark),
            Line::Text(text) => parse_row(text, self.integers),
        };
        Some(row.map(|row| Row { at, row }).map_err(|problem| (Some(at), problem)))
    }

    pub(super) fn finish(self) -> io::Result<Digest> {
        self.lines.finish()
    }
}

/// Whether the text starts with the mark of UTF-8 or of UTF-16.
pub(super) fn has_byte_order_mark(text: &[u8]) -> bool {
    [&b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| text.starts_with(mark))
}

pub(super) fn parse_row(text: &[u8], integers: Integers) -> Result<Map, Problem> {
    match parse_with(text, integers) {
        Ok(Value::Object(row)) => Ok(row),
        Ok(other) => Err(Problem::NotAnObject(other.kind())),
        Err(error) if error.kind == ParseErrorKind::NotUtf8 => Err(Problem::NotUtf8),
        Err(error) => Err(Problem::Json(error)),
    }
}
