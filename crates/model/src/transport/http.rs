//! One exchange: a request out, a reply in, within its deadlines.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::broken::PROXY_REFUSES;
use super::link::{Cut, Link, Reply};
use super::retry::ComeBack;
use crate::cassette::tape::REQUEST_IDS;
use crate::class::Class;
use crate::wire::frame::Frames;
use crate::wire::{Assemble, Completion, Refused, Then, Wire, WireError};

/// The largest reply: pictures come as text inside of JSON.
const MAX_REPLY: usize = 128 << 20;
/// The largest reply of an error.
const MAX_REFUSAL: usize = 64 << 10;
/// A reply from here on waits for its turn.
const LARGE: u64 = 4 << 20;
/// How long the end of a stream may take after its last event.
const LONGEST_REST: Duration = Duration::from_secs(2);

/// When a reply must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deadlines {
    pub(crate) connect: Duration,
    pub(crate) first_byte: Duration,
    pub(crate) total: Duration,
}

/// What an exchange came to.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) result: Result<Completion, Failure>,
    pub(crate) status: Option<u16>,
    /// The provider's own name of the request.
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) first_byte: Option<Duration>,
    pub(crate) latency: Duration,
    pub(crate) response_bytes: u64,
    /// The reply as it came, when it came whole and someone keeps it.
    pub(crate) whole: Option<Whole>,
}

/// How to read a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    /// It was asked for as a stream.
    pub(crate) streamed: bool,
    /// Someone keeps it as it came.
    pub(crate) keeps: bool,
    /// When the request went out, in milliseconds since 1970.
    pub(crate) at: u64,
}

/// A whole reply.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) status: u16,
    /// Those that are kept: what the body is, and the provider's names of the request.
    pub(crate) headers: BTreeMap<String, String>,
    /// A stream up to the chunk with its last event.
    pub(crate) body: Vec<u8>,
}

impl Whole {
    /// What the reply says.
    pub(crate) fn understand(&self, wire: &dyn Wire, streamed: bool) -> Result<Completion, Failure> {
        if self.status >= 400 {
            return Err(refused(wire, self.status, &self.body));
        }
        let kind = self.headers.get("content-type").map_or("", String::as_str);
        if !(streamed && is_stream(kind)) {
            return wire.decode(&self.body).map_err(Failure::Wire);
        }
        let mut assembled = wire.assemble();
        let mut frames = Frames::new(wire.framing());
        let is_done = frames.push(&self.body, &mut |frame| assembled.take(&frame.event, &frame.data));
        if !is_done.map_err(Failure::Wire)? {
            end_of_stream(&mut frames, &mut *assembled).map_err(Failure::Wire)?;
        }
        assembled.finish().map_err(Failure::Wire)
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nothing came back, or it broke off.
    Broken(Class, String),
    /// Nothing comes through before somebody changes something: a certificate, a proxy.
    Barred(String),
    /// The provider says no.
    Refused(Refused),
    /// The reply cannot be understood.
    Wire(WireError),
}

/// Sends one request and reads its reply.
pub(crate) async fn exchange(
    link: &Link,
    sent: impl Future<Output = Result<Reply, Failure>>,
    wire: &dyn Wire,
    how: How,
    deadlines: &Deadlines,
) -> Exchange {
    let start = Instant::now();
    let mut seen = Exchange {
        result: Err(Failure::Broken(Class::Timeout, String::new())),
        status: None,
        request_id: None,
        retry_after: None,
        first_byte: None,
        latency: Duration::ZERO,
        response_bytes: 0,
        whole: None,
    };
    // One deadline after the other, not one around the other: each is a timer, and most replies need only the first.
    seen.result = match tokio::time::timeout(deadlines.first_byte.min(deadlines.total), sent).await {
        Err(_) if deadlines.total <= deadlines.first_byte => Err(timed_out("the last byte", deadlines.total)),
        Err(_) => Err(timed_out("the first byte", deadlines.first_byte)),
        Ok(Err(failure)) => Err(failure),
        Ok(Ok(reply)) => {
            let first_byte = start.elapsed();
            seen.first_byte = Some(first_byte);
            let left = deadlines.total.saturating_sub(first_byte);
            let read = tokio::time::timeout(left, read_reply(reply, wire, how, start, &mut seen)).await;
            read.unwrap_or_else(|_| Err(timed_out("the last byte", deadlines.total)))
        }
    };
    seen.latency = start.elapsed();
    link.settle().await;
    seen
}

/// Reads a reply whose head is there.
async fn read_reply(
    response: Reply,
    wire: &dyn Wire,
    how: How,
    start: Instant,
    seen: &mut Exchange,
) -> Result<Completion, Failure> {
    let status = response.status();
    seen.status = Some(status);
    seen.request_id = request_id(&response);
    let text = |name: &str| response.text(name);
    let come_back = ComeBack { after: text("retry-after"), after_ms: text("retry-after-ms"), date: text("date") };
    seen.retry_after = come_back.wait(|| how.at.saturating_add(start.elapsed().as_millis() as u64));
    if matches!(status, ..200 | 204 | 205) {
        return Err(Failure::Wire(WireError::malformed(format!(
            "the reply has status {status}, which holds no answer"
        ))));
    }
    if (300..400).contains(&status) {
        let message = format!("the endpoint redirects (status {status}); redirects are not followed");
        return Err(Failure::Wire(WireError::malformed(message)));
    }
    if status == 407 {
        return Err(Failure::Barred(PROXY_REFUSES.to_owned()));
    }
    if status >= 400 {
        let headers = kept_headers(&response);
        // What the body says is a help; a body that cannot be read changes nothing.
        let read = read_all(response, MAX_REFUSAL, seen).await;
        let is_whole = read.is_ok();
        let body = read.unwrap_or_default();
        let refused = refused(wire, status, &body);
        seen.whole = (how.keeps && is_whole).then_some(Whole { status, headers, body });
        return Err(refused);
    }
    if let Some(encoding) = encoding(&response) {
        let message = format!("the reply is encoded as `{encoding}`, which was not asked for");
        return Err(Failure::Wire(WireError::malformed(message)));
    }
    let headers = if how.keeps { kept_headers(&response) } else { BTreeMap::new() };
    if how.streamed && is_stream(response.text("content-type").unwrap_or_default()) {
        let mut body = how.keeps.then(Vec::new);
        let result = read_stream(response, wire, seen, &mut body).await;
        seen.whole = body.map(|body| Whole { status, headers, body });
        return result;
    }
    let body = read_all(response, MAX_REPLY, seen).await?;
    let result = wire.decode(&body).map_err(Failure::Wire);
    seen.whole = how.keeps.then_some(Whole { status, headers, body });
    result
}

fn refused(wire: &dyn Wire, status: u16, body: &[u8]) -> Failure {
    let mut refused = wire.refuse(status, body);
    if matches!(status, 429 | 529) && refused.then == Then::Retry {
        // Whatever else it says, the status says that it is too much.
        refused.class = Class::RateLimited;
    }
    if refused.class == Class::BadRequest && refused.then == Then::Fail && is_overflow(&refused.message) {
        refused.class = Class::ContextLength;
    }
    Failure::Refused(refused)
}

/// Whether a provider says that the conversation is too long. Few have a code for it.
fn is_overflow(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    has(&[
        "context length",
        "context_length",
        "context window",
        "context size",
        "prompt is too long",
        "too many tokens",
    ]) || message.contains("token")
        && has(&["exceeds the maximum", "exceed the maximum", "exceeds the model", "too large"])
}

/// The headers that a cassette keeps. Everything else may hold what is nobody's business, such as cookies.
fn kept_headers(reply: &Reply) -> BTreeMap<String, String> {
    let names = REQUEST_IDS.iter().chain(&["content-type"]);
    names.filter_map(|name| Some(((*name).to_owned(), sane(reply.text(name)?)?.to_owned()))).collect()
}

/// Whether the reply is what was asked for; some servers answer a request for a stream with a whole document.
fn is_stream(kind: &str) -> bool {
    !kind.starts_with("application/json") || kind.contains("stream")
}

/// How the body is encoded, when it is. We ask for no compression: a small reply may be huge afterwards.
fn encoding(reply: &Reply) -> Option<String> {
    reply.header("content-encoding")?;
    let name = reply.text("content-encoding").unwrap_or("?").trim().to_ascii_lowercase();
    (!name.is_empty() && name != "identity").then_some(name)
}

async fn read_all(mut response: Reply, most: usize, seen: &mut Exchange) -> Result<Vec<u8>, Failure> {
    let too_long = || Failure::Wire(WireError::malformed(format!("the reply is longer than {most} bytes")));
    let announced = usize::try_from(response.announced()).unwrap_or(usize::MAX);
    if announced > most {
        return Err(too_long());
    }
    let mut body = Vec::with_capacity(announced.min(1 << 20));
    let mut turn = Turn::default();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                seen.response_bytes += chunk.len() as u64;
                if body.len() + chunk.len() > most {
                    return Err(too_long());
                }
                turn.wait(seen.response_bytes).await;
                body.extend_from_slice(&chunk);
            }
            Ok(None) => return Ok(body),
            Err(Cut { breaks_rules: true }) => {
                return Err(Failure::Wire(WireError::malformed("the reply breaks the rules of HTTP")));
            }
            Err(_) => {
                let message = "the connection ended before the reply did".to_owned();
                return Err(Failure::Broken(Class::Truncated, message));
            }
        }
    }
}

/// Reads a stream to its end, and into `kept` as long as it is whole.
async fn read_stream(
    mut response: Reply,
    wire: &dyn Wire,
    seen: &mut Exchange,
    kept: &mut Option<Vec<u8>>,
) -> Result<Completion, Failure> {
    let mut assembled = wire.assemble();
    let mut frames = Frames::new(wire.framing());
    let mut turn = Turn::default();
    loop {
        let is_done = match response.chunk().await {
            Ok(Some(chunk)) => {
                seen.response_bytes += chunk.len() as u64;
                if seen.response_bytes > MAX_REPLY as u64 {
                    *kept = None;
                    let message = format!("the stream is longer than {MAX_REPLY} bytes");
                    return Err(Failure::Wire(WireError::malformed(message)));
                }
                turn.wait(seen.response_bytes).await;
                if let Some(kept) = kept {
                    kept.extend_from_slice(&chunk);
                }
                frames.push(&chunk, &mut |frame| assembled.take(&frame.event, &frame.data))
            }
            Ok(None) => end_of_stream(&mut frames, &mut *assembled).map(|()| true),
            Err(_) => {
                *kept = None;
                return Err(Failure::Wire(WireError::cut()));
            }
        };
        if is_done.map_err(Failure::Wire)? {
            read_rest(response).await;
            return assembled.finish().map_err(Failure::Wire);
        }
    }
}

fn end_of_stream(frames: &mut Frames, assembled: &mut dyn Assemble) -> Result<(), WireError> {
    let last = frames.end(&mut |frame| assembled.take(&frame.event, &frame.data));
    // A last line that makes no sense is one that was cut.
    last.map(|_| ()).map_err(|_| WireError::cut())
}

/// Reads what follows the last event, so that the connection can be used again. One that goes on is given up: the
/// answer is there.
async fn read_rest(mut response: Reply) {
    let mut rest = 0;
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await
            && rest < MAX_REFUSAL
        {
            rest += chunk.len();
        }
    };
    drop(tokio::time::timeout(LONGEST_REST, reading).await);
}

/// A turn to hold a large reply. Only a few are held at once: a hundred of the largest would fill the memory.
#[derive(Default)]
struct Turn(Option<SemaphorePermit<'static>>);

static TURNS: Semaphore = Semaphore::const_new(4);

impl Turn {
    /// Waits for a turn as soon as a reply is large.
    async fn wait(&mut self, length: u64) {
        if length > LARGE && self.0.is_none() {
            // Nobody closes it.
            self.0 = TURNS.acquire().await.ok();
        }
    }
}

fn request_id(reply: &Reply) -> Option<String> {
    let found = REQUEST_IDS.iter().find_map(|name| reply.text(name))?;
    Some(sane(found)?.to_owned()).filter(|id| !id.contains(' '))
}

fn sane(value: &str) -> Option<&str> {
    let is_sane = !value.is_empty() && value.len() <= 256 && value.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
    is_sane.then_some(value)
}

pub(super) fn timed_out(what: &str, after: Duration) -> Failure {
    Failure::Broken(Class::Timeout, format!("{what} did not come within {} s", after.as_secs_f64()))
}

/// A header out of two texts; `None` when they cannot be one.
pub(crate) fn header(name: &str, value: &str, is_secret: bool) -> Option<(HeaderName, HeaderValue)> {
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(is_secret);
    Some((name, value))
}
