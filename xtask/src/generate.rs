//! Files that are made from the code: JSON Schemas, the CLI reference, the list of variables.
//!
//! They are committed, and `cargo xtask test` fails when one is stale.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::CommandFactory as _;
use proofmark_artefact::{schema, store};

use crate::shell::{root, say};

pub(crate) fn write() -> Result<()> {
    for (path, text) in files()? {
        let full = root().join(&path);
        if let Some(parent) = full.parent() {
            std::fs::create_dir_all(parent)?;
        }
        store::write_atomic(&full, text.as_bytes()).with_context(|| format!("cannot write `{}`", path.display()))?;
        say(&format!("wrote {}\n", path.display()));
    }
    Ok(())
}

pub(crate) fn check() -> Result<()> {
    let stale: Vec<String> = files()?
        .into_iter()
        .filter(|(path, text)| std::fs::read_to_string(root().join(path)).ok().as_deref() != Some(text))
        .map(|(path, _)| path.display().to_string())
        .collect();
    if !stale.is_empty() {
        bail!("stale: {}; run `cargo xtask generate`", stale.join(", "));
    }
    say("generated files are up to date\n");
    Ok(())
}

fn files() -> Result<Vec<(PathBuf, String)>> {
    let mut files =
        vec![(PathBuf::from("docs/cli.md"), cli_reference()), (PathBuf::from("docs/environment.md"), variables())];
    for name in schema::names() {
        let text = schema::text(name).with_context(|| format!("there is no schema `{name}`"))?;
        files.push((PathBuf::from(format!("schemas/{name}.schema.json")), text));
    }
    Ok(files)
}

fn cli_reference() -> String {
    let mut out =
        String::from("# Command-line reference\n\nMade from the program by `cargo xtask generate`; do not edit.\n");
    // A fixed width: the text must not depend on whose terminal made it.
    let mut command = proofmark::args::Cli::command().term_width(100);
    command.build();
    section(&mut command, "proofmark", &mut out);
    out
}

fn section(command: &mut clap::Command, name: &str, out: &mut String) {
    let help = command.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(out, "\n## `{name}`\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for sub in names {
        if let Some(found) = command.find_subcommand_mut(&sub) {
            section(found, &format!("{name} {sub}"), out);
        }
    }
}

fn variables() -> String {
    let mut out = String::from(
        "# Environment variables\n\nMade from the program by `cargo xtask generate`; do not edit. One place reads them\n\
         (`crates/cli/src/settings.rs`).\n\n| variable | what it does |\n|---|---|\n",
    );
    for variable in proofmark::settings::VARIABLES {
        let _ = writeln!(out, "| `{}` | {} |", variable.name, variable.help);
    }
    out.push_str("\n## Providers\n\nA suite may name a further variable with `api_key_env`.\n\n");
    out.push_str("| variable | what it does |\n|---|---|\n");
    for (name, help) in proofmark::settings::provider_variables() {
        let names: Vec<String> = name.split(", ").map(|name| format!("`{name}`")).collect();
        let _ = writeln!(out, "| {} | {help} |", names.join(", "));
    }
    out
}
