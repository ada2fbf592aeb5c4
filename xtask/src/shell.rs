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
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    // What cargo says of xtask to xtask. Build scripts that look at it would run again, with all that depends on them.
    for name in OF_CALLER {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    let status = command.status().with_context(|| format!("cannot start `{program}`"))?;
    if !status.success() {
        bail!("`{program} {}` failed", arguments.join(" "));
    }
    Ok(())
}

/// The variables that `ring` and others watch.
const OF_CALLER: [&str; 7] = [
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_LINKS",
    "CARGO_PKG_NAME",
    "CARGO_PKG_VERSION_MAJOR",
    "CARGO_PKG_VERSION_MINOR",
    "CARGO_PKG_VERSION_PATCH",
    "CARGO_PKG_VERSION_PRE",
];

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
