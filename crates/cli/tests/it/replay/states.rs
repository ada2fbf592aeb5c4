//! The inputs at a commit, in the work tree, and both.

use proofmark_testkit::command::TestEnv;
use serde_json::{Value, json};

use super::{RUN, block, digest, git, laid_out, put_block};

/// A run in a repository whose inputs are committed, and the commit.
fn committed() -> (TestEnv, Value) {
    let env = laid_out(&block());
    std::fs::remove_file(env.path("evals/runs/a/report.md")).unwrap();
    git(&env, &["init", "-q"]);
    git(&env, &["add", "evals/suite.yaml", "evals/data.csv"]);
    git(&env, &["commit", "-qm", "inputs"]);
    let mut block = block();
    block["repo_commit"] = json!(git(&env, &["rev-parse", "HEAD"]));
    block["git_dirty"] = json!(false);
    put_block(&env, &block);
    (env, block)
}

fn with(env: &TestEnv, at: &str, code: i32) -> String {
    let all = if at.is_empty() { vec!["verify-replay", RUN] } else { vec!["verify-replay", RUN, "--at", at] };
    env.run(&all).expect(code).stdout.clone()
}

#[test]
fn both_states_are_checked_where_the_commit_is_known() {
    let (env, _) = committed();
    for at in ["", "both"] {
        let out = with(&env, at, 0);
        assert!(out.contains("the run ate what it says: 2 inputs of commit "), "{out}");
        assert!(out.contains("the inputs here are the ones the run ate: 2 inputs"), "{out}");
        assert!(out.contains("  at the commit\n") && out.contains("  in the work tree\n"), "{out}");
    }
    assert!(!with(&env, "worktree", 0).contains("at the commit"));
    assert!(!with(&env, "commit", 0).contains("in the work tree"));
}

#[test]
fn inputs_that_have_moved_on_are_told_from_a_run_that_lied() {
    let (env, block) = committed();
    env.put("evals/data.csv", "other\n");
    for at in ["", "both", "worktree"] {
        let out = with(&env, at, 1);
        let words =
            if at == "worktree" { "are not the ones the run ate" } else { "the inputs have moved on since: 1 of 2" };
        assert!(out.contains(words), "{at}\n{out}");
    }
    assert!(with(&env, "commit", 0).contains("the run ate what it says"));
    let mut lie = block.clone();
    lie["inputs"][1]["hash"] = json!(digest(b"other\n"));
    put_block(&env, &lie);
    let out = with(&env, "", 1);
    assert!(out.contains("the run did not eat what it says: 1 of 2 inputs at commit"), "{out}");
    assert!(out.contains("the inputs here are the ones the run ate"), "{out}");
    lie["git_dirty"] = json!(true);
    put_block(&env, &lie);
    assert!(with(&env, "commit", 1).contains("the work tree had changes when it ran"));
    with(&env, "worktree", 0);
}

#[test]
fn a_commit_that_is_not_there_is_a_skip_unless_it_was_asked_for() {
    let (env, mut block) = committed();
    block["repo_commit"] = json!("0123456789012345678901234567890123456789");
    put_block(&env, &block);
    assert!(with(&env, "", 0).contains("skip  commit: commit 012345678901 is not in the repository"));
    with(&env, "commit", 2);
    with(&env, "both", 2);
    with(&env, "worktree", 0);
    // A tree or a blob is no commit.
    for name in ["HEAD^{tree}", "HEAD:evals/data.csv"] {
        block["repo_commit"] = json!(git(&env, &["rev-parse", name]));
        put_block(&env, &block);
        with(&env, "commit", 2);
    }
}

#[test]
fn a_repository_without_commits_and_no_repository_leave_the_work_tree() {
    let mut block = block();
    block["repo_commit"] = json!("0123456789012345678901234567890123456789");
    let env = laid_out(&block);
    assert!(with(&env, "", 0).contains("skip  commit: the root is in no git work tree"));
    with(&env, "commit", 2);
    git(&env, &["init", "-q"]);
    assert!(with(&env, "", 0).contains("is not in the repository"));
    with(&env, "both", 2);
    // Something called `.git` is no repository.
    std::fs::remove_dir_all(env.path(".git")).unwrap();
    env.put(".git", "gitdir: /nowhere\n");
    assert!(with(&env, "", 0).contains("skip  commit: git failed"));
}

#[test]
fn a_file_that_was_never_committed_is_told_apart() {
    let (env, mut block) = committed();
    env.put("evals/local.csv", "x\n");
    let inputs = block["inputs"].as_array_mut().unwrap();
    inputs.push(json!({"role": "dataset", "path": "local.csv", "hash": digest(b"x\n"), "mode": "raw"}));
    put_block(&env, &block);
    let out = with(&env, "", 0);
    assert!(out.contains("skip  inputs[2] local.csv: the commit has no such file"), "{out}");
    assert!(
        out.contains("the run ate what it says: 2 inputs of commit") && out.contains(", 1 input not in it"),
        "{out}"
    );
    with(&env, "commit", 2);
}

#[test]
fn links_at_a_commit_stay_inside_it() {
    let (env, mut block) = committed();
    std::os::unix::fs::symlink("data.csv", env.path("evals/inside.csv")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", env.path("evals/outside.csv")).unwrap();
    git(&env, &["add", "evals"]);
    git(&env, &["commit", "-qm", "links"]);
    block["repo_commit"] = json!(git(&env, &["rev-parse", "HEAD"]));
    for (path, code) in [("inside.csv", 0), ("outside.csv", 1), ("runs", 1)] {
        block["inputs"][1]["path"] = json!(path);
        put_block(&env, &block);
        with(&env, "commit", code);
    }
}

#[test]
fn a_hostile_repository_runs_nothing() {
    let (env, _) = committed();
    let script = env.path("evil.sh");
    env.put("evil.sh", "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\ncat\n");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = script.display().to_string();
    for (name, value) in [
        ("core.fsmonitor", script.as_str()),
        ("core.pager", &script),
        ("core.sshCommand", &script),
        ("core.hooksPath", env.root().to_str().unwrap()),
        ("filter.x.smudge", &script),
        ("filter.x.clean", &script),
        ("diff.x.textconv", &script),
        ("diff.external", &script),
        ("alias.cat-file", &format!("!{script}")),
        ("uploadpack.packObjectsHook", &script),
        ("credential.helper", &script),
    ] {
        git(&env, &["config", name, value]);
    }
    env.put(".gitattributes", "* filter=x diff=x\n");
    with(&env, "both", 0);
    assert!(!env.path("ran").exists());
}

#[test]
fn replaced_objects_do_not_stand_in_for_recorded_ones() {
    let (env, _) = committed();
    env.put("evals/data.csv", "other\n");
    let other = git(&env, &["hash-object", "-w", "evals/data.csv"]);
    let recorded = git(&env, &["rev-parse", "HEAD:evals/data.csv"]);
    git(&env, &["replace", &recorded, &other]);
    with(&env, "commit", 0);
}

#[test]
fn a_block_that_knows_only_its_repository_is_found_through_it() {
    let (env, mut block) = committed();
    block["root"] = json!(null);
    block["root_in_repo"] = json!("evals");
    put_block(&env, &block);
    with(&env, "", 0);
    for inside in ["..", "/etc", "../x", "gone"] {
        block["root_in_repo"] = json!(inside);
        put_block(&env, &block);
        with(&env, "", 2);
    }
}

#[test]
fn a_root_above_the_work_tree_is_refused() {
    let (env, mut block) = committed();
    block["root"] = json!("../../../..");
    put_block(&env, &block);
    assert!(with(&env, "", 2).contains("refused: the root that the block names"));
}

#[test]
fn blocks_of_ahd_are_checked_at_their_commit_and_bounded_by_their_work_tree() {
    let env = super::empty();
    env.put("outer/package.json", r#"{"name":"@adastracomputing/ahd"}"#);
    env.put("outer/tokens/t.yml", "id: wrong\n");
    env.put("outer/repo/package.json", r#"{"name":"@adastracomputing/ahd"}"#);
    env.put("outer/repo/tokens/t.yml", "id: x\n");
    env.put("outer/repo/docs/package.json", r#"{"name":"@adastracomputing/ahd"}"#);
    git(&env, &["init", "-q", "outer/repo"]);
    git(&env, &["-C", "outer/repo", "add", "."]);
    git(&env, &["-C", "outer/repo", "commit", "-qm", "x"]);
    let commit = git(&env, &["-C", "outer/repo", "rev-parse", "HEAD"]);
    let hash = digest(br#"{"id":"x"}"#);
    let mut block = json!({
        "schema_version": 1, "kind": "critique", "ahd_version": "0.11.0", "ahd_commit": commit, "git_dirty": false,
        "node_version": "v22", "platform": "linux", "invoked_at": "2026-04-22T10:00:00Z", "argv": [],
        "token": {"path": "/home/ada/ahd/tokens/t.yml", "hash": hash}, "brief": null,
        "sampling": {"n": 1, "temperature": null, "seed": null}, "models": [],
        "conditions": {"requested": [], "effective": []},
    });
    env.put("outer/repo/docs/r.replay.json", block.to_string());
    let view = format!("schema_version: 1\nkind: critique\ntoken: {{hash: {hash}}}\n");
    env.put("outer/repo/docs/r.md", format!("```yaml ahd-replay\n{view}```\n"));
    let out = env.run(&["verify-replay", "outer/repo/docs/r.md"]).expect(0).stdout.clone();
    assert!(out.contains("  root: outer/repo\n"), "{out}");
    assert_eq!(out.matches("tokens/t.yml").count(), 4, "{out}");
    assert_eq!(out.matches("rebased from `/home/ada/ahd/tokens/t.yml`").count(), 2, "{out}");
    env.put("outer/repo/tokens/t.yml", "id: y\n");
    let out = env.run(&["verify-replay", "outer/repo/docs/r.md"]).expect(1).stdout.clone();
    assert!(out.contains("the inputs have moved on since"), "{out}");
    block["token"]["path"] = json!("/home/ada/nowhere.yml");
    env.put("outer/repo/docs/r.replay.json", block.to_string());
    let out = env.run(&["verify-replay", "outer/repo/docs/r.md", "--at", "worktree"]).expect(1).stdout.clone();
    assert!(out.contains("there is no such file"), "{out}");
}
