//! A server whose tools are known, and the sessions that samples have with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_artefact::suite::solver::{AgentToolPlan, SandboxKind};
use proofmark_artefact::text::excerpt;
use proofmark_canon::Value;

use super::definition::{Known, known};
use super::error::McpError;
use super::http::Address;
use super::process::{Program, Wanted};
use super::result;
use super::session::{CallError, Greeting, Session, Way};
use crate::build::Surroundings;
use crate::sandbox::Sandbox;
use crate::tool::{Call, Calling, Failure, Tool, ToolError, ToolOutput};
use crate::workspace::Workspace;

/// A server whose tools are known. A session is started for each sample that calls one.
pub struct Server {
    name: String,
    way: Way,
    greeting: Greeting,
    allow: Option<Vec<String>>,
    known: Vec<Known>,
    /// Keys that the server was given and that must not come back in a result.
    secrets: Vec<String>,
    max_output: u64,
    timeout: Duration,
    /// By [`Workspace::id`]. Looked up, never walked.
    sessions: Mutex<BTreeMap<u64, Place>>,
}

/// A sample's session while nobody uses it. A call takes it away and puts it back when all went well, so that a call
/// that is given up in the middle takes the session with it.
type Place = Arc<tokio::sync::Mutex<Option<Session>>>;

impl Server {
    /// Starts it, asks for its tools and stops it.
    pub async fn discover(plan: &AgentToolPlan, world: &Surroundings) -> Result<Self, McpError> {
        let AgentToolPlan::Mcp {
            name,
            command,
            files,
            env,
            sandbox,
            limits,
            url,
            api_key_env,
            allow,
            max_output,
            timeout,
        } = plan
        else {
            return Err(McpError::NoTools);
        };
        let way = match (command, url) {
            (Some(command), _) => {
                let confined = Sandbox::new(*sandbox, limits, *timeout, world)?;
                let program = Program::new(&Wanted { command, files, env }, confined, world)?;
                if *sandbox != SandboxKind::Container {
                    program.check_presence(world)?;
                }
                Way::Program(program)
            }
            (None, Some(url)) => Way::Address(Address::new(url, api_key_env.as_deref(), world)?),
            (None, None) => return Err(McpError::NoTools),
        };
        let mut server = Self {
            name: name.clone(),
            way,
            greeting: Greeting::Unknown,
            allow: allow.clone(),
            known: Vec::new(),
            secrets: secrets(api_key_env.iter().chain(env), world),
            max_output: *max_output,
            timeout: Duration::try_from_secs_f64(*timeout).unwrap_or(LONGEST),
            sessions: Mutex::default(),
        };
        let workspace = Workspace::new(Arc::default(), world.scratch.clone());
        let session = Session::open(&server.way, &workspace, server.greeting, server.timeout).await?;
        let (greeting, listed) = (session.greeting(), session.list(server.timeout).await);
        session.end().await;
        server.greeting = greeting;
        server.known = known(&server.name, listed?, server.allow.as_deref())?;
        Ok(server)
    }

    pub fn tools(server: &Arc<Self>) -> Vec<Arc<dyn Tool>> {
        let tool =
            |known: &Known| -> Arc<dyn Tool> { Arc::new(McpTool { server: Arc::clone(server), known: known.clone() }) };
        server.known.iter().map(tool).collect()
    }

    /// Ends the session of a sample.
    pub async fn leave(&self, workspace: &Workspace) {
        let place = self.lock().remove(&workspace.id());
        if let Some(place) = place
            && let Some(session) = place.lock().await.take()
        {
            session.end().await;
        }
    }

    async fn call(&self, tool: &str, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        let Value::Object(args) = call.args else {
            return Err(ToolError::bad_arguments(format!(
                "expected an object of arguments, found {}",
                call.args.kind()
            )));
        };
        let place = Arc::clone(self.lock().entry(call.workspace.id()).or_default());
        // Calls of one sample follow one another: what they find does not depend on who is faster.
        let mut place = place.lock().await;
        let session = match place.take() {
            Some(session) if !session.is_changed() => session,
            Some(session) => self.checked(session).await?,
            None => {
                let opened = Session::open(&self.way, call.workspace, self.greeting, self.timeout).await;
                self.checked(opened.map_err(|error| self.unavailable(&error))?).await?
            }
        };
        match session.call(tool, args, self.timeout).await {
            Ok(given) => {
                *place = Some(session);
                Ok(result::output(given, &self.secrets, self.max_output))
            }
            Err(error) => {
                // A server that answers is still of use.
                match error {
                    CallError::Refused { .. } | CallError::Nonsense | CallError::Demands => *place = Some(session),
                    CallError::Timeout | CallError::Flood | CallError::Gone => session.end().await,
                }
                Err(self.failed(error))
            }
        }
    }

    /// A server may not tell a model other things than it told us when the run began.
    async fn checked(&self, session: Session) -> Result<Session, ToolError> {
        let listed = session.list(self.timeout).await;
        let error = match listed.map(|listed| known(&self.name, listed, self.allow.as_deref())) {
            Ok(Ok(now)) if now == self.known => return Ok(session),
            Ok(_) => {
                let message = format!(
                    "the tools of the server `{}` are not what they were when the run began: they may not be called",
                    self.name
                );
                ToolError::new(Failure::Refused, message)
            }
            Err(error) => self.unavailable(&error),
        };
        session.end().await;
        Err(error)
    }

    /// Nothing that varies from one machine to another goes into a message.
    fn unavailable(&self, error: &McpError) -> ToolError {
        let name = &self.name;
        match error {
            McpError::Flood => self.failed(CallError::Flood),
            McpError::Silent { .. } => self.failed(CallError::Timeout),
            _ => ToolError::new(Failure::Unavailable, format!("the server `{name}` cannot be had: try something else")),
        }
    }

    fn failed(&self, error: CallError) -> ToolError {
        let name = &self.name;
        match error {
            CallError::Timeout => {
                let seconds = self.timeout.as_secs_f64();
                ToolError::new(Failure::Timeout, format!("the server `{name}` did not answer within {seconds} s"))
            }
            CallError::Flood => {
                ToolError::new(Failure::TooLarge, format!("the server `{name}` sent more than may be read"))
            }
            CallError::Gone => {
                ToolError::new(Failure::Unavailable, format!("the server `{name}` broke off: what it kept is lost"))
            }
            CallError::Nonsense => {
                let message = format!("the server `{name}` answered with something that is no result");
                ToolError::new(Failure::Unavailable, message)
            }
            CallError::Demands => {
                ToolError::new(Failure::Refused, "the tool asks for something that nobody gives it here".to_owned())
            }
            CallError::Refused { code, message } => {
                let failure = match code {
                    INVALID_PARAMS => Failure::BadArguments,
                    METHOD_NOT_FOUND => Failure::UnknownTool,
                    _ => Failure::Unavailable,
                };
                let message = excerpt(&result::hide(message, &self.secrets), MESSAGE);
                ToolError::new(failure, format!("the server `{name}` refused the call: {message}"))
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Place>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One tool of a server.
struct McpTool {
    server: Arc<Server>,
    known: Known,
}

impl Tool for McpTool {
    fn definition(&self) -> &ToolPlan {
        &self.known.definition
    }

    fn call<'a>(&'a self, call: Call<'a>) -> Calling<'a> {
        Box::pin(self.server.call(&self.known.tool, call))
    }
}

/// The values of variables that are surely secret. A short value is left alone: hiding it would tear up other text.
fn secrets<'a>(names: impl Iterator<Item = &'a String>, world: &Surroundings) -> Vec<String> {
    let is_secret = |name: &&String| SECRET.iter().any(|end| name.to_ascii_uppercase().ends_with(end));
    let mut values: Vec<String> = names.filter(is_secret).filter_map(|name| (world.variable)(name)).collect();
    values.retain(|value| value.len() >= 8);
    values
}

/// How the names of variables end that hold secrets.
const SECRET: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];
/// Characters of a server's message that the model is shown.
const MESSAGE: usize = 1000;
const LONGEST: Duration = Duration::from_secs(3600);
const INVALID_PARAMS: i32 = -32602;
const METHOD_NOT_FOUND: i32 = -32601;
