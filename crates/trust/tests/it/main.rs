//! What takes several processes.

// The attribute tells clippy that helpers here are tests too.
#[cfg(test)]
mod cache;
