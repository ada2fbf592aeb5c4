//! `proofmark man`.

use clap::CommandFactory as _;
use proofmark_artefact::store::write_atomic;

use crate::args::{Cli, ManArgs};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(crate) fn run(args: &ManArgs, settings: &Settings) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    command.build();
    let Some(dir) = &args.out else {
        settings.print(&page(&command)?)?;
        return Ok(Exit::Holds);
    };
    std::fs::create_dir_all(dir)
        .map_err(|error| Failure::new(format!("cannot create `{}`: {error}", dir.display())))?;
    for command in std::iter::once(&command).chain(command.get_subcommands()) {
        // Building the command has given subcommands names such as `proofmark-run`.
        let path = dir.join(format!("{}.1", command.get_display_name().unwrap_or(command.get_name())));
        write_atomic(&path, page(command)?.as_bytes())
            .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", path.display())))?;
    }
    Ok(Exit::Holds)
}

fn page(command: &clap::Command) -> Result<String, Failure> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
