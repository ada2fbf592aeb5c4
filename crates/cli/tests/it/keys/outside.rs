//! What tools that are not ours say of our keys and signatures.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use proofmark_canon::json::parse;
use proofmark_canon::{Digest, to_vec};
use proofmark_testkit::command::TestEnv;
use proofmark_trust::bundle::Bundle;
use proofmark_trust::dsse::{Envelope, IN_TOTO};
use proofmark_trust::key::{PrivateKey, Purpose};
use proofmark_trust::keyfile::KeyFile;
use proofmark_trust::sshsig::{NAMESPACE, SshSignature};
use proofmark_trust::statement::Statement;

use super::{PASSPHRASE, bench, keys, make, make_plain};

/// A program that must be there: without it the test says nothing, so it fails.
#[track_caller]
pub(super) fn tool(name: &str) -> &str {
    let there = Command::new(name).arg("--version").output().is_ok();
    assert!(there, "`{name}` is missing; `cargo xtask verifiers` installs it");
    name
}

/// The Python that has the libraries.
#[track_caller]
fn python() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/verifiers/bin/python");
    assert!(path.exists(), "`{}` is missing; `cargo xtask verifiers` makes it", path.display());
    path
}

fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs a program that must succeed; returns what it prints.
#[track_caller]
pub(super) fn run_tool(command: &mut Command) -> String {
    let done = output(command);
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {}\n{stderr}", String::from_utf8_lossy(&done.stdout));
    String::from_utf8(done.stdout).unwrap()
}

/// Runs Python that must end well, or must not.
#[track_caller]
fn python_says(env: &TestEnv, script: &str, arguments: &[&str], expected: bool) {
    env.put("check.py", script);
    let done = output(Command::new(python()).arg("check.py").args(arguments).current_dir(env.root()));
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.success(), expected, "{arguments:?}: {stderr}");
    // A script that does not run at all refuses everything too.
    assert!(!stderr.contains("SyntaxError") && !stderr.contains("ImportError"), "{stderr}");
    assert!(!stderr.contains("ModuleNotFoundError"), "{stderr}");
}

/// The private half of a key that was made without a passphrase.
fn private(env: &TestEnv, name: &str) -> PrivateKey {
    KeyFile::parse(&env.bytes(&format!("home/keys/{name}.pem"))).unwrap().open(None).unwrap().key
}

#[test]
fn openssl_and_python_open_our_key_files() {
    let env = bench();
    make(&env, "judge", "judge");
    make_plain(&env, "plain", "runner");
    let openssl = |arguments: &[&str]| output(Command::new(tool("openssl")).args(arguments).current_dir(env.root()));
    let public = keys(&env, &["export", "judge", "--form", "pem"]).expect(0).stdout;
    let opened = openssl(&["pkey", "-in", "home/keys/judge.pem", "-passin", "file:pass", "-pubout"]);
    assert_eq!(String::from_utf8_lossy(&opened.stdout), public, "{opened:?}");
    let refused = openssl(&["pkey", "-in", "home/keys/judge.pem", "-passin", "pass:wrong horse", "-pubout"]);
    assert!(!refused.status.success());
    let plain = keys(&env, &["export", "plain", "--form", "pem"]).expect(0).stdout;
    let opened = openssl(&["pkey", "-in", "home/keys/plain.pem", "-pubout"]);
    assert_eq!(String::from_utf8_lossy(&opened.stdout), plain, "{opened:?}");
    env.put("public.pem", &public);
    let text = openssl(&["pkey", "-pubin", "-in", "public.pem", "-noout", "-text"]);
    assert!(String::from_utf8_lossy(&text.stdout).starts_with("ED25519 Public-Key"), "{text:?}");
    let parameters = openssl(&["asn1parse", "-in", "home/keys/judge.pem"]);
    let parameters = String::from_utf8_lossy(&parameters.stdout).into_owned();
    for part in ["PBES2", "scrypt", "INTEGER           :4000\n", "INTEGER           :08\n", "INTEGER           :05\n"] {
        assert!(parameters.contains(part), "{part}: {parameters}");
    }
    assert!(parameters.contains("aes-256-cbc"), "{parameters}");

    let script = r#"
import sys
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_public_key, load_pem_public_key
key = load_pem_private_key(open("home/keys/judge.pem", "rb").read(), sys.argv[1].encode())
raw = key.public_key().public_bytes_raw()
assert raw == load_ssh_public_key(open("home/keys/judge.pub", "rb").read()).public_bytes_raw()
assert raw == load_pem_public_key(open("public.pem", "rb").read()).public_bytes_raw()
"#;
    python_says(&env, script, &[PASSPHRASE], true);
    python_says(&env, script, &["wrong horse"], false);
    let listed = run_tool(Command::new(tool("ssh-keygen")).args(["-l", "-f"]).arg(env.path("home/keys/judge.pub")));
    let fingerprint = super::shown(&env, "judge")["key"]["fingerprint"].as_str().unwrap().to_owned();
    assert!(listed.contains(&fingerprint), "{listed} {fingerprint}");
}

/// Asks `ssh-keygen -Y verify` about `manifest.json` and its signature.
fn ssh_verify(env: &TestEnv, who: &str, namespace: &str, options: &[&str]) -> bool {
    let mut command = Command::new(tool("ssh-keygen"));
    command.args(["-Y", "verify", "-f", "signers", "-I", who, "-n", namespace, "-s", "manifest.json.sig"]);
    command.args(options).current_dir(env.root());
    command.stdin(std::fs::File::open(env.path("manifest.json")).unwrap());
    output(&mut command).status.success()
}

#[test]
fn ssh_keygen_checks_our_signatures() {
    let env = bench();
    make_plain(&env, "ada", "submitter");
    make_plain(&env, "judge", "judge");
    env.put("manifest.json", "{\"a\":1}");
    let sign = |name: &str| SshSignature::sign(&private(&env, name), NAMESPACE, b"{\"a\":1}").to_armour();
    let export = || env.put("signers", keys(&env, &["export", "--allowed-signers"]).expect(0).stdout);
    env.put("manifest.json.sig", sign("ada"));
    export();
    assert!(ssh_verify(&env, "ada", "proofmark", &[]));
    assert!(!ssh_verify(&env, "ada", "git", &[]));
    assert!(!ssh_verify(&env, "judge", "proofmark", &[]));
    env.put("manifest.json", "{\"a\":2}");
    assert!(!ssh_verify(&env, "ada", "proofmark", &[]));
    env.put("manifest.json", "{\"a\":1}");
    // A judge is no submitter, there either.
    env.put("manifest.json.sig", sign("judge"));
    for who in ["ada", "judge"] {
        assert!(!ssh_verify(&env, who, "proofmark", &[]), "{who}");
    }
    env.put("manifest.json.sig", sign("ada"));
    keys(&env, &["trust", "ada", "--from", "2025-01-01", "--until", "2025-12-31"]).expect(0);
    export();
    assert!(!ssh_verify(&env, "ada", "proofmark", &[]), "expired");
    for (at, expected) in
        [("20241231235959Z", false), ("20250101000000Z", true), ("20251231235959Z", true), ("20260101000000Z", false)]
    {
        assert_eq!(ssh_verify(&env, "ada", "proofmark", &[&format!("-Overify-time={at}")]), expected, "{at}");
    }
    keys(&env, &["revoke", "ada", "--reason", "retired", "--at", "2025-06-01"]).expect(0);
    export();
    assert!(ssh_verify(&env, "ada", "proofmark", &["-Overify-time=20250531120000Z"]));
    assert!(!ssh_verify(&env, "ada", "proofmark", &["-Overify-time=20250602000000Z"]));
    keys(&env, &["revoke", "ada", "--reason", "compromised"]).expect(0);
    export();
    assert!(!ssh_verify(&env, "ada", "proofmark", &["-Overify-time=20250531120000Z"]));
}

#[test]
fn we_check_signatures_of_ssh_keygen() {
    let env = bench();
    run_tool(
        Command::new(tool("ssh-keygen")).args(["-q", "-t", "ed25519", "-N", "", "-f", "id"]).current_dir(env.root()),
    );
    env.put("manifest.json", "{\"a\":1}");
    run_tool(
        Command::new("ssh-keygen")
            .args(["-q", "-Y", "sign", "-f", "id", "-n", NAMESPACE, "manifest.json"])
            .current_dir(env.root()),
    );
    let text = env.bytes("manifest.json.sig");
    let signature = SshSignature::parse(&text).unwrap();
    let signer = signature.verify(NAMESPACE, b"{\"a\":1}").unwrap();
    assert!(env.text("id.pub").starts_with(&signer.to_ssh_line("")));
    assert!(signature.verify(NAMESPACE, b"{\"a\":2}").is_err());
    assert!(signature.verify("git", b"{\"a\":1}").is_err());
    // Ed25519 has one signature for one message: ours is theirs to the byte.
    keys(&env, &["import", "id", "--no-passphrase"]).expect(0);
    let ours = SshSignature::sign(&private(&env, "id"), NAMESPACE, b"{\"a\":1}").to_armour();
    assert_eq!(ours.as_bytes(), text);
}

const STATEMENT: &str = "https://proofmark.dev/attestation/test/v1";

fn statement() -> Statement {
    let files = ["manifest.json", "résumé.json"].map(|name| (name.to_owned(), Digest::of(b"{\"a\":1}")));
    Statement::new(STATEMENT, files, parse(br#"{"clean":true,"score":0.5}"#).unwrap()).unwrap()
}

const CHECK_ENVELOPE: &str = r#"
import base64, json, sys
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey
public = load_pem_public_key(open("public.pem", "rb").read())
text = json.load(open("envelope.json"))
keyid = sys.argv[1]
# By a library for such envelopes.
envelope = Envelope.from_dict(json.load(open("envelope.json")))
envelope.verify([SSlibKey.from_crypto(public, keyid=keyid)], 1)
# By hand, as DSSE says.
payload, kind = base64.b64decode(text["payload"], validate=True), text["payloadType"].encode()
message = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
public.verify(base64.b64decode(text["signatures"][0]["sig"]), message)
statement = json.loads(payload)
assert statement["_type"] == "https://in-toto.io/Statement/v1", statement
assert [subject["name"] for subject in statement["subject"]] == ["manifest.json", "résumé.json"], statement
"#;

#[test]
fn python_checks_our_envelopes() {
    let env = bench();
    make_plain(&env, "ada", "submitter");
    let key = private(&env, "ada");
    env.put("public.pem", key.public().to_pem());
    let good = Envelope::sign(IN_TOTO, statement().to_bytes(), &[&key]);
    env.put("envelope.json", good.to_bytes());
    let keyid = key.public().fingerprint().to_string();
    python_says(&env, CHECK_ENVELOPE, &[&keyid], true);
    let other = Statement::new(STATEMENT, [("x".to_owned(), Digest::of(b""))], parse(b"{}").unwrap()).unwrap();
    let changed: serde_json::Value = serde_json::from_slice(&good.to_bytes()).unwrap();
    for (member, value) in [
        ("payload", data_encoding::BASE64.encode(&other.to_bytes())),
        ("payloadType", "application/vnd.other+json".to_owned()),
    ] {
        let mut changed = changed.clone();
        changed[member] = serde_json::json!(value);
        env.put("envelope.json", changed.to_string());
        python_says(&env, CHECK_ENVELOPE, &[&keyid], false);
    }
    env.put("envelope.json", good.to_bytes());
    env.put("public.pem", PrivateKey::from_secret(&[7; 32]).public().to_pem());
    python_says(&env, CHECK_ENVELOPE, &[&keyid], false);
}

/// The recipe of docs/keys.md.
const CHECK_JUDGMENT: &str = r#"
import base64, hashlib, json, sys
from cryptography.hazmat.primitives.serialization import load_pem_public_key
public = load_pem_public_key(open("public.pem", "rb").read())
judgment = json.load(open("judgment.json"))
canonical = json.dumps(judgment, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
digest = hashlib.sha256(b"proofmark.judgment/1\0" + canonical).digest()
public.verify(base64.b64decode(sys.argv[1]), digest)
"#;

#[test]
fn python_checks_a_judgment_by_the_recipe() {
    let env = bench();
    make_plain(&env, "judge", "judge");
    let key = private(&env, "judge");
    env.put("public.pem", key.public().to_pem());
    let judgment = serde_json::json!({"verdict": "pass", "reason": "größer als 3", "task_id": "t", "votes": [1, 2]});
    let canonical = to_vec(&judgment).unwrap();
    env.put("judgment.json", serde_json::to_vec_pretty(&judgment).unwrap());
    let signature = key.sign(Purpose::Judgment, &canonical).to_string();
    python_says(&env, CHECK_JUDGMENT, &[&signature], true);
    let for_another = key.sign(Purpose::CacheHead, &canonical).to_string();
    python_says(&env, CHECK_JUDGMENT, &[&for_another], false);
    env.put("judgment.json", env.text("judgment.json").replace("pass", "fail"));
    python_says(&env, CHECK_JUDGMENT, &[&signature], false);
    // What is written in the documentation is what is checked here.
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/keys.md")).unwrap();
    for line in CHECK_JUDGMENT.lines().filter(|line| line.contains("sha256(") || line.contains("dumps(")) {
        assert!(page.contains(line.trim()), "docs/keys.md lacks `{line}`");
    }
}

#[test]
fn cosign_checks_our_bundles_where_it_is_installed() {
    // Debian has no cosign; where somebody has one, it is asked.
    if Command::new("cosign").arg("version").output().is_err() {
        println!("cosign is not installed: its opinion was not asked");
        return;
    }
    let env = bench();
    make_plain(&env, "ada", "submitter");
    let key = private(&env, "ada");
    env.put("public.pem", key.public().to_pem());
    env.put("manifest.json", "{\"a\":1}");
    let bundle = Bundle::new(Envelope::sign(IN_TOTO, statement().to_bytes(), &[&key])).unwrap();
    env.put("bundle.json", bundle.to_bytes());
    let verify = |file: &str| {
        let mut command = Command::new("cosign");
        command.args(["verify-blob-attestation", "--key", "public.pem", "--bundle", "bundle.json"]);
        command.args(["--type", STATEMENT, "--insecure-ignore-tlog", file]).current_dir(env.root());
        output(&mut command).status.success()
    };
    assert!(verify("manifest.json"));
    env.put("other.json", "{\"a\":2}");
    assert!(!verify("other.json"));
}

/// Types something at a terminal while a command runs; returns what the terminal showed and the exit code.
pub(super) fn at_a_terminal(env: &TestEnv, arguments: &[&str], typed: &[&str]) -> (String, i32) {
    const SCRIPT: &str = r#"
import json, os, pty, select, sys, time
program, typed = json.loads(sys.argv[1]), json.loads(sys.argv[2])
pid, terminal = pty.fork()
if pid == 0:
    os.execve(program[0], program, {"PROOFMARK_HOME": "home", "PATH": os.environ["PATH"]})
shown, asked, deadline = b"", 0, time.time() + 60
while time.time() < deadline:
    if select.select([terminal], [], [], 0.05)[0]:
        try:
            got = os.read(terminal, 4096)
        except OSError:
            break
        if not got:
            break
        shown += got
    # Every question ends like this; its answer is typed when it was asked.
    if shown.count(b": ") > asked and shown.endswith(b": ") and typed:
        asked = shown.count(b": ")
        time.sleep(0.1)
        os.write(terminal, typed.pop(0).encode())
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps({"shown": shown.decode(), "code": code}))
"#;
    let program = [&[env!("CARGO_BIN_EXE_proofmark"), "keys"], arguments].concat();
    env.put("terminal.py", SCRIPT);
    let mut command = Command::new("/usr/bin/python3");
    command.arg("terminal.py").arg(serde_json::to_string(&program).unwrap());
    let told = run_tool(command.arg(serde_json::to_string(typed).unwrap()).current_dir(env.root()));
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let code = told["code"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap();
    (told["shown"].as_str().unwrap().to_owned(), code)
}

/// A call without any terminal, also where the tests have one.
pub(super) fn without_a_terminal<S: AsRef<OsStr>>(env: &TestEnv, arguments: &[S]) -> Output {
    let mut command = Command::new(tool("setsid"));
    command.args(["-w", env!("CARGO_BIN_EXE_proofmark"), "keys"]).args(arguments).current_dir(env.root());
    command.env_clear().env("PROOFMARK_HOME", env.path("home")).stdin(std::process::Stdio::null());
    output(&mut command)
}
