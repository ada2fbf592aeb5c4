//! Whoever changes a package without the key is found, and told what he changed.

use proofmark_testkit::command::TestEnv;
use proofmark_testkit::tree::copy;
use serde_json::{Value, json};

use super::{run, sealed, verify};

/// A part of what must be said when a file was changed.
fn reason(name: &str) -> String {
    match name {
        "package.json" => "FAIL  package.json: digest".to_owned(),
        "attestations/run.sigstore.json" => "FAIL  attestations/run.sigstore.json: ".to_owned(),
        "attestations/package.json.sig" => {
            "FAIL  attestations/package.json.sig: SSH signature over package.json".to_owned()
        }
        "attestations/signer.pub" => "FAIL  attestations/signer.pub: ".to_owned(),
        _ => format!("FAIL  {name}: digest expected sha256:"),
    }
}

#[track_caller]
fn refused(env: &TestEnv, package: &str, parts: &[&str], context: &str) {
    let ran = verify(env, package, &[]);
    assert_eq!(ran.code, 1, "{context}: {ran}");
    for part in parts.iter().chain(&["verdict: does not hold"]) {
        assert!(ran.stdout.contains(part), "{context}: lacks `{part}`: {ran}");
    }
}

#[test]
fn a_flipped_byte_in_any_file_is_found() {
    let (env, package) = sealed();
    let tree = env.tree(&package);
    let files = tree.files();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["run/records.jsonl", "inputs/data.jsonl", "audit-report.json", "package.json", "README.md"] {
        assert!(names.contains(&name), "{names:?}");
    }
    for (name, bytes) in &files {
        let path = format!("{package}/{name}");
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut changed = bytes.to_vec();
            changed[at] ^= 1;
            env.put(&path, changed);
            refused(&env, &package, &[&reason(name)], &format!("byte {at} of {name}"));
        }
        // Cut off, and gone on with.
        env.put(&path, &bytes[..bytes.len() - 1]);
        refused(&env, &package, &["FAIL"], &format!("{name} cut off"));
        env.put(&path, [bytes, &b"\n"[..]].concat());
        refused(&env, &package, &["FAIL"], &format!("{name} gone on with"));
        env.put(&path, bytes);
    }
    verify(&env, &package, &[]).expect(0);
}

#[test]
fn an_added_a_removed_and_a_swapped_file_are_found() {
    let (env, package) = sealed();
    let tree = env.tree(&package);
    for name in ["notes.txt", "run/notes.txt", "inputs/.hidden", "attestations/other.sigstore.json", "run/bodies/x"] {
        env.put(&format!("{package}/{name}"), "x");
        refused(&env, &package, &[&format!("FAIL  {name}: name: the file is there, but nobody signed it")], name);
        std::fs::remove_file(env.path(&format!("{package}/{name}"))).unwrap();
    }
    let _ = std::fs::remove_dir(env.path(&format!("{package}/run/bodies")));
    for (name, bytes) in tree.files() {
        std::fs::remove_file(env.path(&format!("{package}/{name}"))).unwrap();
        refused(&env, &package, &["the file is not there"], &name);
        env.put(&format!("{package}/{name}"), bytes);
    }
    let (a, b) = ("run/summary.json", "run/manifest.json");
    let [left, right] = [a, b].map(|name| env.bytes(&format!("{package}/{name}")));
    env.put(&format!("{package}/{a}"), &right);
    env.put(&format!("{package}/{b}"), &left);
    refused(&env, &package, &[&format!("FAIL  {a}: size"), &format!("FAIL  {b}: size")], "swapped");
    env.put(&format!("{package}/{a}"), &left);
    env.put(&format!("{package}/{b}"), &right);
    // What leads elsewhere is not followed.
    std::fs::remove_file(env.path(&format!("{package}/{a}"))).unwrap();
    env.put("elsewhere.json", &left);
    std::os::unix::fs::symlink(env.path("elsewhere.json"), env.path(&format!("{package}/{a}"))).unwrap();
    refused(&env, &package, &["FAIL", "is a link"], "link");
}

#[test]
fn results_that_were_changed_and_hashed_again_without_the_key_are_found() {
    let (env, package) = sealed();
    let summary = format!("{package}/run/summary.json");
    env.put(&summary, env.text(&summary).replace("\"passed\":3", "\"passed\":4"));
    super::forge::rehash(&env, &package);
    refused(
        &env,
        &package,
        &[
            "FAIL  package.json: digest expected sha256:",
            "FAIL  attestations/package.json.sig: SSH signature over package.json: the SSH signature does not fit",
            "FAIL  package.json: lists what the statement is about",
        ],
        "without the key",
    );
}

#[test]
fn every_part_of_the_envelope_counts() {
    let (env, package) = sealed();
    let name = format!("{package}/attestations/run.sigstore.json");
    let good: Value = serde_json::from_slice(&env.bytes(&name)).unwrap();
    let payload = data_encoding::BASE64
        .decode(good["dsseEnvelope"]["payload"].as_str().unwrap().as_bytes())
        .map(|bytes| String::from_utf8(bytes).unwrap())
        .unwrap();
    let encoded = |text: &str| json!(data_encoding::BASE64.encode(text.as_bytes()));
    let other_key = json!("SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    let signature = good["dsseEnvelope"]["signatures"][0]["sig"].as_str().unwrap();
    let flipped = format!("{}{}", if signature.starts_with('A') { "B" } else { "A" }, &signature[1..]);
    for (changes, part) in [
        (
            vec![("/dsseEnvelope/payload", encoded(&payload.replace("\"clean\":true", "\"clean\":false")))],
            "does not fit",
        ),
        (vec![("/dsseEnvelope/payload", encoded(&payload.replace(super::AT, "2025-11-16T10:00:00Z")))], "does not fit"),
        (vec![("/dsseEnvelope/payload", json!("!!!"))], "is not base64"),
        (
            vec![("/dsseEnvelope/payloadType", json!("application/vnd.other+json"))],
            "expected `application/vnd.in-toto+json`",
        ),
        (vec![("/dsseEnvelope/signatures/0/sig", json!(flipped))], "does not fit"),
        (vec![("/dsseEnvelope/signatures/0/keyid", other_key.clone())], "hint"),
        (
            vec![
                ("/dsseEnvelope/signatures/0/keyid", other_key.clone()),
                ("/verificationMaterial/publicKey/hint", other_key.clone()),
            ],
            "neither in the trust file nor in attestations/signer.pub",
        ),
        (vec![("/dsseEnvelope/signatures", json!([]))], "no signature"),
        (
            vec![("/mediaType", json!("application/vnd.dev.sigstore.bundle.v0.2+json"))],
            "expected `application/vnd.dev.sigstore.bundle.v0.3+json`",
        ),
        (vec![("/mediaType", json!(3))], "shape"),
    ] {
        let mut changed = good.clone();
        for (pointer, value) in changes {
            *changed.pointer_mut(pointer).unwrap() = value;
        }
        env.put(&name, proofmark_canon::to_vec(&changed).unwrap());
        refused(&env, &package, &["FAIL  attestations/run.sigstore.json: ", part], part);
    }
    // The same said in another way is not the same.
    env.put(&name, serde_json::to_vec_pretty(&good).unwrap());
    refused(&env, &package, &["it is not in canonical form"], "pretty");
}

#[test]
fn a_signer_is_believed_by_the_trust_file_of_whoever_verifies_and_only_then() {
    let (env, package) = sealed();
    let trust = |arguments: &[&str]| run(&env, &[&["keys"], arguments].concat()).expect(0);
    let signer = "FAIL  believed as submitter when it was signed: SHA256:";
    trust(&["trust", "ada", "--from", "2026-01-01", "--until", "2026-06-30"]);
    refused(&env, &package, &[signer, "was not valid any more at 2026-11-16T10:00:00Z"], "expired");
    trust(&["trust", "ada", "--from", "2027-01-01", "--until", "2027-06-30"]);
    refused(&env, &package, &[signer, "was not valid yet"], "too early");
    trust(&["trust", "ada", "--from", "2026-01-01", "--until", "2027-06-30"]);
    verify(&env, &package, &[]).expect(0);
    trust(&["trust", "ada", "--role", "verifier"]);
    refused(&env, &package, &[signer, "may not act as submitter"], "role");
    trust(&["trust", "ada", "--role", "submitter"]);
    trust(&["revoke", "ada", "--reason", "retired", "--at", "2026-12-01"]);
    verify(&env, &package, &[]).expect(0);
    trust(&["revoke", "ada", "--reason", "retired", "--at", "2026-11-01"]);
    refused(&env, &package, &[signer, "was revoked"], "revoked");
    trust(&["revoke", "ada", "--reason", "compromised"]);
    refused(&env, &package, &[signer, "was revoked"], "compromised");
    // Who is known to be bad does not become acceptable as a stranger.
    verify(&env, &package, &["--any-signer"]).expect(1);
    trust(&["trust", "ada", "--remove"]);
    refused(
        &env,
        &package,
        &[signer, "is not in the trust file", "proofmark keys trust attestations/signer.pub", "reached: rung 3 of 5"],
        "unknown",
    );
    verify(&env, &package, &["--any-signer"]).expect(0).says(&[
        "left open: who signed",
        "does not prove: who signed",
        "verdict: holds",
    ]);
}

#[test]
fn an_archive_that_was_tampered_with_is_refused() {
    let (env, package) = sealed();
    let good = env.bytes(&format!("{package}.tar"));
    let find = |needle: &[u8]| good.windows(needle.len()).position(|window| window == needle).unwrap();
    let mut changed = good.clone();
    changed[find(b"\"passed\":false") + 9] = b't';
    env.put("changed.tar", &changed);
    refused(&env, "changed.tar", &["FAIL  run/"], "content");
    let mut header = good.clone();
    header[3] ^= 1;
    env.put("header.tar", header);
    refused(&env, "header.tar", &["FAIL  plain files with plain names, within the limits", "checksum"], "header");
    env.put("cut.tar", &good[..good.len() / 2]);
    refused(&env, "cut.tar", &["the archive ends within"], "cut");
    env.put("more.tar", [&good[..], b"more"].concat());
    refused(&env, "more.tar", &["FAIL  plain files"], "more");
    // Plain tools make an archive that is as good.
    let folder = env.path("again");
    copy(&env.path(&package), &folder.join("p"));
    let made = std::process::Command::new("tar")
        .args(["--format=ustar", "--owner=0", "--group=0", "--numeric-owner", "-cf", "again.tar", "-C", "again", "p"])
        .current_dir(env.root())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    verify(&env, "again.tar", &[]).expect(0);
}
