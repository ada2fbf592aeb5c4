//! The run directory: what is in it, how it is written and how it is read.
//!
//! - [`names`] file names; [`atomic`] files that appear whole or not at all;
//! - [`lines`] long files read line by line with a bound; [`blocks`] the same for several threads;
//! - [`hashed`] bytes hashed on their way; [`dir`] a finished run directory;
//! - [`claim`] the right to write into one; [`outputs`] the pictures in one; [`bodies`] whole tool results.

mod atomic;
pub(crate) mod blocks;
mod bodies;
mod claim;
mod dir;
mod hashed;
mod lines;
pub mod names;
mod outputs;

pub use atomic::{AtomicFile, sync_dir, write_atomic, write_private};
pub use bodies::{Bodies, BodyError};
pub use claim::{Claim, ClaimError, OnExisting};
pub use dir::{MAX_JSON, OpenError, RunDir, read_bounded};
pub use hashed::{Hashed, digest_file, digest_reader};
pub use lines::{Line, LineError, Lines, MAX_LINE};
pub use outputs::{OutputError, OutputName, load_output};
