//! A small MCP server, written without any SDK, that can be told to misbehave.
//!
//! - [`brain`] what it knows and answers, the same over every way to it;
//! - [`stdio`] a program on stdin and stdout;
//! - [`http`] a server behind an address, a brain for each session.

pub mod brain;
pub mod http;
pub mod stdio;
