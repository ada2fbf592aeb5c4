//! Our own blocks.

use serde_json::json;

use super::{RUN, block, digest, laid_out, markdown, put_block};

#[test]
fn a_run_whose_inputs_are_there_holds_however_it_is_named() {
    let env = laid_out(&block());
    for (argument, cwd) in [
        (RUN.to_owned(), ""),
        ("evals/runs/a/report.md".to_owned(), ""),
        ("evals/runs/a/report.replay.json".to_owned(), ""),
        (".".to_owned(), "evals/runs/a"),
        ("report.replay.json".to_owned(), "evals/runs/a"),
        (env.path(RUN).display().to_string(), "evals"),
    ] {
        let ran = env.call(&["verify-replay", &argument]).within(&env.path(cwd)).run().expect(0);
        for line in [
            "  ok    schema_version 1\n",
            "  ok    markdown: says what the sidecar says\n",
            "  ok    suite suite.yaml sha256:",
            "  ok    inputs[1] data.csv sha256:",
            "  skip  artifacts: 1 files of the run; `proofmark verify` checks them\n",
            "  skip  commit: the block names no commit\n",
            "  verdict: holds\n    the inputs here are the ones the run ate: 2 inputs\n",
        ] {
            assert!(ran.stdout.contains(line), "{line}\n{ran}");
        }
    }
}

#[test]
fn an_edit_is_found_and_one_that_changes_no_value_is_not_there() {
    let env = laid_out(&block());
    env.put("evals/suite.yaml", "# a comment\ntasks:   []\nname: 's'\n");
    env.run(&["verify-replay", RUN]).expect(0);
    env.put("evals/data.csv", "id,question\n1,who\n");
    let ran = env.run(&["verify-replay", RUN]).expect(1);
    let expected = digest(super::DATA.as_bytes());
    let actual = digest(b"id,question\n1,who\n");
    let line = format!("  FAIL  inputs[1] data.csv expected {expected}, actual {actual} (raw)\n");
    assert!(ran.stdout.contains(&line), "{ran}");
    assert!(ran.stdout.contains("the inputs here are not the ones the run ate: 1 of 2 inputs differ"), "{ran}");
    env.put("evals/suite.yaml", "secret: [never printed\n");
    let ran = env.run(&["verify-replay", RUN]).expect(1);
    assert!(ran.stdout.contains("it cannot be read as YAML or JSON (line ") && !ran.stdout.contains("secret"), "{ran}");
}

#[test]
fn a_newer_schema_is_refused_and_unknown_fields_are_ignored() {
    let mut newer = block();
    newer["schema_version"] = json!(2);
    newer["suite"] = json!("of another shape");
    let env = laid_out(&newer);
    let ran = env.run(&["verify-replay", RUN]).expect(2);
    assert!(ran.stdout.contains("`schema_version` is 2, and this program knows up to 1"), "{ran}");
    assert!(ran.stdout.contains("hint: verify it with a newer Proofmark"), "{ran}");
    let mut more = block();
    more["tomorrow"] = json!({"x": [1]});
    more["suite"]["tomorrow"] = json!(1);
    more["inputs"][1]["tomorrow"] = json!(null);
    put_block(&env, &more);
    env.run(&["verify-replay", RUN]).expect(0);
}

#[test]
fn fields_that_are_missing_or_of_another_shape_cannot_be_checked() {
    let env = laid_out(&block());
    for name in [
        "kind",
        "repo_commit",
        "git_dirty",
        "invoked_at",
        "argv",
        "suite",
        "inputs",
        "sampling",
        "models",
        "conditions",
        "schema_version",
        "proofmark_version",
    ] {
        let mut less = block();
        less.as_object_mut().unwrap().remove(name);
        put_block(&env, &less);
        env.run(&["verify-replay", RUN]).expect(2);
        let mut other = block();
        other[name] = json!(-1.5);
        put_block(&env, &other);
        env.run(&["verify-replay", RUN]).expect(2);
    }
    for (pointer, value) in [
        ("/suite/hash", json!("sha256:abc")),
        ("/suite/mode", json!("other")),
        ("/inputs/1/path", json!(7)),
        ("/inputs/1/role", json!(null)),
        ("/models/0/provider_request_ids/0", json!(1)),
        ("/backfilled", json!("yes")),
        ("/root", json!(1)),
        ("/artifacts", json!([])),
    ] {
        let mut other = block();
        other["backfilled"] = json!(false);
        *other.pointer_mut(pointer).unwrap() = value;
        put_block(&env, &other);
        env.run(&["verify-replay", RUN]).expect(2);
    }
}

#[test]
fn a_block_without_modes_is_tried_raw_and_then_structured() {
    let mut old = block();
    for pointer in ["/suite", "/inputs/0", "/inputs/1"] {
        old.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove("mode");
    }
    let env = laid_out(&old);
    std::fs::remove_file(env.path("evals/runs/a/report.md")).unwrap();
    let ran = env.run(&["verify-replay", RUN]).expect(0);
    assert!(ran.stdout.contains("(structured)") && ran.stdout.contains("(raw)"), "{ran}");
}

#[test]
fn a_view_that_lies_is_found() {
    let env = laid_out(&block());
    for (from, to, field) in [
        ("kind: eval-live", "kind: critique", "kind expected eval-live, actual critique"),
        ("path: data.csv", "path: other.csv", "inputs[1].path expected data.csv, actual other.csv"),
        ("provider_request_ids: 2", "provider_request_ids: 3", "models[0].provider_request_ids"),
        ("proofmark_version: 0.1.0", "proofmark_version: 9.1.0", "proofmark_version expected 0.1.0, actual 9.1.0"),
        ("hash: 'sha256:", "hash: 'sha256:0000", "suite.hash expected sha256:"),
        ("kind: eval-live", "kind: [", "the block of the markdown is not valid YAML"),
        ("proofmark-replay", "something-else", "the markdown has no replay block"),
        ("proofmark-replay", "ahd-replay", "another program's"),
    ] {
        env.put("evals/runs/a/report.md", markdown().replace(from, to));
        let ran = env.run(&["verify-replay", RUN]).expect(1);
        assert!(ran.stdout.contains("FAIL") && ran.stdout.contains(field), "{field}\n{ran}");
    }
    env.put("evals/runs/a/report.md", markdown().repeat(2));
    assert!(env.run(&["verify-replay", RUN]).expect(1).stdout.contains("more than one replay block"));
    std::fs::remove_file(env.path("evals/runs/a/report.md")).unwrap();
    env.run(&["verify-replay", RUN]).expect(0);
}

#[test]
fn a_view_that_hides_a_backfill_is_found() {
    let mut old = block();
    old["backfilled"] = json!(true);
    let env = laid_out(&old);
    let ran = env.run(&["verify-replay", RUN]).expect(1);
    assert!(ran.stdout.contains("FAIL  backfilled expected true, actual nothing"), "{ran}");
    env.put("evals/runs/a/report.md", markdown().replace("kind: ", "backfilled: true\nkind: "));
    let ran = env.run(&["verify-replay", RUN]).expect(0);
    assert!(ran.stdout.contains("backfilled: reconstructed after the run"), "{ran}");
}

#[test]
fn what_is_no_file_is_not_taken_for_checked() {
    let env = laid_out(&block());
    let mut hub = block();
    hub["inputs"][1] = json!({"role": "dataset", "path": "o/n@c", "repo": "o/n", "revision": "c", "hash": digest(b""), "mode": "raw", "files": []});
    put_block(&env, &hub);
    std::fs::remove_file(env.path("evals/runs/a/report.md")).unwrap();
    assert!(env.run(&["verify-replay", RUN]).expect(0).stdout.contains("skip  inputs[1] o/n@c: a dataset of the hub"));
    // A suite is a file, whatever it says of itself.
    hub["suite"] = json!({"path": "gone.yaml", "repo": "o/n", "hash": digest(b""), "mode": "raw"});
    put_block(&env, &hub);
    env.run(&["verify-replay", RUN]).expect(1);
    hub["suite"] = json!({"path": null, "hash": digest(b""), "mode": "raw"});
    hub["inputs"] = json!([]);
    put_block(&env, &hub);
    env.run(&["verify-replay", RUN]).expect(2);
}

#[test]
fn the_root_is_where_the_block_says_unless_that_is_elsewhere() {
    let env = laid_out(&block());
    std::fs::remove_file(env.path("evals/runs/a/report.md")).unwrap();
    for (root, code) in [
        (json!("../.."), 0),
        (json!("./../.././"), 0),
        (json!("../../../evals"), 0),
        (json!("../../gone"), 2),
        (json!("/etc"), 2),
        (json!("../../../../../../../../.."), 2),
        (json!("../x/../.."), 2),
        (json!(null), 2),
        (json!(""), 1),
    ] {
        let mut other = block();
        other["root"] = root.clone();
        put_block(&env, &other);
        let ran = env.run(&["verify-replay", RUN]).expect(code);
        assert!(code != 2 || ran.stdout.contains("--root DIR"), "{root}\n{ran}");
        env.run(&["verify-replay", RUN, "--root", "evals"]).expect(0);
    }
    env.run(&["verify-replay", RUN, "--root", "nowhere"]).expect(2);
}
