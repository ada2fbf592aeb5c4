//! CSV as RFC 4180 has it, strictly.
//!
//! Values are strings; nothing is guessed. The `csv` crate is lenient about quotes and counts the
//! line of a record from the line end before it, so that CRLF files and empty lines give wrong
//! numbers; it also reads a record with an unclosed quote to the end of the file. Hence our own
//! reader, which the tests compare with the crate on what both accept.

use std::io::{self, Read};

use proofmark_canon::json::cmp_utf16;
use proofmark_canon::{Digest, Map, Value};

use super::error::{At, Problem};
use super::jsonl::has_byte_order_mark;
use super::lines::{Line, Lines};
use super::names::show;
use super::source::{Failure, Row, RowResult, read_failed};

pub(super) struct CsvRows<R> {
    lines: Lines<R>,
    splitter: Splitter,
    limit: usize,
    header: Option<Header>,
}

/// Where a record starts and what its fields are.
type Record = (At, Vec<String>);

struct Header {
    names: Vec<String>,
    /// Positions of the columns in the canonical order of their names, so that rows need no sorting.
    order: Vec<usize>,
}

impl<R: Read> CsvRows<R> {
    pub(super) fn new(reader: R, delimiter: u8, limit: usize) -> Self {
        Self { lines: Lines::new(reader, limit), splitter: Splitter::new(delimiter), limit, header: None }
    }

    pub(super) fn next(&mut self) -> Option<RowResult> {
        if self.header.is_none() {
            match self.read_header() {
                Ok(header) => self.header = Some(header),
                Err(failure) => return Some(Err(failure)),
            }
        }
        let (at, fields) = match self.record()? {
            Ok(record) => record,
            Err(failure) => return Some(Err(failure)),
        };
        let header = self.header.as_ref()?;
        Some(header.row(fields).map(|row| Row { at, row }).map_err(|problem| (Some(at), problem)))
    }

    pub(super) fn finish(self) -> io::Result<Digest> {
        self.lines.finish()
    }

    fn read_header(&mut self) -> Result<Header, Failure> {
        let (at, names) =
            self.record().unwrap_or(Err((None, Problem::NoHeader))).map_err(|(at, problem)| match problem {
                Problem::EmptyLine => (at, Problem::NoHeader),
                // A bad header is never one bad row.
                problem if problem.is_of_row() => (at, Problem::Header(Box::new(problem))),
                problem => (at, problem),
            })?;
        Header::new(names).map_err(|problem| (Some(at), problem))
    }

    /// Reads one record, which may span lines.
    fn record(&mut self) -> Option<Result<Record, Failure>> {
        let (number, line) = match self.lines.next() {
            Ok(line) => line?,
            Err(error) => return Some(Err((None, read_failed(error)))),
        };
        let at = At::Line(number);
        let fail = |problem| Some(Err((Some(at), problem)));
        let mut length = 0;
        let mut line = line;
        self.splitter.start();
        loop {
            let text = match line {
                Line::Empty => return fail(Problem::EmptyLine),
                Line::TooLong => return fail(Problem::RecordTooLong { limit: self.limit }),
                Line::Text(text) => text,
            };
            if number == 1 && length == 0 && has_byte_order_mark(text) {
                return fail(Problem::ByteOrderMark);
            }
            length += text.len() + 1;
            if length > self.limit.saturating_add(1) {
                return fail(Problem::RecordTooLong { limit: self.limit });
            }
            match self.splitter.feed(text) {
                Ok(Fed::Complete) => break,
                Ok(Fed::Open) => {}
                Err(problem) => return fail(problem),
            }
            line = match self.lines.next_raw() {
                Ok(Some(line)) => line,
                Ok(None) => return fail(Problem::UnclosedQuote),
                Err(error) => return Some(Err((None, read_failed(error)))),
            };
        }
        match self.splitter.take() {
            Ok(fields) => Some(Ok((at, fields))),
            Err(problem) => fail(problem),
        }
    }
}

impl Header {
    fn new(names: Vec<String>) -> Result<Self, Problem> {
        if let Some(at) = names.iter().position(|name| name.trim().is_empty()) {
            return Err(Problem::UnnamedColumn(at + 1));
        }
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|a, b| cmp_utf16(&names[*a], &names[*b]));
        if let Some(twice) = order.windows(2).find(|pair| names[pair[0]] == names[pair[1]]) {
            return Err(Problem::RepeatedColumn(show(&names[twice[0]])));
        }
        Ok(Self { names, order })
    }

    fn row(&self, mut fields: Vec<String>) -> Result<Map, Problem> {
        if fields.len() != self.names.len() {
            return Err(Problem::FieldCount { expected: self.names.len(), found: fields.len() });
        }
        let members =
            self.order.iter().map(|&at| (self.names[at].clone(), Value::String(std::mem::take(&mut fields[at]))));
        Map::from_members(members.collect()).map_err(Problem::DuplicateName)
    }
}

/// Cuts records to fields, one line at a time.
struct Splitter {
    delimiter: u8,
    state: State,
    fields: Vec<Vec<u8>>,
    field: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Before the first byte of a field.
    Start,
    Plain,
    Quoted,
    /// After a quote inside a quoted field: the end, or the first of two.
    Closing,
}

enum Fed {
    Complete,
    /// The line ended inside quotes.
    Open,
}

impl Splitter {
    fn new(delimiter: u8) -> Self {
        Self { delimiter, state: State::Start, fields: Vec::new(), field: Vec::new() }
    }

    fn start(&mut self) {
        self.state = State::Start;
        self.fields.clear();
        self.field.clear();
    }

    fn feed(&mut self, line: &[u8]) -> Result<Fed, Problem> {
        if self.state == State::Quoted {
            // The line end that `Lines` took off belongs to the value.
            self.field.push(b'\n');
        }
        for (at, &byte) in line.iter().enumerate() {
            // A carriage return right before the line feed ends the record with it, unless it is quoted.
            if byte == b'\r' && at + 1 == line.len() && self.state != State::Quoted {
                break;
            }
            self.state = match (self.state, byte) {
                (State::Start, b'"') => State::Quoted,
                (State::Quoted, b'"') => State::Closing,
                (State::Closing, b'"') => {
                    self.field.push(b'"');
                    State::Quoted
                }
                (State::Plain, b'"') => return Err(Problem::StrayQuote(self.fields.len() + 1)),
                (State::Start | State::Plain | State::Closing, byte) if byte == self.delimiter => {
                    self.end_field();
                    State::Start
                }
                (State::Closing, _) => return Err(Problem::TextAfterQuote(self.fields.len() + 1)),
                (State::Quoted, byte) => {
                    self.field.push(byte);
                    State::Quoted
                }
                (State::Start | State::Plain, byte) => {
                    self.field.push(byte);
                    State::Plain
                }
            };
        }
        if self.state == State::Quoted {
            return Ok(Fed::Open);
        }
        self.end_field();
        Ok(Fed::Complete)
    }

    fn end_field(&mut self) {
        self.fields.push(std::mem::take(&mut self.field));
    }

    fn take(&mut self) -> Result<Vec<String>, Problem> {
        self.fields.drain(..).map(|field| String::from_utf8(field).map_err(|_| Problem::NotUtf8)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn records(text: &[u8]) -> Vec<String> {
        let mut rows = CsvRows::new(text, b',', 1000);
        let mut out = Vec::new();
        while let Some(row) = rows.next() {
            out.push(match row {
                Ok(row) => format!("{} {}", row.at, Value::Object(row.row)),
                Err((at, problem)) => {
                    let fatal = !problem.is_of_row();
                    out.push(format!("{} {problem}", at.map_or(String::new(), |at| at.to_string())));
                    if fatal {
                        break;
                    }
                    continue;
                }
            });
        }
        out
    }

    #[test]
    fn records_keep_their_first_line() {
        let text = b"b,a\r\n1,\"x\r\ny\"\r\n\"2,\"\"\",\n3,z\n\n";
        let want = [r#"line 2 {"a":"x\r\ny","b":"1"}"#, r#"line 4 {"a":"","b":"2,\""}"#, r#"line 5 {"a":"z","b":"3"}"#];
        assert_eq!(records(text), want);
    }

    #[test]
    fn every_malformed_record_is_named() {
        for (text, want) in [
            (&b""[..], &[" the file has no header line"][..]),
            (b"\na\n", &["line 1 the file has no header line"]),
            (b"a,,b\n", &["line 1 column 2 of the header has no name"]),
            (b"a,b,a\n", &["line 1 the header names the column `a` twice"]),
            (b"a\"\n", &["line 1 the header is not usable: field 1 has a double quote inside an unquoted value"]),
            (b"\xef\xbb\xbfa\n1\n", &["line 1 the file starts with a byte order mark"]),
            (b"a,b\n1\n2,3\n", &["line 2 the record has 1 fields, the header has 2", r#"line 3 {"a":"2","b":"3"}"#]),
            (
                b"a,b\n1,5\" disk\n2,3\n",
                &["line 2 field 2 has a double quote inside an unquoted value", r#"line 3 {"a":"2","b":"3"}"#],
            ),
            (b"a\n\"x\"y\n", &["line 2 field 1 goes on after its closing quote"]),
            (b"a\nx\n\"y\nz\n", &[r#"line 2 {"a":"x"}"#, "line 3 a quoted field is never closed"]),
            (b"a\n\xff\nx\n", &["line 2 not valid UTF-8", r#"line 3 {"a":"x"}"#]),
            (b"a\n\nx\n", &["line 2 the line is empty", r#"line 3 {"a":"x"}"#]),
        ] {
            assert_eq!(records(text), want, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn a_quote_that_swallows_the_file_is_cut_short() {
        let text = format!("a\n\"{}", "x\n".repeat(1000));
        assert_eq!(records(text.as_bytes()), ["line 2 the record is longer than 1000 bytes"]);
    }

    proptest! {
        #[test]
        fn what_we_accept_the_csv_crate_reads_the_same(text in "[ab,\"\n]{0,40}") {
            let mut ours = CsvRows::new(text.as_bytes(), b',', 1000);
            let mut accepted = Vec::new();
            while let Some(record) = ours.record() {
                let Ok((_, fields)) = record else { return Ok(()) };
                accepted.push(fields);
            }
            let mut theirs = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
            let read: Vec<Vec<String>> = theirs.records().map(|r| r.unwrap().iter().map(str::to_owned).collect()).collect();
            prop_assert_eq!(accepted, read);
        }
    }
}
