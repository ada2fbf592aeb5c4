//! The submitter himself is the forger: he has the key, and signs what he made up.

use std::collections::BTreeMap;

use proofmark_canon::{Digest, json as canon_json, to_vec};
use proofmark_testkit::command::TestEnv;
use proofmark_trust::bundle::Bundle;
use proofmark_trust::dsse::{Envelope, IN_TOTO};
use proofmark_trust::key::PrivateKey;
use proofmark_trust::sshsig::{NAMESPACE, SshSignature};
use proofmark_trust::statement::Statement;
use serde_json::{Value, json};

use super::{gaia_run, package_in, private, run, seal, sealed, verify};

pub(super) const KIND: &str = "https://proofmark.dev/attestation/eval-run/v1";

/// Writes `package.json` anew for the files that are there.
pub(super) fn rehash(env: &TestEnv, package: &str) -> (Vec<u8>, BTreeMap<String, Digest>) {
    let name = format!("{package}/package.json");
    let mut contents: Value = serde_json::from_slice(&env.bytes(&name)).unwrap();
    let tree = env.tree(package);
    let (mut files, mut subjects) = (Vec::new(), BTreeMap::new());
    for (path, bytes) in tree.files() {
        if path == "package.json" || path.starts_with("attestations/") {
            continue;
        }
        let role = match path.split('/').next().unwrap() {
            "run" => "run",
            "inputs" | "hub" => "input",
            "audit-report.json" => "audit",
            "metadata.json" => "metadata",
            "results.jsonl" | "results" => "results",
            _ => "readme",
        };
        let digest = Digest::of(bytes);
        files.push(json!({"path": path, "role": role, "sha256": digest.hex(), "size": bytes.len()}));
        subjects.insert(path, digest);
    }
    contents["files"] = Value::Array(files);
    let mut text = to_vec(&contents).unwrap();
    text.push(b'\n');
    env.put(&name, &text);
    subjects.insert("package.json".to_owned(), Digest::of(&text));
    (text, subjects)
}

/// Signs whatever is there, after a change of what is said of it.
fn sign_again(env: &TestEnv, package: &str, key: &PrivateKey, change: impl Fn(&mut Value)) {
    let (text, subjects) = rehash(env, package);
    sign_list(env, package, key, &text, subjects, change);
}

/// Signs a list, and a statement about files, whatever is there.
pub(super) fn sign_list(
    env: &TestEnv,
    package: &str,
    key: &PrivateKey,
    text: &[u8],
    subjects: BTreeMap<String, Digest>,
    change: impl Fn(&mut Value),
) {
    let bundle: Value =
        serde_json::from_slice(&env.bytes(&format!("{package}/attestations/run.sigstore.json"))).unwrap();
    let payload = bundle["dsseEnvelope"]["payload"].as_str().unwrap();
    let payload = data_encoding::BASE64.decode(payload.as_bytes()).unwrap();
    let statement: Value = serde_json::from_slice(&payload).unwrap();
    let mut predicate = statement["predicate"].clone();
    predicate["package"] = json!(Digest::of(text).to_string());
    change(&mut predicate);
    let predicate = canon_json::parse(&to_vec(&predicate).unwrap()).unwrap();
    let statement = Statement::new(KIND, subjects, predicate).unwrap();
    let envelope = Envelope::sign(IN_TOTO, statement.to_bytes(), &[key]);
    env.put(&format!("{package}/attestations/run.sigstore.json"), Bundle::new(envelope).unwrap().to_bytes());
    let signature = SshSignature::sign(key, NAMESPACE, text).to_armour();
    env.put(&format!("{package}/attestations/package.json.sig"), signature);
    env.put(&format!("{package}/attestations/signer.pub"), format!("{}\n", key.public().to_ssh_line("")));
}

#[test]
fn what_is_signed_again_as_it_is_still_holds() {
    let (env, package) = sealed();
    let before = env.tree(&package);
    sign_again(&env, &package, &private(&env, "ada"), |_| {});
    assert!(before.changes(&env.tree(&package)).is_empty());
}

#[test]
fn a_package_that_was_signed_again_with_another_key_is_by_somebody_else() {
    let (env, package) = sealed();
    let other = PrivateKey::from_secret(&[7; 32]);
    sign_again(&env, &package, &other, |_| {});
    let readme = env.text(&format!("{package}/README.md"));
    let keys = [private(&env, "ada").public(), other.public()].map(|key| (key.fingerprint().to_string(), key.to_pem()));
    let readme = readme.replace(&keys[0].0, &keys[1].0).replace(&keys[0].1, &keys[1].1);
    env.put(&format!("{package}/README.md"), readme);
    sign_again(&env, &package, &other, |_| {});
    verify(&env, &package, &[])
        .expect(1)
        .says(&["FAIL  believed as submitter when it was signed", "is not in the trust file"]);
    verify(&env, &package, &["--any-signer"]).expect(0);
    // One of the signatures alone is not enough.
    let signature =
        SshSignature::sign(&private(&env, "ada"), NAMESPACE, &env.bytes(&format!("{package}/package.json")));
    env.put(&format!("{package}/attestations/package.json.sig"), signature.to_armour());
    verify(&env, &package, &["--any-signer"]).expect(1).says(&["but the statement by SHA256:"]);
}

#[test]
fn a_forged_clean_report_is_found_by_auditing_again() {
    let env = super::small_run();
    run(&env, &["run", "repo/suite.yaml", "--run-dir", "repo/run", "--overwrite", "--record-evidence=false"]).expect(0);
    seal(&env, &["-o", "out", "--allow-dirty"]).expect(0);
    let package = package_in(&env, "out");
    let name = format!("{package}/audit-report.json");
    let mut report: Value = serde_json::from_slice(&env.bytes(&name)).unwrap();
    let clean = json!({"clean": true, "critical_failures": [], "harness_gaps": [], "overridden": [], "skipped": [],
        "strict_clean": true, "warn_failures": []});
    report["attestation"] = clean.clone();
    for check in report["checks"].as_array_mut().unwrap() {
        check["status"] = json!("pass");
    }
    env.put(&name, to_vec(&report).unwrap());
    let metadata = format!("{package}/metadata.json");
    let mut said: Value = serde_json::from_slice(&env.bytes(&metadata)).unwrap();
    said["allowances"] = json!([]);
    env.put(&metadata, [to_vec(&said).unwrap(), b"\n".to_vec()].concat());
    sign_again(&env, &package, &private(&env, "ada"), |predicate| {
        predicate["audit"] = clean.clone();
        predicate["allowances"] = json!([]);
    });
    verify(&env, &package, &["--allow-dirty"]).expect(1).says(&[
        "FAIL  audit-report.json: is what the audit gives: it says clean, but the run is not: AUD-1, AUD-2, AUD-3, AUD-4",
        "FAIL  attestations/run.sigstore.json: says what the audit comes to: it says clean, but the run is not",
        "FAIL  attestations/run.sigstore.json: says what was let pass: it does not say: not clean: AUD-1",
    ]);
    // Nor is another version an excuse for that.
    sign_again(&env, &package, &private(&env, "ada"), |predicate| predicate["sealed_with"]["version"] = json!("0.0.1"));
    verify(&env, &package, &["--allow-dirty"])
        .expect(1)
        .says(&["FAIL  audit-report.json: is what the audit gives: it says clean, but the run is not"]);
}

#[test]
fn a_package_of_another_version_is_read_and_what_cannot_be_compared_is_said() {
    let (env, package) = sealed();
    let key = private(&env, "ada");
    let name = format!("{package}/audit-report.json");
    let mut report: Value = serde_json::from_slice(&env.bytes(&name)).unwrap();
    report["threat_model"]["cannot_show"] = json!(["what an older version says"]);
    env.put(&name, to_vec(&report).unwrap());
    sign_again(&env, &package, &key, |_| {});
    verify(&env, &package, &[]).expect(1).says(&["FAIL  audit-report.json: is what the audit gives"]);
    let metadata = format!("{package}/metadata.json");
    env.put(
        &metadata,
        env.text(&metadata).replace(
            "\"sealed_with\":{\"name\":\"proofmark\",\"version\":\"0.1.0\"}",
            "\"sealed_with\":{\"name\":\"proofmark\",\"version\":\"0.0.1\"}",
        ),
    );
    sign_again(&env, &package, &key, |predicate| predicate["sealed_with"]["version"] = json!("0.0.1"));
    verify(&env, &package, &[]).expect(0).says(&[
        "skip  audit-report.json: is what the audit gives: auditing the run gives another report; version 0.0.1 made it",
        "skip  README.md: follows from the metadata: version 0.0.1 wrote it",
        "left open: the README, and the audit report byte for byte",
    ]);
    // That is no way to say something else of the run.
    env.put(&metadata, env.text(&metadata).replace("\"voting_attempts\":1", "\"voting_attempts\":3"));
    sign_again(&env, &package, &key, |_| {});
    verify(&env, &package, &[]).expect(1).says(&["FAIL  metadata.json: follows from the run"]);
}

#[test]
fn what_does_not_follow_from_the_run_is_found_whoever_signed_it() {
    let env = gaia_run();
    seal(&env, &["-o", "out"]).expect(0);
    let package = package_in(&env, "out");
    let key = private(&env, "ada");
    let nothing = |_: &mut Value| {};
    let edit = |name: &str, from: &str, to: &str| {
        let path = format!("{package}/{name}");
        let before = env.bytes(&path);
        let after = String::from_utf8(before.clone()).unwrap().replacen(from, to, 1).into_bytes();
        assert!(before != after, "{name} has no `{from}`");
        env.put(&path, after);
        (path, before)
    };
    for (name, from, to, expected) in [
        ("results.jsonl", "\"88\"", "\"99\"", "FAIL  results.jsonl: follows from the records"),
        ("metadata.json", "\"passed\":12", "\"passed\":14", "FAIL  metadata.json: follows from the run"),
        (
            "metadata.json",
            "\"voting_attempts\":1",
            "\"voting_attempts\":3",
            "FAIL  metadata.json: follows from the run",
        ),
        ("README.md", "12 passed", "14 passed", "FAIL  README.md: follows from the metadata"),
        ("run/records.jsonl", "\"passed\":false", "\"passed\":true", "FAIL  records.jsonl: digest"),
        ("run/summary.json", "\"passed\":12", "\"passed\":14", "FAIL  summary.json: digest"),
        ("inputs/mcp_units.py", "import", "import ", "FAIL  mcp_units.py: inputs["),
    ] {
        let (path, before) = edit(name, from, to);
        sign_again(&env, &package, &key, nothing);
        verify(&env, &package, &[]).expect(1).says(&[expected]);
        env.put(&path, before);
    }
    for (pointer, value, expected) in [
        ("/counts/passed", json!(14), "says what the run says"),
        ("/suite", json!("another"), "says what the run says"),
        ("/run_id", json!("00112233445566778899aabbccddeeff"), "is the package that the statement names"),
        ("/audit/strict_clean", json!(false), "says what the audit comes to"),
        ("/inputs", json!("left_out"), "follows from the run"),
        ("/reached", json!(9), "rung that the signer reached"),
        ("/signed_at", json!("yesterday"), "which is no moment"),
        ("/extra", json!(1), "a statement about a run"),
    ] {
        sign_again(&env, &package, &key, |predicate| {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            predicate.pointer_mut(parent).unwrap()[name] = value.clone();
        });
        let ran = verify(&env, &package, &[]).expect(1).says(&["FAIL", expected]);
        assert!(ran.stdout.contains("verdict: does not hold"));
        // Back to what is true.
        let before = json!({"/counts/passed": 12, "/suite": "gaia-example", "/inputs": "included", "/reached": 3,
            "/audit/strict_clean": true, "/signed_at": super::AT});
        let run_id = crate::support::run_id(&env, "repo/run");
        sign_again(&env, &package, &key, |predicate| match pointer {
            "/extra" => drop(predicate.as_object_mut().unwrap().remove("extra")),
            "/run_id" => predicate["run_id"] = json!(run_id),
            _ => *predicate.pointer_mut(pointer).unwrap() = before[pointer].clone(),
        });
    }
    verify(&env, &package, &[]).expect(0);
}

const TWICE: &str = r#"name: twice
sampling: {n: 2}
models:
  - {id: "echo:a b", model: "offline:echo"}
  - {id: script, model: "offline:scripted", params: {file: answers.yaml}}
tasks:
  - id: gaia
    dataset: {format: gaia, path: data}
    scorers: [{type: gaia}]
"#;

#[test]
fn a_gaia_run_of_several_models_has_a_file_of_answers_for_each() {
    let env = crate::support::empty();
    env.put("repo/suite.yaml", TWICE);
    env.put("repo/answers.yaml", "answers: {a: \"FINAL ANSWER: 7\"}\n");
    env.put(
        "repo/data/2023/validation/metadata.jsonl",
        "{\"task_id\":\"a\",\"Question\":\"How many?\",\"Level\":1,\"Final answer\":\"7\",\"file_name\":\"\"}\n",
    );
    super::commit(&env);
    run(&env, &["run", "repo/suite.yaml", "--run-dir", "repo/run", "--submit-intent"]).expect(0);
    run(&env, &["keys", "new", "ada", "--role", "submitter", "--no-passphrase"]).expect(0);
    let ran = seal(&env, &["-o", "out", "--allow-dirty"]).expect(0);
    assert!(!ran.stderr.contains("results"), "{ran}");
    let package = package_in(&env, "out");
    let names: Vec<String> =
        env.tree(&package).names().into_iter().filter(|name| name.starts_with("results/")).collect();
    let want = ["01-echo-a-b-default-0", "02-echo-a-b-default-1", "03-script-default-0", "04-script-default-1"];
    assert_eq!(names, want.map(|name| format!("results/{name}.jsonl")));
    for (name, model, sample) in [(&names[0], "echo:a b", "0"), (&names[3], "script", "1")] {
        let chosen = ["export", "gaia", "repo/run", "--model", model, "--sample", sample];
        assert_eq!(env.text(&format!("{package}/{name}")), run(&env, &chosen).expect(0).stdout, "{name}");
    }
    let readme = env.text(&format!("{package}/README.md"));
    assert!(readme.contains("`results/03-script-default-0.jsonl` | the answers of `script` under `default`, sample 0"));
    let allow = ["--allow-dirty"];
    verify(&env, &package, &allow).expect(0).says(&["verdict: holds", "ok    results/04-script-default-1.jsonl"]);

    let key = private(&env, "ada");
    let path = |name: &str| format!("{package}/{name}");
    // Answers of one model under the name of another, one that is gone, one too many: whoever signs it.
    let (first, third) = (env.bytes(&path(&names[0])), env.bytes(&path(&names[2])));
    env.put(&path(&names[0]), third.clone());
    sign_again(&env, &package, &key, |_| {});
    let failed = |name: &str| format!("FAIL  {name}: follows from the records");
    verify(&env, &package, &allow).expect(1).says(&[&failed(&names[0]), "they are not the answers of the records"]);
    env.put(&path(&names[0]), first);
    std::fs::remove_file(env.path(&path(&names[2]))).unwrap();
    sign_again(&env, &package, &key, |_| {});
    verify(&env, &package, &allow).expect(1).says(&[&failed(&names[2]), "the file is not there"]);
    env.put(&path(&names[2]), third.clone());
    env.put(&path("results/05-script-default-2.jsonl"), third.clone());
    sign_again(&env, &package, &key, |_| {});
    verify(&env, &package, &allow)
        .expect(1)
        .says(&[&failed("results/05-script-default-2.jsonl"), "the run has no such answers"]);
    std::fs::remove_file(env.path(&path("results/05-script-default-2.jsonl"))).unwrap();
    // Nor is there a place for a file of another kind.
    env.put(&path("best-results.jsonl"), third);
    sign_again(&env, &package, &key, |_| {});
    verify(&env, &package, &allow).expect(1).says(&["`best-results.jsonl`, which has no place in a package"]);
}
