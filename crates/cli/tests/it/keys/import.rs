//! Keys that were made elsewhere.

use std::process::Command;

use proofmark_testkit::command::TestEnv;

use super::outside::{run_tool, tool};
use super::{PASSPHRASE, bench, keys, set_mode, shown};

/// Runs `openssl` in the folder.
#[track_caller]
fn openssl(env: &TestEnv, arguments: &[&str]) {
    run_tool(Command::new(tool("openssl")).args(arguments).current_dir(env.root()));
}

#[test]
fn keys_of_openssl_and_openssh_are_taken_in() {
    let env = bench();
    openssl(&env, &["genpkey", "-algorithm", "ed25519", "-out", "plain.pem"]);
    let passout = format!("pass:{PASSPHRASE}");
    let convert = ["pkcs8", "-topk8", "-in", "plain.pem", "-passout", &passout];
    openssl(&env, &[&convert[..], &["-scrypt", "-out", "scrypt.pem"]].concat());
    openssl(&env, &[&convert[..], &["-out", "pbkdf2.pem"]].concat());
    openssl(&env, &[&convert[..], &["-iter", "100000", "-out", "slow.pem"]].concat());
    run_tool(
        Command::new(tool("ssh-keygen"))
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "me@here", "-f", "id_ed25519"])
            .current_dir(env.root()),
    );
    for name in ["plain.pem", "scrypt.pem", "pbkdf2.pem", "slow.pem"] {
        set_mode(&env.path(name), 0o600);
    }
    openssl(&env, &["pkey", "-in", "plain.pem", "-pubout", "-out", "public.pem"]);
    for (at, file) in ["plain.pem", "scrypt.pem", "pbkdf2.pem", "slow.pem"].iter().enumerate() {
        let home = format!("home-{at}");
        let run = |arguments: &[&str]| {
            env.call(&[&["keys"], arguments].concat()).env("PROOFMARK_HOME", env.path(&home)).run()
        };
        let ran = run(&["import", file, "--name", "mine", "--role", "submitter", "--passphrase-file", "pass"])
            .expect(0)
            .says(&["imported mine SHA256:", "behind its passphrase", "believed as submitter"])
            .complains(&["is still there; delete it"]);
        let is_weak = ran.stderr.contains("is protected by PBKDF2 with 2048 iterations");
        assert_eq!(is_weak, *file == "pbkdf2.pem", "{ran}");
        assert_eq!(run(&["export", "mine", "--form", "pem"]).expect(0).stdout, env.text("public.pem"), "{file}");
        run(&["show", "mine", "--open", "--passphrase-file", "pass"]).expect(0);
        let written = env.text(&format!("{home}/keys/mine.pem"));
        assert!(written.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----"), "{file}");
    }
    keys(&env, &["import", "id_ed25519", "--no-passphrase"]).expect(0).says(&["imported id_ed25519"]);
    let public_key = shown(&env, "id_ed25519")["public_key"].as_str().unwrap().to_owned();
    let theirs = env.text("id_ed25519.pub");
    assert_eq!(public_key.split(' ').nth(1), theirs.split(' ').nth(1));
}

#[test]
fn what_cannot_be_taken_in_is_refused_and_says_why() {
    let env = bench();
    openssl(&env, &["genpkey", "-algorithm", "rsa", "-pkeyopt", "rsa_keygen_bits:1024", "-out", "rsa.pem"]);
    openssl(&env, &["genpkey", "-algorithm", "ed25519", "-out", "open.pem"]);
    openssl(&env, &["pkey", "-in", "open.pem", "-pubout", "-out", "public.pem"]);
    let pass = format!("pass:{PASSPHRASE}");
    let convert = ["pkcs8", "-topk8", "-in", "open.pem", "-passout", &pass, "-out"];
    openssl(&env, &[&convert[..], &["pbes1.pem", "-v1", "PBE-SHA1-3DES"]].concat());
    openssl(&env, &[&convert[..], &["sha1.pem", "-v2prf", "hmacWithSHA1"]].concat());
    openssl(&env, &[&convert[..], &["scrypt.pem", "-scrypt"]].concat());
    run_tool(
        Command::new(tool("ssh-keygen"))
            .args(["-q", "-t", "ed25519", "-N", "12345678", "-f", "locked"])
            .current_dir(env.root()),
    );
    env.put("empty.pem", "");
    for name in ["rsa.pem", "public.pem", "pbes1.pem", "sha1.pem", "empty.pem"] {
        set_mode(&env.path(name), 0o600);
    }
    set_mode(&env.path("open.pem"), 0o640);
    for (file, complaints) in [
        ("rsa.pem", &["it holds a key for RSA; only Ed25519 is supported"][..]),
        ("open.pem", &["`open.pem` can be used by others (mode 640)", "hint: chmod 600 open.pem"]),
        ("public.pem", &["it is a public key", "hint: give the file that the key was made in"]),
        ("pbes1.pem", &["it is protected by an old or unknown scheme", "hint: protect it anew"]),
        ("sha1.pem", &["it is protected by PBKDF2 with SHA-1", "hint: protect it anew"]),
        ("locked", &["it is protected by an OpenSSH passphrase", "ssh-keygen -p -N ''"]),
        ("empty.pem", &["it is no private key in PEM", "hint: PKCS#8 is wanted"]),
        ("none.pem", &["cannot use `none.pem`"]),
        (".", &["`.` cannot be a key's"]),
    ] {
        keys(&env, &["import", file, "--passphrase-file", "pass"]).expect(2).complains(complaints);
    }
    assert!(!env.path("home").exists());
    // What OpenSSL itself takes a second for is refused when it would take a thousand times as much.
    let bytes = data_encoding::BASE64.encode(&heavy(&der(&env.text("scrypt.pem"))));
    let lines: Vec<String> =
        bytes.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    let label = "ENCRYPTED PRIVATE KEY";
    env.put("heavy.pem", format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n")));
    set_mode(&env.path("heavy.pem"), 0o600);
    keys(&env, &["import", "heavy.pem", "--passphrase-file", "pass"])
        .expect(2)
        .complains(&["opening it would take more memory or time", "hint: protect it anew"]);
    assert!(!env.path("home").exists());
}

fn der(text: &str) -> Vec<u8> {
    let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    data_encoding::BASE64.decode(body.as_bytes()).unwrap()
}

/// Multiplies the cost: N = 2^14 is written in two bytes, and 2^14 as `block_size` as well.
fn heavy(der: &[u8]) -> Vec<u8> {
    // INTEGER 16384, INTEGER 8, INTEGER 1
    let cost = [2, 2, 0x40, 0, 2, 1, 8, 2, 1, 1];
    let at = der.windows(cost.len()).position(|window| window == cost).unwrap();
    let mut changed = der.to_vec();
    // r = 127, p = 127: 208 MB would do, and 264 million rounds would not.
    (changed[at + 6], changed[at + 9]) = (127, 127);
    changed
}
