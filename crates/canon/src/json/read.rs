//! The strict reader.
//!
//! Refuses what would let two different texts share a digest or one text be read in two ways:
//! names that stand twice, integers whose digits a double would lose, lone surrogates, numbers that overflow, depth
//! without end, anything after the value.

use std::fmt;

use smol_str::SmolStr;

use super::special::first_special;
use super::value::{Map, Number, Value};
use super::write::append_number;

/// How deep lists and objects may nest.
pub const MAX_DEPTH: usize = 128;

/// What to do with an integer that a double cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Integers {
    /// Refuse it.
    #[default]
    Refuse,
    /// Keep its digits as a string.
    AsText,
}

/// The text is not acceptable JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Byte offset at which the problem was seen.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    pub kind: ParseErrorKind,
}

/// What is wrong with the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    #[error("the text ends inside a value")]
    UnexpectedEnd,
    #[error("expected {expected}, found `{found}`")]
    Unexpected { expected: &'static str, found: char },
    #[error("the name `{0}` stands twice in one object")]
    DuplicateName(String),
    #[error("the integer {0} is beyond 2^53 and would lose digits")]
    UnsafeInteger(String),
    #[error("the number {0} is too large")]
    NumberOverflow(String),
    #[error("a lone surrogate `\\u{0:04x}` is not a character")]
    LoneSurrogate(u16),
    #[error("a control character must be escaped in a string")]
    ControlCharacter,
    #[error("`\\{0}` is not an escape")]
    BadEscape(char),
    #[error("lists and objects are nested deeper than {MAX_DEPTH}")]
    TooDeep,
    #[error("there are more than {0} values")]
    TooManyValues(usize),
    #[error("the text goes on after the value")]
    TrailingText,
    #[error("not valid UTF-8")]
    NotUtf8,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 1 {
            write!(f, "column {}: {}", self.column, self.kind)
        } else {
            write!(f, "line {}, column {}: {}", self.line, self.column, self.kind)
        }
    }
}

impl std::error::Error for ParseError {}

/// Parses one value, strictly.
pub fn parse(bytes: &[u8]) -> Result<Value, ParseError> {
    parse_with(bytes, Integers::Refuse)
}

/// Parses one value of no more than so many, itself and those in it counted. In memory small values take 16 times their text: a
/// file of a stranger needs a bound on both.
pub fn parse_bounded(bytes: &[u8], values: usize) -> Result<Value, ParseError> {
    parse_all(bytes, Integers::Refuse, values)
}

/// Parses one value with a rule for integers that a double cannot hold.
pub fn parse_with(bytes: &[u8], integers: Integers) -> Result<Value, ParseError> {
    parse_all(bytes, integers, usize::MAX)
}

fn parse_all(bytes: &[u8], integers: Integers, values: usize) -> Result<Value, ParseError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| ParseError::at(bytes, error.valid_up_to(), ParseErrorKind::NotUtf8))?;
    let mut reader = Reader { text, bytes, at: 0, integers, values, left: values, members: Vec::new() };
    let result = reader.document();
    result.map_err(|kind| ParseError::at(bytes, reader.at, kind))
}

impl ParseError {
    fn at(bytes: &[u8], offset: usize, kind: ParseErrorKind) -> Self {
        let before = &bytes[..offset.min(bytes.len())];
        let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        Self {
            offset,
            line: before.iter().filter(|b| **b == b'\n').count() + 1,
            column: String::from_utf8_lossy(&before[line_start..]).chars().count() + 1,
            kind,
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    integers: Integers,
    /// How many values there may be, and how many more.
    values: usize,
    left: usize,
    /// The members of all open objects, those of the innermost one last. An object takes exactly its own when it ends: one
    /// that grew with each member would be copied again and again.
    members: Vec<(SmolStr, Value)>,
}

type Read<T> = Result<T, ParseErrorKind>;

impl Reader<'_> {
    fn document(&mut self) -> Read<Value> {
        self.skip_space();
        let value = self.value(0)?;
        self.skip_space();
        if self.at < self.bytes.len() { Err(ParseErrorKind::TrailingText) } else { Ok(value) }
    }

    fn value(&mut self, depth: usize) -> Read<Value> {
        self.left = self.left.checked_sub(1).ok_or(ParseErrorKind::TooManyValues(self.values))?;
        match self.peek()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => Ok(Value::String(self.string()?)),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'n' => self.word("null", Value::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Read<Value> {
        self.enter(depth)?;
        self.skip_space();
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(Value::Object(Map::new()));
        }
        let first = self.members.len();
        loop {
            self.skip_space();
            if self.peek()? != b'"' {
                return Err(self.unexpected("a name in double quotes"));
            }
            let name = self.name()?;
            self.skip_space();
            self.take(b':', "`:`")?;
            self.skip_space();
            let value = self.value(depth + 1)?;
            self.members.push((name, value));
            self.skip_space();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => break,
                _ => return Err(self.unexpected("`,` or `}`")),
            }
        }
        let members = self.members.drain(first..).collect();
        let map = Map::from_named(members).map_err(ParseErrorKind::DuplicateName)?;
        self.at += 1;
        Ok(Value::Object(map))
    }

    fn array(&mut self, depth: usize) -> Read<Value> {
        self.enter(depth)?;
        let mut items = Vec::new();
        self.skip_space();
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(Value::Array(items));
        }
        loop {
            self.skip_space();
            items.push(self.value(depth + 1)?);
            self.skip_space();
            match self.peek()? {
                b',' => self.at += 1,
                b']' => break,
                _ => return Err(self.unexpected("`,` or `]`")),
            }
        }
        self.at += 1;
        Ok(Value::Array(items))
    }

    fn enter(&mut self, depth: usize) -> Read<()> {
        if depth >= MAX_DEPTH {
            return Err(ParseErrorKind::TooDeep);
        }
        self.at += 1;
        Ok(())
    }

    fn name(&mut self) -> Read<SmolStr> {
        match self.plain_string() {
            Some(name) => Ok(name.into()),
            None => self.escaped_string().map(SmolStr::from),
        }
    }

    fn string(&mut self) -> Read<String> {
        match self.plain_string() {
            Some(text) => Ok(text.to_owned()),
            None => self.escaped_string(),
        }
    }

    /// A string that stands there as it is, as most do.
    fn plain_string(&mut self) -> Option<&str> {
        let start = self.at + 1;
        let length = first_special(&self.bytes[start..])?;
        let text = self.text.get(start..start + length).filter(|_| self.bytes[start + length] == b'"')?;
        self.at = start + length + 1;
        Some(text)
    }

    fn escaped_string(&mut self) -> Read<String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.bytes[self.at..];
            let clean = first_special(rest).ok_or(ParseErrorKind::UnexpectedEnd)?;
            // The scan stops at ASCII only, so both ends are on character boundaries.
            out.push_str(&self.text[self.at..self.at + clean]);
            self.at += clean;
            match rest[clean] {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => {
                    self.at += 1;
                    self.escape(&mut out)?;
                }
                _ => return Err(ParseErrorKind::ControlCharacter),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Read<()> {
        let plain = match self.peek()? {
            b'u' => {
                self.at += 1;
                out.push(self.unicode_escape()?);
                return Ok(());
            }
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            _ => return Err(ParseErrorKind::BadEscape(self.char_here())),
        };
        self.at += 1;
        out.push(plain);
        Ok(())
    }

    fn unicode_escape(&mut self) -> Read<char> {
        let high = self.hex4()?;
        if let Some(plain) = char::from_u32(u32::from(high)) {
            return Ok(plain);
        }
        let lone = ParseErrorKind::LoneSurrogate(high);
        if high >= 0xDC00 || !self.bytes[self.at..].starts_with(b"\\u") {
            return Err(lone);
        }
        self.at += 2;
        let low = self.hex4()?;
        match char::decode_utf16([high, low]).next() {
            Some(Ok(pair)) => Ok(pair),
            _ => Err(lone),
        }
    }

    fn hex4(&mut self) -> Read<u16> {
        let digits = self.bytes.get(self.at..self.at + 4).ok_or(ParseErrorKind::UnexpectedEnd)?;
        let mut unit = 0;
        for digit in digits {
            let digit = char::from(*digit).to_digit(16).ok_or(ParseErrorKind::BadEscape('u'))?;
            unit = unit << 4 | digit as u16;
        }
        self.at += 4;
        Ok(unit)
    }

    fn number(&mut self) -> Read<Value> {
        let start = self.at;
        let mut is_integer = true;
        if self.bytes[self.at] == b'-' {
            self.at += 1;
        }
        match self.peek()? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            _ => return Err(self.unexpected("a digit")),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            is_integer = false;
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            is_integer = false;
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        let text = &self.text[start..self.at];
        let excerpt = || text.chars().take(40).collect::<String>();
        if is_integer {
            let safe = text.parse::<i64>().ok().and_then(Number::from_i64).or_else(|| survivor(text));
            return match (safe, self.integers) {
                (Some(number), _) => Ok(Value::Number(number)),
                (None, Integers::AsText) => Ok(Value::String(text.to_owned())),
                (None, Integers::Refuse) => Err(ParseErrorKind::UnsafeInteger(excerpt())),
            };
        }
        let number = text.parse::<f64>().ok().and_then(Number::new);
        number.map(Value::Number).ok_or_else(|| ParseErrorKind::NumberOverflow(excerpt()))
    }

    fn digits(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Read<()> {
        if !self.peek()?.is_ascii_digit() {
            return Err(self.unexpected("a digit"));
        }
        self.digits();
        Ok(())
    }

    fn word(&mut self, word: &'static str, value: Value) -> Read<Value> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.unexpected("a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn take(&mut self, byte: u8, expected: &'static str) -> Read<()> {
        if self.peek()? != byte {
            return Err(self.unexpected(expected));
        }
        self.at += 1;
        Ok(())
    }

    fn skip_space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Read<u8> {
        self.bytes.get(self.at).copied().ok_or(ParseErrorKind::UnexpectedEnd)
    }

    fn unexpected(&self, expected: &'static str) -> ParseErrorKind {
        if self.at >= self.bytes.len() {
            return ParseErrorKind::UnexpectedEnd;
        }
        ParseErrorKind::Unexpected { expected, found: self.char_here() }
    }

    fn char_here(&self) -> char {
        self.text.get(self.at..).and_then(|rest| rest.chars().next()).unwrap_or('\u{fffd}')
    }
}

/// Reads an integer beyond 2^53 when it is the canonical text of a double, so no digit is lost.
fn survivor(text: &str) -> Option<Number> {
    let number = text.parse::<f64>().ok().and_then(Number::new)?;
    let mut canonical = Vec::new();
    append_number(number.get(), &mut canonical);
    (canonical == text.as_bytes()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> ParseErrorKind {
        parse(text.as_bytes()).expect_err(text).kind
    }

    #[test]
    fn what_has_two_readings_is_refused() {
        assert_eq!(kind(r#"{"a":1,"b":2,"a":3}"#), ParseErrorKind::DuplicateName("a".into()));
        assert_eq!(kind(r#"{"a":1,"\u0061":3}"#), ParseErrorKind::DuplicateName("a".into()));
        assert_eq!(kind("9007199254740993"), ParseErrorKind::UnsafeInteger("9007199254740993".into()));
        assert_eq!(kind("1e400"), ParseErrorKind::NumberOverflow("1e400".into()));
        assert_eq!(kind(r#""\ud800""#), ParseErrorKind::LoneSurrogate(0xd800));
        assert_eq!(kind(r#""\ud800\u0041""#), ParseErrorKind::LoneSurrogate(0xd800));
        assert_eq!(kind(r#""\udc00""#), ParseErrorKind::LoneSurrogate(0xdc00));
        assert_eq!(kind("1 2"), ParseErrorKind::TrailingText);
        assert_eq!(kind(&"[".repeat(200)), ParseErrorKind::TooDeep);
        assert_eq!(kind("\"a\nb\""), ParseErrorKind::ControlCharacter);
    }

    #[test]
    fn broken_text_is_refused_without_a_panic() {
        for text in [
            "",
            " ",
            "{",
            "[1",
            "[1,",
            "{\"a\"",
            "{\"a\":",
            "\"",
            "\"\\",
            "\"\\u12",
            "-",
            "01",
            "1.",
            "1e",
            "tru",
            "nul",
            "{a:1}",
            "[1,]",
            "{\"a\":1,}",
            "NaN",
            "Infinity",
            "'a'",
            "\u{feff}1",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(parse(b"\"\xff\"").is_err());
    }

    #[test]
    fn every_value_counts_against_the_bound() {
        for (text, values) in [("1", 1), ("[]", 1), ("[1,[2]]", 4), (r#"{"a":{"b":[true,null]}}"#, 5)] {
            assert!(parse_bounded(text.as_bytes(), values).is_ok(), "{text}");
            let kind = parse_bounded(text.as_bytes(), values - 1).unwrap_err().kind;
            assert_eq!(kind, ParseErrorKind::TooManyValues(values - 1), "{text}");
        }
    }

    #[test]
    fn a_place_is_a_line_and_a_column() {
        let error = parse("{\n \"é\": x}".as_bytes()).unwrap_err();
        assert_eq!((error.line, error.column), (2, 7));
        assert_eq!(error.to_string(), "line 2, column 7: expected a value, found `x`");
    }

    #[test]
    fn an_unsafe_integer_can_be_kept_as_text() {
        let value = parse_with(b"[9007199254740993]", Integers::AsText).unwrap();
        assert_eq!(value.to_string(), r#"["9007199254740993"]"#);
    }
}
