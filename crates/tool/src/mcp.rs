//! The tools of MCP servers.

use std::sync::Arc;

use proofmark_artefact::suite::solver::AgentToolPlan;

use crate::build::Surroundings;
use crate::tool::Tool;
use crate::workspace::Workspace;

/// A server whose tools are known. A session is started for each sample that calls one.
pub struct Server {}

/// A server cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    #[error("it did not start: {0}")]
    Start(String),
}

impl McpError {
    pub fn hint(&self) -> Option<String> {
        None
    }
}

impl Server {
    /// Starts it, asks for its tools and stops it.
    pub async fn discover(_: &AgentToolPlan, _: &Surroundings) -> Result<Self, McpError> {
        Err(McpError::Start("not built yet".to_owned()))
    }

    pub fn tools(_: &Arc<Self>) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    /// Ends the session of a sample.
    pub async fn leave(&self, _: &Workspace) {}
}
