//! The witness of a run: `report.replay.json`, and `report.md`, which is derived from it.
//!
//! The witness says what happened this time, so that a stranger can check which inputs a run ate and give the same
//! command again. This module owns its shape, its writing, and how its bytes are read; what other people's blocks mean is
//! left to others.
//!
//! - [`block`] the shape; [`build`] a block out of facts; [`place`] paths that say nothing about the machine;
//! - [`sidecar`] a file that may be larger than memory, read by `sieve` through a `window`;
//! - [`requests`] the providers' names of the calls that were answered, `located` in the telemetry;
//! - [`pins`] the digests of a run's files;
//! - [`redact`] secrets out of command lines and addresses; [`shell`] a command that can be pasted;
//! - [`markdown`] `report.md`, and the part of it that is the block.

pub mod block;
pub mod build;
mod located;
pub mod markdown;
pub mod pins;
pub mod place;
pub mod redact;
pub mod requests;
mod shell;
pub mod sidecar;
#[cfg(test)]
mod sidecar_tests;
mod sieve;
#[cfg(test)]
pub(crate) mod testing;
mod window;

pub use block::{Block, REPLAY_SCHEMA};
pub use build::{Facts, GitState, HubAttachments, Invocation, ModelFacts, TypedPath, build, start};
pub use place::Ground;
pub use sidecar::Sidecar;
