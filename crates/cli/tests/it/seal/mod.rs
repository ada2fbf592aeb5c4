//! Sealed packages: made, opened elsewhere, tampered with, and checked by tools of others.

mod forge;
mod hostile;
mod kinds;
mod outside;
mod refuse;
mod tamper;
mod verdict;

use std::path::Path;
use std::process::Command;

use proofmark_testkit::command::{Call, Ran, TestEnv};
use proofmark_trust::key::PrivateKey;
use proofmark_trust::keyfile::KeyFile;

use crate::support::{SMALL, SMALL_DATA, empty};

/// When packages of the tests are signed.
const AT: &str = "2026-11-16T10:00:00Z";

/// Somebody whose name must not be in any package.
const HOME: &str = "/home/canary-user-7f3a";

pub(crate) fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.email=a@example.org", "-c", "user.name=a"];
    let ran = Command::new("git").arg("-C").arg(folder).args(identity).args(arguments).output().unwrap();
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// `proofmark …` with keys in `home`.
fn call(env: &TestEnv, arguments: &[&str]) -> Call {
    env.call(arguments).env("PROOFMARK_HOME", env.path("home")).env("HOME", HOME)
}

fn run(env: &TestEnv, arguments: &[&str]) -> Ran {
    call(env, arguments).run()
}

/// Commits what is in `repo`.
fn commit(env: &TestEnv) {
    git(&env.path("repo"), &["init", "-q"]);
    git(&env.path("repo"), &["add", "-A"]);
    git(&env.path("repo"), &["commit", "-qm", "x"]);
}

/// The small suite in a clean repository, run for submission into `repo/run`; and a submitter's key `ada`.
fn small_run() -> TestEnv {
    let env = empty();
    env.put("repo/suite.yaml", SMALL);
    env.put("repo/data.jsonl", SMALL_DATA);
    commit(&env);
    run(&env, &["run", "repo/suite.yaml", "--run-dir", "repo/run", "--submit-intent"]).expect(0);
    run(&env, &["keys", "new", "ada", "--role", "submitter", "--no-passphrase"]).expect(0);
    env
}

/// The GAIA example with its tools, attachments and MCP server, run in a clean repository.
fn gaia_run() -> TestEnv {
    let env = empty();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gaia");
    proofmark_testkit::tree::copy(&folder, &env.path("repo"));
    commit(&env);
    run(&env, &["run", "repo/suite.yaml", "--run-dir", "repo/run", "--submit-intent"]).expect(0);
    run(&env, &["keys", "new", "ada", "--role", "submitter", "--no-passphrase"]).expect(0);
    env
}

/// `proofmark seal repo/run …` with the usual key and time.
fn seal(env: &TestEnv, more: &[&str]) -> Ran {
    run(env, &[&["seal", "repo/run", "--key", "ada", "--signed-at", AT], more].concat())
}

/// The name of the package that a folder holds.
#[track_caller]
fn package_in(env: &TestEnv, folder: &str) -> String {
    let names = std::fs::read_dir(env.path(folder)).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| !name.ends_with(".tar"));
    assert_eq!(names.len(), 1, "{names:?}");
    format!("{folder}/{}", names[0])
}

/// A small package that was sealed to `out`; and where it is.
#[track_caller]
fn sealed() -> (TestEnv, String) {
    let env = small_run();
    seal(&env, &["-o", "out"]).expect(0);
    let package = package_in(&env, "out");
    (env, package)
}

fn verify(env: &TestEnv, package: &str, more: &[&str]) -> Ran {
    run(env, &[&["verify", package], more].concat())
}

/// The private half of a key that was made without a passphrase.
fn private(env: &TestEnv, name: &str) -> PrivateKey {
    KeyFile::parse(&env.bytes(&format!("home/keys/{name}.pem"))).unwrap().open(None).unwrap().key
}

#[test]
fn a_package_is_verified_elsewhere_as_a_folder_and_as_an_archive() {
    let (env, package) = sealed();
    let says = ["verdict: holds", "reached: rung 3 of 5", "signed by: `ada` SHA256:", "audit: clean"];
    verify(&env, &package, &[]).expect(0).says(&says);
    let elsewhere = empty();
    elsewhere.put("x.tar", env.bytes(&format!("{package}.tar")));
    let trust = env.path("home/trust.json");
    let arguments = ["verify", "x.tar", "--trust", trust.to_str().unwrap()];
    let ran = elsewhere.run(&arguments).expect(0).says(&says).says(&[
        "does not prove: that a model was called: a signature cannot prove that",
        "at 2026-11-16T10:00:00Z by its own word",
        "ok    data.jsonl: inputs[1] (raw) in the package sha256:",
    ]);
    assert!(!ran.stdout.contains("FAIL") && !ran.stdout.contains("/tmp/"), "{ran}");
    // Nothing was left where it was verified, and nothing was written into the package.
    assert_eq!(elsewhere.tree("").names(), ["x.tar"]);
    let before = env.tree(&package);
    verify(&env, &package, &[]).expect(0);
    assert!(before.changes(&env.tree(&package)).is_empty());
}

#[test]
fn a_gaia_run_with_tools_and_attachments_is_sealed_without_a_gap_and_verified() {
    let env = gaia_run();
    let audit = run(&env, &["audit", "repo/run", "--format", "json"]).expect(0).json();
    assert_eq!(audit["attestation"]["harness_gaps"], serde_json::json!([]));
    seal(&env, &["-o", "out", "--strict", "--name", "Fourteen questions"]).expect(0).says(&["audit: clean", "rung 3"]);
    let package = package_in(&env, "out");
    let results = env.text(&format!("{package}/results.jsonl"));
    assert_eq!(results, run(&env, &["export", "gaia", "repo/run"]).expect(0).stdout);
    let metadata: serde_json::Value = serde_json::from_slice(&env.bytes(&format!("{package}/metadata.json"))).unwrap();
    assert_eq!((&metadata["gaia_split"], &metadata["voting_attempts"]), (&"validation".into(), &1.into()));
    assert_eq!(metadata["name"], "Fourteen questions");
    let tools: Vec<&str> =
        metadata["tools"]["gaia"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert!(tools.contains(&"units_convert") && tools.contains(&"python"), "{tools:?}");
    assert!(env.text(&format!("{package}/README.md")).starts_with("# Fourteen questions\n"));
    let gold = ["--gold", "repo/data/2023/validation", "--strict"];
    let verdict =
        run(&env, &[&["verify", &format!("{package}.tar"), "--format", "json"], &gold[..]].concat()).expect(0).json();
    assert_eq!((&verdict["reached"], &verdict["answer"]), (&3.into(), &"holds".into()));
    assert_eq!(verdict["audit"]["against_gold"]["clean"], true);
    // Another dataset's answers tell on it.
    let other = env.text("repo/data/2023/validation/metadata.jsonl").replace("\"88\"", "\"89\"");
    env.put("other.jsonl", other);
    verify(&env, &package, &["--gold", "other.jsonl"])
        .expect(1)
        .says(&["FAIL  audit-report.json: clean against the dataset's own answers: AUD-7, AUD-8"]);
}

#[test]
fn sealed_twice_only_the_time_of_the_signature_differs() {
    let env = small_run();
    for folder in ["one", "two"] {
        seal(&env, &["-o", folder]).expect(0);
    }
    let (one, two) = (package_in(&env, "one"), package_in(&env, "two"));
    assert!(env.tree(&one).changes(&env.tree(&two)).is_empty());
    assert!(env.bytes(&format!("{one}.tar")) == env.bytes(&format!("{two}.tar")));
    let later = ["seal", "repo/run", "--key", "ada", "--signed-at", "2026-11-17T10:00:00Z", "-o", "later"];
    run(&env, &later).expect(0);
    let later = package_in(&env, "later");
    assert_eq!(env.tree(&one).changes(&env.tree(&later)), ["~ attestations/run.sigstore.json"]);
    assert!(later.starts_with("later/submission-2026-11-17-"), "{later}");
    // Never over another one.
    let before = env.tree("one");
    seal(&env, &["-o", "one"]).expect(2).complains(&["is there already", "hint: a package is never written over"]);
    assert!(before.changes(&env.tree("one")).is_empty());
}

#[test]
fn nothing_of_the_machine_and_nothing_of_the_key_is_in_a_package() {
    let (env, package) = sealed();
    let pem = env.text("home/keys/ada.pem");
    let secret = pem.lines().find(|line| !line.starts_with('-')).unwrap();
    let root = env.root().to_str().unwrap().to_owned();
    let archive = env.bytes(&format!("{package}.tar"));
    let tree = env.tree(&package);
    let files = tree.files();
    assert!(files.len() > 10);
    for (name, bytes) in files.iter().map(|(name, bytes)| (name.as_str(), *bytes)).chain([("archive", &archive[..])]) {
        let text = String::from_utf8_lossy(bytes);
        for hidden in [secret, root.as_str(), "canary-user-7f3a", "PRIVATE KEY"] {
            assert!(!text.contains(hidden), "{name} holds {hidden}");
        }
    }
    for folder in ["bodies", "cassette", ".proofmark"] {
        assert!(!env.path(&format!("{package}/run/{folder}")).exists());
    }
}

#[test]
fn diff_report_and_audit_take_packages() {
    let (env, package) = sealed();
    let archive = format!("{package}.tar");
    run(&env, &["diff", "repo/run", &archive, "--fail-on", "bytes"]).expect(0);
    run(&env, &["diff", &package, &archive, "--fail-on-changes"])
        .expect(0)
        .complains(&["signatures are not checked here"]);
    run(&env, &["report", &archive]).expect(2).complains(&["is a sealed package", "hint: say where the files go"]);
    run(&env, &["report", &archive, "--out", "again"]).expect(0);
    assert_eq!(env.bytes("again/summary.json"), env.bytes("repo/run/summary.json"));
    let audited = run(&env, &["audit", &archive, "--format", "json"]).expect(0).stdout;
    assert_eq!(audited.as_bytes(), env.bytes(&format!("{package}/audit-report.json")));
    run(&env, &["audit", "nothing.tar"]).expect(2).complains(&["`nothing.tar` does not exist"]);
}
