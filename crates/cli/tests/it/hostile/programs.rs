//! Programs of `command` scorers that misbehave: their samples error, the run goes on.

use std::path::Path;

use proofmark_testkit::command::TestEnv;

use super::assert_safe;
use crate::support::{SMALL, empty, json_lines};

/// One item, one scorer: a program with a short patience.
fn with_program(command: &str, script: &str) -> TestEnv {
    let env = empty();
    let scorer = format!("{{type: command, name: judge, command: {command}, timeout: 0.3}}");
    env.put("suite.yaml", SMALL.replace("{type: exact}", &format!("{{type: exact}}, {scorer}")));
    env.put("data.jsonl", "{\"id\":\"a\",\"input\":\"one\",\"target\":\"one\"}\n");
    env.put("judge.sh", script);
    env
}

#[test]
fn a_program_that_misbehaves_gives_error_records_and_not_scores() {
    let long = "printf '%03000000d\\n' 1\n";
    for (what, command, script, message) in [
        ("it does not exist", "[./nowhere]", "", "cannot start `./nowhere`"),
        ("it is a folder", "[/]", "", "cannot start `/`"),
        ("it is no program", "[./judge.sh]", "echo", "cannot start `./judge.sh`"),
        ("it ends at once", "[sh, judge.sh]", "exit 3\n", "before it gave a verdict"),
        ("it ends without a word", "['true']", "", "before it gave a verdict"),
        ("it kills itself", "[sh, judge.sh]", "kill -9 $$\n", "before it gave a verdict"),
        ("it complains", "[sh, judge.sh]", "echo 'no \u{1b}[31mluck' >&2; exit 1\n", "its stderr ends with `no "),
        ("it hangs", "[sleep, '600']", "", "gave no verdict within 0.3 s"),
        ("it never reads", "[sh, judge.sh]", "exec sleep 600\n", "gave no verdict within 0.3 s"),
        (
            "it writes garbage",
            "[sh, judge.sh]",
            "printf '\\033[2J\\377garbage\\n'; sleep 600\n",
            "is not acceptable JSON",
        ),
        ("it writes a list", "[sh, judge.sh]", "read l; echo '[1]'\n", "is a list, expected a JSON object"),
        ("it writes nothing of use", "[sh, judge.sh]", "read l; echo '{}'\n", "has neither `value` nor `passed`"),
        (
            "its value is too large",
            "[sh, judge.sh]",
            "read l; echo '{\"value\":1.5}'\n",
            "has a `value` outside 0 to 1",
        ),
        ("its value is a text", "[sh, judge.sh]", "read l; echo '{\"value\":\"1\"}'\n", "expected a number"),
        (
            "it passes for nothing",
            "[sh, judge.sh]",
            "read l; echo '{\"value\":0,\"passed\":true}'\n",
            "passes with a `value` of 0",
        ),
        (
            "it answers someone else",
            "[sh, judge.sh]",
            "read l; echo '{\"passed\":true,\"key\":\"x\"}'\n",
            "is for another `key`",
        ),
        ("it knows more", "[sh, judge.sh]", "read l; echo '{\"passed\":true,\"passd\":1}'\n", "unknown member `passd`"),
        ("it never stops", "[sh, judge.sh]", "exec cat /dev/zero\n", "wrote a line of more than"),
        ("it writes a long line", "[sh, judge.sh]", long, "wrote a line of more than"),
    ] {
        let env = with_program(command, script);
        let ran = env.run(&["run", "suite.yaml", "--run-dir", "out"]).expect(1);
        let ran = ran.complains(&["error: 1 of 1 samples errored"]);
        assert_safe(what, &ran);
        let record = json_lines(&env, "out/records.jsonl").remove(0);
        assert_eq!((&record["status"], &record["error"]["class"]), (&"error".into(), &"scorer".into()), "{what}");
        let said = record["error"]["message"].as_str().unwrap();
        assert!(said.contains(message), "{what}: `{message}` is not in `{said}`");
        assert!(!said.contains('\u{1b}'), "{what}: {said:?}");
        // The answer is kept; nothing was scored, not even by the scorer that could.
        assert_eq!(
            (&record["output"]["text"], record["scores"].as_array().unwrap().len()),
            (&"one".into(), 0),
            "{what}"
        );
        env.run(&["validate", "out"]).expect(0);
    }
}

#[test]
fn a_program_and_its_children_are_gone_when_the_run_is() {
    let env = with_program("[sh, judge.sh]", "sleep 600 & echo $! >child.pid\necho $$ >own.pid\nwait\n");
    env.run(&["run", "suite.yaml", "--run-dir", "out"]).expect(1);
    for name in ["own.pid", "child.pid"] {
        let pid = env.text(name);
        let state = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat")).unwrap_or_default();
        // A process that nobody has waited for yet is dead as well.
        assert!(state.is_empty() || state.contains(") Z "), "{name}: {state}");
    }
}
