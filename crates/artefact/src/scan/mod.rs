//! What a content holds of a gold answer and of a question.
//!
//! Finds are facts, not verdicts: whether an answer was leaked is for an audit to say. The same bytes give the same
//! finds on any machine, in time that grows with the length of the content, whatever is in it.
//!
//! The content is read once as it stands, and again with entities, percent encoding and escapes decoded, and again
//! without tags, where there are any. Each time it is folded to letters and digits ([`fold`], [`unit`], [`window`]), in
//! which all needles are searched at once ([`needles`], [`pass`]); numbers are read and compared by value ([`number`]).

mod fold;
mod hits;
mod needles;
mod number;
mod pass;
#[cfg(test)]
mod tests;
mod unit;
mod window;

use memchr::{memchr_iter, memchr3_iter, memmem};

use self::hits::{Found, Hits};
pub use self::needles::Needles;
use self::pass::{Pass, ends_in_word, starts_with_word};
use self::unit::{Mode, unit};
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
        Pass::new(self, content, Mode::Plain, &mut hits).search(0..content.len());
        let triggers = memchr3_iter(b'&', b'%', b'\\', content);
        self.search_around(content, Mode::Decoded, triggers, &mut hits);
        self.search_around(content, Mode::Stripped, memchr_iter(b'<', content), &mut hits);
        self.search_raw(content, &mut hits);
        hits.into_scan(content, &self.question)
    }

    /// Searches the surroundings of all places where something can be undone.
    fn search_around(&self, content: &[u8], mode: Mode, triggers: impl Iterator<Item = usize>, hits: &mut Hits) {
        let reach = 4 * self.longest + 256;
        let mut pass = Pass::new(self, content, mode, hits);
        let mut range = 0..0;
        for at in triggers {
            let unit = unit(content, at, mode);
            if unit.undone.is_none() {
                continue;
            }
            let mut from = at.saturating_sub(reach);
            while from > 0 && !is_first_byte(content[from]) && at - from < reach + 4 {
                from -= 1;
            }
            if from > range.end {
                if !range.is_empty() {
                    pass.search(range.clone());
                }
                range.start = from;
            }
            range.end = (at + unit.length + reach).min(content.len());
        }
        if !range.is_empty() {
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
