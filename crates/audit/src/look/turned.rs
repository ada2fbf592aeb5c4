//! Answers written backwards or with each letter thirteen places on.
//!
//! Both are undone without a key, and neither makes words: what stands there is an answer that somebody hid. A short one may
//! be another word, as `regal` is lager to nobody: it must be called an answer.

use proofmark_artefact::scan::Plain;

use super::common::{Weight, weigh};

/// How an answer was turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Backwards,
    Rot13,
}

/// An answer, turned.
#[derive(Debug, Clone)]
pub(super) struct Turned {
    pub turn: Turn,
    /// As it is looked for.
    pub text: String,
    /// The same, folded.
    folded: String,
}

/// The fewest letters of an answer that is looked for backwards, and thirteen places on.
const MIN_BACKWARDS: usize = 6;
const MIN_ROT13: usize = 5;
/// So many letters are no word by chance.
const LONG: usize = 10;
/// The longest answer that is turned.
const MAX: usize = 256;

impl Turn {
    /// Turns a text, or turns it back.
    pub(super) fn of(self, text: &str) -> String {
        let rotated = |character: char| match character {
            'a'..='z' => char::from((character as u8 - b'a' + 13) % 26 + b'a'),
            'A'..='Z' => char::from((character as u8 - b'A' + 13) % 26 + b'A'),
            _ => character,
        };
        match self {
            Self::Backwards => text.chars().rev().collect(),
            Self::Rot13 => text.chars().map(rotated).collect(),
        }
    }
}

impl Turned {
    /// The ways to turn an answer in which it can be told from other words.
    pub(super) fn all(answer: &str) -> Vec<Self> {
        let letters = answer.chars().filter(|character| character.is_alphabetic()).count();
        let plain = Plain::words(answer);
        let ways = [(Turn::Backwards, MIN_BACKWARDS), (Turn::Rot13, MIN_ROT13)];
        let ways = ways.into_iter().filter(|(_, shortest)| letters >= *shortest && answer.len() <= MAX);
        let made = ways.map(|(turn, _)| {
            let text = turn.of(answer.trim());
            Self { turn, folded: Plain::words(&text).text().to_owned(), text }
        });
        made.filter(|turned| turned.folded != plain.text() && weigh(&turned.text) == Weight::Distinctive).collect()
    }

    pub(super) fn is(&self, found: &str) -> bool {
        let plain = Plain::words(found);
        plain.text().replace(' ', "") == self.folded.replace(' ', "")
    }

    /// Whether it can stand nowhere by chance.
    pub(super) fn is_long(&self) -> bool {
        self.folded.chars().filter(|character| character.is_alphabetic()).count() >= LONG
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(answer: &str) -> Vec<String> {
        Turned::all(answer).into_iter().map(|turned| turned.text).collect()
    }

    #[test]
    fn long_answers_are_turned_and_short_ones_are_not() {
        assert_eq!(texts("Edith Walker"), ["reklaW htidE", "Rqvgu Jnyxre"]);
        assert_eq!(texts("Paris"), ["Cnevf"]);
        assert!(Turned::all("Harrow").iter().all(|turned| !turned.is_long()));
        for answer in ["", "Rome", "17000", "1234567890", "北京", "no", "123-456-789"] {
            assert_eq!(texts(answer), [""; 0], "{answer}");
        }
        // A palindrome is itself.
        assert_eq!(texts("Able was I ere I saw Elba"), ["Noyr jnf V rer V fnj Ryon"]);
    }

    #[test]
    fn turning_twice_gives_the_text() {
        for text in ["Edith Walker, 1931", "Gaudí ü", ""] {
            for turn in [Turn::Backwards, Turn::Rot13] {
                assert_eq!(turn.of(&turn.of(text)), text);
            }
        }
    }
}
