//! `proofmark diff`: two runs compared, gated and shown.

use std::io::Write as _;
use std::process::{Command, Stdio};

use proofmark_testkit::command::TestEnv;

use crate::support::{assert_same_run, empty, json};

const SUITE: &str = r#"name: compare
models: [{id: script, model: "offline:scripted", params: {file: answers.yaml}}]
tasks:
  - id: capitals
    dataset: {format: jsonl, path: data.jsonl, id: id}
    scorers: [{type: exact}, {type: includes}]
evidence: {record: true}
"#;

/// Two runs: one country got worse, one better, one is worded differently, one failed, one is gone, one is new.
fn two_runs() -> TestEnv {
    let env = empty();
    env.put("suite.yaml", SUITE);
    let row = |id: &str, target: &str| {
        format!("{{\"id\":\"{id}\",\"input\":\"capital of {id}?\",\"target\":\"{target}\"}}\n")
    };
    let common = [("france", "Paris"), ("spain", "Madrid"), ("italy", "Rome"), ("chad", "N'Djamena"), ("peru", "Lima")];
    let rows: String = common.iter().map(|(id, target)| row(id, target)).collect();
    env.put("data.jsonl", format!("{rows}{}", row("norway", "Oslo")));
    env.put(
        "answers.yaml",
        "{answers: {france: Paris, spain: 'I think Lisbon', italy: Milan, chad: N'Djamena, peru: Lima, norway: Oslo}}",
    );
    env.run(&["run", "suite.yaml", "--run-dir", "base"]).expect(0);
    env.put(
        "data.jsonl",
        format!(
            "{rows}{}",
            row("<iran> & \"\u{1b}[31m\"".replace('"', "\\\"").replace('\u{1b}', "\\u001b").as_str(), "Tehran")
        ),
    );
    env.put("answers.yaml", "{answers: {france: Lyon, spain: Madrid, italy: Turin, chad: N'Djamena}}");
    env.run(&["run", "suite.yaml", "--run-dir", "head"]).expect(1);
    env
}

#[test]
fn identical_runs_are_said_to_be_identical_and_pass_every_gate() {
    let env = two_runs();
    env.put("copy/x", "");
    env.run(&["run", "base/config.resolved.yaml", "--dry-run", "--root", "."]).expect(2);
    proofmark_testkit::tree::copy(&env.path("base"), &env.path("same"));
    let ran = env.run(&["diff", "base", "same"]).expect(0);
    ran.says(&["identical: every plane-1 file is the same byte for byte", "unchanged             6"]);
    for gate in ["changes", "regressions", "improvements", "trajectory", "bytes", "changes,bytes,usage_changed"] {
        env.run(&["diff", "base", "same", "--fail-on", gate]).expect(0);
    }
    env.run(&["diff", "base", "same", "--fail-on-changes", "--fail-on-significant", "0.99"]).expect(0);
    let document = env.run(&["diff", "base", "same", "--format", "json"]).expect(0).json();
    assert_eq!((&document["identical"], &document["changed"]), (&true.into(), &0.into()));
    // One byte is enough not to be identical.
    env.put("same/report.html", [env.bytes("base/report.html"), b" ".to_vec()].concat());
    let ran = env.run(&["diff", "base", "same"]).expect(0).says(&["report.html"]);
    assert!(!ran.stdout.contains("identical: every"), "{ran}");
    env.run(&["diff", "base", "same", "--fail-on", "bytes"]).expect(1);
    env.run(&["diff", "base", "same", "--fail-on", "changes"]).expect(0);
}

#[test]
fn every_gate_fails_on_what_it_is_named_after() {
    let env = two_runs();
    let ran = env.run(&["diff", "base", "head"]).expect(0);
    ran.says(&["Lyon", "capitals/france/script/default/0", "capitals/norway/script/default/0"]);
    for (gate, code) in [
        ("changes", 1),
        ("regressions", 1),
        ("improvements", 1),
        ("trajectory", 1),
        ("bytes", 1),
        ("output_changed", 1),
        ("status_changed", 1),
        ("only_in_a", 1),
        ("only_in_b", 1),
        ("input_changed", 0),
        ("input_changed,only_in_b", 1),
    ] {
        env.run(&["diff", "base", "head", "--fail-on", gate]).expect(code);
    }
    env.run(&["diff", "base", "head", "--fail-on-changes"]).expect(1);
    env.run(&["diff", "base", "head", "--fail-on", "input_changed", "--fail-on", "regressions"]).expect(1);
    // Both directions of a change are changes; only one of them is a regression.
    let of = |a: &str, b: &str| env.run(&["diff", a, b, "--format", "json"]).expect(0).json()["counts"].clone();
    let (forth, back) = (of("base", "head"), of("head", "base"));
    assert_eq!((&forth["regression"], &back["improvement"]), (&back["improvement"], &forth["regression"]));
    assert_eq!((&forth["only_in_a"], &forth["only_in_b"]), (&1.into(), &1.into()));
}

#[test]
fn a_significant_loss_fails_and_a_gain_does_not() {
    let env = empty();
    let suite = |accuracy: f64| {
        format!(
            "name: noisy\nsampling: {{n: 40}}\nmodels: [{{id: m, model: \"offline:noisy\", params: {{accuracy: {accuracy}}}}}]\n\
             tasks:\n  - id: t\n    dataset: {{format: jsonl, path: data.jsonl, id: id}}\n    scorers: [{{type: exact}}]\n"
        )
    };
    let rows = (0..30).map(|at| format!("{{\"id\":\"{at}\",\"input\":\"{at}\",\"target\":\"{at}\"}}\n"));
    env.put("data.jsonl", rows.collect::<String>());
    for (name, accuracy) in [("good", 0.9), ("bad", 0.5)] {
        env.put("suite.yaml", suite(accuracy));
        env.run(&["run", "suite.yaml", "--run-dir", name]).expect(0);
    }
    env.run(&["diff", "good", "bad", "--fail-on-significant", "0.01"]).expect(1);
    env.run(&["diff", "bad", "good", "--fail-on-significant", "0.01"]).expect(0);
    env.run(&["diff", "bad", "bad", "--fail-on-significant", "0.99"]).expect(0);
}

#[test]
fn every_format_can_be_read_by_what_it_is_for() {
    let env = two_runs();
    let diff = |format: &str| {
        let ran = env.run(&["diff", "base", "head", "--format", format, "--fail-on", "regressions"]).expect(1);
        assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
        ran
    };
    let document = diff("json").json();
    // An answer that did not come is a loss too.
    assert_eq!(document["counts"]["regression"], 2);
    assert_eq!(document["gates"], serde_json::json!([{"gate": "regressions", "message": "2 samples"}]));
    // The same document whoever asks for it: nothing of it depends on the terminal.
    let narrow =
        env.call(&["diff", "base", "head", "--format", "json", "--fail-on", "regressions", "--color", "always"]);
    assert_eq!(narrow.env("COLUMNS", "40").run().stdout, diff("json").stdout);

    let (cases, failures) = read_junit(&diff("junit").stdout);
    assert!(cases >= 1 && failures >= 1, "{cases} cases, {failures} failures");

    let github = diff("github").stdout;
    assert!(github.lines().any(|line| line.starts_with("::error")), "{github}");
    for line in github.lines().filter(|line| line.starts_with("::")) {
        let command = line[2..].split_once("::").map(|(head, _)| head);
        let level = command.and_then(|head| head.split([' ', ',']).next());
        assert!(matches!(level, Some("error" | "warning" | "notice")), "{line}");
    }

    let markdown = diff("markdown").stdout;
    assert!(markdown.starts_with('#') || markdown.starts_with("**"), "{markdown}");
    assert!(markdown.contains("| "), "{markdown}");
    // Every other part is inside a fence, where everything is text.
    let outside: String = markdown.split("```").step_by(2).collect();
    assert!(outside.contains("&#60;iran&#62;") && !outside.contains("<iran>"), "a dataset is not markup: {markdown}");

    let text = diff("text").stdout;
    assert!(text.contains("Lyon") && text.contains("Paris"), "{text}");
}

#[test]
fn limits_cut_what_is_shown_and_not_what_is_counted() {
    let env = two_runs();
    let shown =
        |flags: &[&str]| env.run(&[&["diff", "base", "head", "--format", "json"][..], flags].concat()).expect(0).json();
    let (none, all) = (shown(&["--limit", "0"]), shown(&["--all"]));
    assert_eq!(none["counts"], all["counts"]);
    let changes = |document: &serde_json::Value| document["changes"].as_array().unwrap().len();
    assert_eq!((changes(&none), changes(&all) as u64), (0, all["changed"].as_u64().unwrap()));
}

#[test]
fn the_flow_of_the_seed_document_holds() {
    let env = two_runs();
    for dir in ["base", "head", "base", "head"] {
        env.run(&["harness", "suite.yaml", "--run-dir", &format!(".tmp/runs/{dir}"), "--overwrite", "--skip-report"])
            .expect(1);
    }
    env.run(&["diff", ".tmp/runs/base", ".tmp/runs/head", "--fail-on-changes"]).expect(0);
    assert!(!env.path(".tmp/runs/base/report.html").exists());
    for dir in ["base", "head"] {
        env.run(&["report", &format!(".tmp/runs/{dir}")]).expect(0);
    }
    assert_same_run(&env.path(".tmp/runs/base"), &env.path(".tmp/runs/head"), "the seed document's flow");
    assert_same_run(&env.path(".tmp/runs/base"), &env.path("head"), "a report that came later");
    assert!(json(&env, "head/manifest.json")["artifacts"]["report.html"].is_string());
}

/// Has another program read a JUnit report; returns how many test cases and how many failures it holds.
fn read_junit(text: &str) -> (usize, usize) {
    let program = "import sys, xml.etree.ElementTree as e\nr = e.fromstring(sys.stdin.buffer.read())\n\
                   print(r.tag, len(r.findall('.//testcase')), len(r.findall('.//failure')))";
    let mut python = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3, which the tests of scorers need too");
    python.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "not well-formed XML:\n{text}");
    let said = String::from_utf8(output.stdout).unwrap();
    let words: Vec<&str> = said.split_whitespace().collect();
    assert!(words[0].starts_with("testsuite"), "{said}");
    (words[1].parse().unwrap(), words[2].parse().unwrap())
}
