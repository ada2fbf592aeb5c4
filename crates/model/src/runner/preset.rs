//! The programs that are known by name.

/// How a known program is asked.
#[derive(Debug)]
pub(super) struct Preset {
    /// After `command:`.
    pub(super) name: &'static str,
    pub(super) program: &'static str,
    /// Without prompt, system prompt and model.
    pub(super) arguments: &'static [&'static str],
    /// Further arguments when the prompt goes to stdin, as it does unless the suite says otherwise.
    pub(super) by_stdin: &'static [&'static str],
    /// Further arguments when the prompt is one.
    pub(super) by_argument: &'static [&'static str],
    /// Further arguments when a model is asked for.
    pub(super) model: &'static [&'static str],
    /// Further arguments when there is a system prompt; without any it goes before the prompt.
    pub(super) system: &'static [&'static str],
    pub(super) version: &'static [&'static str],
    pub(super) form: Form,
    /// Variables of the caller that go through: where the program is logged in, and how it gets out.
    pub(super) environment: &'static [&'static str],
    /// Variables that are always set.
    pub(super) set: &'static [(&'static str, &'static str)],
    /// What to do when it is not there.
    pub(super) install: &'static str,
    /// What to do when it is not logged in.
    pub(super) log_in: &'static str,
}

/// What a known program writes to its stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One JSON document with `result`, `is_error` and `modelUsage`.
    Claude,
    /// One JSON event a line.
    Codex,
    /// One JSON document with `response`, `stats` and `error`.
    Gemini,
}

impl Preset {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|preset| preset.name == name)
    }
}

/// Every arguments list is what the program documents for use without a terminal. Nothing here gives a program more
/// rights than it takes for itself: no flag that skips permissions, and the sandbox where there is one.
pub(super) const ALL: [Preset; 3] = [
    Preset {
        name: "claude-code",
        program: "claude",
        arguments: &["-p", "--output-format", "json"],
        by_stdin: &[],
        by_argument: &["--", "{prompt}"],
        model: &["--model", "{model}"],
        // Added to the program's own system prompt, which is part of what is measured.
        system: &["--append-system-prompt", "{system}"],
        version: &["--version"],
        form: Form::Claude,
        environment: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CONFIG_DIR",
            // Names the entry in the keychain.
            "USER",
        ],
        set: &[],
        install: "install Claude Code, so that `claude` is in PATH",
        log_in: "run `claude` once and log in, or set ANTHROPIC_API_KEY",
    },
    Preset {
        name: "codex",
        program: "codex",
        // The fresh working directory is no repository, and nothing in it is to be changed.
        arguments: &["exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only"],
        by_stdin: &["-"],
        by_argument: &["--", "{prompt}"],
        model: &["--model", "{model}"],
        system: &[],
        version: &["--version"],
        form: Form::Codex,
        environment: &["CODEX_API_KEY", "CODEX_HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL"],
        set: &[],
        install: "install the Codex CLI, so that `codex` is in PATH",
        log_in: "run `codex login`, or set CODEX_API_KEY",
    },
    Preset {
        name: "gemini-cli",
        program: "gemini",
        arguments: &["--output-format", "json"],
        by_stdin: &[],
        // One argument, so that a prompt with a dash in front is not taken for an option.
        by_argument: &["--prompt={prompt}"],
        model: &["--model", "{model}"],
        system: &[],
        version: &["--version"],
        form: Form::Gemini,
        environment: &[
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_CLOUD_LOCATION",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_GENAI_USE_GCA",
            "GOOGLE_GENAI_USE_VERTEXAI",
        ],
        // It refuses to work in a folder that nobody said to trust; ours is empty.
        set: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
        install: "install the Gemini CLI, so that `gemini` is in PATH",
        log_in: "run `gemini` once and log in, or set GEMINI_API_KEY",
    },
];

/// Variables that go through to every known program: how the network is reached.
pub(super) const NETWORK: [&str; 9] = [
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "https_proxy",
    "http_proxy",
    "no_proxy",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];
