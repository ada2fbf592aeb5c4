//! Programs and output.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// The workspace's folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// Runs a program in the workspace's folder and fails when it fails.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<()> {
    run_with(program, arguments, &[])
}

/// The same with variables of its own.
pub(crate) fn run_with(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    let shown: String = variables.iter().map(|(name, value)| format!("{name}={value} ")).collect();
    say(&format!("\n$ {shown}{program} {}\n", arguments.join(" ")));
    let status = Command::new(program)
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(root())
        .status()
        .with_context(|| format!("cannot start `{program}`"))?;
    if !status.success() {
        bail!("`{program} {}` failed", arguments.join(" "));
    }
    Ok(())
}

/// Installs a Debian package when its program is missing.
pub(crate) fn need(program: &str, package: &str) -> Result<()> {
    if Command::new(program).arg("--version").output().is_ok() {
        return Ok(());
    }
    say(&format!("`{program}` is missing\n"));
    install(package)
}

pub(crate) fn install(package: &str) -> Result<()> {
    say(&format!("installing the Debian package `{package}`\n"));
    run("apt-get", &["update", "-q"])?;
    run("apt-get", &["install", "-y", "-q", "--no-install-recommends", package])
}

pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

pub(crate) fn complain(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
