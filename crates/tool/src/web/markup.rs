//! HTML cut into tags and text.
//!
//! One pass, nothing nested, no tree: a page of any shape costs what its length says. What is never closed ends with the
//! page.

use std::borrow::Cow;

use super::entity::decode;

/// A piece of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text with its references.
    Text(&'a str),
    /// A tag that opens something: its name in lower case, and all that stands behind the name.
    Open(String, &'a str),
    Close(String),
}

/// The pieces of a page.
pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Takes everything up to the closing tag of an element whose content is no markup.
    pub(super) fn take_raw(&mut self, name: &str) -> &'a str {
        let rest = &self.text[self.at..];
        let mut from = 0;
        while let Some(found) = rest[from..].find("</") {
            let at = from + found;
            let behind = &rest.as_bytes()[at + 2..];
            let is_end = behind.len() >= name.len()
                && behind[..name.len()].eq_ignore_ascii_case(name.as_bytes())
                && behind.get(name.len()).is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>'));
            if is_end {
                self.at += at;
                return &rest[..at];
            }
            from = at + 2;
        }
        self.at = self.text.len();
        rest
    }

    /// What stands between here and the next `mark`; the rest when there is none. The mark is passed.
    fn skip_past(&mut self, from: usize, mark: &str) {
        self.at = match self.text[from..].find(mark) {
            Some(found) => from + found + mark.len(),
            None => self.text.len(),
        };
    }

    fn tag(&mut self, name_at: usize) -> (String, &'a str) {
        let bytes = self.text.as_bytes();
        let length = bytes[name_at..]
            .iter()
            .take_while(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>'))
            .count();
        let (from, end) = (name_at + length, end_of_tag(bytes, name_at + length));
        self.at = (end + 1).min(bytes.len());
        // Nothing that matters has a long name.
        let name = if length <= LONGEST { self.text[name_at..from].to_ascii_lowercase() } else { String::new() };
        (name, &self.text[from..end])
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let bytes = self.text.as_bytes();
            let start = self.at;
            let first = *bytes.get(start)?;
            let mut search = start;
            if first == b'<' {
                match bytes.get(start + 1) {
                    Some(byte) if byte.is_ascii_alphabetic() => {
                        let (name, behind) = self.tag(start + 1);
                        return Some(Token::Open(name, behind));
                    }
                    Some(b'/') if bytes.get(start + 2).is_some_and(u8::is_ascii_alphabetic) => {
                        return Some(Token::Close(self.tag(start + 2).0));
                    }
                    Some(b'!') if self.text[start..].starts_with("<!--") => {
                        // The mark's own dashes may end it: `<!-->`.
                        self.skip_past(start + 2, "-->");
                        continue;
                    }
                    Some(b'!' | b'?' | b'/') => {
                        self.skip_past(start, ">");
                        continue;
                    }
                    // A sign of its own.
                    _ => search += 1,
                }
            }
            self.at = self.text[search..].find('<').map_or(bytes.len(), |found| search + found);
            return Some(Token::Text(&self.text[start..self.at]));
        }
    }
}

/// The value of a tag's attribute.
pub(super) fn attribute<'a>(behind: &'a str, wanted: &str) -> Option<Cow<'a, str>> {
    let bytes = behind.as_bytes();
    let is_end = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'=');
    let skip =
        |from: usize, test: &dyn Fn(u8) -> bool| from + bytes[from..].iter().take_while(|byte| test(**byte)).count();
    let mut at = 0;
    while at < bytes.len() {
        at = skip(at, &|byte| byte.is_ascii_whitespace() || byte == b'/');
        // A name may begin with `=`.
        let end = skip((at + 1).min(bytes.len()), &|byte| !is_end(byte));
        let name = bytes.get(at..end)?;
        let equals = skip(end, &|byte| byte.is_ascii_whitespace());
        if bytes.get(equals) != Some(&b'=') {
            if name.eq_ignore_ascii_case(wanted.as_bytes()) {
                return Some(Cow::Borrowed(""));
            }
            at = equals;
            continue;
        }
        let value = skip(equals + 1, &|byte| byte.is_ascii_whitespace());
        let (from, to, next) = match bytes.get(value) {
            Some(quote @ (b'"' | b'\'')) => {
                let to = skip(value + 1, &|byte| byte != *quote);
                (value + 1, to, to + 1)
            }
            _ => {
                let to = skip(value, &|byte| !byte.is_ascii_whitespace());
                (value, to, to)
            }
        };
        if name.eq_ignore_ascii_case(wanted.as_bytes()) {
            return behind.get(from..to).map(decode);
        }
        at = next;
    }
    None
}

/// The longest name of an element.
const LONGEST: usize = 12;

/// Where a tag ends: its `>`, which may also stand inside of quotes. The page's end when there is none.
fn end_of_tag(bytes: &[u8], from: usize) -> usize {
    let (mut at, mut is_value) = (from, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'>' => return at,
            b'=' => is_value = true,
            b'"' | b'\'' if is_value => {
                match bytes[at + 1..].iter().position(|other| *other == byte) {
                    Some(length) => at += length + 1,
                    None => return bytes.len(),
                }
                is_value = false;
            }
            _ if byte.is_ascii_whitespace() => {}
            _ => is_value = false,
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(html: &str) -> Vec<String> {
        let show = |token| match token {
            Token::Text(text) => text.to_owned(),
            Token::Open(name, behind) => format!("<{name}|{behind}>"),
            Token::Close(name) => format!("</{name}>"),
        };
        Tokens::new(html).map(show).collect()
    }

    #[test]
    fn pages_are_cut_where_a_browser_would_cut_them() {
        for (html, expected) in [
            ("", &[][..]),
            ("a<B>c</b >d", &["a", "<b|>", "c", "</b>", "d"]),
            ("<a href='x>y' z>t", &["<a| href='x>y' z>", "t"]),
            ("<a title=x\"y>t", &["<a| title=x\"y>", "t"]),
            ("<br/>x", &["<br|/>", "x"]),
            ("1 < 2 <= 3", &["1 ", "< 2 ", "<= 3"]),
            ("a<!-- <b> -->c", &["a", "c"]),
            ("a<!-->b<!--->c", &["a", "b", "c"]),
            ("<!doctype html>x<?php y ?>z</ >w", &["x", "z", "w"]),
            ("a<!-- never", &["a"]),
            ("a<b", &["a", "<b|>"]),
            ("a<b c=\"never>", &["a", "<b| c=\"never>>"]),
            ("<", &["<"]),
            ("<averyveryverylongname x>y", &["<| x>", "y"]),
            ("é<é>", &["é", "<é>"]),
        ] {
            assert_eq!(shown(html), expected, "{html}");
        }
    }

    #[test]
    fn raw_content_ends_at_its_own_tag_only() {
        let mut tokens = Tokens::new("<script>if (a</b) '</scripted>' </SCRIPT >x");
        tokens.next();
        assert_eq!(tokens.take_raw("script"), "if (a</b) '</scripted>' ");
        assert_eq!(tokens.next(), Some(Token::Close("script".into())));
        assert_eq!(tokens.next(), Some(Token::Text("x")));
        let mut tokens = Tokens::new("<style>never é");
        tokens.next();
        assert_eq!(tokens.take_raw("style"), "never é");
        assert_eq!(tokens.next(), None);
    }

    #[test]
    fn attributes_are_found_however_they_are_written() {
        for (behind, expected) in [
            (" href=\"/a b\"", Some("/a b")),
            (" class='href=x' HREF = '/a'", Some("/a")),
            (" href=/a/b?c=d&amp;e id=2", Some("/a/b?c=d&e")),
            (" x=1 href", Some("")),
            (" href=", Some("")),
            (" data-href=/a", None),
            ("/", None),
            ("", None),
            (" href=\"never", Some("never")),
            (" =href=/a", None),
            (" é=ü href='ö'", Some("ö")),
        ] {
            assert_eq!(attribute(behind, "href").as_deref(), expected, "{behind}");
        }
    }
}
