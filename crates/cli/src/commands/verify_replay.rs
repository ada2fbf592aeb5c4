//! `proofmark verify-replay`.

use std::path::PathBuf;

use proofmark_artefact::replay::format::{self, Palette};
use proofmark_artefact::replay::{Answer, At, Options, Outcome, Summary, locate, verify};

use crate::args::{ReplayFormat, ReplayState, VerifyReplayArgs};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::ui::style::Style;

pub(crate) fn run(args: &VerifyReplayArgs, settings: &Settings) -> Result<Exit, Failure> {
    let targets = locate(&args.reports).map_err(|error| {
        Failure::from_error(&error).hint("name a report, its sidecar, a run directory or a pattern".to_owned())
    })?;
    let options = options(args.at, args.root.clone(), settings);
    let outcomes: Vec<Outcome> = targets.iter().map(|target| verify(target, &options)).collect();
    let palette = if settings.style.stdout == Style::Coloured { Palette::Colour } else { Palette::Plain };
    let text = match args.format {
        ReplayFormat::Text => format::text(&outcomes, palette),
        ReplayFormat::Json => format::json(&outcomes).map_err(|error| Failure::from_error(&error))?,
        ReplayFormat::Github => format::github(&outcomes),
    };
    settings.print(&text)?;
    Ok(exit(Summary::of(&outcomes).answer()))
}

/// How to look at the inputs.
pub(super) fn options(at: Option<ReplayState>, root: Option<PathBuf>, settings: &Settings) -> Options {
    let at = at.map(|at| match at {
        ReplayState::Worktree => At::Worktree,
        ReplayState::Commit => At::Commit,
        ReplayState::Both => At::Both,
    });
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    Options { at, root, cwd, cache: settings.cache_dir() }
}

pub(super) fn exit(answer: Answer) -> Exit {
    match answer {
        Answer::Holds => Exit::Holds,
        Answer::DoesNotHold => Exit::DoesNotHold,
        Answer::CannotCheck => Exit::CannotCheck,
    }
}
