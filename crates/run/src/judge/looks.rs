//! What a character looks like to a reader, and whether it is seen at all.

use icu_normalizer::DecomposingNormalizerBorrowed;
use proofmark_artefact::text::is_deceptive;

/// The ASCII character, in lower case, that a character can be taken for; itself when there is none.
pub(super) fn look(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    if let Some(ascii) = alike(c) {
        return ascii;
    }
    // Full-width, mathematical and circled letters. What falls apart to several characters looks like none of them.
    let mut parts = DecomposingNormalizerBorrowed::new_nfkd().normalize_iter(std::iter::once(c));
    match (parts.next(), parts.next()) {
        (Some(only), None) if only.is_ascii() => only.to_ascii_lowercase(),
        _ => c,
    }
}

/// Whether the character at a place is not seen, moves its neighbours or is obeyed by a terminal.
///
/// Line ends and tabs are text. So is one joiner or one variation selector after a character that can bear it:
/// Persian and emoji are spelt with them.
pub(super) fn is_hidden(chars: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).map(|at| chars[at]);
    match chars[at] {
        '\n' | '\t' => false,
        '\r' => chars.get(at + 1) != Some(&'\n'),
        c if is_joiner(c) => match before {
            // A heart on fire: the heart, its selector, the joiner, the fire.
            Some(selector) if is_selector(selector) => !(at >= 2 && bears(chars[at - 2])),
            before => !before.is_some_and(bears),
        },
        c if is_selector(c) => !before.is_some_and(|before| bears(before) || b"0123456789#*".contains(&ascii(before))),
        c => is_invisible(c),
    }
}

/// Whether a joiner or a selector after it is spelling. What may be put in brackets is not: that would change what
/// stands before the joiner.
fn bears(c: char) -> bool {
    !c.is_ascii()
        && !is_joiner(c)
        && !is_selector(c)
        && !is_invisible(c)
        && !matches!(c, '⟦' | '⟧')
        && !look(c).is_ascii_punctuation()
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// Everything that terminals are not shown, and what is harmless there but hides from readers.
fn is_invisible(c: char) -> bool {
    is_deceptive(c)
        || matches!(c,
            '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}')
}

fn ascii(c: char) -> u8 {
    u8::try_from(c).unwrap_or(0)
}

/// Signs and letters of other scripts that markup and the names in it could be written with.
fn alike(c: char) -> Option<char> {
    Some(match c {
        '‹' | '〈' | '⟨' | '\u{2329}' | '❮' | '˂' | 'ᐸ' | '≺' | '⧼' => '<',
        '›' | '〉' | '⟩' | '\u{232a}' | '❯' | '˃' | 'ᐳ' | '≻' | '⧽' => '>',
        '│' | '┃' | '∣' | 'ǀ' | '❘' | '⏐' => '|',
        'ː' | '˸' | '꞉' | '∶' | '։' | '׃' | '︓' => ':',
        '【' | '〔' | '〖' | '⟮' | '⁅' => '[',
        '】' | '〕' | '〗' | '⟯' | '⁆' => ']',
        '“' | '”' | '„' | '‟' | '″' | '〝' | '〞' | 'ˮ' => '"',
        '‘' | '’' | '‚' | '‛' | '′' | 'ʹ' | 'ʼ' => '\'',
        '⁄' | '∕' | '╱' => '/',
        '\u{2010}'..='\u{2015}' | '−' => '-',
        'ǃ' => '!',
        'а' | 'А' | 'α' | 'Α' | 'ɑ' => 'a',
        'в' | 'В' | 'Β' => 'b',
        'с' | 'С' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'Е' | 'Ε' | 'ё' => 'e',
        'ɡ' => 'g',
        'һ' | 'Н' | 'Η' => 'h',
        'і' | 'І' | 'Ι' | 'ι' | 'ı' => 'i',
        'ј' | 'Ј' => 'j',
        'К' | 'Κ' | 'κ' | 'к' => 'k',
        'М' | 'Μ' | 'м' => 'm',
        'Ν' => 'n',
        'о' | 'О' | 'ο' | 'Ο' | 'օ' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' => 'p',
        'ѕ' | 'Ѕ' => 's',
        'Т' | 'Τ' | 'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'у' | 'У' | 'Υ' => 'y',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_signs_look_like_ascii() {
        for (text, want) in [
            ("＜｜ＩＭ＿start｜＞", "<|im_start|>"),
            ("Ѕуѕтем", "system"),
            ("𝐬𝖞𝓼𝘵𝚎𝗆：", "system:"),
            ("【inst】", "[inst]"),
            ("ⓢ", "s"),
            ("é½北ж", "é½北ж"),
        ] {
            assert_eq!(text.chars().map(look).collect::<String>(), want, "{text}");
        }
    }

    #[test]
    fn a_character_that_is_alike_is_alike_in_lower_case() {
        assert!(('\0'..=char::MAX).all(|c| !look(c).is_ascii_uppercase()));
    }

    fn hidden(text: &str) -> Vec<u32> {
        let chars: Vec<char> = text.chars().collect();
        (0..chars.len()).filter(|at| is_hidden(&chars, *at)).map(|at| u32::from(chars[at])).collect()
    }

    #[test]
    fn spelling_is_seen_and_all_else_is_hidden() {
        for (text, want) in [
            ("می\u{200c}خواهم 👩\u{200d}🚀 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3} ℹ\u{fe0f}", &[][..]),
            ("line\r\nline\n\ttab", &[]),
            ("\rback", &[0xd]),
            ("sys\u{200d}tem", &[0x200d]),
            ("👩\u{200d}\u{200d}", &[0x200d]),
            ("x\u{fe0f}\u{fe01}", &[0xfe0f, 0xfe01]),
            ("❤\u{fe0f}\u{fe0f}", &[0xfe0f]),
            ("\u{200b}\u{202e}\u{1b}\u{e0041}\u{34f}", &[0x200b, 0x202e, 0x1b, 0xe0041, 0x34f]),
        ] {
            assert_eq!(hidden(text), want, "{text:?}");
        }
    }
}
