//! What tools of agents, and their programs, can and cannot do. Needs `bwrap`; `cargo xtask test` installs it.

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
mod mcp;
#[cfg(test)]
mod mcp_http;
#[cfg(test)]
mod mcp_stdio;
#[cfg(test)]
mod support;
