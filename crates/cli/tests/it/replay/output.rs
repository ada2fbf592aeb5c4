//! Several reports at once, JSON, annotations.

use serde_json::{Value, json};

use super::{RUN, block, digest, git, laid_out, put_block};

#[test]
fn several_reports_and_patterns_are_verified_at_once() {
    let env = laid_out(&block());
    let mut other = block();
    other["inputs"][1]["hash"] = json!(digest(b"other"));
    env.put("evals/runs/b/report.replay.json", other.to_string());
    env.put("evals/runs/README.md", "# notes\n");
    env.put("evals/runs/c/report.md", "# a report of old, without a sidecar\n");
    for arguments in [
        vec!["evals/runs/*/report.replay.json"],
        vec!["evals/**/*.md", "evals/**/*.replay.json"],
        vec!["evals/runs/a", "evals/runs/b"],
        vec!["evals/runs/a", "evals/runs/a/report.md", "evals/runs/?/*.json"],
    ] {
        let ran = env.run(&[&["verify-replay"], &arguments[..]].concat()).expect(1);
        assert!(ran.stdout.ends_with("2 reports: 1 hold, 1 do not, 0 could not be checked\n"), "{arguments:?}\n{ran}");
    }
    // What says that it has a block and has none was not checked.
    env.put("evals/runs/d/x.md", super::markdown());
    let ran = env.run(&["verify-replay", "evals/runs/[a]/*", "evals/runs/*/*.md"]).expect(2);
    assert!(ran.stderr.contains("`evals/runs/[a]/*` matches no report"), "{ran}");
    let ran = env.run(&["verify-replay", "evals/runs/*/*.md"]).expect(2);
    assert!(ran.stdout.ends_with("2 reports: 1 hold, 0 do not, 1 could not be checked\n"), "{ran}");
    // One that does not hold settles the question.
    env.run(&["verify-replay", "evals/runs/d/x.md", "evals/runs/b"]).expect(1);
}

#[test]
fn nothing_to_verify_is_an_error() {
    let env = laid_out(&block());
    env.run(&["verify-replay"]).expect(2);
    env.run(&["verify-replay", "nowhere/*.md"]).expect(2);
    env.run(&["verify-replay", "nowhere/x.md"]).expect(2);
    env.run(&["verify-replay", "evals"]).expect(2);
    env.run(&["verify-replay", RUN, "--at", "yesterday"]).expect(2);
}

#[test]
fn the_json_document_is_stable_and_whole() {
    let env = laid_out(&block());
    env.put("evals/data.csv", "other\n");
    let first = env.run(&["verify-replay", RUN, "--format", "json"]).expect(1).stdout.clone();
    assert_eq!(first, env.run(&["verify-replay", RUN, "--format", "json"]).expect(1).stdout);
    let document: Value = serde_json::from_str(&first).unwrap();
    let line = |field: &str, status: &str, place: &str| {
        json!({"actual": null, "expected": null, "field": field, "mode": null, "note": null, "path": null,
            "status": status, "where": place})
    };
    let set = |mut line: Value, values: &[(&str, Value)]| {
        values.iter().for_each(|(name, value)| line[name] = value.clone());
        line
    };
    let suite = digest(super::SUITE_CANONICAL.as_bytes());
    let lines = json!([
        set(line("schema_version", "ok", "block"), &[("actual", json!("1"))]),
        set(line("kind", "ok", "block"), &[("actual", json!("eval-live"))]),
        set(line("markdown", "ok", "markdown"), &[("note", json!("says what the sidecar says"))]),
        set(
            line("suite", "ok", "worktree"),
            &[
                ("actual", json!(suite)),
                ("expected", json!(suite)),
                ("mode", json!("structured")),
                ("path", json!("suite.yaml")),
            ]
        ),
        set(
            line("inputs[1]", "fail", "worktree"),
            &[
                ("actual", json!(digest(b"other\n"))),
                ("expected", json!(digest(super::DATA.as_bytes()))),
                ("mode", json!("raw")),
                ("path", json!("data.csv")),
            ]
        ),
        set(line("commit", "skip", "commit"), &[("note", json!("the block names no commit"))]),
        set(
            line("artifacts", "skip", "block"),
            &[("note", json!("1 files of the run; `proofmark verify` checks them"))]
        ),
    ]);
    let want = json!({
        "answer": "does-not-hold",
        "format": "proofmark.verify-replay",
        "reports": [{
            "answer": "does-not-hold",
            "backfilled": false,
            "commit": null,
            "error": null,
            "head": {"commit": null, "git_dirty": null, "invoked_at": "2026-04-22T10:00:00Z", "kind": "eval-live",
                "program": "proofmark", "version": "0.1.0"},
            "lines": lines,
            "report": RUN,
            "root": "evals",
            "verdict": ["the inputs here are not the ones the run ate: 1 of 2 inputs differ"],
            "worktree": "does-not-hold",
        }],
        "schema_version": 1,
        "summary": {"cannot_check": 0, "does_not_hold": 1, "holds": 0, "reports": 1},
    });
    assert_eq!(document, want);
}

#[test]
fn annotations_name_the_report_and_what_is_wrong() {
    let env = laid_out(&block());
    let quiet = env.run(&["verify-replay", RUN, "--format", "github"]).expect(0);
    assert_eq!(quiet.stdout, "proofmark verify-replay: 1 reports: 1 hold, 0 do not, 0 could not be checked\n");
    std::fs::remove_file(env.path("evals/data.csv")).unwrap();
    let ran = env.run(&["verify-replay", RUN, "--format", "github"]).expect(1);
    let line = "::error file=evals/runs/a,title=Replay does not hold::FAIL  inputs[1] data.csv expected sha256:";
    assert!(ran.stdout.starts_with(line) && ran.stdout.contains("there is no such file"), "{ran}");
    env.put("evals/runs/a/report.replay.json", "{");
    let ran = env.run(&["verify-replay", RUN, "--format", "github"]).expect(2);
    assert!(
        ran.stdout.starts_with("::error file=evals/runs/a,title=Replay could not be checked::`evals/runs/a"),
        "{ran}"
    );
}

#[test]
fn the_answer_does_not_depend_on_where_the_command_is_given() {
    let env = laid_out(&block());
    git(&env, &["init", "-q"]);
    put_block(&env, &block());
    let report = env.path(RUN).display().to_string();
    let outs: Vec<Value> = ["", "evals", "evals/runs/a"]
        .into_iter()
        .map(|cwd| {
            let ran = env.call(&["verify-replay", &report, "--format", "json"]).within(&env.path(cwd)).run().expect(0);
            serde_json::from_str::<Value>(&ran.stdout).unwrap()["reports"][0]["lines"].clone()
        })
        .collect();
    assert!(outs.windows(2).all(|pair| pair[0] == pair[1]), "{outs:?}");
}
