//! Keys: made, kept, believed and given up; and what tools of others say of them.

mod import;
mod outside;
mod secrecy;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use proofmark_testkit::command::{Call, Ran, TestEnv};
use serde_json::{Value, json};

use crate::support::empty;

const PASSPHRASE: &str = "correct horse battery staple";

/// A folder with a passphrase in `pass`.
fn bench() -> TestEnv {
    let env = empty();
    env.put("pass", format!("{PASSPHRASE}\n"));
    set_mode(&env.path("pass"), 0o600);
    env
}

/// `proofmark keys …`, with keys in `home`.
fn call(env: &TestEnv, arguments: &[&str]) -> Call {
    let arguments = [&["keys"], arguments].concat();
    env.call(&arguments).env("PROOFMARK_HOME", env.path("home"))
}

fn keys(env: &TestEnv, arguments: &[&str]) -> Ran {
    call(env, arguments).run()
}

/// Makes a key with the passphrase.
#[track_caller]
fn make(env: &TestEnv, name: &str, role: &str) {
    keys(env, &["new", name, "--role", role, "--passphrase-file", "pass"]).expect(0);
}

/// Makes a key without a passphrase, which is faster.
#[track_caller]
fn make_plain(env: &TestEnv, name: &str, role: &str) {
    keys(env, &["new", name, "--role", role, "--no-passphrase"]).expect(0);
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[track_caller]
fn trust_file(env: &TestEnv) -> Value {
    serde_json::from_slice(&env.bytes("home/trust.json")).unwrap()
}

#[track_caller]
fn shown(env: &TestEnv, name: &str) -> Value {
    keys(env, &["show", name, "--format", "json"]).expect(0).json()
}

#[test]
fn a_new_key_is_private_and_believed_and_never_written_over() {
    let env = bench();
    keys(&env, &["new", "judge", "--role", "judge", "--until", "2030-06-30", "--passphrase-file", "pass"])
        .expect(0)
        .says(&["made judge SHA256:", "home/keys/judge.pem (behind its passphrase)", "believed as judge, in "]);
    assert_eq!(mode(&env.path("home/keys")), 0o700);
    assert_eq!(mode(&env.path("home/keys/judge.pem")), 0o600);
    assert!(env.text("home/keys/judge.pem").starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
    let trust = trust_file(&env);
    assert_eq!(trust["keys"][0]["roles"], json!(["judge"]));
    assert_eq!(trust["keys"][0]["not_after"], "2030-06-30T23:59:59Z");
    let document = shown(&env, "judge");
    assert_eq!((&document["key"]["state"], &document["key"]["private"]), (&json!("believed"), &json!("encrypted")));
    assert_eq!(document["key"]["fingerprint"], trust["keys"][0]["fingerprint"]);
    let before = env.tree("");
    keys(&env, &["new", "judge", "--role", "runner", "--no-passphrase"])
        .expect(2)
        .complains(&["there is a key `judge` already", "hint: keys are never written over"]);
    assert!(before.changes(&env.tree("")).is_empty());
}

#[test]
fn even_a_loose_mask_leaves_keys_to_their_owner() {
    let env = bench();
    let home = env.path("home");
    let arguments = ["keys", "new", "judge", "--role", "judge", "--no-passphrase"];
    env.call_with_umask("000", &arguments).env("PROOFMARK_HOME", &home).run().expect(0);
    assert_eq!((mode(&env.path("home/keys")), mode(&env.path("home/keys/judge.pem"))), (0o700, 0o600));
    // Everybody may read whom one believes; nobody else may decide it.
    assert_eq!((mode(&env.path("home")), mode(&env.path("home/trust.json"))), (0o700, 0o644));
    keys(&env, &["ls"]).expect(0);
    env.call_with_umask("000", &["keys", "trust", "judge", "--role", "judge", "--trust", "other/trust.json"])
        .env("PROOFMARK_HOME", &home)
        .run()
        .expect(0);
    assert_eq!((mode(&env.path("other")), mode(&env.path("other/trust.json"))), (0o755, 0o644));
}

#[test]
fn what_is_wrong_is_said_before_anything_is_written() {
    let env = bench();
    env.put("short", "1234567\n");
    env.put("nothing", "\n");
    env.put("open", "correct horse\n");
    for (name, mode) in [("short", 0o600), ("nothing", 0o600), ("open", 0o644)] {
        set_mode(&env.path(name), mode);
    }
    let before = env.tree("");
    for (arguments, complaints) in [
        (&["new", "a", "--no-passphrase"][..], &["what may the key do?", "hint: give `--role judge`"][..]),
        (&["new", "a", "--role", "king"], &["expected a role: judge, runner, submitter, verifier"]),
        (&["new", "../a", "--role", "judge"], &["`../a` is not a name"]),
        (
            &["new", "a", "--role", "judge", "--role", "submitter", "--no-passphrase"],
            &["judge and submitter can grade the answers it hands in", "hint: make two keys"],
        ),
        (&["new", "a", "--role", "judge", "--until", "soon"], &["`soon` is not a moment"]),
        (&["new", "a", "--role", "judge", "--passphrase-file", "short"], &["fewer than 8 characters"]),
        (&["new", "a", "--role", "judge", "--passphrase-file", "nothing"], &["`nothing`: the passphrase is empty"]),
        (&["new", "a", "--role", "judge", "--passphrase-file", "none"], &["cannot use `none`"]),
        (
            &["new", "a", "--role", "judge", "--passphrase-file", "open"],
            &["`open` can be used by others (mode 644)", "hint: chmod 600 open"],
        ),
        (&["show", "a"], &["there is no key `a`", "hint: there is none yet; make one with `proofmark keys new"]),
        (&["revoke", "a", "--reason", "retired"], &["the trust file has no key `a`", "hint: it has none yet"]),
        (&["trust", "a.pub", "--role", "judge"], &["there is no key `a.pub`", "hint: nor is there such a file"]),
        (&["show", "--role", "judge"], &["none of your keys may act as judge now", "PROOFMARK_JUDGE_KEY in CI"]),
    ] {
        keys(&env, arguments).expect(2).complains(complaints);
    }
    assert!(before.changes(&env.tree("")).is_empty());
    env.call(&["keys", "ls"]).run().expect(2).complains(&["there is no place for"]);
}

#[test]
fn a_wrong_passphrase_and_an_open_file_are_refused_with_a_hint() {
    let env = bench();
    make(&env, "judge", "judge");
    keys(&env, &["show", "judge", "--open", "--passphrase-file", "pass"]).expect(0).says(&["opened:"]);
    call(&env, &["show", "judge", "--open"])
        .env("PROOFMARK_KEY_PASSPHRASE", "wrong horse")
        .run()
        .expect(2)
        .complains(&["the passphrase does not open it", "hint: try again; nobody can open the key"]);
    set_mode(&env.path("home/keys/judge.pem"), 0o644);
    keys(&env, &["show", "judge", "--open", "--passphrase-file", "pass"])
        .expect(2)
        .complains(&["judge.pem` can be used by others (mode 644)", "hint: chmod 600 "]);
    // The list still shows it, and that it cannot be used.
    let listed = keys(&env, &["ls", "--format", "json"]).expect(0).json();
    assert_eq!(listed["keys"][0]["private"], "unreadable");
    set_mode(&env.path("home/keys/judge.pem"), 0o600);
    set_mode(&env.path("home/keys"), 0o755);
    keys(&env, &["ls"]).expect(2).complains(&["home/keys` can be used by others (mode 755)", "hint: chmod 700 "]);
}

#[test]
fn a_key_is_found_by_name_and_by_the_beginning_of_its_fingerprint() {
    let env = bench();
    make_plain(&env, "ada", "judge");
    make_plain(&env, "bob", "submitter");
    let fingerprint = shown(&env, "ada")["key"]["fingerprint"].as_str().unwrap().to_owned();
    for what in [&fingerprint, &fingerprint[..15], &fingerprint[7..17]] {
        assert_eq!(shown(&env, what)["key"]["name"], "ada", "{what}");
    }
    keys(&env, &["show", "eve"]).expect(2).complains(&["there is no key `eve`", "hint: there are ada, bob"]);
    keys(&env, &["ls"]).expect(0).says(&["ada ", "bob ", &fingerprint[..40], "judge", "submitter", "plain"]);
}

#[test]
fn a_successor_takes_over_and_both_are_dated() {
    let env = bench();
    make_plain(&env, "judge", "judge");
    keys(&env, &["rotate", "judge", "--no-passphrase"]).expect(0).says(&[
        "made judge-2 SHA256:",
        "believed as judge from 20",
        "`judge` is superseded",
    ]);
    let (old, new) = (shown(&env, "judge"), shown(&env, "judge-2"));
    assert_eq!(old["key"]["revoked"]["reason"], "superseded");
    assert_eq!(old["key"]["revoked"]["at"], new["key"]["not_before"]);
    assert_eq!((&old["key"]["state"], &new["key"]["state"]), (&json!("revoked"), &json!("believed")));
    assert_eq!(new["key"]["roles"], json!(["judge"]));
    // The one that signs now is the new one.
    let chosen = keys(&env, &["show", "--role", "judge", "--format", "json"]).expect(0).json();
    assert_eq!(chosen["key"]["name"], "judge-2");
    keys(&env, &["rotate", "judge", "--no-passphrase"]).expect(2).complains(&["was revoked as superseded"]);
    keys(&env, &["rotate", "judge-2", "--name", "third", "--no-passphrase"]).expect(0).says(&["made third"]);
    make_plain(&env, "fourth", "judge");
    keys(&env, &["show", "--role", "judge"])
        .expect(2)
        .complains(&["several of your keys may act as judge: fourth, third", "hint: name the one to use"]);
}

#[test]
fn a_revocation_can_be_made_worse_and_never_better() {
    let env = bench();
    make_plain(&env, "ada", "submitter");
    keys(&env, &["revoke", "ada", "--reason", "retired", "--at", "2030-01-01"])
        .expect(0)
        .says(&["as retired in ", "what it signed before 2030-01-01T00:00:00Z is still believed"])
        .complains(&["hint: others learn of it"]);
    // Not yet: it is believed until then.
    assert_eq!(shown(&env, "ada")["key"]["state"], "believed");
    keys(&env, &["revoke", "ada", "--reason", "retired", "--at", "2031-01-01"])
        .expect(2)
        .complains(&["was revoked as retired at 2030-01-01T00:00:00Z already", "hint: a revocation can be made worse"]);
    keys(&env, &["revoke", "ada", "--reason", "compromised"]).expect(0).says(&["nothing it ever signed is believed"]);
    assert_eq!(shown(&env, "ada")["key"]["state"], "revoked");
    keys(&env, &["revoke", "ada", "--reason", "superseded"]).expect(2);
    // A change of roles does not bring it back.
    keys(&env, &["trust", "ada", "--role", "verifier"]).expect(0).complains(&["warning: it stays revoked"]);
    assert_eq!(trust_file(&env)["keys"][0]["revoked"]["reason"], "compromised");
}

#[test]
fn keys_of_others_are_believed_changed_and_forgotten() {
    let (theirs, ours) = (bench(), bench());
    make_plain(&theirs, "ada", "submitter");
    let line = keys(&theirs, &["export", "ada"]).expect(0).stdout;
    let pem = keys(&theirs, &["export", "ada", "--form", "pem"]).expect(0).stdout;
    ours.put("from-ada.pem", &pem);
    keys(&ours, &["trust", line.trim()]).expect(2).complains(&["what may the key do?"]);
    keys(&ours, &["trust", line.trim(), "--role", "submitter", "--from", "2026-01-01", "--until", "2026-12-31"])
        .expect(0)
        .says(&["believed `ada` SHA256:", "as submitter from 2026-01-01T00:00:00Z until 2026-12-31T23:59:59Z"]);
    // The same key from another file is that key.
    keys(&ours, &["trust", "from-ada.pem", "--role", "runner", "--role", "verifier"])
        .expect(0)
        .says(&["changed: `ada`", "as runner, verifier from 2026-01-01"]);
    keys(&ours, &["trust", "ada", "--name", "ada@example.org"]).expect(0).says(&["changed: `ada@example.org`"]);
    keys(&ours, &["trust", "ada@example.org"]).expect(0).says(&["unchanged: "]);
    keys(&ours, &["trust", "ada@example.org", "--role", "judge", "--role", "submitter"]).expect(2);
    let both = ["trust", "ada@example.org", "--role", "judge", "--role", "submitter", "--allow-self-judging"];
    keys(&ours, &both).expect(0).says(&["as judge, submitter"]);
    keys(&ours, &["ls"]).expect(0).says(&["ada@example.org", "not here"]);
    assert_eq!(shown(&ours, "ada@example.org")["source"], Value::Null);
    keys(&ours, &["show", "ada@example.org", "--open"])
        .expect(2)
        .complains(&["the private half of this key is not here"]);
    // A name is one key's alone.
    make_plain(&ours, "bob", "judge");
    keys(&ours, &["trust", "bob", "--name", "ada@example.org"]).expect(2).complains(&["`ada@example.org` already"]);
    keys(&ours, &["new", "ada@example.org", "--role", "judge", "--no-passphrase"]).expect(2);
    keys(&ours, &["trust", "ada@example.org", "--remove"]).expect(0).says(&["removed `ada@example.org`"]);
    assert_eq!(trust_file(&ours)["keys"].as_array().unwrap().len(), 1);
}

#[test]
fn a_private_key_or_something_else_is_not_believed() {
    let env = bench();
    make_plain(&env, "ada", "judge");
    keys(&env, &["trust", "home/keys/ada.pem", "--role", "runner"]).expect(2).complains(&["it is a private key"]);
    env.put("rsa.pub", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQ== x\n");
    keys(&env, &["trust", "rsa.pub", "--role", "runner"]).expect(2).complains(&["only Ed25519 is supported"]);
    let weak = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    keys(&env, &["trust", weak, "--role", "runner", "--name", "weak"]).expect(2).complains(&["it is a weak key"]);
    env.put("long.pub", "x".repeat(1 << 20));
    keys(&env, &["trust", "long.pub", "--role", "runner"]).expect(2).complains(&["long.pub"]);
}

#[test]
fn a_trust_file_is_read_strictly_and_must_not_be_everybodys() {
    let env = bench();
    make_plain(&env, "ada", "judge");
    let good = env.text("home/trust.json");
    for (from, to, complaint) in [
        ("proofmark.trust", "proofmark.other", "is `proofmark.other`, expected `proofmark.trust`"),
        ("\"version\": 1", "\"version\": 2", "has version 2"),
        ("\"version\": 1,", "\"version\": 1, \"more\": 1,", "more"),
        ("\"judge\"", "\"king\"", "does not have the shape of one"),
        ("SHA256:", "SHA256:A", "the fingerprint is none"),
        ("{", "", "is not JSON"),
    ] {
        env.put("home/trust.json", good.replacen(from, to, 1));
        let ran = keys(&env, &["ls"]).expect(2).complains(&["home/trust.json`: ", complaint]);
        assert!(ran.stdout.is_empty(), "{ran}");
    }
    env.put("home/trust.json", &good);
    keys(&env, &["ls"]).expect(0);
    set_mode(&env.path("home/trust.json"), 0o666);
    keys(&env, &["ls"]).expect(2).complains(&["anybody can change", "hint: chmod o-w "]);
    // A file that is named must be there; the usual one need not.
    keys(&env, &["ls", "--trust", "other.json"]).expect(2).complains(&["cannot read `other.json`"]);
    keys(&env, &["trust", "ada", "--role", "judge", "--trust", "other.json"]).expect(0);
    call(&env, &["ls"]).env("PROOFMARK_TRUST", env.path("other.json")).run().expect(0).says(&["ada"]);
}

#[test]
fn the_trust_file_fits_its_schema_and_a_link_to_it_stays_one() {
    let env = bench();
    env.put("shared/trust.json", "{\"format\": \"proofmark.trust\", \"version\": 1, \"keys\": []}");
    std::fs::create_dir(env.path("home")).unwrap();
    std::os::unix::fs::symlink("../shared/trust.json", env.path("home/trust.json")).unwrap();
    make_plain(&env, "ada", "judge");
    keys(&env, &["rotate", "ada", "--no-passphrase"]).expect(0);
    assert!(env.path("home/trust.json").symlink_metadata().unwrap().is_symlink());
    let schema = env.run(&["schema", "trust"]).expect(0).json();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let good = trust_file(&env);
    assert_eq!(good["keys"].as_array().unwrap().len(), 2);
    assert!(validator.is_valid(&good), "{good}");
    for (pointer, bad) in [
        ("/version", json!(2)),
        ("/format", json!("other")),
        ("/keys/0/roles", json!([])),
        ("/keys/0/roles/0", json!("king")),
        ("/keys/0/fingerprint", json!("sha256:00")),
        ("/keys/0/public_key", json!("ssh-rsa AAAA")),
        ("/keys/0/name", json!("a b")),
        ("/keys/0/revoked/at", json!("now")),
        ("/keys/0/revoked/reason", json!("bored")),
    ] {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = bad;
        assert!(!validator.is_valid(&changed), "{pointer}");
    }
}

#[test]
fn a_key_for_a_machine_comes_from_the_environment() {
    let env = bench();
    make(&env, "locked", "judge");
    make_plain(&env, "plain", "runner");
    let (locked, plain) = (env.text("home/keys/locked.pem"), env.text("home/keys/plain.pem"));
    let fingerprint = |name: &str| shown(&env, name)["key"]["fingerprint"].clone();
    let show = |role: &str| env.call(&["keys", "show", "--role", role, "--format", "json"]).env("HOME", env.path("ci"));
    let found = show("judge").env("PROOFMARK_JUDGE_KEY", &plain).run().expect(0).json();
    assert_eq!(found["key"]["fingerprint"], fingerprint("plain"));
    assert_eq!(found["source"], "PROOFMARK_JUDGE_KEY");
    // Where a variable has one line, line ends are written out.
    let found = show("runner").env("PROOFMARK_RUNNER_KEY", plain.trim().replace('\n', "\\n")).run().expect(0).json();
    assert_eq!(found["key"]["fingerprint"], fingerprint("plain"));
    let encrypted = || show("submitter").env("PROOFMARK_SUBMITTER_KEY", &locked);
    let found = encrypted().env("PROOFMARK_KEY_PASSPHRASE", PASSPHRASE).run().expect(0).json();
    assert_eq!(found["key"]["fingerprint"], fingerprint("locked"));
    encrypted()
        .env("PROOFMARK_KEY_PASSPHRASE", "wrong horse")
        .run()
        .expect(2)
        .complains(&["PROOFMARK_SUBMITTER_KEY gives no key: the passphrase does not open it"]);
    show("judge").env("PROOFMARK_JUDGE_KEY", "nonsense").run().expect(2).complains(&["it is no private key in PEM"]);
    // A variable for one role is none for another.
    show("verifier").env("PROOFMARK_JUDGE_KEY", &plain).run().expect(2).complains(&["PROOFMARK_VERIFIER_KEY"]);
}

#[test]
fn nothing_is_lost_when_several_change_the_trust_file_at_once() {
    let env = bench();
    let line = |seed: u8| {
        let key = proofmark_trust::key::PrivateKey::from_secret(&[seed; 32]);
        key.public().to_ssh_line(&format!("key-{seed}"))
    };
    let running: Vec<_> =
        (1..=12).map(|seed| call(&env, &["trust", &line(seed), "--role", "runner"]).start()).collect();
    for one in running {
        one.wait().expect(0);
    }
    assert_eq!(trust_file(&env)["keys"].as_array().unwrap().len(), 12);
    // And of several who want one name, one gets it.
    let new = ["new", "same", "--role", "judge", "--no-passphrase"];
    let running: Vec<_> = (0..6).map(|_| call(&env, &new).start()).collect();
    let made = running.into_iter().map(|one| one.wait().code).filter(|code| *code == 0).count();
    assert_eq!(made, 1);
    keys(&env, &["show", "same", "--open"]).expect(0);
    assert_eq!(shown(&env, "same")["key"]["state"], "believed");
}
