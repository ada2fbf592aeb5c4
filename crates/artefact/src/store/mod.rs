//! The run directory: what is in it, how it is written and how it is read.
//!
//! - [`names`] file names; [`atomic`] files that appear whole or not at all;
//! - [`lines`] long files read line by line with a bound; [`dir`] a finished run directory;
//! - [`claim`] the right to write into one.

mod atomic;
mod claim;
mod dir;
mod lines;
pub mod names;

pub use atomic::{AtomicFile, digest_file, sync_dir, write_atomic};
pub use claim::{Claim, ClaimError, OnExisting};
pub use dir::{MAX_JSON, OpenError, RunDir, read_bounded};
pub use lines::{Line, LineError, Lines};
