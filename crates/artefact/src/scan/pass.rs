//! One pass over a content, or over the parts of it that can hold more than an earlier pass saw.

use std::ops::{ControlFlow, Range};

use super::fold::{Folded, fold, is_mark};
use super::hits::{Found, Hits};
use super::needles::{Base64Needle, Needles, Pair, Pattern, TextNeedle, joins_thousands, sextet};
use super::number::{LOOKAHEAD, Place, read_at};
use super::unit::{Mode, Undone, What, character, unit};
use super::window::{Gap, Window, is_first_byte};
use crate::trajectory::Form;

/// How many bytes of folded text are searched at once: they stay in the cache.
const BLOCK: usize = 32 * 1024;
/// Below so many characters of an answer the white space within it counts.
const LONG: usize = 16;

/// Reads a content in one mode and notes what it finds.
pub(super) struct Pass<'a> {
    view: View<'a>,
    notes: Notes<'a>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(needles: &'a Needles, content: &'a [u8], mode: Mode, hits: &'a mut Hits) -> Self {
        let view = View { needles, content, mode, window: Window::new(mode) };
        Self { view, notes: Notes { apart: needles.apart, hits, gold: None, number: None, question: None } }
    }

    /// Searches a range of the content.
    pub(super) fn search(&mut self, range: Range<usize>) {
        let (longest, view) = (self.view.needles.longest, &mut self.view);
        if view.needles.gate.is_shut(view.content, range.clone(), view.mode) {
            return;
        }
        view.window.start(range.start, range.end, range.end == view.content.len());
        let ahead = LOOKAHEAD + 8;
        // Indices of the text up to which patterns have been noted, and numbers read.
        let (mut done, mut read) = (0, 0);
        loop {
            let is_whole = view.window.fill(view.content, BLOCK + longest + 2 * ahead);
            let length = view.window.text.len();
            let limit = if is_whole { length } else { length - ahead };
            view.find_patterns(done, limit, &mut self.notes);
            read = view.find_numbers(read, limit, &mut self.notes);
            if is_whole {
                break;
            }
            let forgotten = limit - longest - 8;
            view.window.forget(forgotten);
            (done, read) = (limit - forgotten, read - forgotten);
        }
        self.notes.flush();
    }
}

/// The finds of a pass on their way to the list.
struct Notes<'a> {
    /// See [`Needles::apart`].
    apart: usize,
    hits: &'a mut Hits,
    /// The last finds: a longer one may still take their place.
    gold: Option<Found>,
    number: Option<Found>,
    /// The last find and whether it holds anything that an earlier pass did not see.
    question: Option<(Found, bool)>,
}

impl Notes<'_> {
    fn gold(&mut self, found: Found) {
        if let Some(done) = replace(&mut self.gold, found) {
            self.hits.gold.add(done);
        }
    }

    fn number(&mut self, found: Found) {
        if let Some(done) = replace(&mut self.number, found) {
            self.hits.gold.add(done);
        }
    }

    fn question(&mut self, found: Found, is_new: bool) {
        match &mut self.question {
            Some((last, was_new)) if found.from <= last.to + self.apart => {
                last.from = last.from.min(found.from);
                last.to = last.to.max(found.to);
                last.form = last.form.max(found.form);
                *was_new |= is_new;
            }
            slot => {
                if let Some((done, true)) = slot.replace((found, is_new)) {
                    self.hits.question.add(done);
                }
            }
        }
    }

    fn flush(&mut self) {
        for found in [self.gold.take(), self.number.take()].into_iter().flatten() {
            self.hits.gold.add(found);
        }
        if let Some((found, true)) = self.question.take() {
            self.hits.question.add(found);
        }
    }
}

/// Puts a find in the place of the last one and returns that, unless the two are about one place.
fn replace(slot: &mut Option<Found>, found: Found) -> Option<Found> {
    match slot {
        Some(last) if (last.from, last.to) == (found.from, found.to) => last.form = last.form.min(found.form),
        Some(last) if found.holds(last) => *last = found,
        Some(last) if found.from < last.to => {}
        _ => return slot.replace(found),
    }
    None
}

/// What is looked at.
struct View<'a> {
    needles: &'a Needles,
    content: &'a [u8],
    mode: Mode,
    window: Window,
}

impl View<'_> {
    /// Notes the patterns that end behind one index and not behind another.
    fn find_patterns(&self, done: usize, limit: usize, notes: &mut Notes<'_>) {
        let Some(finder) = self.needles.finder(self.content.len()) else { return };
        finder.find(&self.window.text, |found| {
            let (from, to) = (found.start(), found.end());
            if to > limit {
                return ControlFlow::Break(());
            }
            if to <= done {
                return ControlFlow::Continue(());
            }
            let gold = match &self.needles.patterns[found.pattern()] {
                Pattern::Text(needle) => self.text(needle, from, to),
                Pattern::Base64(needle) => self.base64(needle, from, to),
                Pattern::Hex => self.seen(from, to, Form::Hex, Bounds::Free),
                Pattern::Question => {
                    if self.window.starts_word(from) && self.window.ends_word(to) {
                        let new = self.new_form(from, to, Bounds::Words);
                        let form = new.flatten().unwrap_or(Form::Folded);
                        notes.question(self.region(from, to, form), new.is_some());
                    }
                    None
                }
            };
            if let Some(found) = gold {
                notes.gold(found);
            }
            ControlFlow::Continue(())
        });
    }

    /// Notes the numbers that begin in a range; returns where to read on.
    fn find_numbers(&self, from: usize, limit: usize, notes: &mut Notes<'_>) -> usize {
        let window = &self.window;
        if self.needles.numbers.is_empty() {
            return limit;
        }
        let mut at = from;
        while at < limit {
            let Some(digit) = window.text[at..limit].iter().position(u8::is_ascii_digit) else { return limit };
            at += digit;
            let is_inside = at > 0 && window.gaps[at] == Gap::None && window.is_digit(at - 1);
            at = match is_inside {
                true => at + 1,
                false => read_at(window, at, &mut |place| self.number(place, notes)),
            };
        }
        at
    }

    fn number(&self, place: Place, notes: &mut Notes<'_>) {
        for needle in self.needles.numbers.iter().filter(|needle| needle.number == place.number) {
            let Some(mut found) = self.seen(place.from, place.to, Form::Number, Bounds::Words) else { continue };
            if let Some(verbatim) = self.verbatim(&needle.verbatim, needle.lead, &found) {
                found = verbatim;
            } else if self.window.gaps[place.from] == Gap::Sign {
                let before = &self.content[..found.from];
                let sign = [&b"-"[..], "−".as_bytes()].into_iter().find(|sign| before.ends_with(sign));
                found.from -= sign.map_or(0, <[u8]>::len);
            }
            notes.number(found);
        }
    }

    fn text(&self, needle: &TextNeedle, from: usize, to: usize) -> Option<Found> {
        let (window, gaps) = (&self.window, &self.window.gaps);
        if !window.starts_word(from) || !needle.is_cut && !window.ends_word(to) {
            return None;
        }
        // The end of one number is not the beginning of another, nor the other way round.
        let splits = |at: usize| {
            let is_pair = at > 0 && window.is_digit(at) && window.is_digit(at - 1);
            is_pair && (gaps[at] == Gap::Dot || joins_thousands(&window.text, gaps, at))
        };
        if splits(from) || splits(to) {
            return None;
        }
        let agrees = |(at, pair): &(usize, Pair)| {
            let is_apart = gaps[from + at] != Gap::None && !joins_thousands(&window.text, gaps, from + at);
            is_apart == (*pair == Pair::Apart)
        };
        if !needle.pairs.iter().all(agrees) || needle.chars < LONG && !self.is_spaced_alike(needle, from) {
            return None;
        }
        let mut found = self.seen(from, to, Form::Folded, Bounds::Words)?;
        if let Some(verbatim) = self.verbatim(&needle.verbatim, needle.lead, &found) {
            return Some(verbatim);
        }
        let region = &self.content[found.from..found.to];
        // `US` is not every `us`, and one letter says something as it stands alone.
        let is_lower = || !region.iter().any(u8::is_ascii_uppercase) && region.is_ascii();
        if needle.chars == 1 || needle.chars <= 3 && needle.has_upper_case && is_lower() {
            return None;
        }
        let is_alike = || {
            let from = found.from.saturating_sub(needle.lead);
            let there = self.content.get(from..from + needle.verbatim.len());
            there.is_some_and(|there| there.eq_ignore_ascii_case(&needle.verbatim))
        };
        if needle.is_list && self.mode == Mode::Plain && (needle.verbatim.is_empty() || !is_alike()) {
            found.form = Form::List;
        }
        Some(found)
    }

    /// Whether the words of a short answer are words here too. A word may be broken by punctuation, letter by letter, or
    /// into strings that a program puts together.
    fn is_spaced_alike(&self, needle: &TextNeedle, from: usize) -> bool {
        let (text, gaps) = (&self.window.text, &self.window.gaps);
        let (mut loose, mut within) = (0, 0);
        for (at, wanted) in needle.gaps.iter().enumerate().skip(1) {
            let (gap, at) = (gaps[from + at], from + at);
            if !is_first_byte(text[at]) || text[at].is_ascii_digit() && text[at - 1].is_ascii_digit() {
                continue;
            }
            let is_bare = gap == Gap::None && *wanted != Gap::None;
            if is_bare && (needle.is_list || needle.chars < 4) {
                return false;
            }
            if *wanted == Gap::None {
                within += 1;
                loose += usize::from(gap.is_wide() && !(needle.chars >= 6 && self.is_joint(at)));
            }
        }
        loose == 0 || needle.chars >= 4 && loose == within
    }

    /// Whether what stands before an index joins two strings, `'a' + 'b'`, or two lines of quoted-printable text.
    fn is_joint(&self, at: usize) -> bool {
        let (from, to) = (self.window.starts[at - 1] as usize + 1, self.window.starts[at] as usize);
        let between = self.content.get(from..to).filter(|between| between.len() <= 24).unwrap_or_default();
        let between = between.iter().position(u8::is_ascii).map_or(&[][..], |from| &between[from..]);
        let is_quote = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'\'' | b'`' | b'\\'));
        let is_middle = |byte: &u8| byte.is_ascii_whitespace() || b"+.,&\"'`\\".contains(byte);
        let is_line = matches!(between, b"=\n" | b"=\r\n");
        is_line || is_quote(between.first()) && is_quote(between.last()) && between.iter().all(is_middle)
    }

    fn base64(&self, needle: &Base64Needle, from: usize, to: usize) -> Option<Found> {
        let found = self.seen(from, to, Form::Base64, Bounds::Free)?;
        let mut core = needle.core.iter();
        let mut at = self.window.starts[from] as usize;
        while at < found.to {
            let unit = unit(self.content, at, self.mode);
            at += unit.length;
            match unit.what {
                What::Char(character) if character.is_ascii_graphic() => {
                    let wanted = core.next()?;
                    let is_same = match character {
                        '-' | '+' => *wanted == b'+',
                        '_' | '/' => *wanted == b'/',
                        _ => char::from(*wanted) == character,
                    };
                    if !is_same {
                        return None;
                    }
                }
                What::Gap(_) if unit.undone != Some(Undone::Escape) && unit.undone != Some(Undone::Tag) => return None,
                _ => {}
            }
        }
        let fits = |byte: Option<&u8>, wanted: Option<(u8, u8)>| {
            wanted.is_none_or(|(bits, mask)| {
                byte.is_some_and(|byte| is_base64(*byte) && (sextet(*byte) ^ bits) & mask == 0)
            })
        };
        let before = self.content[..found.from].iter().rev().take(4).find(|byte| !byte.is_ascii_whitespace());
        let after = self.content[found.to..].iter().take(4).find(|byte| !byte.is_ascii_whitespace());
        let is_plain = self.mode == Mode::Plain;
        (!is_plain || fits(before, needle.before) && fits(after, needle.after)).then_some(found)
    }

    /// The find of an answer that stands there byte for byte.
    fn verbatim(&self, verbatim: &[u8], lead: usize, found: &Found) -> Option<Found> {
        let from = found.from.checked_sub(lead)?;
        let to = from + verbatim.len();
        // `1000` stands at the beginning of `1000.00`, which is another way of writing it.
        let is_there = self.mode == Mode::Plain && to >= found.to && self.content[from..].starts_with(verbatim);
        is_there.then_some(Found { from, form: Form::Verbatim, to })
    }

    /// A find of this pass; `None` when an earlier pass has seen it.
    fn seen(&self, from: usize, to: usize, form: Form, bounds: Bounds) -> Option<Found> {
        let new = self.new_form(from, to, bounds)?;
        Some(self.region(from, to, new.unwrap_or(form)))
    }

    /// Whether this pass alone can see what stands there, and by undoing what.
    fn new_form(&self, from: usize, to: usize, bounds: Bounds) -> Option<Option<Form>> {
        let undone = match self.mode {
            Mode::Plain => return Some(None),
            _ => match self.window.undone_in(from, to) {
                Some(undone) => undone,
                None if bounds == Bounds::Free => return None,
                // Nothing within, so that it is new only where what was undone at an end looked like a part of a word.
                None => {
                    let region = self.region(from, to, Form::Folded);
                    let is_hidden =
                        ends_in_word(&self.content[..region.from]) || starts_with_word(&self.content[region.to..]);
                    let at_end = || self.window.undone_before(from).or_else(|| self.window.undone_before(to));
                    is_hidden.then(at_end).flatten()?
                }
            },
        };
        Some(Some(undone.form()))
    }

    /// Where a range of the text stands in the content.
    fn region(&self, from: usize, to: usize, form: Form) -> Found {
        let last = self.window.starts[to - 1] as usize;
        let mut end = last + unit(self.content, last, self.mode).length;
        // The marks on the last character are a part of it.
        for _ in 0..8 {
            let rest = &self.content[end..];
            if rest.first().is_none_or(u8::is_ascii) || !is_mark(character(rest).0) {
                break;
            }
            end += character(rest).1;
        }
        Found { from: self.window.starts[from] as usize, form, to: end }
    }
}

/// What a find needs at its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bounds {
    Words,
    Free,
}

/// Whether the bytes end in a letter or a digit.
pub(super) fn ends_in_word(bytes: &[u8]) -> bool {
    let from = (bytes.len().saturating_sub(4)..bytes.len()).rev().find(|at| is_first_byte(bytes[*at]));
    from.is_some_and(|from| starts_with_word(&bytes[from..]))
}

/// Whether the bytes begin with a letter or a digit.
pub(super) fn starts_with_word(bytes: &[u8]) -> bool {
    !bytes.is_empty() && matches!(fold(character(bytes).0), Folded::Word(_))
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}
