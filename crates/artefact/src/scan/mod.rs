//! What a content holds of a gold answer and of a question.
//!
//! Finds are facts, not verdicts: whether an answer was leaked is for an audit to say. The same bytes give the same
//! finds on any machine, in time that grows with the length of the content, whatever is in it.
//!
//! The content is read as it stands, and again without tags and with entities, percent encoding and escapes decoded
//! where there are any, and tags that hold any are decoded by themselves. Each time it is folded to letters and digits ([`fold`], [`unit`], [`window`]), in
//! which all needles are searched at once ([`needles`], [`finder`], [`pass`]), unless a quick look shows that there is none ([`gate`]); numbers are read and compared by value ([`number`]).

mod finder;
mod fold;
mod gate;
mod hits;
mod needles;
mod number;
mod pass;
mod plain;
#[cfg(test)]
mod tests;
mod unit;
mod window;

use std::ops::Range;

use memchr::{memchr_iter, memchr3_iter, memmem};

use self::hits::{Found, Hits};
pub use self::needles::{Needles, sextet};
use self::pass::{Pass, ends_in_word, starts_with_word};
pub use self::plain::{Plain, undo};
use self::unit::{Mode, Undone, unit};
use self::window::is_first_byte;
use crate::trajectory::Scan;

/// The longest content that is scanned; offsets take four bytes. Tool results are far shorter.
const MAX_CONTENT: usize = u32::MAX as usize;

impl Needles {
    /// Finds the answer and the question in a content.
    pub fn scan(&self, content: &[u8]) -> Scan {
        let content = &content[..content.len().min(MAX_CONTENT)];
        let mut hits = Hits::default();
        if self.is_empty() {
            return hits.into_scan(content, &self.question);
        }
        let is_shut = self.gate.is_shut_twice(content);
        if !is_shut {
            Pass::new(self, content, Mode::Plain, &mut hits).search(0..content.len());
        }
        self.search_wrapped(content, is_shut, &mut hits);
        self.search_raw(content, &mut hits);
        hits.into_scan(content, &self.question)
    }

    /// Searches again around all places where something can be undone: without tags, unless nothing is there, and within
    /// tags that hold something.
    fn search_wrapped(&self, content: &[u8], is_shut: bool, hits: &mut Hits) {
        let reach = 4 * self.longest + 256;
        let mut within_tags: Vec<Range<usize>> = Vec::new();
        let mut pass = Pass::new(self, content, Mode::Stripped, hits);
        let (mut range, mut tag) = (0..0, 0..0);
        for at in triggers(content) {
            if tag.contains(&at) {
                if content[at] != b'<' && unit(content, at, Mode::Decoded).undone.is_some() {
                    let around = surroundings(content, &tag, 64);
                    match within_tags.last_mut() {
                        Some(last) if around.start <= last.end => last.end = around.end,
                        _ => within_tags.push(around),
                    }
                }
                continue;
            }
            let unit = unit(content, at, Mode::Stripped);
            let undone = at..at + unit.length;
            if unit.undone.is_none() {
                continue;
            }
            if unit.undone == Some(Undone::Tag) {
                tag = undone.clone();
            }
            if is_shut {
                continue;
            }
            let around = surroundings(content, &undone, reach);
            if around.start > range.end {
                pass.search(range);
                range = around;
            } else {
                range.end = around.end;
            }
        }
        pass.search(range);
        let mut pass = Pass::new(self, content, Mode::Decoded, hits);
        for range in within_tags {
            pass.search(range);
        }
    }

    /// Finds the answers that are more signs than letters.
    fn search_raw(&self, content: &[u8], hits: &mut Hits) {
        for (form, needle) in &self.raw {
            let (is_word_before, is_word_after) = (starts_with_word(needle), ends_in_word(needle));
            for from in memmem::find_iter(content, needle) {
                let to = from + needle.len();
                let is_joined = is_word_before && ends_in_word(&content[..from])
                    || is_word_after && starts_with_word(&content[to..]);
                if !is_joined {
                    hits.gold.add(Found { from, form: *form, to });
                }
            }
        }
    }
}

/// The places of bytes that can begin something that is undone, in order.
fn triggers(content: &[u8]) -> impl Iterator<Item = usize> {
    let mut tags = memchr_iter(b'<', content).peekable();
    let mut others = memchr3_iter(b'&', b'%', b'\\', content).peekable();
    std::iter::from_fn(move || match (tags.peek(), others.peek()) {
        (Some(tag), Some(other)) if tag < other => tags.next(),
        (Some(_), None) => tags.next(),
        _ => others.next(),
    })
}

/// A range and what stands around it, from the beginning of a character on.
fn surroundings(content: &[u8], range: &Range<usize>, reach: usize) -> Range<usize> {
    let from = range.start.saturating_sub(reach);
    let from = (from.saturating_sub(3)..=from).rev().find(|at| is_first_byte(content[*at])).unwrap_or(from);
    from..(range.end + reach).min(content.len())
}
