//! JSON pointers (RFC 6901).

use proofmark_canon::Value;

/// A place in a JSON document: the unescaped names of its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer(Vec<String>);

impl Pointer {
    /// Returns `None` for a text that is no pointer.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self(Vec::new()));
        }
        text.strip_prefix('/')?.split('/').map(unescape).collect::<Option<_>>().map(Self)
    }

    pub(super) fn find<'v>(&self, document: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(document, |value, name| match value {
            Value::Object(members) => members.get(name),
            Value::Array(items) => items.get(index(name)?),
            _ => None,
        })
    }
}

/// RFC 6901 §4: `~1` is a slash, `~0` a tilde, and nothing else may follow a tilde.
fn unescape(token: &str) -> Option<String> {
    let mut parts = token.split('~');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (c, rest) = match part.as_bytes().first()? {
            b'0' => ('~', &part[1..]),
            b'1' => ('/', &part[1..]),
            _ => return None,
        };
        name.push(c);
        name.push_str(rest);
    }
    Some(name)
}

/// RFC 6901 §4: digits without a leading zero.
fn index(token: &str) -> Option<usize> {
    let is_plain = token.bytes().all(|byte| byte.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    if is_plain { token.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard_hold() {
        let document = proofmark_canon::json::parse(
            br#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#,
        )
        .unwrap();
        for (pointer, want) in [
            ("/foo", r#"["bar","baz"]"#),
            ("/foo/0", r#""bar""#),
            ("/", "0"),
            ("/a~1b", "1"),
            ("/c%d", "2"),
            ("/e^f", "3"),
            ("/g|h", "4"),
            ("/i\\j", "5"),
            ("/k\"l", "6"),
            ("/ ", "7"),
            ("/m~0n", "8"),
        ] {
            let found = Pointer::parse(pointer).unwrap().find(&document).map(ToString::to_string);
            assert_eq!(found.as_deref(), Some(want), "{pointer}");
        }
        assert_eq!(Pointer::parse("").unwrap().find(&document), Some(&document));
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        let document = proofmark_canon::json::parse(br#"{"a":[1],"b":"text"}"#).unwrap();
        for pointer in ["/c", "/a/1", "/a/00", "/a/-", "/a/+0", "/a/", "/b/0", "/a/99999999999999999999"] {
            assert_eq!(Pointer::parse(pointer).unwrap().find(&document), None, "{pointer}");
        }
    }

    #[test]
    fn other_texts_are_no_pointers() {
        for text in ["a", "#/a", "/a~", "/~2", "/~é", " /a"] {
            assert_eq!(Pointer::parse(text), None, "{text}");
        }
        assert_eq!(Pointer::parse("/~01"), Some(Pointer(vec!["~1".to_owned()])));
    }
}
