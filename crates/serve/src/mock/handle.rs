//! One request, from its head to its reply.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode};
use proofmark_canon::Digest;
use serde_json::Value;

use super::alarm;
use super::answer::{Answer, fingerprint};
use super::body::{Broken, Outgoing};
use super::config::{Config, Times};
use super::fault::Fault;
use super::limit::Bucket;
use super::log::{Line, Log};
use super::route::{Endpoint, Provider, Route, decode, query};
use super::stats::{Counts, Why};
use super::wire::{self, Content, Problem};

/// The largest request.
const MAX_BODY: usize = 64 << 20;
const HTML: &str = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n\
    <center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n";

/// What all connections share.
pub(super) struct State {
    config: Config,
    pub(super) counts: Arc<Counts>,
    log: Option<Log>,
    bucket: Option<Bucket>,
    number: AtomicU64,
    /// How often each request came and failed, where anybody wants to know.
    seen: Mutex<HashMap<[u8; 16], Seen>>,
}

#[derive(Default)]
struct Seen {
    attempts: u32,
    failures: u32,
}

/// What becomes of a request.
struct Verdict {
    why: Option<Why>,
    wait: Duration,
    outcome: Outcome,
    is_streamed: bool,
}

enum Outcome {
    Reply {
        status: u16,
        content: Content,
    },
    /// The connection is reset.
    Reset,
    /// Nothing comes until the client gives up.
    Stall,
}

impl State {
    pub(super) fn new(config: Config, log: Option<Log>) -> Self {
        let bucket = config.rate_limit.map(|limit| Bucket::new(limit, Instant::now()));
        Self { config, counts: Arc::default(), log, bucket, number: AtomicU64::new(0), seen: Mutex::default() }
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// Answers a request. `Err` breaks the connection; `reset` is called first when it is to be a hard one.
    pub(super) async fn handle(
        &self,
        request: Request<Incoming>,
        reset: impl FnOnce(),
    ) -> Result<Response<Outgoing>, Broken> {
        let arrived = tokio::time::Instant::now();
        let (head, body) = request.into_parts();
        let route = Route::of(&head.method, &head.uri);
        self.counts.path(route.endpoint);
        if route.endpoint == Endpoint::Stats {
            let stats = serde_json::to_vec_pretty(&self.counts.now()).map_err(|_| Broken)?;
            return response(200, "application/json", Outgoing::whole(stats));
        }
        let (in_flight, at_once) = self.counts.enter();
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let provider = provider(&route, &head.headers);
        let request_id = wire::request_id(provider, number);
        let body = collect(body).await?;
        let digest = Digest::of(body.as_deref().unwrap_or_default());
        let attempt = self.count_attempt(head.uri.path(), &digest);
        let id = request_id.as_ref().map(|(_, id)| id.as_str());
        let fail = |problem: &Problem| Outcome::Reply {
            status: problem.status(provider),
            content: Content::Json(wire::error(provider, problem, id, self.config.retry_after_secs)),
        };
        let verdict = match body {
            None => Verdict::problem(fail(&Problem::TooLarge)),
            Some(body) => match self.check(&head, &route, provider, at_once) {
                Err((problem, why)) => Verdict { why, ..Verdict::problem(fail(&problem)) },
                Ok(()) if !route.endpoint.asks() => Verdict::problem(Outcome::Reply {
                    status: 200,
                    content: Content::Json(wire::models(route.endpoint, provider)),
                }),
                Ok(()) => self.judge(&head, &route, number, &body, &digest, &fail),
            },
        };
        self.note(&head, provider, number, digest, attempt, &verdict);
        // What is left to do after the wait is to send: the time it takes to think is part of a provider's latency.
        let due = (!verdict.wait.is_zero()).then(|| arrived + verdict.wait);
        let (status, content) = match verdict.outcome {
            Outcome::Reply { status, content } => (status, content),
            Outcome::Reset => {
                alarm::wait_until(due).await;
                reset();
                return Err(Broken);
            }
            Outcome::Stall => std::future::pending().await,
        };
        let damage = if let Some(Why::Fault(fault)) = verdict.why { Some(fault) } else { None };
        let (kind, outgoing, announced) = self.pack(content, damage);
        let mut response = response(status, kind, outgoing.holding(in_flight))?;
        let headers = response.headers_mut();
        if let Some((name, id)) = request_id {
            headers.insert(HeaderName::from_static(name), HeaderValue::try_from(id).map_err(|_| Broken)?);
        }
        if let Some(length) = announced {
            headers.insert(CONTENT_LENGTH, length.into());
        }
        if let Some(seconds) = self.config.retry_after_secs.filter(|_| status == 429) {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        alarm::wait_until(due).await;
        Ok(response)
    }

    /// What is looked at before the body: the path, the key, the limits.
    fn check(
        &self,
        head: &Parts,
        route: &Route,
        provider: Provider,
        at_once: u64,
    ) -> Result<(), (Problem, Option<Why>)> {
        if route.endpoint == Endpoint::Unknown {
            return Err((Problem::NotFound, None));
        }
        if route.is_wrong_method {
            return Err((Problem::WrongMethod, None));
        }
        let key = key(head, provider);
        match (&key, &self.config.key) {
            (None, Some(_)) => return Err((Problem::NoKey, None)),
            (None, None) if provider == Provider::Anthropic => return Err((Problem::NoKey, None)),
            (Some(given), Some(right)) if given != right.reveal() => return Err((Problem::WrongKey, None)),
            _ => {}
        }
        if provider == Provider::Anthropic && !head.headers.contains_key("anthropic-version") {
            return Err((Problem::BadRequest("anthropic-version: header is required".to_owned()), None));
        }
        if !route.endpoint.asks() {
            return Ok(());
        }
        if self.config.max_concurrent.is_some_and(|most| at_once > u64::from(most)) {
            let problem = if provider == Provider::Anthropic { Problem::Overloaded } else { Problem::RateLimited };
            return Err((problem, Some(Why::MaxConcurrent)));
        }
        if self.bucket.as_ref().is_some_and(|bucket| !bucket.take(Instant::now())) {
            return Err((Problem::RateLimited, Some(Why::RateLimit)));
        }
        Ok(())
    }

    /// Decides what is answered, and what goes wrong with it.
    fn judge(
        &self,
        head: &Parts,
        route: &Route,
        number: u64,
        body: &[u8],
        digest: &Digest,
        fail: &dyn Fn(&Problem) -> Outcome,
    ) -> Verdict {
        let path = head.uri.path();
        let parsed = serde_json::from_slice::<Value>(body).map_err(|error| format!("the body is not JSON: {error}"));
        let mut asked = match parsed.and_then(|body| wire::read(route, &body)) {
            Ok(asked) => asked,
            Err(why) => return Verdict::problem(fail(&Problem::BadRequest(why))),
        };
        let fault = self.config.faults.of(path, digest).filter(|fault| wire::can_fail(route, &asked, *fault));
        let fault = fault.filter(|_| self.count_failure(path, digest));
        let outcome = match fault {
            Some(Fault::RateLimited) => fail(&Problem::RateLimited),
            Some(Fault::ServerError) => fail(&Problem::Server),
            Some(Fault::Overloaded) => fail(&Problem::Overloaded),
            Some(Fault::BadRequest) => fail(&Problem::BadRequest("a value in the request is not valid".to_owned())),
            Some(Fault::ContextLength) => fail(&Problem::TooLong),
            Some(Fault::Reset) => Outcome::Reset,
            Some(Fault::Stall) => Outcome::Stall,
            Some(Fault::Html) => {
                Outcome::Reply { status: 502, content: Content::Bytes("text/html", HTML.as_bytes().to_vec()) }
            }
            _ => {
                let model = self.config.answer_as.clone().unwrap_or_else(|| std::mem::take(&mut asked.model));
                let answer = Answer::to(&asked, number, model, &self.config.answers, fault);
                match wire::write(route, asked.is_streamed, &answer) {
                    Ok(content) => Outcome::Reply { status: 200, content },
                    Err(problem) => fail(&problem),
                }
            }
        };
        // A refusal costs a provider nothing, so it comes at once.
        let wait = match fault {
            Some(Fault::RateLimited | Fault::Overloaded | Fault::BadRequest | Fault::ContextLength) => Duration::ZERO,
            _ => self.config.latency.of(path, digest),
        };
        Verdict { why: fault.map(Why::Fault), wait, outcome, is_streamed: asked.is_streamed }
    }

    /// Makes bytes of a content, and damages them. Returns the media type, the body, and a length to announce that
    /// is not the body's own.
    fn pack(&self, content: Content, damage: Option<Fault>) -> (&'static str, Outgoing, Option<u64>) {
        let (kind, outgoing) = match (content, damage) {
            (Content::Json(_), Some(Fault::Malformed)) => ("application/json", Outgoing::whole(MALFORMED.to_vec())),
            (Content::Json(value), _) => ("application/json", Outgoing::whole(value.to_string().into_bytes())),
            (Content::Bytes(kind, bytes), _) => (kind, Outgoing::whole(bytes)),
            (Content::Stream(kind, mut parts), Some(Fault::Malformed)) => {
                let middle = parts.len() / 2;
                if let Some(part) = parts.get_mut(middle) {
                    let is_event = part.starts_with(b"data:") || part.starts_with(b"event:");
                    *part =
                        if is_event { [b"data: ", MALFORMED, b"\n\n"].concat() } else { [MALFORMED, b"\n"].concat() };
                }
                (kind, Outgoing::stream(parts))
            }
            (Content::Stream(kind, mut parts), Some(Fault::StreamCut)) => {
                parts.truncate(parts.len() / 2);
                (kind, Outgoing::stream(parts))
            }
            (Content::Stream(kind, parts), _) => (kind, Outgoing::stream(parts)),
        };
        match damage {
            Some(Fault::Truncated) => {
                let announced = outgoing.is_whole().then_some(outgoing.len() as u64);
                (kind, outgoing.broken(), announced)
            }
            Some(Fault::Slow) => (kind, outgoing.slow(self.config.slow()), None),
            _ => (kind, outgoing, None),
        }
    }

    /// Counts that a request came; returns how often it did. Always 1 when nobody asks.
    fn count_attempt(&self, path: &str, digest: &Digest) -> u32 {
        if self.log.is_none() {
            return 1;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.entry(fingerprint(path, digest)).or_default();
        seen.attempts = seen.attempts.saturating_add(1);
        seen.attempts
    }

    /// Counts that a request fails; false when it has failed often enough.
    fn count_failure(&self, path: &str, digest: &Digest) -> bool {
        let Times::AtMost(most) = self.config.fault_times else { return true };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.entry(fingerprint(path, digest)).or_default();
        let fails = seen.failures < most;
        seen.failures += u32::from(fails);
        fails
    }

    fn note(&self, head: &Parts, provider: Provider, number: u64, body: Digest, attempt: u32, verdict: &Verdict) {
        let status = if let Outcome::Reply { status, .. } = &verdict.outcome { Some(*status) } else { None };
        if let Some(why) = verdict.why {
            self.counts.fault(why);
        }
        if let Some(status) = status {
            self.counts.status(status);
        }
        if let Some(log) = &self.log {
            log.write(&Line {
                request: number,
                method: head.method.as_str(),
                path: head.uri.path(),
                body,
                attempt,
                key: key(head, provider).is_some(),
                stream: verdict.is_streamed,
                fault: verdict.why.map(Why::as_str),
                status,
            });
        }
    }
}

/// What is sent where JSON was expected.
const MALFORMED: &[u8] = b"{\"id\": oops, \"this is\": not JSON}";

impl Verdict {
    /// At once, and nobody's fault.
    fn problem(outcome: Outcome) -> Self {
        Self { why: None, wait: Duration::ZERO, outcome, is_streamed: false }
    }
}

/// Whose client it is. A list of models has one path for two providers.
fn provider(route: &Route, headers: &HeaderMap) -> Provider {
    match route.endpoint {
        Endpoint::Models if headers.contains_key("anthropic-version") => Provider::Anthropic,
        endpoint => endpoint.provider(),
    }
}

/// The key that came, in the header that is the provider's own.
fn key(head: &Parts, provider: Provider) -> Option<String> {
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = || header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let key = match provider {
        Provider::Anthropic => header("x-api-key").or_else(bearer),
        Provider::Gemini => {
            return header("x-goog-api-key").map(str::to_owned).or_else(|| query(&head.uri, "key").map(decode));
        }
        // Azure has a header of its own.
        Provider::OpenAi => bearer().or_else(|| header("api-key")),
        _ => bearer(),
    };
    key.filter(|key| !key.is_empty()).map(str::to_owned)
}

/// Reads a body to its end; `None` when it is too long.
async fn collect(mut body: Incoming) -> Result<Option<Vec<u8>>, Broken> {
    let announced = body.size_hint().lower();
    if announced > MAX_BODY as u64 {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity((announced as usize).min(1 << 20));
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(frame) = frame else { return Err(Broken) };
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > MAX_BODY {
                return Ok(None);
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(Some(bytes))
}

fn response(status: u16, kind: &'static str, body: Outgoing) -> Result<Response<Outgoing>, Broken> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).map_err(|_| Broken)?;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}
