//! `proofmark cassette`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proofmark_artefact::number::count;
use proofmark_artefact::store::{Line, Lines, names};
use proofmark_artefact::text::visible;
use proofmark_canon::json::{self, Value};
use proofmark_model::Reply;
use proofmark_model::cassette::entry::{Answer, Entry, RequestDigest};
use proofmark_model::cassette::store::{CassetteError, Listing, Store};
use serde::Serialize;

use super::run::to_json;
use crate::args::{CassetteCommand, CassetteGcArgs, CassetteLsArgs, CassetteShowArgs, TextOrJson};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::ui::table::{Align, render};

pub(crate) fn run(command: &CassetteCommand, settings: &Settings) -> Result<Exit, Failure> {
    match command {
        CassetteCommand::Ls(args) => ls(args, settings),
        CassetteCommand::Show(args) => show(args, settings),
        CassetteCommand::Verify(args) => verify(args, settings),
        CassetteCommand::Gc(args) => gc(args, settings),
    }
}

fn failure(error: &CassetteError) -> Failure {
    Failure::from_error(error).hint(error.hint())
}

/// Reads an entry that was listed.
fn load(store: &Store, digest: RequestDigest) -> Result<Option<Entry>, Failure> {
    // One that is gone was removed meanwhile.
    store.load(digest).map_err(|error| failure(&error))
}

fn open(dir: &Path) -> Result<(Store, Listing), Failure> {
    let store = Store::open(dir).map_err(|error| failure(&error))?;
    let listing = store.list().map_err(|error| failure(&error))?;
    Ok((store, listing))
}

#[derive(Serialize)]
struct LsDocument {
    entries: u64,
    format: &'static str,
    models: Vec<ModelCount>,
    packed_bytes: u64,
    version: u32,
}

#[derive(Debug, Default, Serialize)]
struct ModelCount {
    entries: u64,
    failures: u64,
    model: String,
    packed_bytes: u64,
}

fn ls(args: &CassetteLsArgs, settings: &Settings) -> Result<Exit, Failure> {
    let (store, listing) = open(&args.dir)?;
    let mut models = BTreeMap::<String, ModelCount>::new();
    for digest in listing.entries {
        let size = store.packed_size(digest);
        let Some(entry) = load(&store, digest)? else { continue };
        let name = format!("{}:{}", entry.question.provider, entry.question.model);
        let model = models.entry(name).or_default();
        model.entries += 1;
        model.packed_bytes += size;
        model.failures += u64::from(is_failure(&entry.answer));
    }
    let models: Vec<ModelCount> = models.into_iter().map(|(model, counts)| ModelCount { model, ..counts }).collect();
    let entries = models.iter().map(|model| model.entries).sum();
    let packed_bytes = models.iter().map(|model| model.packed_bytes).sum();
    if args.format == TextOrJson::Json {
        let format = "proofmark.cassette-ls";
        settings.print(&to_json(&LsDocument { entries, format, models, packed_bytes, version: 1 })?)?;
        return Ok(Exit::Holds);
    }
    let head = [("model", Align::Left), ("entries", Align::Right), ("failures", Align::Right), ("bytes", Align::Right)];
    let rows: Vec<Vec<String>> = models
        .iter()
        .map(|model| {
            vec![visible(&model.model), count(model.entries), count(model.failures), count(model.packed_bytes)]
        })
        .collect();
    let table = if rows.is_empty() { String::new() } else { render(&head, &rows, settings.width) + "\n" };
    settings.print(&format!("{table}{} entries, {} bytes\n", count(entries), count(packed_bytes)))?;
    Ok(Exit::Holds)
}

fn is_failure(answer: &Answer) -> bool {
    match answer {
        Answer::Http { status, .. } => *status >= 400,
        Answer::Outcome { reply } => matches!(reply, Reply::Failed { .. }),
    }
}

/// As few digits as a name may be cut to.
const FEWEST_DIGITS: usize = 4;

fn show(args: &CassetteShowArgs, settings: &Settings) -> Result<Exit, Failure> {
    let (store, listing) = open(&args.dir)?;
    let digits = args.digest.strip_prefix("sha256:").unwrap_or(&args.digest);
    let found: Vec<RequestDigest> =
        listing.entries.into_iter().filter(|digest| digest.get().hex().starts_with(digits)).collect();
    let digest = match found.as_slice() {
        _ if digits.len() < FEWEST_DIGITS => {
            return Err(Failure::new(format!("`{digits}` is too short; give {FEWEST_DIGITS} digits or more")));
        }
        [one] => *one,
        [] => return Err(Failure::new(format!("the cassette has no entry `{}`", args.digest))),
        several => {
            let message = format!("`{}` is the beginning of {} entries", args.digest, several.len());
            return Err(Failure::new(message).hint("give more digits".to_owned()));
        }
    };
    let Some(entry) = load(&store, digest)? else {
        return Err(Failure::new(format!("the entry {digest} is gone")));
    };
    if args.format == TextOrJson::Json {
        settings.print(&to_json(&entry)?)?;
        return Ok(Exit::Holds);
    }
    settings.print(&describe(&entry, settings))?;
    Ok(Exit::Holds)
}

fn describe(entry: &Entry, settings: &Settings) -> String {
    let style = settings.style.stdout;
    let question = &entry.question;
    let mut out = format!("{}\n", style.bold(&entry.digest.to_string()));
    let mut line = |name: &str, text: &str| out.push_str(&format!("{} {}\n", style.dim(name), visible(text)));
    line("model:", &format!("{}:{}", question.provider, question.model));
    line("path:", &question.path);
    line("seed:", &question.seed.to_string());
    line("request:", &pretty(question.body.as_bytes()));
    match &entry.answer {
        Answer::Http { body, headers, status } => {
            line("status:", &status.to_string());
            for (name, value) in headers {
                line(&format!("{name}:"), value);
            }
            line("reply:", &body.bytes().map_or_else(String::new, |bytes| pretty(&bytes)));
        }
        Answer::Outcome { reply } => {
            line("outcome:", &serde_json::to_string_pretty(reply).unwrap_or_default());
        }
    }
    out
}

/// JSON with indents; text as it is; anything else by its length.
fn pretty(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else { return format!("{} bytes", count(bytes.len() as u64)) };
    match serde_json::from_str::<serde_json::Value>(text).map(|value| serde_json::to_string_pretty(&value)) {
        Ok(Ok(pretty)) => pretty,
        _ => text.to_owned(),
    }
}

#[derive(Serialize)]
struct VerifyDocument {
    bad: Vec<BadEntry>,
    entries: u64,
    foreign: Vec<String>,
    format: &'static str,
    partial: u64,
    valid: bool,
    version: u32,
}

#[derive(Serialize)]
struct BadEntry {
    file: String,
    why: String,
}

fn verify(args: &CassetteLsArgs, settings: &Settings) -> Result<Exit, Failure> {
    let (store, listing) = open(&args.dir)?;
    let mut bad = Vec::new();
    let mut entries = 0;
    for digest in &listing.entries {
        match store.load(*digest) {
            Ok(found) => entries += u64::from(found.is_some()),
            Err(error) => {
                entries += 1;
                let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
                bad.push(BadEntry { file: store.path(*digest).display().to_string(), why });
            }
        }
    }
    let foreign: Vec<String> = listing.foreign.iter().map(|path| path.display().to_string()).collect();
    let exit = if bad.is_empty() { Exit::Holds } else { Exit::DoesNotHold };
    let partial = listing.partial.len() as u64;
    if args.format == TextOrJson::Json {
        let (format, valid) = ("proofmark.cassette-verify", bad.is_empty());
        let document = VerifyDocument { bad, entries, foreign, format, partial, valid, version: 1 };
        settings.print(&to_json(&document)?)?;
        return Ok(exit);
    }
    let style = settings.style.stdout;
    let mut out = String::new();
    for BadEntry { file, why } in &bad {
        out.push_str(&style.bad(&format!("{}: {}", visible(file), visible(why))));
        out.push('\n');
    }
    for path in &foreign {
        out.push_str(&style.warn(&format!("{}: not an entry", visible(path))));
        out.push('\n');
    }
    if partial > 0 {
        out.push_str(&format!("{} unfinished files; `proofmark cassette gc` removes them\n", count(partial)));
    }
    out.push_str(&if bad.is_empty() {
        style.good(&format!("valid: {} entries\n", count(entries)))
    } else {
        style.bad(&format!("not valid: {} of {} entries\n", count(bad.len() as u64), count(entries)))
    });
    settings.print(&out)?;
    Ok(exit)
}

#[derive(Serialize)]
struct GcDocument {
    dry_run: bool,
    format: &'static str,
    kept: u64,
    missing: u64,
    partial: u64,
    removed: u64,
    removed_bytes: u64,
    version: u32,
}

fn gc(args: &CassetteGcArgs, settings: &Settings) -> Result<Exit, Failure> {
    let (store, listing) = open(&args.dir)?;
    let mut used = BTreeSet::new();
    for run in &args.keep_run {
        used.append(&mut used_by(run)?);
    }
    let there: BTreeSet<RequestDigest> = listing.entries.iter().copied().collect();
    let missing = used.difference(&there).count() as u64;
    let (mut removed, mut removed_bytes, mut kept) = (0, 0, 0);
    for digest in listing.entries {
        if used.contains(&digest) {
            kept += 1;
            continue;
        }
        removed += 1;
        removed_bytes += store.packed_size(digest);
        if !args.dry_run {
            store.remove(digest).map_err(|error| failure(&error))?;
        }
    }
    let partial = listing.partial.len() as u64;
    for path in listing.partial.iter().filter(|_| !args.dry_run) {
        store.remove_file(path).map_err(|error| failure(&error))?;
    }
    if args.format == TextOrJson::Json {
        let (dry_run, format) = (args.dry_run, "proofmark.cassette-gc");
        let document = GcDocument { dry_run, format, kept, missing, partial, removed, removed_bytes, version: 1 };
        settings.print(&to_json(&document)?)?;
        return Ok(Exit::Holds);
    }
    let verb = if args.dry_run { "would remove" } else { "removed" };
    let (gone, bytes) = (count(removed), count(removed_bytes));
    settings.print(&format!("{verb} {gone} entries, {bytes} bytes; {} stay\n", count(kept)))?;
    if partial > 0 {
        settings.print(&format!("{verb} {} unfinished files\n", count(partial)))?;
    }
    if missing > 0 {
        let style = settings.style.stderr;
        let what = format!("{} entries that these runs used are not on the cassette\n", count(missing));
        settings.print_err(&format!("{}{what}", style.warn("warning: ")));
    }
    Ok(Exit::Holds)
}

/// The longest line of telemetry.
const LONGEST_LINE: usize = 1 << 20;

/// The requests of a run, finished or not. A run that names none is refused: everything would go.
fn used_by(run: &Path) -> Result<BTreeSet<RequestDigest>, Failure> {
    let finished = run.join(names::TELEMETRY);
    let path = if finished.is_file() { finished } else { run.join(names::WORK).join(names::TELEMETRY) };
    let cannot = |why: String| {
        Failure::new(format!("cannot tell what `{}` used: {why}", run.display()))
            .hint("name the directory of a run that was made with `--cassette` or `--replay`".to_owned())
    };
    if !path.is_file() {
        return Err(cannot("it has no telemetry.jsonl".to_owned()));
    }
    let mut lines = Lines::open(&path, LONGEST_LINE).map_err(|error| cannot(error.to_string()))?;
    let mut used = BTreeSet::new();
    while let Some(line) = lines.next_line().map_err(|error| cannot(error.to_string()))? {
        let Line { bytes, ended, .. } = line;
        if !ended {
            // A kill cut it off; its sample does not count and will be asked again.
            break;
        }
        let value =
            json::parse(bytes).map_err(|error| cannot(format!("a line of its telemetry is not JSON: {error}")))?;
        let digest = value.get("request_digest").and_then(Value::as_str);
        if let Some(digest) = digest {
            used.insert(digest.parse().map_err(|_| cannot("a request's digest is none".to_owned()))?);
        }
    }
    if used.is_empty() {
        return Err(cannot("its telemetry names no request".to_owned()));
    }
    Ok(used)
}
