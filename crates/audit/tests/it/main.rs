//! The audit as a whole, over files.

// The attribute tells clippy that helpers here are tests too.
#[cfg(test)]
mod cases;
#[cfg(test)]
mod shapes;
