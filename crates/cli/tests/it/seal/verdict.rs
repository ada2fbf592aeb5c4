//! What is said of a package: one document that a leaderboard can rely on, the same for everybody.

use proofmark_canon::json as canon_json;
use proofmark_testkit::tree::copy;
use proofmark_trust::bundle::Bundle;
use proofmark_trust::dsse::IN_TOTO;
use proofmark_trust::statement::Statement;
use serde_json::{Value, json};

use super::{private, run, sealed, verify};
use crate::support::empty;

#[track_caller]
fn fits(schema: &Value, value: &Value) {
    if let Err(error) = jsonschema::draft202012::new(schema).unwrap().validate(value) {
        panic!("{error}\n{value:#}");
    }
}

#[test]
fn two_operators_on_two_machines_get_the_same_bytes() {
    let (env, package) = sealed();
    let here = verify(&env, &package, &["--format", "json"]).expect(0).stdout;
    let there = empty();
    there.put("deep/er/p.tar", env.bytes(&format!("{package}.tar")));
    there.put("t.json", env.bytes("home/trust.json"));
    let archived = there
        .call(&["verify", "deep/er/p.tar", "--trust", "t.json", "--format", "json"])
        .env("TZ", "Asia/Tokyo")
        .env("LANG", "de_DE.UTF-8")
        .env("HOME", there.path("nobody"))
        .run()
        .expect(0);
    assert_eq!(archived.stdout, here);
    // Inside of a repository, with another name.
    super::git(there.root(), &["init", "-q"]);
    copy(&env.path(&package), &there.path("renamed"));
    let renamed = there.run(&["verify", "renamed", "--trust", "t.json", "--format", "json"]).expect(0);
    assert_eq!(renamed.stdout, here);
    // Also where it does not hold.
    for (env, package, trust) in [(&env, package.as_str(), "home/trust.json"), (&there, "renamed", "t.json")] {
        env.put(&format!("{package}/inputs/data.jsonl"), "{}\n");
        assert_eq!(env.run(&["verify", package, "--trust", trust, "--format", "json"]).code, 1);
    }
    let [a, b] = [(&env, package.as_str(), "home/trust.json"), (&there, "renamed", "t.json")]
        .map(|(env, package, trust)| env.run(&["verify", package, "--trust", trust, "--format", "json"]).stdout);
    assert_eq!(a, b);
}

#[test]
fn everything_fits_its_published_schema() {
    let (env, package) = sealed();
    let schema = |name: &str| run(&env, &["schema", name]).expect(0).json();
    let file = |name: &str| -> Value { serde_json::from_slice(&env.bytes(&format!("{package}/{name}"))).unwrap() };
    fits(&schema("package"), &file("package.json"));
    fits(&schema("package-metadata"), &file("metadata.json"));
    fits(&schema("audit-report"), &file("audit-report.json"));
    let bundle = file("attestations/run.sigstore.json");
    let payload = bundle["dsseEnvelope"]["payload"].as_str().unwrap();
    let statement: Value = serde_json::from_slice(&data_encoding::BASE64.decode(payload.as_bytes()).unwrap()).unwrap();
    let predicate = &statement["predicate"];
    fits(&schema("eval-run"), predicate);
    assert_eq!(statement["predicateType"], "https://proofmark.dev/attestation/eval-run/v1");
    let subjects = statement["subject"].as_array().unwrap().len();
    assert_eq!(subjects, env.tree(&package).files().len() - 3, "every file but those that sign");
    assert_eq!((&predicate["signed_at"], &predicate["reached"]), (&json!(super::AT), &json!(3)));
    assert_eq!(predicate["counts"], json!({"attempted": 4, "errored": 0, "passed": 3, "scored": 4}));
    let verdict = verify(&env, &package, &["--format", "json"]).expect(0).json();
    fits(&schema("verify-package"), &verdict);
    assert_eq!(verdict["format"], "proofmark.verify-package");
    let stages: Vec<&str> = verdict["stages"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(stages, ["archive", "signature", "signer", "package", "files", "derived", "audit"]);
    assert_eq!(verdict["signer"]["name"], "ada");
    assert_eq!(
        verdict["does_not_prove"][0],
        "that a model was called: a signature cannot prove that, nor which model it was"
    );
    // A verdict on what is no package has the same shape.
    env.put("x.tar", "nothing");
    fits(&schema("verify-package"), &verify(&env, "x.tar", &["--format", "json"]).expect(1).json());
    verify(&env, "x.tar", &["--format", "github"]).expect(1).says(&["::error", "does not hold"]);
    let text = env.text(&format!("{package}/package.json"));
    assert!(canon_json::check_canonical(text.trim_end().as_bytes()).is_ok() && text.ends_with("}\n"));
}

#[test]
fn a_verifier_signs_a_verdict_that_holds_and_no_other() {
    let (env, package) = sealed();
    run(&env, &["keys", "new", "board", "--role", "verifier", "--no-passphrase"]).expect(0);
    let attest = |key: &str, more: &[&str]| {
        let arguments = ["--attest", key, "-o", "verdict.json", "--signed-at", "2026-11-20T00:00:00Z"];
        verify(&env, &package, &[&arguments, more].concat())
    };
    attest("ada", &[]).expect(2).complains(&["may not act as verifier"]);
    attest("board", &[]).expect(0).complains(&["signed the verdict as `board`"]);
    let bundle = Bundle::parse(&env.bytes("verdict.json")).unwrap();
    let key = private(&env, "board").public();
    let payload = bundle.envelope().verify(IN_TOTO, |_| Ok(&key)).unwrap();
    let statement = Statement::parse(payload, "https://in-toto.io/attestation/svr/v0.2").unwrap();
    let digest = proofmark_canon::Digest::of(&env.bytes(&format!("{package}/package.json")));
    assert_eq!(statement.subjects().get("package.json"), Some(&digest));
    let predicate: Value = serde_json::from_slice(&statement.predicate().to_canonical()).unwrap();
    assert_eq!(predicate["timeCreated"], "2026-11-20T00:00:00Z");
    let properties: Vec<&str> =
        predicate["properties"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect();
    for wanted in
        ["PROOFMARK_SIGNER_TRUSTED", "PROOFMARK_RUNG_3", "PROOFMARK_AUDIT_CLEAN", "PROOFMARK_AUDIT_REPRODUCED"]
    {
        assert!(properties.contains(&wanted), "{properties:?}");
    }
    assert!(predicate["verifier"]["policies"][0]["digest"]["sha256"].is_string());
    std::fs::remove_file(env.path("verdict.json")).unwrap();
    env.put(&format!("{package}/README.md"), "changed");
    attest("board", &[]).expect(1).complains(&["the verdict does not hold, so it was not signed"]);
    assert!(!env.path("verdict.json").exists());
}
