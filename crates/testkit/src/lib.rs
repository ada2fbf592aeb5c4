//! Helpers for Proofmark's own tests; never shipped.
//!
//! - [`command`] the program run as a user would run it, in a folder and an environment of its own;
//! - [`tree`] everything that is in a folder, to see whether something changed it;
//! - [`hub`] a Hugging Face hub that serves a repository from memory, with faults on demand;
//! - [`mcp`] an MCP server, on stdin and stdout or behind an address, with every bad habit on demand;
//! - [`certificate`] certificates of an authority that nobody knows;
//! - [`tls`] a server that puts TLS before another;
//! - [`proxy`] a proxy that counts and remembers what it was asked.

pub mod certificate;
pub mod command;
pub mod hub;
pub mod mcp;
pub mod proxy;
pub mod tls;
pub mod tree;
