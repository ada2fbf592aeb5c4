//! Why a server cannot be had.

use proofmark_artefact::path::RelPath;
use proofmark_artefact::text::excerpt;

use super::definition::{MAX_DEFINITION, MAX_DEFINITIONS, MAX_TOOLS};
use crate::sandbox::SandboxError;

/// A server cannot be had. What it said itself is in here for people, made harmless and short.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    #[error("the program `{program}` was not found")]
    NoProgram { program: String },
    #[error("its file `{0}` is not there")]
    NoFile(RelPath),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("it did not start: {0}")]
    Start(std::io::Error),
    #[error("it did not speak MCP within {seconds} s{}", said.clause())]
    Silent { seconds: f64, said: Said },
    #[error("it ended before it spoke MCP{}", said.clause())]
    Ended { said: Said },
    #[error("it does not speak MCP as it should: {what}")]
    Protocol { what: String },
    #[error("it sent more than may be read")]
    Flood,
    #[error("`{url}` cannot be reached: {what}")]
    Unreachable { url: String, what: String },
    #[error("`{url}` answered with status {status}")]
    Status { url: String, status: u16 },
    #[error("the variable `{0}`, which holds its key, is not set")]
    NoKey(String),
    #[error("the key in `{0}` has a character that no header can hold")]
    BadKey(String),
    #[error("its key would go to `{host}` unencrypted")]
    Unencrypted { host: String },
    #[error("it has no tools")]
    NoTools,
    #[error("it has more than {MAX_TOOLS} tools")]
    TooManyTools,
    #[error("its tool `{tool}` is described in more than {MAX_DEFINITION} bytes")]
    LongDefinition { tool: String },
    #[error("its tools are described in more than {MAX_DEFINITIONS} bytes")]
    LongDefinitions,
    #[error("its tool `{tool}` cannot be used: {why}")]
    BadDefinition { tool: String, why: String },
    #[error("its tools `{first}` and `{second}` would both be named `{name}`")]
    Collision { first: String, second: String, name: String },
    #[error("it has no tool `{wanted}`, which `allow` names; it has {}", list(has))]
    NotThere { wanted: String, has: Vec<String> },
}

/// What a program said that is not MCP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The first line on stdout.
    pub stdout: Option<String>,
    /// The last line on stderr.
    pub stderr: Option<String>,
}

impl Said {
    pub(super) fn new(stdout: &[u8], stderr: &[u8]) -> Self {
        let line = |bytes: &[u8], last: bool| {
            let text = String::from_utf8_lossy(bytes);
            let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let line = if last { lines.next_back() } else { lines.next() };
            line.map(|line| excerpt(line, SHOWN))
        };
        // A line that is JSON is MCP as far as it goes; it explains nothing.
        let stdout = line(stdout, false).filter(|line| !line.starts_with('{'));
        Self { stdout, stderr: line(stderr, true) }
    }

    fn clause(&self) -> String {
        let part = |name: &str, line: &Option<String>| line.as_ref().map(|line| format!("; {name}: `{line}`"));
        [part("its stdout begins", &self.stdout), part("its stderr ends", &self.stderr)].into_iter().flatten().collect()
    }
}

impl McpError {
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoProgram { .. } => {
                "install it, or write `{suite}/…` before the path of a program of the suite and name it in `files`"
            }
            Self::NoFile(_) => "paths in `files` begin at the suite's folder",
            Self::Sandbox(source) => return source.hint(),
            Self::Silent { .. } => "raise its `timeout` if it starts slowly; stdout is for MCP and nothing else",
            Self::Ended { .. } => {
                "in a sandbox it sees `/usr`, the sample's folder and what `files` names, and it has no network \
                 unless `limits` says so"
            }
            Self::Status { status: 401 | 403, .. } => "name the variable that holds its key as `api_key_env`",
            Self::Status { status: 300..=399, .. } => "redirects are not followed: write the address it ends at",
            Self::Status { status: 404 | 405, .. } => "the path is part of the address, often `/mcp`",
            Self::Unreachable { .. } => "is the server running?",
            Self::NoKey(name) => return Some(format!("set `{name}`, or leave `api_key_env` out")),
            Self::Unencrypted { .. } => "use `https://`, or leave `api_key_env` out",
            Self::TooManyTools | Self::LongDefinitions => "use a server with fewer tools",
            Self::NotThere { .. } => "`allow` has the names that the server uses, without the server's own name",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

fn list(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{}`", excerpt(name, NAME_SHOWN))).collect();
    match names.len().saturating_sub(LISTED) {
        0 if shown.is_empty() => "none".to_owned(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Characters of a line that are shown.
const SHOWN: usize = 200;
/// Tools that are named in a message, and characters of each name.
const LISTED: usize = 20;
const NAME_SHOWN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_said_is_one_harmless_line_of_each_stream() {
        let said = Said::new(b"\n  usage: \x1b[31mtool\nmore\n", b"Traceback\nImportError: no x\n\n");
        let error = McpError::Silent { seconds: 2.5, said };
        let text = "it did not speak MCP within 2.5 s; its stdout begins: `usage: \\u{1b}[31mtool`; its stderr ends: \
                    `ImportError: no x`";
        assert_eq!(error.to_string(), text);
        assert_eq!(Said::new(b"{\"jsonrpc\":\"2.0\"}\n", b""), Said::default());
        let long = Said::new("é".repeat(5000).as_bytes(), &[0xFF; 5000]);
        assert!(long.stdout.unwrap().chars().count() <= SHOWN + 1);
        assert!(long.stderr.unwrap().chars().count() <= SHOWN + 1);
    }

    #[test]
    fn a_missing_tool_is_told_with_what_is_there() {
        let error = |has: &[&str]| {
            let has = has.iter().map(|name| (*name).to_owned()).collect();
            McpError::NotThere { wanted: "ecko".to_owned(), has }.to_string()
        };
        assert_eq!(
            error(&["echo", "a\u{202e}b"]),
            "it has no tool `ecko`, which `allow` names; it has `echo`, `a\\u{202e}b`"
        );
        assert!(error(&[]).ends_with("it has none"));
        assert!(error(&["x"; 30]).ends_with("`x` and 10 more"));
    }
}
