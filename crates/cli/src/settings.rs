//! The one place that reads the environment and the terminal.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proofmark_canon::id::rfc3339;
use proofmark_model::offline::Behaviour;
use proofmark_model::preset::PRESETS;
use proofmark_model::{Secret, Surroundings};
use proofmark_run::dataset::HubContext;
use proofmark_run::git::{Git, Looking};
use proofmark_run::ready::{Ready, ToolWorld};
use proofmark_run::witness::{Invocation, real_path};
use proofmark_trust::keyring::Keyring;
use proofmark_trust::policy::Role;
use zeroize::Zeroizing;

use crate::args::{Colour, Global};
use crate::exit::Failure;
use crate::ui::style::Style;

/// A variable that Proofmark reads: its name and what it is for.
pub struct Variable {
    pub name: &'static str,
    pub help: &'static str,
}

/// Every variable that Proofmark reads. The documentation is made from this list.
pub const VARIABLES: &[Variable] = &[
    Variable { name: "NO_COLOR", help: "Set to anything: no colour on the terminal." },
    Variable { name: "COLUMNS", help: "Width of text output when it does not go to a terminal. Default: 100." },
    Variable { name: "HF_ENDPOINT", help: "Address of the Hugging Face hub. Default: the public hub." },
    Variable { name: "HF_TOKEN", help: "Token for hub datasets that need one. Never written anywhere." },
    Variable { name: "HF_HUB_OFFLINE", help: "Set to 1: hub datasets come from the cache alone." },
    Variable {
        name: "PROOFMARK_CACHE_DIR",
        help: "Where downloads are kept. Default: `proofmark` under `XDG_CACHE_HOME`, or `~/.cache/proofmark`.",
    },
    Variable { name: "XDG_CACHE_HOME", help: "See `PROOFMARK_CACHE_DIR`." },
    Variable {
        name: "XDG_STATE_HOME",
        help: "Where conflicts of judge caches are remembered, in `proofmark`. Default: `~/.local/state`.",
    },
    Variable { name: "HOME", help: "See `PROOFMARK_CACHE_DIR` and `PROOFMARK_HOME`. Never written anywhere." },
    Variable {
        name: "PROOFMARK_HOME",
        help: "Where `keys` and `trust.json` are. Default: `proofmark` under `XDG_CONFIG_HOME`, or `~/.config/proofmark`.",
    },
    Variable { name: "XDG_CONFIG_HOME", help: "See `PROOFMARK_HOME`." },
    Variable { name: "PROOFMARK_TRUST", help: "The trust file. Default: `trust.json` in `PROOFMARK_HOME`." },
    Variable {
        name: "PROOFMARK_JUDGE_KEY",
        help: "The private key, as PEM text, that signs judgments: for CI. Never written anywhere.",
    },
    Variable { name: "PROOFMARK_RUNNER_KEY", help: "The same for what a machine that runs evaluations says." },
    Variable { name: "PROOFMARK_SUBMITTER_KEY", help: "The same for packages." },
    Variable { name: "PROOFMARK_VERIFIER_KEY", help: "The same for verdicts on packages of others." },
    Variable {
        name: "PROOFMARK_KEY_PASSPHRASE",
        help: "Opens private keys where nobody can be asked. Never written anywhere.",
    },
    Variable { name: "PATH", help: "Where programs of `command` scorers and `command:` models, and `git`, are found." },
    Variable {
        name: "PROOFMARK_OFFLINE_JITTER_MS",
        help: "Makes offline models wait up to this long, differently in each run, to test what is around them.",
    },
    Variable {
        name: "PROOFMARK_OFFLINE_ASK_LOG",
        help: "A file to which offline models append the key of every sample they are asked.",
    },
];

/// The variables of providers, made from the table of presets: keys and addresses.
pub fn provider_variables() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for preset in PRESETS {
        for key in preset.keys {
            let whose = format!("Key for `{}:` models. Never written anywhere.", preset.name);
            all.push(((*key).to_owned(), whose));
            all.push((format!("{key}_FILE"), format!("A file that only you can read and that holds `{key}`.")));
        }
        let default = match preset.base {
            "" => String::new(),
            base => format!(" Default: `{base}`."),
        };
        all.push((
            preset.base_env.to_owned(),
            format!("Address of `{}:` models, whatever the suite says.{default}", preset.name),
        ));
    }
    for (name, help) in [
        ("CLOUDFLARE_ACCOUNT_ID", "The account of `cloudflare:` models."),
        ("AZURE_OPENAI_ENDPOINT", "Address of the Azure resource, for `azure:` models."),
        ("OLLAMA_HOST", "Where Ollama listens, as Ollama itself reads it."),
        (
            "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY",
            "Proxies, as everywhere. This machine itself is never asked through one.",
        ),
        ("SSL_CERT_FILE, SSL_CERT_DIR", "Certificates to trust instead of the system's."),
        (
            "TMPDIR",
            "Where programs of `command:` models get their working directories, and where what is too much for memory waits. Default: `/tmp`.",
        ),
    ] {
        all.push((name.to_owned(), help.to_owned()));
    }
    all
}

/// What the surroundings say, read once.
pub(crate) struct Settings {
    pub(crate) style: Styles,
    /// Columns of text output.
    pub(crate) width: usize,
    /// Whether progress can be drawn.
    pub(crate) stderr_is_terminal: bool,
    /// The command line, the program's name first.
    arguments: Vec<OsString>,
    /// Milliseconds since 1970 when the program started.
    started: u64,
    environment: Environment,
}

/// Whether each stream is coloured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Styles {
    pub(crate) stdout: Style,
    pub(crate) stderr: Style,
}

/// The variables that were set.
struct Environment(Vec<(&'static str, OsString)>);

impl Environment {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    fn read() -> Self {
        Self(VARIABLES.iter().filter_map(|v| std::env::var_os(v.name).map(|value| (v.name, value))).collect())
    }

    fn get(&self, name: &str) -> Option<&OsString> {
        self.0.iter().find(|(have, _)| *have == name).map(|(_, value)| value).filter(|value| !value.is_empty())
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|value| value.to_str())
    }
}

/// How long git may take to say what state a repository is in.
const GIT_LIMIT: Duration = Duration::from_secs(10);
const DEFAULT_HUB: &str = "https://huggingface.co";

impl Settings {
    pub(crate) fn read(global: &Global, arguments: Vec<OsString>) -> Self {
        let environment = Environment::read();
        let colour = |is_terminal: bool| match global.color {
            Colour::Always => Style::Coloured,
            Colour::Never => Style::Plain,
            Colour::Auto if is_terminal && environment.get("NO_COLOR").is_none() => Style::Coloured,
            Colour::Auto => Style::Plain,
        };
        let stderr_is_terminal = io::stderr().is_terminal();
        let style = Styles { stdout: colour(io::stdout().is_terminal()), stderr: colour(stderr_is_terminal) };
        let measured = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = measured.or_else(|| environment.text("COLUMNS")?.parse().ok()).unwrap_or(100).clamp(40, 240);
        Self { style, width, stderr_is_terminal, arguments, started: clock_nanos() / 1_000_000, environment }
    }

    /// Prints a result to stdout. A reader that has gone away is not a failure.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        Ok(self.write(text.as_bytes())?)
    }

    /// [`Settings::print`] for one line of many.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }

    /// Prints anything else to stderr.
    pub(crate) fn print_err(&self, text: &str) {
        // When stderr is gone there is nobody left to tell.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    pub(crate) fn hub(&self) -> Option<HubContext> {
        let endpoint = self.environment.text("HF_ENDPOINT").unwrap_or(DEFAULT_HUB).trim_end_matches('/');
        let mut hub = HubContext::new(endpoint, self.cache_dir()?);
        hub.token = self.environment.text("HF_TOKEN").map(|token| Secret::new(token.trim()));
        hub.offline = self.environment.text("HF_HUB_OFFLINE").is_some_and(|value| value != "0");
        Some(hub)
    }

    pub(crate) fn cache_dir(&self) -> Option<PathBuf> {
        let path = |name| self.environment.get(name).map(PathBuf::from);
        path("PROOFMARK_CACHE_DIR")
            .or_else(|| path("XDG_CACHE_HOME").map(|dir| dir.join("proofmark")))
            .or_else(|| path("HOME").map(|home| home.join(".cache/proofmark")))
    }

    /// Where what must outlive the cache is remembered: apart from it, since others may roll it back.
    pub(crate) fn state_dir(&self) -> Option<PathBuf> {
        let path = |name| self.environment.get(name).map(PathBuf::from);
        let state = path("XDG_STATE_HOME").or_else(|| path("HOME").map(|home| home.join(".local/state")));
        state.map(|dir| dir.join("proofmark"))
    }

    /// Where keys and the trust file are.
    fn home(&self) -> Option<PathBuf> {
        let path = |name| self.environment.get(name).map(PathBuf::from);
        path("PROOFMARK_HOME")
            .or_else(|| path("XDG_CONFIG_HOME").map(|dir| dir.join("proofmark")))
            .or_else(|| path("HOME").map(|home| home.join(".config/proofmark")))
    }

    pub(crate) fn keyring(&self) -> Option<Keyring> {
        self.home().map(|home| Keyring::at(home.join("keys")))
    }

    pub(crate) fn trust_path(&self) -> Option<PathBuf> {
        let named = self.environment.get("PROOFMARK_TRUST").map(PathBuf::from);
        named.or_else(|| self.home().map(|home| home.join("trust.json")))
    }

    /// The variable that can hold the private key of a role.
    pub(crate) fn key_variable(role: Role) -> &'static str {
        match role {
            Role::Judge => "PROOFMARK_JUDGE_KEY",
            Role::Runner => "PROOFMARK_RUNNER_KEY",
            Role::Submitter => "PROOFMARK_SUBMITTER_KEY",
            Role::Verifier => "PROOFMARK_VERIFIER_KEY",
        }
    }

    /// The private key of a role as PEM text, for where there is no key ring.
    pub(crate) fn key_text(&self, role: Role) -> Option<Zeroizing<String>> {
        let text = self.environment.text(Self::key_variable(role))?;
        // Where a variable must be one line, line ends are written out.
        let is_one_line = !text.contains('\n');
        Some(Zeroizing::new(if is_one_line { text.replace("\\n", "\n") } else { text.to_owned() }))
    }

    pub(crate) fn passphrase(&self) -> Option<&str> {
        self.environment.text("PROOFMARK_KEY_PASSPHRASE")
    }

    /// When the program started, to the second.
    pub(crate) fn now(&self) -> String {
        let text = rfc3339(self.started);
        format!("{}Z", &text[..19])
    }

    /// The moment so many days before the program started.
    pub(crate) fn days_ago(&self, days: u32) -> String {
        rfc3339(self.started.saturating_sub(u64::from(days) * 24 * 60 * 60 * 1000))
    }

    /// Bytes from the operating system that nobody can foretell.
    pub(crate) fn random<const N: usize>(&self) -> Result<Zeroizing<[u8; N]>, Failure> {
        let mut bytes = Zeroizing::new([0; N]);
        getrandom::fill(&mut bytes[..])
            .map_err(|error| Failure::new(format!("the operating system gives no random bytes: {error}")))?;
        Ok(bytes)
    }

    /// What live models need. `concurrency` is how many questions at once were asked for.
    pub(crate) fn surroundings(&self, concurrency: Option<usize>) -> Surroundings {
        Surroundings {
            variable: Arc::new(variable),
            clock: Arc::new(|| clock_nanos() / 1_000_000),
            concurrency,
            scratch: variable("TMPDIR")
                .filter(|dir| !dir.is_empty())
                .map_or_else(|| PathBuf::from("/tmp"), PathBuf::from),
            ..Surroundings::none()
        }
    }

    /// What no tool of an agent may see.
    pub(crate) fn tool_world(&self) -> ToolWorld {
        let keys = self.keyring().map(|ring| ring.folder().to_owned());
        let hidden = self.cache_dir().into_iter().chain(keys).collect();
        ToolWorld { hidden, ..ToolWorld::default() }
    }

    fn user_home(&self) -> Option<PathBuf> {
        self.environment.get("HOME").map(PathBuf::from)
    }

    /// Starts to look at the repository that holds a suite, before anything is written: a run must not make its own
    /// repository dirty.
    pub(crate) fn look_at_repository(&self, suite: &Path) -> Result<Looking, Failure> {
        let cwd = current_folder()?;
        let git = Git { path: self.program_path(), home: self.user_home(), limit: GIT_LIMIT };
        let suite = real_path(suite, &cwd);
        let folder = if suite.is_dir() { Some(suite.as_path()) } else { suite.parent() };
        Ok(git.start(folder.unwrap_or(&cwd)))
    }

    /// The command as the witness of a run needs it. `paths` are the arguments that are paths, `run_dir` is where the
    /// run goes.
    pub(crate) fn invocation(
        &self,
        ready: &Ready,
        paths: Vec<(Option<&'static str>, PathBuf)>,
        repository: Looking,
    ) -> Result<Invocation, Failure> {
        let cwd = current_folder()?;
        let mut secrets = self.surroundings(None).secrets(&ready.plan.models);
        secrets.extend(self.surroundings(None).secrets(&ready.plan.judges));
        let own = ["HF_TOKEN", "PROOFMARK_KEY_PASSPHRASE"].into_iter().filter_map(|name| self.environment.text(name));
        secrets.extend(own.map(Secret::new));
        secrets.extend(Role::ALL.iter().filter_map(|role| self.key_text(*role)).map(|text| Secret::new(text.as_str())));
        secrets.extend(ready.tool_keys().filter_map(|name| self.environment.text(name)).map(Secret::new));
        Ok(Invocation {
            argv: self.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            paths,
            invoked_at: rfc3339(self.started),
            repository: Some(repository),
            cwd,
            home: self.user_home(),
            secrets,
            toolchain: concat!("proofmark ", env!("CARGO_PKG_VERSION")).to_owned(),
        })
    }

    /// When the program was started: RFC 3339 in UTC.
    pub(crate) fn started_at(&self) -> String {
        rfc3339(self.started)
    }

    /// A number below 2^53 that nobody can foretell.
    pub(crate) fn chance(&self) -> u64 {
        use std::hash::{BuildHasher as _, RandomState};
        // The standard library's keys come from the operating system.
        RandomState::new().hash_one(clock_nanos()) >> 11
    }

    pub(crate) fn program_path(&self) -> Option<OsString> {
        self.environment.get("PATH").cloned()
    }

    /// How offline models behave in time.
    pub(crate) fn offline(&self) -> Result<Behaviour, Failure> {
        let mut behaviour = Behaviour::default();
        if let Some(text) = self.environment.text("PROOFMARK_OFFLINE_JITTER_MS") {
            let millis: u64 = text
                .parse()
                .map_err(|_| Failure::new(format!("PROOFMARK_OFFLINE_JITTER_MS is `{text}`, expected milliseconds")))?;
            behaviour.jitter = Some(Duration::from_millis(millis));
            behaviour.jitter_salt = clock_nanos();
        }
        if let Some(path) = self.environment.get("PROOFMARK_OFFLINE_ASK_LOG") {
            let file = File::options().create(true).append(true).open(path).map_err(|error| {
                Failure::new(format!(
                    "cannot open PROOFMARK_OFFLINE_ASK_LOG `{}`: {error}",
                    PathBuf::from(path).display()
                ))
            })?;
            behaviour.ask_log = Some(Arc::new(Mutex::new(file)));
        }
        Ok(behaviour)
    }
}

/// A variable that a suite or a preset names: a key, an address.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn current_folder() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| Failure::new(format!("cannot tell which folder this is: {error}")))
}

#[expect(clippy::disallowed_methods, reason = "`cli` reads the clock; it goes to plane 2 and waiting times alone")]
fn clock_nanos() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
