//! Tool calls that reach where they must not.

use proofmark_canon::Value;

use super::forbidden::{Forbidden, Place};

/// A place that a call touches, and how that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    pub place: Place,
    /// What was found, as the call's author hid it and written out; at most 200 bytes.
    pub what: String,
    /// Whether it was written so as not to be seen: encoded, put together from pieces, as a pattern.
    pub is_hidden: bool,
}

/// What a tool call touches that it must not.
pub fn touches(_tool: &str, _args: &Value, _forbidden: &Forbidden) -> Option<Touch> {
    None
}
