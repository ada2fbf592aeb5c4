//! What the tests of MCP servers share: a suite with a server in it, plans, calls.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proofmark_artefact::suite::solver::{AgentToolPlan, LimitsPlan, SandboxKind};
use proofmark_canon::{Map, Value};
use proofmark_tool::{Attached, BuildError, Call, Surroundings, ToolError, ToolOutput, Toolbox, Workspace};
use tempfile::TempDir;

/// A suite's folder with the test server and a secret in it.
pub(crate) struct Suite {
    root: TempDir,
    pub(crate) world: Surroundings,
}

impl Suite {
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new().prefix("mcp-suite-").tempdir().unwrap();
        // Root's programs run as somebody else, who has to reach them.
        std::fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_proofmark-test-mcp-server"), root.path().join("server")).unwrap();
        std::fs::copy("Cargo.toml", root.path().join("gold.jsonl")).unwrap();
        let variable = |name: &str| match name {
            "SHOWN" => Some("for the server".to_owned()),
            "LIT_API_KEY" => Some("s3cr3t-and-long".to_owned()),
            "CANARY" => Some("sings".to_owned()),
            _ => None,
        };
        let world = Surroundings {
            variable: Arc::new(variable),
            program_path: Some("/usr/bin:/bin".into()),
            suite_root: root.path().to_owned(),
            allow_unsandboxed: true,
            hidden: Vec::new(),
            scratch: None,
        };
        Self { root, world }
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// A plan for the suite's program with these manners.
    pub(crate) fn program(&self, manners: &[&str]) -> Plan {
        let command = ["{suite}/server"].iter().chain(manners).map(|word| (*word).to_owned()).collect();
        Plan { command: Some(command), files: vec!["server"], ..Plan::default() }
    }

    pub(crate) async fn build(&self, plan: &Plan) -> Result<Toolbox, BuildError> {
        Toolbox::build(&[plan.finish()], &self.world).await
    }

    /// Processes of this machine whose command line names the suite.
    pub(crate) fn running(&self) -> usize {
        let root = self.root.path().as_os_str().as_encoded_bytes();
        let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        // A process that ends meanwhile has no command line any more.
        let lines = entries.map(|entry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default());
        lines.filter(|line| line.windows(root.len()).any(|window| window == root)).count()
    }
}

/// What a suite says about a server.
#[derive(Default, Clone)]
pub(crate) struct Plan {
    pub(crate) command: Option<Vec<String>>,
    pub(crate) files: Vec<&'static str>,
    pub(crate) env: Vec<&'static str>,
    pub(crate) sandbox: SandboxKind,
    pub(crate) url: Option<String>,
    pub(crate) api_key_env: Option<&'static str>,
    pub(crate) allow: Option<Vec<&'static str>>,
    pub(crate) timeout: Option<f64>,
}

impl Plan {
    pub(crate) fn url(url: String) -> Self {
        Self { url: Some(url), ..Self::default() }
    }

    fn finish(&self) -> AgentToolPlan {
        AgentToolPlan::Mcp {
            name: "kit".to_owned(),
            command: self.command.clone(),
            files: self.files.iter().map(|file| file.parse().unwrap()).collect(),
            env: self.env.iter().map(|name| (*name).to_owned()).collect(),
            sandbox: self.sandbox,
            limits: LimitsPlan { memory_mb: 1024, cpu_seconds: 60, pids: 64, disk_mb: 64, network: false, image: None },
            url: self.url.clone(),
            api_key_env: self.api_key_env.map(str::to_owned),
            allow: self.allow.as_ref().map(|allow| allow.iter().map(|name| (*name).to_owned()).collect()),
            max_output: 64 << 10,
            timeout: self.timeout.unwrap_or(20.0),
        }
    }
}

pub(crate) async fn call(
    toolbox: &Toolbox,
    tool: &str,
    text: Option<&str>,
    workspace: &Workspace,
) -> Result<ToolOutput, ToolError> {
    let mut args = Map::new();
    if let Some(text) = text {
        args.insert("text", text);
    }
    let args = Value::Object(args);
    toolbox
        .get(&format!("kit_{tool}"))
        .unwrap_or_else(|| panic!("no tool {tool}"))
        .call(Call { args: &args, workspace })
        .await
}

/// The same for a call that gives text.
pub(crate) async fn text(toolbox: &Toolbox, tool: &str, text: Option<&str>, workspace: &Workspace) -> String {
    let output = call(toolbox, tool, text, workspace).await.unwrap_or_else(|error| panic!("{tool}: {error:?}"));
    String::from_utf8(output.content).unwrap()
}

/// A sample with one attachment.
pub(crate) fn sample(name: &str, content: &str) -> Workspace {
    let file =
        Attached { name: name.to_owned(), media_type: "text/plain".to_owned(), bytes: content.as_bytes().into() };
    Workspace::new([file].into(), None)
}

/// Waits until something is so; the machine may be busy.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The most memory that this process ever had, in bytes.
pub(crate) fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}
