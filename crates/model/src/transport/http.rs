//! One exchange: a request out, a reply in, within its deadlines.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;

use super::retry::retry_after;
use crate::class::Class;
use crate::wire::frame::Frames;
use crate::wire::{Completion, Refused, Then, Wire, WireError};

/// The largest reply: pictures come as text inside of JSON.
const MAX_REPLY: usize = 128 << 20;
/// The largest reply of an error.
const MAX_REFUSAL: usize = 64 << 10;

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
        Ok(Err(error)) => return Err(broken(&error, deadlines)),
        Ok(Ok(response)) => response,
    };
    seen.first_byte = Some(start.elapsed());
    let status = response.status().as_u16();
    seen.status = Some(status);
    seen.request_id = request_id(response.headers());
    let text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    seen.retry_after = retry_after(text("retry-after"), text("retry-after-ms"));
    if (300..400).contains(&status) {
        let message = format!("the endpoint redirects (status {status}); redirects are not followed");
        return Err(Failure::Wire(WireError::malformed(message)));
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

async fn read_all(mut response: reqwest::Response, most: usize, seen: &mut Exchange) -> Result<Vec<u8>, Failure> {
    let announced = response.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    let mut body = Vec::with_capacity(announced.min(1 << 20));
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                seen.response_bytes += chunk.len() as u64;
                if body.len() + chunk.len() > most {
                    return Err(Failure::Wire(WireError::malformed(format!("the reply is longer than {most} bytes"))));
                }
                body.extend_from_slice(&chunk);
            }
            Ok(None) => return Ok(body),
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
    loop {
        let is_done = match response.chunk().await {
            Ok(Some(chunk)) => {
                seen.response_bytes += chunk.len() as u64;
                if seen.response_bytes > MAX_REPLY as u64 {
                    let message = format!("the stream is longer than {MAX_REPLY} bytes");
                    return Err(Failure::Wire(WireError::malformed(message)));
                }
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
            // What follows the last event is read to its end, so that the connection can be used again.
            while let Ok(Some(_)) = response.chunk().await {}
            return assembled.finish().map_err(Failure::Wire);
        }
    }
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let found = REQUEST_IDS.iter().find_map(|name| headers.get(*name)?.to_str().ok())?;
    let is_sane = !found.is_empty() && found.len() <= 256 && found.bytes().all(|byte| byte.is_ascii_graphic());
    is_sane.then(|| found.to_owned())
}

fn timed_out(what: &str, after: Duration) -> Failure {
    Failure::Broken(Class::Timeout, format!("{what} did not come within {} s", after.as_secs_f64()))
}

/// Sorts a failure of the connection. The text is our own: the system's differs between machines.
fn broken(error: &reqwest::Error, deadlines: &Deadlines) -> Failure {
    if error.is_timeout() {
        return timed_out("a connection", deadlines.connect);
    }
    let mut source: Option<&dyn std::error::Error> = Some(error);
    let mut text = String::new();
    while let Some(error) = source {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            let what = match io.kind() {
                std::io::ErrorKind::ConnectionRefused => "the connection was refused",
                std::io::ErrorKind::ConnectionReset => "the connection was reset",
                std::io::ErrorKind::ConnectionAborted | std::io::ErrorKind::BrokenPipe => "the connection broke",
                std::io::ErrorKind::UnexpectedEof => "the connection was closed",
                _ => "",
            };
            if !what.is_empty() {
                return Failure::Broken(Class::Network, what.to_owned());
            }
        }
        text = error.to_string();
        source = error.source();
    }
    let lower = text.to_ascii_lowercase();
    let what = if lower.contains("certificate") || lower.contains("unknownissuer") || lower.contains("tls") {
        "the server's certificate is not trusted, or TLS failed"
    } else if lower.contains("dns") || lower.contains("lookup") || lower.contains("name or service") {
        "the host's name could not be resolved"
    } else if error.is_connect() {
        "no connection could be made"
    } else {
        "the connection was closed before a reply came"
    };
    Failure::Broken(Class::Network, what.to_owned())
}

/// A header out of two texts; `None` when they cannot be one.
pub(crate) fn header(name: &str, value: &str, is_secret: bool) -> Option<(HeaderName, HeaderValue)> {
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(is_secret);
    Some((name, value))
}
