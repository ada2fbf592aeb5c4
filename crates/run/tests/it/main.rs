//! Integration tests of `proofmark-run`.

// The attribute tells clippy that helpers here are tests too.
#[cfg(test)]
mod dataset;
