//! The strict YAML reader under suites, briefs and tokens, and the writer of `config.resolved.yaml`.
//!
//! YAML 1.2 core and nothing else: `yes`, `on` and dates are strings. What two readers could read in
//! two ways is an error with its place: a key that stands twice, a tag that is not core, a merge
//! key, an integer that loses digits, a second document. Input is hostile: size, depth, the number
//! of nodes and what aliases may copy are bounded.
//!
//! Two things are decided by the parser below us: a closing bracket may stand at its parent's
//! indentation, and characters that YAML calls not printable must be escaped in quotes as well,
//! where JSON allows DEL and the C1 controls raw.
//!
//! - [`load`] text to a [`Node`] tree in which everything knows its place;
//! - [`from_node`] a typed value out of a tree, with every error at the innermost node;
//! - [`YamlError`] what is wrong, where, and what to do; it renders itself with the line it is about;
//! - [`to_text`] a value as block-style YAML that any YAML 1.1 or 1.2 reader reads the same;
//! - [`suggest`] the "did you mean" of every misspelt word.

mod de;
mod emit;
mod error;
mod load;
mod node;
mod problem;
mod render;
mod scalar;
mod suggest;
mod variant;

pub use de::from_node;
pub use emit::to_text;
pub use error::YamlError;
pub use load::{MAX_ALIASES, MAX_BYTES, MAX_COPIED_BYTES, MAX_COPIED_NODES, MAX_DEPTH, MAX_NODES, load, load_bytes};
pub use node::{Key, Node, NodeKind, PathStep, Span};
pub use suggest::suggest;
