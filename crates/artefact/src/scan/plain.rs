//! A text as folded words, for those who look for words and names rather than for an answer.

use super::fold::{Class, Folded, fold};
use super::unit::{Mode, What, unit};

/// A text without case, diacritics, invisible characters, look-alikes and what it is wrapped in.
///
/// Letters and digits are folded as they are for [`Needles`](super::Needles). Between two words stands one character.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plain {
    text: String,
    /// For each byte of the text, where its character begins in the original.
    starts: Vec<u32>,
}

impl Plain {
    /// Words with one space between them, whatever stands there.
    pub fn words(text: &str) -> Self {
        Self::make(text.as_bytes(), Mode::Stripped, |_| ' ')
    }

    /// Words as they are joined: a space where there is white space, else the first sign between them.
    pub fn joined(text: &str) -> Self {
        Self::make(text.as_bytes(), Mode::Decoded, |sign| sign)
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where a byte of the text stands in the original; its end behind the last byte.
    pub fn offset(&self, at: usize) -> usize {
        self.starts.get(at).or(self.starts.last()).map_or(0, |start| *start as usize)
    }

    fn make(content: &[u8], mode: Mode, sign: impl Fn(char) -> char) -> Self {
        let content = &content[..content.len().min(super::MAX_CONTENT)];
        let mut plain = Self { text: String::with_capacity(content.len()), starts: Vec::with_capacity(content.len()) };
        let mut gap: Option<(char, u32)> = None;
        let mut at = 0;
        while at < content.len() {
            let (byte, start) = (content[at], at as u32);
            // Most of a text needs no more than this.
            if byte.is_ascii_alphanumeric() {
                if let Some((sign, start)) = gap.take() {
                    plain.push(sign, start);
                }
                plain.text.push(char::from(byte.to_ascii_lowercase()));
                plain.starts.push(start);
                at += 1;
                continue;
            }
            let unit = unit(content, at, mode);
            at += unit.length;
            let between = match unit.what {
                What::Nothing => continue,
                What::Gap(class) => of_class(class),
                What::Char(character) => match fold(character) {
                    Folded::Nothing => continue,
                    Folded::Word(bytes) => {
                        if let Some((sign, start)) = gap.take() {
                            plain.push(sign, start);
                        }
                        for character in std::str::from_utf8(bytes).unwrap_or_default().chars() {
                            plain.push(character, start);
                        }
                        continue;
                    }
                    Folded::Gap(Class::Space) => ' ',
                    Folded::Gap(class) if !character.is_ascii() => of_class(class),
                    Folded::Gap(_) => character,
                },
            };
            gap = match gap {
                None if plain.text.is_empty() => None,
                None => Some((sign(between), start)),
                Some((_, start)) if between == ' ' => Some((' ', start)),
                kept => kept,
            };
        }
        plain
    }

    fn push(&mut self, character: char, start: u32) {
        self.text.push(character);
        self.starts.resize(self.text.len(), start);
    }
}

/// Undoes one layer of entities, percent encoding and escapes. Tags stay.
pub fn undo(text: &str) -> String {
    const KEPT: [(&str, char); 6] =
        [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&apos;", '\''), ("&num;", '#')];
    let content = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < content.len() {
        if content[at] == b'&'
            && let Some((name, sign)) = KEPT.iter().find(|(name, _)| content[at..].starts_with(name.as_bytes()))
        {
            out.push(*sign);
            at += name.len();
            continue;
        }
        let unit = unit(content, at, Mode::Decoded);
        at += unit.length;
        match unit.what {
            What::Char(character) => out.push(character),
            What::Gap(class) => out.push(of_class(class)),
            What::Nothing => {}
        }
    }
    out
}

fn of_class(class: Class) -> char {
    match class {
        Class::Space => ' ',
        Class::Comma => ',',
        Class::Dot => '.',
        Class::Apostrophe => '\'',
        Class::Underscore => '_',
        Class::Minus => '-',
        Class::Plus => '+',
        Class::Slash => '/',
        Class::Other => '|',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_and_stand_apart_by_one_space() {
        for (text, want) in [
            ("  Igno\u{200B}re,  the \"Rubric\"!", "ignore the rubric"),
            ("іgnore", "ignore"),
            ("<b>ig</b>nore&nbsp;%74his", "ignore this"),
            ("", ""),
            ("...", ""),
        ] {
            assert_eq!(Plain::words(text).text(), want, "{text}");
        }
    }

    #[test]
    fn joined_words_keep_the_first_sign() {
        for (text, want) in [
            ("GAIA-Benchmark/GAIA", "gaia-benchmark/gaia"),
            ("gaia-benchmark%2FGAIA", "gaia-benchmark/gaia"),
            ("the GAIA benchmark. GAIA", "the gaia benchmark gaia"),
            (r#"{"task_id": "t1"}"#, "task_id t1"),
            (r#"{"task_id":"t1"}"#, "task_id\"t1"),
        ] {
            assert_eq!(Plain::joined(text).text(), want, "{text}");
        }
    }

    #[test]
    fn offsets_lead_back_to_the_original() {
        let text = "x «Pa\u{200B}ris» ﬁn";
        let plain = Plain::words(text);
        assert_eq!(plain.text(), "x paris fin");
        let at = plain.text().find("paris").unwrap();
        assert!(text[plain.offset(at)..].starts_with("Pa"));
        assert_eq!(&text[plain.offset(at + 2)..plain.offset(at + 2) + 1], "r");
        assert_eq!(plain.offset(9), plain.offset(8), "both are in the ligature");
        assert_eq!(Plain::words("").offset(7), 0);
    }

    #[test]
    fn one_layer_is_undone_at_a_time() {
        for (text, want) in [
            ("%2550aris", "%50aris"),
            ("&amp;#80;aris", "&#80;aris"),
            ("&#80;aris", "Paris"),
            (r"\u0026#80;", "&#80;"),
            ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
            ("a<b>c</b>", "a<b>c</b>"),
            ("100% & more", "100% & more"),
        ] {
            assert_eq!(undo(text), want, "{text}");
        }
    }
}
