//! What the requests behind the answers of a run looked like.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::Path;

use proofmark_artefact::answerer::Answerer;
use proofmark_artefact::manifest::ModelEntry;
use proofmark_artefact::spill::{Duplicates, MARK, Place, Sorter, Walk, mark};
use proofmark_artefact::store::{Hashed, Lines, MAX_LINE, RunDir, names};
use proofmark_artefact::telemetry::{Attempt, AttemptOutcome};
use proofmark_artefact::text::excerpt;
use proofmark_canon::{Digest, json};

use super::Inputs;
use super::own::witness_of;
use crate::error::AuditError;
use crate::kept::MAX_EVIDENCE;
use crate::sample::{Contradiction, Requests, Sample};
use crate::shelf::SORT;

/// The most names of other models that are told apart.
const MAX_NAMES: usize = 1000;

/// Reads the telemetry of a run, where there is any.
pub(super) fn load_requests(dir: &RunDir, inputs: &mut Inputs) -> Result<(), AuditError> {
    let path = dir.file(names::TELEMETRY);
    if !path.is_file() {
        return Ok(());
    }
    let invoked_at = witness_of(dir).map(|block| block.invoked_at);
    let (requests, latencies, (digest, bytes)) = read_requests(&path, Reader::new(&dir.manifest().models, invoked_at))?;
    inputs.note_file(names::TELEMETRY, &digest, bytes);
    inputs.facts.requests = Some(requests);
    inputs.latencies = Some(latencies);
    Ok(())
}

fn read_requests(path: &Path, mut reader: Reader<'_>) -> Result<(Requests, Latencies, (Digest, u64)), AuditError> {
    let io = |source| AuditError::Io { path: path.to_owned(), source };
    let mut lines = Lines::new(Hashed::new(File::open(path).map_err(io)?), MAX_LINE);
    while let Some((number, attempt)) = next_attempt(&mut lines, path)? {
        reader.take(&attempt, number).map_err(AuditError::Scratch)?;
    }
    let digest = lines.drain().map_err(io)?.finish();
    let Reader { mut requests, mut odd, ids, latencies, .. } = reader;
    let repeated = ids.finish(MAX_EVIDENCE).map_err(AuditError::Scratch)?;
    odd.total += repeated.total;
    let mut wanted: BTreeSet<u64> = repeated.earliest.iter().map(|twice| twice.again.number).collect();
    // Who repeats an id is read once more: nobody does in an honest run.
    let mut lines = Lines::new(File::open(path).map_err(io)?, MAX_LINE);
    while !wanted.is_empty()
        && let Some((number, attempt)) = next_attempt(&mut lines, path)?
    {
        if wanted.remove(&number) {
            odd.keep(repeated_id(&attempt, number));
        }
    }
    requests.odd_omitted = odd.total - odd.all.len() as u64;
    requests.odd = odd.all.into_values().collect();
    Ok((requests, Latencies::new(latencies).map_err(AuditError::Scratch)?, digest))
}

fn next_attempt<R: io::Read>(lines: &mut Lines<R>, path: &Path) -> Result<Option<(u64, Attempt)>, AuditError> {
    let line = lines.next_line().map_err(|source| AuditError::Line { path: path.to_owned(), source })?;
    let Some(line) = line else { return Ok(None) };
    let number = line.number;
    let value = json::parse(line.bytes).map_err(|source| AuditError::NotJson {
        path: path.to_owned(),
        line: number,
        source,
    })?;
    let attempt: Attempt = json::from_value(&value).map_err(|error| AuditError::Shape {
        path: path.to_owned(),
        place: format!("line {number}"),
        message: error.to_string(),
    })?;
    Ok(Some((number, attempt)))
}

/// How long samples took.
pub struct Latencies {
    walk: Walk<LATENCY>,
    next: Option<[u8; LATENCY]>,
}

/// The ordinal of the sample, the line of the attempt, the mark of the sample's key and the time.
const LATENCY: usize = 8 + 8 + MARK + 8;

impl Latencies {
    fn new(sorter: Sorter<LATENCY>) -> io::Result<Self> {
        let mut walk = sorter.finish()?.into_walk()?;
        let next = walk.next().transpose()?;
        Ok(Self { walk, next })
    }

    /// The time of all answers to a sample. Samples are asked for in their order.
    pub fn of(&mut self, ordinal: u64, sample: &Sample) -> io::Result<Option<f64>> {
        let key = mark(sample.id.as_bytes());
        let mut sum = None;
        while let Some(entry) = self.next.filter(|entry| entry[..8] <= ordinal.to_be_bytes()[..]) {
            if entry[..8] == ordinal.to_be_bytes() && entry[16..16 + MARK] == key {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(&entry[16 + MARK..]);
                *sum.get_or_insert(0.0) += f64::from_be_bytes(bytes);
            }
            self.next = self.walk.next().transpose()?;
        }
        Ok(sum)
    }
}

/// What is odd, by line.
#[derive(Default)]
struct Odd {
    /// The earliest of them. A line may have several.
    all: BTreeMap<(u64, usize), Contradiction>,
    total: u64,
}

impl Odd {
    /// Keeps one that is counted already.
    fn keep(&mut self, (line, odd): (u64, Contradiction)) {
        self.all.insert((line, self.all.len()), odd);
        if self.all.len() > MAX_EVIDENCE {
            self.all.pop_last();
        }
    }
}

struct Reader<'a> {
    models: &'a [ModelEntry],
    invoked_at: Option<String>,
    requests: Requests,
    odd: Odd,
    ids: Duplicates,
    latencies: Sorter<LATENCY>,
    /// Models and names that were reported already.
    reported: BTreeSet<(String, String)>,
}

impl<'a> Reader<'a> {
    fn new(models: &'a [ModelEntry], invoked_at: Option<String>) -> Self {
        Self {
            models,
            invoked_at,
            requests: Requests::default(),
            odd: Odd::default(),
            ids: Duplicates::new(SORT, None),
            latencies: Sorter::new(SORT, None),
            reported: BTreeSet::new(),
        }
    }

    fn take(&mut self, attempt: &Attempt, line: u64) -> io::Result<()> {
        let is_http = attempt.endpoint.starts_with("http://") || attempt.endpoint.starts_with("https://");
        if attempt.outcome != AttemptOutcome::Answered || !is_http {
            return Ok(());
        }
        self.requests.samples += 1;
        // A call that a cassette answers takes no time worth a thought.
        if attempt.request_digest.is_none() {
            let mut entry = [0; LATENCY];
            entry[..8].copy_from_slice(&attempt.ordinal.to_be_bytes());
            entry[8..16].copy_from_slice(&line.to_be_bytes());
            entry[16..16 + MARK].copy_from_slice(&mark(attempt.key.as_bytes()));
            entry[16 + MARK..].copy_from_slice(&attempt.latency_ms.to_be_bytes());
            self.latencies.push(entry)?;
        }
        if let Some(id) = attempt.request_id.as_deref().filter(|id| !id.is_empty()) {
            self.requests.with_id += 1;
            self.ids.push(mark(id.as_bytes()), Place { file: 0, number: line })?;
        }
        self.model(attempt, line);
        let second = |moment: &str| moment.get(..19).map(str::to_owned);
        if let (Some(at), Some(start)) = (second(&attempt.at), self.invoked_at.as_deref().and_then(second))
            && at < start
        {
            let message = format!("the request was sent at {at}, before the run began at {start}");
            self.odd("before_the_run", attempt, line, message);
        }
        if attempt.latency_ms < 0.0 {
            let message = format!("the answer took {} milliseconds", attempt.latency_ms);
            self.odd("impossible_latency", attempt, line, message);
        }
        Ok(())
    }

    fn model(&mut self, attempt: &Attempt, line: u64) {
        let Some(name) = attempt.model_returned.as_deref().filter(|name| !name.is_empty()) else { return };
        let Some(model) = self.models.iter().find(|model| model.id == attempt.model) else { return };
        if model.answerer(name) != Answerer::Another {
            return;
        }
        let pair = (attempt.model.clone(), excerpt(name, 200));
        if self.reported.contains(&pair) {
            return;
        }
        if self.reported.len() < MAX_NAMES {
            self.reported.insert(pair);
        }
        let message = format!(
            "the provider says that `{}` has answered, declared is `{}`",
            excerpt(name, 80),
            excerpt(&model.model, 80)
        );
        self.odd("other_model", attempt, line, message);
    }

    fn odd(&mut self, finding: &'static str, attempt: &Attempt, line: u64, message: String) {
        self.odd.total += 1;
        if self.odd.all.len() < MAX_EVIDENCE {
            self.odd.keep((line, odd(finding, attempt, line, message)));
        }
    }
}

fn repeated_id(attempt: &Attempt, line: u64) -> (u64, Contradiction) {
    let id = excerpt(attempt.request_id.as_deref().unwrap_or_default(), 80);
    let message = format!("the request id `{id}` stands at another answer too");
    (line, odd("repeated_request_id", attempt, line, message))
}

fn odd(finding: &'static str, attempt: &Attempt, line: u64, message: String) -> Contradiction {
    Contradiction {
        finding,
        sample: Some(excerpt(&attempt.key, 200)),
        place: Some(format!("{} line {line}", names::TELEMETRY)),
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_artefact::store::write_atomic;
    use proofmark_canon::Map;

    fn attempt(ordinal: u64, id: Option<&str>) -> Attempt {
        Attempt {
            at: "2026-11-16T00:00:05.000Z".into(),
            attempt: 1,
            cached_input_tokens: None,
            call: 0,
            class: None,
            endpoint: "https://api.example/v1".into(),
            first_byte_ms: None,
            key: format!("t/{ordinal}/m/c/0"),
            latency_ms: 20.0,
            model: "m".into(),
            model_returned: Some("gpt-x-2026-01-31".into()),
            ordinal,
            outcome: AttemptOutcome::Answered,
            request_bytes: 1,
            request_digest: None,
            request_id: id.map(str::to_owned),
            response_bytes: 1,
            retry_after_ms: None,
            status: Some(200),
            waited_ms: 0.0,
        }
    }

    fn load(attempts: &[Attempt]) -> (Requests, Latencies) {
        let models = [ModelEntry {
            asked: None,
            id: "m".into(),
            model: "openai:gpt-x".into(),
            params: Map::new(),
            price: None,
            provider: "openai".into(),
            seed: None,
        }];
        let lines = attempts.iter().flat_map(|attempt| [json::to_vec(attempt).unwrap(), b"\n".to_vec()].concat());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("telemetry.jsonl");
        write_atomic(&path, &lines.collect::<Vec<u8>>()).unwrap();
        let reader = Reader::new(&models, Some("2026-11-16T00:00:00Z".into()));
        let (requests, latencies, _) = read_requests(&path, reader).unwrap();
        (requests, latencies)
    }

    fn read(attempts: &[Attempt]) -> (Vec<&'static str>, u64, u64) {
        let requests = load(attempts).0;
        (requests.odd.iter().map(|odd| odd.finding).collect(), requests.samples, requests.with_id)
    }

    #[test]
    fn many_ids_that_stand_twice_are_counted_and_the_earliest_are_told() {
        let ids: Vec<String> = (0..150).chain(0..150).map(|n| format!("r{n}")).collect();
        let mut attempts: Vec<Attempt> = (0..).zip(&ids).map(|(at, id)| attempt(at, Some(id))).collect();
        attempts[200].latency_ms = -1.0;
        let requests = load(&attempts).0;
        assert_eq!((requests.odd.len(), requests.odd_omitted), (MAX_EVIDENCE, 51));
        let at = |n: usize| (requests.odd[n].finding, requests.odd[n].place.as_deref().unwrap_or_default());
        assert_eq!(at(0), ("repeated_request_id", "telemetry.jsonl line 151"));
        assert_eq!(at(50), ("impossible_latency", "telemetry.jsonl line 201"));
        assert_eq!(at(51), ("repeated_request_id", "telemetry.jsonl line 201"));
    }

    #[test]
    fn the_time_of_a_sample_is_that_of_all_its_answers() {
        let replayed = Attempt { request_digest: Some(Digest::of(b"x")), ..attempt(1, None) };
        let foreign = Attempt { key: "t/9/m/c/0".into(), ..attempt(1, None) };
        let mut latencies = load(&[attempt(2, None), attempt(1, None), replayed, foreign, attempt(1, None)]).1;
        let mut of = |ordinal: u64| {
            let sample = Sample { id: format!("t/{ordinal}/m/c/0"), ..Sample::default() };
            latencies.of(ordinal, &sample).unwrap()
        };
        assert_eq!((of(0), of(1), of(2), of(3)), (None, Some(40.0), Some(20.0), None));
    }

    #[test]
    fn requests_that_no_provider_answered_so_are_odd() {
        let (a, b) = (attempt(0, Some("r1")), attempt(1, Some("r2")));
        assert_eq!(read(&[a.clone(), b.clone()]), (vec![], 2, 2));
        assert_eq!(read(&[a.clone(), attempt(1, Some("r1"))]), (vec!["repeated_request_id"], 2, 2));
        assert_eq!(read(&[a.clone(), attempt(1, None), attempt(2, Some(""))]), (vec![], 3, 1));
        let other = Attempt { model_returned: Some("gpt-y".into()), ..b.clone() };
        assert_eq!(read(&[other.clone(), Attempt { request_id: Some("r3".into()), ..other }]).0, ["other_model"]);
        assert_eq!(read(&[Attempt { at: "2026-11-15T23:59:59Z".into(), ..b.clone() }]).0, ["before_the_run"]);
        assert_eq!(read(&[Attempt { latency_ms: -1.0, ..b.clone() }]).0, ["impossible_latency"]);
        let program = Attempt { endpoint: "program".into(), ..b.clone() };
        assert_eq!(read(&[program, Attempt { outcome: AttemptOutcome::Retried, ..b }]), (vec![], 0, 0));
    }
}
