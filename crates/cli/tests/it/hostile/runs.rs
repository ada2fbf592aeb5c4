//! Run directories that are none, or no longer what they were.

use std::process::Command;

use proofmark_testkit::command::TestEnv;

use super::refuse;
use crate::support::{SMALL, small};

fn with_run() -> TestEnv {
    let env = small();
    env.put("suite.yaml", format!("{SMALL}evidence: {{record: true}}\n"));
    env.run(&["run", "suite.yaml", "--run-dir", "good"]).expect(0);
    env
}

#[test]
fn a_path_that_is_no_run_is_refused_by_every_command_that_reads_runs() {
    let env = with_run();
    std::fs::create_dir(env.path("empty")).unwrap();
    std::fs::create_dir_all(env.path("unfinished/.proofmark")).unwrap();
    env.put("garbage/manifest.json", "\u{1b}[31m{");
    env.put("deep/manifest.json", "[".repeat(200_000));
    env.put("shape/manifest.json", "{\"schema_version\":1}");
    env.put(
        "newer/manifest.json",
        env.text("good/manifest.json").replace("\"schema_version\":1", "\"schema_version\":2"),
    );
    std::fs::create_dir_all(env.path("folder/manifest.json")).unwrap();
    for (dir, complaint) in [
        ("nowhere", "`nowhere` does not exist"),
        ("suite.yaml", "`suite.yaml` is not a directory"),
        ("empty", "`empty` is not a run directory: it has no `manifest.json`"),
        ("unfinished", "`unfinished` is an unfinished run"),
        ("garbage", "`garbage/manifest.json` is not JSON"),
        ("deep", "`deep/manifest.json` is not JSON"),
        ("shape", "`shape/manifest.json` does not have the expected shape"),
        ("newer", "`newer/manifest.json` has schema version 2, this build reads up to 1"),
        ("folder", "`folder/manifest.json` is not a regular file"),
    ] {
        refuse(&env, dir, &["diff", "good", dir], 2, &[complaint]);
        refuse(&env, dir, &["diff", dir, "good"], 2, &[complaint]);
        refuse(&env, dir, &["report", dir], 2, &[complaint]);
    }
}

#[test]
fn a_run_whose_records_are_broken_is_refused() {
    let env = with_run();
    let records = env.text("good/records.jsonl");
    let (first, rest) = records.split_once('\n').unwrap();
    for (what, text) in [
        ("nothing", String::new()),
        ("garbage", "\u{1b}[31mgarbage\n".to_owned()),
        ("a torn line", records[..records.len() - 20].to_owned()),
        ("a list", format!("[]\n{rest}")),
        ("another shape", format!("{{\"key\":1}}\n{rest}")),
        ("a record that is missing", rest.to_owned()),
        ("a record that stands twice", format!("{first}\n{records}")),
        ("deep lists", format!("{}\n{rest}", "[".repeat(100_000))),
        ("an empty line", format!("\n{records}")),
    ] {
        env.put("bad/records.jsonl", text);
        for name in ["manifest.json", "summary.json", "config.resolved.yaml", "report.html", "trajectories.jsonl"] {
            env.put(&format!("bad/{name}"), env.bytes(&format!("good/{name}")));
        }
        let before = env.tree("");
        for (arguments, codes) in [
            (["validate", "bad"].as_slice(), [1, 1]),
            (&["report", "bad"], [1, 2]),
            (&["diff", "good", "bad", "--fail-on", "changes,bytes"], [1, 2]),
        ] {
            let ran = env.run(arguments);
            assert!(codes.contains(&ran.code), "{what}: {ran}");
            assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{what}: {ran:?}");
            assert!(before.changes(&env.tree("")).is_empty(), "{what}: {ran}");
        }
    }
}

#[test]
fn a_pipe_in_a_run_directory_is_not_waited_for() {
    let env = with_run();
    for name in ["records.jsonl", "trajectories.jsonl", "summary.json", "report.html", "manifest.json"] {
        let dir = format!("with-{name}");
        proofmark_testkit::tree::copy(&env.path("good"), &env.path(&dir));
        let path = env.path(&format!("{dir}/{name}"));
        std::fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        for arguments in [["validate", &dir].as_slice(), &["diff", "good", &dir, "--fail-on", "bytes"]] {
            let ran = env.run(arguments);
            assert!(ran.code == 1 || ran.code == 2, "{name}: {ran}");
        }
    }
}
