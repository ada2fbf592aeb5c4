//! One test binary for the crate.

mod yaml;
