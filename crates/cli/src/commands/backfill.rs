//! `proofmark backfill`.

use proofmark_artefact::backfill::sidecar::{OnDifference, Placed, check, write};
use proofmark_artefact::number::counted;
use proofmark_artefact::suite::resolve::Overrides;
use proofmark_artefact::text::{escaped, visible};
use proofmark_artefact::witness::Block;
use proofmark_artefact::witness::block::Kind;
use proofmark_run::backfill::{BackfillError, Backfilled, Request, backfill};
use serde::Serialize;

use super::run::to_json;
use crate::args::{BackfillArgs, KindArg, TextOrJson};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(crate) fn run(args: &BackfillArgs, settings: &Settings) -> Result<Exit, Failure> {
    let cwd =
        std::env::current_dir().map_err(|error| Failure::new(format!("cannot tell which folder this is: {error}")))?;
    let request = Request {
        report: args.report.clone(),
        suite: args.suite.clone(),
        commit: args.commit.clone(),
        root: args.root.clone(),
        kind: args.kind.map(|kind| match kind {
            KindArg::EvalLive => Kind::EvalLive,
            KindArg::Critique => Kind::Critique,
            KindArg::EvalImage => Kind::EvalImage,
        }),
        overrides: Overrides { only: args.only.clone(), ..Overrides::default() },
        cwd,
        hub: settings.hub(),
    };
    let failure = |error: BackfillError| Failure::from_error(&error).hint(error.hint());
    let made = backfill(&request).map_err(failure)?;
    let on_difference = if args.overwrite { OnDifference::Replace } else { OnDifference::Refuse };
    let put = if args.dry_run { check } else { write };
    let placed = put(&made.sidecar, &made.bytes, on_difference).map_err(|error| failure(error.into()))?;
    for note in &made.notes {
        settings.print_err(&format!("{}{}\n", settings.style.stderr.hint("note: "), visible(note)));
    }
    settings.print(&match (args.format, args.dry_run) {
        (TextOrJson::Json, _) => json(&made, placed, args)?,
        // The bytes alone, so that they can be compared or kept.
        (TextOrJson::Text, true) => String::from_utf8_lossy(&made.bytes).into_owned(),
        (TextOrJson::Text, false) => text(&made, placed),
    })?;
    Ok(Exit::Holds)
}

fn text(made: &Backfilled, placed: Placed) -> String {
    let Block { repo_commit, invoked_at, inputs, .. } = &made.block;
    let word = match placed {
        Placed::New => "wrote",
        Placed::Replaced => "replaced",
        Placed::Unchanged => "unchanged:",
    };
    let path = escaped(&made.sidecar.display().to_string());
    let commit: String = repo_commit.iter().flat_map(|commit| commit.chars().take(12)).collect();
    let inputs = counted(inputs.len() as u64, "input", "inputs");
    format!("{word} {path}: {inputs} as of commit {commit}, {invoked_at}\n")
}

#[derive(Serialize)]
struct Document<'a> {
    block: &'a Block,
    dry_run: bool,
    format: &'static str,
    notes: &'a [String],
    /// What was done, or would be.
    placed: Placed,
    schema_version: u32,
    sidecar: String,
}

fn json(made: &Backfilled, placed: Placed, args: &BackfillArgs) -> Result<String, Failure> {
    to_json(&Document {
        block: &made.block,
        dry_run: args.dry_run,
        format: "proofmark.backfill",
        notes: &made.notes,
        placed,
        schema_version: 1,
        sidecar: made.sidecar.display().to_string(),
    })
}
