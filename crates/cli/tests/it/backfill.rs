//! `proofmark backfill`.

use std::os::unix::fs::symlink;

use proofmark_canon::Digest;
use proofmark_testkit::command::{Ran, TestEnv};
use serde_json::{Value, json};

use crate::replay::git;
use crate::support::{empty, json as json_file};

const REPORT: &str = "docs/evals/old.md";
const SIDECAR: &str = "docs/evals/old.replay.json";
const SUITE: &str = "evals/suite.yaml";

/// Every kind of input that a file can be.
const RICH: &str = r#"name: rich
seed: 7
sampling: {n: 3, temperature: 0.5}
models:
  - {id: echo, model: "offline:echo"}
conditions:
  raw: {}
  compiled: {token: tokens/style.yml, system: {file: prompts/compiled.md}}
tasks:
  - id: pictures
    dataset: {format: jsonl, path: data/rows.jsonl, id: id, files: [pictures]}
    brief: briefs/b.yml
    prompt: {file: prompts/ask.md}
    scorers: [{type: exact}, {type: command, command: [sh, "{suite}/scorers/score.sh"], files: [scorers/list.txt]}]
  - id: same
    dataset: {format: jsonl, path: data/rows.jsonl, id: id}
    brief: briefs/plain.md
    prompt: "{{ input }}"
    scorers: [{type: exact}]
  - id: table
    dataset: {format: csv, path: data/table.csv}
    prompt: "{{ input }}"
    scorers: [{type: exact}]
  - id: within
    dataset: {format: inline, rows: [{input: x, target: x}]}
    prompt: "{{ input }}"
    scorers: [{type: exact}]
"#;

fn rich() -> TestEnv {
    let env = empty();
    for (name, text) in [
        ("suite.yaml", RICH),
        (
            "data/rows.jsonl",
            "{\"id\":\"a\",\"input\":\"a\",\"target\":\"a\",\"pictures\":[\"data/one.png\",\"data/two.png\"]}\n\
             {\"id\":\"b\",\"input\":\"b\",\"target\":\"b\",\"pictures\":\"\"}\n",
        ),
        ("data/one.png", "one"),
        ("data/two.png", "two"),
        ("data/not-named.png", "three"),
        ("data/table.csv", "input,target\nx,x\n"),
        ("tokens/style.yml", "# a comment\nid: style\nb: 1\n"),
        ("briefs/b.yml", "tone: plain\n"),
        ("briefs/plain.md", "Say it plainly.\n"),
        ("prompts/ask.md", "{{ input }}\n"),
        ("prompts/compiled.md", "Be plain.\n"),
        ("scorers/score.sh", "echo '{\"value\": 1}'\n"),
        ("scorers/list.txt", "a\n"),
    ] {
        env.put(&format!("evals/{name}"), text);
    }
    git(&env, &["init", "-q"]);
    commit(&env, "inputs");
    env.put(REPORT, "# An old report\n\n42 %\n");
    commit(&env, "report");
    env
}

/// Commits everything and returns the commit.
fn commit(env: &TestEnv, message: &str) -> String {
    git(env, &["add", "-A"]);
    git(env, &["commit", "-qm", message]);
    git(env, &["rev-parse", "HEAD"])
}

fn backfill(env: &TestEnv, more: &[&str]) -> Ran {
    env.run(&[&["backfill", REPORT, "--suite", SUITE], more].concat())
}

/// Expects a refusal that says these things and leaves no sidecar.
#[track_caller]
fn refused(env: &TestEnv, more: &[&str], words: &[&str]) {
    let ran = backfill(env, more).expect(2);
    for word in words {
        assert!(ran.stderr.contains(word), "{word}\n{ran}");
    }
    assert!(ran.stderr.contains("hint: ") && ran.stdout.is_empty(), "{ran}");
    assert!(!env.path(SIDECAR).exists(), "{ran}");
}

fn verified(env: &TestEnv, at: &str, code: i32) -> String {
    env.run(&["verify-replay", REPORT, "--at", at]).expect(code).stdout.clone()
}

#[test]
fn a_backfilled_block_names_what_a_run_at_that_commit_would_have_named() {
    let env = rich();
    let head = git(&env, &["rev-parse", "HEAD"]);
    // What a run says, made at this very commit.
    env.run(&["run", SUITE, "--run-dir", "runs/a", "--allow-errors", "100%"]).expect(0);
    let of_run = json_file(&env, "runs/a/report.replay.json");
    std::fs::remove_dir_all(env.path("runs")).unwrap();
    // The work tree has moved on, and gone: nothing of it counts.
    std::fs::remove_dir_all(env.path("evals")).unwrap();
    let ran = backfill(&env, &[]).expect(0);
    assert!(ran.stdout.starts_with("wrote docs/evals/old.replay.json: 12 inputs as of commit "), "{ran}");
    let block = json_file(&env, SIDECAR);
    assert_eq!(block["inputs"], of_run["inputs"]);
    assert_eq!(block["suite"], of_run["suite"]);
    assert_eq!(block["conditions"]["requested"], of_run["conditions"]["requested"]);
    assert_eq!(block["root_in_repo"], of_run["root_in_repo"]);
    let seconds = git(&env, &["show", "-s", "--format=%ct", "HEAD"]).parse::<u64>().unwrap();
    for (name, value) in [
        ("backfilled", json!(true)),
        ("argv", json!([])),
        ("platform", json!("unknown")),
        ("toolchain", json!("unknown")),
        ("proofmark_version", json!("unknown")),
        ("sampling", json!({"n": 3, "temperature": null, "seed": null})),
        ("models", json!([{"id": "echo", "model": "offline:echo", "provider": "offline", "provider_request_ids": []}])),
        ("repo_commit", json!(head)),
        ("git_dirty", json!(null)),
        ("invoked_at", json!(proofmark_canon::id::rfc3339(seconds * 1000))),
        ("kind", json!("eval-live")),
        ("root", json!("../../evals")),
        ("artifacts", json!({"old.md": Digest::of(&env.bytes(REPORT)).to_string()})),
        ("submittable", json!(false)),
        ("conditions", json!({"requested": ["raw", "compiled"], "effective": ["raw", "compiled"]})),
    ] {
        assert_eq!(block[name], value, "{name}");
    }
    assert!(block.get("run_id").is_none() && block.get("resumed").is_none());
    // The published schema holds for it too.
    let schema: Value = serde_json::from_str(&env.run(&["schema", "replay"]).expect(0).stdout).unwrap();
    let errors: Vec<String> =
        jsonschema::validator_for(&schema).unwrap().iter_errors(&block).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn what_was_backfilled_verifies_at_its_commit_and_says_where_the_inputs_have_moved_on() {
    let env = rich();
    backfill(&env, &[]).expect(0);
    for at in ["commit", "worktree", "both"] {
        let out = verified(&env, at, 0);
        assert!(
            out.contains("the block was backfilled") && out.contains("skip  markdown: the markdown is older"),
            "{out}"
        );
    }
    env.put("evals/tokens/style.yml", "b: 1\nid: style\n");
    verified(&env, "worktree", 0);
    env.put("evals/data/one.png", "another");
    verified(&env, "commit", 0);
    assert!(verified(&env, "both", 1).contains("the inputs have moved on since: 1 of 12 inputs"));
    verified(&env, "worktree", 1);
    // The report is as it was.
    assert_eq!(env.text(REPORT), "# An old report\n\n42 %\n");
}

#[test]
fn the_same_bytes_come_out_again_wherever_and_however_it_is_called() {
    let env = rich();
    backfill(&env, &[]).expect(0);
    let bytes = env.bytes(SIDECAR);
    for more in [&[][..], &["--overwrite"]] {
        let ran = backfill(&env, more).expect(0);
        assert!(ran.stdout.starts_with("unchanged: docs/evals/old.replay.json"), "{ran}");
    }
    // From another folder, by other names, after the sidecar itself was committed, and with other files changed.
    commit(&env, "sidecar");
    env.put("evals/data/table.csv", "something else");
    env.put(SUITE, "nothing: valid");
    commit(&env, "later");
    for (report, suite, folder) in [
        ("../docs/evals/old", "suite.yaml", "evals"),
        ("old.md", "../../evals/suite.yaml", "docs/evals"),
        (env.path(REPORT).to_str().unwrap(), env.path(SUITE).to_str().unwrap(), ""),
    ] {
        let call = env.call(&["backfill", report, "--suite", suite, "--dry-run"]).within(&env.path(folder));
        assert_eq!(call.run().expect(0).stdout.as_bytes(), bytes, "{report}");
        let call = env.call(&["backfill", report, "--suite", suite]).within(&env.path(folder));
        assert!(call.run().expect(0).stdout.starts_with("unchanged: "));
    }
    assert_eq!(env.bytes(SIDECAR), bytes);
    // A clone elsewhere gives them too.
    git(&env, &["clone", "-q", ".", "clone"]);
    let call = env.call(&["backfill", REPORT, "--suite", SUITE, "--dry-run"]).within(&env.path("clone"));
    assert_eq!(call.run().expect(0).stdout.as_bytes(), bytes);
}

#[test]
fn dry_run_prints_what_would_be_written_and_json_says_what_was_done() {
    let env = rich();
    let dry = backfill(&env, &["--dry-run"]).expect(0);
    assert!(!env.path(SIDECAR).exists());
    let document: Value =
        serde_json::from_str(&backfill(&env, &["--dry-run", "--format", "json"]).expect(0).stdout).unwrap();
    assert_eq!((&document["placed"], &document["dry_run"]), (&json!("new"), &json!(true)));
    assert!(!env.path(SIDECAR).exists());
    let document: Value = serde_json::from_str(&backfill(&env, &["--format", "json"]).expect(0).stdout).unwrap();
    assert_eq!((&document["format"], &document["placed"]), (&json!("proofmark.backfill"), &json!("new")));
    assert_eq!(document["block"], json_file(&env, SIDECAR));
    assert_eq!(env.text(SIDECAR), dry.stdout);
}

#[test]
fn a_sidecar_that_a_run_wrote_is_never_replaced_and_a_backfilled_one_only_when_told() {
    let env = rich();
    let inputs = git(&env, &["rev-parse", "HEAD^"]);
    backfill(&env, &[]).expect(0);
    let first = env.bytes(SIDECAR);
    let ran = backfill(&env, &["--commit", &inputs]).expect(2);
    assert!(ran.stderr.contains("was backfilled before") && ran.stderr.contains("`--overwrite`"), "{ran}");
    assert_eq!(env.bytes(SIDECAR), first);
    backfill(&env, &["--commit", &inputs, "--overwrite", "--dry-run"]).expect(0);
    assert_eq!(env.bytes(SIDECAR), first);
    assert!(backfill(&env, &["--commit", &inputs, "--overwrite"]).expect(0).stdout.starts_with("replaced "));
    assert_eq!(json_file(&env, SIDECAR)["repo_commit"], json!(inputs));
    let mut real: Value = serde_json::from_slice(&first).unwrap();
    real["backfilled"] = json!(false);
    let mut ahd: Value = serde_json::from_slice(&first).unwrap();
    ahd.as_object_mut().unwrap().remove("proofmark_version");
    for (name, value) in [("ahd_version", json!("0.1")), ("ahd_commit", json!(null)), ("brief", json!(null))] {
        ahd[name] = value;
    }
    ahd["token"] = json!({"path": "t.yml", "hash": Digest::of(b"").to_string()});
    for (text, words) in [
        (real.to_string(), "is the sidecar of a run and is never replaced"),
        (ahd.to_string(), "is no sidecar of ours"),
        ("{}".to_owned(), "is no sidecar of ours"),
        (String::new(), "is no sidecar of ours"),
    ] {
        env.put(SIDECAR, &text);
        let ran = backfill(&env, &["--overwrite"]).expect(2);
        assert!(ran.stderr.contains(words), "{words}\n{ran}");
        assert_eq!(env.text(SIDECAR), text);
    }
    std::fs::remove_file(env.path(SIDECAR)).unwrap();
    symlink("elsewhere", env.path(SIDECAR)).unwrap();
    assert!(backfill(&env, &["--overwrite"]).expect(2).stderr.contains("is no sidecar of ours"));
    assert!(!env.path("docs/evals/elsewhere").exists());
}

#[test]
fn the_commit_is_the_one_that_added_the_report_unless_another_is_named() {
    let env = rich();
    let added = git(&env, &["rev-parse", "HEAD"]);
    // An edit of words, while the inputs stay.
    env.put(REPORT, "# An old report\n\nForty-two per cent\n");
    let edited = commit(&env, "words");
    let ran = backfill(&env, &["--dry-run", "--format", "json"]).expect(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["block"]["repo_commit"], json!(added));
    assert!(document["notes"][0].as_str().unwrap().contains(&edited[..12]), "{ran}");
    // An edit that came with other inputs: nobody can tell which ones the report is about.
    env.put("evals/data/one.png", "another");
    env.put(REPORT, "# An old report\n\n43 %\n");
    let again = commit(&env, "new figures");
    let words = [&added[..12], &again[..12], "`data/one.png`", "`--commit "];
    refused(&env, &[], &words);
    for (revision, id) in [(&again, &again), (&added[..10].to_owned(), &added), (&"HEAD~2".to_owned(), &added)] {
        let ran = backfill(&env, &["--commit", revision, "--dry-run", "--format", "json"]).expect(0);
        let document: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(document["block"]["repo_commit"], json!(id), "{revision}");
    }
    // Removed and added again: the file that was there before was another one.
    std::fs::remove_file(env.path(REPORT)).unwrap();
    commit(&env, "gone");
    env.put(REPORT, "# New\n");
    let anew = commit(&env, "anew");
    backfill(&env, &[]).expect(0);
    assert_eq!(json_file(&env, SIDECAR)["repo_commit"], json!(anew));
}

#[test]
fn a_report_that_is_not_as_committed_is_pinned_as_it_is_and_that_is_said() {
    let env = rich();
    env.put(REPORT, "changed\n");
    let ran = backfill(&env, &[]).expect(0);
    assert!(ran.stderr.contains("note: `old.md` is not as it is at HEAD"), "{ran}");
    assert_eq!(json_file(&env, SIDECAR)["artifacts"]["old.md"], json!(Digest::of(b"changed\n").to_string()));
}

#[test]
fn what_cannot_be_found_is_refused() {
    let env = rich();
    refused(&env, &["--commit", "0123456789012345678901234567890123456789"], &["there is no commit `0123"]);
    for revision in ["HEAD^{tree}", "HEAD:evals/suite.yaml", "", "-x", "a\nb", "no such branch"] {
        refused(&env, &[&format!("--commit={revision}")], &["there is no commit"]);
    }
    let first = git(&env, &["rev-list", "--max-parents=0", "HEAD"]);
    std::fs::remove_file(env.path("evals/briefs/b.yml")).unwrap();
    let less = commit(&env, "no brief");
    refused(&env, &["--commit", &less], &[&format!("commit {} has no `evals/briefs/b.yml`", &less[..12])]);
    backfill(&env, &["--commit", &first, "--dry-run"]).expect(0);
    for name in ["evals/data/one.png", "evals/data/table.csv", "evals/scorers/list.txt", "evals/suite.yaml"] {
        git(&env, &["checkout", "-q", &first, "--", "evals"]);
        std::fs::remove_file(env.path(name)).unwrap();
        let less = commit(&env, name);
        let short = name.strip_prefix("evals/").unwrap();
        refused(&env, &["--commit", &less], &[short, &less[..12]]);
    }
    // A script that is not there is a word like any other.
    git(&env, &["checkout", "-q", &first, "--", "evals"]);
    std::fs::remove_file(env.path("evals/scorers/score.sh")).unwrap();
    let less = commit(&env, "no script");
    backfill(&env, &["--commit", &less, "--dry-run"]).expect(0);
}

#[test]
fn links_and_submodules_of_a_commit_are_refused() {
    let env = rich();
    let start = git(&env, &["rev-parse", "HEAD"]);
    for (name, target) in [
        ("evals/data/one.png", "two.png"),
        ("evals/data/table.csv", "/etc/hostname"),
        ("evals/prompts/ask.md", "../suite.yaml"),
        ("evals/scorers/score.sh", "list.txt"),
        ("evals/suite.yaml", "other.yaml"),
    ] {
        git(&env, &["checkout", "-q", &start, "--", "evals"]);
        env.put("evals/other.yaml", RICH);
        std::fs::remove_file(env.path(name)).unwrap();
        symlink(target, env.path(name)).unwrap();
        commit(&env, name);
        refused(&env, &["--commit", "HEAD"], &[&format!("`{name}` is a link at commit")]);
    }
    git(&env, &["checkout", "-q", &start, "--", "evals"]);
    std::fs::rename(env.path("evals/data"), env.path("evals/real")).unwrap();
    symlink("real", env.path("evals/data")).unwrap();
    commit(&env, "a folder behind a link");
    refused(&env, &["--commit", "HEAD"], &["is a link at commit"]);
    std::fs::remove_file(env.path("evals/data")).unwrap();
    git(&env, &["add", "-A"]);
    git(&env, &["update-index", "--add", "--cacheinfo", &format!("160000,{start},evals/data")]);
    git(&env, &["commit", "-qm", "a submodule"]);
    refused(&env, &["--commit", "HEAD"], &["is in a submodule at commit"]);
}

#[test]
fn report_and_suite_must_be_plain_files_of_one_repository() {
    let env = rich();
    let outside = tempfile::tempdir().unwrap();
    std::fs::copy(env.path(SUITE), outside.path().join("suite.yaml")).unwrap();
    let elsewhere = outside.path().join("suite.yaml").display().to_string();
    for suite in [elsewhere.as_str(), "../suite.yaml", "evals/../../x.yaml", "/", ".."] {
        let ran = env.run(&["backfill", REPORT, "--suite", suite]).expect(2);
        assert!(ran.stderr.contains("is not in the repository of the report"), "{suite}\n{ran}");
    }
    let ran = env.run(&["backfill", REPORT, "--suite", SUITE, "--root", "/"]).expect(2);
    assert!(ran.stderr.contains("is not in the repository of the report"), "{ran}");
    assert!(env.run(&["backfill", REPORT, "--suite", "evals"]).expect(2).stderr.contains("`evals` is a folder"));
    symlink("old.md", env.path("docs/evals/link.md")).unwrap();
    for (report, words) in [
        ("docs/evals/link.md", "is not a regular file"),
        ("docs/evals/none.md", "cannot read"),
        ("docs", "cannot read"),
        ("docs/evals/old.replay.json", "is in no commit"),
    ] {
        if report.ends_with(".json") {
            env.put("docs/evals/new.md", "x\n");
        }
        let report = report.replace("old.replay.json", "new.md");
        let ran = env.run(&["backfill", &report, "--suite", SUITE]).expect(2);
        assert!(ran.stderr.contains(words) && ran.stderr.contains("hint: "), "{report}\n{ran}");
    }
    // One that git does not know can still be given its commit.
    env.run(&["backfill", "docs/evals/new.md", "--suite", SUITE, "--commit", "HEAD"]).expect(0);
    let loose = outside.path().join("loose.md");
    std::fs::copy(env.path(REPORT), &loose).unwrap();
    let ran = env.run(&["backfill", loose.to_str().unwrap(), "--suite", &elsewhere]).expect(2);
    assert!(ran.stderr.contains("is in no git work tree"), "{ran}");
    // A report with a block of its own does not predate them.
    env.put("docs/evals/new.md", "```yaml ahd-replay\nkind: critique\n```\n");
    let ran = env.run(&["backfill", "docs/evals/new.md", "--suite", SUITE, "--commit", "HEAD"]).expect(2);
    assert!(ran.stderr.contains("has a replay block already"), "{ran}");
}

#[test]
fn strange_names_are_only_names() {
    let env = rich();
    let report = "docs/evals/a b'\"$(x) -é:;@{1}^.md";
    env.put(report, "# Strange\n");
    let suite = "evals/--suite *?[x]\u{202e}.yaml";
    env.put(suite, RICH);
    let head = commit(&env, "strange");
    env.run(&["backfill", report, "--suite", suite]).expect(0);
    let block = json_file(&env, &report.replace(".md", ".replay.json"));
    assert_eq!(block["repo_commit"], json!(head));
    assert_eq!(block["suite"]["path"], json!("--suite *?[x]\u{202e}.yaml"));
    env.run(&["verify-replay", report]).expect(0);
    env.put("docs/evals/x\ny.md", "# Lines\n");
    commit(&env, "lines");
    let ran = env.run(&["backfill", "docs/evals/x\ny.md", "--suite", SUITE]).expect(2);
    assert!(ran.stderr.contains("is not plain text"), "{ran}");
}

#[test]
fn a_hostile_repository_runs_nothing_and_replaced_objects_do_not_count() {
    let env = rich();
    let before = backfill(&env, &["--dry-run"]).expect(0).stdout.clone();
    env.put(".git/evil.sh", "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\n");
    let script = env.path(".git/evil.sh");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = script.display().to_string();
    for (name, value) in [
        ("core.fsmonitor", script.as_str()),
        ("core.pager", &script),
        ("gpg.program", &script),
        ("log.showSignature", "true"),
        ("diff.external", &script),
        ("filter.x.smudge", &script),
        ("alias.rev-list", &format!("!{script}")),
    ] {
        git(&env, &["config", name, value]);
    }
    let recorded = git(&env, &["rev-parse", "HEAD:evals/data/one.png"]);
    let other = git(&env, &["rev-parse", "HEAD:evals/data/two.png"]);
    git(&env, &["replace", &recorded, &other]);
    assert_eq!(backfill(&env, &["--dry-run"]).expect(0).stdout, before);
    assert!(!env.path(".git/ran").exists());
}

#[test]
fn a_shallow_clone_cannot_say_which_commit_added_the_report() {
    let env = rich();
    env.put("later.txt", "x");
    commit(&env, "later");
    let from = format!("file://{}", env.root().display());
    git(&env, &["clone", "-q", "--depth", "1", &from, "clone"]);
    let call = |more: &[&str]| {
        let all = [&["backfill", REPORT, "--suite", SUITE][..], more].concat();
        env.call(&all).within(&env.path("clone")).run()
    };
    let ran = call(&[]).expect(2);
    assert!(ran.stderr.contains("shallow clone") && ran.stderr.contains("git fetch --unshallow"), "{ran}");
    call(&["--commit", "HEAD"]).expect(0);
}

#[test]
fn kinds_parts_and_roots_can_be_said() {
    let env = rich();
    let block = |more: &[&str]| -> Value {
        let ran = backfill(&env, &[more, &["--dry-run", "--format", "json"]].concat()).expect(0);
        serde_json::from_str::<Value>(&ran.stdout).unwrap()["block"].take()
    };
    let roles = |block: &Value| -> Vec<String> {
        block["inputs"].as_array().unwrap().iter().map(|input| input["role"].as_str().unwrap().to_owned()).collect()
    };
    let critique = block(&["--kind", "critique"]);
    assert_eq!(critique["kind"], json!("critique"));
    assert!(!roles(&critique).contains(&"brief".to_owned()));
    assert_eq!(block(&["--kind", "eval-image"])["kind"], json!("eval-image"));
    let part = block(&["--only", "task=table", "--only", "condition=raw"]);
    assert_eq!(part["conditions"]["effective"], json!(["raw"]));
    assert!(!roles(&part).iter().any(|role| role == "attachment" || role == "brief"));
    env.put("suites/other.yaml", RICH.replace("offline:echo\"", "offline:painter\", output: image"));
    env.put("docs/evals/new.md", "x\n");
    commit(&env, "another suite");
    let arguments = ["backfill", "docs/evals/new.md", "--suite", "suites/other.yaml", "--root", "evals"];
    env.run(&arguments).expect(0);
    let block = json_file(&env, "docs/evals/new.replay.json");
    assert_eq!((&block["kind"], &block["root"]), (&json!("eval-image"), &json!("../..")));
    assert_eq!(block["suite"]["path"], json!("suites/other.yaml"));
    assert_eq!(block["inputs"][1]["path"], json!("evals/data/rows.jsonl"));
    env.run(&["verify-replay", "docs/evals/new.md", "--at", "both"]).expect(0);
}

#[test]
fn a_run_directory_without_a_witness_has_its_files_pinned() {
    let env = rich();
    env.run(&["run", SUITE, "--run-dir", "runs/a", "--allow-errors", "100%"]).expect(0);
    std::fs::remove_file(env.path("runs/a/report.replay.json")).unwrap();
    env.put("runs/a/report.md", "# By hand\n");
    env.put("runs/a/notes.txt", "not of the run\n");
    commit(&env, "a run");
    env.run(&["backfill", "runs/a", "--suite", SUITE]).expect(0);
    let block = json_file(&env, "runs/a/report.replay.json");
    let names: Vec<&String> = block["artifacts"].as_object().unwrap().keys().collect();
    let want = ["config.resolved.yaml", "manifest.json", "records.jsonl", "report.html", "report.md", "summary.json"];
    assert_eq!(names, want);
    assert_eq!(block["artifacts"]["records.jsonl"], json!(Digest::of(&env.bytes("runs/a/records.jsonl")).to_string()));
    assert_eq!(block["conditions"]["effective"], json_file(&env, "runs/a/manifest.json")["conditions"]["effective"]);
    env.run(&["verify-replay", "runs/a", "--at", "both"]).expect(0);
    // The resolved suite finds its root by itself.
    let resolved = "runs/a/config.resolved.yaml";
    env.run(&["backfill", REPORT, "--suite", resolved, "--commit", "HEAD"]).expect(2);
    let ran = env.run(&["backfill", REPORT, "--suite", resolved, "--commit", "HEAD", "--root", "evals"]).expect(0);
    assert!(ran.stdout.contains("12 inputs"), "{ran}");
}

#[test]
fn a_suite_that_cannot_be_used_says_why_and_where() {
    let env = rich();
    env.put(SUITE, "name: x\nmodels: [\n");
    let broken = commit(&env, "broken");
    let ran = backfill(&env, &["--commit", &broken]).expect(2);
    assert!(ran.stderr.contains("the suite at commit") && ran.stderr.contains("evals/suite.yaml:"), "{ran}");
    env.put(
        SUITE,
        RICH.replace("path: data/table.csv", &format!("path: data/table.csv, dataset_hash: \"{}\"", Digest::of(b""))),
    );
    commit(&env, "pinned");
    refused(&env, &["--commit", "HEAD"], &["the suite says that `data/table.csv` has the digest"]);
    env.put(SUITE, RICH.replace("format: csv, path: data/table.csv", "format: hf, repo: o/n, revision: main"));
    commit(&env, "a branch of the hub");
    refused(&env, &["--commit", "HEAD"], &["does not pin `o/n` to a commit of the hub"]);
    let revision = "a".repeat(40);
    env.put(
        SUITE,
        RICH.replace("format: csv, path: data/table.csv", &format!("format: hf, repo: o/n, revision: {revision}")),
    );
    commit(&env, "a commit of the hub");
    refused(&env, &["--commit", "HEAD"], &["the files of `o/n` are not known here"]);
}

#[test]
fn a_dataset_of_the_hub_is_backfilled_and_verified_from_the_cache_alone() {
    let env = rich();
    let revision = "a".repeat(40);
    let rows = "{\"input\":\"x\",\"target\":\"x\"}\n";
    let dataset = format!("format: hf, repo: o/n, revision: {revision}, data_files: [x.jsonl]");
    env.put(SUITE, RICH.replace("format: csv, path: data/table.csv", &dataset));
    commit(&env, "hub");
    let folder = "cache/hub/datasets/o--n";
    let (digest, size) = (Digest::of(rows.as_bytes()), rows.len());
    env.put(&format!("{folder}/{revision}/x.jsonl"), rows);
    env.put(&format!("{folder}/{revision}.sums/x.jsonl"), format!("{digest}\n"));
    let listing = json!([{"path": "x.jsonl", "size": size, "sha256": null}]);
    env.put(&format!("{folder}/{revision}.files.json"), listing.to_string());
    let call = |arguments: &[&str]| env.call(arguments).env("PROOFMARK_CACHE_DIR", env.path("cache")).run();
    call(&["backfill", REPORT, "--suite", SUITE, "--commit", "HEAD"]).expect(0);
    let block = json_file(&env, SIDECAR);
    let hub = &block["inputs"][2];
    assert_eq!(hub["path"], json!(format!("o/n@{revision}")));
    assert_eq!(hub["files"], json!([{"path": "x.jsonl", "sha256": digest.hex()}]));
    // As a run says it.
    call(&["run", SUITE, "--run-dir", "runs/a", "--allow-errors", "100%"]).expect(0);
    assert_eq!(block["inputs"], json_file(&env, "runs/a/report.replay.json")["inputs"]);
    let ran = call(&["verify-replay", REPORT]).expect(0);
    assert!(ran.stdout.contains("ok    inputs[2] o/n@") && ran.stdout.contains("1 file of the cache"), "{ran}");
    let ran = env.run(&["verify-replay", REPORT]).expect(0);
    assert!(ran.stdout.contains("skip  inputs[2] o/n@"), "{ran}");
    env.put(&format!("{folder}/{revision}/x.jsonl"), "changed");
    let ran = call(&["verify-replay", REPORT]).expect(1);
    assert!(ran.stdout.contains("`x.jsonl` in the cache is not the file that was read"), "{ran}");
    let ran = call(&["backfill", REPORT, "--suite", SUITE, "--commit", "HEAD"]).expect(2);
    assert!(
        ran.stderr.contains("the files of `o/n` are not known here") && ran.stderr.contains("the hub is not asked"),
        "{ran}"
    );
}

#[test]
fn files_that_rows_name_are_those_that_a_run_would_send() {
    let env = rich();
    let suite = "name: s\nmodels: [{id: p, model: \"offline:painter\", output: image}]\ntasks:\n  - id: t\n    dataset: {format: inline, on_bad_row: skip, files: [file], \
                 rows: [{input: a, target: data/one.png, file: data/two.png}, {input: b, target: data/gone.png, file: data/gone.png}]}\n    \
                 prompt: \"{{ input }}\"\n    scorers: [{type: image_hash}]\n";
    env.put(SUITE, suite);
    commit(&env, "rows that name files");
    backfill(&env, &["--commit", "HEAD"]).expect(0);
    let block = json_file(&env, SIDECAR);
    let paths: Vec<&Value> = block["inputs"].as_array().unwrap().iter().map(|input| &input["path"]).collect();
    assert_eq!(paths, ["suite.yaml", "data/one.png", "data/two.png"]);
    assert_eq!(block["kind"], json!("eval-image"));
    // Without leave to skip it, the row is an error as it is in a run.
    env.put(SUITE, suite.replace("on_bad_row: skip, ", ""));
    commit(&env, "a bad row");
    let ran = backfill(&env, &["--commit", "HEAD", "--overwrite"]).expect(2);
    assert!(ran.stderr.contains("data/gone.png") && ran.stderr.contains("hint: "), "{ran}");
}

#[test]
fn repositories_that_hash_with_sha256_are_read_too() {
    let env = rich();
    std::fs::remove_dir_all(env.path(".git")).unwrap();
    git(&env, &["init", "-q", "--object-format=sha256"]);
    let head = commit(&env, "all");
    assert_eq!(head.len(), 64);
    backfill(&env, &[]).expect(0);
    assert_eq!(json_file(&env, SIDECAR)["repo_commit"], json!(head));
    verified(&env, "both", 0);
}

#[test]
fn a_report_that_came_with_a_merge_has_the_commit_of_its_branch() {
    let env = rich();
    git(&env, &["checkout", "-q", "-b", "side", "HEAD~1"]);
    env.put("docs/evals/side.md", "# Side\n");
    let added = commit(&env, "on a branch");
    git(&env, &["checkout", "-q", "main"]);
    env.put("evals/data/one.png", "another");
    commit(&env, "meanwhile");
    git(&env, &["merge", "-q", "--no-edit", "side"]);
    env.run(&["backfill", "docs/evals/side.md", "--suite", SUITE]).expect(0);
    let block = json_file(&env, "docs/evals/side.replay.json");
    assert_eq!(block["repo_commit"], json!(added));
    let one = block["inputs"].as_array().unwrap().iter().find(|input| input["path"] == "data/one.png").unwrap();
    assert_eq!(one["hash"], json!(Digest::of(b"one").to_string()));
}
