//! `proofmark region`: a part of what a tool returned, shown by who holds it and checked by who holds the evidence.

use std::path::Path;

use proofmark_artefact::chunks::Proof;
use proofmark_artefact::number::count;
use proofmark_artefact::store::{Bodies, RunDir, names, read_bounded, write_atomic};
use proofmark_artefact::text::escaped;
use proofmark_artefact::trajectory::{Chunks, Step};
use proofmark_canon::{Digest, json};
use serde::{Deserialize, Serialize};

use super::package::place_of;
use super::show::find_one;
use crate::args::{RegionCheckArgs, RegionCommand, RegionShowArgs};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

/// The largest body that a tool can have returned.
const MAX_BODY: u64 = proofmark_artefact::suite::solver::MAX_OUTPUT;
/// The largest file with a region.
const MAX_FILE: u64 = 64 << 20;
const FORMAT: &str = "proofmark.region";

/// A region and whose it is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    attempt: u32,
    format: String,
    key: String,
    proof: Proof,
    /// The step's place among the steps, from 0.
    step: u64,
    version: u32,
}

pub(crate) fn run(command: &RegionCommand, settings: &Settings) -> Result<Exit, Failure> {
    match command {
        RegionCommand::Show(args) => show(args, settings),
        RegionCommand::Check(args) => check(args, settings),
    }
}

fn show(args: &RegionShowArgs, settings: &Settings) -> Result<Exit, Failure> {
    let dir = open(&args.run)?;
    let result = result(&dir, &args.key, args.attempt, args.step)?;
    let body = match &args.body {
        Some(path) => read_bounded(path, MAX_BODY).map_err(|error| Failure::from_error(&error))?,
        None => Bodies::at(&dir.file(names::BODIES)).load(&result.digest, MAX_BODY).map_err(|error| {
            let hint = "name a file that holds it with `--body`; `run --evidence-full-bodies` keeps all";
            Failure::new(format!("the whole result {} is not in `{}`: {error}", result.digest, names::BODIES))
                .hint(hint.to_owned())
        })?,
    };
    let region = args.offset..args.offset.saturating_add(args.length);
    let proof = result.chunks.prove(&body, region).map_err(|error| Failure::from_error(&error))?;
    let (format, version) = (FORMAT.to_owned(), 1);
    let (key, attempt, step) = (result.key, args.attempt, args.step);
    let document = Document { attempt, format, key, proof, step, version };
    let mut text = json::to_vec(&document).map_err(|error| Failure::from_error(&error))?;
    text.push(b'\n');
    match &args.out {
        None => settings.print(&String::from_utf8_lossy(&text))?,
        Some(path) => {
            write_atomic(path, &text)
                .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", path.display())))?;
        }
    }
    Ok(Exit::Holds)
}

fn check(args: &RegionCheckArgs, settings: &Settings) -> Result<Exit, Failure> {
    let place = place_of(&args.run, settings)?;
    let dir = open(place.run())?;
    let bytes = read_bounded(&args.region, MAX_FILE).map_err(|error| Failure::from_error(&error))?;
    let name = args.region.display();
    let strange = |why: String| Failure::new(format!("`{name}` is not a region: {why}"));
    let value = json::parse(&bytes).map_err(|error| strange(error.to_string()))?;
    let document: Document = json::from_value(&value).map_err(|error| strange(error.to_string()))?;
    if document.format != FORMAT || document.version != 1 {
        return Err(strange(format!("expected `{FORMAT}` version 1")));
    }
    let result = result(&dir, &document.key, document.attempt, document.step)?;
    let Proof { offset, length, .. } = &document.proof;
    let place = format!("{} bytes from {} on of step {}", count(*length), count(*offset), document.step);
    let place = format!("{place} of `{}`", escaped(&document.key));
    match result.chunks.verify(result.bytes, &document.proof) {
        Ok(region) => {
            settings.print(&format!("ok: {place} are what the tool returned\n"))?;
            let shown = escaped(&String::from_utf8_lossy(&region)).to_string();
            settings.print(&format!("{shown}\n"))?;
            Ok(Exit::Holds)
        }
        Err(error) => {
            settings.print(&format!("FAIL: {place}: {error}\n"))?;
            Ok(Exit::DoesNotHold)
        }
    }
}

/// What the evidence says of a result.
struct Returned {
    key: String,
    bytes: u64,
    digest: Digest,
    chunks: Chunks,
}

fn result(dir: &RunDir, key: &str, attempt: u32, step: u64) -> Result<Returned, Failure> {
    let found = find_one(dir, key)?;
    let key = found.record.key.to_string();
    let trajectory = found.trajectories.iter().find(|trajectory| trajectory.attempt.unwrap_or(0) == attempt);
    let trajectory = trajectory.ok_or_else(|| {
        Failure::new(format!("there is no trajectory of attempt {attempt} of `{}`", escaped(&key)))
            .hint("only runs with evidence have any: `run --record-evidence`".to_owned())
    })?;
    let at = usize::try_from(step).ok().and_then(|step| trajectory.steps.get(step));
    let refuse = |why: &str| Failure::new(format!("step {step} of `{}` {why}", escaped(&key)));
    match at {
        Some(Step::ToolResult { bytes, chunks: Some(chunks), output_sha256, .. }) => {
            Ok(Returned { bytes: *bytes, chunks: *chunks, digest: *output_sha256, key })
        }
        Some(Step::ToolResult { .. }) => Err(refuse("stands whole in the trajectory: there is nothing to demand")),
        Some(_) => Err(refuse("is not the result of a tool")),
        None => Err(refuse("is not there").hint(format!("it has {} steps, from 0", trajectory.steps.len()))),
    }
}

fn open(path: &Path) -> Result<RunDir, Failure> {
    RunDir::open(path).map_err(|error| Failure::from_error(&error).hint(error.hint()))
}
