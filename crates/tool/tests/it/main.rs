//! What programs of agents can and cannot do. Needs `bwrap`; `cargo xtask test` installs it.

mod escape;
mod excess;
mod support;
