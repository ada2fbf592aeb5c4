//! Names of files in a package.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use icu_normalizer::DecomposingNormalizerBorrowed;
use proofmark_artefact::text::is_deceptive;

/// A file's name in a package: relative, `/` between its parts, and one that means the same file on every system.
///
/// Nothing is tidied up: a text that would have to be is no name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// Why a text is not a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    #[error("leaves the package's folder")]
    Leaves,
    #[error("is absolute")]
    Absolute,
    #[error("is empty or has an empty part")]
    EmptyPart,
    #[error("has a part `.`")]
    Here,
    #[error("holds a backslash")]
    Backslash,
    #[error("holds a control character or one that cannot be seen")]
    Unseen,
    #[error("is not UTF-8")]
    NotUtf8,
    #[error("holds a character that not every system allows")]
    Character,
    #[error("has a part that begins or ends with a space, or ends with a full stop")]
    Edge,
    #[error("has a part that is reserved for devices")]
    Reserved,
    #[error("is longer than {MAX_NAME} bytes, or a part of it longer than {MAX_PART}")]
    TooLong,
}

impl NameError {
    /// The stable name of the kind of refusal, for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Leaves => "traversal",
            Self::Absolute => "absolute",
            Self::TooLong => "name_too_long",
            _ => "name",
        }
    }
}

impl Name {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns where the file is under a folder.
    pub fn under(&self, folder: &Path) -> PathBuf {
        folder.join(&self.0)
    }

    /// Returns the folders on the way to the file, the outermost first: `a`, `a/b` for `a/b/c`.
    pub(super) fn folders(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(end, _)| &self.0[..end])
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        check(text)?;
        Ok(Self(text.to_owned()))
    }
}

fn check(text: &str) -> Result<(), NameError> {
    // What a name wants comes before what is wrong with its spelling.
    if text.starts_with(['/', '\\']) || (text.as_bytes().get(1) == Some(&b':') && text.is_char_boundary(1)) {
        return Err(NameError::Absolute);
    }
    if text.split(['/', '\\']).any(|part| part == "..") {
        return Err(NameError::Leaves);
    }
    if text.len() > MAX_NAME {
        return Err(NameError::TooLong);
    }
    text.split('/').try_for_each(check_part)
}

fn check_part(part: &str) -> Result<(), NameError> {
    if part.is_empty() {
        return Err(NameError::EmptyPart);
    }
    if part == "." {
        return Err(NameError::Here);
    }
    if part.len() > MAX_PART {
        return Err(NameError::TooLong);
    }
    for c in part.chars() {
        match c {
            '\\' => return Err(NameError::Backslash),
            c if is_deceptive(c) => return Err(NameError::Unseen),
            ':' | '*' | '?' | '"' | '<' | '>' | '|' => return Err(NameError::Character),
            _ => {}
        }
    }
    if part.starts_with(' ') || part.ends_with([' ', '.']) {
        return Err(NameError::Edge);
    }
    if is_reserved(part) { Err(NameError::Reserved) } else { Ok(()) }
}

/// Whether Windows opens a device for it, with whatever follows the first full stop.
fn is_reserved(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default().trim_end();
    let stem = stem.to_uppercase();
    if matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" | "CLOCK$") {
        return true;
    }
    let number = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    let mut characters = number.unwrap_or_default().chars();
    let is_one = matches!(characters.next(), Some('0'..='9' | '¹' | '²' | '³'));
    is_one && characters.next().is_none()
}

/// Returns a form in which names are equal that a file system may take for one: without case, accents decomposed, and
/// without the joiners, which HFS+ passes over.
pub(super) fn folded(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        return if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(name.to_ascii_lowercase())
        } else {
            Cow::Borrowed(name)
        };
    }
    let decomposed = DecomposingNormalizerBorrowed::new_nfd();
    // Down, up and down again joins what one of them would not: `ẞ` and `ß` with `ss`, the long s with `s`.
    let lower = decomposed.normalize(name).to_lowercase().to_uppercase().to_lowercase();
    let mut plain = lower.replace(['\u{200c}', '\u{200d}'], "");
    if plain.contains('ς') {
        // The final sigma is lower case already.
        plain = plain.replace('ς', "σ");
    }
    Cow::Owned(decomposed.normalize(&plain).into_owned())
}

/// Longer names do not fit the two fields of a ustar header.
pub(super) const MAX_NAME: usize = 256;
/// The last part must fit the header's field for names.
pub(super) const MAX_PART: usize = 100;

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for Name {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|error| {
            serde::de::Error::custom(format_args!("`{}` {error}", proofmark_artefact::text::excerpt(&text, 120)))
        })
    }
}

impl schemars::JsonSchema for Name {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Name".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string", "minLength": 1, "maxLength": MAX_NAME,
            "description": "The name of a file in the package, relative to its folder, with `/` between its parts"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_means_the_same_file_everywhere_or_is_none() {
        let long = "x".repeat(101);
        let deep = "d/".repeat(128) + "x";
        for (text, want) in [
            ("", NameError::EmptyPart),
            ("a//b", NameError::EmptyPart),
            ("a/", NameError::EmptyPart),
            (".", NameError::Here),
            ("a/./b", NameError::Here),
            ("..", NameError::Leaves),
            ("../a", NameError::Leaves),
            ("a/../b", NameError::Leaves),
            ("a\\..\\b", NameError::Leaves),
            ("/etc/passwd", NameError::Absolute),
            ("\\\\host\\share", NameError::Absolute),
            ("C:/x", NameError::Absolute),
            ("c:x", NameError::Absolute),
            ("a\\b", NameError::Backslash),
            ("a\0b", NameError::Unseen),
            ("a\nb", NameError::Unseen),
            ("a\u{1b}[2J", NameError::Unseen),
            ("gpj\u{202e}.exe", NameError::Unseen),
            ("a\u{200b}b", NameError::Unseen),
            ("records.jsonl:hidden", NameError::Character),
            ("a*", NameError::Character),
            ("what?", NameError::Character),
            ("a|b", NameError::Character),
            ("a.", NameError::Edge),
            ("a /b", NameError::Edge),
            (" a", NameError::Edge),
            ("...", NameError::Edge),
            ("nul", NameError::Reserved),
            ("inputs/Aux.txt", NameError::Reserved),
            ("con .tar.gz", NameError::Reserved),
            ("COM1", NameError::Reserved),
            ("lpt\u{b9}.x", NameError::Reserved),
            ("CONIN$", NameError::Reserved),
            (long.as_str(), NameError::TooLong),
            (deep.as_str(), NameError::TooLong),
        ] {
            assert_eq!(text.parse::<Name>(), Err(want), "{text:?}");
        }
        for text in [
            "records.jsonl",
            "outputs/0a.png",
            "inputs/data/Zażółć gęślą.pdf",
            ".hidden",
            "a..b",
            "com10",
            "console",
            "lpt",
            "北京/👩\u{200d}🚀",
        ] {
            assert_eq!(text.parse::<Name>().unwrap().as_str(), text);
        }
    }

    #[test]
    fn names_that_a_file_system_may_confuse_fold_to_one() {
        for (a, b) in [
            ("README.md", "readme.MD"),
            ("\u{e9}", "e\u{301}"),
            ("\u{c9}", "e\u{301}"),
            ("stra\u{df}e", "STRASSE"),
            ("\u{17f}", "S"),
            ("\u{212a}", "k"),
            ("\u{fb01}le", "file"),
            ("\u{1e9e}", "ss"),
            ("\u{3a3}", "\u{3c2}"),
            ("\u{390}", "\u{3b9}\u{308}\u{301}"),
            ("\u{ac00}", "\u{1100}\u{1161}"),
            ("re\u{200c}cords", "records"),
        ] {
            assert_eq!(folded(a), folded(b), "{a} {b}");
        }
        for (a, b) in [("a", "b"), ("\u{e9}", "e"), ("x\u{b2}", "x2"), ("\u{430}", "a")] {
            assert_ne!(folded(a), folded(b), "{a} {b}");
        }
    }

    #[test]
    fn a_name_in_json_is_checked_too() {
        let parse = |text: &str| proofmark_canon::json::parse(text.as_bytes()).unwrap();
        let name: Name = proofmark_canon::json::from_value(&parse("\"a/b\"")).unwrap();
        assert_eq!(name.folders().collect::<Vec<_>>(), ["a"]);
        assert!(proofmark_canon::json::from_value::<Name>(&parse("\"../b\"")).is_err());
    }

    proptest! {
        #[test]
        fn a_name_stays_under_its_folder(text in "[a./\\\\ :\\PC]{0,20}") {
            if let Ok(name) = text.parse::<Name>() {
                let path = name.under(Path::new("/root"));
                prop_assert!(path.components().skip(2).all(|part| matches!(part, std::path::Component::Normal(_))));
                prop_assert!(path.starts_with("/root") && path.components().count() == 2 + text.split('/').count());
            }
        }

        #[test]
        fn folding_ignores_case_and_is_done_once(text in "\\PC{0,12}") {
            let once = folded(&text).into_owned();
            prop_assert_eq!(folded(&text.to_uppercase()).into_owned(), once.as_str());
            prop_assert_eq!(folded(&once).into_owned(), once);
        }
    }
}
