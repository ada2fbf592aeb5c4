//! A model's view of a cassette: how its requests are named, and what telemetry says of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proofmark_artefact::suite::plan::ModelPlan;
use proofmark_artefact::telemetry::{Attempt, AttemptOutcome};
use proofmark_canon::{Digest, id};

use super::Cassette;
use super::entry::{Answer, Question, RequestDigest};
use crate::ask::{Ask, AttemptLog, Reply, Turn};

/// What stands in telemetry instead of an address.
pub(crate) const ENDPOINT: &str = "cassette";

/// One model's part of a cassette.
pub(crate) struct Tape {
    pub(crate) cassette: Arc<Cassette>,
    provider: String,
    model: String,
    headers: Option<Digest>,
}

impl Tape {
    pub(crate) fn new(cassette: &Arc<Cassette>, plan: &ModelPlan) -> Self {
        Self {
            cassette: Arc::clone(cassette),
            provider: plan.provider().to_owned(),
            model: plan.model_id().to_owned(),
            headers: Question::headers_digest(&plan.headers),
        }
    }

    /// The request as the cassette knows it. `body` is canonical JSON.
    pub(crate) fn question(&self, ask: &Ask<'_>, path: &str, body: &[u8]) -> Question {
        Question {
            body: String::from_utf8_lossy(body).into_owned(),
            headers: self.headers,
            model: self.model.clone(),
            path: path.to_owned(),
            provider: self.provider.clone(),
            seed: ask.request.seed.get(),
        }
    }
}

/// Adds the request's name to everything that telemetry hears.
pub(crate) struct Marked<'a> {
    log: &'a dyn AttemptLog,
    digest: RequestDigest,
    has_heard: AtomicBool,
}

impl<'a> Marked<'a> {
    pub(crate) fn new(log: &'a dyn AttemptLog, digest: RequestDigest) -> Self {
        Self { log, digest, has_heard: AtomicBool::new(false) }
    }

    /// Whether there was any attempt.
    pub(crate) fn has_heard(&self) -> bool {
        self.has_heard.load(Ordering::Relaxed)
    }
}

impl AttemptLog for Marked<'_> {
    fn attempt(&self, attempt: &Attempt) {
        self.has_heard.store(true, Ordering::Relaxed);
        self.log.attempt(&Attempt { request_digest: Some(self.digest.get()), ..attempt.clone() });
    }

    fn sent(&self) {
        self.log.sent();
    }
}

/// What telemetry says of a question that was not sent anywhere.
pub(crate) struct Unsent<'a> {
    /// The model's id in the suite.
    pub(crate) id: &'a str,
    /// Milliseconds since 1970.
    pub(crate) at: u64,
    pub(crate) endpoint: &'a str,
    pub(crate) reply: &'a Reply,
    /// Where the reply comes from a cassette.
    pub(crate) answer: Option<&'a Answer>,
    pub(crate) request_bytes: u64,
}

impl Unsent<'_> {
    pub(crate) fn tell(&self, ask: &Ask<'_>) {
        let (outcome, class, model_returned) = match self.reply {
            Reply::Answered { output, .. } => (AttemptOutcome::Answered, None, output.answered_by.clone()),
            Reply::Failed { class, .. } => (AttemptOutcome::Failed, Some(class.clone()), None),
        };
        let (status, headers, response_bytes) = match self.answer {
            Some(Answer::Http { body, headers, status }) => (Some(*status), Some(headers), body.len() as u64),
            _ => (None, None, 0),
        };
        ask.log.attempt(&Attempt {
            at: id::rfc3339(self.at),
            attempt: 1,
            cached_input_tokens: None,
            call: calls_before(ask),
            class,
            endpoint: self.endpoint.to_owned(),
            first_byte_ms: None,
            key: ask.hint.key.to_owned(),
            latency_ms: 0.0,
            model: self.id.to_owned(),
            model_returned,
            ordinal: ask.hint.ordinal,
            outcome,
            request_bytes: self.request_bytes,
            request_digest: None,
            request_id: headers.and_then(request_id),
            response_bytes,
            retry_after_ms: None,
            status: status.map(i32::from),
            waited_ms: 0.0,
        });
    }
}

/// Headers in which providers name a request, the most telling first.
pub(crate) const REQUEST_IDS: [&str; 6] =
    ["request-id", "x-request-id", "x-goog-request-id", "apim-request-id", "x-amzn-requestid", "cf-ray"];

fn request_id(headers: &BTreeMap<String, String>) -> Option<String> {
    REQUEST_IDS.iter().find_map(|name| headers.get(*name)).cloned()
}

/// How many calls of the sample came before this one.
pub(crate) fn calls_before(ask: &Ask<'_>) -> u32 {
    ask.request.turns.iter().filter(|turn| matches!(turn, Turn::Model { .. })).count() as u32
}
