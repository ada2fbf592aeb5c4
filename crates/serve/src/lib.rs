//! What Proofmark serves over HTTP.
//!
//! - [`mock`] a provider that is none: every wire on loopback, with answers and faults that can be foretold.

pub mod mock;
