//! Canonical JSON (RFC 8785).
//!
//! - [`value`] the value tree, which cannot hold what canonical JSON cannot say;
//! - [`read`] the strict reader;
//! - [`write`] canonical text of a value;
//! - [`ser`] canonical text of anything that is `Serialize`;
//! - [`name`] names of members, for the same;
//! - [`de`] typed values out of a tree;
//! - [`check`] whether bytes already are canonical, without building anything.

mod check;
mod de;
mod name;
mod read;
mod ser;
mod special;
mod value;
mod write;

pub use check::{NotCanonical, check_canonical};
pub use de::{ShapeError, from_value};
pub use read::{Integers, MAX_DEPTH, ParseError, ParseErrorKind, parse, parse_bounded, parse_with};
pub use ser::{EncodeError, to_value, to_vec, to_writer};
pub use value::{Map, Number, Value, cmp_utf16};
pub use write::{append_count, append_number, append_string};
