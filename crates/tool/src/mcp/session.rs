//! One conversation with a server: its beginning, its list of tools, its calls and its end.
//!
//! Everything of the SDK is behind this file and the two ways to a server beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proofmark_artefact::text::excerpt;
use proofmark_canon::json::{Integers, parse_with};
use proofmark_canon::{Map, Value};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest,
    ElicitRequestParams, ElicitResult, ErrorCode, ErrorData, Implementation, ListToolsRequest, PaginatedRequestParams,
    ProtocolVersion, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, NotificationContext, RequestContext,
    RunningService, ServiceError,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ClientHandler, RoleClient};
use tokio::time::timeout;

use super::definition::{Listed, MAX_TOOLS};
use super::error::{McpError, Said};
use super::http::{Address, Trouble, Troubles};
use super::meter::{MOST, Meter, Metered};
use super::process::{Patient, Process, Program};
use crate::workspace::Workspace;

/// How a server is reached.
pub(super) enum Way {
    Program(Program),
    Address(Address),
}

/// How a server wants to be greeted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greeting {
    /// To be found out.
    Unknown,
    /// Revisions since 2026-07-28: every request says what it needs to.
    Discover,
    /// Older ones begin with a handshake.
    Initialize,
}

/// A session. Dropping it ends it, and kills the program that was started for it.
pub(super) struct Session {
    service: RunningService<RoleClient, Client>,
    meter: Arc<Meter>,
    is_changed: Arc<AtomicBool>,
    process: Option<Process>,
}

/// A call that came to nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CallError {
    Timeout,
    Flood,
    /// The connection or the program ended.
    Gone,
    /// The server answers, but not with a result.
    Refused {
        code: i32,
        message: String,
    },
    /// The server answers with something that is no result of a tool.
    Nonsense,
    /// The server asks for something before it goes on: a person, a model, patience.
    Demands,
}

impl Session {
    /// Starts a session within a time.
    pub(super) async fn open(
        way: &Way,
        workspace: &Workspace,
        greeting: Greeting,
        limit: Duration,
    ) -> Result<Self, McpError> {
        match Self::try_open(way, workspace, greeting, limit).await {
            // Some old programs end at a request that they do not know.
            Err(McpError::Ended { .. }) if greeting == Greeting::Unknown => {
                Self::try_open(way, workspace, Greeting::Initialize, limit).await
            }
            // Others do not answer it. The SDK notices after a while, unless our patience is shorter than its own.
            Err(McpError::Silent { .. }) if greeting == Greeting::Unknown && limit <= PROBE => {
                Self::try_open(way, workspace, Greeting::Initialize, limit).await
            }
            other => other,
        }
    }

    async fn try_open(way: &Way, workspace: &Workspace, greeting: Greeting, limit: Duration) -> Result<Self, McpError> {
        let meter = Arc::new(Meter::new());
        let is_changed = Arc::<AtomicBool>::default();
        let client = Client { is_changed: Arc::clone(&is_changed) };
        let (process, troubles, begun) = match way {
            Way::Program(program) => {
                let (process, stdout, stdin) = program.start(workspace)?;
                let stdout = Metered::new(stdout, Arc::clone(&meter));
                let transport = AsyncRwTransport::new_client(stdout, Patient(stdin)).with_max_line_length(MOST);
                let begun = within(limit, &meter, client.serve_with_lifecycle(transport, greeting.mode())).await;
                (Some(process), None, begun)
            }
            Way::Address(address) => {
                let (transport, troubles) = address.connect(&meter);
                let begun = within(limit, &meter, client.serve_with_lifecycle(transport, greeting.mode())).await;
                (None, Some((address, troubles)), begun)
            }
        };
        let error = match begun {
            Within::Done(Ok(service)) => return Ok(Self { service, meter, is_changed, process }),
            Within::Flooded => return Err(McpError::Flood),
            Within::Late => None,
            Within::Done(Err(_)) if meter.is_spent() => return Err(McpError::Flood),
            Within::Done(Err(error)) => Some(error),
        };
        let stderr = match process {
            Some(process) => process.end().await,
            None => Vec::new(),
        };
        let said = Said::new(&meter.beginning(), &stderr);
        Err(match error {
            None => match troubles.and_then(|(address, troubles)| trouble(address, &troubles)) {
                Some(error) => error,
                None => McpError::Silent { seconds: limit.as_secs_f64(), said },
            },
            Some(error) => match (troubles, error) {
                (None, ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. }) => {
                    McpError::Ended { said }
                }
                (None, error) => McpError::Protocol { what: excerpt(&error.to_string(), SHOWN) },
                (Some((address, troubles)), error) => trouble(address, &troubles)
                    .unwrap_or_else(|| McpError::Protocol { what: excerpt(&innermost(&error), SHOWN) }),
            },
        })
    }

    /// What the server turned out to want.
    pub(super) fn greeting(&self) -> Greeting {
        match self.service.peer_info() {
            Some(info) if !info.protocol_version.has_initialize() => Greeting::Discover,
            _ => Greeting::Initialize,
        }
    }

    /// Asks for the list of tools, page by page.
    pub(super) async fn list(&self, limit: Duration) -> Result<Vec<Listed>, McpError> {
        self.meter.refill();
        self.is_changed.store(false, Ordering::Relaxed);
        match within(limit, &self.meter, self.pages()).await {
            Within::Done(Err(_)) if self.meter.is_spent() => Err(McpError::Flood),
            Within::Done(listed) => listed,
            Within::Flooded => Err(McpError::Flood),
            Within::Late => Err(McpError::Silent { seconds: limit.as_secs_f64(), said: Said::default() }),
        }
    }

    async fn pages(&self) -> Result<Vec<Listed>, McpError> {
        let mut listed = Vec::new();
        let mut cursor = None;
        // An empty page counts as a tool: a server cannot lead us on for ever.
        for _ in 0..=MAX_TOOLS {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
            let page = match self.service.send_request(request).await {
                Ok(ServerResult::ListToolsResult(page)) => page,
                Ok(_) => return Err(McpError::Protocol { what: "its list of tools is none".to_owned() }),
                Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                    return Err(McpError::NoTools);
                }
                Err(error) => return Err(McpError::Protocol { what: excerpt(&error.to_string(), SHOWN) }),
            };
            for tool in page.tools {
                let name = tool.name.into_owned();
                let Some(schema) = canonical(&tool.input_schema) else {
                    let why = "its schema is nested too deep".to_owned();
                    return Err(McpError::BadDefinition { tool: excerpt(&name, 64), why });
                };
                let description = tool.description.unwrap_or_default().into_owned();
                listed.push(Listed { name, description, schema });
            }
            if listed.len() > MAX_TOOLS {
                return Err(McpError::TooManyTools);
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(listed);
            }
        }
        Err(McpError::TooManyTools)
    }

    /// Whether the server said that its tools changed since they were listed.
    pub(super) fn is_changed(&self) -> bool {
        self.is_changed.load(Ordering::Relaxed)
    }

    /// Calls a tool by the server's name for it.
    pub(super) async fn call(&self, tool: &str, args: &Map, limit: Duration) -> Result<CallToolResult, CallError> {
        self.meter.refill();
        let mut params = CallToolRequestParams::new(tool.to_owned());
        let args = Value::Object(args.clone()).to_canonical();
        // Canonical bytes of an object are an object for any reader.
        params.arguments = serde_json::from_slice(&args).ok();
        let answer = match within(limit, &self.meter, self.service.call_tool_once(params)).await {
            Within::Late => return Err(CallError::Timeout),
            Within::Flooded => return Err(CallError::Flood),
            Within::Done(Err(_)) if self.meter.is_spent() => return Err(CallError::Flood),
            Within::Done(answer) => answer,
        };
        match answer {
            Ok(CallToolResponse::Complete(result)) => Ok(result),
            Ok(_) => Err(CallError::Demands),
            Err(ServiceError::McpError(error)) => {
                Err(CallError::Refused { code: error.code.0, message: error.message.into_owned() })
            }
            Err(ServiceError::UnexpectedResponse) => Err(CallError::Nonsense),
            Err(_) => Err(CallError::Gone),
        }
    }

    /// Ends the session; nothing of it runs any more afterwards.
    pub(super) async fn end(mut self) {
        if let Some(process) = self.process.take() {
            process.end().await;
        }
        // A session at an address is taken leave of; nobody waits long for the answer.
        let _ = self.service.close_with_timeout(GOODBYE).await;
    }
}

/// Our side of a session: it offers nothing.
struct Client {
    is_changed: Arc<AtomicBool>,
}

impl ClientHandler for Client {
    #[expect(deprecated, reason = "old servers still ask, and are still refused")]
    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(refusal())
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(refusal())
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.is_changed.store(true, Ordering::Relaxed);
    }

    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("proofmark", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us).with_protocol_version(OLD)
    }
}

impl Greeting {
    fn mode(self) -> ClientLifecycleMode {
        let preferred_versions = vec![NEW];
        match self {
            Self::Unknown => ClientLifecycleMode::Auto { preferred_versions, legacy_version: Some(OLD) },
            Self::Discover => ClientLifecycleMode::Discover { preferred_versions },
            Self::Initialize => ClientLifecycleMode::Initialize,
        }
    }
}

/// How something that a server takes part in went.
enum Within<T> {
    Done(T),
    Late,
    Flooded,
}

async fn within<T>(limit: Duration, meter: &Meter, what: impl Future<Output = T>) -> Within<T> {
    let watched = async {
        tokio::select! {
            biased;
            done = what => Within::Done(done),
            () = meter.spent() => Within::Flooded,
        }
    };
    timeout(limit, watched).await.unwrap_or(Within::Late)
}

fn trouble(address: &Address, troubles: &Troubles) -> Option<McpError> {
    let trouble = troubles.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()?;
    let url = address.url().to_owned();
    Some(match trouble {
        Trouble::Status(status) => McpError::Status { url, status },
        Trouble::Unreachable(what) => McpError::Unreachable { url, what: excerpt(&what, SHOWN) },
    })
}

/// The cause at the bottom of an error.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// A schema in our own type. Integers that a double cannot hold become text.
fn canonical(schema: &serde_json::Map<String, serde_json::Value>) -> Option<Map> {
    let text = serde_json::to_vec(schema).ok()?;
    match parse_with(&text, Integers::AsText) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}

fn refusal() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client offers nothing to servers", None)
}

const NEW: ProtocolVersion = ProtocolVersion::V_2026_07_28;
const OLD: ProtocolVersion = ProtocolVersion::V_2025_11_25;
const SHOWN: usize = 200;
/// How long the SDK waits for an answer that says which greeting a server wants.
const PROBE: Duration = Duration::from_secs(10);
const GOODBYE: Duration = Duration::from_secs(2);
