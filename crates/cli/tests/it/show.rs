//! `proofmark show`, the timelines of the report and `diff` of trajectories: how an agent's answer was earned.

use proofmark_testkit::command::TestEnv;

use crate::support::{assert_same_run, empty, json, small};

const SUITE: &str = r#"name: agents
sampling: {voting_attempts: 2}
models: [{id: script, model: "offline:scripted", params: {file: script.yaml}, price: {input: 3.0, output: 15.0}}]
evidence: {record: true}
tasks:
  - id: sums
    dataset:
      format: inline
      id: id
      rows:
        - {id: a, input: "What is two plus two?", target: "4"}
        - {id: "b 1", input: "What is three plus three?", target: "6"}
    solver: {type: agent, tools: [{type: submit}], max_turns: 3}
    scorers: [{type: exact}]
"#;

const SCRIPT: &str = r#"agents:
  a:
    attempts:
      - - {text: "let me <b>look</b>", calls: [{name: search, args: {q: "two"}}]}
        - {calls: [{name: submit, args: {answer: "4"}}]}
      - - {text: "easy", calls: [{name: submit, args: {answer: "4"}}]}
  b 1:
    - {text: "LONG"}
"#;

fn with_run() -> TestEnv {
    let env = empty();
    env.put("suite.yaml", SUITE);
    // More than is recorded of a text: 4,000 bytes in 500 lines.
    env.put("script.yaml", SCRIPT.replace("LONG", &"\\u001b[31m x\\n".repeat(500)));
    env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(0);
    env
}

#[test]
fn a_sample_is_shown_with_every_attempt_step_by_step() {
    let env = with_run();
    let ran = env.run(&["show", "run", "sums/a"]).expect(0);
    assert_eq!(ran.stderr, "");
    ran.says(&[
        "sums/a/script/default/0  passed\n",
        "question\n  user\n    What is two plus two?\n",
        "votes\n  attempt 0 counts: its answer had more votes than any other (2 of 2 attempts)\n  *   0  4\n      1  4\n",
        "attempt 0 (counts)  2 turns, ",
        "  user  21 bytes, b39bf4a44d7a, as above\n  turn 1  ",
        "    let me <b>look</b>\n    calls search\n      {\"q\":\"two\"}\n    result of search  unknown_tool  ",
        "  stopped: it handed its answer in\n  final answer\n    4\n",
        "answer\n  4\n\nexpected\n  4\n\nscores\n  pass 1  exact\n",
    ]);
    let one = env.run(&["show", "run", "a/script", "--attempt", "1"]).expect(0).says(&["attempt 1  1 turn, ", "easy"]);
    assert!(!one.stdout.contains("attempt 0 (counts)"), "{}", one.stdout);
}

#[test]
fn long_and_hostile_texts_are_cut_escaped_and_kept_within_the_terminal() {
    let env = with_run();
    let short = env.run(&["show", "run", "b 1"]).expect(0).says(&["more lines (--full shows them)", "\\u{1b}[31m x"]);
    let full = env.run(&["show", "run", "b 1", "--full"]).expect(0).says(&["bytes were not recorded"]);
    assert!(full.stdout.lines().count() > 3 * short.stdout.lines().count());
    assert!(!full.stdout.contains('\u{1b}'));
    let narrow = env.call(&["show", "run", "sums/a", "--full"]).env("COLUMNS", "48").run().expect(0);
    let text = narrow.stdout.lines().filter(|line| line.starts_with("      "));
    assert!(text.clone().count() > 3 && text.clone().all(|line| line.chars().count() <= 48), "{}", narrow.stdout);
    assert!(env.run(&["--color", "always", "show", "run", "sums/a"]).expect(0).stdout.contains("\u{1b}[1m"));
}

#[test]
fn a_body_that_the_run_keeps_is_shown_whole_and_only_when_it_is_the_one() {
    let env = with_run();
    let lines = env.text("run/trajectories.jsonl");
    let at = lines.find("\"head\":\"\\u001b[31m").unwrap();
    let digest = &lines[at - 66..at - 2];
    let body = "\u{1b}[31m x\n".repeat(500);
    env.put(&format!("run/bodies/{digest}"), &body);
    let full = env.run(&["show", "run", "b 1", "--attempt", "0", "--full"]).expect(0);
    assert!(!full.stdout.contains("not recorded"), "{}", full.stdout);
    assert!(full.stdout.matches("\\u{1b}[31m x").count() >= 500);
    env.put(&format!("run/bodies/{digest}"), format!("{body}!"));
    env.run(&["show", "run", "b 1", "--attempt", "0", "--full"]).expect(0).says(&["not recorded"]);
}

#[test]
fn a_key_that_is_not_whole_must_be_the_only_one() {
    let env = with_run();
    env.run(&["show", "run", "sums/"]).expect(2).complains(&[
        "error: `sums/` stands in 2 keys:\n  sums/a/script/default/0\n  sums/b%201/script/default/0\n",
        "hint: give more of the key",
    ]);
    env.run(&["show", "run", "nothing"])
        .expect(2)
        .complains(&["the run has no sample `nothing`", "`proofmark show run`"]);
    env.run(&["show", "run", "sums/a", "--attempt", "2"])
        .expect(2)
        .complains(&["there is no attempt 2 to show: the sample has 2 attempts, counted from 0"]);
    env.run(&["show", "elsewhere"]).expect(2).complains(&["`elsewhere` does not exist"]);
}

#[test]
fn samples_are_listed_all_or_those_that_did_not_pass() {
    let env = with_run();
    env.run(&["show", "run"]).expect(0).says(&["passed   sums/a/script/default/0      4", "failed   sums/b%201"]);
    let failed = env.run(&["show", "run", "--failed"]).expect(0);
    assert!(!failed.stdout.contains("passed"), "{}", failed.stdout);
    let document = env.run(&["show", "run", "--failed", "--format", "json"]).expect(0).json();
    assert_eq!((&document["format"], &document["all"]), (&"proofmark.samples".into(), &1.into()));
    assert_eq!(document["samples"][0]["outcome"], "failed");
    let env = small();
    env.run(&["run", "suite.yaml", "--run-dir", "run", "--only", "task=words"]).expect(0);
    env.run(&["show", "run", "words/c"]).expect(0).says(&["no evidence was recorded", "three", "fail 0  exact"]);
}

#[test]
fn the_document_holds_the_record_and_the_trajectories_as_they_are() {
    let env = with_run();
    let document = env.run(&["show", "run", "sums/a", "--format", "json"]).expect(0).json();
    let lines = |name: &str| -> Vec<serde_json::Value> {
        env.text(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    assert_eq!((&document["format"], &document["version"]), (&"proofmark.sample".into(), &1.into()));
    assert_eq!(document["record"], lines("run/records.jsonl")[0]);
    assert_eq!(document["trajectories"].as_array().unwrap()[..], lines("run/trajectories.jsonl")[..2]);
}

#[test]
fn the_report_shows_timelines_and_can_be_made_again_byte_for_byte() {
    let env = with_run();
    let page = env.text("run/report.html");
    for text in [
        "<strong>Attempt 0</strong> <span class=\"good\">counts</span>",
        "let me &lt;b&gt;look&lt;/b&gt;",
        "result of <code>search</code></strong> <span class=\"bad\">error: unknown_tool</span>",
        "attempt 0 counts: its answer had more votes than any other (2 of 2 attempts)",
    ] {
        assert!(page.contains(text), "{text}");
    }
    env.run(&["run", "suite.yaml", "--run-dir", "later", "--skip-report", "--concurrency", "1"]).expect(0);
    env.run(&["report", "later"]).expect(0);
    assert_same_run(&env.path("run"), &env.path("later"), "--skip-report, then `report`");
    // A page from trajectories that were changed is another page.
    let changed = env.text("run/trajectories.jsonl").replacen("let me", "let us", 1);
    env.put("later/trajectories.jsonl", changed);
    env.run(&["report", "later"]).expect(1).says(&["report.html: the manifest pins sha256:"]);
}

#[test]
fn a_changed_trajectory_fails_its_gate_and_no_other() {
    let env = with_run();
    env.put("script.yaml", env.text("script.yaml").replace("q: \"two\"", "q: \"2\""));
    env.run(&["run", "suite.yaml", "--run-dir", "head"]).expect(0);
    let ran = env.run(&["diff", "run", "head", "--fail-on", "trajectory"]).expect(1);
    ran.says(&[
        "FAIL trajectory: 1 sample (arguments 1)",
        "steps     differ in arguments",
        "attempt 0: call 1: search {\"q\":\"two\"} → call 1: search {\"q\":\"2\"}",
    ]);
    env.run(&["diff", "run", "head", "--fail-on", "regressions,only_in_a,output_changed"]).expect(0);
    let document = env.run(&["diff", "run", "head", "--format", "json"]).expect(0).json();
    assert_eq!(document["trajectory_kinds"], serde_json::json!({"arguments": 1}));
    assert_eq!(document["changes"][0]["trajectory"]["kinds"], serde_json::json!(["arguments"]));
    assert_eq!(json(&env, "head/manifest.json")["sampling"]["voting_attempts"], 2);
}
