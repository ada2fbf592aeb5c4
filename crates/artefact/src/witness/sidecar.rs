//! A sidecar as it is read: everything in memory but its request ids, of which there may be any number.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use proofmark_canon::Value;
use proofmark_canon::json::{self, NotCanonical, ParseError, check_canonical};

pub use super::sieve::IdList;
use super::sieve::{SieveError, Sieved, sieve};
use crate::store::{MAX_JSON, OpenError};

/// A sidecar that was read once. Whether it is JSON, and what it says, has not been looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sidecar(Sieved);

/// What some programs put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Sidecar {
    /// Reads a file. It may be larger than memory, but what is no request id must be small.
    pub fn read(path: &Path) -> Result<Self, OpenError> {
        each_id(path, |_, _| Ok(()))
    }

    pub fn of_bytes(bytes: &[u8]) -> Result<Self, OpenError> {
        let sieved = sieve(bytes, MAX_JSON as usize, &mut |_, _| Ok(()));
        sieved.map(Self).map_err(|error| open_error(Path::new(""), error))
    }

    #[cfg(test)]
    pub(super) fn of_sieved(sieved: Sieved) -> Self {
        Self(sieved)
    }

    /// The text without its request ids: where all is well, each model has an empty list.
    pub fn text(&self) -> &[u8] {
        &self.0.text
    }

    /// The lists of request ids, in the order in which they stand.
    pub fn lists(&self) -> &[IdList] {
        &self.0.lists
    }

    /// How many ids of a model are not in what is parsed: its list there goes on behind them. 0 where nothing but ids is
    /// in the list, or none at all.
    pub(crate) fn ids_before(&self, model: usize) -> usize {
        // Nothing is left behind after something else than an id, so it can only be in the last list. One text stands for
        // all ids before it.
        let list = self.lists().last().filter(|list| list.model == model && list.cut.stand_in > 0);
        list.map_or(0, |list| (list.count as usize).saturating_sub(1))
    }

    /// Whether the file is nothing but these bytes.
    pub fn is(&self, bytes: &[u8]) -> bool {
        self.text() == bytes && self.lists().iter().all(|list| list.cut.bytes == 0)
    }

    /// Parses what is not a request id. An error has its place in the whole file.
    pub fn parse(&self) -> Result<Value, ParseError> {
        self.parse_from(0)
    }

    /// The same for a file that may begin with a byte order mark, from which places count then.
    pub fn parse_marked(&self) -> Result<Value, ParseError> {
        self.parse_from(if self.text().starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 })
    }

    fn parse_from(&self, start: usize) -> Result<Value, ParseError> {
        json::parse(&self.text()[start..]).map_err(|error| {
            let place = self.place(start, start + error.offset);
            ParseError { offset: place.offset, line: place.line, column: place.column, kind: error.kind }
        })
    }

    /// Checks that the file is canonical JSON and a line end, request ids included.
    pub fn check_canonical(&self) -> Result<(), NotACanonicalLine> {
        let body = self.text().strip_suffix(b"\n").ok_or(NotACanonicalLine::NoLineEnd)?;
        let left = check_canonical(body).err().map(|wrong| NotCanonical { offset: self.offset(wrong.offset), ..wrong });
        let among_ids = self.0.not_canonical;
        // Bytes that are no text come first, wherever they are.
        let is_no_text = std::str::from_utf8(body).is_err();
        let first = match (left, among_ids) {
            (Some(left), Some(among_ids)) if !is_no_text && among_ids.offset < left.offset => Some(among_ids),
            (left, among_ids) => left.or(among_ids),
        };
        first.map_or(Ok(()), |wrong| Err(NotACanonicalLine::Form(wrong)))
    }

    /// Where a place of the text is in the whole file.
    pub fn offset(&self, at: usize) -> usize {
        self.place(0, at).offset
    }

    /// Writes another text with the request ids of this sidecar, which are in the file still, in the places of its models'
    /// empty lists.
    pub fn put_ids_into(&self, text: &[u8], file: &Path, out: &mut impl Write) -> io::Result<()> {
        let empty = Self::of_bytes(text).map_err(io::Error::other)?;
        let models = |sidecar: &Self| sidecar.lists().iter().map(|list| list.model).collect::<Vec<_>>();
        if !empty.is(text) || models(&empty) != models(self) {
            return Err(io::Error::other("the request ids of the witness are not all texts"));
        }
        let mut places = empty.lists().iter();
        let (mut written, mut inside) = (0, None);
        let again = each_id(file, |model, id| {
            if inside == Some(model) {
                out.write_all(b",")?;
            }
            while inside != Some(model) {
                let place = places.next().ok_or_else(|| io::Error::other("a model without its list"))?;
                out.write_all(&text[written..place.cut.at])?;
                (written, inside) = (place.cut.at, Some(place.model));
            }
            out.write_all(id)
        });
        if again.map_err(io::Error::other)? != *self {
            return Err(io::Error::other("the witness was changed meanwhile"));
        }
        out.write_all(&text[written..])
    }

    fn place(&self, start: usize, at: usize) -> Place {
        let mut place = Place { offset: 0, line: 1, column: 1 };
        let mut from = start;
        for cut in self.lists().iter().map(|list| list.cut).take_while(|cut| cut.at <= at) {
            place.pass(&self.text()[from..cut.at - cut.stand_in]);
            place.offset += cut.bytes as usize;
            place.line += cut.lines as usize;
            place.column = if cut.lines > 0 { 1 } else { place.column } + cut.characters as usize;
            from = cut.at;
        }
        place.pass(&self.text()[from..at.clamp(from, self.text().len())]);
        place
    }
}

/// How many request ids each of so many models has.
pub fn counts(lists: &[IdList], models: usize) -> Vec<u64> {
    let mut counts = vec![0; models];
    for list in lists {
        if let Some(count) = counts.get_mut(list.model) {
            *count = list.count;
        }
    }
    counts
}

/// A place in a text: bytes from 0, lines and characters from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    offset: usize,
    line: usize,
    column: usize,
}

impl Place {
    fn pass(&mut self, bytes: &[u8]) {
        self.offset += bytes.len();
        let last_line = match memchr::memrchr(b'\n', bytes) {
            Some(last) => {
                self.line += memchr::memchr_iter(b'\n', bytes).count();
                self.column = 1;
                &bytes[last + 1..]
            }
            None => bytes,
        };
        self.column += String::from_utf8_lossy(last_line).chars().count();
    }
}

/// A file is not what we write: canonical JSON and one line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotACanonicalLine {
    #[error("the file has no line end")]
    NoLineEnd,
    #[error("the file is {0}")]
    Form(NotCanonical),
}

/// Reads a sidecar and goes through its request ids: the index of the model, and the id as canonical JSON.
pub fn each_id(path: &Path, mut take: impl FnMut(usize, &[u8]) -> io::Result<()>) -> Result<Sidecar, OpenError> {
    let file = File::open(path).map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
    sieve(file, MAX_JSON as usize, &mut take).map(Sidecar).map_err(|error| open_error(path, error))
}

fn open_error(path: &Path, error: SieveError) -> OpenError {
    let path = path.to_owned();
    match error {
        SieveError::Io(source) => OpenError::Io { path, source },
        SieveError::TooLarge => OpenError::TooLargeBesideIds { path, limit: MAX_JSON },
    }
}
