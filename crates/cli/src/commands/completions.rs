//! `proofmark completions`.

use clap::CommandFactory as _;

use crate::args::{Cli, CompletionsArgs};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(crate) fn run(args: &CompletionsArgs, settings: &Settings) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "proofmark", &mut text);
    settings.print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Holds)
}
