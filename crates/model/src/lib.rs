//! How we speak to a model.
//!
//! - [`ask`] what is sent and what comes back, the same for every model;
//! - [`build`] a model out of its name and parameters;
//! - [`offline`] models that need no network: deterministic, and useful to test a pipeline.

pub mod ask;
pub mod build;
pub mod offline;

pub use ask::{Ask, Hint, Model, Reply, Request};
pub use build::{BuildError, BuildModel, check_params};
