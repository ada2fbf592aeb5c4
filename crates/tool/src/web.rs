//! Pages and searches that cannot reach private addresses.

use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_artefact::suite::solver::AgentToolPlan;

use crate::build::Surroundings;
use crate::tool::{Call, Calling, Tool, ToolError};

/// The `web_fetch` tool.
pub struct Fetch {
    definition: ToolPlan,
}

/// The `web_search` tool.
pub struct Search {
    definition: ToolPlan,
}

/// A tool of the web cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    #[error("the environment variable `{0}` is not set")]
    NoKey(String),
}

impl WebError {
    pub fn hint(&self) -> Option<String> {
        None
    }
}

impl Fetch {
    pub fn new(_: &AgentToolPlan, _: &Surroundings) -> Result<Self, WebError> {
        Ok(Self { definition: crate::build::definition("web_fetch", "", &[("url", "string", "", true)]) })
    }
}

impl Search {
    pub fn new(_: &AgentToolPlan, _: &Surroundings) -> Result<Self, WebError> {
        Ok(Self { definition: crate::build::definition("web_search", "", &[("query", "string", "", true)]) })
    }
}

impl Tool for Fetch {
    fn definition(&self) -> &ToolPlan {
        &self.definition
    }

    fn call<'a>(&'a self, _: Call<'a>) -> Calling<'a> {
        Box::pin(async move { Err(ToolError::bad_arguments("not built yet")) })
    }
}

impl Tool for Search {
    fn definition(&self) -> &ToolPlan {
        &self.definition
    }

    fn call<'a>(&'a self, _: Call<'a>) -> Calling<'a> {
        Box::pin(async move { Err(ToolError::bad_arguments("not built yet")) })
    }
}
