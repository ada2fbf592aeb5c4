//! `cargo xtask test`: everything the project can check.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use proofmark_artefact::store;

use crate::generate;
use crate::shell::{self, install, need, root, say};

pub(crate) fn run() -> Result<()> {
    // What the tests call besides cargo: scripts of `command` scorers, and code of agents, which sees `/usr` alone.
    need("/usr/bin/python3", "python3")?;
    // Confines the programs of agents.
    need("bwrap", "bubblewrap")?;
    verifiers()?;
    shell::run("cargo", &["fmt", "--all", "--check"])?;
    shell::run("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    check_features()?;
    generate::check()?;
    // The same cases each time: what passed here passes there. `soak` looks for new ones.
    shell::run_with("cargo", &["test", "--workspace"], &[(SEED, "1")])
}

/// Seeds the cases of properties.
const SEED: &str = "PROPTEST_RNG_SEED";

/// The tests of all libraries with new cases of each property, again and again.
pub(crate) fn soak(minutes: u64) -> Result<()> {
    let (started, mut rounds) = (Instant::now(), 0u32);
    loop {
        let seed = RandomState::new().build_hasher().finish().to_string();
        shell::run_with("cargo", &["test", "--workspace", "--lib", "-q"], &[(SEED, &seed)])?;
        shell::run_with(
            "cargo",
            &["test", "--workspace", "--exclude", "proofmark", "--test", "it", "-q"],
            &[(SEED, &seed)],
        )?;
        rounds += 1;
        if started.elapsed() >= Duration::from_secs(minutes * 60) {
            say(&format!("{rounds} rounds in {} minutes, nothing found\n", started.elapsed().as_secs() / 60));
            return Ok(());
        }
    }
}

/// Programs of others that check our keys and signatures: `openssl`, `ssh-keygen`, and Python libraries in `target/verifiers`.
pub(crate) fn verifiers() -> Result<()> {
    need("openssl", "openssl")?;
    need("ssh-keygen", "openssh-client")?;
    need("/usr/bin/python3", "python3")?;
    if !Command::new("/usr/bin/python3").args(["-c", "import ensurepip, venv"]).output()?.status.success() {
        install("python3-venv")?;
    }
    // Written last: what a kill left half done is made anew.
    let done = root().join("target/verifiers/done");
    if done.exists() {
        return Ok(());
    }
    let folder = root().join("target/verifiers");
    shell::run("/usr/bin/python3", &["-m", "venv", "--clear", &folder.to_string_lossy()])?;
    let pip = folder.join("bin/pip");
    shell::run(&pip.to_string_lossy(), &["install", "-q", "securesystemslib", "cryptography"])?;
    store::write_atomic(&done, b"")?;
    Ok(())
}

/// Features of `serde_json` that change the order of members or the handling of numbers for the
/// whole build. Any dependency can switch one on for everybody.
const FORBIDDEN: [&str; 2] = ["preserve_order", "arbitrary_precision"];

fn check_features() -> Result<()> {
    let output = Command::new("cargo")
        .args(["tree", "--workspace", "--edges", "features", "--invert", "serde_json"])
        .current_dir(root())
        .output()?;
    if !output.status.success() {
        bail!("`cargo tree` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let tree = String::from_utf8_lossy(&output.stdout);
    for feature in FORBIDDEN {
        if tree.contains(&format!("serde_json feature \"{feature}\"")) {
            bail!(
                "a dependency switches on `{feature}` of serde_json, which changes bytes; see `cargo tree -e features -i serde_json`"
            );
        }
    }
    say("no dependency changes how serde_json reads and writes\n");
    Ok(())
}
