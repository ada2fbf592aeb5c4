//! The providers' names of the calls that were answered, out of `telemetry.jsonl`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use proofmark_canon::json;
use proofmark_canon::{Digest, Hasher, Value};
use serde::Deserialize;

pub use super::located::Ids;
use super::located::{Block, ENTRY, Order, Place, entry, read_entry};
use crate::spill::{Sorted, Sorter};
use crate::store::{LineError, Lines};
use crate::telemetry::{Attempt, AttemptOutcome};

/// The telemetry cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestsError {
    #[error(transparent)]
    Line(#[from] LineError),
    #[error("line {line} is not an attempt in JSON")]
    Shape { line: u64, source: serde_json::Error },
    #[error("line {line} has no line end")]
    Torn { line: u64 },
    #[error("line {line} is not canonical JSON")]
    NotCanonical { line: u64 },
    #[error("line {line} names one model more than any run has")]
    TooManyModels { line: u64 },
    #[error("cannot sort the requests")]
    Io(#[source] io::Error),
}

/// The ids of a run's successful calls, by model, in record order. They stay in the telemetry; only where each stands is
/// kept, on disk when there are many.
pub struct RequestIds {
    telemetry: File,
    models: Models,
    sorted: Arc<Sorted<ENTRY>>,
}

/// Entries that are held in memory: 650 KB.
const ROOM: usize = 1 << 14;
/// The longest line: an attempt is a few hundred bytes.
const MAX_LINE: usize = 1 << 20;

impl RequestIds {
    /// Reads one id for each successful call. A call that was answered just before a kill is made again when the run is
    /// resumed. Both were made and both are listed, in the order in which they were.
    pub fn read(telemetry: File) -> Result<Self, RequestsError> {
        let mut gathering = Gathering::default();
        let mut lines = Lines::new(telemetry.try_clone().map_err(RequestsError::Io)?, MAX_LINE);
        while let Some(line) = lines.next_line()? {
            if !line.ended {
                return Err(RequestsError::Torn { line: line.number });
            }
            // Straight to the few fields: there may be a line for every sample, and verification waits for this.
            let seen = serde_json::from_slice(line.bytes);
            let seen = seen.map_err(|source| RequestsError::Shape { line: line.number, source })?;
            gathering.take(&seen, line.bytes)?;
        }
        gathering.finish(telemetry)
    }

    /// The models that have ids, in the order in which the telemetry first names them.
    pub fn models(&self) -> &[String] {
        &self.models.names
    }

    /// How many ids a model has.
    pub fn count(&self, model: &str) -> u64 {
        self.models.at.get(model).map_or(0, |at| self.models.counts[*at])
    }

    /// Goes through the ids of a model in record order.
    pub fn each(&self, model: &str, mut take: impl FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        let mut ids = self.walk(model)?;
        while let Some(text) = ids.next()? {
            match json::parse(text).map_err(io::Error::other)? {
                Value::String(id) => take(&id)?,
                _ => return Err(io::Error::other("the telemetry has changed meanwhile")),
            }
        }
        Ok(())
    }

    /// Starts to go through the ids of a model in record order, each as canonical JSON.
    pub fn walk(&self, model: &str) -> io::Result<Ids<'_>> {
        let model = self.models.at.get(model).copied();
        Ok(Ids::new(self.sorted.walk()?, model, &self.telemetry))
    }

    /// The digest of the ids of each model that has some, as in [`IdList`](super::sidecar::IdList).
    pub fn digests(&self) -> io::Result<BTreeMap<&str, Digest>> {
        let mut hashers: Vec<Hasher> = self.models.names.iter().map(|_| Hasher::new()).collect();
        let mut block = Block::of(&self.telemetry);
        // Many ids at once are hashed faster than one after the other.
        let (mut of, mut pending) = (None, Vec::new());
        for found in self.sorted.walk()? {
            let (model, place) = read_entry(&found?);
            if of != Some(model) || pending.len() >= PENDING {
                if let Some(hasher) = of.and_then(|of: usize| hashers.get_mut(of)) {
                    hasher.update(&pending);
                }
                pending.clear();
                if of == Some(model) {
                    pending.push(b',');
                }
                of = Some(model);
            } else {
                pending.push(b',');
            }
            pending.extend_from_slice(block.text(place)?);
        }
        if let Some(hasher) = of.and_then(|of| hashers.get_mut(of)) {
            hasher.update(&pending);
        }
        Ok(self.models().iter().map(String::as_str).zip(hashers.into_iter().map(Hasher::finish)).collect())
    }

    /// Writes a block's canonical JSON with the ids in the places of its models' empty lists, in their order. No text can
    /// look like such a place: its quotes would be escaped.
    pub fn splice(
        &self,
        block: &[u8],
        models: &[String],
        redact: impl Fn(&str) -> String,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut rest = block;
        for model in models {
            let at = memchr::memmem::find(rest, PLACE).ok_or_else(|| io::Error::other("a model without its list"))?;
            let (before, after) = rest.split_at(at + PLACE.len() - 1);
            out.write_all(before)?;
            let mut is_first = true;
            let mut text = Vec::new();
            self.each(model, |id| {
                text.clear();
                if !std::mem::take(&mut is_first) {
                    text.push(b',');
                }
                json::append_string(&redact(id), &mut text);
                out.write_all(&text)
            })?;
            rest = after;
        }
        out.write_all(rest)
    }
}

/// What is needed of an attempt.
#[derive(Deserialize)]
struct Seen<'a> {
    attempt: u32,
    call: u32,
    #[serde(borrow)]
    model: Cow<'a, str>,
    ordinal: u64,
    outcome: AttemptOutcome,
    #[serde(borrow)]
    request_id: Option<Cow<'a, str>>,
}

/// The ids of a telemetry, line by line.
pub struct Gathering {
    models: Models,
    sorter: Sorter<ENTRY>,
    members: memchr::memmem::Finder<'static>,
    /// The id that is looked for in its line.
    wanted: Vec<u8>,
    /// How many lines there were, and their bytes.
    lines: u64,
    bytes: u64,
}

impl Default for Gathering {
    fn default() -> Self {
        Self {
            models: Models::default(),
            sorter: Sorter::new(ROOM, None),
            members: memchr::memmem::Finder::new(MEMBER),
            wanted: Vec::new(),
            lines: 0,
            bytes: 0,
        }
    }
}

impl Gathering {
    /// Adds the next line, with the attempt that stands in it. For whoever writes the telemetry from its first line on:
    /// to read it again takes longer.
    pub fn push(&mut self, attempt: &Attempt, line: &[u8]) -> Result<(), RequestsError> {
        let seen = Seen {
            attempt: attempt.attempt,
            call: attempt.call,
            model: Cow::Borrowed(&attempt.model),
            ordinal: attempt.ordinal,
            outcome: attempt.outcome,
            request_id: attempt.request_id.as_deref().map(Cow::Borrowed),
        };
        self.take(&seen, line)
    }

    fn take(&mut self, seen: &Seen<'_>, line: &[u8]) -> Result<(), RequestsError> {
        let offset = self.bytes;
        self.lines += 1;
        self.bytes += line.len() as u64 + 1;
        let number = self.lines;
        let (AttemptOutcome::Answered, Some(id)) = (seen.outcome, &seen.request_id) else { return Ok(()) };
        self.wanted.clear();
        json::append_string(id, &mut self.wanted);
        // Our own lines are canonical; another form of the same value has no place that could be named.
        let mut values = self.members.find_iter(line).map(|at| at + MEMBER.len());
        let at = values
            .find(|at| line[*at..].starts_with(&self.wanted))
            .ok_or(RequestsError::NotCanonical { line: number })?;
        let model = self.models.count(&seen.model).ok_or(RequestsError::TooManyModels { line: number })?;
        let place = Place { offset: offset + at as u64, length: self.wanted.len() };
        let Seen { ordinal, call, attempt, .. } = *seen;
        let order = Order { model: model as u32, ordinal, call, attempt, line: number };
        self.sorter.push(entry(order, place)).map_err(RequestsError::Io)
    }

    /// What was gathered, with the telemetry that holds it.
    pub fn finish(self, telemetry: File) -> Result<RequestIds, RequestsError> {
        let sorted = Arc::new(self.sorter.finish().map_err(RequestsError::Io)?);
        Ok(RequestIds { telemetry, models: self.models, sorted })
    }
}

/// An empty list of ids in a block.
const PLACE: &[u8] = b"\"provider_request_ids\":[]";
/// What is before an id in the telemetry.
const MEMBER: &[u8] = b"\"request_id\":";
/// Bytes of ids that are hashed at once.
const PENDING: usize = 1 << 16;

/// The models that have ids.
#[derive(Default)]
struct Models {
    /// In the order in which the telemetry first names them.
    names: Vec<String>,
    counts: Vec<u64>,
    at: HashMap<String, usize>,
    bytes: usize,
}

/// Bytes that all names of models may have together: a run has few, and a stranger's telemetry may name any number.
const MAX_NAMES: usize = 16 << 20;

impl Models {
    /// Counts one more id of a model and returns the model's place; `None` when there are too many models.
    fn count(&mut self, name: &str) -> Option<usize> {
        let at = match self.at.get(name) {
            Some(at) => *at,
            None => {
                self.bytes += name.len() + size_of::<String>();
                if self.bytes > MAX_NAMES {
                    return None;
                }
                self.at.insert(name.to_owned(), self.names.len());
                self.names.push(name.to_owned());
                self.counts.push(0);
                self.names.len() - 1
            }
        };
        self.counts[at] += 1;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(model: &str, place: (u64, u32, u32), outcome: AttemptOutcome, id: Option<&str>) -> String {
        let (ordinal, call, attempt) = place;
        let attempt = Attempt {
            at: "2026-11-16T00:00:00.000Z".to_owned(),
            attempt,
            cached_input_tokens: None,
            call,
            class: None,
            endpoint: "http://localhost/v1".to_owned(),
            first_byte_ms: Some(1.5),
            key: "k".to_owned(),
            latency_ms: 2.0,
            model: model.to_owned(),
            model_returned: None,
            ordinal,
            outcome,
            request_bytes: 1,
            request_digest: None,
            request_id: id.map(ToOwned::to_owned),
            response_bytes: 1,
            retry_after_ms: None,
            status: Some(200),
            waited_ms: 0.0,
        };
        format!("{}\n", String::from_utf8(json::to_vec(&attempt).unwrap()).unwrap())
    }

    fn read(text: &str) -> Result<RequestIds, RequestsError> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        io::Seek::rewind(&mut file).unwrap();
        RequestIds::read(file)
    }

    #[test]
    fn one_id_a_successful_call_in_record_order_with_retries_and_resumes() {
        use AttemptOutcome::{Answered, Failed, Retried, Stopped};
        let text = [
            attempt("b", (7, 0, 2), Answered, Some("b7")),
            attempt("a", (4, 1, 1), Answered, Some("a4.1")),
            attempt("a", (4, 0, 1), Retried, Some("a4 retried")),
            attempt("a", (2, 0, 1), Failed, Some("a2 failed")),
            attempt("a", (10, 0, 1), Answered, Some("a10")),
            attempt("a", (4, 0, 2), Answered, Some("a4.0")),
            attempt("b", (1, 0, 1), Stopped, Some("b1 stopped")),
            attempt("b", (3, 0, 1), Answered, None),
            // Answered, killed before it was journalled, asked again.
            attempt("a", (0, 0, 1), Answered, Some("a0 first")),
            attempt("a", (0, 0, 1), Answered, Some("a0 again")),
        ]
        .concat();
        let ids = read(&text).unwrap();
        let of = |model: &str| {
            let mut found = Vec::new();
            ids.each(model, |id| {
                found.push(id.to_owned());
                Ok(())
            })
            .unwrap();
            assert_eq!(ids.count(model), found.len() as u64);
            found
        };
        assert_eq!(of("a"), ["a0 first", "a0 again", "a4.0", "a4.1", "a10"]);
        assert_eq!(of("b"), ["b7"]);
        assert!(of("c").is_empty());
        assert_eq!(ids.models(), ["b", "a"]);
        let listed = [("a", r#""a0 first","a0 again","a4.0","a4.1","a10""#), ("b", r#""b7""#)];
        let digests: Vec<_> = ids.digests().unwrap().into_iter().collect();
        assert_eq!(digests, listed.map(|(model, text)| (model, Digest::of(text.as_bytes()))));
        assert_eq!(read("").unwrap().count("a"), 0);
        // In a block they stand where its models' lists are, whatever a model is called.
        let block = r#"{"models":[{"id":"\"provider_request_ids\":[]","provider_request_ids":[]},{"provider_request_ids":[]}],"z":1}"#;
        let mut out = Vec::new();
        ids.splice(block.as_bytes(), &["b".to_owned(), "a".to_owned()], |id| id.replace("a0", "***"), &mut out)
            .unwrap();
        let expected = r#"{"models":[{"id":"\"provider_request_ids\":[]","provider_request_ids":["b7"]},{"provider_request_ids":["*** first","*** again","a4.0","a4.1","a10"]}],"z":1}"#;
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn what_is_no_attempt_is_an_error_with_its_line() {
        let good = attempt("a", (0, 0, 1), AttemptOutcome::Answered, None);
        for (text, want) in [
            (format!("{good}{{"), "line 2 has no line end"),
            (format!("{good}{{\n"), "line 2 is not an attempt in JSON"),
            (format!("{good}{{}}\n"), "line 2 is not an attempt in JSON"),
            ("x".repeat(MAX_LINE + 2), "line 1 is longer than"),
        ] {
            let error = read(&text).err().unwrap().to_string();
            assert!(error.starts_with(want), "{error}");
        }
    }
}
