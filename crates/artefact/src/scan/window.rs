//! A part of a content, folded: letters and digits only, and where each of them stood.

use super::fold::{Class, Folded, fold, is_unspaced};
use super::unit::{Mode, Undone, What, character, unit};

/// What stands between two characters of a folded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Gap {
    None,
    Comma,
    Dot,
    Apostrophe,
    /// One character of white space.
    Space,
    Underscore,
    Hyphen,
    Plus,
    /// A hyphen and white space: a word broken at the end of a line.
    Hyphenated,
    /// A minus behind something else that is no word.
    Sign,
    /// A point behind something else that is no word.
    Point,
    Slash,
    /// Anything else without white space.
    Tight,
    /// Anything else with it, and the beginning of a content.
    Wide,
}

impl Gap {
    /// Whether a reader sees two words.
    pub(super) fn is_wide(self) -> bool {
        matches!(self, Self::Space | Self::Sign | Self::Point | Self::Wide)
    }

    const fn with(self, class: Class) -> Self {
        match (self, class) {
            (Self::None, Class::Space) => Self::Space,
            (Self::None, Class::Comma) => Self::Comma,
            (Self::None, Class::Dot) => Self::Dot,
            (Self::None, Class::Apostrophe) => Self::Apostrophe,
            (Self::None, Class::Underscore) => Self::Underscore,
            (Self::None, Class::Minus) => Self::Hyphen,
            (Self::None, Class::Plus) => Self::Plus,
            (Self::None, Class::Slash) => Self::Slash,
            (Self::None, Class::Other) => Self::Tight,
            (_, Class::Minus) => Self::Sign,
            (_, Class::Dot) => Self::Point,
            (Self::Hyphen | Self::Hyphenated, Class::Space) => Self::Hyphenated,
            (_, Class::Space) | (Self::Space | Self::Sign | Self::Point | Self::Wide | Self::Hyphenated, _) => {
                Self::Wide
            }
            _ => Self::Tight,
        }
    }
}

/// The folded text of a range of a content, a block at a time.
pub(super) struct Window {
    pub text: Vec<u8>,
    /// For each byte of the text, where its character begins in the content.
    pub starts: Vec<u32>,
    /// For each byte of the text, what stands before it.
    pub gaps: Vec<Gap>,
    /// Places where something was undone: twice the index of a byte when it was before it, one more when it made it.
    undone: Vec<(usize, Undone)>,
    /// What stands behind the last byte so far.
    gap: Gap,
    pending: Option<Undone>,
    at: usize,
    end: usize,
    /// Whether the content ends with the range.
    is_last: bool,
    mode: Mode,
}

impl Window {
    pub(super) fn new(mode: Mode) -> Self {
        Self {
            text: Vec::new(),
            starts: Vec::new(),
            gaps: Vec::new(),
            undone: Vec::new(),
            gap: Gap::Wide,
            pending: None,
            at: 0,
            end: 0,
            is_last: false,
            mode,
        }
    }

    /// The whole of a short text.
    pub(super) fn of(text: &str) -> Self {
        let mut window = Self::new(Mode::Plain);
        window.start(0, text.len(), true);
        while !window.fill(text.as_bytes(), usize::MAX) {}
        window
    }

    /// Begins anew with another range. What stands before a range that begins later is not known.
    pub(super) fn start(&mut self, at: usize, end: usize, is_last: bool) {
        self.text.clear();
        self.starts.clear();
        self.gaps.clear();
        self.undone.clear();
        self.gap = if at == 0 { Gap::Wide } else { Gap::None };
        (self.pending, self.at, self.end, self.is_last) = (None, at, end, is_last);
    }

    /// Folds on until the text has so many bytes. Returns whether the range has come to its end.
    pub(super) fn fill(&mut self, content: &[u8], bytes: usize) -> bool {
        while self.at < self.end && self.text.len() < bytes {
            // What waits for the next character of the text is rare; the run below knows nothing of it.
            if self.pending.is_some() || !self.run(content, bytes - self.text.len()) {
                self.step(content);
            }
        }
        self.at >= self.end
    }

    /// Folds plain ASCII, some of it at a time. Returns whether it went on at all.
    fn run(&mut self, content: &[u8], room: usize) -> bool {
        let codes = codes_of(self.mode);
        let first = content[self.at];
        if codes[usize::from(first)] == SPECIAL {
            return false;
        }
        let bytes = &content[self.at..self.end.min(self.at + room.min(RUN))];
        let length = self.text.len();
        self.text.resize(length + bytes.len(), 0);
        self.starts.resize(length + bytes.len(), 0);
        self.gaps.resize(length + bytes.len(), Gap::None);
        let (text, starts, gaps) = (&mut self.text[length..], &mut self.starts[length..], &mut self.gaps[length..]);
        let (mut gap, mut made, mut seen) = (self.gap, 0, bytes.len());
        for (at, byte) in bytes.iter().enumerate() {
            let code = codes[usize::from(*byte)];
            if code >= FIRST_WORD {
                text[made] = code;
                starts[made] = (self.at + at) as u32;
                gaps[made] = gap;
                gap = Gap::None;
                made += 1;
            } else if code < SPECIAL {
                gap = NEXT[gap as usize][usize::from(code & 15)];
            } else {
                seen = at;
                break;
            }
        }
        (self.gap, self.at) = (gap, self.at + seen);
        self.text.truncate(length + made);
        self.starts.truncate(length + made);
        self.gaps.truncate(length + made);
        true
    }

    /// Forgets the beginning of the text.
    pub(super) fn forget(&mut self, bytes: usize) {
        self.text.drain(..bytes);
        self.starts.drain(..bytes);
        self.gaps.drain(..bytes);
        self.undone.retain_mut(|(key, _)| {
            let is_kept = *key >= bytes * 2;
            *key = key.saturating_sub(bytes * 2);
            is_kept
        });
    }

    pub(super) fn is_digit(&self, at: usize) -> bool {
        self.text.get(at).is_some_and(u8::is_ascii_digit)
    }

    /// Whether a word can begin at an index of the text.
    pub(super) fn starts_word(&self, at: usize) -> bool {
        match self.gaps.get(at) {
            Some(Gap::None) => at > 0 && (self.is_between_words(at) || self.is_behind_tag(at)),
            _ => true,
        }
    }

    /// Whether a word can end before an index of the text.
    pub(super) fn ends_word(&self, at: usize) -> bool {
        match self.gaps.get(at) {
            Some(Gap::None) => at > 0 && (self.is_between_words(at) || self.is_behind_tag(at)),
            Some(_) => true,
            None => self.at >= self.end && (self.is_last || self.gap != Gap::None),
        }
    }

    /// Whether a tag stands before an index: a word may end with what is marked up.
    fn is_behind_tag(&self, at: usize) -> bool {
        self.mode == Mode::Stripped && self.undone_before(at) == Some(Undone::Tag)
    }

    /// Whether two characters without a gap can belong to two words.
    fn is_between_words(&self, at: usize) -> bool {
        let mut before = at - 1;
        while before > 0 && !is_first_byte(self.text[before]) {
            before -= 1;
        }
        is_first_byte(self.text[at]) && [before, at].into_iter().any(|at| is_unspaced(character(&self.text[at..]).0))
    }

    /// The first thing that was undone within a range of the text.
    pub(super) fn undone_in(&self, from: usize, to: usize) -> Option<Undone> {
        let first = self.undone.partition_point(|(key, _)| *key <= from * 2);
        self.undone.get(first).filter(|(key, _)| *key < to * 2).map(|(_, undone)| *undone)
    }

    /// What was undone right before a byte of the text; behind the last one too.
    pub(super) fn undone_before(&self, at: usize) -> Option<Undone> {
        if at == self.text.len() {
            return self.pending;
        }
        let found = self.undone.binary_search_by_key(&(at * 2), |(key, _)| *key);
        found.ok().map(|found| self.undone[found].1)
    }

    /// One step over anything but plain ASCII.
    fn step(&mut self, content: &[u8]) {
        let unit = unit(content, self.at, self.mode);
        let folded = match unit.what {
            What::Char(character) => fold(character),
            What::Gap(class) => Folded::Gap(class),
            What::Nothing => Folded::Nothing,
        };
        match folded {
            Folded::Word(bytes) => {
                self.note_pending();
                if let Some(undone) = unit.undone {
                    self.undone.push((self.text.len() * 2 + 1, undone));
                }
                for byte in bytes {
                    self.text.push(*byte);
                    self.starts.push(self.at as u32);
                    self.gaps.push(self.gap);
                    self.gap = Gap::None;
                }
            }
            Folded::Gap(class) => {
                self.gap = self.gap.with(class);
                self.wait(unit.undone);
            }
            Folded::Nothing => self.wait(unit.undone),
        }
        self.at += unit.length;
    }

    /// Keeps what was undone for the next character. A tag says more than what else stands beside it.
    fn wait(&mut self, undone: Option<Undone>) {
        if undone == Some(Undone::Tag) || self.pending.is_none() {
            self.pending = undone;
        }
    }

    fn note_pending(&mut self) {
        if let Some(undone) = self.pending.take() {
            self.undone.push((self.text.len() * 2, undone));
        }
    }
}

/// Whether a byte begins a character.
pub(super) fn is_first_byte(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// How many bytes [`Window::run`] takes at a time: room is made for all of them.
const RUN: usize = 256;

/// Codes below this are classes, codes from [`FIRST_WORD`] on are what a byte is folded to.
pub(super) const SPECIAL: u8 = 0x10;
pub(super) const FIRST_WORD: u8 = b'0';

/// What each byte is under each mode.
const CODES: [[u8; 256]; 3] = [codes(b""), codes(b"&%\\"), codes(b"&%\\<")];

/// What each byte is under a mode: below [`SPECIAL`] a class of what stands between words, from [`FIRST_WORD`] on what it is
/// folded to, otherwise something to be looked at.
pub(super) fn codes_of(mode: Mode) -> &'static [u8; 256] {
    static ALL: [[u8; 256]; 3] = CODES;
    &ALL[mode as usize]
}

const fn codes(special: &[u8]) -> [u8; 256] {
    let mut codes = [SPECIAL; 256];
    let mut byte = 0u8;
    while byte < 0x80 {
        codes[byte as usize] = match byte {
            b'0'..=b'9' | b'a'..=b'z' => byte,
            b'A'..=b'Z' => byte + 32,
            b' ' | b'\t'..=b'\r' => Class::Space as u8,
            b',' => Class::Comma as u8,
            b'.' => Class::Dot as u8,
            b'\'' => Class::Apostrophe as u8,
            b'_' => Class::Underscore as u8,
            b'-' => Class::Minus as u8,
            b'+' => Class::Plus as u8,
            b'/' => Class::Slash as u8,
            0x21..=0x7E => Class::Other as u8,
            // Other control characters are folded away.
            _ => SPECIAL,
        };
        byte += 1;
    }
    let mut at = 0;
    while at < special.len() {
        codes[special[at] as usize] = SPECIAL;
        at += 1;
    }
    codes
}

const GAPS: [Gap; 14] = [
    Gap::None,
    Gap::Comma,
    Gap::Dot,
    Gap::Apostrophe,
    Gap::Space,
    Gap::Underscore,
    Gap::Hyphen,
    Gap::Plus,
    Gap::Hyphenated,
    Gap::Sign,
    Gap::Point,
    Gap::Slash,
    Gap::Tight,
    Gap::Wide,
];

const CLASSES: [Class; 9] = [
    Class::Space,
    Class::Comma,
    Class::Dot,
    Class::Apostrophe,
    Class::Underscore,
    Class::Minus,
    Class::Plus,
    Class::Slash,
    Class::Other,
];

/// [`Gap::with`] as a table. A power of two of columns, so that no index needs a check.
const NEXT: [[Gap; 16]; 14] = {
    let mut next = [[Gap::None; 16]; 14];
    let mut gap = 0;
    while gap < GAPS.len() {
        let mut class = 0;
        while class < CLASSES.len() {
            next[gap][class] = GAPS[gap].with(CLASSES[class]);
            class += 1;
        }
        gap += 1;
    }
    next
};
