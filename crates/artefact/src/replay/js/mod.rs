//! The structured hash as the JavaScript reference of the replay contract computes it, for old blocks.
//!
//! The reference reads YAML with a library that knows YAML 1.2 core, YAML 1.1 after a directive, and a few further
//! tags; sorts the keys of every object; and writes the result with `JSON.stringify`. On the way it loses things: a
//! date, a set or an ordered map becomes `{}`, a number that is not finite becomes `null`, a `__proto__` key is
//! dropped. Two documents then share a hash, and the hash pins neither. [`read`] gives the same bytes and names every
//! such [`Loss`]; new blocks never use this.
//!
//! What the reference does in corners that no old block has (a date as a key, a symbol as a value) is refused, not
//! imitated: a refusal can only make a check fail.
//!
//! - [`tree`] events of the parser to a tree with aliases; [`scalar`] what a scalar says;
//! - [`convert`] the tree to JavaScript values; [`write`] those to bytes; [`surrogate`] halves of characters.

mod convert;
mod scalar;
mod surrogate;
mod tree;
mod write;

use std::collections::BTreeSet;
use std::fmt;

use proofmark_canon::Digest;

/// The canonical bytes that the reference hashes, and what they do not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsForm {
    pub canonical: Vec<u8>,
    pub losses: BTreeSet<Loss>,
}

impl JsForm {
    pub fn digest(&self) -> Digest {
        Digest::of(&self.canonical)
    }
}

/// Reads a document as the reference does.
pub fn read(bytes: &[u8]) -> Result<JsForm, JsError> {
    if bytes.len() > crate::yaml::MAX_BYTES {
        return Err(JsError::too_large());
    }
    let text = std::str::from_utf8(bytes).map_err(|_| JsError::new("the document is not UTF-8"))?;
    let mut losses = BTreeSet::new();
    let tree = tree::parse(text, &mut losses)?;
    let value = convert::convert(&tree, &mut losses)?;
    let canonical = write::canonical(&value, &mut losses)?;
    Ok(JsForm { canonical, losses })
}

/// A way in which different documents get the same hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// A date or a time is hashed as `{}`.
    Date,
    /// A set is hashed as `{}`.
    Set,
    /// An ordered map is hashed as `{}`.
    OrderedMap,
    /// What stands under `__proto__` is not hashed.
    Proto,
    /// An infinity or a NaN is hashed as `null`.
    NotFinite,
    /// An integer is rounded.
    Digits,
    /// A tag that means nothing to the reference is dropped.
    Tag,
    /// Bytes are hashed as a mapping of positions to numbers.
    Bytes,
    /// A key that is no text is hashed as one, or two keys become one.
    Key,
    /// `null` is hashed as an infinity or a NaN would be.
    Null,
    /// `{}` is hashed as any date, set or ordered map would be.
    EmptyMapping,
}

impl Loss {
    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Date => "date",
            Self::Set => "set",
            Self::OrderedMap => "ordered-map",
            Self::Proto => "proto",
            Self::NotFinite => "not-finite",
            Self::Digits => "digits",
            Self::Tag => "tag",
            Self::Bytes => "bytes",
            Self::Key => "key",
            Self::Null => "null",
            Self::EmptyMapping => "empty-mapping",
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Date => "a date is hashed as `{}`, whichever date it is",
            Self::Set => "a set is hashed as `{}`, whatever is in it",
            Self::OrderedMap => "an ordered map is hashed as `{}`, whatever is in it",
            Self::Proto => "what stands under `__proto__` is not hashed",
            Self::NotFinite => "an infinity or a NaN is hashed as `null`",
            Self::Digits => "an integer beyond 2^53 is hashed rounded",
            Self::Tag => "a tag is dropped",
            Self::Bytes => "bytes are hashed as a mapping of positions to numbers",
            Self::Key => "a key that is not text is hashed as text",
            Self::Null => "`null` is hashed as an infinity or a NaN is",
            Self::EmptyMapping => "`{}` is hashed as a date, a set or an ordered map is",
        })
    }
}

/// The reference would not read the document, or we do not follow it there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JsError {
    pub message: String,
}

impl JsError {
    fn new(message: impl AsRef<str>) -> Self {
        Self { message: crate::text::escaped(message.as_ref()) }
    }

    pub(super) fn too_large() -> Self {
        Self::new(format!("the document has more than {} bytes", crate::yaml::MAX_BYTES))
    }
}
