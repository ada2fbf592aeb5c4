//! `proofmark report` and `proofmark validate`: what follows from the records, and whether it is still so.

use proofmark_testkit::command::TestEnv;
use proofmark_testkit::tree::copy;

use crate::support::{SMALL, assert_same_run, json, json_lines, small};

fn with_run() -> TestEnv {
    let env = small();
    env.put("suite.yaml", format!("{SMALL}evidence: {{record: true}}\n"));
    env.run(&["run", "suite.yaml", "--run-dir", "good"]).expect(0);
    env
}

#[test]
fn a_report_that_comes_later_is_the_report_of_the_run() {
    let env = with_run();
    env.run(&["run", "suite.yaml", "--run-dir", "bare", "--skip-report"]).expect(0);
    assert!(!env.path("bare/report.html").exists());
    assert!(json(&env, "bare/manifest.json")["artifacts"].get("report.html").is_none());
    env.run(&["validate", "bare"]).expect(0);
    env.run(&["report", "bare"]).expect(0).says(&["wrote bare/summary.json", "wrote bare/report.html"]);
    assert_same_run(&env.path("good"), &env.path("bare"), "--skip-report, then `report`");
    // And again, over what is there and over what is gone.
    std::fs::remove_file(env.path("bare/report.html")).unwrap();
    std::fs::remove_file(env.path("bare/summary.json")).unwrap();
    env.run(&["report", "bare"]).expect(0);
    assert_same_run(&env.path("good"), &env.path("bare"), "files that were gone");
    env.put("bare/summary.json", "{}");
    env.run(&["report", "bare"]).expect(0);
    assert_same_run(&env.path("good"), &env.path("bare"), "a summary that was changed");
    env.run(&["validate", "bare"]).expect(0);
}

#[test]
fn a_report_of_changed_records_is_refused_and_can_be_had_elsewhere() {
    let env = with_run();
    let records = env.text("good/records.jsonl");
    let forged = records.replacen("\"passed\":false", "\"passed\":true", 1).replacen("\"value\":0", "\"value\":1", 1);
    assert_ne!(forged, records);
    env.put("good/records.jsonl", forged);
    let before = env.tree("");
    let ran = env.run(&["report", "good"]).expect(1);
    let ran = ran.says(&["records.jsonl: the manifest pins sha256:", "summary.json: the manifest pins sha256:"]);
    ran.complains(&["hint: nothing was written; `--out DIR` writes the files elsewhere"]);
    assert!(before.changes(&env.tree("")).is_empty());
    env.run(&["report", "good", "--out", "elsewhere"]).expect(0);
    assert_eq!(json(&env, "elsewhere/summary.json")["totals"]["counts"]["passed"], 4);
    assert_eq!(before.changes(&env.tree("")), ["+ elsewhere", "+ elsewhere/report.html", "+ elsewhere/summary.json"]);
}

#[test]
fn validate_finds_every_edit_and_says_where() {
    let env = with_run();
    let ran = env.run(&["validate", "good"]).expect(0).says(&["valid: 4 records and every file they are bound to"]);
    assert_eq!(ran.stderr, "");
    let document = env.run(&["validate", "good", "--format", "json"]).expect(0).json();
    assert_eq!(document["findings"].as_array().map(Vec::len), Some(0), "{document}");
    let seed = format!("\"seed\":{}", json_lines(&env, "good/records.jsonl")[0]["seed"]);
    for (name, from, to, finding) in [
        ("records.jsonl", "\"passed\":false", "\"passed\":true", "V002"),
        ("records.jsonl", "\"text\":\"three\"", "\"text\":\"four\"", "records.jsonl:3: V042"),
        ("records.jsonl", "\"ordinal\":2", "\"ordinal\":7", "records.jsonl:3: V036"),
        ("records.jsonl", &seed, "\"seed\":7", "records.jsonl:1: V034"),
        ("records.jsonl", "\"latency_ms\":null", "\"latency_ms\":12", "records.jsonl:1: V025"),
        ("records.jsonl", "{\"condition\"", "{ \"condition\"", "records.jsonl:1: V020"),
        ("trajectories.jsonl", "\"final_answer\":\"one\"", "\"final_answer\":\"two\"", "trajectories.jsonl:1: V073"),
        ("summary.json", "\"passed\":3", "\"passed\":4", "summary.json: V060"),
        ("manifest.json", "\"record_count\":4", "\"record_count\":5", "manifest.json: V050"),
        ("manifest.json", "\"command\":null", "\"command\":\"x\"", "manifest.json: V011"),
        ("manifest.json", "\"platform\":null", "\"platform\":{\"arch\":\"x\",\"os\":\"y\"}", "manifest.json: V017"),
        ("config.resolved.yaml", "name: small", "name: large", "config.resolved.yaml: V002"),
        ("report.html", "<html", "<HTML", "report.html: V002"),
    ] {
        let dir = "edited";
        let _ = std::fs::remove_dir_all(env.path(dir));
        copy(&env.path("good"), &env.path(dir));
        let path = format!("{dir}/{name}");
        let before = env.text(&path);
        assert!(before.contains(from), "{name} lacks {from}");
        env.put(&path, before.replacen(from, to, 1));
        let tree = env.tree("");
        let ran = env.run(&["validate", dir]).expect(1).says(&[finding, "not valid: "]);
        let document = env.run(&["validate", dir, "--format", "json"]).expect(1).json();
        assert!(!document["findings"].as_array().unwrap().is_empty(), "{ran}");
        assert!(tree.changes(&env.tree("")).is_empty(), "{ran}");
    }
    for name in ["records.jsonl", "trajectories.jsonl", "summary.json", "report.html", "config.resolved.yaml"] {
        let _ = std::fs::remove_dir_all(env.path("gone"));
        copy(&env.path("good"), &env.path("gone"));
        std::fs::remove_file(env.path(&format!("gone/{name}"))).unwrap();
        env.run(&["validate", "gone"]).expect(1).says(&[&format!("{name}: V001")]);
    }
}

#[test]
fn validate_checks_a_suite_both_ways() {
    let env = small();
    let ran = env.run(&["validate", "suite.yaml"]).expect(0).says(&["valid: 4 samples, run "]);
    assert_eq!(ran.stderr, "");
    let document = env.run(&["validate", "suite.yaml", "--format", "json"]).expect(0).json();
    assert_eq!((&document["valid"], &document["samples"]), (&true.into(), &4.into()));
    env.put("suite.yaml", SMALL.replace("exact", "exat"));
    let ran = env.run(&["validate", "suite.yaml"]).expect(1);
    let ran = ran.complains(&["error: suite.yaml:8:22: unknown type `exat`", "hint: did you mean `exact`?"]);
    assert_eq!(ran.stdout, "");
    let document = env.run(&["validate", "suite.yaml", "--format", "json"]).expect(1).json();
    assert_eq!(document["valid"], false);
    assert!(document["error"].as_str().unwrap().contains("unknown type `exat`"), "{document}");
    // The resolved suite of a run is a suite too.
    env.put("suite.yaml", SMALL);
    env.run(&["run", "suite.yaml", "--run-dir", "runs/out"]).expect(0);
    env.run(&["validate", "runs/out/config.resolved.yaml"]).expect(0);
    env.put("far.yaml", env.bytes("runs/out/config.resolved.yaml"));
    env.run(&["validate", "far.yaml", "--root", "."]).expect(0);
}
