//! The bytes Proofmark hashes.
//!
//! Pure functions only: no clock, no files, no environment. Everything that reaches a digest goes
//! through here, so that two machines that hold the same value hold the same bytes.
//!
//! - [`json`]: the strict reader, the RFC 8785 writer and the canonical-form checker.
//! - [`digest`]: SHA-256 as a type.
//! - [`id`]: run ids, sample keys and the time spine that hangs on them.
//! - [`seed`]: named sub-seeds and the one pseudo-random stream we use.
//! - [`merkle`]: one root for many parts, and proofs for each of them.
//! - [`math`]: the functions whose results reach artefacts, the same on every platform.

pub mod digest;
pub mod id;
pub mod json;
pub mod math;
pub mod merkle;
pub mod seed;

pub use digest::{Digest, Hasher};
pub use id::{RunId, SampleKey};
pub use json::{Map, Number, Value, to_value, to_vec};
