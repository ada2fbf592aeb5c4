//! Bytes of pages as text.

/// What the bytes of a page stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Charset {
    Utf8,
    /// And Latin-1: the web's standard takes it for this.
    Windows1252,
    Utf16 {
        is_big: bool,
    },
    /// A name that we have no table for. Read as UTF-8.
    Unknown(String),
}

/// Finds out which charset a page has: from its first bytes, its header, or what it says of itself.
pub(super) fn find(content_type: Option<&str>, bytes: &[u8], is_html: bool) -> Charset {
    match bytes {
        [0xef, 0xbb, 0xbf, ..] => return Charset::Utf8,
        [0xff, 0xfe, ..] => return Charset::Utf16 { is_big: false },
        [0xfe, 0xff, ..] => return Charset::Utf16 { is_big: true },
        _ => {}
    }
    let of_header = content_type.and_then(|text| after_charset(text.as_bytes()));
    let of_page = || if is_html { of_meta(bytes) } else { None };
    match of_header.or_else(of_page) {
        Some(label) => of_label(&label),
        None => Charset::Utf8,
    }
}

/// Reads bytes as text. What makes no sense becomes `U+FFFD`.
pub(super) fn decode(bytes: &[u8], charset: &Charset) -> String {
    let text = match charset {
        Charset::Utf8 | Charset::Unknown(_) => String::from_utf8_lossy(bytes).into_owned(),
        Charset::Windows1252 => bytes.iter().map(|byte| windows_1252(*byte)).collect(),
        Charset::Utf16 { is_big } => {
            let read = if *is_big { u16::from_be_bytes } else { u16::from_le_bytes };
            let units = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
            char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        }
    };
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

/// What a byte stands for in windows-1252.
pub(super) fn windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9f => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// 0x80 to 0x9f. Five of them mean nothing and stay what they are.
#[rustfmt::skip]
const HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// How far into a page its own word about its charset is looked for.
const META: usize = 1024;

fn of_meta(bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(META)];
    let lower = head.to_ascii_lowercase();
    let meta = lower.windows(5).position(|window| window == b"<meta")?;
    // A page that can be read so far cannot be UTF-16.
    after_charset(&lower[meta..]).filter(|label| !label.starts_with("utf-16"))
}

/// The word behind `charset=`.
fn after_charset(bytes: &[u8]) -> Option<String> {
    let lower = bytes.to_ascii_lowercase();
    let at = lower.windows(7).position(|window| window == b"charset")?;
    let mut rest = lower[at + 7..].trim_ascii_start();
    rest = rest.strip_prefix(b"=")?.trim_ascii_start();
    rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    let is_label = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.');
    let length = rest.iter().take(40).take_while(|byte| is_label(byte)).count();
    (length > 0).then(|| rest[..length].iter().map(|byte| char::from(*byte)).collect())
}

fn of_label(label: &str) -> Charset {
    match label {
        "utf-8" | "utf8" | "unicode-1-1-utf-8" => Charset::Utf8,
        "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "latin1" | "latin-1" | "l1" | "ascii" | "us-ascii"
        | "windows-1252" | "cp1252" | "x-cp1252" => Charset::Windows1252,
        "utf-16" | "utf-16le" => Charset::Utf16 { is_big: false },
        "utf-16be" => Charset::Utf16 { is_big: true },
        other => Charset::Unknown(other.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_about_the_charset_counts() {
        let unknown = |label: &str| Charset::Unknown(label.to_owned());
        for (header, bytes, expected) in [
            (None, &b"x"[..], Charset::Utf8),
            (Some("text/html"), b"x", Charset::Utf8),
            (Some("text/html; charset=ISO-8859-1"), b"\xef\xbb\xbfx", Charset::Utf8),
            (Some("text/html; charset=ISO-8859-1"), b"<meta charset=utf-8>", Charset::Windows1252),
            (Some("text/html;Charset = \"windows-1252\""), b"", Charset::Windows1252),
            (Some("text/html; charset=Shift_JIS"), b"", unknown("shift_jis")),
            (Some("text/html; charset="), b"<META CharSet='latin1'>", Charset::Windows1252),
            (None, b"<html><meta http-equiv=x content=\"text/html; charset=iso-8859-1\">", Charset::Windows1252),
            (None, b"charset=latin1 without a tag", Charset::Utf8),
            (None, b"<meta charset=utf-16>", Charset::Utf8),
            (None, b"\xff\xfea\0", Charset::Utf16 { is_big: false }),
            (None, b"\xfe\xff\0a", Charset::Utf16 { is_big: true }),
            (Some("text/plain; charset=utf-16be"), b"\0a", Charset::Utf16 { is_big: true }),
        ] {
            assert_eq!(find(header, bytes, true), expected, "{header:?} {bytes:?}");
        }
        assert_eq!(find(None, b"<meta charset=latin1>", false), Charset::Utf8);
        let far = [&[b' '; META][..], b"<meta charset=latin1>"].concat();
        assert_eq!(find(None, &far, true), Charset::Utf8);
    }

    #[test]
    fn bytes_become_text_whatever_they_are() {
        for (bytes, charset, expected) in [
            (&b"caf\xc3\xa9"[..], Charset::Utf8, "café"),
            (b"\xef\xbb\xbfx", Charset::Utf8, "x"),
            (b"a\xffb\xc3", Charset::Utf8, "a\u{fffd}b\u{fffd}"),
            (b"caf\xe9 \x93x\x94 \x80", Charset::Windows1252, "café “x” €"),
            (b"\xff\xfea\0\x3d\xd8\x00\xdex", Charset::Utf16 { is_big: false }, "a😀"),
            (b"\xfe\xff\0a\xd8\x00", Charset::Utf16 { is_big: true }, "a\u{fffd}"),
            (b"a\xff", Charset::Unknown("koi8-r".into()), "a\u{fffd}"),
        ] {
            assert_eq!(decode(bytes, &charset), expected);
        }
    }
}
