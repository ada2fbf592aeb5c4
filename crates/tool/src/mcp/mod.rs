//! The tools of MCP servers.
//!
//! - [`Server`] a server whose tools are known, and the sessions that samples have with it;
//! - `session` one conversation, over `process` (a program, confined) or `http` (an address);
//! - `definition` what a server says about its tools, made fit for a model and a fingerprint;
//! - `meter` how much a server may send; `result` what a call gave; `error` why a server cannot be had.

mod definition;
mod error;
mod http;
mod meter;
mod process;
mod result;
mod server;
mod session;

pub use error::{McpError, Said};
pub use server::Server;
