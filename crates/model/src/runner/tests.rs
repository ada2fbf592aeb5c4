//! Programs as people have them, played by small scripts.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proofmark_artefact::record::{Attachment, Message, Role, Status, Usage};
use proofmark_artefact::suite::config::{OutputKind, PromptBy, Runner, RunnerOutput};
use proofmark_artefact::suite::plan::{ModelPlan, ToolPlan};
use proofmark_artefact::telemetry::{Attempt, AttemptOutcome};
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, Map, Value};
use tokio::time::{Instant, sleep};

use super::{RunnerContext, build, check_params, known_params};
use crate::ask::{Ask, AttemptLog, File, Hint, Model, Reply, Request, Stop, Turn};
use crate::build::BuildError;

/// A machine with a few programs on it.
struct Bench {
    folder: tempfile::TempDir,
    environment: Vec<(&'static str, &'static str)>,
    max_output: usize,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["bin", "suite", "home"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder, environment: Vec::new(), max_output: 1 << 20 }
    }

    /// With one program in PATH.
    fn with(name: &str, script: &str) -> Self {
        let bench = Self::new();
        bench.script(&format!("bin/{name}"), script);
        bench
    }

    /// Writes a script. Another process does it: a file that we had open for writing may still be open in a process
    /// that another test is starting, and could not be run then.
    fn script(&self, path: &str, script: &str) {
        let mut writer = Command::new("sh")
            .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
            .arg(self.path(path))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let text = format!("#!/bin/sh\nif [ \"$1\" = --version ]; then echo '1.2.3 (fake)'; exit; fi\n{script}\n");
        writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn context(&self) -> RunnerContext {
        let environment: Vec<(String, OsString)> = [("HOME", self.path("home").into_os_string())]
            .into_iter()
            .chain(self.environment.iter().map(|(name, value)| (*name, OsString::from(value))))
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        let mut path = self.path("bin").into_os_string();
        path.push(":/usr/local/bin:/usr/bin:/bin");
        RunnerContext {
            path: Some(path),
            environment: Arc::new(move |name| {
                environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            }),
            root: self.path("suite"),
            scratch: self.path("scratch"),
            clock: Arc::new(|| 951_782_400_000),
            max_output: self.max_output,
        }
    }

    fn build(&self, name: &str, runner: Option<Runner>) -> Arc<dyn Model> {
        build(&plan(name, runner), &self.context()).unwrap()
    }

    fn refuse(&self, plan: &ModelPlan) -> BuildError {
        build(plan, &self.context()).err().expect("it must be refused")
    }

    /// Working directories that are left.
    fn left(&self) -> usize {
        std::fs::read_dir(self.path("scratch")).unwrap().count()
    }

    /// Asks a program of the suite once.
    async fn sh(&self, script: &str, prompt: &str) -> Reply {
        self.script("suite/program", script);
        let model = self.build("mine", Some(Runner { run: words(&["./program"]), timeout: Some(20.0), ..runner() }));
        ask(&*model, prompt).await.0.unwrap()
    }
}

fn runner() -> Runner {
    Runner {
        run: None,
        prompt: None,
        output: None,
        pointer: None,
        model_pointer: None,
        model: None,
        env: None,
        version: None,
        timeout: None,
    }
}

fn words(words: &[&str]) -> Option<Vec<String>> {
    Some(words.iter().map(|word| (*word).to_owned()).collect())
}

fn plan(name: &str, runner: Option<Runner>) -> ModelPlan {
    ModelPlan { command: runner, ..ModelPlan::named("m", format!("command:{name}")) }
}

fn request(prompt: &str) -> Request {
    Request::new(vec![Message::new(Role::User, prompt)], Map::new(), SampleSeed::derive(0, "k"))
}

fn with_system(system: &str, prompt: &str) -> Request {
    let messages = vec![Message::new(Role::System, system), Message::new(Role::User, prompt)];
    Request::new(messages, Map::new(), SampleSeed::derive(0, "k"))
}

#[derive(Default)]
struct Log(Mutex<Vec<Attempt>>);

impl AttemptLog for Log {
    fn attempt(&self, attempt: &Attempt) {
        self.0.lock().unwrap().push(attempt.clone());
    }
}

async fn ask(model: &dyn Model, prompt: &str) -> (Result<Reply, Stop>, Vec<Attempt>) {
    ask_for(model, &request(prompt)).await
}

async fn ask_for(model: &dyn Model, request: &Request) -> (Result<Reply, Stop>, Vec<Attempt>) {
    let log = Log::default();
    let hint = Hint {
        key: "k",
        ordinal: 7,
        item_id: "i",
        item_index: 0,
        sample: 0,
        attempt: 0,
        expected: &Value::Null,
        choices: None,
    };
    let asked = model.ask(Ask { request, hint, log: &log }).await;
    (asked.map(|asked| asked.reply), log.0.into_inner().unwrap())
}

fn text(reply: &Reply) -> &str {
    match reply {
        Reply::Answered { output, .. } => &output.text,
        Reply::Failed { class, message, .. } => panic!("{class}: {message}"),
    }
}

fn failure(reply: &Reply) -> (&str, &str, Status) {
    match reply {
        Reply::Answered { output, .. } => panic!("answered {:?}", output.text),
        Reply::Failed { class, message, status, .. } => (class, message, *status),
    }
}

/// Whether a process is there and not merely waiting to be buried.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with(['Z', 'X']))
}

/// Waits for a pid that a script writes.
async fn pid_in(bench: &Bench, name: &str) -> String {
    for _ in 0..500 {
        let pid = bench.read(name);
        if pid.ends_with('\n') {
            return pid;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("no pid in {name}");
}

async fn assert_dies(pid: &str) {
    assert!(!pid.trim().is_empty());
    let deadline = Instant::now() + Duration::from_secs(2);
    while is_alive(pid) {
        assert!(Instant::now() < deadline, "{pid} is still alive");
        sleep(Duration::from_millis(5)).await;
    }
}

const CLAUDE: &str = r#"
printf '%s\n' "$@" > "$HOME/arguments"
cat > "$HOME/stdin"
cat <<'END'
{"type":"result","subtype":"success","is_error":false,"duration_ms":2113,"num_turns":1,"result":"Paris",
 "stop_reason":"end_turn","session_id":"s","total_cost_usd":0.01,
 "usage":{"input_tokens":5,"cache_read_input_tokens":1000,"cache_creation_input_tokens":0,"output_tokens":4},
 "modelUsage":{"claude-sonnet-x":{"inputTokens":5,"outputTokens":4,"cacheReadInputTokens":1000,"cacheCreationInputTokens":0}}}
END"#;

#[tokio::test]
async fn claude_code_is_asked_as_documented_and_the_fallback_is_recorded() {
    let bench = Bench::with("claude", CLAUDE);
    let model = bench.build("claude-code", Some(Runner { model: Some("opus".to_owned()), ..runner() }));
    let (reply, log) = ask_for(&*model, &with_system("-be brief", "Capital of France?")).await;
    let Reply::Answered { finish_reason, output, usage } = reply.unwrap() else { panic!() };
    assert_eq!((finish_reason.as_str(), output.text.as_str()), ("stop", "Paris"));
    assert_eq!(usage, Usage { input_tokens: 1005, output_tokens: 4 });
    // It was asked for opus; what answered is what it says has answered.
    assert_eq!(output.answered_by.as_deref(), Some("claude-sonnet-x"));
    assert_eq!(
        bench.read("home/arguments"),
        "-p\n--output-format\njson\n--model\nopus\n--append-system-prompt\n-be brief\n"
    );
    assert_eq!(bench.read("home/stdin"), "Capital of France?");
    let [attempt] = &log[..] else { panic!("{log:?}") };
    assert_eq!((attempt.attempt, attempt.call, attempt.ordinal, attempt.key.as_str()), (1, 0, 7, "k"));
    assert_eq!((attempt.at.as_str(), attempt.endpoint.as_str()), ("2000-02-29T00:00:00.000Z", "command:claude"));
    assert_eq!((attempt.status, attempt.outcome, &attempt.class), (Some(0), AttemptOutcome::Answered, &None));
    assert_eq!(attempt.model_returned.as_deref(), Some("claude-sonnet-x"));
    assert_eq!((attempt.cached_input_tokens, &attempt.request_id), (Some(1000), &None));
    assert!(attempt.first_byte_ms.is_some_and(|first| first <= attempt.latency_ms));
    assert!(attempt.request_bytes >= 18 && attempt.response_bytes > 300);
}

#[tokio::test]
async fn codex_is_asked_as_documented() {
    let script = r#"
printf '%s\n' "$@" > "$HOME/arguments"; cat > "$HOME/stdin"; echo progress >&2
echo '{"type":"thread.started","thread_id":"t"}'
echo '{"type":"turn.started"}'
echo '{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Paris"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":24,"cached_input_tokens":20,"output_tokens":3}}'"#;
    let bench = Bench::with("codex", script);
    let model = bench.build("codex", Some(Runner { model: Some("gpt-x".to_owned()), ..runner() }));
    let (reply, _) = ask_for(&*model, &with_system("be brief", "Capital?")).await;
    let Reply::Answered { output, usage, .. } = reply.unwrap() else { panic!() };
    assert_eq!((output.text.as_str(), output.answered_by), ("Paris", None));
    assert_eq!(usage, Usage { input_tokens: 24, output_tokens: 3 });
    let arguments = "exec\n--json\n--skip-git-repo-check\n--sandbox\nread-only\n--model\ngpt-x\n-\n";
    assert_eq!(bench.read("home/arguments"), arguments);
    assert_eq!(bench.read("home/stdin"), "be brief\n\nCapital?");
}

#[tokio::test]
async fn gemini_cli_is_asked_as_documented() {
    let script = r#"
printf '%s\n' "$@" > "$HOME/arguments"; cat > "$HOME/stdin"; echo "$GEMINI_CLI_TRUST_WORKSPACE" > "$HOME/trust"
echo '{"response":"Paris","stats":{"models":{"gemini-x":{"tokens":{"prompt":9,"candidates":1,"thoughts":2}}}}}'"#;
    let bench = Bench::with("gemini", script);
    let model = bench.build("gemini-cli", None);
    let Reply::Answered { output, usage, .. } = ask(&*model, "Capital?").await.0.unwrap() else { panic!() };
    assert_eq!((output.text.as_str(), output.answered_by.as_deref()), ("Paris", Some("gemini-x")));
    assert_eq!(usage, Usage { input_tokens: 9, output_tokens: 3 });
    assert_eq!(bench.read("home/arguments"), "--output-format\njson\n");
    assert_eq!((bench.read("home/stdin").as_str(), bench.read("home/trust").as_str()), ("Capital?", "true\n"));
    let by_argument = Some(Runner { prompt: Some(PromptBy::Argument), ..runner() });
    ask(&*bench.build("gemini-cli", by_argument), "-x").await.0.unwrap();
    assert_eq!(bench.read("home/arguments"), "--output-format\njson\n--prompt=-x\n");
    assert_eq!(bench.read("home/stdin"), "", "a prompt goes one way only");
}

#[tokio::test]
async fn who_is_not_logged_in_stops_the_run_with_a_hint() {
    for (program, name, script, hint) in [
        (
            "claude",
            "claude-code",
            r#"echo '{"type":"result","subtype":"success","is_error":true,"result":"Invalid API key · Please run /login"}'; exit 1"#,
            "run `claude` once and log in, or set ANTHROPIC_API_KEY",
        ),
        (
            "codex",
            "codex",
            r#"echo '{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: x"}}'; exit 1"#,
            "run `codex login`, or set CODEX_API_KEY",
        ),
        ("codex", "codex", "echo 'Not logged in' >&2; exit 1", "run `codex login`, or set CODEX_API_KEY"),
        (
            "gemini",
            "gemini-cli",
            r#"printf '{\n "error": {"type":"FatalAuthenticationError","message":"sign in","code":41}\n}\n' >&2; exit 41"#,
            "run `gemini` once and log in, or set GEMINI_API_KEY",
        ),
    ] {
        let bench = Bench::with(program, script);
        let (reply, log) = ask(&*bench.build(name, None), "x").await;
        let stop = reply.unwrap_err();
        assert!(stop.message.starts_with(&format!("`command:{name}`: the program reports: ")), "{}", stop.message);
        assert_eq!(stop.hint.as_deref(), Some(hint));
        assert_eq!((log[0].outcome, log[0].class.as_deref()), (AttemptOutcome::Stopped, Some("auth")));
        assert_eq!(bench.left(), 0);
    }
}

#[tokio::test]
async fn a_programs_own_report_wins_over_its_exit_status() {
    let script = r#"echo '{"is_error":true,"subtype":"error_max_turns","errors":["too many"],"modelUsage":{"a":{"inputTokens":3,"outputTokens":1}}}'; echo noise >&2; exit 1"#;
    let bench = Bench::with("claude", script);
    let reply = ask(&*bench.build("claude-code", None), "x").await.0.unwrap();
    assert_eq!(failure(&reply), ("runner", "the program reports: too many", Status::Error));
    assert_eq!(reply.usage(), Usage { input_tokens: 3, output_tokens: 1 }, "what was spent counts all the same");
    // An exit status counts where the document says nothing of an error.
    let bench = Bench::with("claude", r#"echo '{"result":"x"}'; echo why >&2; exit 3"#);
    let reply = ask(&*bench.build("claude-code", None), "x").await.0.unwrap();
    assert_eq!(failure(&reply), ("runner", "the program ended with exit status 3: why", Status::Error));
}

#[tokio::test]
async fn any_program_gets_the_prompt_on_stdin_and_answers_in_text() {
    let bench = Bench::new();
    assert_eq!(text(&bench.sh("tr a-z A-Z", "héllo\n").await), "HéLLO");
    assert_eq!(text(&bench.sh("printf '  a b \\r\\n'", "x").await), "  a b ");
    assert_eq!(failure(&bench.sh("true", "x").await), ("empty", "the program gave an empty answer", Status::Error));
    assert_eq!(
        failure(&bench.sh("printf '\\377'", "x").await),
        ("malformed", "its output is not UTF-8", Status::Error)
    );
}

#[tokio::test]
async fn arguments_hold_prompt_system_model_and_suite_without_a_shell() {
    let bench = Bench::new();
    bench.script("suite/show", r#"printf '<%s>' "$@"; cat"#);
    let run = words(&["./show", "--p={prompt}", "{system}/{model}", "{other}", "{suite}/x"]);
    let model = bench.build("mine", Some(Runner { run, model: Some("m1".to_owned()), ..runner() }));
    let suite = bench.path("suite");
    let (reply, _) = ask_for(&*model, &with_system("{model}", "$(id) `id` {system} \"'\n;")).await;
    let want = format!("<--p=$(id) `id` {{system}} \"'\n;><{{model}}/m1><{{other}}><{}/x>", suite.display());
    assert_eq!(text(&reply.unwrap()), want);
    let (reply, _) = ask(&*model, "p").await;
    assert_eq!(text(&reply.unwrap()), format!("<--p=p></m1><{{other}}><{}/x>", suite.display()));
    // Without a place of its own a system prompt goes before the prompt.
    let at_end = Runner { run: words(&["./show", "-n"]), prompt: Some(PromptBy::Argument), ..runner() };
    let (reply, _) = ask_for(&*bench.build("mine", Some(at_end)), &with_system("S", "P")).await;
    assert_eq!(text(&reply.unwrap()), "<-n><S\n\nP>");
}

#[tokio::test]
async fn json_is_read_where_the_suite_says() {
    let bench = Bench::with("tool", r#"cat; echo; echo '{"x":'>&2"#);
    let json = |pointer: Option<&str>, model: Option<&str>| Runner {
        run: words(&["tool"]),
        output: Some(RunnerOutput::Json),
        pointer: pointer.map(str::to_owned),
        model_pointer: model.map(str::to_owned),
        ..runner()
    };
    let model = bench.build("mine", Some(json(Some("/choices/0/t~1x"), Some("/by"))));
    let reply = ask(&*model, r#"{"choices":[{"t/x":"A"}],"by":"small-1"}"#).await.0.unwrap();
    let Reply::Answered { output, usage, .. } = reply else { panic!() };
    assert_eq!((output.text.as_str(), output.answered_by.as_deref()), ("A", Some("small-1")));
    assert_eq!(usage, Usage::default());
    let model = bench.build("mine", Some(json(None, None)));
    assert_eq!(text(&ask(&*model, r#"{"result":"B"}"#).await.0.unwrap()), "B");
    for (document, class, message) in [
        ("{", "malformed", "its output is not JSON: column 2: the text ends inside a value"),
        ("{}", "malformed", "its output has no `/result`"),
        (r#"{"result":1}"#, "malformed", "`/result` of its output is a number, expected a string"),
        (r#"{"result":" "}"#, "empty", "the program gave an empty answer"),
    ] {
        let reply = ask(&*model, document).await.0.unwrap();
        assert_eq!(failure(&reply), (class, message, Status::Error));
    }
}

#[tokio::test]
async fn exit_statuses_and_signals_are_told_with_the_last_line_of_stderr() {
    let bench = Bench::new();
    for (script, want) in [
        ("echo first >&2; echo last >&2; echo >&2; exit 4", "the program ended with exit status 4: last"),
        ("exit 1", "the program ended with exit status 1"),
        ("echo answer; kill -TERM $$", "the program was ended by signal 15"),
        ("printf 'a\\033[31m\\tb' >&2; exit 2", "the program ended with exit status 2: a\\u{1b}[31m\\tb"),
        ("echo \"$PWD/f: no such file\" >&2; exit 2", "the program ended with exit status 2: ./f: no such file"),
        ("echo \"cannot open $0\" >&2; exit 2", "the program ended with exit status 2: cannot open {suite}/program"),
    ] {
        assert_eq!(failure(&bench.sh(script, "x").await), ("runner", want, Status::Error), "{script}");
    }
    let reply = bench.sh("head -c 5000 /dev/zero | tr '\\0' x >&2; exit 1", "x").await;
    let (_, message, _) = failure(&reply);
    assert_eq!(message.chars().count(), "the program ended with exit status 1: ".len() + 300);
    assert_eq!(bench.left(), 0);
}

#[tokio::test]
async fn a_timeout_kills_grandchildren_too() {
    let bench = Bench::new();
    bench.script("suite/slow", "sleep 60 & echo $! > \"$HOME/grandchild\"; echo $$ > \"$HOME/child\"; wait");
    let model = bench.build("slow", Some(Runner { run: words(&["./slow"]), timeout: Some(0.4), ..runner() }));
    let started = Instant::now();
    let (reply, log) = ask(&*model, "x").await;
    let reply = reply.unwrap();
    assert_eq!(failure(&reply), ("timeout", "the program gave no answer within 0.4 s", Status::Timeout));
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!((log[0].status, log[0].outcome), (None, AttemptOutcome::Failed));
    for name in ["home/child", "home/grandchild"] {
        assert_dies(&bench.read(name)).await;
    }
    assert_eq!(bench.left(), 0);
}

#[tokio::test]
async fn children_that_are_left_behind_are_killed_and_do_not_hold_the_answer_up() {
    let bench = Bench::new();
    let started = Instant::now();
    let reply = bench.sh("sleep 60 & echo $! > \"$HOME/left\"; echo answer", "x").await;
    assert_eq!(text(&reply), "answer");
    assert!(started.elapsed() < Duration::from_secs(10), "it waited for the child");
    assert_dies(&bench.read("home/left")).await;
    assert_eq!(bench.left(), 0);
}

#[tokio::test]
async fn dropping_the_question_kills_everything() {
    let bench = Bench::new();
    bench.script("suite/slow", "sleep 60 & echo $! > \"$HOME/grandchild\"; echo $$ > \"$HOME/child\"; wait");
    let model = bench.build("slow", Some(Runner { run: words(&["./slow"]), ..runner() }));
    let mut asked = Box::pin(ask(&*model, "x"));
    let pids = tokio::select! {
        _ = &mut asked => panic!("it ended"),
        pids = async { [pid_in(&bench, "home/child").await, pid_in(&bench, "home/grandchild").await] } => pids,
    };
    assert!(pids.iter().all(|pid| is_alive(pid)) && bench.left() == 1);
    drop(asked);
    assert_eq!(bench.left(), 0);
    for pid in pids {
        assert_dies(&pid).await;
    }
}

#[tokio::test]
async fn a_flood_is_stopped() {
    let mut bench = Bench::new();
    bench.max_output = 100_000;
    let started = Instant::now();
    for (script, stream) in [("yes", "stdout"), ("yes >&2", "stderr"), ("yes & yes >&2", "stderr")] {
        let reply = bench.sh(script, "x").await;
        let (class, message, _) = failure(&reply);
        assert_eq!(class, "malformed");
        assert!(message.starts_with("the program wrote more than 100000 bytes to its std"), "{message}");
        assert!(script.contains('&') || message.ends_with(stream), "{message}");
    }
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(bench.left(), 0);
    // As much as is allowed is allowed.
    let reply = bench.sh("head -c 100000 /dev/zero | tr '\\0' x", "x").await;
    assert_eq!(text(&reply).len(), 100_000);
}

#[tokio::test]
async fn a_program_that_does_not_read_is_no_problem() {
    let bench = Bench::new();
    let long = "x".repeat(4 << 20);
    assert_eq!(text(&bench.sh("echo answer", &long).await), "answer");
    assert_eq!(text(&bench.sh("exec <&-; sleep 0.1; echo answer", &long).await), "answer");
    assert_eq!(text(&bench.sh("sleep 0.1; echo answer", &long).await), "answer");
    assert_eq!(text(&bench.sh("wc -c | tr -d ' '", &long).await), "4194304", "and one that reads gets all of it");
}

#[tokio::test]
async fn both_streams_are_read_while_the_prompt_is_written() {
    // Fills every pipe before it reads anything.
    let script = "head -c 300000 /dev/zero | tr '\\0' e >&2; head -c 300000 /dev/zero | tr '\\0' o; cat > /dev/null";
    assert_eq!(text(&Bench::new().sh(script, &"x".repeat(1 << 20)).await).len(), 300_000);
}

#[tokio::test]
async fn only_named_variables_are_visible() {
    let mut bench = Bench::with("claude", r#"env > "$HOME/env"; echo '{"result":"x"}'"#);
    bench.script("suite/show", "env");
    bench.environment = vec![
        ("CANARY_SECRET", "canary-1234567"),
        ("ANTHROPIC_API_KEY", "sk-ant-7654321"),
        ("OPENAI_API_KEY", "sk-oai-7654321"),
        ("MINE", "one"),
        ("LANG", "de_DE.UTF-8"),
    ];
    ask(&*bench.build("claude-code", None), "x").await.0.unwrap();
    let seen = bench.read("home/env");
    assert!(seen.contains("ANTHROPIC_API_KEY=sk-ant-7654321") && seen.contains("LANG=C.UTF-8"), "{seen}");
    assert!(!seen.contains("canary") && !seen.contains("OPENAI") && !seen.contains("MINE"), "{seen}");

    let show = |env: Option<Vec<String>>| Runner { run: words(&["./show"]), env, ..runner() };
    let reply = ask(&*bench.build("mine", Some(show(None))), "x").await.0.unwrap();
    let mut names: Vec<&str> = text(&reply).lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    // The shell sets PWD (and others of its own) itself.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    assert_eq!(names, ["HOME", "LANG", "PATH"]);
    let named = show(words(&["MINE", "LANG", "NOT_SET"]));
    let reply = ask(&*bench.build("mine", Some(named)), "x").await.0.unwrap();
    assert!(text(&reply).contains("MINE=one") && text(&reply).contains("LANG=de_DE.UTF-8"));
    assert!(!text(&reply).contains("NOT_SET") && !text(&reply).contains("canary"));
}

#[tokio::test]
async fn a_key_that_a_program_shows_is_not_recorded() {
    let mut bench = Bench::new();
    bench.environment = vec![("MY_API_KEY", "canary-1234567"), ("MY_WORD", "ordinary words")];
    let runner = |name: &str| Runner { run: words(&[name]), env: words(&["MY_API_KEY", "MY_WORD"]), ..runner() };
    bench.script("suite/tell", "echo \"key $MY_API_KEY, $MY_WORD\"");
    bench.script("suite/fail", "echo \"bad key $MY_API_KEY\" >&2; exit 1");
    let reply = ask(&*bench.build("mine", Some(runner("./tell"))), "x").await.0.unwrap();
    assert_eq!(text(&reply), "key ***, ordinary words");
    let reply = ask(&*bench.build("mine", Some(runner("./fail"))), "x").await.0.unwrap();
    assert_eq!(failure(&reply).1, "the program ended with exit status 1: bad key ***");
}

#[tokio::test]
async fn every_sample_has_a_fresh_directory_that_is_removed() {
    let bench = Bench::new();
    let script = "ls -A | wc -l | tr -d ' '; echo $PWD >> \"$HOME/seen\"; mkdir -p a/b; echo x > a/b/c; chmod 500 a/b";
    for _ in 0..2 {
        assert_eq!(text(&bench.sh(script, "x").await), "0");
    }
    assert!(matches!(bench.sh("echo x > y; exit 1", "x").await, Reply::Failed { .. }));
    let seen = bench.read("home/seen");
    let seen: Vec<_> = seen.lines().collect();
    assert!(seen.len() == 2 && seen[0] != seen[1], "{seen:?}");
    assert!(seen.iter().all(|path| Path::new(path).starts_with(bench.path("scratch"))));
    assert_eq!(bench.left(), 0);
}

#[tokio::test]
async fn attachments_lie_in_the_directory_under_their_names() {
    let bench = Bench::new();
    bench.script("suite/show", "for f in *; do printf '%s=' \"$f\"; cat \"$f\"; echo; done");
    let model = bench.build("mine", Some(Runner { run: words(&["./show"]), ..runner() }));
    let mut message = Message::new(Role::User, "x");
    let mut files = Vec::new();
    for (name, bytes) in [("data/a.txt", "one"), ("other/a.txt", "two"), ("b", "three")] {
        let digest = Digest::of(bytes.as_bytes());
        let (length, media_type) = (bytes.len() as u64, "text/plain".to_owned());
        message.attachments.push(Attachment { bytes: length, digest, media_type, name: name.to_owned() });
        files.push(File { digest, bytes: bytes.as_bytes().into() });
    }
    let mut request = Request::new(vec![message], Map::new(), SampleSeed::derive(0, "k"));
    request.files = files.into();
    let (reply, _) = ask_for(&*model, &request).await;
    assert_eq!(text(&reply.unwrap()), "a-2.txt=two\na.txt=one\nb=three");
    request.files = Arc::default();
    let (reply, log) = ask_for(&*model, &request).await;
    assert_eq!(failure(&reply.unwrap()).2, Status::Skipped);
    assert!(log.is_empty() && bench.left() == 0);
}

#[tokio::test]
async fn what_a_program_cannot_take_is_skipped() {
    let bench = Bench::new();
    bench.script("suite/x", "echo x");
    let model = bench.build("mine", Some(Runner { run: words(&["./x"]), ..runner() }));
    let mut talk = request("x");
    talk.messages = vec![Message::new(Role::User, "a"), Message::new(Role::Assistant, "b")].into();
    let mut turns = request("x");
    turns.turns = vec![Turn::Model { text: "a".into(), calls: vec![], keep: None }];
    let mut tools = request("x");
    tools.tools = vec![ToolPlan { name: "t".into(), description: String::new(), parameters: Map::new() }].into();
    for request in [talk, turns, tools] {
        let (reply, log) = ask_for(&*model, &request).await;
        assert_eq!((failure(&reply.unwrap()).0, log.len()), ("unsupported", 0));
    }
    let by_argument = Runner { run: words(&["./x", "{prompt}"]), ..runner() };
    let model = bench.build("mine", Some(by_argument));
    for (prompt, why) in
        [("a\0b".to_owned(), "it holds a NUL"), ("x".repeat(3 << 20), "the prompt is too long for an argument")]
    {
        let reply = ask(&*model, &prompt).await.0.unwrap();
        let (class, message, status) = failure(&reply);
        assert!((class, status) == ("unsupported", Status::Skipped) && message.contains(why), "{message}");
    }
    assert_eq!(bench.left(), 0);
}

#[tokio::test]
async fn a_program_that_is_gone_stops_the_run() {
    let bench = Bench::new();
    bench.script("suite/x", "echo x");
    let model = bench.build("mine", Some(Runner { run: words(&["./x"]), ..runner() }));
    std::fs::remove_file(bench.path("suite/x")).unwrap();
    let stop = ask(&*model, "x").await.0.unwrap_err();
    assert_eq!(stop.message, "`command:mine`: the program cannot be started: entity not found");
    assert!(stop.hint.unwrap().contains("suite/"));
}

#[tokio::test]
async fn program_and_version_are_told() {
    let bench = Bench::with("claude", CLAUDE);
    let model = bench.build("claude-code", None);
    let program = bench.path("bin/claude").display().to_string();
    assert_eq!(model.surroundings(), [("program", program), ("version", "1.2.3 (fake)".to_owned())]);
    assert_eq!(model.lane(), "command:claude-code");
    assert!(model.max_in_flight().is_some_and(|most| most >= 1));
    bench.script("suite/x", "if [ \"$1\" = two ]; then echo; echo ' 2.0 '; sleep 60 & else exit 1; fi");
    for (words_, want) in [(&["two"][..], "2.0"), (&["three"], "unknown"), (&[], "unknown")] {
        let run = Runner { run: words(&["./x"]), version: words(words_), ..runner() };
        assert_eq!(bench.build("mine", Some(run)).surroundings()[1], ("version", want.to_owned()));
    }
    assert_eq!(bench.left(), 0);
}

#[test]
fn what_cannot_work_is_refused_before_the_first_question() {
    let bench = Bench::new();
    bench.script("suite/x", "echo x");
    let run = |arguments: &[&str]| Runner { run: words(arguments), ..runner() };
    for (name, command, message, hint) in [
        ("claude-code", None, "there is no program `claude` for `command:claude-code`", "install Claude Code"),
        ("codex", None, "there is no program `codex` for `command:codex`", "install the Codex CLI"),
        ("gemini-cli", None, "there is no program `gemini` for `command:gemini-cli`", "install the Gemini CLI"),
        ("mine", Some(run(&["./nope"])), "there is no program `./nope` for `command:mine`", "chmod +x"),
        ("mine", Some(run(&[])), "`command:mine` has an empty `command.run`", "name a program"),
        ("mine", None, "`command:mine` does not say which program to start", "`command: {run: [program]}`"),
        ("claude-cod", None, "`command:claude-cod` does not say which", "did you mean `command:claude-code`?"),
        (
            "mine",
            Some(Runner { prompt: Some(PromptBy::Stdin), ..run(&["./x", "{prompt}"]) }),
            "has `prompt: stdin` and an argument with `{prompt}`",
            "remove",
        ),
        (
            "mine",
            Some(Runner { model: Some("m".into()), ..run(&["./x"]) }),
            "asks for a model, but no argument holds `{model}`",
            "put `{model}`",
        ),
        ("mine", Some(run(&["./x", "{model}"])), "has an argument with `{model}`, but asks for none", "command.model"),
        ("mine", Some(Runner { timeout: Some(0.0), ..run(&["./x"]) }), "has a `command.timeout` of 0", "seconds"),
        ("mine", Some(Runner { timeout: Some(f64::NAN), ..run(&["./x"]) }), "`command.timeout` of NaN", "seconds"),
        ("mine", Some(Runner { env: words(&["A=b"]), ..run(&["./x"]) }), "has `A=b` in `command.env`", "variable"),
        (
            "mine",
            Some(Runner { pointer: Some("/a".into()), ..run(&["./x"]) }),
            "has a `pointer` or `model_pointer` without `output: json`",
            "add `output: json`",
        ),
        (
            "mine",
            Some(Runner { output: Some(RunnerOutput::Json), pointer: Some("a".into()), ..run(&["./x"]) }),
            "has `a` as `command.pointer`",
            "JSON pointer",
        ),
    ] {
        let error = bench.refuse(&plan(name, command));
        assert!(error.message.contains(message), "{}", error.message);
        assert!(error.hint.as_ref().is_some_and(|text| text.contains(hint)), "{error:?}");
    }
    // Neither a folder nor a file without the right to run is a program.
    bench.script("bin/codex", "echo x");
    Command::new("chmod").arg("644").arg(bench.path("bin/codex")).status().unwrap();
    std::fs::create_dir(bench.path("bin/claude")).unwrap();
    for name in ["codex", "claude-code"] {
        assert!(bench.refuse(&plan(name, None)).message.starts_with("there is no program"));
    }
}

#[test]
fn members_and_parameters_of_apis_are_refused() {
    let bench = Bench::with("codex", "echo x");
    for (plan, member) in [
        (ModelPlan { base_url: Some("http://h".into()), ..plan("codex", None) }, "base_url"),
        (ModelPlan { api_key_env: Some("A_API_KEY".into()), ..plan("codex", None) }, "api_key_env"),
        (ModelPlan { headers: [("a".to_owned(), "b".to_owned())].into(), ..plan("codex", None) }, "headers"),
        (ModelPlan { output: Some(OutputKind::Image), ..plan("codex", None) }, "output: image"),
    ] {
        let message = format!("`command:codex` is a program and has no `{member}`");
        assert_eq!(bench.refuse(&plan).message, message);
    }
    assert!(known_params("codex").is_empty());
    let mut params = Map::new();
    params.insert("temperature", 0u32);
    let error = check_params(&plan("codex", None), &params).unwrap_err();
    assert_eq!(error.message, "`command:codex` is a program and has no parameter `temperature`");
    assert_eq!(bench.refuse(&ModelPlan { params, ..plan("codex", None) }).message, error.message);
    assert!(check_params(&plan("codex", None), &Map::new()).is_ok());
}
