//! `cargo xtask test`: everything the project can check.

use anyhow::Result;

use crate::generate;
use crate::shell::{self, need};

pub(crate) fn run() -> Result<()> {
    // What the tests call besides cargo: scripts of `command` scorers.
    need("python3", "python3-minimal")?;
    shell::run("cargo", &["fmt", "--all", "--check"])?;
    shell::run("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    generate::check()?;
    shell::run("cargo", &["test", "--workspace"])
}
