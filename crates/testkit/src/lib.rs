//! Helpers for Proofmark's own tests; never shipped.
//!
//! - [`command`] the program run as a user would run it, in a folder and an environment of its own;
//! - [`tree`] everything that is in a folder, to see whether something changed it;
//! - [`hub`] a Hugging Face hub that serves a repository from memory, with faults on demand.

pub mod command;
pub mod hub;
pub mod tree;
