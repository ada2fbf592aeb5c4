//! How we speak to a model.
//!
//! - [`ask`] what is sent and what comes back, the same for every model;
//! - [`build`] a model out of its name and parameters;
//! - [`class`] the ways in which a question can fail; [`secret`] keys; `params` what parameters may be;
//! - [`preset`] the providers we know; `wire` their languages, as pure functions; `transport` HTTP, limits, retries;
//! - `runner` programs that answer; [`cassette`] calls that were kept, to be answered again;
//! - `recorded` models that cannot be asked: their answers are given;
//! - [`offline`] models that need no network: deterministic, and useful to test a pipeline.

pub mod ask;
pub mod build;
pub mod cassette;
pub mod class;
#[cfg(test)]
mod docs;
pub mod offline;
mod params;
pub mod preset;
pub mod price;
mod recorded;
mod runner;
pub mod secret;
mod transport;
mod wire;

pub use ask::{Ask, Asked, Asking, AttemptLog, Blob, CUT, File, Hint, Model, Reply, Request, Stop, Turn};
pub use build::{BuildError, BuildModel, SeedUse, Surroundings, check_params, seed_use};
pub use class::Class;
pub use recorded::Recorded;
pub use runner::{KnownProgram, known_programs};
pub use secret::Secret;
