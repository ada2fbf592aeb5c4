//! Runs of every kind in packages: judged, over HTTP, with pictures, with datasets of the hub, gone on with.

use proofmark_testkit::command::{Call, TestEnv};
use proofmark_testkit::hub::{FakeHub, HubFile, HubRepo};
use proofmark_testkit::tree::copy;
use serde_json::{Value, json};

use super::{HOME, call, commit, git, package_in, run, seal, verify};
use crate::support::{SMALL, SMALL_DATA, empty};

/// Seals a run that was made by another test's means, in `run`, to `out`.
fn seal_foreign(env: &TestEnv) -> String {
    run(env, &["keys", "new", "ada", "--role", "submitter", "--no-passphrase"]).expect(0);
    run(env, &["seal", "run", "--key", "ada", "--signed-at", super::AT, "-o", "out", "--allow-dirty"]).expect(0);
    package_in(env, "out")
}

/// A package alone in a folder, with the trust of whoever made it.
fn alone(env: &TestEnv, package: &str) -> TestEnv {
    let other = empty();
    copy(&env.path(package), &other.path("p"));
    other.put("trust.json", env.bytes("home/trust.json"));
    other
}

const VERIFY: [&str; 5] = ["verify", "p", "--trust", "trust.json", "--allow-dirty"];

#[test]
fn a_run_over_http_brings_its_telemetry_and_request_ids() {
    let env = crate::verify::live_run();
    let package = seal_foreign(&env);
    assert!(env.path(&format!("{package}/run/telemetry.jsonl")).is_file());
    let other = alone(&env, &package);
    let ran = other.run(&VERIFY).expect(0).says(&["reached: rung 3 of 5", "request ids of telemetry.jsonl"]);
    assert!(!ran.stdout.contains("FAIL"), "{ran}");
}

#[test]
fn pictures_are_in_the_package_and_pinned() {
    let env = crate::verify::picture_run();
    let package = seal_foreign(&env);
    let pictures: Vec<String> =
        env.tree(&package).names().into_iter().filter(|name| name.starts_with("run/outputs/")).collect();
    assert_eq!(pictures.len(), 2, "{pictures:?}");
    let other = alone(&env, &package);
    other.run(&VERIFY).expect(0).says(&["reached: rung 3 of 5", "2 pictures have the digest that names it"]);
    let name = format!("p/{}", pictures[0]);
    let mut bytes = other.bytes(&name);
    bytes[20] ^= 1;
    other.put(&name, bytes);
    other.run(&VERIFY).expect(1).says(&[&format!("FAIL  {}: digest", pictures[0])]);
}

const JUDGED: &str = r#"name: judged
models: [{id: bot, model: "offline:scripted", params: {file: answers.yaml}}]
judges: [{id: umpire, model: "offline:judge"}]
tasks:
  - id: help
    dataset: {format: jsonl, path: data.jsonl, id: id, target: answer}
    prompt: "{{ question }}"
    scorers: [{type: judge, rubric: "Is the answer right?"}]
"#;

#[test]
fn judgments_are_in_the_package_and_whoever_believes_the_judge_sees_who_judged() {
    let env = empty();
    env.put("repo/suite.yaml", JUDGED);
    env.put("repo/answers.yaml", "answers: {a: \"It takes thirty days, I think.\", b: No idea.}\n");
    env.put(
        "repo/data.jsonl",
        "{\"id\":\"a\",\"question\":\"How long?\",\"answer\":\"thirty days\"}\n{\"id\":\"b\",\"question\":\"How far?\",\"answer\":\"nine miles\"}\n",
    );
    commit(&env);
    for (name, role) in [("ada", "submitter"), ("umpire", "judge")] {
        run(&env, &["keys", "new", name, "--role", role, "--no-passphrase"]).expect(0);
    }
    call(&env, &["run", "repo/suite.yaml", "--run-dir", "repo/run", "--submit-intent"])
        .env("PROOFMARK_CACHE_DIR", env.path("cache"))
        .env("XDG_STATE_HOME", env.path("state"))
        .run()
        .expect(0);
    seal(&env, &["-o", "out"]).expect(0).says(&["rung 3 of 5"]);
    let package = package_in(&env, "out");
    assert_eq!(env.text(&format!("{package}/run/judgments.jsonl")).lines().count(), 2);
    verify(&env, &package, &[]).expect(0).says(&["ok    judgments.jsonl: signatures: 2 judgments signed by SHA256:"]);
    // A stranger who believes the submitter and nobody else still gets the same audit.
    run(&env, &["keys", "trust", "umpire", "--remove"]).expect(0);
    verify(&env, &package, &[])
        .expect(0)
        .says(&["left open: not made again: who judged: 2 judgments were signed by a key"]);
}

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

#[test]
fn files_of_the_hub_come_along_so_that_a_stranger_needs_no_cache() {
    let row = r#"{"task_id":"a","Question":"How many?","Level":1,"Final answer":"7","file_name":"a.csv"}"#;
    let file = |path: &str, text: &str| HubFile { path: path.into(), bytes: text.into(), lfs_sha256: None };
    let hub = FakeHub::start(vec![HubRepo {
        name: "gaia-benchmark/GAIA".into(),
        commit: COMMIT.into(),
        refs: vec!["main".into()],
        files: vec![file("2023/validation/metadata.jsonl", row), file("2023/validation/a.csv", "n\n7\n")],
        page: 10,
    }]);
    let env = empty();
    env.put(
        "repo/suite.yaml",
        format!(
            r#"name: hub
models: [{{id: script, model: "offline:scripted", params: {{file: answers.yaml}}}}]
tasks:
  - id: gaia
    dataset: {{format: gaia, repo: gaia-benchmark/GAIA, revision: {COMMIT}}}
    solver: {{type: agent, tools: [{{type: file_read}}]}}
    scorers: [{{type: gaia}}]
"#
        ),
    );
    env.put(
        "repo/answers.yaml",
        "agents: {a: [{calls: [{name: file_read, args: {path: a.csv}}]}, {text: \"FINAL ANSWER: 7\"}]}",
    );
    commit(&env);
    let with_hub = |arguments: &[&str]| -> Call {
        let call = call(&env, arguments).env("HF_ENDPOINT", hub.endpoint());
        call.env("PROOFMARK_CACHE_DIR", env.path("cache"))
    };
    run(&env, &["keys", "new", "ada", "--role", "submitter", "--no-passphrase"]).expect(0);
    with_hub(&["run", "repo/suite.yaml", "--run-dir", "repo/run", "--submit-intent"]).run().expect(0);
    let arguments = ["seal", "repo/run", "--key", "ada", "--signed-at", super::AT, "-o"];
    // Without the cache there is nothing to put in.
    run(&env, &[&arguments[..], &["none"]].concat()).expect(2).complains(&["is not in the cache", "--without-inputs"]);
    with_hub(&[&arguments[..], &["out"]].concat()).run().expect(0).says(&["rung 3 of 5"]);
    let package = package_in(&env, "out");
    assert!(env.path(&format!("{package}/hub/datasets/gaia-benchmark--GAIA/{COMMIT}/2023/validation/a.csv")).is_file());
    let other = alone(&env, &package);
    let before = other.tree("p");
    let ran = other.run(&VERIFY).expect(0).says(&["reached: rung 3 of 5"]);
    assert!(!ran.stdout.contains("left open"), "{ran}");
    assert!(before.changes(&other.tree("p")).is_empty());
    // Left out, whoever has them in the cache can still look.
    with_hub(&[&arguments[..], &["bare", "--without-inputs"]].concat()).run().expect(0);
    let bare = package_in(&env, "bare");
    assert!(!env.path(&format!("{bare}/hub")).exists());
    verify(&env, &bare, &[]).expect(0).says(&["reached: rung 2 of 5"]);
    with_hub(&["verify", &bare, "--root", "repo"]).run().expect(0).says(&["reached: rung 3 of 5"]);
}

#[test]
fn a_run_that_was_gone_on_with_at_another_commit_says_so() {
    let env = empty();
    env.put("repo/suite.yaml", SMALL);
    let rows = (0..400).map(|n| format!("{{\"id\":\"i{n}\",\"input\":\"x{n}\",\"target\":\"x{n}\"}}\n"));
    env.put("repo/data.jsonl", rows.collect::<String>());
    env.put("repo/.gitignore", "run/\n");
    commit(&env);
    let arguments = ["run", "repo/suite.yaml", "--run-dir", "repo/run", "--submit-intent", "--concurrency", "1"];
    let journal = env.path("repo/run/.proofmark/journal.jsonl");
    let lines = || std::fs::read(&journal).map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count());
    let killed = call(&env, &arguments).env("PROOFMARK_OFFLINE_JITTER_MS", "20").start().kill_when(|| lines() >= 3);
    assert!(killed);
    env.put("repo/notes.txt", "later");
    git(&env.path("repo"), &["add", "-A"]);
    git(&env.path("repo"), &["commit", "-qm", "later"]);
    run(&env, &[&arguments[..], &["--resume"]].concat()).expect(0);
    run(&env, &["keys", "new", "ada", "--role", "submitter", "--no-passphrase"]).expect(0);
    seal(&env, &["-o", "out"]).expect(1).says(&["git: the run was gone on with at another commit"]);
}

#[test]
fn a_suite_with_its_rows_inside_needs_no_input_but_itself() {
    let env = empty();
    let rows: Vec<Value> = SMALL_DATA.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let inline = format!("{{format: inline, id: id, rows: {}}}", json!(rows));
    env.put("repo/suite.yaml", SMALL.replace("{format: jsonl, path: data.jsonl, id: id}", &inline));
    commit(&env);
    run(&env, &["run", "repo/suite.yaml", "--run-dir", "repo/run", "--submit-intent"]).expect(0);
    run(&env, &["keys", "new", "ada", "--role", "submitter", "--no-passphrase"]).expect(0);
    seal(&env, &["-o", "out"]).expect(0).says(&["rung 3 of 5"]);
    assert!(!env.text(&format!("{}/run/report.replay.json", package_in(&env, "out"))).contains(HOME));
}
