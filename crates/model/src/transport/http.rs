//! One exchange: a request out, a reply in, within its deadlines.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::broken::{PROXY_REFUSES, before_reply, breaks_rules};
use super::retry::retry_after;
use crate::class::Class;
use crate::wire::frame::Frames;
use crate::wire::{Completion, Refused, Then, Wire, WireError};

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

/// Headers in which providers name a request, the most telling first.
const REQUEST_IDS: [&str; 6] =
    ["request-id", "x-request-id", "x-goog-request-id", "apim-request-id", "x-amzn-requestid", "cf-ray"];

/// Sends one request and reads its reply.
pub(crate) async fn exchange(
    client: &reqwest::Client,
    request: reqwest::Request,
    wire: &dyn Wire,
    streamed: bool,
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
    };
    let sent = client.execute(request);
    let whole = tokio::time::timeout(deadlines.total, talk(sent, wire, streamed, deadlines, start, &mut seen)).await;
    seen.result = whole.unwrap_or_else(|_| Err(timed_out("the last byte", deadlines.total)));
    seen.latency = start.elapsed();
    // The connection goes back to the others in two steps, by tasks of its own. Whoever asks before that opens one more.
    for _ in 0..2 {
        tokio::task::yield_now().await;
    }
    seen
}

async fn talk(
    sent: impl Future<Output = reqwest::Result<reqwest::Response>>,
    wire: &dyn Wire,
    streamed: bool,
    deadlines: &Deadlines,
    start: Instant,
    seen: &mut Exchange,
) -> Result<Completion, Failure> {
    let response = match tokio::time::timeout(deadlines.first_byte, sent).await {
        Err(_) => return Err(timed_out("the first byte", deadlines.first_byte)),
        Ok(Err(error)) => return Err(before_reply(&error, deadlines)),
        Ok(Ok(response)) => response,
    };
    seen.first_byte = Some(start.elapsed());
    let status = response.status().as_u16();
    seen.status = Some(status);
    seen.request_id = request_id(response.headers());
    let text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    seen.retry_after = retry_after(text("retry-after"), text("retry-after-ms"));
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
        // What the body says is a help; a body that cannot be read changes nothing.
        let body = read_all(response, MAX_REFUSAL, seen).await.unwrap_or_default();
        let mut refused = wire.refuse(status, &body);
        if matches!(status, 429 | 529) && refused.then == Then::Retry {
            // Whatever else it says, the status says that it is too much.
            refused.class = Class::RateLimited;
        }
        return Err(Failure::Refused(refused));
    }
    if let Some(encoding) = encoding(response.headers()) {
        let message = format!("the reply is encoded as `{encoding}`, which was not asked for");
        return Err(Failure::Wire(WireError::malformed(message)));
    }
    if streamed && is_stream(response.headers()) {
        return read_stream(response, wire, seen).await;
    }
    let body = read_all(response, MAX_REPLY, seen).await?;
    wire.decode(&body).map_err(Failure::Wire)
}

/// Whether the reply is what was asked for; some servers answer a request for a stream with a whole document.
fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(reqwest::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    !kind.starts_with("application/json") || kind.contains("stream")
}

/// How the body is encoded, when it is. We ask for no compression: a small reply may be huge afterwards.
fn encoding(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(reqwest::header::CONTENT_ENCODING)?;
    let name = value.to_str().unwrap_or("?").trim().to_ascii_lowercase();
    (!name.is_empty() && name != "identity").then_some(name)
}

async fn read_all(mut response: reqwest::Response, most: usize, seen: &mut Exchange) -> Result<Vec<u8>, Failure> {
    let too_long = || Failure::Wire(WireError::malformed(format!("the reply is longer than {most} bytes")));
    let announced = response.content_length().map_or(0, |length| usize::try_from(length).unwrap_or(usize::MAX));
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
            Err(error) if breaks_rules(&error) => {
                return Err(Failure::Wire(WireError::malformed("the reply breaks the rules of HTTP")));
            }
            Err(_) => {
                let message = "the connection ended before the reply did".to_owned();
                return Err(Failure::Broken(Class::Truncated, message));
            }
        }
    }
}

async fn read_stream(
    mut response: reqwest::Response,
    wire: &dyn Wire,
    seen: &mut Exchange,
) -> Result<Completion, Failure> {
    let mut assembled = wire.assemble();
    let mut frames = Frames::new(wire.framing());
    let mut turn = Turn::default();
    loop {
        let is_done = match response.chunk().await {
            Ok(Some(chunk)) => {
                seen.response_bytes += chunk.len() as u64;
                if seen.response_bytes > MAX_REPLY as u64 {
                    let message = format!("the stream is longer than {MAX_REPLY} bytes");
                    return Err(Failure::Wire(WireError::malformed(message)));
                }
                turn.wait(seen.response_bytes).await;
                frames.push(&chunk, &mut |frame| assembled.take(&frame.event, &frame.data))
            }
            Ok(None) => {
                let last = frames.end(&mut |frame| assembled.take(&frame.event, &frame.data));
                // A last line that makes no sense is one that was cut.
                last.map(|_| true).map_err(|_| WireError::cut())
            }
            Err(_) => return Err(Failure::Wire(WireError::cut())),
        };
        if is_done.map_err(Failure::Wire)? {
            read_rest(response).await;
            return assembled.finish().map_err(Failure::Wire);
        }
    }
}

/// Reads what follows the last event, so that the connection can be used again. One that goes on is given up: the
/// answer is there.
async fn read_rest(mut response: reqwest::Response) {
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

fn request_id(headers: &HeaderMap) -> Option<String> {
    let found = REQUEST_IDS.iter().find_map(|name| headers.get(*name)?.to_str().ok())?;
    let is_sane = !found.is_empty() && found.len() <= 256 && found.bytes().all(|byte| byte.is_ascii_graphic());
    is_sane.then(|| found.to_owned())
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
