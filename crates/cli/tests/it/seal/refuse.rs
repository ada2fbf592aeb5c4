//! What is not sealed, or only with a word about it.

use serde_json::json;

use super::{commit, package_in, run, seal, small_run, verify};
use crate::support::{SMALL, SMALL_DATA, empty};

#[test]
fn a_run_that_is_not_fit_is_refused_and_what_was_allowed_is_shown_ever_after() {
    let env = empty();
    env.put("repo/suite.yaml", SMALL);
    env.put("repo/data.jsonl", SMALL_DATA);
    commit(&env);
    env.put("repo/notes.txt", "not committed");
    run(&env, &["run", "repo/suite.yaml", "--run-dir", "repo/run"]).expect(0);
    run(&env, &["keys", "new", "ada", "--role", "submitter", "--no-passphrase"]).expect(0);
    let before = env.tree("");
    seal(&env, &["-o", "out"])
        .expect(1)
        .says(&[
            "refused:",
            "audit: not clean: AUD-1, AUD-2, AUD-3, AUD-4 did not see all they had to",
            "git: the work tree differed from its commit",
            "not submittable: evidence was not recorded",
        ])
        .complains(&["hint: ", "--allow-dirty"]);
    assert_eq!(before.changes(&env.tree("")), ["+ out"], "nothing but the empty folder is left");
    seal(&env, &["-o", "out", "--allow-dirty", "--strict"]).expect(2);
    seal(&env, &["-o", "out", "--allow-dirty"])
        .expect(0)
        .complains(&["warning: sealed although: git: the work tree differed"]);
    let package = package_in(&env, "out");
    let shown = ["sealed although: git: the work tree differed", "sealed although: not submittable: evidence was not"];
    verify(&env, &package, &[])
        .expect(1)
        .says(&shown)
        .says(&["FAIL  attestations/run.sigstore.json: fit to be submitted: git", "verdict: does not hold"]);
    verify(&env, &package, &["--allow-dirty"]).expect(0).says(&shown).says(&["verdict: holds", "audit: not clean"]);
    let metadata: serde_json::Value = serde_json::from_slice(&env.bytes(&format!("{package}/metadata.json"))).unwrap();
    let kinds: Vec<&str> =
        metadata["allowances"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["audit", "git", "not_submittable"]);
    assert_eq!(metadata["git"]["dirty"], json!(true));
    assert!(env.text(&format!("{package}/README.md")).contains("**It was sealed although:**"));
}

#[test]
fn a_suite_cannot_make_its_own_run_fit() {
    let env = empty();
    let turned = "audit: {severities: {AUD-1: info, AUD-2: info, AUD-3: info, AUD-4: info}}\n";
    env.put("repo/suite.yaml", format!("{SMALL}{turned}"));
    env.put("repo/data.jsonl", SMALL_DATA);
    commit(&env);
    run(&env, &["run", "repo/suite.yaml", "--run-dir", "repo/run"]).expect(0);
    run(&env, &["keys", "new", "ada", "--role", "submitter", "--no-passphrase"]).expect(0);
    let reason = "the suite turns AUD-1 down, which is critical";
    seal(&env, &["-o", "out"]).expect(1).says(&["refused:", reason, "the suite turns AUD-4 down"]);
    seal(&env, &["-o", "out", "--allow-dirty"]).expect(0);
    let package = package_in(&env, "out");
    verify(&env, &package, &[]).expect(1).says(&[reason]);
    verify(&env, &package, &["--allow-dirty"]).expect(0).says(&["turned down: AUD-1"]);
}

#[test]
fn a_run_outside_of_git_needs_a_word_about_it() {
    let env = empty();
    env.put("repo/suite.yaml", SMALL);
    env.put("repo/data.jsonl", SMALL_DATA);
    run(&env, &["run", "repo/suite.yaml", "--run-dir", "repo/run", "--submit-intent"]).expect(0);
    run(&env, &["keys", "new", "ada", "--role", "submitter", "--no-passphrase"]).expect(0);
    let ran = seal(&env, &["-o", "out"]).expect(1).says(&["git: the suite was in no git repository"]);
    assert!(!ran.stdout.contains("audit:") && !ran.stdout.contains("not submittable:"), "{ran}");
}

#[test]
fn a_run_that_does_not_verify_is_never_sealed() {
    let env = small_run();
    let good = env.text("repo/run/records.jsonl");
    env.put("repo/run/records.jsonl", good.replacen("\"passed\":false", "\"passed\":true", 1));
    for more in [&["-o", "out"][..], &["-o", "out", "--allow-dirty"]] {
        seal(&env, more)
            .expect(1)
            .says(&["FAIL  records.jsonl: digest"])
            .complains(&["refused: a run that does not verify is not sealed"]);
    }
    env.put("repo/run/records.jsonl", good);
    // An input that changed since the run.
    env.put("repo/data.jsonl", SMALL_DATA.replace("four", "three"));
    seal(&env, &["-o", "out", "--allow-dirty"]).expect(1).says(&["FAIL  data.jsonl: inputs[1]"]);
    std::fs::remove_file(env.path("repo/data.jsonl")).unwrap();
    seal(&env, &["-o", "out"]).expect(2).complains(&["cannot copy", "data.jsonl", "hint: `--without-inputs`"]);
    assert!(env.tree("out").names().is_empty());
}

#[test]
fn inputs_can_be_left_out_which_lowers_what_a_stranger_can_reach() {
    let env = small_run();
    seal(&env, &["-o", "out", "--without-inputs"]).expect(0).says(&["without its inputs: a stranger reaches rung 2"]);
    let package = package_in(&env, "out");
    assert!(!env.path(&format!("{package}/inputs")).exists());
    verify(&env, &package, &[]).expect(0).says(&[
        "verdict: holds",
        "reached: rung 2 of 5",
        "left open: whether the inputs are those that the run was fed: they are not in the package",
        "say where they are with `--root DIR`",
        "proves: no file of the run changed since its witness was written; left open: whether the inputs are",
    ]);
    verify(&env, &package, &["--rung", "3"]).expect(2);
    // Whoever has them goes on.
    verify(&env, &package, &["--root", "repo"]).expect(0).says(&["reached: rung 3 of 5"]);
    env.put("repo/data.jsonl", SMALL_DATA.replace("four", "three"));
    verify(&env, &package, &["--root", "repo"]).expect(1).says(&["FAIL  data.jsonl"]);
}

#[test]
fn a_key_that_nobody_would_believe_does_not_seal() {
    let env = small_run();
    run(&env, &["keys", "new", "judge", "--role", "judge", "--no-passphrase"]).expect(0);
    let with = |key: &str, at: &str| run(&env, &["seal", "repo/run", "--key", key, "--signed-at", at, "-o", "out"]);
    with("judge", super::AT).expect(2).complains(&["may not act as submitter", "hint: sign with another key"]);
    with("ada", "yesterday").expect(2).complains(&["`yesterday` is not a moment"]);
    with("eve", super::AT).expect(2).complains(&["there is no key `eve`"]);
    run(&env, &["keys", "trust", "ada", "--until", "2026-01-01"]).expect(0);
    with("ada", super::AT).expect(2).complains(&["was not valid any more at 2026-11-16T10:00:00Z"]);
    run(&env, &["keys", "trust", "ada", "--remove"]).expect(0);
    with("ada", super::AT).expect(0).complains(&["warning: SHA256:", "is not in the trust file"]);
}

#[test]
fn what_is_no_run_or_no_package_is_said_to_be_none() {
    let env = small_run();
    run(&env, &["seal", "repo", "--key", "ada"]).expect(2).complains(&["`repo` is not a run directory"]);
    env.put("x.tar", "not an archive");
    verify(&env, "x.tar", &[]).expect(1).says(&["FAIL", "it is not a ustar archive", "proves: nothing"]);
    verify(&env, "missing.tar", &[]).expect(2).complains(&["`missing.tar` does not exist"]);
    run(&env, &["verify", "x.tar", "repo/run"]).expect(2).complains(&["one package at a time"]);
    verify(&env, "x.tar", &["--live", "1"]).expect(2).complains(&["a package holds no cassette"]);
    verify(&env, "repo/run", &["--any-signer"]).expect(2).complains(&["`--any-signer` needs a sealed package"]);
}
