//! What an agent may do, and what confines it.
//!
//! - [`tool`] the shape of every tool: what it is called with, what comes back;
//! - [`workspace`] the files that one sample's tools can see: the item's attachments and nothing else;
//! - [`build`] tools out of a plan; `args` arguments checked; [`output`] results cut to what a model is shown;
//! - [`sandbox`] programs that can reach nothing; `code` Python and shell commands in it;
//! - `file`, `calculator`, `submit` tools that need no program;
//! - [`web`] pages and searches that cannot reach private addresses;
//! - [`mcp`] the tools of MCP servers.

mod args;
pub mod build;
mod calculator;
mod code;
mod file;
pub mod mcp;
pub mod output;
pub mod sandbox;
mod submit;
pub mod tool;
pub mod web;
pub mod workspace;

pub use build::{BuildError, Surroundings, Toolbox};
pub use tool::{Call, Calling, Failure, Tool, ToolError, ToolOutput};
pub use workspace::{Attached, Workspace};
