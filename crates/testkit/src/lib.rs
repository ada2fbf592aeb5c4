//! Helpers for Proofmark's own tests; never shipped.
//!
//! - [`hub`] a Hugging Face hub that serves a repository from memory, with faults on demand.

pub mod hub;
