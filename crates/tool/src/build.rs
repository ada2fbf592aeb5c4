//! Tools out of a plan.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use proofmark_artefact::manifest::ToolEntry;
use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_artefact::suite::solver::{AgentToolPlan, SandboxKind};
use proofmark_canon::{Map, Value};

use crate::calculator::Calculator;
use crate::code::Code;
use crate::file::FileRead;
use crate::mcp::{self, Server};
use crate::sandbox::{Sandbox, SandboxError};
use crate::submit::Submit;
use crate::tool::Tool;
use crate::web;
use crate::workspace::Workspace;

/// Looks up an environment variable.
pub type Variable = dyn Fn(&str) -> Option<String> + Send + Sync;

/// What tools need to know of this machine. `cli` hands it in; nothing here reads the environment.
#[derive(Clone)]
pub struct Surroundings {
    /// Looks up an environment variable.
    pub variable: Arc<Variable>,
    /// Where programs are looked for.
    pub program_path: Option<OsString>,
    /// The suite's root; `{suite}` in commands of MCP servers.
    pub suite_root: PathBuf,
    /// Whether `sandbox: none` may be obeyed.
    pub allow_unsandboxed: bool,
    /// Folders that no tool may see, whatever is mounted: the run directory, caches, key folders.
    pub hidden: Vec<PathBuf>,
    /// Where the folders of samples are made.
    pub scratch: Option<PathBuf>,
}

/// The tools of a task.
#[derive(Default)]
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
    /// By tool: what confines it, and the MCP server that has it.
    origins: Vec<(Option<SandboxKind>, Option<String>)>,
    /// MCP servers. Every sample has a session of its own, so that no sample can tell another one anything.
    servers: Vec<Arc<Server>>,
}

/// A tool cannot be had on this machine. Nothing was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    #[error("the tool `{tool}`: {source}")]
    Sandbox { tool: String, source: SandboxError },
    #[error("the tool `{tool}`: {source}")]
    Web { tool: String, source: web::WebError },
    #[error("the MCP server `{server}`: {source}")]
    Mcp { server: String, source: mcp::McpError },
    #[error("two tools are named `{0}`")]
    Twice(String),
}

impl BuildError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Sandbox { source, .. } => source.hint(),
            Self::Web { source, .. } => source.hint(),
            Self::Mcp { source, .. } => source.hint(),
            Self::Twice(_) => Some("rename the MCP server: its name stands before the names of its tools".to_owned()),
        }
    }
}

impl Toolbox {
    /// Builds what a plan names and checks that it can work here. MCP servers are started once to ask for
    /// their tools, and stopped again.
    pub async fn build(plans: &[AgentToolPlan], world: &Surroundings) -> Result<Self, BuildError> {
        let mut toolbox = Self::default();
        for plan in plans {
            toolbox.add(plan, world).await?;
        }
        let mut names = BTreeMap::new();
        for tool in &toolbox.tools {
            if names.insert(tool.definition().name.clone(), ()).is_some() {
                return Err(BuildError::Twice(tool.definition().name.clone()));
            }
        }
        Ok(toolbox)
    }

    async fn add(&mut self, plan: &AgentToolPlan, world: &Surroundings) -> Result<(), BuildError> {
        let tool = plan.type_name();
        let sandbox = |kind: SandboxKind, limits, timeout| {
            Sandbox::new(kind, limits, timeout, world)
                .map_err(|source| BuildError::Sandbox { tool: tool.to_owned(), source })
        };
        let web_error = |source| BuildError::Web { tool: tool.to_owned(), source };
        let built: Arc<dyn Tool> = match plan {
            AgentToolPlan::FileRead { max_output, timeout } => Arc::new(FileRead::new(*max_output, *timeout)),
            AgentToolPlan::Python { sandbox: kind, limits, max_output, timeout } => {
                Arc::new(Code::python(sandbox(*kind, limits, *timeout)?, *max_output))
            }
            AgentToolPlan::Bash { sandbox: kind, limits, max_output, timeout } => {
                Arc::new(Code::bash(sandbox(*kind, limits, *timeout)?, *max_output))
            }
            AgentToolPlan::Calculator {} => Arc::new(Calculator::new()),
            AgentToolPlan::Submit {} => Arc::new(Submit::new()),
            AgentToolPlan::WebFetch { .. } => Arc::new(web::Fetch::new(plan, world).map_err(web_error)?),
            AgentToolPlan::WebSearch { .. } => Arc::new(web::Search::new(plan, world).map_err(web_error)?),
            AgentToolPlan::Mcp { name, .. } => {
                let started = Server::discover(plan, world).await;
                let server = started.map_err(|source| BuildError::Mcp { server: name.clone(), source })?;
                let server = Arc::new(server);
                let tools = Server::tools(&server);
                self.origins.extend(tools.iter().map(|_| (plan.sandbox(), Some(name.clone()))));
                self.tools.extend(tools);
                self.servers.push(server);
                return Ok(());
            }
        };
        self.tools.push(built);
        self.origins.push((plan.sandbox(), None));
        Ok(())
    }

    /// What the model is told, in the suite's order.
    pub fn definitions(&self) -> Vec<ToolPlan> {
        self.tools.iter().map(|tool| tool.definition().clone()).collect()
    }

    /// The same with where each tool is from and what confines it.
    pub fn catalogue(&self) -> Vec<ToolEntry> {
        let entries = self.tools.iter().zip(&self.origins).map(|(tool, (sandbox, server))| {
            let ToolPlan { name, description, parameters } = tool.definition().clone();
            ToolEntry { description, name, parameters, sandbox: *sandbox, server: server.clone() }
        });
        entries.collect()
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.definition().name == name)
    }

    /// Ends whatever runs for a sample. To be called when the sample ends, before its files are removed.
    pub async fn leave(&self, workspace: &Workspace) {
        for server in &self.servers {
            server.leave(workspace).await;
        }
    }
}

/// A tool's definition with a schema of flat arguments: name, type, description, whether it is needed.
pub(crate) fn definition(name: &str, description: &str, args: &[(&str, &str, &str, bool)]) -> ToolPlan {
    let mut properties = Map::new();
    for (arg, kind, about, _) in args {
        let mut property = Map::new();
        property.insert("description", *about);
        property.insert("type", *kind);
        properties.insert(*arg, Value::Object(property));
    }
    let needed: Vec<Value> = args.iter().filter(|(.., needed)| *needed).map(|(arg, ..)| (*arg).into()).collect();
    let mut parameters = Map::new();
    parameters.insert("additionalProperties", false);
    parameters.insert("properties", Value::Object(properties));
    parameters.insert("required", needed);
    parameters.insert("type", "object");
    ToolPlan { name: name.to_owned(), description: description.to_owned(), parameters }
}
