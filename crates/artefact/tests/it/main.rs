//! One test binary for the crate.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod yaml;
