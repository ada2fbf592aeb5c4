//! Tools as an agent uses them.

mod mcp;
mod mcp_http;
mod mcp_stdio;
