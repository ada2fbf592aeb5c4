//! Numbers as formulas write them: fractions in one character, powers of ten, LaTeX.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};
use proofmark_artefact::trajectory::Form;

use super::layers::{Layer, View};
use super::wrapping::regions;

/// Fractions that are one character.
pub(super) const FRACTIONS: [(char, &str); 18] = [
    ('½', "1/2"),
    ('⅓', "1/3"),
    ('⅔', "2/3"),
    ('¼', "1/4"),
    ('¾', "3/4"),
    ('⅕', "1/5"),
    ('⅖', "2/5"),
    ('⅗', "3/5"),
    ('⅘', "4/5"),
    ('⅙', "1/6"),
    ('⅚', "5/6"),
    ('⅐', "1/7"),
    ('⅛', "1/8"),
    ('⅜', "3/8"),
    ('⅝', "5/8"),
    ('⅞', "7/8"),
    ('⅑', "1/9"),
    ('⅒', "1/10"),
];

/// Gives the parts of a text with formulas in them, their numbers written plainly.
pub(super) fn formulas(text: &str, mut give: impl FnMut(Layer)) {
    static FINDER: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let finder = FINDER.get_or_init(|| {
        let signs =
            ["10^", "10\u{2070}", "10\u{207B}", "10\u{B2}", "10\u{B3}", "10\u{B9}", "10<sup>", "{,}", "\\,", "\\!"];
        let powers = ('\u{2074}'..='\u{2079}').map(|sign| format!("10{sign}"));
        let fractions = FRACTIONS.iter().map(|(sign, _)| sign.to_string());
        let signs = signs.into_iter().map(str::to_owned).chain(powers).chain(fractions);
        // With a rule for which of several counts, bytes are looked at many at once.
        AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(signs).ok()
    });
    let Some(finder) = finder else { return };
    regions(text, finder.find_iter(text).map(|found| found.range()), |range: Range<usize>| {
        let plain = plain(&text[range.clone()]);
        give(Layer { range, form: Form::Number, text: plain, view: View::Wrapped });
    });
}

/// A text with its numbers written plainly: `1.7 × 10^4` is `1.7e4`, `2½` is `2 1/2`, `17{,}000` is `17,000`.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if let Some((_, fraction)) = FRACTIONS.iter().find(|(sign, _)| *sign == next) {
            if out.ends_with(|last: char| last.is_ascii_digit()) {
                out.push(' ');
            }
            out.push_str(fraction);
            rest = &rest[next.len_utf8()..];
        } else if let Some(after) = rest.strip_prefix("{,}") {
            out.push(',');
            rest = after;
        } else if let Some(after) = rest.strip_prefix("\\,").or(rest.strip_prefix("\\!")) {
            rest = after;
        } else if out.ends_with(|last: char| last.is_ascii_digit())
            && let Some((power, length)) = power_of_ten(rest)
        {
            out.push_str(&format!("e{power}"));
            rest = &rest[length..];
        } else {
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    out
}

/// The power in `× 10^4` at the beginning of a text, and the length of all of it.
fn power_of_ten(text: &str) -> Option<(i32, usize)> {
    let after = text.trim_start_matches(' ');
    let times = ["×", "x", "X", "*", "·", "⋅", "\\times", "\\cdot", "&times;"];
    let after = times.iter().find_map(|sign| after.strip_prefix(sign))?;
    let after = after.trim_start_matches(' ').strip_prefix("10")?;
    let raised = |sign: char| match sign {
        '²' => Some('2'),
        '³' => Some('3'),
        '¹' => Some('1'),
        '⁰' => Some('0'),
        '⁴'..='⁹' => char::from_digit(4 + (sign as u32 - 0x2074), 10),
        '⁻' => Some('-'),
        _ => None,
    };
    let superscript: String = after.chars().map_while(raised).take(4).collect();
    let (digits, rest) = if superscript.is_empty() {
        let after = ["^{", "^(", "^", "<sup>", "**"].iter().find_map(|sign| after.strip_prefix(sign))?;
        let sign = if after.starts_with(['-', '−']) { "-" } else { "" };
        let after = after.trim_start_matches(['-', '−', '+']);
        let length = after.bytes().take(4).take_while(u8::is_ascii_digit).count();
        let rest = &after[length..];
        let rest = ["}", ")", "</sup>"].iter().find_map(|sign| rest.strip_prefix(sign)).unwrap_or(rest);
        (format!("{sign}{}", &after[..length]), rest)
    } else {
        let length: usize = after.chars().take(superscript.chars().count()).map(char::len_utf8).sum();
        (superscript, &after[length..])
    };
    Some((digits.parse().ok().filter(|power: &i32| power.abs() < 400)?, text.len() - rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_formulas_are_written_plainly() {
        for (text, want) in [
            ("1.7 × 10^4", "1.7e4"),
            ("1.7×10⁴ m", "1.7e4 m"),
            ("17 x 10^3.", "17e3."),
            (r"$1.7 \times 10^{4}$", "$1.7e4$"),
            ("1.7&times;10<sup>4</sup>", "1.7e4"),
            ("3*10**-2", "3e-2"),
            ("5·10⁻³", "5e-3"),
            (r"$17{,}000$", "$17,000$"),
            (r"17\,000", "17000"),
            ("½", "1/2"),
            ("2½ cups", "2 1/2 cups"),
            ("2 × 4", "2 × 4"),
            ("x × 10^4", "x × 10^4"),
            ("2 x 10^", "2 x 10^"),
            ("é × 10⁴", "é × 10⁴"),
        ] {
            assert_eq!(plain(text), want, "{text}");
        }
    }

    #[test]
    fn texts_without_formulas_have_none() {
        for text in ["", "The year 1931, 10 of 12", "a, b {c} \\n", "10 km"] {
            formulas(text, |layer| panic!("{text} {layer:?}"));
        }
        let mut count = 0;
        formulas("so 1.7×10⁴ it is", |_| count += 1);
        assert_eq!(count, 1);
    }
}
