//! Python and shell commands in a sandbox.

use std::ffi::OsString;

use proofmark_artefact::suite::plan::ToolPlan;

use crate::args::Args;
use crate::build::definition;
use crate::output;
use crate::sandbox::{End, Ran, Sandbox};
use crate::tool::{Call, Calling, Failure, Tool, ToolError, ToolOutput};

/// The `python` and `bash` tools.
pub(crate) struct Code {
    definition: ToolPlan,
    language: Language,
    sandbox: Sandbox,
    max_output: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Python,
    Bash,
}

impl Code {
    pub(crate) fn python(sandbox: Sandbox, max_output: u64) -> Self {
        Self::new(Language::Python, sandbox, max_output)
    }

    pub(crate) fn bash(sandbox: Sandbox, max_output: u64) -> Self {
        Self::new(Language::Bash, sandbox, max_output)
    }

    fn new(language: Language, sandbox: Sandbox, max_output: u64) -> Self {
        let about = format!(
            "{} The current folder{} holds the task's files; what you write there is kept for later calls. {} It is \
             stopped after {} seconds.",
            match language {
                Language::Python => {
                    "Runs Python 3 code in a new interpreter and returns what it prints, then errors and the exit \
                     code if it fails. Variables are not kept; print what you want to see."
                }
                Language::Bash => {
                    "Runs a command with `bash -c` and returns what it prints, then errors and the exit code if it \
                     fails."
                }
            },
            if sandbox.is_unconfined() { "" } else { ", `/work`," },
            if sandbox.has_network() { "There is network access." } else { "There is no network access." },
            sandbox.timeout().as_secs_f64(),
        );
        let argument = match language {
            Language::Python => ("code", "string", "The Python program.", true),
            Language::Bash => ("command", "string", "The command or script.", true),
        };
        Self { definition: definition(language.name(), &about, &[argument]), language, sandbox, max_output }
    }

    async fn carry_out(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        let launch = Launch::of(self.language, &call)?;
        let ran = self
            .sandbox
            .run(&launch.argv, launch.input, call.workspace, &launch.env, self.max_output)
            .await
            // What it says names paths of this machine.
            .map_err(|_| unavailable())?;
        self.render(ran)
    }

    fn render(&self, ran: Ran) -> Result<ToolOutput, ToolError> {
        if did_not_start(&ran) {
            return Err(unavailable());
        }
        let limits = self.sandbox.limits();
        let note = match ran.end {
            End::Exited(0) => String::new(),
            End::Exited(code) => format!("[exit code {code}]\n"),
            End::TimedOut => {
                let seconds = self.sandbox.timeout().as_secs_f64();
                let message = format!("it was stopped after {seconds} seconds; files that it wrote are kept");
                return Err(ToolError::new(Failure::Timeout, message));
            }
            End::Flooded => "[stopped: it printed too much]\n".to_owned(),
            End::OverMemory => format!("[stopped: it used more than {} MB of memory]\n", limits.memory_mb),
            End::OverProcesses => format!("[stopped: it had more than {} processes]\n", limits.pids),
            End::OverDisk => format!("[the files in the current folder take more than {} MB]\n", limits.disk_mb),
        };
        let is_error = ran.end != End::Exited(0);
        let most = self.max_output.saturating_sub(note.len() as u64 + 1);
        let (is_flood, body) = (ran.end == End::Flooded, both(ran.stdout, &ran.stderr));
        let mut content = if is_flood { output::cut_unknown(body, most) } else { output::cut(body, most) };
        if !note.is_empty() {
            end_line(&mut content);
            content.extend(note.bytes());
        }
        Ok(ToolOutput { content, source: None, is_error })
    }
}

impl Tool for Code {
    fn definition(&self) -> &ToolPlan {
        &self.definition
    }

    fn call<'a>(&'a self, call: Call<'a>) -> Calling<'a> {
        Box::pin(self.carry_out(call))
    }
}

impl Language {
    fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Bash => "bash",
        }
    }
}

/// How a program is started.
struct Launch<'a> {
    argv: Vec<OsString>,
    input: &'a [u8],
    env: Vec<(String, String)>,
}

impl<'a> Launch<'a> {
    fn of(language: Language, call: &Call<'a>) -> Result<Self, ToolError> {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect();
        match language {
            Language::Python => {
                let code = Args::of("python", call.args, &["code"])?.text("code")?;
                if code.len() > MAX_CODE {
                    return Err(ToolError::bad_arguments(format!("`code` is longer than {MAX_CODE} bytes")));
                }
                let env = PYTHON.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
                Ok(Self { argv: words(&["python3", "-"]), input: code.as_bytes(), env: env.collect() })
            }
            Language::Bash => {
                let command = Args::of("bash", call.args, &["command"])?.text("command")?;
                if command.len() > MAX_COMMAND || command.contains('\0') {
                    let expected = format!("`command` is at most {MAX_COMMAND} bytes, without NUL");
                    return Err(ToolError::bad_arguments(expected));
                }
                Ok(Self { argv: words(&["bash", "-c", command]), input: b"", env: Vec::new() })
            }
        }
    }
}

/// Whether it was the sandbox that failed. A program that imitates it fools only itself.
fn did_not_start(ran: &Ran) -> bool {
    let begins = |text: &str| ran.stdout.is_empty() && ran.stderr.starts_with(text.as_bytes());
    match ran.end {
        End::Exited(1) => begins("bwrap: "),
        // What the container engines say when they did not get as far as the program.
        End::Exited(125) => begins("docker: ") || begins("Error: "),
        End::Exited(126 | 127) => begins("prlimit: failed to execute") || begins("docker: ") || begins("Error: "),
        _ => false,
    }
}

fn unavailable() -> ToolError {
    ToolError::new(Failure::Unavailable, "the program could not be started here")
}

/// What a program printed, then its errors, marked.
fn both(mut stdout: Vec<u8>, stderr: &[u8]) -> Vec<u8> {
    if !stderr.is_empty() {
        end_line(&mut stdout);
        stdout.extend_from_slice(b"[stderr]\n");
        stdout.extend_from_slice(stderr);
    }
    stdout
}

fn end_line(text: &mut Vec<u8>) {
    if text.last().is_some_and(|byte| *byte != b'\n') {
        text.push(b'\n');
    }
}

/// As isolated as `-I` makes it, which would ignore the seed of hashes: the environment is ours anyway.
const PYTHON: [(&str, &str); 6] = [
    ("PYTHONHASHSEED", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PYTHONSAFEPATH", "1"),
    ("PYTHONNOUSERSITE", "1"),
    ("PYTHONUTF8", "1"),
    // Plots go to files.
    ("MPLBACKEND", "Agg"),
];
const MAX_CODE: usize = 1 << 20;
/// Linux takes at most 128 KiB for one argument.
const MAX_COMMAND: usize = 100_000;
