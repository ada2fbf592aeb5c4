//! Tells quickly that a content has none of the needles, as most contents do.
//!
//! Of each needle the first bytes of its folded text are known. A content is folded byte by byte, and the last eight bytes
//! are held against them; the text itself is not kept.

use std::ops::Range;

use super::fold::{Folded, fold};
use super::unit::{Mode, What, unit};
use super::window::{FIRST_WORD, SPECIAL, codes_of};

#[derive(Debug, Clone, Default)]
pub(super) struct Gate {
    groups: Vec<Group>,
}

/// The beginnings of one length.
#[derive(Debug, Clone)]
struct Group {
    /// Takes as many of the last bytes as the beginnings have.
    mask: u64,
    /// One bit for each hash of a beginning.
    bits: Vec<u64>,
    /// Sorted.
    beginnings: Vec<u64>,
}

const LONGEST: usize = 8;
const WORDS: usize = 1024;

impl Gate {
    /// Takes texts of which one stands in every folded content that holds a needle.
    pub(super) fn new<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut gate = Self::default();
        for text in texts.filter(|text| !text.is_empty()) {
            let beginning = &text[..text.len().min(LONGEST)];
            let mask = u64::MAX >> (64 - 8 * beginning.len());
            let gram = beginning.iter().fold(0, |gram, byte| gram << 8 | u64::from(*byte));
            let at = gate.groups.iter().position(|group| group.mask == mask).unwrap_or_else(|| {
                gate.groups.push(Group { mask, bits: vec![0; WORDS], beginnings: Vec::new() });
                gate.groups.len() - 1
            });
            let group = &mut gate.groups[at];
            let (word, bit) = place(gram);
            group.bits[word] |= bit;
            if let Err(at) = group.beginnings.binary_search(&gram) {
                group.beginnings.insert(at, gram);
            }
        }
        gate
    }

    /// Whether a range of a content, folded in one mode, has none of the beginnings.
    pub(super) fn is_shut(&self, content: &[u8], range: Range<usize>, mode: Mode) -> bool {
        self.walk(content, range, mode, Raw::Passed)
    }

    /// Whether a content has none of the beginnings, neither as it stands nor without what can be undone.
    pub(super) fn is_shut_twice(&self, content: &[u8]) -> bool {
        self.walk(content, 0..content.len(), Mode::Stripped, Raw::Looked)
    }

    fn walk(&self, content: &[u8], range: Range<usize>, mode: Mode, raw: Raw) -> bool {
        match self.groups.as_slice() {
            [] => true,
            [one] => walk(content, range, mode, raw, one),
            [one, two] => walk(content, range, mode, raw, &(one, two)),
            many => walk(content, range, mode, raw, many),
        }
    }
}

/// Whether what is undone is looked at as it stands, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Raw {
    Passed,
    Looked,
}

/// What the last bytes are held against.
trait Beginnings {
    /// Not zero if there may be one.
    fn may_have(&self, last: u64) -> u64;
    fn has(&self, last: u64) -> bool;
}

impl Beginnings for Group {
    fn may_have(&self, last: u64) -> u64 {
        let (word, bit) = place(last & self.mask);
        self.bits[word % WORDS] & bit
    }

    fn has(&self, last: u64) -> bool {
        self.may_have(last) != 0 && self.beginnings.binary_search(&(last & self.mask)).is_ok()
    }
}

impl Beginnings for (&Group, &Group) {
    fn may_have(&self, last: u64) -> u64 {
        self.0.may_have(last) | self.1.may_have(last)
    }

    fn has(&self, last: u64) -> bool {
        self.0.has(last) || self.1.has(last)
    }
}

impl Beginnings for [Group] {
    fn may_have(&self, last: u64) -> u64 {
        self.iter().fold(0, |met, group| met | group.may_have(last))
    }

    fn has(&self, last: u64) -> bool {
        self.iter().any(|group| group.has(last))
    }
}

/// How many bytes of plain text are looked at together.
const BLOCK: usize = 256;

/// Takes plain text up to something special, some of it at a time; returns how much, and whether a beginning was met.
fn plain<B: Beginnings + ?Sized>(content: &[u8], codes: &[u8; 256], last: &mut u64, beginnings: &B) -> (usize, bool) {
    // Eight bytes from before, then what this block is folded to. Bytes do not wait for each other so: each place has a
    // last eight of its own.
    let mut folded = [0; LONGEST + BLOCK];
    folded[..LONGEST].copy_from_slice(&last.to_be_bytes());
    let (mut made, mut seen) = (0, content.len().min(BLOCK));
    for (at, byte) in content[..seen].iter().enumerate() {
        let code = codes[usize::from(*byte)];
        if (SPECIAL..FIRST_WORD).contains(&code) {
            seen = at;
            break;
        }
        // Without a branch, which nobody could foretell: the next one takes the place of what is no word.
        folded[LONGEST + made] = code;
        made += usize::from(code >= FIRST_WORD);
    }
    let grams = || {
        let ends = folded[1..LONGEST + made].windows(LONGEST);
        ends.map(|bytes| bytes.try_into().map_or(0, u64::from_be_bytes))
    };
    let may_have = grams().fold(0, |met, gram| met | beginnings.may_have(gram));
    let is_met = may_have != 0 && grams().any(|gram| beginnings.has(gram));
    *last = grams().next_back().unwrap_or(*last);
    (seen, is_met)
}

/// Where the bit of a gram is.
fn place(gram: u64) -> (usize, u64) {
    let hash = gram.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48;
    ((hash >> 6) as usize % WORDS, 1 << (hash & 63))
}

/// Whether nothing is met on the way through a range.
fn walk<B: Beginnings + ?Sized>(content: &[u8], range: Range<usize>, mode: Mode, raw: Raw, beginnings: &B) -> bool {
    let is_met = |last| beginnings.has(last);
    let codes = codes_of(mode);
    let mut last = 0;
    // The same for the content as it stands. The two differ from something undone on, until both have met eight bytes more.
    let (mut bare, mut agree) = (0, LONGEST);
    let mut at = range.start;
    while at < range.end {
        if agree == LONGEST {
            let (seen, is_met) = plain(&content[at..range.end], codes, &mut last, beginnings);
            if is_met {
                return false;
            }
            at += seen;
            if seen == BLOCK {
                continue;
            }
        }
        let mut stop = range.end;
        for (offset, byte) in content[at..range.end].iter().enumerate() {
            let code = codes[usize::from(*byte)];
            if (SPECIAL..FIRST_WORD).contains(&code) {
                stop = at + offset;
                break;
            }
            if agree < LONGEST && code >= FIRST_WORD {
                bare = bare << 8 | u64::from(code);
                agree += 1;
                if is_met(bare) {
                    return false;
                }
            }
            // Without a branch, which nobody could foretell. What is looked at twice is not met the second time either.
            last = if code >= FIRST_WORD { last << 8 | u64::from(code) } else { last };
            if is_met(last) {
                return false;
            }
            if agree == LONGEST {
                stop = at + offset + 1;
                break;
            }
        }
        at = stop;
        if at >= range.end {
            break;
        }
        if !(SPECIAL..FIRST_WORD).contains(&codes[usize::from(content[at])]) {
            continue;
        }
        let unit = unit(content, at, mode);
        if raw == Raw::Looked && unit.undone.is_some() {
            if agree == LONGEST {
                bare = last;
            }
            agree = 0;
            if !feed(content, at..at + unit.length, &mut bare, &is_met) {
                return false;
            }
        }
        if let What::Char(character) = unit.what
            && let Folded::Word(bytes) = fold(character)
        {
            for byte in bytes {
                last = last << 8 | u64::from(*byte);
                if is_met(last) {
                    return false;
                }
                if unit.undone.is_none() && agree < LONGEST {
                    bare = bare << 8 | u64::from(*byte);
                    agree += 1;
                    if is_met(bare) {
                        return false;
                    }
                }
            }
        }
        at += unit.length;
    }
    true
}

/// Takes some of a content as it stands.
fn feed(content: &[u8], range: Range<usize>, bare: &mut u64, is_met: &impl Fn(u64) -> bool) -> bool {
    let mut at = range.start;
    while at < range.end {
        let unit = unit(content, at, Mode::Plain);
        if let What::Char(character) = unit.what
            && let Folded::Word(bytes) = fold(character)
        {
            for byte in bytes {
                *bare = *bare << 8 | u64::from(*byte);
                if is_met(*bare) {
                    return false;
                }
            }
        }
        at += unit.length;
    }
    true
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::super::finder::Finders;
    use super::super::window::Window;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        /// What is told without keeping the text is what the text says.
        #[test]
        fn nothing_is_missed_and_nothing_is_made_up(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "pa", "ris", "P", "A", "R", "I", "S", " ", "-", "é", "&#80;", "%50", "\\u0050", "<b>", "</b>", "&", "%", "\\",
                "<", "\u{200b}", "\u{301}", "ΐ", "ß", "巴黎", "\u{7}", "\u{fb01}",
            ]), 0..40),
            needles in prop::collection::vec(prop::sample::select(vec!["paris", "ris", "ss", "fi", "巴黎", "pp", "asr"]), 1..4),
        ) {
            let content = pieces.concat().into_bytes();
            let folded: Vec<Vec<u8>> = needles.iter().map(|needle| needle.as_bytes().to_vec()).collect();
            let finders = Finders::default();
            let gate = Gate::new(folded.iter().map(Vec::as_slice));
            for mode in [Mode::Plain, Mode::Decoded, Mode::Stripped] {
                let mut window = Window::new(mode);
                window.start(0, content.len(), true);
                while !window.fill(&content, usize::MAX) {}
                let count = |length: usize| {
                    let mut finds = 0;
                    finders.of(&folded, length).unwrap().find(&window.text, |_| {
                        finds += 1;
                        ControlFlow::Continue(())
                    });
                    finds
                };
                let finds = count(content.len());
                prop_assert_eq!(count(usize::MAX), finds, "either automaton finds the same");
                prop_assert_eq!(gate.is_shut(&content, 0..content.len(), mode), finds == 0, "{:?}", mode);
            }
            let each = [Mode::Plain, Mode::Stripped].map(|mode| gate.is_shut(&content, 0..content.len(), mode));
            prop_assert_eq!(gate.is_shut_twice(&content), each == [true, true]);
        }
    }
}
