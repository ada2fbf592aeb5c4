//! A sidecar as a stream: its request ids are looked at and left behind, everything else is kept.
//!
//! There is an id for every request, so a sidecar may be larger than memory. What is left without the ids is small, and it
//! is JSON where the whole is. An id is left behind only when it is a proper text in its proper place. From the first
//! thing on that is not, everything stays, so that whoever parses what is left stumbles where they would have in the whole.

use std::io::{self, Read};

use memchr::memchr2;
use proofmark_canon::json::{self, NotCanonical, check_canonical};
use proofmark_canon::{Digest, Hasher, Value};

use super::markdown::REQUEST_IDS;
use super::window::Window;

/// What is left of a sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sieved {
    /// The text with the lists of request ids emptied.
    pub(super) text: Vec<u8>,
    /// The lists, in the order in which they stand.
    pub(super) lists: Vec<IdList>,
    /// The first place among the ids that is not canonical JSON, counted in the whole.
    pub(super) not_canonical: Option<NotCanonical>,
}

/// The request ids of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdList {
    /// Which of `models`, from 0.
    pub model: usize,
    pub count: u64,
    /// Of the ids as canonical JSON, with a comma between two of them.
    pub digest: Digest,
    pub(super) cut: Cut,
}

/// What was left behind in one place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cut {
    /// Where the text goes on.
    pub(super) at: usize,
    /// How many bytes before that stand for what was left behind. None do when the list is nothing but ids.
    pub(super) stand_in: usize,
    pub(super) bytes: u64,
    /// Line ends.
    pub(super) lines: u64,
    /// Characters after the last line end.
    pub(super) characters: u64,
}

/// Why a sidecar cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SieveError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What is left, or one id alone, is larger than the limit.
    #[error("too large")]
    TooLarge,
}

/// Takes an id as canonical JSON, quotes included, and the index of its model.
pub(super) type Take<'a> = dyn FnMut(usize, &[u8]) -> io::Result<()> + 'a;

/// Reads a sidecar. Every id goes to `take` once; at most `limit` bytes are kept.
pub(super) fn sieve(source: impl Read, limit: usize, take: &mut Take<'_>) -> Result<Sieved, SieveError> {
    let sieved = Sieved { text: Vec::new(), lists: Vec::new(), not_canonical: None };
    let mut sieve = Sieve { window: Window::new(source), sieved, limit, take };
    match sieve.document() {
        Ok(()) | Err(Stop::Strange) => {}
        Err(Stop::Failed(error)) => return Err(error),
    }
    sieve.keep_rest()?;
    Ok(sieve.sieved)
}

enum Stop {
    /// This is not what a sidecar looks like. What is still to come stays as it is.
    Strange,
    Failed(SieveError),
}

impl From<SieveError> for Stop {
    fn from(error: SieveError) -> Self {
        Self::Failed(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.into())
    }
}

struct Sieve<'a, 'b, R> {
    window: Window<R>,
    sieved: Sieved,
    limit: usize,
    take: &'a mut Take<'b>,
}

impl<R: Read> Sieve<'_, '_, R> {
    fn document(&mut self) -> Result<(), Stop> {
        for byte in *b"\xef\xbb\xbf" {
            if self.window.peek()? == Some(byte) {
                self.keep(1)?;
            }
        }
        self.keep_space()?;
        self.members(Object::Top)
    }

    fn members(&mut self, object: Object) -> Result<(), Stop> {
        self.keep_one(b'{')?;
        self.keep_space()?;
        if self.window.peek()? == Some(b'}') {
            return self.keep(1);
        }
        loop {
            self.keep_space()?;
            let start = self.sieved.text.len();
            self.keep_string()?;
            let name = &self.sieved.text[start..];
            let is_sought = match object {
                Object::Top => is_name(name, "models"),
                Object::Model(_) => is_name(name, REQUEST_IDS),
            };
            self.keep_space()?;
            self.keep_one(b':')?;
            self.keep_space()?;
            match (object, self.window.peek()?) {
                (Object::Top, Some(b'[')) if is_sought => self.models()?,
                (Object::Model(at), Some(b'[')) if is_sought => self.list(at)?,
                _ => self.keep_value()?,
            }
            self.keep_space()?;
            match self.window.peek()? {
                Some(b',') => self.keep(1)?,
                Some(b'}') => return self.keep(1),
                _ => return Err(Stop::Strange),
            }
        }
    }

    fn models(&mut self) -> Result<(), Stop> {
        self.keep_one(b'[')?;
        self.keep_space()?;
        if self.window.peek()? == Some(b']') {
            return self.keep(1);
        }
        for at in 0.. {
            self.keep_space()?;
            match self.window.peek()? {
                Some(b'{') => self.members(Object::Model(at))?,
                _ => self.keep_value()?,
            }
            self.keep_space()?;
            match self.window.peek()? {
                Some(b',') => self.keep(1)?,
                Some(b']') => return self.keep(1),
                _ => break,
            }
        }
        Err(Stop::Strange)
    }

    /// Empties a list of ids. When it holds something else, a text stands for the ids before that, so that what is left
    /// is as right or wrong as the whole.
    fn list(&mut self, model: usize) -> Result<(), Stop> {
        self.keep_one(b'[')?;
        let mut ids =
            Ids { model, count: 0, hasher: Hasher::new(), unhashed: 0, expects: Expects::Id, cut: Cut::default() };
        let outcome = self.ids(&mut ids);
        self.flush(&mut ids);
        let stand_in: &[u8] = match (&outcome, ids.expects) {
            (Err(Stop::Strange), Expects::Id) if ids.count > 0 => b"\"\",",
            (Err(Stop::Strange), Expects::Comma) => b"\"\"",
            _ => b"",
        };
        self.sieved.text.extend(stand_in);
        let cut = Cut { at: self.sieved.text.len(), stand_in: stand_in.len(), ..ids.cut };
        self.sieved.lists.push(IdList { model, count: ids.count, digest: ids.hasher.finish(), cut });
        outcome?;
        self.keep_one(b']')
    }

    /// Leaves ids behind until the end of their list, which is left to be read.
    fn ids(&mut self, ids: &mut Ids) -> Result<(), Stop> {
        self.leave_space(ids)?;
        if self.window.peek()? == Some(b']') {
            return Ok(());
        }
        loop {
            self.id(ids)?;
            ids.expects = Expects::Comma;
            self.leave_space(ids)?;
            match self.window.peek()? {
                Some(b',') => self.leave(1, 1, ids),
                Some(b']') => return Ok(()),
                _ => return Err(Stop::Strange),
            }
            ids.expects = Expects::Id;
            self.leave_space(ids)?;
        }
    }

    fn id(&mut self, ids: &mut Ids) -> Result<(), Stop> {
        let (length, is_escaped) = self.string_length(ids)?;
        let raw = &self.window.rest()[..length];
        let least = raw.iter().fold(u8::MAX, |least, byte| least.min(*byte));
        if !is_escaped && least >= b' ' && raw.is_ascii() {
            (self.take)(ids.model, raw)?;
            ids.count += 1;
            self.leave(length, length, ids);
            return Ok(());
        }
        let Ok(Value::String(text)) = json::parse(raw) else { return Err(Stop::Strange) };
        let mut canonical = Vec::with_capacity(length);
        json::append_string(&text, &mut canonical);
        (self.take)(ids.model, &canonical)?;
        ids.count += 1;
        let characters = raw.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        if canonical == raw {
            self.leave(length, characters, ids);
            return Ok(());
        }
        let wrong = check_canonical(raw).err();
        if let Some(NotCanonical { offset, reason }) = wrong {
            self.note_not_canonical(offset, reason);
        }
        self.flush(ids);
        ids.hasher.update(&canonical);
        self.leave(length, characters, ids);
        ids.unhashed = 0;
        Ok(())
    }

    /// How long the string is that starts here, with its quotes, and whether there is a backslash in it. All of it is
    /// in the window then.
    fn string_length(&mut self, ids: &mut Ids) -> Result<(usize, bool), Stop> {
        let mut is_escaped = false;
        let mut looked = 0;
        loop {
            while self.window.rest().len() <= looked {
                if looked > self.limit {
                    return Err(SieveError::TooLarge.into());
                }
                self.flush(ids);
                if !self.window.more()? {
                    return Err(Stop::Strange);
                }
            }
            let rest = self.window.rest();
            if looked == 0 && rest[0] != b'"' {
                return Err(Stop::Strange);
            }
            let from = looked.max(1).min(rest.len());
            looked = match memchr2(b'"', b'\\', &rest[from..]) {
                Some(found) if rest[from + found] == b'"' => return Ok((from + found + 1, is_escaped)),
                Some(found) => {
                    is_escaped = true;
                    from + found + 2
                }
                None => rest.len(),
            };
        }
    }

    fn leave_space(&mut self, ids: &mut Ids) -> Result<(), Stop> {
        loop {
            if self.window.rest().is_empty() {
                self.flush(ids);
            }
            let Some(space @ (b' ' | b'\t' | b'\n' | b'\r')) = self.window.peek()? else { return Ok(()) };
            self.flush(ids);
            let reason = match ids.expects {
                Expects::Id => "no value here",
                Expects::Comma => "neither `,` nor `]`",
            };
            self.note_not_canonical(0, reason);
            self.leave(1, 1, ids);
            ids.unhashed = 0;
            if space == b'\n' {
                ids.cut.lines += 1;
                ids.cut.characters = 0;
            }
        }
    }

    /// Goes on without keeping anything.
    fn leave(&mut self, bytes: usize, characters: usize, ids: &mut Ids) {
        self.window.advance(bytes);
        ids.unhashed += bytes;
        ids.cut.bytes += bytes as u64;
        ids.cut.characters += characters as u64;
    }

    /// Hashes what was left behind since the last time. Hashing many ids at once is faster than one after the other.
    fn flush(&mut self, ids: &mut Ids) {
        ids.hasher.update(self.window.last(ids.unhashed));
        ids.unhashed = 0;
    }

    fn note_not_canonical(&mut self, ahead: usize, reason: &'static str) {
        let offset = self.window.offset() as usize + ahead;
        self.sieved.not_canonical.get_or_insert(NotCanonical { offset, reason });
    }

    /// Keeps one value, whatever it is.
    fn keep_value(&mut self) -> Result<(), Stop> {
        match self.window.peek()? {
            Some(b'"') => return self.keep_string(),
            Some(b'{' | b'[') => {}
            Some(_) => return self.keep_word(),
            None => return Err(Stop::Strange),
        }
        let mut depth = 0u64;
        loop {
            match self.window.peek()?.ok_or(Stop::Strange)? {
                b'"' => self.keep_string()?,
                byte => {
                    match byte {
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                    self.keep(1)?;
                    if depth == 0 {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn keep_string(&mut self) -> Result<(), Stop> {
        self.keep_one(b'"')?;
        loop {
            if self.window.peek()?.is_none() {
                return Err(Stop::Strange);
            }
            let rest = self.window.rest();
            match memchr2(b'"', b'\\', rest) {
                Some(found) if rest[found] == b'"' => return self.keep(found + 1),
                Some(found) => {
                    self.keep(found + 1)?;
                    self.window.peek()?.ok_or(Stop::Strange)?;
                    self.keep(1)?;
                }
                None => self.keep(rest.len())?,
            }
        }
    }

    /// Keeps a number or a word.
    fn keep_word(&mut self) -> Result<(), Stop> {
        let mut is_empty = true;
        while let Some(byte) = self.window.peek()? {
            if matches!(byte, b',' | b']' | b'}' | b':' | b' ' | b'\t' | b'\n' | b'\r') {
                break;
            }
            is_empty = false;
            self.keep(1)?;
        }
        if is_empty { Err(Stop::Strange) } else { Ok(()) }
    }

    fn keep_space(&mut self) -> Result<(), Stop> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.window.peek()? {
            self.keep(1)?;
        }
        Ok(())
    }

    fn keep_one(&mut self, wanted: u8) -> Result<(), Stop> {
        if self.window.peek()? != Some(wanted) {
            return Err(Stop::Strange);
        }
        self.keep(1)
    }

    fn keep_rest(&mut self) -> Result<(), SieveError> {
        while self.window.peek()?.is_some() {
            match self.keep(self.window.rest().len()) {
                Err(Stop::Failed(error)) => return Err(error),
                Ok(()) | Err(Stop::Strange) => {}
            }
        }
        Ok(())
    }

    fn keep(&mut self, bytes: usize) -> Result<(), Stop> {
        let Sieve { window, sieved, limit, .. } = self;
        if sieved.text.len() + bytes > *limit {
            return Err(SieveError::TooLarge.into());
        }
        sieved.text.extend_from_slice(&window.rest()[..bytes]);
        window.advance(bytes);
        Ok(())
    }
}

/// An object on the way to the ids.
#[derive(Clone, Copy)]
enum Object {
    Top,
    /// One of `models`, from 0.
    Model(usize),
}

/// A list of ids that is being left behind.
struct Ids {
    model: usize,
    count: u64,
    hasher: Hasher,
    /// Bytes just before the place of reading that are not hashed yet.
    unhashed: usize,
    expects: Expects,
    cut: Cut,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expects {
    Id,
    Comma,
}

/// Whether a string, as it is written, is a name.
fn is_name(raw: &[u8], name: &str) -> bool {
    match raw.strip_prefix(b"\"").and_then(|raw| raw.strip_suffix(b"\"")) {
        Some(inside) if !inside.contains(&b'\\') => inside == name.as_bytes(),
        _ => matches!(json::parse(raw), Ok(Value::String(text)) if text == name),
    }
}
