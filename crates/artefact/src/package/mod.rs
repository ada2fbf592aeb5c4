//! Sealed packages: the shapes of what is in one and of what is said about one.
//!
//! How a package is made and checked is the business of the crate `package`. Fields are declared in canonical order.
//!
//! - [`contents`] `package.json`, which lists every file; [`metadata`] `metadata.json`, what was run;
//! - [`predicate`] what a signer says; [`verdict`] what came of checking; [`format`] that as text, JSON or annotations.

pub mod contents;
pub mod format;
pub mod metadata;
pub mod names;
pub mod predicate;
pub mod verdict;

pub use contents::{Contents, FileEntry, FileRole, PACKAGE_FORMAT, PACKAGE_VERSION};
pub use metadata::{METADATA_FORMAT, METADATA_VERSION, Metadata};
pub use predicate::{Allowance, EVAL_RUN, Inputs, Predicate};
pub use verdict::{Stage, Verdict};
