//! `cache export` and `cache import`.

use std::io::Write as _;
use std::path::Path;

use proofmark_artefact::number::{count, counted};
use proofmark_artefact::store::{AtomicFile, LineError, Lines};
use proofmark_artefact::text::visible;
use proofmark_trust::cache::{Cache, Inserted};

use super::walk::{Walk, each_shard};
use super::word;
use crate::args::{CacheExportArgs, CacheImportArgs};
use crate::exit::{Exit, Failure};
use crate::judge_cache::failure;
use crate::settings::Settings;

pub(super) fn export(args: &CacheExportArgs, cache: &Cache, settings: &Settings) -> Result<Exit, Failure> {
    let cannot = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| Failure::new(format!("cannot write `{path}`: {error}"))
    };
    let mut file = args.out.as_deref().map(|path| AtomicFile::create(path).map_err(cannot(path))).transpose()?;
    let (mut written, mut left_out) = (0_u64, 0_u64);
    each_shard(cache, |view| {
        let mut text = Vec::new();
        left_out += view.strays.len() as u64;
        for held in view.held {
            let Ok(entry) = held.entry else {
                left_out += 1;
                continue;
            };
            proofmark_canon::json::to_writer(&entry, &mut text).map_err(|error| Failure::from_error(&error))?;
            text.push(b'\n');
            written += 1;
        }
        match (&mut file, &args.out) {
            (Some(file), Some(path)) => file.write_all(&text).map_err(cannot(path))?,
            _ => settings.write(&text)?,
        }
        Ok(Walk::On)
    })?;
    if let (Some(file), Some(path)) = (file, &args.out) {
        file.commit().map_err(cannot(path))?;
        settings.print_err(&format!("{} written to {}\n", entries(written), visible(&path.display().to_string())));
    }
    if left_out == 0 {
        return Ok(Exit::Holds);
    }
    let warning = settings.style.stderr.warn("warning: ");
    let said = format!("{warning}{} left out: `proofmark cache verify` says why\n", entries(left_out));
    settings.print_err(&said);
    Ok(Exit::DoesNotHold)
}

/// The longest line that is read: a little more than an entry may have, so that the cache itself refuses it.
const MAX_LINE: usize = (1 << 20) + 1;
/// Each shard is written once for so many bytes of entries.
const AT_ONCE: usize = 128 << 20;
/// How the list of a shard begins: it comes along with what was set aside.
const LIST: &[u8] = b"{\"entries\":[";

/// What became of the lines of files.
#[derive(Default)]
struct Taken {
    added: u64,
    conflicts: u64,
    there: u64,
    refused: u64,
}

pub(super) fn import(args: &CacheImportArgs, cache: &Cache, settings: &Settings) -> Result<Exit, Failure> {
    let mut taken = Taken::default();
    let mut waiting: Vec<(String, Vec<u8>)> = Vec::new();
    let mut bytes = 0;
    for path in &args.files {
        let cannot = |error: &dyn std::fmt::Display| Failure::new(format!("cannot read `{}`: {error}", path.display()));
        let mut lines = Lines::open(path, MAX_LINE).map_err(|error| cannot(&error))?;
        loop {
            let line = match lines.next_line() {
                Ok(None) => break,
                Ok(Some(line)) => line,
                Err(LineError::TooLong { number, limit }) => {
                    taken.refuse(&place(path, number), &format!("malformed: longer than {limit} bytes"), settings);
                    continue;
                }
                Err(error) => return Err(cannot(&error)),
            };
            if line.bytes.is_empty() || line.bytes.starts_with(LIST) {
                continue;
            }
            bytes += line.bytes.len();
            waiting.push((place(path, line.number), line.bytes.to_vec()));
            if bytes > AT_ONCE {
                taken.take(std::mem::take(&mut waiting), cache, settings)?;
                bytes = 0;
            }
        }
    }
    taken.take(waiting, cache, settings)?;
    let mut parts = vec![format!("{} added", entries(taken.added))];
    if taken.conflicts > 0 {
        parts.push(format!("{} of them in conflict with what was there", count(taken.conflicts)));
    }
    parts.push(format!("{} there already", count(taken.there)));
    if taken.refused > 0 {
        parts.push(format!("{} refused", count(taken.refused)));
    }
    settings.print(&format!("{}\n", parts.join(", ")))?;
    Ok(if taken.refused == 0 { Exit::Holds } else { Exit::DoesNotHold })
}

impl Taken {
    fn take(&mut self, waiting: Vec<(String, Vec<u8>)>, cache: &Cache, settings: &Settings) -> Result<(), Failure> {
        let (places, lines): (Vec<String>, Vec<Vec<u8>>) = waiting.into_iter().unzip();
        let outcomes = cache.insert_lines(&lines).map_err(|error| failure(&error))?;
        for (place, outcome) in places.iter().zip(outcomes) {
            match outcome {
                Ok(Inserted::New(_)) => self.added += 1,
                Ok(Inserted::Conflict { .. }) => {
                    self.added += 1;
                    self.conflicts += 1;
                }
                Ok(Inserted::Same(_)) => self.there += 1,
                Err(flaw) => self.refuse(place, &format!("{}: {}", word(flaw.reason), flaw.detail), settings),
            }
        }
        Ok(())
    }

    fn refuse(&mut self, place: &str, why: &str, settings: &Settings) {
        self.refused += 1;
        let refused = settings.style.stderr.warn("refused: ");
        settings.print_err(&format!("{refused}{}: {}\n", visible(place), visible(why)));
    }
}

fn place(path: &Path, line: u64) -> String {
    format!("{}:{line}", path.display())
}

fn entries(number: u64) -> String {
    counted(number, "entry", "entries")
}
