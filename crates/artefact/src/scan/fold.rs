//! What is left of a character when its looks do not count.

use std::sync::OnceLock;

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;

/// A character without case, compatibility form, diacritics and look-alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folded {
    /// A letter or a digit: UTF-8 of what it is folded to.
    Word(&'static [u8]),
    /// White space, punctuation, a symbol.
    Gap(Class),
    /// A diacritic, or something that cannot be seen.
    Nothing,
}

/// The kinds of characters between words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    Space,
    Comma,
    Dot,
    Apostrophe,
    Underscore,
    Minus,
    Plus,
    /// Between the two numbers of a fraction.
    Slash,
    Other,
}

/// Folds a character.
pub(super) fn fold(character: char) -> Folded {
    // Pages of 256 characters are made when they are first asked for: most content needs a handful of them.
    static PAGES: [OnceLock<Box<[Folded; 256]>>; 0x1100] = [const { OnceLock::new() }; 0x1100];
    let code = character as u32;
    let page = PAGES[(code >> 8) as usize].get_or_init(|| {
        let first = code & !0xFF;
        let made: [Folded; 256] =
            std::array::from_fn(|at| char::from_u32(first + at as u32).map_or(Folded::Gap(Class::Other), make));
        Box::new(made)
    });
    page[(code & 0xFF) as usize]
}

/// Whether a character belongs to a script that puts no spaces between words, so that a word may end anywhere.
pub(super) fn is_unspaced(character: char) -> bool {
    matches!(character as u32,
        0x0E00..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF | 0x2E80..=0x2FFF | 0x3040..=0x9FFF
        | 0xA960..=0xA97F | 0xAC00..=0xD7FF | 0xF900..=0xFAFF | 0xFF66..=0xFFDC | 0x20000..=0x3FFFF)
}

/// Whether a character is a diacritic or another mark on the one before it.
pub(super) fn is_mark(character: char) -> bool {
    matches!(category(character), GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark)
}

fn category(character: char) -> GeneralCategory {
    CodePointMapData::<GeneralCategory>::new().get(character)
}

fn make(character: char) -> Folded {
    if let Some(class) = class(character) {
        return Folded::Gap(class);
    }
    // Fillers are letters by name alone. A superscript is a footnote or an exponent, not a part of the word.
    match character {
        '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' => return Folded::Nothing,
        '²' | '³' | '¹' | '⁰'..='⁹' => return Folded::Gap(Class::Other),
        _ if is_invisible(character) => return Folded::Nothing,
        // Letters in black circles and squares, which Unicode calls symbols.
        '\u{1F150}'..='\u{1F169}' => return word(char::from(b'a' + (character as u32 - 0x1F150) as u8).to_string()),
        '\u{1F170}'..='\u{1F189}' => return word(char::from(b'a' + (character as u32 - 0x1F170) as u8).to_string()),
        // Syllables would fall apart to three times their length, and gain nothing.
        '가'..='힣' => return word(character.to_string()),
        _ => {}
    }
    let mut text = String::new();
    let mut first = None;
    for part in decompose(character) {
        if part == '\u{2044}' {
            // One half is not twelve.
            return Folded::Gap(Class::Other);
        }
        first.get_or_insert(part);
        // Upper case first: it joins what lower case keeps apart, as the two sigmas.
        for part in part.to_uppercase().flat_map(char::to_lowercase).flat_map(decompose) {
            push_plain(&mut text, part);
        }
    }
    if !text.is_empty() {
        return word(text);
    }
    Folded::Gap(first.and_then(class).unwrap_or(Class::Other))
}

fn word(text: String) -> Folded {
    // At most one for each character of Unicode, for as long as the process lives.
    Folded::Word(Box::leak(text.into_bytes().into_boxed_slice()))
}

fn decompose(character: char) -> impl Iterator<Item = char> {
    DecomposingNormalizerBorrowed::new_nfkd().normalize_iter(std::iter::once(character))
}

fn is_invisible(character: char) -> bool {
    matches!(category(character), GeneralCategory::Format | GeneralCategory::Control) || is_mark(character)
}

fn class(character: char) -> Option<Class> {
    Some(match character {
        ',' | '\u{66C}' | '、' => Class::Comma,
        '.' | '\u{66B}' => Class::Dot,
        '\'' | '’' | '‘' | '\u{2B9}'..='\u{2BF}' => Class::Apostrophe,
        '_' => Class::Underscore,
        '-' | '\u{2010}'..='\u{2015}' | '−' | '\u{FE63}' | '－' => Class::Minus,
        '+' => Class::Plus,
        '/' | '\u{2044}' | '\u{2215}' | '／' => Class::Slash,
        _ if character.is_whitespace() => Class::Space,
        _ => return None,
    })
}

/// Adds what a letter or a digit looks like. One table for both cases, so that case never matters.
fn push_plain(text: &mut String, character: char) {
    let plain = match character {
        'æ' => return text.push_str("ae"),
        'œ' => return text.push_str("oe"),
        'ß' => return text.push_str("ss"),
        'þ' => return text.push_str("th"),
        'ø' | 'о' | 'ο' | 'օ' | 'ᴏ' => 'o',
        'đ' | 'ð' | 'ԁ' | 'ᴅ' => 'd',
        'ł' | 'ӏ' | 'ʟ' => 'l',
        'ħ' | 'һ' | 'н' | 'η' | 'ʜ' => 'h',
        'ı' | 'і' | 'ι' | 'ɪ' => 'i',
        'ɑ' | 'а' | 'α' | 'ᴀ' => 'a',
        'в' | 'β' | 'ʙ' => 'b',
        'с' | 'ϲ' | 'ᴄ' => 'c',
        'е' | 'ε' | 'ᴇ' => 'e',
        'ꜰ' => 'f',
        'ɡ' | 'ɢ' => 'g',
        'ј' | 'ᴊ' => 'j',
        'к' | 'κ' | 'ᴋ' => 'k',
        'м' | 'μ' | 'ᴍ' => 'm',
        'ν' | 'ɴ' => 'n',
        'р' | 'ρ' | 'ᴘ' => 'p',
        'ԛ' | 'ꞯ' => 'q',
        'ʀ' => 'r',
        'ѕ' | 'ꜱ' => 's',
        'т' | 'τ' | 'ᴛ' => 't',
        'ᴜ' => 'u',
        'ᴠ' => 'v',
        'ԝ' | 'ᴡ' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'υ' | 'ʏ' => 'y',
        'ζ' | 'ᴢ' => 'z',
        _ if is_mark(character) || class(character).is_some() || !character.is_alphanumeric() => return,
        _ => digit(character).unwrap_or(character),
    };
    text.push(plain);
}

/// The ASCII digit for a decimal digit of any script.
fn digit(character: char) -> Option<char> {
    let is_digit = |code: u32| char::from_u32(code).is_some_and(|c| category(c) == GeneralCategory::DecimalNumber);
    if character.is_ascii() || !is_digit(character as u32) {
        return None;
    }
    // Unicode keeps the ten digits of a script together and in order, zero first.
    let mut first = character as u32;
    while is_digit(first - 1) {
        first -= 1;
    }
    char::from_digit((character as u32 - first) % 10, 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let mut out = String::new();
        for character in text.chars() {
            match fold(character) {
                Folded::Word(bytes) => out.push_str(std::str::from_utf8(bytes).unwrap()),
                Folded::Gap(Class::Space) => out.push(' '),
                Folded::Gap(_) => out.push('.'),
                Folded::Nothing => {}
            }
        }
        out
    }

    #[test]
    fn looks_do_not_count() {
        for (text, want) in [
            ("Straße", "strasse"),
            ("ΣΊΣΥΦΟΣ", "σiσyφoσ"),
            ("Σίσυφος", "σiσyφoσ"),
            ("Zürich", "zurich"),
            ("Zu\u{308}rich", "zurich"),
            ("Łódź", "lodz"),
            ("Ａｂｃ１", "abc1"),
            ("ﬁne", "fine"),
            ("Pa\u{200B}\u{AD}ri\u{202E}s", "paris"),
            ("Рarіs", "paris"),
            ("١٢٣", "123"),
            ("𝟙𝟚", "12"),
            ("H₂O", "h2o"),
            ("10²", "10."),
            ("½", "."),
            ("a\u{A0}b\u{3000}c", "a b c"),
            ("，．", ".."),
            ("北京", "北京"),
            ("서울", "서울"),
            ("Hawaiʻi", "hawai.i"),
            ("İstanbul", "istanbul"),
            ("ᴘᴀʀɪꜱ", "paris"),
            ("🅿🅰🆁🅸🆂", "paris"),
            ("🅟🅐🅡🅘🅢", "paris"),
        ] {
            assert_eq!(folded(text), want, "{text}");
        }
    }

    #[test]
    fn every_decimal_digit_has_its_value() {
        let digits: Vec<char> =
            ('\u{80}'..=char::MAX).filter(|c| category(*c) == GeneralCategory::DecimalNumber).collect();
        assert!(digits.len() > 600 && digits.len().is_multiple_of(10));
        for (at, character) in digits.iter().enumerate() {
            assert_eq!(digit(*character), char::from_digit(at as u32 % 10, 10), "{character:?}");
        }
    }

    #[test]
    fn folding_what_is_folded_changes_nothing() {
        for character in '\0'..=char::MAX {
            if let Folded::Word(bytes) = fold(character) {
                let text = std::str::from_utf8(bytes).unwrap();
                assert_eq!(folded(text), text, "{character:?}");
            }
        }
    }
}
