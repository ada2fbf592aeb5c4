//! Integration tests of `proofmark-artefact`, one binary for the crate.

// The attribute tells clippy that helpers here are tests too.
#[cfg(test)]
mod diff;
#[cfg(test)]
mod js_hash;
#[cfg(test)]
mod stats;
#[cfg(test)]
mod validate;
#[cfg(test)]
mod yaml;
