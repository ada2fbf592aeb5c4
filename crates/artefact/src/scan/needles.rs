//! What is looked for: an answer in its forms and a question in its parts.

use data_encoding::{BASE64_NOPAD, HEXLOWER};
use proofmark_canon::Value;

use super::finder::{Finder, Finders};
use super::fold::is_unspaced;
use super::gate::Gate;
use super::number::Number;
use super::pass::{ends_in_word, starts_with_word};
use super::unit::character;
use super::window::{Gap, Window, is_first_byte};
use crate::trajectory::Form;

/// The most answers that count as right.
const MAX_ANSWERS: usize = 64;
/// The longest folded needle; of a longer answer the beginning is looked for.
const MAX_FOLDED: usize = 256;
/// The most of an answer that is looked for in an encoding.
const MAX_ENCODED: usize = 48;
/// The shortest answer that is looked for in an encoding: what is shorter is everywhere.
const MIN_ENCODED: usize = 4;
/// The most parts of a question.
const MAX_PARTS: usize = 128;

/// All that is looked for in the contents of one sample.
#[derive(Debug, Clone)]
pub struct Needles {
    /// Tells that there is nothing to be found.
    pub(super) gate: Gate,
    /// The folded text of each pattern.
    folded: Vec<Vec<u8>>,
    /// Find the patterns in folded text.
    finders: Finders,
    pub(super) patterns: Vec<Pattern>,
    pub(super) numbers: Vec<NumberNeedle>,
    /// Answers of which folding leaves nothing or too little.
    pub(super) raw: Vec<(Form, Vec<u8>)>,
    /// The question as it is written.
    pub(super) question: String,
    /// Parts of the question with at most so many bytes between them are one find.
    pub(super) apart: usize,
    /// The length of the longest pattern.
    pub(super) longest: usize,
}

/// One pattern of the automaton.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    Text(TextNeedle),
    Base64(Base64Needle),
    Hex,
    /// A part of the question.
    Question,
}

/// An answer as text.
#[derive(Debug, Clone)]
pub(super) struct TextNeedle {
    /// What stands before each byte of the folded answer.
    pub gaps: Vec<Gap>,
    /// How many characters the folded answer has.
    pub chars: usize,
    /// The answer as it is written; empty when it was put together from the entries of a list.
    pub verbatim: Vec<u8>,
    /// Where the first folded character stands in the answer.
    pub lead: usize,
    /// Whether these are the entries of a list, so that what stands between them does not count.
    pub is_list: bool,
    pub is_cut: bool,
    pub has_upper_case: bool,
    /// Indices of digits behind digits, and whether there is more than a joint of thousands between them.
    pub pairs: Vec<(usize, Pair)>,
}

/// How two digits stand beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pair {
    Together,
    Apart,
}

/// The characters of an encoding that an answer alone decides.
#[derive(Debug, Clone)]
pub(super) struct Base64Needle {
    pub core: Vec<u8>,
    /// The character before the core, as far as the answer decides it: value and mask.
    pub before: Option<(u8, u8)>,
    pub after: Option<(u8, u8)>,
}

/// An answer that is a number.
#[derive(Debug, Clone)]
pub(super) struct NumberNeedle {
    pub number: Number,
    pub verbatim: Vec<u8>,
    /// Where the first digit stands in the answer.
    pub lead: usize,
}

impl Needles {
    /// Takes the gold answer, which may be one of several or a list, and the question. `null` is no answer.
    pub fn new(gold: &Value, question: &str) -> Self {
        Self::with_ways(gold, &[], question)
    }

    /// The same with other ways of writing the answer, which are looked for as they are and not in encodings.
    pub fn with_ways(gold: &Value, ways: &[String], question: &str) -> Self {
        let mut builder = Builder::default();
        let mut answers = Vec::new();
        collect(gold, &mut answers);
        for answer in &answers {
            builder.answer(answer);
        }
        if let Value::Array(_) = gold
            && answers.len() > 1
        {
            builder.list(&answers.iter().map(String::as_str).collect::<Vec<_>>());
        }
        for way in ways.iter().take(MAX_ANSWERS) {
            let worded = || Number::parse_worded(way).map(|number| (number, 0));
            match Number::parse(way).or_else(worded) {
                Some((number, lead)) => {
                    builder.numbers.push(NumberNeedle { number, verbatim: way.as_bytes().to_vec(), lead });
                }
                None => builder.text(way, Shape::Text),
            }
        }
        builder.question(question);
        builder.finish(question)
    }

    /// Finds the patterns in folded text of a content of some length; `None` without any.
    pub(super) fn finder(&self, length: usize) -> Option<&Finder> {
        self.finders.of(&self.folded, length)
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty() && self.numbers.is_empty() && self.raw.is_empty()
    }
}

/// The texts that are an answer each.
fn collect(gold: &Value, answers: &mut Vec<String>) {
    match gold {
        Value::Null | Value::Object(_) => {}
        Value::Array(values) => values.iter().for_each(|value| collect(value, answers)),
        value => {
            let text = value.to_plain_text();
            let text = text.trim();
            if !text.is_empty() && answers.len() < MAX_ANSWERS && !answers.iter().any(|known| known == text) {
                answers.push(text.to_owned());
            }
        }
    }
}

#[derive(Default)]
struct Builder {
    folded: Vec<Vec<u8>>,
    patterns: Vec<Pattern>,
    numbers: Vec<NumberNeedle>,
    raw: Vec<(Form, Vec<u8>)>,
    apart: usize,
}

impl Builder {
    fn answer(&mut self, answer: &str) {
        if let Some((number, lead)) = Number::parse(answer) {
            self.numbers.push(NumberNeedle { number, verbatim: answer.into(), lead });
        } else {
            if let Some(number) = Number::parse_worded(answer) {
                self.numbers.push(NumberNeedle { number, verbatim: answer.into(), lead: 0 });
            }
            let entries: Vec<&str> = answer.split([',', ';', '\n']).map(str::trim).collect();
            if entries.len() > 1 && entries.iter().all(|entry| !entry.is_empty()) {
                self.text(answer, Shape::List);
                self.list(&entries);
            } else {
                self.text(answer, Shape::Text);
            }
        }
        let (lower, upper) = (answer.to_lowercase(), answer.to_uppercase());
        for text in [answer, &lower, &upper] {
            self.base64(text.as_bytes());
            self.hex(text.as_bytes());
        }
    }

    /// A list as people write one in a sentence. Other separators fold to the same text as the list as it stands.
    fn list(&mut self, entries: &[&str]) {
        self.text(&entries.join(", "), Shape::MadeList);
        if let Some((last, first)) = entries.split_last() {
            for word in ["and", "or"] {
                self.text(&format!("{} {word} {last}", first.join(", ")), Shape::MadeList);
            }
        }
    }

    fn text(&mut self, answer: &str, shape: Shape) {
        let window = Window::of(answer);
        let cut = if window.text.len() > MAX_FOLDED { floor(&window.text, MAX_FOLDED) } else { window.text.len() };
        let (text, gaps) = (&window.text[..cut], &window.gaps[..cut]);
        let chars = text.iter().filter(|byte| is_first_byte(**byte)).count();
        // As they are folded: `½` is a number for Unicode, and nothing here.
        let has_bare_ends = starts_with_word(answer.as_bytes()) && ends_in_word(answer.as_bytes());
        // `C++` without its signs would be any C.
        if chars == 0 || chars < 4 && !has_bare_ends {
            // Of a list that was put together the entries are looked for one by one.
            if shape != Shape::MadeList {
                self.raw(answer);
            }
            return;
        }
        let is_pair = |at: &usize| text[*at].is_ascii_digit() && text[at - 1].is_ascii_digit();
        let pairs = (1..text.len()).filter(is_pair).take(64).map(|at| {
            let is_apart = gaps[at] != Gap::None && !joins_thousands(text, gaps, at);
            (at, if is_apart { Pair::Apart } else { Pair::Together })
        });
        let needle = TextNeedle {
            gaps: gaps.to_vec(),
            chars,
            verbatim: if shape == Shape::MadeList { Vec::new() } else { answer.as_bytes().to_vec() },
            lead: window.starts[0] as usize,
            is_list: shape != Shape::Text,
            is_cut: cut < window.text.len(),
            has_upper_case: answer.chars().any(char::is_uppercase),
            pairs: pairs.collect(),
        };
        self.push(text.to_vec(), Pattern::Text(needle));
    }

    fn raw(&mut self, answer: &str) {
        let mut html = String::new();
        let mut url = String::new();
        for character in answer.chars() {
            match character {
                '&' => html.push_str("&amp;"),
                '<' => html.push_str("&lt;"),
                '>' => html.push_str("&gt;"),
                '"' => html.push_str("&quot;"),
                _ => html.push(character),
            }
            let mut bytes = [0; 4];
            for byte in character.encode_utf8(&mut bytes).bytes() {
                match byte {
                    b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'.' | b'_' | b'~' => url.push(char::from(byte)),
                    _ => url.push_str(&format!("%{byte:02X}")),
                }
            }
        }
        for (form, text) in [(Form::Verbatim, answer), (Form::Html, &html), (Form::Url, &url)] {
            if !self.raw.iter().any(|(_, known)| known == text.as_bytes()) {
                self.raw.push((form, text.as_bytes().to_vec()));
            }
        }
    }

    /// The three ways in which bytes can stand in base64.
    fn base64(&mut self, bytes: &[u8]) {
        if bytes.len() < MIN_ENCODED {
            return;
        }
        let bytes = &bytes[..bytes.len().min(MAX_ENCODED)];
        for shift in 0..3 {
            let mut shifted = vec![0; shift];
            shifted.extend(bytes);
            let text = BASE64_NOPAD.encode(&shifted).into_bytes();
            let (from, to) = ((shift * 8).div_ceil(6), (shift + bytes.len()) * 8 / 6);
            let mut before = (from > 0).then(|| {
                let bits = from * 6 - shift * 8;
                (sextet(text[from - 1]), (1u8 << bits) - 1)
            });
            let mut after = text.get(to).map(|character| {
                let bits = (shift + bytes.len()) * 8 - to * 6;
                (sextet(*character), 0x3F & !((1u8 << (6 - bits)) - 1))
            });
            let mut core = &text[from..to];
            // Folding leaves letters and digits alone.
            while let [first, rest @ ..] = core
                && !first.is_ascii_alphanumeric()
            {
                (core, before) = (rest, None);
            }
            while let [rest @ .., last] = core
                && !last.is_ascii_alphanumeric()
            {
                (core, after) = (rest, None);
            }
            let folded: Vec<u8> =
                core.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect();
            let is_known = |pattern: &Pattern| matches!(pattern, Pattern::Base64(known) if known.core == core);
            if folded.len() >= 3 && !self.patterns.iter().any(is_known) {
                self.push(folded, Pattern::Base64(Base64Needle { core: core.to_vec(), before, after }));
            }
        }
    }

    fn hex(&mut self, bytes: &[u8]) {
        if bytes.len() < MIN_ENCODED {
            return;
        }
        let bytes = &bytes[..bytes.len().min(MAX_ENCODED)];
        let plain = HEXLOWER.encode(bytes).into_bytes();
        let pairs: Vec<&[u8]> = plain.chunks(2).collect();
        for text in [pairs.join(&b"0x"[..]), plain.clone()] {
            if !self.folded.contains(&text) {
                self.push(text, Pattern::Hex);
            }
        }
    }

    /// The parts of a question that are long enough to be its own: some eight words, every four words.
    fn question(&mut self, question: &str) {
        let window = Window::of(question);
        let words: Vec<usize> = (0..window.text.len()).filter(|at| window.starts_word(*at)).collect();
        let weights: Vec<usize> =
            window.text.iter().enumerate().map(|(at, byte)| weight(*byte, &window.text[at..])).collect();
        let ends: Vec<usize> = words.iter().skip(1).copied().chain([window.text.len()]).collect();
        let total: usize = weights.iter().sum();
        if total < 12 || words.len() < 3 {
            return;
        }
        // The end of the part that begins with a word.
        let end = |word: usize| {
            let mut weight = 0;
            for (count, at) in (word..words.len()).enumerate() {
                weight += weights[words[at]..ends[at]].iter().sum::<usize>();
                if count + 1 >= 8 && weight >= 32 || weight >= 48 {
                    return Some(at);
                }
            }
            None
        };
        let mut parts = Vec::new();
        let stride = (words.len() / MAX_PARTS).max(4);
        // Parts that begin every four words overlap; between others some words are left out.
        self.apart = if stride > 4 { stride * 16 } else { 2 };
        let mut word = 0;
        while let Some(last) = (word < words.len()).then(|| end(word)).flatten() {
            parts.push((word, last));
            word += stride;
        }
        match parts.last() {
            None => parts.push((0, words.len() - 1)),
            // The last part ends with the question.
            Some((_, last)) if last + 1 < words.len() => {
                let from = (0..words.len()).rev().find(|word| end(*word).is_some()).unwrap_or(0);
                parts.push((from, words.len() - 1));
            }
            _ => {}
        }
        for (first, last) in parts {
            let text = &window.text[words[first]..ends[last]];
            if text.len() <= 4 * MAX_FOLDED && !self.folded.iter().any(|known| known == text) {
                self.push(text.to_vec(), Pattern::Question);
            }
        }
    }

    fn push(&mut self, folded: Vec<u8>, pattern: Pattern) {
        // An answer and an entry of a list may be one text; the first of them is the plainer one.
        let is_text = |pattern: &Pattern| matches!(pattern, Pattern::Text(needle) if !needle.is_cut);
        let mut known = self.folded.iter().zip(&self.patterns);
        if is_text(&pattern)
            && known.any(|(text, known)| *text == folded && is_text(known) && same_gaps(known, &pattern))
        {
            return;
        }
        self.folded.push(folded);
        self.patterns.push(pattern);
    }

    fn finish(self, question: &str) -> Needles {
        // However a number is written, its digits stand beside each other once all that is no digit is gone.
        let ways = |needle: &NumberNeedle| [needle.number.digits()].into_iter().chain(needle.number.fractions());
        let digits: Vec<String> = self.numbers.iter().flat_map(ways).collect();
        Needles {
            gate: Gate::new(self.folded.iter().map(Vec::as_slice).chain(digits.iter().map(String::as_bytes))),
            finders: Finders::default(),
            longest: self.folded.iter().map(Vec::len).max().unwrap_or(0),
            folded: self.folded,
            patterns: self.patterns,
            numbers: self.numbers,
            raw: self.raw,
            question: question.to_owned(),
            apart: self.apart,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Text,
    /// A list as it is written in the gold answer.
    List,
    /// Its entries, put together otherwise.
    MadeList,
}

fn same_gaps(a: &Pattern, b: &Pattern) -> bool {
    match (a, b) {
        (Pattern::Text(a), Pattern::Text(b)) => a.gaps[1..] == b.gaps[1..] || a.is_list && b.is_list,
        _ => false,
    }
}

/// Whether what stands before a digit is a joint of thousands: three digits and no more follow.
pub(super) fn joins_thousands(text: &[u8], gaps: &[Gap], at: usize) -> bool {
    let is_joint = matches!(gaps[at], Gap::Comma | Gap::Apostrophe | Gap::Space | Gap::Underscore);
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit) && gaps[at] == Gap::None;
    is_joint && digit(at + 1) && digit(at + 2) && !digit(at + 3)
}

/// The largest index up to a limit at which a character begins.
fn floor(text: &[u8], limit: usize) -> usize {
    (0..=limit).rev().find(|at| is_first_byte(text[*at])).unwrap_or(0)
}

/// How much a character says: one that is a word of its own says as much as three letters.
fn weight(byte: u8, rest: &[u8]) -> usize {
    match (is_first_byte(byte), byte.is_ascii()) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => 1 + 2 * usize::from(is_unspaced(character(rest).0)),
    }
}

/// The six bits of a base64 character of either alphabet.
#[inline]
pub fn sextet(character: u8) -> u8 {
    match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    }
}
