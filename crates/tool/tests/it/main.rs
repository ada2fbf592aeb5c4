//! What tools of agents, and their programs, can and cannot do. Needs `bwrap`; `cargo xtask test` installs it.

mod escape;
mod excess;
mod mcp;
mod mcp_http;
mod mcp_stdio;
mod support;
