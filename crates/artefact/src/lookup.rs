//! One sample of a run, found by its key or by a part of it.
//!
//! Files are read line by line; what is kept is the sample that was asked for and a bounded list of candidates.

use std::borrow::Cow;

use proofmark_canon::{Value, json};
use serde::{Deserialize, Serialize};

use crate::record::{Record, Status};
use crate::report::Outcome;
use crate::store::{LineError, OpenError, RunDir, names};
use crate::text::one_line;
use crate::trajectory::Trajectory;

/// A sample in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The answer or the error, as one short line.
    pub glance: String,
    pub key: String,
    /// `errored`, `failed` or `passed`.
    pub outcome: &'static str,
    pub status: Status,
}

/// The first samples that match, and how many do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    pub samples: Vec<Listed>,
    pub all: u64,
}

/// Which samples are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    All,
    /// Those that did not pass: failures and errors.
    NotPassed,
}

/// What a key or a part of one leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup {
    One(Box<Found>),
    Several(Listing),
    Nothing,
}

/// A sample with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub record: Record,
    /// In the order of their attempts; empty when none were recorded.
    pub trajectories: Vec<Trajectory>,
}

/// The files of a run cannot be searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("cannot read `{name}`")]
    Line { name: &'static str, source: LineError },
    #[error("line {line} of `{name}` is not JSON")]
    NotJson { name: &'static str, line: u64, source: json::ParseError },
    #[error("line {line} of `{name}` does not have the expected shape")]
    Shape { name: &'static str, line: u64, source: json::ShapeError },
    #[error("line {line} of `{name}` does not have the expected shape")]
    Glance { name: &'static str, line: u64, source: Box<serde_json::Error> },
}

impl LookupError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Open(error) => error.hint(),
            _ => Some("`proofmark validate` lists everything that is wrong with a run directory".to_owned()),
        }
    }
}

/// Lists the first samples of a run, in its order.
pub fn list(dir: &RunDir, which: Which, limit: usize) -> Result<Listing, LookupError> {
    let mut listing = Listing::default();
    each(dir, |glance, _, _| {
        if which == Which::All || matches!(glance.outcome(), Outcome::Errored | Outcome::Failed) {
            listing.offer(glance, limit);
        }
        Ok(Flow::GoOn)
    })?;
    Ok(listing)
}

/// Looks for a sample. A whole key comes before the beginning of one, and that before any other part; names with
/// characters that keys escape may be written as they are.
pub fn find(dir: &RunDir, wanted: &str, limit: usize) -> Result<Lookup, LookupError> {
    let (mut exact, mut beginning, mut part) = (None, Candidates::default(), Candidates::default());
    each(dir, |glance, line, bytes| {
        let key: &str = &glance.key;
        let plain = glance.plain_key();
        if key == wanted || plain == wanted {
            exact = Some(parse(names::RECORDS, line, bytes)?);
            return Ok(Flow::Stop);
        }
        for (candidates, is_one) in [
            (&mut beginning, key.starts_with(wanted) || plain.starts_with(wanted)),
            (&mut part, key.contains(wanted) || plain.contains(wanted)),
        ] {
            if is_one {
                candidates.offer(glance, line, bytes, limit)?;
            }
        }
        Ok(Flow::GoOn)
    })?;
    let candidates = if beginning.listing.all > 0 { beginning } else { part };
    let record = match (exact, candidates.first, candidates.listing.all) {
        (Some(record), ..) | (None, Some(record), 1) => record,
        (None, _, 0) => return Ok(Lookup::Nothing),
        _ => return Ok(Lookup::Several(candidates.listing)),
    };
    let trajectories = trajectories(dir, record.key.as_str())?;
    Ok(Lookup::One(Box::new(Found { record, trajectories })))
}

/// Reads the trajectories of one sample. They stand together.
fn trajectories(dir: &RunDir, key: &str) -> Result<Vec<Trajectory>, LookupError> {
    const NAME: &str = names::TRAJECTORIES;
    let mut found = Vec::new();
    if !dir.manifest().evidence.recorded {
        return Ok(found);
    }
    let mut lines = dir.lines(NAME)?;
    while let Some(line) = lines.next_line().map_err(|source| LookupError::Line { name: NAME, source })? {
        #[derive(Deserialize)]
        struct Key<'a> {
            #[serde(borrow)]
            key: Cow<'a, str>,
        }
        let Key { key: of_line } = serde_json::from_slice(line.bytes).map_err(|source| LookupError::Glance {
            name: NAME,
            line: line.number,
            source: Box::new(source),
        })?;
        if of_line == key {
            found.push(parse(NAME, line.number, line.bytes)?);
        } else if !found.is_empty() {
            break;
        }
    }
    Ok(found)
}

/// Whether to read on.
enum Flow {
    GoOn,
    Stop,
}

/// Goes through the records.
fn each(
    dir: &RunDir,
    mut visit: impl FnMut(&Glance<'_>, u64, &[u8]) -> Result<Flow, LookupError>,
) -> Result<(), LookupError> {
    const NAME: &str = names::RECORDS;
    let mut lines = dir.lines(NAME)?;
    while let Some(line) = lines.next_line().map_err(|source| LookupError::Line { name: NAME, source })? {
        let glance: Glance<'_> = serde_json::from_slice(line.bytes).map_err(|source| LookupError::Glance {
            name: NAME,
            line: line.number,
            source: Box::new(source),
        })?;
        if let Flow::Stop = visit(&glance, line.number, line.bytes)? {
            break;
        }
    }
    Ok(())
}

fn parse<T: serde::de::DeserializeOwned>(name: &'static str, line: u64, bytes: &[u8]) -> Result<T, LookupError> {
    let value: Value = json::parse(bytes).map_err(|source| LookupError::NotJson { name, line, source })?;
    json::from_value(&value).map_err(|source| LookupError::Shape { name, line, source })
}

/// Samples that match a part of a key.
#[derive(Default)]
struct Candidates {
    first: Option<Record>,
    listing: Listing,
}

impl Candidates {
    fn offer(&mut self, glance: &Glance<'_>, line: u64, bytes: &[u8], limit: usize) -> Result<(), LookupError> {
        if self.listing.all == 0 {
            self.first = Some(parse(names::RECORDS, line, bytes)?);
        }
        self.listing.offer(glance, limit);
        Ok(())
    }
}

impl Listing {
    fn offer(&mut self, glance: &Glance<'_>, limit: usize) {
        self.all += 1;
        if self.samples.len() < limit {
            self.samples.push(glance.listed());
        }
    }
}

/// As much of a record as a list needs. What is shown is read in full, and strictly.
#[derive(Deserialize)]
struct Glance<'a> {
    #[serde(borrow)]
    condition: Cow<'a, str>,
    #[serde(borrow)]
    error: Option<GlanceError<'a>>,
    #[serde(borrow)]
    item_id: Cow<'a, str>,
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    model: Cow<'a, str>,
    #[serde(borrow)]
    output: Option<GlanceOutput<'a>>,
    sample: u32,
    scores: Vec<GlanceScore>,
    status: Status,
    #[serde(borrow)]
    task: Cow<'a, str>,
}

#[derive(Deserialize)]
struct GlanceError<'a> {
    #[serde(borrow)]
    class: Cow<'a, str>,
    #[serde(borrow)]
    message: Cow<'a, str>,
}

#[derive(Deserialize)]
struct GlanceOutput<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct GlanceScore {
    passed: bool,
}

/// Characters of an answer in a list.
const GLANCE: usize = 200;

impl Glance<'_> {
    fn outcome(&self) -> Outcome {
        Outcome::of(self.status, self.scores.first().map(|score| score.passed))
    }

    /// The key with its parts as they are.
    fn plain_key(&self) -> String {
        format!("{}/{}/{}/{}/{}", self.task, self.item_id, self.model, self.condition, self.sample)
    }

    fn listed(&self) -> Listed {
        let glance = match (&self.error, &self.output) {
            (Some(error), _) => one_line(&format!("{}: {}", error.class, error.message), GLANCE),
            (None, Some(output)) => one_line(&output.text, GLANCE),
            (None, None) => String::new(),
        };
        let outcome = match self.outcome() {
            Outcome::Errored => "errored",
            Outcome::Failed => "failed",
            Outcome::Passed => "passed",
            Outcome::Unscored => "unscored",
        };
        Listed { glance, key: self.key.clone().into_owned(), outcome, status: self.status }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use crate::store::write_atomic;
    use crate::trajectory::Step;
    use proofmark_canon::SampleKey;

    fn lines<T: Serialize>(values: &[T]) -> Vec<u8> {
        values.iter().flat_map(|value| [proofmark_canon::to_vec(value).unwrap(), vec![b'\n']].concat()).collect()
    }

    fn run(records: &[Record], attempts: u32) -> (tempfile::TempDir, RunDir) {
        let dir = tempfile::tempdir().unwrap();
        let mut manifest = fixture::manifest();
        manifest.evidence.recorded = attempts > 0;
        let of = |record: &Record, attempt: u32| Trajectory {
            attempt: Some(attempt),
            final_answer: Some("Paris".to_owned()),
            key: record.key.clone(),
            model: record.model.clone(),
            no_answer: None,
            run_id: record.run_id,
            steps: vec![Step::model_output("Paris", None)],
            stop: None,
            task_id: record.task.clone(),
            turns: 1,
            usage: record.usage,
        };
        let all: Vec<Trajectory> =
            records.iter().flat_map(|record| (0..attempts).map(|attempt| of(record, attempt))).collect();
        write_atomic(&dir.path().join(names::MANIFEST), &proofmark_canon::to_vec(&manifest).unwrap()).unwrap();
        write_atomic(&dir.path().join(names::RECORDS), &lines(records)).unwrap();
        write_atomic(&dir.path().join(names::TRAJECTORIES), &lines(&all)).unwrap();
        let run = RunDir::open(dir.path()).unwrap();
        (dir, run)
    }

    fn key_of(dir: &RunDir, wanted: &str) -> String {
        match find(dir, wanted, 20).unwrap() {
            Lookup::One(found) => found.record.key.as_str().to_owned(),
            Lookup::Several(listing) => format!("{} of {}", listing.samples.len(), listing.all),
            Lookup::Nothing => "nothing".to_owned(),
        }
    }

    #[test]
    fn a_whole_key_comes_before_a_beginning_and_that_before_a_part() {
        let record = |item: &str, model: &str| Record {
            key: SampleKey::new("t", item, model, "c", 0),
            item_id: item.to_owned(),
            model: model.to_owned(),
            task: "t".to_owned(),
            condition: "c".to_owned(),
            ..fixture::record(0, Status::Success, Some(true))
        };
        let records = [record("a", "m"), record("a", "m/c/0"), record("b 1", "t"), record("zz", "m")];
        let (_kept, dir) = run(&records, 0);
        for (wanted, key) in [
            ("t/a/m/c/0", "t/a/m/c/0"),
            ("t/zz", "t/zz/m/c/0"),
            ("zz", "t/zz/m/c/0"),
            ("t/a", "2 of 2"),
            ("t/a/m%2F", "t/a/m%2Fc%2F0/c/0"),
            ("b 1", "t/b%201/t/c/0"),
            ("t/c", "t/b%201/t/c/0"),
            ("t/", "4 of 4"),
            ("", "4 of 4"),
            ("nowhere", "nothing"),
        ] {
            assert_eq!(key_of(&dir, wanted), key, "{wanted}");
        }
    }

    #[test]
    fn every_attempt_of_the_sample_and_of_no_other_comes_with_it() {
        let records = fixture::records();
        let (_kept, dir) = run(&records, 3);
        let Lookup::One(found) = find(&dir, records[7].key.as_str(), 20).unwrap() else { panic!() };
        assert_eq!(found.record, records[7]);
        let attempts: Vec<_> = found.trajectories.iter().map(|line| (line.attempt, &line.key)).collect();
        assert_eq!(attempts, [0, 1, 2].map(|at| (Some(at), &records[7].key)));
        let (_kept, dir) = run(&records, 0);
        let Lookup::One(found) = find(&dir, records[7].key.as_str(), 20).unwrap() else { panic!() };
        assert!(found.trajectories.is_empty());
    }

    #[test]
    fn lists_are_bounded_and_count_what_they_leave_out() {
        let (_kept, dir) = run(&fixture::records(), 0);
        let all = list(&dir, Which::All, 5).unwrap();
        assert_eq!((all.samples.len(), all.all), (5, 48));
        assert_eq!(
            (all.samples[0].outcome, all.samples[0].glance.as_str()),
            ("errored", "server: the server said 503")
        );
        let bad = list(&dir, Which::NotPassed, 50).unwrap();
        assert_eq!((bad.samples.len(), bad.all), (24, 24));
        assert!(bad.samples.iter().all(|sample| sample.outcome != "passed"));
        let Lookup::Several(found) = find(&dir, "item-1", 3).unwrap() else { panic!() };
        assert_eq!((found.samples.len(), found.all), (3, 12));
    }

    #[test]
    fn what_is_no_record_is_an_error_with_its_line() {
        let (_kept, dir) = run(&fixture::records()[..2], 0);
        let bytes = [lines(&fixture::records()[..2]), b"[]\n".to_vec()].concat();
        write_atomic(&dir.file(names::RECORDS), &bytes).unwrap();
        let error = list(&dir, Which::All, 5).unwrap_err();
        assert!(matches!(error, LookupError::Glance { line: 3, .. }), "{error}");
    }
}
