//! The smaller commands, and how output behaves on the other side of a pipe.

use std::process::{Command, Stdio};

use proofmark_testkit::tree::Tree;
use serde_json::Value;

use crate::support::{SMALL, assert_same_run, empty, json, small};

#[test]
fn schemas_are_listed_and_printed() {
    let env = empty();
    let names = env.run(&["schema"]).expect(0).stdout;
    let names: Vec<&str> = names.lines().collect();
    for name in ["suite", "record", "trajectory", "manifest", "summary"] {
        assert!(names.contains(&name), "{names:?}");
    }
    for name in names {
        let schema = env.run(&["schema", name]).expect(0).json();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        assert!(schema["$id"].as_str().unwrap().contains(name), "{name}");
    }
}

#[test]
fn completions_and_manual_pages_are_generated() {
    let env = empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = env.run(&["completions", shell]).expect(0).stdout;
        assert!(text.contains("--fail-on-significant") || text.contains("fail-on-significant"), "{shell}");
    }
    let script = env.run(&["completions", "bash"]).expect(0).stdout;
    env.put("completions.bash", script);
    let checked = Command::new("bash").arg("-n").arg(env.path("completions.bash")).status().unwrap();
    assert!(checked.success());
    env.run(&["man"]).expect(0).says(&[".TH proofmark 1", "proofmark\\-run"]);
    let ran = env.run(&["man", "--out", "pages"]).expect(0);
    let pages = env.tree("pages").names();
    for name in ["proofmark.1", "proofmark-run.1", "proofmark-diff.1", "proofmark-validate.1"] {
        assert!(pages.contains(&name.to_owned()), "{pages:?} {ran}");
        assert!(env.text(&format!("pages/{name}")).starts_with(".ie"), "{name}");
    }
}

#[test]
fn the_version_is_printed() {
    let env = empty();
    let version = format!("proofmark {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(env.run(&["--version"]).expect(0).stdout, version);
    env.run(&["--help"]).expect(0).says(&["Exit codes: 0 what was asked holds"]);
    env.run(&["run", "-h"]).expect(0).says(&["--allow-errors"]);
    assert!(env.tree("").names().is_empty());
}

#[test]
fn init_writes_a_suite_that_runs_and_never_writes_over_one() {
    let env = empty();
    env.run(&["init"]).expect(0).says(&["wrote ./suite.yaml", "proofmark run ./suite.yaml"]);
    env.run(&["validate", "suite.yaml"]).expect(0);
    env.run(&["run", "suite.yaml", "--run-dir", "out"]).expect(0);
    env.run(&["validate", "out"]).expect(0);
    env.put("suite.yaml", "mine");
    let before = env.tree("");
    env.run(&["init"]).expect(2).complains(&["`./suite.yaml` is there already", "hint: choose another folder"]);
    std::fs::remove_file(env.path("suite.yaml")).unwrap();
    env.run(&["init"]).expect(2).complains(&["`./data/capitals.jsonl` is there already"]);
    assert_eq!(before.changes(&env.tree("")), ["- suite.yaml"]);
    env.run(&["init", "some/where"]).expect(0);
    env.run(&["validate", "some/where/suite.yaml"]).expect(0);
    // Where the data cannot go, the suite does not go either.
    env.put("blocked/data", "a file");
    let before = env.tree("");
    env.run(&["init", "blocked"]).expect(2).complains(&["blocked/data/capitals.jsonl"]);
    assert!(before.changes(&env.tree("")).is_empty());
}

#[test]
fn the_demo_runs_and_says_what_to_try_next() {
    let env = empty();
    let ran = env.run(&["demo"]).expect(0);
    let ran = ran.says(&["compiled against raw", "proofmark-demo/runs/demo/report.html", "Try next:"]);
    assert_eq!(ran.stderr, "");
    env.run(&["validate", "proofmark-demo/runs/demo"]).expect(0);
    let manifest = json(&env, "proofmark-demo/runs/demo/manifest.json");
    assert_eq!((manifest["models"].as_array().unwrap().len(), manifest["tasks"].as_array().unwrap().len()), (2, 3));
    assert_eq!(
        (&manifest["sampling"]["n"], manifest["conditions"]["effective"].as_array().unwrap().len()),
        (&3.into(), 2)
    );
    let kinds = env.text("proofmark-demo/suite.yaml");
    for kind in ["exact", "includes", "regex", "numeric", "choice", "set", "json_schema", "gaia", "command"] {
        assert!(kinds.contains(&format!("type: {kind}")), "the demo has no {kind} scorer");
    }
    // What it says to try works.
    env.run(&["run", "proofmark-demo/suite.yaml", "--run-dir", "proofmark-demo/runs/again"]).expect(0);
    assert_same_run(&env.path("proofmark-demo/runs/demo"), &env.path("proofmark-demo/runs/again"), "the demo again");
    // A second time it runs again, but an edited suite is someone's work.
    env.run(&["demo"]).expect(0);
    env.put("proofmark-demo/suite.yaml", format!("{kinds}# mine\n"));
    let before = env.tree("");
    env.run(&["demo"]).expect(2).complains(&["`proofmark-demo/suite.yaml` is there already and is not the demo's"]);
    assert!(before.changes(&env.tree("")).is_empty());
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let env = small();
    env.run(&["run", "suite.yaml", "--run-dir", "out"]).expect(0);
    for line in
        ["schema suite", "man", "completions zsh", "--help", "diff out out", "validate out", "run suite.yaml --dry-run"]
    {
        let script = format!("{{ \"$0\" {line}; echo \"ended with $?\" >&2; }} | head -c 1 >/dev/null");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_proofmark")]).current_dir(env.root()).stdin(Stdio::null());
        let output = String::from_utf8(shell.output().unwrap().stderr).unwrap();
        assert_eq!(output, "ended with 0\n", "{line}");
    }
    // Nobody listens at all.
    let mut closed = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    let status = closed.args(["run", "suite.yaml", "--run-dir", "again"]).current_dir(env.root()).stdout(Stdio::null());
    assert!(status.stderr(Stdio::null()).status().unwrap().success());
    assert!(env.path("again/manifest.json").exists());
}

#[test]
fn a_full_disk_is_an_error() {
    let env = small();
    let script = "\"$0\" schema suite >/dev/full";
    let output =
        Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_proofmark")]).current_dir(env.root()).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write"), "{output:?}");
}

#[test]
fn colour_obeys_the_flag_and_the_variable() {
    let env = small();
    env.put("broken.yaml", SMALL.replace("exact", "exat"));
    env.run(&["run", "suite.yaml", "--run-dir", "a"]).expect(0);
    env.put("suite.yaml", SMALL.replace("{{ input }}", "{{ input }}!"));
    env.run(&["run", "suite.yaml", "--run-dir", "b"]).expect(0);
    let commands: [&[&str]; 4] = [
        &["diff", "a", "b"],
        &["validate", "a"],
        &["run", "suite.yaml", "--run-dir", "b", "--resume"],
        &["run", "broken.yaml"],
    ];
    for arguments in commands {
        let said = |flags: &[&str], no_color: bool| {
            let call = env.call(&[arguments, flags].concat());
            let ran = if no_color { call.env("NO_COLOR", "1") } else { call }.run();
            format!("{}{}", ran.stdout, ran.stderr)
        };
        let plain = said(&[], false);
        assert!(!plain.contains('\u{1b}'), "{arguments:?}: colour without a terminal");
        assert_eq!(said(&["--color", "never"], false), plain, "{arguments:?}");
        assert_eq!(said(&[], true), plain, "{arguments:?}");
        let coloured = said(&["--color", "always"], true);
        assert!(coloured.contains("\u{1b}["), "{arguments:?}: no colour although it was asked for");
    }
}

#[test]
fn nothing_is_written_outside_the_run_directory() {
    let env = small();
    env.put("home/x", "");
    let home = env.path("home");
    let before = env.tree("");
    let call = env.call(&["run", "suite.yaml", "--run-dir", "out"]);
    call.env("HOME", &home).env("TMPDIR", &home).env("XDG_CACHE_HOME", &home).run().expect(0);
    let new: Vec<String> =
        before.changes(&env.tree("")).into_iter().filter(|line| !line.starts_with("+ out")).collect();
    assert!(new.is_empty(), "{new:?}");
    let _: Value = json(&env, "out/manifest.json");
    assert_eq!(Tree::read(&home).names(), ["x"]);
}

#[test]
fn a_suite_whose_hub_does_not_answer_could_not_be_checked() {
    let env = small();
    let hub = SMALL.replace(
        "{format: jsonl, path: data.jsonl, id: id}",
        "{format: hf, repo: a/b, revision: '0123456789012345678901234567890123456789'}",
    );
    env.put("suite.yaml", hub);
    // Nothing is in the cache, and the hub may not be asked.
    let call = env.call(&["validate", "suite.yaml"]).env("HF_HUB_OFFLINE", "1").env("PROOFMARK_CACHE_DIR", "cache");
    call.run().expect(2).complains(&["offline"]);
    let nowhere = ["there is no folder to keep what comes from the hub", "PROOFMARK_CACHE_DIR"];
    env.run(&["validate", "suite.yaml"]).expect(2).complains(&nowhere);
    env.run(&["run", "suite.yaml"]).expect(2).complains(&nowhere);
}

#[test]
fn the_readme_shows_what_the_demo_prints() {
    let readme = include_str!("../../../../README.md");
    let ran = empty().run(&["demo", "d"]).expect(0);
    let headline = ran.stdout.lines().filter(|line| line.starts_with("small") || line.starts_with("large"));
    let samples = ran.stdout.lines().filter(|line| line.contains("samples, run "));
    let shown: Vec<&str> = headline.chain(samples).collect();
    assert_eq!(shown.len(), 7);
    for line in shown {
        assert!(readme.contains(line), "the README does not show: {line}");
    }
}
