//! Servers that are programs, in the sandbox.

use std::sync::Arc;
use std::time::{Duration, Instant};

use proofmark_artefact::suite::solver::SandboxKind;
use proofmark_tool::mcp::McpError;
use proofmark_tool::{BuildError, Call, Failure, Workspace};

use crate::mcp::{Plan, Suite, call, peak_memory, sample, text, until};

fn mcp_error(error: Option<BuildError>) -> McpError {
    match error.expect("an error") {
        BuildError::Mcp { server, source } => {
            assert_eq!(server, "kit");
            source
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn tools_are_listed_in_one_order_however_the_server_lists_them() {
    let suite = Suite::new();
    let plain = suite.build(&suite.program(&[])).await.unwrap();
    assert_eq!(suite.running(), 0, "it is stopped when its tools are known");
    let names: Vec<String> = plain.definitions().into_iter().map(|definition| definition.name).collect();
    assert!(names.is_sorted() && names.len() == 20 && names[0] == "kit_babble", "{names:?}");
    for manners in [&["paged"][..], &["shuffled"], &["shuffled", "paged"], &["modern"], &["strict"], &["noisy"]] {
        let toolbox = suite.build(&suite.program(manners)).await.unwrap();
        assert_eq!(toolbox.definitions(), plain.definitions(), "{manners:?}");
        let workspace = Workspace::empty();
        assert_eq!(text(&toolbox, "echo", Some("hello"), &workspace).await, "hello", "{manners:?}");
        toolbox.leave(&workspace).await;
    }
}

#[tokio::test]
async fn an_old_server_that_does_not_answer_what_it_does_not_know_is_greeted_the_old_way() {
    let suite = Suite::new();
    let toolbox = suite.build(&Plan { timeout: Some(4.0), ..suite.program(&["deaf"]) }).await.unwrap();
    let workspace = Workspace::empty();
    assert_eq!(text(&toolbox, "echo", Some("hello"), &workspace).await, "hello");
    toolbox.leave(&workspace).await;
}

#[tokio::test]
async fn results_come_as_the_server_gives_them() {
    let suite = Suite::new();
    let toolbox = suite.build(&suite.program(&[])).await.unwrap();
    let workspace = Workspace::empty();
    assert_eq!(text(&toolbox, "echo", Some("grüße\n\u{1F600}"), &workspace).await, "grüße\n\u{1F600}");
    assert_eq!(text(&toolbox, "control", None, &workspace).await, "\u{1b}]0;owned\u{7}\u{0}\u{9b}2J");
    assert_eq!(text(&toolbox, "structured", None, &workspace).await, r#"{"a":[1.5,null],"b":2}"#);
    assert_eq!(text(&toolbox, "progress", None, &workspace).await, "done");
    assert!(text(&toolbox, "picture", None, &workspace).await.starts_with("[image/png, 5 bytes, sha256:2cf24dba"));
    let failed = call(&toolbox, "fail", None, &workspace).await.unwrap();
    assert!(failed.is_error && failed.content == b"it did not work");
    let refused = call(&toolbox, "refuse", None, &workspace).await.unwrap_err();
    assert_eq!(refused.failure, Failure::BadArguments);
    assert_eq!(refused.message, "the server `kit` refused the call: `text` is needed");
    let nonsense = call(&toolbox, "nonsense", None, &workspace).await.unwrap_err();
    assert_eq!(nonsense.message, "the server `kit` answered with something that is no result");
    let demand = call(&toolbox, "demand", None, &workspace).await.unwrap_err();
    assert_eq!(demand.failure, Failure::Refused, "{demand}");
    let long = call(&toolbox, "big", Some("5000000"), &workspace).await.unwrap();
    assert!(long.content.len() <= 64 << 10 && long.content.ends_with(b" bytes of 5000000 bytes]\n"));
    let args = "no object".into();
    let tool = toolbox.get("kit_echo").unwrap();
    let bad = tool.call(Call { args: &args, workspace: &workspace }).await.unwrap_err();
    assert_eq!(bad.failure, Failure::BadArguments);
}

#[tokio::test]
async fn a_server_is_granted_nothing_that_it_asks_for() {
    let suite = Suite::new();
    let toolbox = suite.build(&suite.program(&[])).await.unwrap();
    let told = text(&toolbox, "interrogate", None, &Workspace::empty()).await;
    assert_eq!(told, "sampling/createMessage: -32601\nroots/list: -32601\nelicitation/create: -32601");
}

#[tokio::test]
async fn samples_share_no_session_and_leaving_ends_it() {
    let suite = Suite::new();
    let toolbox = suite.build(&suite.program(&[])).await.unwrap();
    let (one, two) = (Workspace::empty(), Workspace::empty());
    let (first, second) =
        tokio::join!(text(&toolbox, "remember", Some("a"), &one), text(&toolbox, "remember", Some("b"), &two));
    assert_eq!((first.as_str(), second.as_str()), ("ok", "ok"));
    assert_eq!(text(&toolbox, "recall", None, &one).await, "a");
    assert_eq!(text(&toolbox, "recall", None, &two).await, "b");
    let both = suite.running();
    toolbox.leave(&one).await;
    assert_eq!(suite.running() * 2, both);
    toolbox.leave(&two).await;
    assert_eq!(suite.running(), 0);
    assert_eq!(text(&toolbox, "recall", None, &one).await, "", "a new session knows nothing");
    drop(toolbox);
    until("a server that nobody has any more is killed", || suite.running() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_samples_at_once_each_find_what_they_left() {
    let suite = Suite::new();
    let toolbox = Arc::new(suite.build(&suite.program(&[])).await.unwrap());
    let sample = |at: usize| {
        let toolbox = Arc::clone(&toolbox);
        async move {
            let workspace = Workspace::empty();
            for word in ["one", "two"] {
                text(&toolbox, "remember", Some(&format!("{word}{at}")), &workspace).await;
            }
            let kept = text(&toolbox, "recall", None, &workspace).await;
            toolbox.leave(&workspace).await;
            (kept, format!("one{at},two{at}"))
        }
    };
    let running: Vec<_> = (0..8).map(|at| tokio::spawn(sample(at))).collect();
    for sample in running {
        let (kept, left) = sample.await.unwrap();
        assert_eq!(kept, left);
    }
    assert_eq!(suite.running(), 0);
}

#[tokio::test]
async fn a_call_that_hangs_ends_with_its_process_and_the_next_one_works() {
    let suite = Suite::new();
    for sandbox in [SandboxKind::Bubblewrap, SandboxKind::None] {
        let plan = Plan { timeout: Some(3.0), sandbox, ..suite.program(&[]) };
        let toolbox = suite.build(&plan).await.unwrap();
        let workspace = Workspace::empty();
        let error = call(&toolbox, "hang", None, &workspace).await.unwrap_err();
        assert_eq!(error.failure, Failure::Timeout);
        assert_eq!(error.message, "the server `kit` did not answer within 3 s");
        assert_eq!(suite.running(), 0);
        assert_eq!(text(&toolbox, "echo", Some("again"), &workspace).await, "again");
        toolbox.leave(&workspace).await;
        assert_eq!(suite.running(), 0);
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_leaves_nothing_running() {
    let suite = Suite::new();
    let toolbox = suite.build(&suite.program(&[])).await.unwrap();
    let workspace = Workspace::empty();
    text(&toolbox, "remember", Some("a"), &workspace).await;
    let given_up = tokio::time::timeout(Duration::from_millis(300), call(&toolbox, "hang", None, &workspace)).await;
    assert!(given_up.is_err());
    until("the process is killed", || suite.running() == 0).await;
    assert_eq!(text(&toolbox, "recall", None, &workspace).await, "");
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_told_and_started_again() {
    let suite = Suite::new();
    let toolbox = suite.build(&suite.program(&[])).await.unwrap();
    let workspace = Workspace::empty();
    let started = Instant::now();
    let error = call(&toolbox, "die", None, &workspace).await.unwrap_err();
    assert_eq!(error.failure, Failure::Unavailable);
    assert_eq!(error.message, "the server `kit` broke off: what it kept is lost");
    assert!(started.elapsed() < Duration::from_secs(15), "it does not wait for the timeout");
    assert_eq!(text(&toolbox, "echo", Some("again"), &workspace).await, "again");
}

#[tokio::test]
async fn a_server_that_says_too_much_is_stopped_before_it_eats_the_memory() {
    let suite = Suite::new();
    let toolbox = suite.build(&suite.program(&[])).await.unwrap();
    let workspace = Workspace::empty();
    for tool in ["flood", "babble"] {
        let error = call(&toolbox, tool, None, &workspace).await.unwrap_err();
        assert_eq!(error.failure, Failure::TooLarge, "{tool}: {error}");
        assert_eq!(suite.running(), 0, "{tool}");
    }
    assert!(peak_memory() < 256 << 20, "{} bytes", peak_memory());
    assert_eq!(text(&toolbox, "echo", Some("again"), &workspace).await, "again");
}

#[tokio::test]
async fn tools_that_are_described_otherwise_than_before_may_not_be_called() {
    let suite = Suite::new();
    let toolbox = suite.build(&suite.program(&[])).await.unwrap();
    let pulled = sample("changed", "");
    let error = call(&toolbox, "echo", Some("x"), &pulled).await.unwrap_err();
    assert_eq!(error.failure, Failure::Refused);
    assert!(error.message.contains("are not what they were when the run began"), "{error}");
    assert_eq!(suite.running(), 0);
    let later = Workspace::empty();
    assert_eq!(text(&toolbox, "echo", Some("x"), &later).await, "x");
    text(&toolbox, "change", None, &later).await;
    assert_eq!(call(&toolbox, "recall", None, &later).await.unwrap_err().failure, Failure::Refused);
    // A tool that may not be called anyway may say what it likes.
    let toolbox = suite.build(&Plan { allow: Some(vec!["recall"]), ..suite.program(&[]) }).await.unwrap();
    assert_eq!(text(&toolbox, "recall", None, &pulled).await, "");
}

#[tokio::test]
async fn a_list_that_cannot_be_used_is_refused_with_the_reason() {
    let suite = Suite::new();
    let allow =
        |allow: &[&'static str], manners: &[&str]| Plan { allow: Some(allow.to_vec()), ..suite.program(manners) };
    for (plan, want) in [
        (suite.program(&["many"]), "it has more than 256 tools"),
        (suite.program(&["endless"]), "it has more than 256 tools"),
        (suite.program(&["fat"]), "its tool `fat` is described in more than 65536 bytes"),
        (suite.program(&["clash"]), "its tools `a.b` and `a_b` would both be named `kit_a_b`"),
        (suite.program(&["bare"]), "it has no tools"),
        (allow(&["echo", "ecko"], &[]), "it has no tool `ecko`, which `allow` names; it has `babble`, `big`, "),
    ] {
        let error = mcp_error(suite.build(&plan).await.err());
        assert!(error.to_string().starts_with(want), "{error}");
        assert_eq!(suite.running(), 0, "{want}");
    }
    let toolbox = suite.build(&allow(&["recall", "echo"], &["clash", "fat"])).await.unwrap();
    let names: Vec<String> = toolbox.definitions().into_iter().map(|definition| definition.name).collect();
    assert_eq!(names, ["kit_echo", "kit_recall"]);
    let toolbox = suite.build(&allow(&["hostile"], &["hostile"])).await.unwrap();
    assert_eq!(toolbox.definitions()[0].description, "one[2Jtwo");
}

#[tokio::test]
async fn a_program_that_does_not_speak_mcp_is_told_with_what_it_said() {
    let suite = Suite::new();
    let error = mcp_error(suite.build(&Plan { timeout: Some(1.0), ..suite.program(&["silent"]) }).await.err());
    assert_eq!(error.to_string(), "it did not speak MCP within 1 s");
    let error = mcp_error(suite.build(&suite.program(&["chatter"])).await.err());
    let text = error.to_string();
    assert!(text.starts_with("it ended before it spoke MCP; its stdout begins: `usage: server [--help]`"), "{text}");
    assert!(text.contains("it is a Tuesday") && error.hint().is_some(), "{text}");
    let nowhere = |words: &[&str]| Plan {
        command: Some(words.iter().map(|word| (*word).to_owned()).collect()),
        ..Plan::default()
    };
    for words in [&["no-such-program-anywhere"][..], &["{suite}/nothing"]] {
        let error = mcp_error(suite.build(&nowhere(words)).await.err());
        assert!(matches!(error, McpError::NoProgram { .. }) && error.hint().is_some(), "{error}");
    }
    let error = mcp_error(suite.build(&Plan { files: vec!["absent.py"], ..suite.program(&[]) }).await.err());
    assert_eq!(error.to_string(), "its file `absent.py` is not there");
    assert_eq!(suite.running(), 0);
}

#[tokio::test]
async fn a_program_sees_the_sample_and_its_own_files_and_nothing_else_of_the_suite() {
    let suite = Suite::new();
    let toolbox = suite.build(&suite.program(&[])).await.unwrap();
    let workspace = sample("notes.txt", "of the item");
    assert_eq!(text(&toolbox, "read", Some("notes.txt"), &workspace).await, "of the item");
    for hidden in ["gold.jsonl", "../gold.jsonl"] {
        let path = suite.root().join(hidden).to_string_lossy().into_owned();
        let told = text(&toolbox, "read", Some(&path), &workspace).await;
        assert!(told.starts_with("cannot"), "{path}: {told}");
    }
    let told = text(&toolbox, "read", Some("/proc/1/environ"), &workspace).await;
    assert!(!told.contains("sings"), "{told}");
}

#[tokio::test]
async fn a_program_is_given_the_variables_that_the_suite_names_and_keys_do_not_come_back() {
    let suite = Suite::new();
    for sandbox in [SandboxKind::Bubblewrap, SandboxKind::None] {
        let plan = Plan { env: vec!["SHOWN", "LIT_API_KEY", "ABSENT"], sandbox, ..suite.program(&[]) };
        let toolbox = suite.build(&plan).await.unwrap();
        let variables = text(&toolbox, "environment", None, &Workspace::empty()).await;
        let has = |line: &str| variables.lines().any(|known| known == line);
        assert!(has("SHOWN=for the server") && has("LIT_API_KEY=***"), "{variables}");
        let names: Vec<&str> = variables.lines().filter_map(|line| line.split('=').next()).collect();
        assert!(!names.contains(&"CANARY") && !names.contains(&"CARGO_MANIFEST_DIR"), "{variables}");
    }
}
