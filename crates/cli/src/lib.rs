//! The command: arguments, commands, terminal text, exit codes.
//!
//! This crate alone reads the environment ([`settings`]), the terminal ([`ui`]) and the clock, and
//! hands them down as values; [`signing`] finds the key that signs. [`args`] describes what can be typed, [`commands`] does it, [`exit`]
//! turns what came of it to an exit code.

pub mod args;
mod commands;
mod exit;
mod judge_cache;
pub mod settings;
mod signing;
mod ui;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Cli, Command};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

/// Runs the command line and returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // Before anything can repeat it.
    if arguments.iter().any(|word| word.to_string_lossy().contains("PRIVATE KEY-----")) {
        refuse_private_key();
        return Exit::CannotCheck.into();
    }
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are what was asked for; everything else could not be done.
            let asked = !error.use_stderr();
            let _ = error.print();
            return if asked { Exit::Holds } else { Exit::CannotCheck }.into();
        }
    };
    let settings = Settings::read(&cli.global, arguments);
    match dispatch(cli, &settings) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print(&settings);
            Exit::CannotCheck.into()
        }
    }
}

/// Everybody on a machine can see the arguments of every program.
fn refuse_private_key() {
    use std::io::Write as _;
    let text = "error: there is a private key among the arguments, where everybody on this machine can see it\n\
                hint: name its file instead; make a new key if somebody else may have seen this one\n";
    // When stderr is gone there is nobody left to tell.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn dispatch(cli: Cli, settings: &Settings) -> Result<Exit, Failure> {
    match cli.command {
        Command::Init(args) => commands::init::run(&args, settings),
        Command::Run(args) => commands::run::run(&args, settings),
        Command::Score(args) => commands::score::run(&args, settings),
        Command::Calibrate(args) => commands::calibrate::run(&args, settings),
        Command::Demo(args) => commands::demo::run(&args, settings),
        Command::Diff(args) => commands::diff::run(&args, settings),
        Command::Show(args) => commands::show::run(&args, settings),
        Command::Report(args) => commands::report::run(&args, settings),
        Command::Validate(args) => commands::validate::run(&args, settings),
        Command::Models(args) => commands::models::run(&args, settings),
        Command::Doctor(args) => commands::doctor::run(&args, settings),
        Command::VerifyReplay(args) => commands::verify_replay::run(&args, settings),
        Command::Backfill(args) => commands::backfill::run(&args, settings),
        Command::Verify(args) => commands::verify::run(&args, settings),
        Command::Audit(args) => commands::audit::run(&args, settings),
        Command::Seal(args) => commands::seal::run(&args, settings),
        Command::Hash(args) => commands::hash::run(&args, settings),
        Command::MockProvider(args) => commands::mock_provider::run(args, settings),
        Command::Cache(args) => commands::cache::run(&args, settings),
        Command::Cassette(command) => commands::cassette::run(&command, settings),
        Command::Keys(args) => commands::keys::run(&args, settings),
        Command::Export(command) => commands::export::run(&command, settings),
        Command::Region(command) => commands::region::run(&command, settings),
        Command::Schema(args) => commands::schema::run(&args, settings),
        Command::Completions(args) => commands::completions::run(&args, settings),
        Command::Man(args) => commands::man::run(&args, settings),
    }
}
