//! How a task's answers are come by: as written, as planned, and the way from one to the other.
//!
//! Without a solver a task is a single question. An agent asks again and again, and calls tools in between.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::Format;
use super::gaia;
use super::problem::{Place, Problem};
use crate::path::RelPath;

/// How answers are come by, when one question is not enough.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(tag = "type", description = "How answers are come by, when one question is not enough.")]
pub enum Solver {
    /// The model is asked again and again, and its calls of tools are carried out in between.
    Agent {
        /// What it may do.
        #[serde(default)]
        tools: Option<Vec<AgentTool>>,
        /// How calls are written. Default: `native`.
        #[serde(default)]
        protocol: Option<Protocol>,
        /// Questions to the model, at most. Default: 20.
        #[serde(default)]
        #[schemars(range(min = 1, max = 1000))]
        max_turns: Option<u32>,
        /// Calls of tools, at most. Default: 50.
        #[serde(default)]
        #[schemars(range(min = 0, max = 10000))]
        max_tool_calls: Option<u32>,
        /// Input and output tokens of all turns together, at most. Default: no limit.
        #[serde(default)]
        max_tokens: Option<u64>,
        /// Seconds for the whole sample. Default: 1800.
        #[serde(default)]
        timeout: Option<f64>,
        /// Where the answer is. Default: the last text, or what `submit` is given when that tool is there.
        #[serde(default)]
        final_answer: Option<FinalAnswer>,
        /// What happens when the conversation no longer fits. Default: `stop`.
        #[serde(default)]
        on_overflow: Option<OnOverflow>,
    },
}

/// How a model writes its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// With the provider's own tool calling.
    #[default]
    Native,
    /// As text, for models without it.
    Text,
}

/// Where the answer is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinalAnswer {
    /// A regular expression; its first group (or all of it) in the last match of the model's last text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// A tool whose call ends the sample; its `answer` argument is the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// What happens when the conversation no longer fits into the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnOverflow {
    /// The sample ends there.
    #[default]
    Stop,
    /// The oldest results of tools are replaced by a note, half of them at a time.
    DropResults,
}

/// Something an agent may do.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(tag = "type", description = "Something an agent may do.")]
pub enum AgentTool {
    /// Reads the item's attachments, and nothing else.
    FileRead {
        #[serde(default)]
        max_output: Option<u64>,
        #[serde(default)]
        timeout: Option<f64>,
    },
    /// Runs Python in a sandbox.
    Python {
        #[serde(default)]
        sandbox: Option<SandboxKind>,
        #[serde(default)]
        limits: Option<SandboxLimits>,
        #[serde(default)]
        max_output: Option<u64>,
        /// Seconds a call may take. Default: 30.
        #[serde(default)]
        timeout: Option<f64>,
    },
    /// Runs shell commands in a sandbox.
    Bash {
        #[serde(default)]
        sandbox: Option<SandboxKind>,
        #[serde(default)]
        limits: Option<SandboxLimits>,
        #[serde(default)]
        max_output: Option<u64>,
        #[serde(default)]
        timeout: Option<f64>,
    },
    /// Evaluates an arithmetic expression.
    Calculator {},
    /// Gets a page.
    WebFetch {
        /// The most bytes that are downloaded. Default: 5,000,000.
        #[serde(default)]
        max_bytes: Option<u64>,
        /// Private addresses that may be reached all the same: hosts or `host:port`. Default: none.
        #[serde(default)]
        allow_private: Option<Vec<String>>,
        /// Domains that are refused, with everything below them: the hosts of the benchmark's own dataset, for example.
        #[serde(default)]
        block_domains: Option<Vec<String>>,
        #[serde(default)]
        max_output: Option<u64>,
        #[serde(default)]
        timeout: Option<f64>,
    },
    /// Asks a search engine.
    WebSearch {
        engine: Engine,
        /// Where the engine is; needed for `searxng`.
        #[serde(default)]
        base_url: Option<String>,
        /// The environment variable that holds the key, when it is not the engine's usual one.
        #[serde(default)]
        api_key_env: Option<String>,
        /// How many results are shown. Default: 5.
        #[serde(default)]
        #[schemars(range(min = 1, max = 20))]
        results: Option<u32>,
        #[serde(default)]
        allow_private: Option<Vec<String>>,
        #[serde(default)]
        block_domains: Option<Vec<String>>,
        #[serde(default)]
        max_output: Option<u64>,
        #[serde(default)]
        timeout: Option<f64>,
    },
    /// Ends the sample with an answer.
    Submit {},
    /// The tools of an MCP server.
    Mcp {
        /// Stands before the names of its tools: `name_tool`.
        name: String,
        /// A program that speaks MCP on stdin and stdout. `{suite}` stands for the suite's root.
        #[serde(default)]
        command: Option<Vec<String>>,
        /// Files of the program, hashed as inputs.
        #[serde(default)]
        files: Option<Vec<RelPath>>,
        /// Environment variables that the program may see, besides PATH and LANG.
        #[serde(default)]
        env: Option<Vec<String>>,
        /// How the program is confined. Default: `bubblewrap`, without network.
        #[serde(default)]
        sandbox: Option<SandboxKind>,
        #[serde(default)]
        limits: Option<SandboxLimits>,
        /// Or the address of a server that speaks streamable HTTP.
        #[serde(default)]
        url: Option<String>,
        /// The environment variable that holds the server's bearer token.
        #[serde(default)]
        api_key_env: Option<String>,
        /// The tools that may be called. Default: all that the server has.
        #[serde(default)]
        allow: Option<Vec<String>>,
        #[serde(default)]
        max_output: Option<u64>,
        #[serde(default)]
        timeout: Option<f64>,
    },
}

/// What confines a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxKind {
    /// Bubblewrap: own namespaces, read-only root, no network.
    #[default]
    Bubblewrap,
    /// A container of docker or podman.
    Container,
    /// Nothing. Needs `--allow-unsandboxed` on the command line too.
    None,
}

/// What a confined program may use.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxLimits {
    /// Default: 1024.
    #[serde(default)]
    pub memory_mb: Option<u32>,
    /// Seconds of CPU. Default: as `timeout`.
    #[serde(default)]
    pub cpu_seconds: Option<u32>,
    /// Processes and threads at once. Default: 64.
    #[serde(default)]
    pub pids: Option<u32>,
    /// Megabytes that may be written. Default: 256.
    #[serde(default)]
    pub disk_mb: Option<u32>,
    /// Whether it may use the network. Default: false.
    #[serde(default)]
    pub network: Option<bool>,
    /// The image, for `container`. Default: `python:3-slim`.
    #[serde(default)]
    pub image: Option<String>,
}

/// A search engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    Searxng,
    Brave,
    Tavily,
}

/// A solver with every default filled.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SolverPlan {
    Agent {
        tools: Vec<AgentToolPlan>,
        protocol: Protocol,
        max_turns: u32,
        max_tool_calls: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u64>,
        timeout: f64,
        final_answer: FinalAnswer,
        on_overflow: OnOverflow,
    },
}

/// A tool of an agent with every default filled. Seconds and bytes are within sane bounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentToolPlan {
    FileRead {
        max_output: u64,
        timeout: f64,
    },
    Python {
        sandbox: SandboxKind,
        limits: LimitsPlan,
        max_output: u64,
        timeout: f64,
    },
    Bash {
        sandbox: SandboxKind,
        limits: LimitsPlan,
        max_output: u64,
        timeout: f64,
    },
    Calculator {},
    WebFetch {
        max_bytes: u64,
        allow_private: Vec<String>,
        block_domains: Vec<String>,
        max_output: u64,
        timeout: f64,
    },
    WebSearch {
        engine: Engine,
        #[serde(skip_serializing_if = "Option::is_none")]
        base_url: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        api_key_env: Option<String>,
        results: u32,
        allow_private: Vec<String>,
        block_domains: Vec<String>,
        max_output: u64,
        timeout: f64,
    },
    Submit {},
    Mcp {
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        command: Option<Vec<String>>,
        files: Vec<RelPath>,
        env: Vec<String>,
        sandbox: SandboxKind,
        limits: LimitsPlan,
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        api_key_env: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        allow: Option<Vec<String>>,
        max_output: u64,
        timeout: f64,
    },
}

/// [`SandboxLimits`] with every default filled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LimitsPlan {
    pub memory_mb: u32,
    pub cpu_seconds: u32,
    pub pids: u32,
    pub disk_mb: u32,
    pub network: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

impl SolverPlan {
    /// Whether some tool works with the item's attachments. They are not sent with the prompt then.
    pub fn sees_files(&self) -> bool {
        let Self::Agent { tools, .. } = self;
        tools.iter().any(|tool| match tool {
            AgentToolPlan::FileRead { .. } | AgentToolPlan::Python { .. } | AgentToolPlan::Bash { .. } => true,
            AgentToolPlan::Mcp { command, .. } => command.is_some(),
            _ => false,
        })
    }

    pub fn tools(&self) -> &[AgentToolPlan] {
        let Self::Agent { tools, .. } = self;
        tools
    }
}

/// The most bytes of a result that the model is shown, unless the suite says otherwise.
pub const DEFAULT_OUTPUT: u64 = 64 * 1024;
/// The most bytes of a result that a suite may ask for.
pub const MAX_OUTPUT: u64 = 16 * 1024 * 1024;
/// The image of a container, unless the suite says otherwise.
const DEFAULT_IMAGE: &str = "python:3-slim";

impl AgentToolPlan {
    /// What the tool is called in the suite.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::FileRead { .. } => "file_read",
            Self::Python { .. } => "python",
            Self::Bash { .. } => "bash",
            Self::Calculator {} => "calculator",
            Self::WebFetch { .. } => "web_fetch",
            Self::WebSearch { .. } => "web_search",
            Self::Submit {} => "submit",
            Self::Mcp { .. } => "mcp",
        }
    }

    /// What confines the program behind it, for tools that have one.
    pub fn sandbox(&self) -> Option<SandboxKind> {
        match self {
            Self::Python { sandbox, .. } | Self::Bash { sandbox, .. } => Some(*sandbox),
            Self::Mcp { sandbox, command: Some(_), .. } => Some(*sandbox),
            _ => None,
        }
    }
}

/// Fills in every default and checks what the types cannot.
pub(super) fn resolve_solver(solver: Solver, format: Format, place: &Place, problems: &mut Vec<Problem>) -> SolverPlan {
    let Solver::Agent { tools, protocol, max_turns, max_tool_calls, max_tokens, timeout, final_answer, on_overflow } =
        solver;
    let mut refuse = |key: &str, what: &str| problems.push(Problem::at(place.key(key), format!("expected {what}")));
    if max_turns.is_some_and(|turns| !(1..=1000).contains(&turns)) {
        refuse("max_turns", "1 to 1000");
    }
    if max_tool_calls.is_some_and(|calls| calls > 10_000) {
        refuse("max_tool_calls", "at most 10000");
    }
    if max_tokens == Some(0) {
        refuse("max_tokens", "at least 1");
    }
    if timeout.is_some_and(|seconds| !(seconds > 0.0 && seconds <= 86_400.0)) {
        refuse("timeout", "more than 0 and at most 86400 seconds");
    }
    let mut names = BTreeSet::new();
    let mut plans = Vec::new();
    for (at, tool) in tools.unwrap_or_default().into_iter().enumerate() {
        let place = place.key("tools").index(at);
        let plan = resolve_tool(tool, &place, problems);
        let name = match &plan {
            AgentToolPlan::Mcp { name, .. } => format!("mcp {name}"),
            other => other.type_name().to_owned(),
        };
        if !names.insert(name.clone()) {
            problems.push(Problem::at(place, format!("the tool `{name}` stands twice")));
        }
        plans.push(plan);
    }
    let has_submit = plans.iter().any(|tool| matches!(tool, AgentToolPlan::Submit {}));
    let final_answer = final_answer.unwrap_or_else(|| match format {
        Format::Gaia => gaia::default_answer(has_submit),
        _ => FinalAnswer { pattern: None, tool: has_submit.then(|| "submit".to_owned()) },
    });
    check_final_answer(&final_answer, has_submit, &place.key("final_answer"), problems);
    SolverPlan::Agent {
        tools: plans,
        protocol: protocol.unwrap_or_default(),
        max_turns: max_turns.unwrap_or(20),
        max_tool_calls: max_tool_calls.unwrap_or(50),
        max_tokens,
        timeout: timeout.unwrap_or(1800.0),
        final_answer,
        on_overflow: on_overflow.unwrap_or_default(),
    }
}

fn check_final_answer(answer: &FinalAnswer, has_submit: bool, place: &Place, problems: &mut Vec<Problem>) {
    if answer.pattern.is_some() && answer.tool.is_some() {
        problems.push(Problem::at(place.clone(), "an answer comes by `pattern` or by `tool`, not by both"));
    }
    if answer.tool.as_deref() == Some("submit") && !has_submit {
        problems.push(
            Problem::at(place.key("tool"), "the solver has no tool `submit`")
                .hint("add `{type: submit}` to its `tools`"),
        );
    }
}

fn resolve_tool(tool: AgentTool, place: &Place, problems: &mut Vec<Problem>) -> AgentToolPlan {
    let mut check = Checks { place, problems };
    match tool {
        AgentTool::FileRead { max_output, timeout } => {
            AgentToolPlan::FileRead { max_output: check.output(max_output), timeout: check.seconds(timeout, 30.0) }
        }
        AgentTool::Python { sandbox, limits, max_output, timeout } => {
            let (sandbox, timeout) = (sandbox.unwrap_or_default(), check.seconds(timeout, 30.0));
            let limits = check.limits(limits.unwrap_or_default(), sandbox, timeout);
            AgentToolPlan::Python { sandbox, limits, max_output: check.output(max_output), timeout }
        }
        AgentTool::Bash { sandbox, limits, max_output, timeout } => {
            let (sandbox, timeout) = (sandbox.unwrap_or_default(), check.seconds(timeout, 30.0));
            let limits = check.limits(limits.unwrap_or_default(), sandbox, timeout);
            AgentToolPlan::Bash { sandbox, limits, max_output: check.output(max_output), timeout }
        }
        AgentTool::Calculator {} => AgentToolPlan::Calculator {},
        AgentTool::WebFetch { max_bytes, allow_private, block_domains, max_output, timeout } => {
            let max_bytes = max_bytes.unwrap_or(5_000_000);
            if !(1..=100_000_000).contains(&max_bytes) {
                check.refuse("max_bytes", "1 to 100000000");
            }
            AgentToolPlan::WebFetch {
                max_bytes,
                allow_private: check.hosts("allow_private", allow_private),
                block_domains: check.hosts("block_domains", block_domains),
                max_output: check.output(max_output),
                timeout: check.seconds(timeout, 30.0),
            }
        }
        AgentTool::WebSearch {
            engine,
            base_url,
            api_key_env,
            results,
            allow_private,
            block_domains,
            max_output,
            timeout,
        } => {
            if engine == Engine::Searxng && base_url.is_none() {
                check.refuse("base_url", "the address of the SearXNG instance");
            }
            check.url("base_url", base_url.as_deref());
            check.key_name(api_key_env.as_deref());
            let results = results.unwrap_or(5);
            if !(1..=20).contains(&results) {
                check.refuse("results", "1 to 20");
            }
            AgentToolPlan::WebSearch {
                engine,
                base_url: base_url.map(|url| url.trim_end_matches('/').to_owned()),
                api_key_env,
                results,
                allow_private: check.hosts("allow_private", allow_private),
                block_domains: check.hosts("block_domains", block_domains),
                max_output: check.output(max_output),
                timeout: check.seconds(timeout, 30.0),
            }
        }
        AgentTool::Submit {} => AgentToolPlan::Submit {},
        AgentTool::Mcp { name, command, files, env, sandbox, limits, url, api_key_env, allow, max_output, timeout } => {
            let fits = (1..=32).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
            if !fits {
                check.refuse("name", "1 to 32 letters, digits, `_` and `-`");
            }
            if command.is_some() == url.is_some() {
                check.refuse("command", "either `command` or `url`");
            }
            if command.as_ref().is_some_and(|words| words.first().is_none_or(String::is_empty)) {
                check.refuse("command", "a program and its arguments");
            }
            check.url("url", url.as_deref());
            check.key_name(api_key_env.as_deref());
            for name in env.iter().flatten() {
                if name.is_empty() || name.contains(['=', '\0']) {
                    check.refuse("env", "names of environment variables");
                }
            }
            let (sandbox, timeout) = (sandbox.unwrap_or_default(), check.seconds(timeout, 60.0));
            let limits = check.limits(limits.unwrap_or_default(), sandbox, timeout);
            AgentToolPlan::Mcp {
                name,
                command,
                files: files.unwrap_or_default(),
                env: env.unwrap_or_default(),
                sandbox,
                limits,
                url,
                api_key_env,
                allow,
                max_output: check.output(max_output),
                timeout,
            }
        }
    }
}

/// Checks of one tool's members.
struct Checks<'a> {
    place: &'a Place,
    problems: &'a mut Vec<Problem>,
}

impl Checks<'_> {
    fn refuse(&mut self, key: &str, what: &str) {
        self.problems.push(Problem::at(self.place.key(key), format!("expected {what}")));
    }

    fn output(&mut self, given: Option<u64>) -> u64 {
        let bytes = given.unwrap_or(DEFAULT_OUTPUT);
        if !(256..=MAX_OUTPUT).contains(&bytes) {
            self.refuse("max_output", &format!("256 to {MAX_OUTPUT} bytes"));
        }
        bytes
    }

    fn seconds(&mut self, given: Option<f64>, default: f64) -> f64 {
        let seconds = given.unwrap_or(default);
        if !(seconds > 0.0 && seconds <= 3600.0) {
            self.refuse("timeout", "more than 0 and at most 3600 seconds");
        }
        seconds
    }

    fn limits(&mut self, given: SandboxLimits, sandbox: SandboxKind, timeout: f64) -> LimitsPlan {
        let place = self.place.key("limits");
        let mut within = |key: &str, given: Option<u32>, default: u32, least: u32, most: u32| {
            let value = given.unwrap_or(default);
            if !(least..=most).contains(&value) {
                self.problems.push(Problem::at(place.key(key), format!("expected {least} to {most}")));
            }
            value
        };
        LimitsPlan {
            memory_mb: within("memory_mb", given.memory_mb, 1024, 32, 1 << 20),
            cpu_seconds: within("cpu_seconds", given.cpu_seconds, timeout.ceil().max(1.0) as u32, 1, 86_400),
            pids: within("pids", given.pids, 64, 1, 32_768),
            disk_mb: within("disk_mb", given.disk_mb, 256, 1, 1 << 20),
            network: given.network.unwrap_or(false),
            image: match (sandbox, given.image) {
                (SandboxKind::Container, image) => Some(image.unwrap_or_else(|| DEFAULT_IMAGE.to_owned())),
                (_, Some(_)) => {
                    self.problems.push(Problem::at(place.key("image"), "only a container has an image"));
                    None
                }
                (_, None) => None,
            },
        }
    }

    fn url(&mut self, key: &str, url: Option<&str>) {
        let Some(url) = url else { return };
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
        let is_plain = host.is_some_and(|host| !host.is_empty() && !host.contains('@'));
        if !is_plain || url.contains(['?', '#']) || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
            self.refuse(key, "`http://` or `https://`, a host and a path, and nothing else");
        }
    }

    /// A suite is somebody else's text: it must not be able to send any variable to any host.
    fn key_name(&mut self, name: Option<&str>) {
        let Some(name) = name else { return };
        let is_name = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        if !is_name || !(name.ends_with("_API_KEY") || name.ends_with("_API_TOKEN")) {
            self.refuse("api_key_env", "a name that ends in `_API_KEY` or `_API_TOKEN`");
        }
    }

    /// Lower case, no trailing dot, each once.
    fn hosts(&mut self, key: &str, hosts: Option<Vec<String>>) -> Vec<String> {
        let hosts: BTreeMap<String, ()> = hosts
            .unwrap_or_default()
            .into_iter()
            .map(|host| (host.trim().trim_end_matches('.').to_ascii_lowercase(), ()))
            .collect();
        let hosts: Vec<String> = hosts.into_keys().collect();
        if hosts.iter().any(|host| host.is_empty() || host.contains(['/', '@', ' '])) {
            self.refuse(key, "names of hosts, without scheme and path");
        }
        hosts
    }
}
