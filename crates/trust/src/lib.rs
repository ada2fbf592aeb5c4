//! Who vouches for what.
//!
//! - [`key`] Ed25519 keys, their fingerprints, signatures over canonical bytes;
//! - [`policy`] `trust.json`: which key may act in which role, from when to when;
//! - [`cache`] the judge cache: signed judgments that anyone may read and nobody can fake.
//!
//! Nothing here reads the environment, a clock or a source of randomness: `cli` hands in what it needs.

pub mod cache;
pub mod key;
pub mod policy;
