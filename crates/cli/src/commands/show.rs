//! `proofmark show`.

use proofmark_artefact::lookup::{Found, Listed, Listing, Lookup, LookupError, Which, find, list};
use proofmark_artefact::number::{count, counted};
use proofmark_artefact::record::Record;
use proofmark_artefact::store::{Bodies, RunDir, names};
use proofmark_artefact::text::escaped;
use proofmark_artefact::trajectory::Trajectory;
use proofmark_canon::Digest;
use serde::Serialize;

use super::run::to_json;
use crate::args::{ShowArgs, TextOrJson};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::ui::sample::{Length, View, describe};
use crate::ui::table::{Align, render};

/// Samples in a list without a key.
const LISTED: usize = 50;
/// Keys that are named when a part is in several.
const CANDIDATES: usize = 20;

pub(crate) fn run(args: &ShowArgs, settings: &Settings) -> Result<Exit, Failure> {
    let dir = RunDir::open(&args.run).map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let Some(wanted) = &args.key else {
        let which = if args.failed { Which::NotPassed } else { Which::All };
        let listing = list(&dir, which, LISTED).map_err(|error| failure(&error))?;
        settings.print(&match args.format {
            TextOrJson::Text => table(&listing, which, settings),
            TextOrJson::Json => to_json(&ListDocument::of(&listing))?,
        })?;
        return Ok(Exit::Holds);
    };
    let mut found = find_one(&dir, wanted)?;
    if let Some(attempt) = args.attempt {
        keep_attempt(&mut found, attempt, &dir)?;
    }
    let text = match args.format {
        TextOrJson::Json => {
            let (format, version) = ("proofmark.sample", 1);
            to_json(&SampleDocument { format, record: &found.record, trajectories: &found.trajectories, version })?
        }
        TextOrJson::Text => {
            let model = dir.manifest().models.iter().find(|model| model.id == found.record.model);
            describe(&View {
                found: &found,
                price: model.and_then(|model| model.price.as_ref()),
                recorded: dir.manifest().evidence.recorded,
                length: if args.full { Length::Full } else { Length::Short },
                body: &|digest| load_body(&dir, digest),
                style: settings.style.stdout,
                width: settings.width,
            })
        }
    };
    settings.print(&text)?;
    Ok(Exit::Holds)
}

/// The one sample that a key, or a part of one, names.
pub(super) fn find_one(dir: &RunDir, wanted: &str) -> Result<Found, Failure> {
    match find(dir, wanted, CANDIDATES).map_err(|error| failure(&error))? {
        Lookup::One(found) => Ok(*found),
        Lookup::Several(listing) => Err(ambiguous(wanted, &listing)),
        Lookup::Nothing => {
            let hint = format!("`proofmark show {}` lists the samples", dir.path().display());
            Err(Failure::new(format!("the run has no sample `{}`", escaped(wanted))).hint(hint))
        }
    }
}

fn failure(error: &LookupError) -> Failure {
    Failure::from_error(error).hint(error.hint())
}

fn ambiguous(wanted: &str, listing: &Listing) -> Failure {
    let mut message = format!("`{}` stands in {} keys:", escaped(wanted), count(listing.all));
    for Listed { key, .. } in &listing.samples {
        message.push_str(&format!("\n  {}", escaped(key)));
    }
    let left = listing.all - listing.samples.len() as u64;
    if left > 0 {
        message.push_str(&format!("\n  … and {} more", count(left)));
    }
    Failure::new(message).hint("give more of the key".to_owned())
}

fn keep_attempt(found: &mut Found, attempt: u32, dir: &RunDir) -> Result<(), Failure> {
    // A sample with one attempt does not number it.
    found.trajectories.retain(|trajectory| trajectory.attempt.unwrap_or(0) == attempt);
    if !found.trajectories.is_empty() {
        return Ok(());
    }
    let refuse = |why: String| Failure::new(format!("there is no attempt {attempt} to show: {why}"));
    if !dir.manifest().evidence.recorded {
        return Err(refuse("the run recorded no evidence".to_owned())
            .hint("run the suite again with `--record-evidence`".to_owned()));
    }
    let all = found.record.voting.as_ref().map_or(1, |voting| voting.answers.len()) as u64;
    Err(refuse(format!("the sample has {}, counted from 0", counted(all, "attempt", "attempts"))))
}

/// The largest body that is read for a terminal.
const MAX_BODY: u64 = 16 << 20;

/// Reads a whole content from `bodies/`, where the run keeps it and it is the one.
fn load_body(dir: &RunDir, digest: &Digest) -> Option<Vec<u8>> {
    Bodies::at(&dir.file(names::BODIES)).load(digest, MAX_BODY).ok()
}

#[derive(Serialize)]
struct SampleDocument<'a> {
    format: &'static str,
    record: &'a Record,
    trajectories: &'a [Trajectory],
    version: u32,
}

#[derive(Serialize)]
struct ListDocument<'a> {
    /// How many there are; the first ones are listed.
    all: u64,
    format: &'static str,
    samples: &'a [Listed],
    version: u32,
}

impl<'a> ListDocument<'a> {
    fn of(listing: &'a Listing) -> Self {
        Self { all: listing.all, format: "proofmark.samples", samples: &listing.samples, version: 1 }
    }
}

fn table(listing: &Listing, which: Which, settings: &Settings) -> String {
    if listing.all == 0 {
        return match which {
            Which::All => "there are no samples\n".to_owned(),
            Which::NotPassed => "every sample passed\n".to_owned(),
        };
    }
    let head = [("outcome", Align::Left), ("key", Align::Left), ("answer", Align::Left)];
    let row = |sample: &Listed| vec![sample.outcome.to_owned(), escaped(&sample.key), sample.glance.clone()];
    let rows: Vec<Vec<String>> = listing.samples.iter().map(row).collect();
    let mut out = render(&head, &rows, settings.width);
    let left = listing.all - listing.samples.len() as u64;
    if left > 0 {
        let style = settings.style.stdout;
        out.push_str(&format!("{}\n", style.dim(&format!("… and {} more", count(left)))));
    }
    out
}
