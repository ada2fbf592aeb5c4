//! What people say to graders: words that follow each other.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use proofmark_artefact::scan::Plain;

use super::disguise::Script;
use super::phrases::{SPACED, UNSPACED};
use super::{LISTED, Plea, PleaKind, push};

/// One slot of a template: a word, or what begins with it.
#[derive(Debug)]
struct Slot {
    /// Words, and whether what begins with one fits too.
    words: Vec<(String, bool)>,
    /// How many words may stand before it.
    gap: usize,
}

impl Slot {
    fn fits(&self, word: &str) -> bool {
        self.words.iter().any(|(wanted, is_prefix)| if *is_prefix { word.starts_with(wanted) } else { word == wanted })
    }
}

struct Templates {
    list: Vec<(PleaKind, Vec<Slot>)>,
    /// Templates by the first two letters of a word that can begin them.
    by_start: BTreeMap<String, Vec<usize>>,
    /// The same for plain letters, which most words have.
    plain: Vec<Vec<usize>>,
}

/// The templates, folded as texts are.
fn templates() -> &'static Templates {
    static TEMPLATES: OnceLock<Templates> = OnceLock::new();
    TEMPLATES.get_or_init(|| {
        let slot = |text: &str, gap: usize| {
            let word = |word: &str| (Plain::words(word).text().replace(' ', ""), word.ends_with('*'));
            Slot { words: text.trim().split('|').map(word).collect(), gap }
        };
        let list: Vec<(PleaKind, Vec<Slot>)> = SPACED
            .iter()
            .map(|(kind, text)| {
                let mut slots = Vec::new();
                for (at, part) in text.split('~').enumerate() {
                    let (gap, words) = if at == 0 { ("0", part) } else { part.split_once(' ').unwrap_or(("0", part)) };
                    slots.push(slot(words, gap.parse().unwrap_or(0)));
                }
                (*kind, slots)
            })
            .collect();
        let mut by_start: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, (_, slots)) in list.iter().enumerate() {
            for (word, _) in slots.first().map_or(&[][..], |slot| &slot.words) {
                let places = by_start.entry(start(word).to_owned()).or_default();
                if places.last() != Some(&at) {
                    places.push(at);
                }
            }
        }
        let mut plain = vec![Vec::new(); 26 * 26];
        for (start, places) in &by_start {
            if let Some(letters) = letters(start) {
                plain[letters].clone_from(places);
            }
        }
        Templates { list, by_start, plain }
    })
}

impl Templates {
    /// Those that may begin with a word.
    fn of(&self, word: &str) -> &[usize] {
        match letters(word) {
            Some(letters) => &self.plain[letters],
            None if word.is_ascii() => &[],
            None => self.by_start.get(start(word)).map_or(&[], Vec::as_slice),
        }
    }
}

/// The place of a word's first two letters, when they are plain.
fn letters(word: &str) -> Option<usize> {
    match word.as_bytes() {
        [a @ b'a'..=b'z', b @ b'a'..=b'z', ..] => Some(usize::from(a - b'a') * 26 + usize::from(b - b'a')),
        _ => None,
    }
}

/// The first two letters of a word: all words of the table have as many.
fn start(word: &str) -> &str {
    word.char_indices().nth(2).map_or(word, |(at, _)| &word[..at])
}

pub(super) fn spaced(text: &str, plain: &Plain, found: &mut Vec<Plea>) {
    let templates = templates();
    let folded = plain.text();
    let mut words: Vec<(usize, &str)> = Vec::with_capacity(folded.len() / 5 + 1);
    let mut at = 0;
    for end in memchr::memchr_iter(b' ', folded.as_bytes()).chain([folded.len()]) {
        words.push((at, &folded[at..end]));
        at = end + 1;
    }
    let last = words.len();
    for first in 0..last {
        for (kind, slots) in templates.of(words[first].1).iter().map(|at| &templates.list[*at]) {
            if !slots[0].fits(words[first].1) {
                continue;
            }
            let mut at = first;
            let is_met = slots[1..].iter().all(|slot| {
                let reach = (at + 1)..(at + 2 + slot.gap).min(last);
                let next = reach.into_iter().find(|next| slot.fits(words[*next].1));
                at = next.unwrap_or(at);
                next.is_some()
            });
            let next = words.get(at + 1).map_or("", |(_, word)| word);
            if is_met && !is_of_another(*kind, text, plain, &words[..first], words[first], words[at], next) {
                let (start, word) = words[at];
                push(text, plain, *kind, words[first].0, start + word.len(), Script::Latin.of(words[first].1), found);
            }
        }
    }
}

/// Whether words that fit a template say something else: what the writer does himself, what is so under a condition, or
/// what was decided somewhere else.
fn is_of_another(
    kind: PleaKind,
    text: &str,
    plain: &Plain,
    before: &[(usize, &str)],
    first: (usize, &str),
    last: (usize, &str),
    next: &str,
) -> bool {
    const OWN: [&str; 6] = ["i", "we", "me", "us", "ll", "lets"];
    const MODAL: [&str; 12] =
        ["will", "must", "should", "can", "may", "would", "could", "shall", "need", "to", "just", "now"];
    let back = |at: usize| before.len().checked_sub(at).map_or("", |at| before[at].1);
    let is_own = OWN.contains(&back(1))
        || MODAL.contains(&back(1)) && OWN.contains(&back(2))
        || back(1) == "to" && MODAL.contains(&back(2)) && OWN.contains(&back(3));
    let is_choice = matches!(next, "or" | "if" | "unless");
    match kind {
        PleaKind::Override => is_own,
        PleaKind::Demand => is_own || is_choice,
        // `The verdict was correct` tells of a court; `verdict: correct` is one.
        PleaKind::Verdict => {
            let passage = &text[plain.offset(first.0)..plain.offset(last.0)];
            let is_said = matches!(first.1, "final" | "answer" | "response" | "submission") || !first.1.is_ascii();
            !is_said && !passage.contains([':', '=', '-', '>', '"', '*', '\n', '—', '–', '：'])
        }
        _ => false,
    }
}

pub(super) fn unspaced(text: &str, plain: &Plain, found: &mut Vec<Plea>) {
    // Punctuation and spaces within such text do not part words.
    let mut bare = String::with_capacity(plain.text().len());
    let mut starts = Vec::with_capacity(plain.text().len());
    for (at, character) in plain.text().char_indices().filter(|(_, character)| *character != ' ') {
        bare.push(character);
        starts.resize(bare.len(), at);
    }
    for (kind, firsts, seconds, reach) in UNSPACED {
        let seconds: Vec<String> = seconds.iter().map(|text| folded(text)).collect();
        for first in firsts.iter().map(|text| folded(text)) {
            for (at, _) in bare.match_indices(&first).take(4 * LISTED) {
                let rest = &bare[at + first.len()..];
                let window = rest.char_indices().nth(reach + 6).map_or(rest, |(end, _)| &rest[..end]);
                let near = |second: &String| {
                    window
                        .find(second.as_str())
                        .filter(|place| window[..*place].chars().count() <= *reach)
                        .map(|place| place + second.len())
                };
                if let Some(end) = seconds.iter().filter_map(near).min() {
                    let (from, to) = (starts[at], starts[at + first.len() + end - 1]);
                    push(text, plain, *kind, from, to + 1, Script::Other, found);
                }
            }
        }
    }
}

fn folded(text: &str) -> String {
    Plain::words(text).text().replace(' ', "")
}
