//! `proofmark diff`.

use std::collections::BTreeSet;
use std::path::Path;

use proofmark_artefact::diff::format::{self, Palette, TextStyle};
use proofmark_artefact::diff::{Class, Comparison, Gate, Gates, Keep, Options, Trajectories, diff, gate};
use proofmark_artefact::store::RunDir;
use proofmark_artefact::yaml::suggest;

use crate::args::{DiffArgs, DiffFormat};
use crate::commands::package::place_of;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::ui::style::Style;

pub(crate) fn run(args: &DiffArgs, settings: &Settings) -> Result<Exit, Failure> {
    let gates = gates(args)?;
    let (a_place, b_place) = (place_of(&args.a, settings)?, place_of(&args.b, settings)?);
    let (a, b) = (open(a_place.run())?, open(b_place.run())?);
    let keep = if args.all { Keep::All } else { Keep::First(args.limit) };
    let options = Options { tolerance: args.tolerance, keep, ..Options::default() };
    let comparison = diff(&a, &b, &options).map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let failures = gate(&comparison, &gates);
    let shown = if args.all { usize::MAX } else { args.limit };
    let text = match args.format {
        DiffFormat::Text => {
            let palette = if settings.style.stdout == Style::Coloured { Palette::Colour } else { Palette::Plain };
            format::text(&comparison, &failures, &TextStyle { palette, width: settings.width, limit: shown })
        }
        DiffFormat::Json => format::json(&comparison, &failures).map_err(|error| Failure::from_error(&error))?,
        DiffFormat::Markdown => format::markdown(&comparison, &failures, shown),
        DiffFormat::Junit => format::junit(&comparison, &gates, &failures),
        DiffFormat::Github => format::github(&comparison, &gates, &failures),
    };
    settings.print(&text)?;
    if !failures.is_empty() {
        return Ok(Exit::DoesNotHold);
    }
    match unchecked(&comparison, &gates) {
        Some(where_not) => {
            let message = format!("whether trajectories changed could not be checked: {where_not}");
            Err(Failure::new(message).hint("record them in both runs: `proofmark run --record-evidence`".to_owned()))
        }
        None => Ok(Exit::Holds),
    }
}

/// Why a gate on trajectories looked at nothing. What was not compared has not passed.
fn unchecked(comparison: &Comparison, gates: &Gates) -> Option<&'static str> {
    let why = match comparison.trajectories {
        Trajectories::Compared => return None,
        Trajectories::OnlyInA => "B has none",
        Trajectories::OnlyInB => "A has none",
        Trajectories::NotRecorded => "neither run has any",
    };
    gates.fail_on.contains(&Gate::Class(Class::TrajectoryChanged)).then_some(why)
}

fn open(path: &Path) -> Result<RunDir, Failure> {
    RunDir::open(path).map_err(|error| Failure::from_error(&error).hint(error.hint()))
}

fn gates(args: &DiffArgs) -> Result<Gates, Failure> {
    let mut fail_on = BTreeSet::new();
    for name in &args.fail_on {
        let gate: Gate = name.parse().map_err(|error| {
            let near = suggest(name, Gate::names());
            Failure::from_error(&error).hint(near.map(|near| format!("did you mean `{near}`?")))
        })?;
        fail_on.insert(gate);
    }
    if args.fail_on_changes {
        fail_on.insert(Gate::Changes);
    }
    Ok(Gates { fail_on, fail_on_significant: args.fail_on_significant })
}
