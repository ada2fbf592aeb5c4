//! Integration tests of the `proofmark` command: what a user sees of it.

// The attribute tells clippy that helpers here are tests too.
#[cfg(test)]
mod determinism;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod resume;
#[cfg(test)]
mod support;
