//! What the requests behind the answers of a run looked like.

use std::collections::{BTreeSet, HashSet};

use proofmark_artefact::answerer::Answerer;
use proofmark_artefact::manifest::ModelEntry;
use proofmark_artefact::store::{Hashed, Lines, MAX_LINE, RunDir, names};
use proofmark_artefact::telemetry::{Attempt, AttemptOutcome};
use proofmark_artefact::text::excerpt;
use proofmark_canon::{Digest, json};

use super::Inputs;
use super::own::witness_of;
use crate::error::AuditError;
use crate::kept::MAX_EVIDENCE;
use crate::sample::{Contradiction, Requests, Sample};

/// Reads the telemetry of a run, where there is any.
pub(super) fn load_requests(dir: &RunDir, inputs: &mut Inputs) -> Result<(), AuditError> {
    let path = dir.file(names::TELEMETRY);
    if !path.is_file() {
        return Ok(());
    }
    let io = |source| AuditError::Io { path: path.clone(), source };
    let invoked_at = witness_of(dir).map(|block| block.invoked_at);
    let mut reader = Reader { models: &dir.manifest().models, invoked_at, ..Reader::default() };
    let mut lines = Lines::new(Hashed::new(std::fs::File::open(&path).map_err(io)?), MAX_LINE);
    while let Some(line) = lines.next_line().map_err(|source| AuditError::Line { path: path.clone(), source })? {
        let number = line.number;
        let value = json::parse(line.bytes).map_err(|source| AuditError::NotJson {
            path: path.clone(),
            line: number,
            source,
        })?;
        let attempt: Attempt = json::from_value(&value).map_err(|error| AuditError::Shape {
            path: path.clone(),
            place: format!("line {number}"),
            message: error.to_string(),
        })?;
        reader.take(&attempt, number, &mut inputs.samples);
    }
    let (digest, bytes) = lines.drain().map_err(io)?.finish();
    inputs.note_file(names::TELEMETRY, &digest, bytes);
    inputs.facts.requests = Some(reader.requests);
    Ok(())
}

#[derive(Default)]
struct Reader<'a> {
    models: &'a [ModelEntry],
    invoked_at: Option<String>,
    requests: Requests,
    /// Half of a digest tells ids apart as well as the ids, in less memory.
    ids: HashSet<[u8; 16]>,
    /// Models and names that were reported already.
    reported: BTreeSet<(String, String)>,
}

impl Reader<'_> {
    fn take(&mut self, attempt: &Attempt, line: u64, samples: &mut [Sample]) {
        let is_http = attempt.endpoint.starts_with("http://") || attempt.endpoint.starts_with("https://");
        if attempt.outcome != AttemptOutcome::Answered || !is_http {
            return;
        }
        self.requests.samples += 1;
        // A call that a cassette answers takes no time worth a thought.
        if attempt.request_digest.is_none()
            && let Some(sample) = samples.get_mut(attempt.ordinal as usize).filter(|sample| sample.id == attempt.key)
        {
            *sample.latency_ms.get_or_insert(0.0) += attempt.latency_ms;
        }
        match attempt.request_id.as_deref().filter(|id| !id.is_empty()) {
            None => {}
            Some(id) => {
                self.requests.with_id += 1;
                let mut half = [0; 16];
                half.copy_from_slice(&Digest::of(id.as_bytes()).as_bytes()[..16]);
                if !self.ids.insert(half) {
                    let message = format!("the request id `{}` stands at another answer too", excerpt(id, 80));
                    self.odd("repeated_request_id", attempt, line, message);
                }
            }
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
    }

    fn model(&mut self, attempt: &Attempt, line: u64) {
        let Some(name) = attempt.model_returned.as_deref().filter(|name| !name.is_empty()) else { return };
        let Some(model) = self.models.iter().find(|model| model.id == attempt.model) else { return };
        if model.answerer(name) != Answerer::Another || !self.reported.insert((attempt.model.clone(), name.to_owned()))
        {
            return;
        }
        let message = format!(
            "the provider says that `{}` has answered, declared is `{}`",
            excerpt(name, 80),
            excerpt(&model.model, 80)
        );
        self.odd("other_model", attempt, line, message);
    }

    fn odd(&mut self, finding: &'static str, attempt: &Attempt, line: u64, message: String) {
        if self.requests.odd.len() >= MAX_EVIDENCE {
            self.requests.odd_omitted += 1;
            return;
        }
        self.requests.odd.push(Contradiction {
            finding,
            sample: Some(excerpt(&attempt.key, 200)),
            place: Some(format!("{} line {line}", names::TELEMETRY)),
            message,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    fn read(attempts: &[Attempt]) -> (Vec<&'static str>, u64, u64) {
        let models = [ModelEntry {
            asked: None,
            id: "m".into(),
            model: "openai:gpt-x".into(),
            params: Map::new(),
            price: None,
            provider: "openai".into(),
            seed: None,
        }];
        let mut reader =
            Reader { models: &models, invoked_at: Some("2026-11-16T00:00:00Z".into()), ..Reader::default() };
        for (at, attempt) in attempts.iter().enumerate() {
            reader.take(attempt, at as u64 + 1, &mut []);
        }
        let names = reader.requests.odd.iter().map(|odd| odd.finding).collect();
        (names, reader.requests.samples, reader.requests.with_id)
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
