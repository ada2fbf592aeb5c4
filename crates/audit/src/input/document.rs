//! Files of many JSON values: one a line, or all of them in one, which is read part by part.
//!
//! What harnesses write is a list of results, or an object with one among its members. Such a file may be large; no more
//! than one item of it is in memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use memchr::{memchr_iter, memchr2};
use proofmark_artefact::store::{Hashed, Lines, OpenError};
use proofmark_canon::json::{self, Integers, ParseError, ParseErrorKind};
use proofmark_canon::{Digest, Map, Value};

use crate::error::AuditError;

/// The longest item, member or line.
const MAX_PART: usize = 16 << 20;
const BLOCK: usize = 64 * 1024;

/// A part of a document.
#[derive(Debug, PartialEq)]
pub enum Part {
    /// Another member than the list.
    Member(String, Value),
    Item(Value),
}

/// Why a document cannot be read.
#[derive(Debug)]
pub enum Broken {
    Io(io::Error),
    Json(ParseError),
    Shape { place: &'static str, message: String },
}

impl Broken {
    pub fn of(self, path: &Path) -> AuditError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => AuditError::Io { path, source },
            Self::Json(source) => AuditError::NotJsonFile { path, source },
            Self::Shape { place, message } => AuditError::Shape { path, place: place.to_owned(), message },
        }
    }
}

/// What a file begins with.
#[derive(Debug, PartialEq)]
pub enum Layout {
    /// A list, or an object with the list.
    Document,
    /// An object without the list: one of many, one a line.
    Object(Map),
    Other,
}

/// Looks at the first value of a file.
pub fn layout_of(source: impl Read, list: &'static str) -> Result<Layout, Broken> {
    let mut parts = Parts::new(source, list);
    parts.skip_space()?;
    match parts.peek()? {
        Some(b'[') => return Ok(Layout::Document),
        Some(b'{') => {}
        _ => return Ok(Layout::Other),
    }
    let mut map = Map::new();
    loop {
        match parts.next_part() {
            Err(Broken::Io(error)) => return Err(Broken::Io(error)),
            _ if parts.has_list => return Ok(Layout::Document),
            Ok(Some(Part::Member(name, value))) => map.insert(name, value),
            // Whoever reads it says what is wrong with it.
            _ => return Ok(Layout::Object(map)),
        };
    }
}

/// Opens a file that is one, and no pipe, which would make us wait for its writer.
pub fn open(path: &Path) -> Result<File, AuditError> {
    let io = |source| AuditError::Io { path: path.to_owned(), source };
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(OpenError::NotAFile(path.to_owned()).into());
    }
    File::open(path).map_err(io)
}

/// Reads a file of one value a line; its digest and length are returned.
pub fn each_line(
    path: &Path,
    mut take: impl FnMut(Value, u64) -> Result<(), AuditError>,
) -> Result<(Digest, u64), AuditError> {
    let mut lines = Lines::new(Hashed::new(open(path)?), MAX_PART);
    while let Some(line) = lines.next_line().map_err(|source| AuditError::Line { path: path.to_owned(), source })? {
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        let number = line.number;
        let value = json::parse_with(line.bytes, Integers::AsText).map_err(|source| AuditError::NotJson {
            path: path.to_owned(),
            line: number,
            source,
        })?;
        take(value, number)?;
    }
    let hashed = lines.drain().map_err(|source| AuditError::Io { path: path.to_owned(), source })?;
    Ok(hashed.finish())
}

/// Where in a document we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    /// In an object, before its first member or behind one.
    Object {
        is_first: bool,
    },
    /// In the list, before its first item or behind one.
    List {
        is_first: bool,
        /// Whether it is a member of an object.
        is_member: bool,
    },
    /// Behind the value.
    Done,
}

/// Reads a document.
pub struct Parts<R> {
    source: R,
    list: &'static str,
    state: State,
    has_list: bool,
    /// Bytes of members so far.
    members: usize,
    buffer: Vec<u8>,
    /// The unread part of the buffer.
    start: usize,
    end: usize,
    at_end: bool,
    /// Where the unread part starts: bytes from 0, lines and columns from 1.
    offset: usize,
    line: usize,
    column: usize,
}

impl<R: Read> Parts<R> {
    /// `list` is the name of the list where the document is an object.
    pub fn new(source: R, list: &'static str) -> Self {
        Self {
            source,
            list,
            state: State::Start,
            has_list: false,
            members: 0,
            buffer: vec![0; BLOCK],
            start: 0,
            end: 0,
            at_end: false,
            offset: 0,
            line: 1,
            column: 1,
        }
    }

    /// The next part; `None` when the file is read to its end.
    pub fn next_part(&mut self) -> Result<Option<Part>, Broken> {
        loop {
            self.skip_space()?;
            match self.state {
                State::Start => self.begin()?,
                State::Object { is_first } => {
                    if self.closes(b'}', is_first)? {
                        self.state = State::Done;
                    } else if let Some(part) = self.member()? {
                        return Ok(Some(part));
                    }
                }
                State::List { is_first, is_member } => {
                    if !self.closes(b']', is_first)? {
                        self.state = State::List { is_first: false, is_member };
                        let (value, _) = self.value()?;
                        return Ok(Some(Part::Item(value)));
                    }
                    self.state = if is_member { State::Object { is_first: false } } else { State::Done };
                }
                State::Done => {
                    return match self.peek()? {
                        None => Ok(None),
                        Some(_) => Err(self.broken(ParseErrorKind::TrailingText)),
                    };
                }
            }
        }
    }

    /// Whether there is nothing at all.
    pub fn is_blank(&mut self) -> Result<bool, Broken> {
        self.skip_space()?;
        Ok(self.peek()?.is_none())
    }

    /// The source, once the document is read to its end.
    pub fn into_source(self) -> R {
        self.source
    }

    fn begin(&mut self) -> Result<(), Broken> {
        self.state = match self.peek()? {
            Some(b'[') => State::List { is_first: true, is_member: false },
            Some(b'{') => State::Object { is_first: true },
            None => return Err(self.broken(ParseErrorKind::UnexpectedEnd)),
            Some(_) => {
                self.value()?;
                let message = "neither an object nor a list".to_owned();
                return Err(Broken::Shape { place: "the value", message });
            }
        };
        self.advance(1);
        Ok(())
    }

    /// Passes over the end of a list or an object; otherwise over the comma before what comes next.
    fn closes(&mut self, end: u8, is_first: bool) -> Result<bool, Broken> {
        let expected = if end == b']' { "`,` or `]`" } else { "`,` or `}`" };
        match self.peek()? {
            Some(byte) if byte == end => {
                if end == b'}' && !self.has_list {
                    let message = format!("has no `{}`", self.list);
                    return Err(Broken::Shape { place: "the object", message });
                }
                self.advance(1);
                Ok(true)
            }
            _ if is_first => Ok(false),
            Some(b',') => {
                self.advance(1);
                self.skip_space()?;
                Ok(false)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// One member; `None` for the list, which is read next.
    fn member(&mut self) -> Result<Option<Part>, Broken> {
        self.state = State::Object { is_first: false };
        if self.peek()? != Some(b'"') {
            return Err(self.unexpected("a name"));
        }
        let (name, _) = self.value()?;
        let name = name.to_plain_text();
        self.skip_space()?;
        if self.peek()? != Some(b':') {
            return Err(self.unexpected("`:`"));
        }
        self.advance(1);
        self.skip_space()?;
        if name != self.list {
            let (value, length) = self.value()?;
            self.members += length;
            return if self.members > MAX_PART {
                Err(too_long("the object"))
            } else {
                Ok(Some(Part::Member(name, value)))
            };
        }
        if self.has_list {
            return Err(self.broken(ParseErrorKind::DuplicateName(name)));
        }
        self.has_list = true;
        if self.peek()? != Some(b'[') {
            let (value, _) = self.value()?;
            let message = format!("`{}` is {}, expected a list", self.list, value.kind());
            return Err(Broken::Shape { place: "the object", message });
        }
        self.advance(1);
        self.state = State::List { is_first: true, is_member: true };
        Ok(None)
    }

    /// Reads one value whole; its length too.
    fn value(&mut self) -> Result<(Value, usize), Broken> {
        // Where no value begins it is the reader who says so.
        let length = self.extent()?.max(usize::from(self.peek()?.is_some()));
        let parsed = json::parse_with(&self.buffer[self.start..self.start + length], Integers::AsText);
        let value = parsed.map_err(|error| {
            let column = if error.line == 1 { self.column + error.column - 1 } else { error.column };
            let (offset, line) = (self.offset + error.offset, self.line + error.line - 1);
            Broken::Json(ParseError { offset, line, column, kind: error.kind })
        })?;
        self.advance(length);
        Ok((value, length))
    }

    /// How long the value is that begins here. What it is shows when it is parsed: here brackets and strings matter alone.
    fn extent(&mut self) -> Result<usize, Broken> {
        let (mut at, mut depth, mut in_string) = (0, 0u64, false);
        loop {
            if at > MAX_PART {
                return Err(too_long("an item"));
            }
            if self.start + at >= self.end {
                if !self.fill().map_err(Broken::Io)? {
                    return Ok(self.end - self.start);
                }
                continue;
            }
            let unread = &self.buffer[self.start + at..self.end];
            if in_string {
                match memchr2(b'"', b'\\', unread) {
                    None => at += unread.len(),
                    Some(quote) if unread[quote] == b'"' => {
                        at += quote + 1;
                        in_string = false;
                        if depth == 0 {
                            return Ok(at);
                        }
                    }
                    Some(escape) => at += escape + 2,
                }
                continue;
            }
            match unread[0] {
                b'"' => in_string = true,
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth > 1 => depth -= 1,
                b'}' | b']' => return Ok(if depth == 1 { at + 1 } else { at }),
                b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => return Ok(at),
                _ => {}
            }
            at += 1;
        }
    }

    fn skip_space(&mut self) -> Result<(), Broken> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek()? {
            let unread = &self.buffer[self.start..self.end];
            let spaces = unread.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
            self.advance(spaces);
        }
        Ok(())
    }

    fn peek(&mut self) -> Result<Option<u8>, Broken> {
        while self.start == self.end {
            if !self.fill().map_err(Broken::Io)? {
                return Ok(None);
            }
        }
        Ok(Some(self.buffer[self.start]))
    }

    fn advance(&mut self, bytes: usize) {
        let passed = &self.buffer[self.start..self.start + bytes];
        if let Some(last) = memchr::memrchr(b'\n', passed) {
            self.line += memchr_iter(b'\n', passed).count();
            self.column = 1 + chars(&passed[last + 1..]);
        } else {
            self.column += chars(passed);
        }
        self.start += bytes;
        self.offset += bytes;
    }

    /// Reads once; false at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.buffer.len() - self.end < BLOCK / 2 {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let read = loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.end += read;
        self.at_end = read == 0;
        Ok(read > 0)
    }

    fn broken(&self, kind: ParseErrorKind) -> Broken {
        Broken::Json(ParseError { offset: self.offset, line: self.line, column: self.column, kind })
    }

    fn unexpected(&self, expected: &'static str) -> Broken {
        let unread = &self.buffer[self.start..self.end.min(self.start + 4)];
        let found = unread.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
        self.broken(match found {
            Some(found) => ParseErrorKind::Unexpected { expected, found },
            None if unread.is_empty() => ParseErrorKind::UnexpectedEnd,
            None => ParseErrorKind::NotUtf8,
        })
    }
}

fn too_long(place: &'static str) -> Broken {
    Broken::Shape { place, message: format!("longer than {MAX_PART} bytes") }
}

fn chars(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives a few bytes at a time.
    struct Slowly<'a>(&'a [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(buffer.len()).min(self.0.len());
            let (now, later) = self.0.split_at(length);
            buffer[..length].copy_from_slice(now);
            self.0 = later;
            Ok(length)
        }
    }

    fn read(text: &str, step: usize) -> Result<(Map, Vec<Value>), Broken> {
        let mut parts = Parts::new(Slowly(text.as_bytes(), step), "results");
        let (mut map, mut items) = (Map::new(), Vec::new());
        while let Some(part) = parts.next_part()? {
            match part {
                Part::Member(name, value) => {
                    map.insert(name, value);
                }
                Part::Item(value) => items.push(value),
            }
        }
        Ok((map, items))
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i32>().prop_map(Into::into),
            "[\\x00-\\x7fäß\u{1f600}\"\\\\\\]}]{0,12}".prop_map(Into::into),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::btree_map("[a-z\"\\\\]{0,4}", inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn parts_are_those_of_the_whole(
            items in prop::collection::vec(value(), 0..6),
            other in value(),
            step in 1usize..40,
            is_pretty: bool,
        ) {
            let written = |value: &serde_json::Value| {
                if is_pretty { serde_json::to_string_pretty(value).unwrap() } else { value.to_string() }
            };
            let want: Vec<Value> = items.iter().map(|item| json::parse(item.to_string().as_bytes()).unwrap()).collect();
            let list = serde_json::Value::Array(items);
            prop_assert_eq!(read(&written(&list), step).unwrap(), (Map::new(), want.clone()));
            let object = serde_json::json!({"a": other, "results": list, "z": 7});
            let (map, items) = read(&written(&object), step).unwrap();
            prop_assert_eq!(items, want);
            prop_assert_eq!(map.get("a"), Some(&json::parse(other.to_string().as_bytes()).unwrap()));
            prop_assert_eq!(map.len(), 2);
            let layout = layout_of(Slowly(written(&object).as_bytes(), step), "results").unwrap();
            prop_assert_eq!(layout, Layout::Document);
        }

        #[test]
        fn what_the_strict_reader_refuses_is_refused_at_the_same_place(text in "[\\[\\]{},:\"a1\n ]{0,12}", step in 1usize..5) {
            let whole = json::parse_with(text.as_bytes(), Integers::AsText);
            match (read(&text, step), whole) {
                (Err(Broken::Json(error)), Err(want)) => prop_assert_eq!(error.line, want.line, "{}", text),
                (Err(Broken::Json(error)), Ok(_)) => prop_assert!(false, "{} is refused: {}", text, error),
                (Ok(_), Err(error)) => prop_assert!(false, "{} is read, but {}", text, error),
                // A document that lacks the list is told so before the rest is read.
                (Err(_), _) | (Ok(_), Ok(_)) => {}
            }
        }
    }

    #[test]
    fn what_is_no_document_is_told_with_its_place() {
        for (text, want) in [
            ("7", "the value: neither an object nor a list"),
            ("{\"a\":1}", "the object: has no `results`"),
            ("{\"results\":{}}", "the object: `results` is a mapping, expected a list"),
            ("{\"results\":[],\"results\":[]}", "column 25: the name `results` stands twice in one object"),
            ("[1,\n 2 3]", "line 2, column 4: expected `,` or `]`, found `3`"),
            ("[1,,2]", "column 4: expected a value, found `,`"),
            ("[1] 2", "column 5: the text goes on after the value"),
            ("[\"\u{e4}\", x]", "column 7: expected a value, found `x`"),
            ("[1", "column 3: the text ends inside a value"),
            ("", "column 1: the text ends inside a value"),
        ] {
            let told = match read(text, 3).unwrap_err() {
                Broken::Json(error) => error.to_string(),
                Broken::Shape { place, message } => format!("{place}: {message}"),
                Broken::Io(error) => error.to_string(),
            };
            assert_eq!(told, want, "{text}");
        }
        assert_eq!(layout_of("{\"id\":1}\n{\"id\":2}".as_bytes(), "rows").unwrap(), {
            let mut map = Map::new();
            map.insert("id", Value::from(1u32));
            Layout::Object(map)
        });
        assert_eq!(layout_of("7".as_bytes(), "rows").unwrap(), Layout::Other);
    }

    #[test]
    fn an_item_without_end_is_refused_without_being_held() {
        let endless = io::Read::chain(&b"[\""[..], io::repeat(b'x'));
        let mut parts = Parts::new(endless, "results");
        assert!(matches!(parts.next_part(), Err(Broken::Shape { place: "an item", .. })));
        assert!(parts.buffer.len() <= 4 * MAX_PART);
    }
}
