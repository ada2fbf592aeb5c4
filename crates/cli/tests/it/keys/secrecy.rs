//! Secrets: typed without being shown, and never in any output.

use data_encoding::{BASE64, HEXLOWER};
use proofmark_trust::keyfile::KeyFile;

use super::outside::{at_a_terminal, without_a_terminal};
use super::{PASSPHRASE, bench, call, keys, make, make_plain, set_mode};

#[test]
fn a_passphrase_is_asked_for_twice_and_not_shown() {
    let env = bench();
    let new = ["new", "judge", "--role", "judge"];
    let (shown, code) = at_a_terminal(&env, &new, &["cänary horsX\x7f\x7fse\r", "cänary horse\r"]);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("passphrase for `judge`: ") && shown.contains("the same again: "), "{shown}");
    assert!(!shown.contains("cänary") && !shown.contains("horse"), "{shown}");
    call(&env, &["show", "judge", "--open"]).env("PROOFMARK_KEY_PASSPHRASE", "cänary horse").run().expect(0);
    let (shown, code) = at_a_terminal(&env, &["show", "judge", "--open"], &["rubbish\x15cänary horse\n"]);
    assert_eq!(code, 0, "{shown}");
    let (shown, code) = at_a_terminal(&env, &["show", "judge", "--open"], &["wrong canary\r"]);
    assert!(code == 2 && shown.contains("the passphrase does not open it") && !shown.contains("canary"), "{shown}");
}

#[test]
fn what_was_typed_wrongly_makes_no_key() {
    let env = bench();
    let new = ["new", "judge", "--role", "judge"];
    for (typed, complaint) in [
        (&["correct horse\r", "correct house\r"][..], "the two passphrases differ"),
        (&["short\r"], "fewer than 8 characters"),
        (&["\r"], "the passphrase is empty"),
        (&["half\x03"], "given up"),
    ] {
        let (shown, code) = at_a_terminal(&env, &new, typed);
        assert!(code == 2 && shown.contains(complaint), "{typed:?}: {shown}");
    }
    assert!(!env.path("home/keys").exists());
}

#[test]
fn without_a_terminal_there_is_a_hint() {
    let env = bench();
    make(&env, "judge", "judge");
    for arguments in [&["show", "judge", "--open"][..], &["new", "other", "--role", "judge"]] {
        let done = without_a_terminal(&env, arguments);
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("there is no terminal to ask for it"), "{stderr}");
        assert!(stderr.contains("hint: give `--passphrase-file FILE` or set PROOFMARK_KEY_PASSPHRASE"), "{stderr}");
    }
}

#[test]
fn no_secret_is_in_any_output() {
    let env = bench();
    make(&env, "judge", "judge");
    make_plain(&env, "plain", "submitter");
    let plain = env.text("home/keys/plain.pem");
    let body: String = plain.lines().filter(|line| !line.starts_with('-')).collect();
    // The last 32 bytes of PKCS#8 are the key.
    let der = BASE64.decode(body.as_bytes()).unwrap();
    let secret = &der[der.len() - 32..];
    let opened = KeyFile::parse(plain.as_bytes()).unwrap().open(None).unwrap();
    env.put("damaged.pem", plain.replace("MC4", "MC5"));
    set_mode(&env.path("damaged.pem"), 0o600);
    let mut said = format!("{opened:?}");
    for arguments in [
        &["ls"][..],
        &["ls", "--format", "json"],
        &["show", "plain", "--open"],
        &["show", "plain", "--format", "json"],
        &["show", "judge", "--open", "--passphrase-file", "pass"],
        &["show", "judge", "--open", "--passphrase-file", "damaged.pem"],
        &["show", "home/keys/plain.pem"],
        &["export", "plain"],
        &["export", "plain", "--form", "pem"],
        &["export", "--allowed-signers"],
        &["import", "home/keys/plain.pem", "--name", "again", "--no-passphrase"],
        &["import", "damaged.pem", "--no-passphrase"],
        &["trust", "home/keys/plain.pem", "--role", "judge"],
        &["trust", &plain, "--role", "judge"],
        &["rotate", "plain", "--no-passphrase"],
        &["revoke", "plain", "--reason", "compromised"],
    ] {
        let ran = keys(&env, arguments);
        said.push_str(&format!("{}{}", ran.stdout, ran.stderr));
    }
    for variable in [plain.clone(), plain.replace("MC4", "MC5"), PASSPHRASE.to_owned()] {
        let ran = call(&env, &["show", "--role", "judge"])
            .env("PROOFMARK_JUDGE_KEY", variable)
            .env("PROOFMARK_KEY_PASSPHRASE", PASSPHRASE)
            .run();
        said.push_str(&format!("{}{}", ran.stdout, ran.stderr));
    }
    let ran = keys(&env, &["show", &plain]).expect(2).complains(&["there is a private key among the arguments"]);
    said.push_str(&format!("{}{}", ran.stdout, ran.stderr));
    for canary in [&body[30..60], &BASE64.encode(secret)[..20], &HEXLOWER.encode(secret)[..20], "horse", PASSPHRASE] {
        assert!(!said.contains(canary), "`{canary}` is in {said}");
    }
    // Nor in the files that others read.
    for name in ["home/trust.json", "home/keys/plain.pub"] {
        assert!(!env.text(name).contains(&body[30..60]), "{name}");
    }
}
