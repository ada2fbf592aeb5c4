//! As much of XML as a spreadsheet needs: tags, attributes and text, one after the other.

/// A piece of a document. Names are without their prefix.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Open { name: &'a str, attributes: &'a str },
    Close { name: &'a str },
    Text(String),
}

/// Reads pieces from left to right. What is not well-formed ends the document.
pub(super) struct Reader<'a> {
    rest: &'a str,
    /// The name of a tag that was closed where it was opened.
    closing: Option<&'a str>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, closing: None }
    }

    fn tag(&mut self, inside: &'a str) -> Piece<'a> {
        if let Some(name) = inside.strip_prefix('/') {
            return Piece::Close { name: local(name.trim()) };
        }
        let (inside, is_closed) = match inside.strip_suffix('/') {
            Some(inside) => (inside, true),
            None => (inside, false),
        };
        let end = inside.find(|c: char| c.is_ascii_whitespace()).unwrap_or(inside.len());
        let (name, attributes) = inside.split_at(end);
        let name = local(name);
        self.closing = is_closed.then_some(name);
        Piece::Open { name, attributes }
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if let Some(name) = self.closing.take() {
            return Some(Piece::Close { name });
        }
        loop {
            if !self.rest.starts_with('<') {
                let end = self.rest.find('<')?;
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                return Some(Piece::Text(decode(text)));
            }
            if let Some(rest) = self.rest.strip_prefix("<!--") {
                self.rest = rest.split_once("-->")?.1;
            } else if let Some(rest) = self.rest.strip_prefix("<![CDATA[") {
                let (text, rest) = rest.split_once("]]>")?;
                self.rest = rest;
                return Some(Piece::Text(text.to_owned()));
            } else if self.rest.starts_with("<?") || self.rest.starts_with("<!") {
                // A declaration of types with entities is passed over: nothing is expanded.
                self.rest = self.rest.split_once('>')?.1;
            } else {
                let end = end_of_tag(self.rest)?;
                let inside = self.rest.get(1..end)?;
                self.rest = self.rest.get(end + 1..)?;
                return Some(self.tag(inside));
            }
        }
    }
}

/// An attribute's value, by its name without prefix.
pub(super) fn attribute(attributes: &str, name: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        let (key, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, behind) = after.get(1..)?.split_once(quote)?;
        if local(key.trim()) == name {
            return Some(decode(value));
        }
        rest = behind;
    }
}

/// Where a tag's `>` is: not in the value of an attribute.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    text.bytes().position(|byte| {
        match (quote, byte) {
            (None, b'>') => return true,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
        false
    })
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// Replaces the five entities and references to characters. Others stay as they are.
fn decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        // The longest is `&#x10FFFF;`.
        let end = after.bytes().take(10).position(|byte| byte == b';');
        let known = end.and_then(|end| Some((entity(after.get(..end)?)?, after.get(end + 1..)?)));
        match known {
            Some((c, behind)) => {
                out.push(c);
                rest = behind;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_comes_in_pieces() {
        let text = "<?xml version=\"1.0\"?><!-- <x> --><a:r k=\"1 &gt; '0'\" x:id='&#65;>'><t/>b &amp; c&#x20AC;&no;<![CDATA[<d>]]></a:r>";
        let pieces: Vec<String> = Reader::new(text)
            .map(|piece| match piece {
                Piece::Open { name, attributes } => {
                    format!("+{name} {:?} {:?}", attribute(attributes, "k"), attribute(attributes, "id"))
                }
                Piece::Close { name } => format!("-{name}"),
                Piece::Text(text) => text,
            })
            .collect();
        let expected = ["+r Some(\"1 > '0'\") Some(\"A>\")", "+t None None", "-t", "b & c€&no;", "<d>", "-r"];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn what_is_not_well_formed_ends_the_document() {
        for text in ["<a", "<a b=\"", "<!-- x", "<![CDATA[ x", "text", "", "<é", "<a b='x\">"] {
            assert_eq!(Reader::new(text).count(), 0, "{text}");
        }
        assert_eq!(attribute(" é=x y", "y"), None);
    }
}
