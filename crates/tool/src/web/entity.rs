//! Characters that HTML writes as names or numbers.

use std::borrow::Cow;

/// Replaces references by what they stand for. What is none stays as it is.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find('&') else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..first]);
    let mut rest = &text[first..];
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match reference(rest) {
            Some((character, length)) => {
                out.push(character);
                rest = &rest[length..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The longest reference that is looked at, without its `&`.
const LONGEST: usize = 12;

/// Reads a reference at the beginning of a text: the character, and how many bytes stand for it.
fn reference(text: &str) -> Option<(char, usize)> {
    let body = text.strip_prefix('&')?;
    if let Some(number) = body.strip_prefix('#') {
        let (digits, radix, before) = match number.strip_prefix(['x', 'X']) {
            Some(digits) => (digits, 16, 3),
            None => (number, 10, 2),
        };
        let length = digits.bytes().take(LONGEST).take_while(|byte| char::from(*byte).is_digit(radix)).count();
        let code = u32::from_str_radix(digits.get(..length)?, radix).ok()?;
        let end = usize::from(digits.as_bytes().get(length) == Some(&b';'));
        return Some((numbered(code), before + length + end));
    }
    let length = body.bytes().take(LONGEST).take_while(u8::is_ascii_alphanumeric).count();
    let name = body.get(..length)?;
    if body.as_bytes().get(length) == Some(&b';') {
        return named(name).map(|character| (character, length + 2));
    }
    // In an address, a parameter.
    if body.as_bytes().get(length) == Some(&b'=') {
        return None;
    }
    // Pages have left out the semicolon of these since before there was a standard.
    let old = ["amp", "lt", "gt", "quot", "nbsp", "copy", "reg"];
    old.into_iter().find(|old| *old == name).and_then(named).map(|character| (character, length + 1))
}

fn named(name: &str) -> Option<char> {
    if name == "apos" {
        return Some('\'');
    }
    let at = NAMED.binary_search_by_key(&name, |(name, _)| name).ok()?;
    NAMED.get(at).map(|(_, character)| *character)
}

/// Numbers from 128 to 159 mean what Windows meant by them.
fn numbered(code: u32) -> char {
    match code {
        0x80..=0x9f => super::charset::windows_1252(code as u8),
        0 => char::REPLACEMENT_CHARACTER,
        _ => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

/// The names of HTML 4, sorted.
#[rustfmt::skip]
const NAMED: [(&str, char); 252] = [
    ("AElig", 'Æ'), ("Aacute", 'Á'), ("Acirc", 'Â'), ("Agrave", 'À'), ("Alpha", 'Α'), ("Aring", 'Å'), ("Atilde", 'Ã'),
    ("Auml", 'Ä'), ("Beta", 'Β'), ("Ccedil", 'Ç'), ("Chi", 'Χ'), ("Dagger", '‡'), ("Delta", 'Δ'), ("ETH", 'Ð'),
    ("Eacute", 'É'), ("Ecirc", 'Ê'), ("Egrave", 'È'), ("Epsilon", 'Ε'), ("Eta", 'Η'), ("Euml", 'Ë'), ("Gamma", 'Γ'),
    ("Iacute", 'Í'), ("Icirc", 'Î'), ("Igrave", 'Ì'), ("Iota", 'Ι'), ("Iuml", 'Ï'), ("Kappa", 'Κ'), ("Lambda", 'Λ'),
    ("Mu", 'Μ'), ("Ntilde", 'Ñ'), ("Nu", 'Ν'), ("OElig", 'Œ'), ("Oacute", 'Ó'), ("Ocirc", 'Ô'), ("Ograve", 'Ò'),
    ("Omega", 'Ω'), ("Omicron", 'Ο'), ("Oslash", 'Ø'), ("Otilde", 'Õ'), ("Ouml", 'Ö'), ("Phi", 'Φ'), ("Pi", 'Π'),
    ("Prime", '″'), ("Psi", 'Ψ'), ("Rho", 'Ρ'), ("Scaron", 'Š'), ("Sigma", 'Σ'), ("THORN", 'Þ'), ("Tau", 'Τ'),
    ("Theta", 'Θ'), ("Uacute", 'Ú'), ("Ucirc", 'Û'), ("Ugrave", 'Ù'), ("Upsilon", 'Υ'), ("Uuml", 'Ü'), ("Xi", 'Ξ'),
    ("Yacute", 'Ý'), ("Yuml", 'Ÿ'), ("Zeta", 'Ζ'), ("aacute", 'á'), ("acirc", 'â'), ("acute", '´'), ("aelig", 'æ'),
    ("agrave", 'à'), ("alefsym", 'ℵ'), ("alpha", 'α'), ("amp", '&'), ("and", '∧'), ("ang", '∠'), ("aring", 'å'),
    ("asymp", '≈'), ("atilde", 'ã'), ("auml", 'ä'), ("bdquo", '„'), ("beta", 'β'), ("brvbar", '¦'), ("bull", '•'),
    ("cap", '∩'), ("ccedil", 'ç'), ("cedil", '¸'), ("cent", '¢'), ("chi", 'χ'), ("circ", 'ˆ'), ("clubs", '♣'),
    ("cong", '≅'), ("copy", '©'), ("crarr", '↵'), ("cup", '∪'), ("curren", '¤'), ("dArr", '⇓'), ("dagger", '†'),
    ("darr", '↓'), ("deg", '°'), ("delta", 'δ'), ("diams", '♦'), ("divide", '÷'), ("eacute", 'é'), ("ecirc", 'ê'),
    ("egrave", 'è'), ("empty", '∅'), ("emsp", '\u{2003}'), ("ensp", '\u{2002}'), ("epsilon", 'ε'), ("equiv", '≡'),
    ("eta", 'η'), ("eth", 'ð'), ("euml", 'ë'), ("euro", '€'), ("exist", '∃'), ("fnof", 'ƒ'), ("forall", '∀'),
    ("frac12", '½'), ("frac14", '¼'), ("frac34", '¾'), ("frasl", '⁄'), ("gamma", 'γ'), ("ge", '≥'), ("gt", '>'),
    ("hArr", '⇔'), ("harr", '↔'), ("hearts", '♥'), ("hellip", '…'), ("iacute", 'í'), ("icirc", 'î'), ("iexcl", '¡'),
    ("igrave", 'ì'), ("image", 'ℑ'), ("infin", '∞'), ("int", '∫'), ("iota", 'ι'), ("iquest", '¿'), ("isin", '∈'),
    ("iuml", 'ï'), ("kappa", 'κ'), ("lArr", '⇐'), ("lambda", 'λ'), ("lang", '〈'), ("laquo", '«'), ("larr", '←'),
    ("lceil", '⌈'), ("ldquo", '“'), ("le", '≤'), ("lfloor", '⌊'), ("lowast", '∗'), ("loz", '◊'), ("lrm", '\u{200e}'),
    ("lsaquo", '‹'), ("lsquo", '‘'), ("lt", '<'), ("macr", '¯'), ("mdash", '—'), ("micro", 'µ'), ("middot", '·'),
    ("minus", '−'), ("mu", 'μ'), ("nabla", '∇'), ("nbsp", '\u{a0}'), ("ndash", '–'), ("ne", '≠'), ("ni", '∋'),
    ("not", '¬'), ("notin", '∉'), ("nsub", '⊄'), ("ntilde", 'ñ'), ("nu", 'ν'), ("oacute", 'ó'), ("ocirc", 'ô'),
    ("oelig", 'œ'), ("ograve", 'ò'), ("oline", '‾'), ("omega", 'ω'), ("omicron", 'ο'), ("oplus", '⊕'), ("or", '∨'),
    ("ordf", 'ª'), ("ordm", 'º'), ("oslash", 'ø'), ("otilde", 'õ'), ("otimes", '⊗'), ("ouml", 'ö'), ("para", '¶'),
    ("part", '∂'), ("permil", '‰'), ("perp", '⊥'), ("phi", 'φ'), ("pi", 'π'), ("piv", 'ϖ'), ("plusmn", '±'),
    ("pound", '£'), ("prime", '′'), ("prod", '∏'), ("prop", '∝'), ("psi", 'ψ'), ("quot", '"'), ("rArr", '⇒'),
    ("radic", '√'), ("rang", '〉'), ("raquo", '»'), ("rarr", '→'), ("rceil", '⌉'), ("rdquo", '”'), ("real", 'ℜ'),
    ("reg", '®'), ("rfloor", '⌋'), ("rho", 'ρ'), ("rlm", '\u{200f}'), ("rsaquo", '›'), ("rsquo", '’'), ("sbquo", '‚'),
    ("scaron", 'š'), ("sdot", '⋅'), ("sect", '§'), ("shy", '\u{ad}'), ("sigma", 'σ'), ("sigmaf", 'ς'), ("sim", '∼'),
    ("spades", '♠'), ("sub", '⊂'), ("sube", '⊆'), ("sum", '∑'), ("sup", '⊃'), ("sup1", '¹'), ("sup2", '²'),
    ("sup3", '³'), ("supe", '⊇'), ("szlig", 'ß'), ("tau", 'τ'), ("there4", '∴'), ("theta", 'θ'), ("thetasym", 'ϑ'),
    ("thinsp", '\u{2009}'), ("thorn", 'þ'), ("tilde", '˜'), ("times", '×'), ("trade", '™'), ("uArr", '⇑'),
    ("uacute", 'ú'), ("uarr", '↑'), ("ucirc", 'û'), ("ugrave", 'ù'), ("uml", '¨'), ("upsih", 'ϒ'), ("upsilon", 'υ'),
    ("uuml", 'ü'), ("weierp", '℘'), ("xi", 'ξ'), ("yacute", 'ý'), ("yen", '¥'), ("yuml", 'ÿ'), ("zeta", 'ζ'),
    ("zwj", '\u{200d}'), ("zwnj", '\u{200c}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_once_and_everything_else_is_left() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a &amp; b &lt;c&gt;", "a & b <c>"),
            ("&amp;lt;", "&lt;"),
            ("&eacute;&Eacute;&hellip;&mdash;&apos;", "éÉ…—'"),
            ("&#233;&#xe9;&#XE9;&#233 x", "ééé\u{e9} x"),
            ("&#150;&#x80;", "–€"),
            ("&#0;&#xD800;&#x110000;&#99999999;", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ("AT&T &nosuch; &; & &#; &#x; &#xg;", "AT&T &nosuch; &; & &#; &#x; &#xg;"),
            ("a&ampb &copy 2020 &lt", "a&ampb © 2020 <"),
            ("&é;&", "&é;&"),
            ("x?a=1&copy=2", "x?a=1&copy=2"),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
        assert!(matches!(decode("nothing"), Cow::Borrowed(_)));
    }

    #[test]
    fn the_table_can_be_searched() {
        assert!(NAMED.is_sorted_by_key(|(name, _)| *name));
        assert!(NAMED.iter().all(|(name, _)| name.len() <= LONGEST));
    }
}
