//! The witness of a run: `report.replay.json`, and `report.md`, which is derived from it.
//!
//! The witness says what happened this time, so that a stranger can check which inputs a run ate and give the same
//! command again. This module owns its shape and its writing; reading other people's blocks is left to others.
//!
//! - [`block`] the shape; [`build`] a block out of facts; [`place`] paths that say nothing about the machine;
//! - [`requests`] the providers' names of the calls that were answered; [`pins`] the digests of a run's files;
//! - [`redact`] secrets out of command lines and addresses; [`shell`] a command that can be pasted;
//! - [`markdown`] `report.md`, and the part of it that is the block.

pub mod block;
pub mod build;
pub mod markdown;
pub mod pins;
pub mod place;
pub mod redact;
pub mod requests;
mod shell;
#[cfg(test)]
pub(crate) mod testing;

pub use block::{Block, REPLAY_SCHEMA};
pub use build::{Facts, GitState, HubAttachments, Invocation, ModelFacts, TypedPath, build, start};
pub use place::Ground;
