//! Paths inside artefacts.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::text::excerpt;

/// A path relative to a root: UTF-8, `/` between parts, no `..`, no `.`, never absolute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(String);

/// The text is not a path inside the root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {why}; expected a path inside the suite's folder")]
pub struct RelPathError {
    text: String,
    why: &'static str,
}

impl RelPath {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns where the path is under a root.
    pub fn under(&self, root: &Path) -> PathBuf {
        root.join(&self.0)
    }

    /// Whether the file is one whose content is parsed for its structured hash.
    pub fn is_structured(&self) -> bool {
        let extension = self.0.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        matches!(extension.as_str(), "yml" | "yaml" | "json")
    }
}

impl FromStr for RelPath {
    type Err = RelPathError;

    fn from_str(text: &str) -> Result<Self, RelPathError> {
        let refuse = |why| RelPathError { text: excerpt(text, 120), why };
        if text.is_empty() {
            return Err(refuse("is empty"));
        }
        if text.starts_with('/') || text.contains('\\') || text.as_bytes().get(1) == Some(&b':') {
            return Err(refuse("is not relative with `/` between its parts"));
        }
        if text.chars().any(char::is_control) {
            return Err(refuse("holds a control character"));
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return Err(refuse("leaves the folder"));
        }
        if parts.is_empty() {
            return Err(refuse("names no file"));
        }
        Ok(Self(parts.join("/")))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for RelPath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for RelPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for RelPath {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RelPath".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "minLength": 1, "description": "A path relative to the suite's folder, with `/` between its parts"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_leave_its_root() {
        for text in ["", "/etc/passwd", "../x", "a/../../x", "a\\b", "C:/x", ".", "a\0b"] {
            assert!(text.parse::<RelPath>().is_err(), "{text}");
        }
        assert_eq!("./a//b/c.yml".parse::<RelPath>().unwrap().as_str(), "a/b/c.yml");
    }
}
