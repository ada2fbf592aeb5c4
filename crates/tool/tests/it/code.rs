//! The `python` and `bash` tools as a model calls them.

use std::path::Path;

use proofmark_artefact::suite::solver::{AgentToolPlan, LimitsPlan, SandboxKind};
use proofmark_canon::Value;
use proofmark_tool::{Call, Failure, ToolError, ToolOutput, Toolbox, Workspace};

use crate::support::*;

struct Tools {
    toolbox: Toolbox,
    workspace: Workspace,
}

impl Tools {
    async fn new(limits: LimitsPlan, max_output: u64, timeout: f64) -> Self {
        let sandbox = SandboxKind::Bubblewrap;
        let plans = [
            AgentToolPlan::Python { sandbox, limits: limits.clone(), max_output, timeout },
            AgentToolPlan::Bash { sandbox, limits, max_output, timeout },
        ];
        let toolbox = Toolbox::build(&plans, &world()).await.unwrap();
        Self { toolbox, workspace: workspace(&[("a.csv", b"x,y\n1,2\n")]) }
    }

    async fn call(&self, tool: &str, args: &str) -> Result<ToolOutput, ToolError> {
        let args = proofmark_canon::json::parse(args.as_bytes()).unwrap();
        self.toolbox.get(tool).unwrap().call(Call { args: &args, workspace: &self.workspace }).await
    }

    async fn python(&self, code: &str) -> ToolOutput {
        self.call("python", &format!("{{\"code\":{}}}", Value::from(code))).await.unwrap()
    }

    async fn bash(&self, command: &str) -> ToolOutput {
        self.call("bash", &format!("{{\"command\":{}}}", Value::from(command))).await.unwrap()
    }
}

async fn tools() -> Tools {
    Tools::new(limits(), 64 << 10, 20.0).await
}

fn text(output: &ToolOutput) -> &str {
    std::str::from_utf8(&output.content).unwrap()
}

#[tokio::test]
async fn python_prints_and_keeps_files_but_no_variables() {
    let tools = tools().await;
    let first = tools.python("import csv\nrows = list(csv.DictReader(open('/work/a.csv')))\nprint(rows[0]['y'])\nopen('b', 'w').write('kept')").await;
    assert_eq!((text(&first), first.is_error), ("2\n", false));
    let second = tools.python("print(open('b').read())\nrows").await;
    let expected = "kept\n[stderr]\nTraceback (most recent call last):\n  File \"<stdin>\", line 2, in <module>\n\
                    NameError: name 'rows' is not defined\n[exit code 1]\n";
    assert_eq!((text(&second), second.is_error), (expected, true));
    assert_eq!(text(&tools.bash("cat b; ls -A").await), "kepta.csv\nb\n");
}

#[tokio::test]
async fn python_says_the_same_twice() {
    let tools = tools().await;
    let code = "import os, sys\nprint({'a', 'b', 'c', 'd', 'e', 'f'}, hash('x'), getattr(sys.flags, 'safe_path', None), os.getcwd())\n\
                print(os.path.expanduser('~'), os.environ.get('LANG'), sys.stdout.encoding)";
    let first = tools.python(code).await;
    assert_eq!(first, tools.python(code).await);
    assert!(text(&first).ends_with("/work\n/work C.UTF-8 utf-8\n"), "{}", text(&first));
    assert_eq!(text(&tools.bash("ls -A").await), "a.csv\n", "no bytecode is left");
}

#[tokio::test]
async fn bash_returns_output_errors_and_the_exit_code() {
    let tools = tools().await;
    let output = tools.bash("printf out; printf err >&2; exit 7").await;
    assert_eq!((text(&output), output.is_error), ("out\n[stderr]\nerr\n[exit code 7]\n", true));
    let output = tools.bash("echo out; echo err >&2").await;
    assert_eq!((text(&output), output.is_error), ("out\n[stderr]\nerr\n", false));
    let output = tools.bash(":").await;
    assert_eq!((text(&output), output.is_error), ("", false));
    assert_eq!(text(&tools.bash("kill -9 $$").await), "[exit code 137]\n");
    assert_eq!(text(&tools.bash("cat").await), "", "there is nothing to read");
}

#[tokio::test]
async fn control_characters_come_as_they_are() {
    let tools = tools().await;
    let output = tools.bash(r"printf '\0\033[31m\a\r\377\t'").await;
    assert_eq!(output.content, b"\0\x1b[31m\x07\r\xff\t");
}

#[tokio::test]
async fn a_long_output_is_cut_and_its_end_still_told() {
    let tools = Tools::new(limits(), 300, 20.0).await;
    let output = tools.bash("head -c 5000 /dev/zero | tr '\\0' x; exit 3").await;
    assert_eq!(output.content.len(), 299);
    assert!(text(&output).ends_with(" bytes of 5000 bytes]\n[exit code 3]\n"), "{}", text(&output));
    let flood = tools.bash("yes").await;
    assert!(flood.is_error && flood.content.len() <= 300);
    let expected = " bytes of a longer output]\n[stopped: it printed too much]\n";
    assert!(text(&flood).ends_with(expected), "{}", text(&flood));
}

#[tokio::test]
async fn a_program_that_takes_too_long_is_a_failed_call() {
    let tools = Tools::new(limits(), 4096, 0.5).await;
    let error = tools.call("bash", r#"{"command":"echo early; sleep 60"}"#).await.unwrap_err();
    assert_eq!(error.failure, Failure::Timeout);
    assert_eq!(error.message, "it was stopped after 0.5 seconds; files that it wrote are kept");
}

#[tokio::test]
async fn no_path_of_this_machine_is_told() {
    let tools = tools().await;
    let folder = tools.workspace.dir().unwrap().to_str().unwrap().to_owned();
    let outputs = [
        tools.bash("pwd; realpath a.csv; df . ; readlink /proc/self/cwd; cat /nowhere").await,
        tools.python("import os, tempfile\nprint(os.path.realpath('.'), tempfile.gettempdir())\n1/0").await,
    ];
    for output in outputs {
        assert!(!text(&output).contains(&folder), "{}", text(&output));
        assert!(!text(&output).contains(Path::new(env!("CARGO_MANIFEST_DIR")).to_str().unwrap()));
    }
}

#[tokio::test]
async fn wrong_arguments_start_nothing() {
    let tools = tools().await;
    let long = format!(r#"{{"command":"{}"}}"#, "x".repeat(100_001));
    for (tool, args, expected) in [
        ("bash", r#"{"cmd":"touch x"}"#, "`bash` has no argument `cmd`; it takes `command`"),
        ("bash", r#"{"command":["ls"]}"#, "the argument `command` of `bash` is a string, not a list"),
        ("bash", r#"{"command":"a\u0000b"}"#, "`command` is at most 100000 bytes, without NUL"),
        ("bash", &long, "`command` is at most 100000 bytes, without NUL"),
        ("python", "{}", "`python` needs the argument `code`, a string"),
    ] {
        let error = tools.call(tool, args).await.unwrap_err();
        assert_eq!((error.failure, error.message.as_str()), (Failure::BadArguments, expected));
    }
}

#[tokio::test]
async fn the_model_is_told_what_it_can_do() {
    let tools = Tools::new(limits(), 4096, 30.0).await;
    let definitions = tools.toolbox.definitions();
    let names: Vec<&str> = definitions.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["python", "bash"]);
    for part in ["`/work`", "no network", "30 seconds"] {
        assert!(definitions.iter().all(|tool| tool.description.contains(part)), "{part}");
    }
}
