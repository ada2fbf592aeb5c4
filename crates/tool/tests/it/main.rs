//! What programs of agents can and cannot do. Needs `bwrap`; `cargo xtask test` installs it.

// The attribute tells clippy that helpers here are tests too.
#[cfg(test)]
mod code;
#[cfg(test)]
mod container;
#[cfg(test)]
mod escape;
#[cfg(test)]
mod excess;
#[cfg(test)]
mod support;
