//! The providers' names of the calls that were answered, out of `telemetry.jsonl`.

use std::collections::BTreeMap;
use std::io::Read;

use proofmark_canon::json::{self, ParseError, ShapeError};
use serde::Deserialize;

use crate::store::{LineError, Lines};
use crate::telemetry::AttemptOutcome;

/// The ids of each model's successful calls, in record order.
pub type RequestIds = BTreeMap<String, Vec<String>>;

/// The telemetry cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestsError {
    #[error(transparent)]
    Line(#[from] LineError),
    #[error("line {line} is not JSON")]
    NotJson { line: u64, source: ParseError },
    #[error("line {line} does not have the shape of an attempt")]
    Shape { line: u64, source: ShapeError },
    #[error("line {line} has no line end")]
    Torn { line: u64 },
}

/// An id, and where it stands: ordinal, call, attempt.
type Placed = ((u64, u32, u32), String);

/// The longest line: an attempt is a few hundred bytes.
const MAX_LINE: usize = 1 << 20;

/// Collects one id for each successful call, by model, in the order of the records, then of a sample's calls.
///
/// A call that was answered just before a kill is made again when the run is resumed. Both were made and both are
/// listed, in the order in which they were.
pub fn request_ids(telemetry: impl Read) -> Result<RequestIds, RequestsError> {
    /// What is needed of an attempt.
    #[derive(Deserialize)]
    struct Seen {
        attempt: u32,
        call: u32,
        model: String,
        ordinal: u64,
        outcome: AttemptOutcome,
        request_id: Option<String>,
    }
    let mut found: BTreeMap<String, Vec<Placed>> = BTreeMap::new();
    let mut lines = Lines::new(telemetry, MAX_LINE);
    while let Some(line) = lines.next_line()? {
        let number = line.number;
        if !line.ended {
            return Err(RequestsError::Torn { line: number });
        }
        let value = json::parse(line.bytes).map_err(|source| RequestsError::NotJson { line: number, source })?;
        let seen: Seen = json::from_value(&value).map_err(|source| RequestsError::Shape { line: number, source })?;
        if let (AttemptOutcome::Answered, Some(id)) = (seen.outcome, seen.request_id) {
            found.entry(seen.model).or_default().push(((seen.ordinal, seen.call, seen.attempt), id));
        }
    }
    let in_order = |mut ids: Vec<Placed>| {
        // Stable: what has the same place keeps the order of the file.
        ids.sort_by_key(|(place, _)| *place);
        ids.into_iter().map(|(_, id)| id).collect()
    };
    Ok(found.into_iter().map(|(model, ids)| (model, in_order(ids))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Attempt;

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
        let ids = request_ids(text.as_bytes()).unwrap();
        let of = |model: &str| ids[model].iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(of("a"), ["a0 first", "a0 again", "a4.0", "a4.1", "a10"]);
        assert_eq!(of("b"), ["b7"]);
        assert!(request_ids(&b""[..]).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_attempt_is_an_error_with_its_line() {
        let good = attempt("a", (0, 0, 1), AttemptOutcome::Answered, None);
        for (text, want) in [
            (format!("{good}{{"), "line 2 has no line end"),
            (format!("{good}{{\n"), "line 2 is not JSON"),
            (format!("{good}{{}}\n"), "line 2 does not have the shape of an attempt"),
            ("x".repeat(MAX_LINE + 2), "line 1 is longer than"),
        ] {
            let error = request_ids(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(want), "{error}");
        }
    }
}
