//! Requests that keep to the rules, and replies that are bounded.
//!
//! No proxy is ever used, whatever the environment says: it would look up the names itself, and nobody would see what
//! they stand for. No cookies, no credentials, no referrer, no compression.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Method, Request, Response, StatusCode, Url};

use super::resolve::{NameError, Resolver};
use super::rules::{Judge, Rules, Way, private};
use super::{Network, Roots, WebError};
use crate::tool::{Failure, ToolError};

/// Speaks HTTP within a suite's rules.
pub(super) struct Client {
    rules: Rules,
    judge: Judge,
    guarded: reqwest::Client,
    /// For what the suite allows; `None` when that is nothing.
    open: Option<reqwest::Client>,
}

/// A reply whose body was not read yet.
pub(super) struct Reply {
    /// Where it is from, after all redirects.
    pub(super) url: Url,
    response: Response,
}

/// The beginning of a body, or all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    /// There was more.
    pub(super) is_cut: bool,
}

/// How often a page may send one on.
const MAX_REDIRECTS: usize = 5;
/// The longest address.
pub(super) const MAX_URL: usize = 8 << 10;
/// The most bytes of headers in HTTP/2; HTTP/1 has a limit of its own.
const MAX_HEADERS: u32 = 256 << 10;
/// How long the addresses of a host may take to be connected to, all together.
const CONNECT: Duration = Duration::from_secs(10);
const USER_AGENT: &str = concat!("proofmark-agent/", env!("CARGO_PKG_VERSION"));

impl Client {
    pub(super) fn new(rules: Rules, network: &Network) -> Result<Self, WebError> {
        // rustls has no default provider in this build. Losing the race to install one is fine.
        drop(rustls::crypto::ring::default_provider().install_default());
        let build = |judge: Option<Judge>| {
            let builder = reqwest::Client::builder()
                .user_agent(USER_AGENT)
                .redirect(reqwest::redirect::Policy::none())
                .referer(false)
                .no_proxy()
                .dns_resolver(Arc::new(Resolver { lookup: Arc::clone(&network.lookup), judge }))
                .connect_timeout(CONNECT)
                .http2_max_header_list_size(MAX_HEADERS)
                .pool_max_idle_per_host(4);
            let builder = match network.roots {
                Roots::System => builder,
                #[cfg(test)]
                Roots::Nobody => builder.tls_certs_only([]),
            };
            builder.build().map_err(|_| WebError::NoRoots)
        };
        // Two clients with connections of their own: one that was made to an allowed port is never used for another.
        let open = if rules.has_exceptions() { Some(build(None)?) } else { None };
        Ok(Self { guarded: build(Some(network.judge))?, open, rules, judge: network.judge })
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Fetches a page, wherever it moved to. Every step is checked as if it were the first.
    pub(super) async fn get(&self, url: Url, accept: &'static str) -> Result<Reply, ToolError> {
        let mut url = url;
        for _ in 0..=MAX_REDIRECTS {
            let way = self.rules.check(&url, self.judge)?;
            // It is for whoever reads the page, and nobody's business.
            url.set_fragment(None);
            let mut request = Request::new(Method::GET, url.clone());
            request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static(accept));
            let response = self.send(way, request).await?;
            match redirect(&url, response.status(), response.headers())? {
                Some(next) => url = next,
                None => return Ok(Reply { url, response }),
            }
        }
        Err(ToolError::new(Failure::Unavailable, format!("the page sends one on more than {MAX_REDIRECTS} times")))
    }

    /// Asks a service that the suite chose, without following it anywhere.
    pub(super) async fn ask(&self, request: Request) -> Result<Reply, ToolError> {
        let way = self.rules.check_address(request.url(), self.judge)?;
        let url = request.url().clone();
        Ok(Reply { url, response: self.send(way, request).await? })
    }

    async fn send(&self, way: Way, mut request: Request) -> Result<Response, ToolError> {
        request.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let host = request.url().host_str().unwrap_or_default().to_owned();
        let client = match way {
            Way::Guarded => &self.guarded,
            Way::Open => self.open.as_ref().unwrap_or(&self.guarded),
        };
        client.execute(request).await.map_err(|error| sort(&error, &host))
    }
}

impl Reply {
    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// A header's text; nothing when it is none.
    pub(super) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// How long the body is, if the server says so.
    pub(super) fn length(&self) -> Option<u64> {
        self.response.content_length()
    }

    /// Reads the body up to a limit. One that breaks off is an error: half a page would pass for a whole one.
    pub(super) async fn read(self, most: u64) -> Result<Body, ToolError> {
        let (mut response, host) = (self.response, self.url.host_str().unwrap_or_default().to_owned());
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut body = Body::default();
        while let Some(chunk) = response.chunk().await.map_err(|error| sort(&error, &host))? {
            let room = most - body.bytes.len();
            body.bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                body.is_cut = true;
                break;
            }
        }
        Ok(body)
    }
}

/// Where a reply sends one on.
fn redirect(from: &Url, status: StatusCode, headers: &HeaderMap) -> Result<Option<Url>, ToolError> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = headers.get(header::LOCATION) else { return Ok(None) };
    let unusable = || ToolError::new(Failure::Unavailable, "the page sends one on to something that is no address");
    if location.len() > MAX_URL {
        return Err(unusable());
    }
    let next = from.join(&String::from_utf8_lossy(location.as_bytes())).map_err(|_| unusable())?;
    if from.scheme() == "https" && next.scheme() == "http" {
        return Err(ToolError::new(Failure::Refused, "the page sends one on from `https:` to `http:`"));
    }
    Ok(Some(next))
}

/// Sorts a failure. The text is our own: the system's differs between machines, and a library's may hold addresses.
fn sort(error: &reqwest::Error, host: &str) -> ToolError {
    if error.is_builder() {
        return ToolError::bad_arguments("the address cannot be sent over HTTP");
    }
    for cause in causes(error) {
        match cause.downcast_ref() {
            Some(NameError::Private) => return private(host),
            Some(NameError::Unknown) => {
                return ToolError::new(Failure::NotFound, format!("there is no host named `{host}`"));
            }
            None => {}
        }
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            let what = match tls {
                rustls::Error::InvalidCertificate(_) => "its certificate is not to be trusted",
                _ => "TLS could not be agreed on",
            };
            return unavailable(host, what);
        }
    }
    if error.is_timeout() {
        return ToolError::new(Failure::Timeout, format!("`{host}` did not answer in time"));
    }
    let kind = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>().map(io::Error::kind));
    unavailable(
        host,
        match kind {
            Some(ErrorKind::ConnectionRefused) => "the connection was refused",
            _ if error.is_connect() => "no connection could be made",
            _ if error.is_body() || error.is_decode() => "the reply broke off",
            _ => "no reply that could be read came back",
        },
    )
}

fn unavailable(host: &str, what: &str) -> ToolError {
    ToolError::new(Failure::Unavailable, format!("`{host}`: {what}"))
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(Some(error as &(dyn Error + 'static)), |&error| match error.downcast_ref::<io::Error>() {
        // What an I/O error was made of is not its source.
        Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
        None => error.source(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_read_as_an_address_relative_to_its_page() {
        let from = Url::parse("https://a.example/x/y?z").unwrap();
        for (status, location, expected) in [
            (302, Some("/b"), Ok(Some("https://a.example/b"))),
            (301, Some("c?d"), Ok(Some("https://a.example/x/c?d"))),
            (303, Some("//b.example/"), Ok(Some("https://b.example/"))),
            (307, Some("file:///etc/passwd"), Ok(Some("file:///etc/passwd"))),
            (308, Some("http://a.example/"), Err(Failure::Refused)),
            (302, Some("https://[::1/"), Err(Failure::Unavailable)),
            (302, None, Ok(None)),
            (200, Some("/b"), Ok(None)),
            (304, Some("/b"), Ok(None)),
            (404, Some("/b"), Ok(None)),
        ] {
            let mut headers = HeaderMap::new();
            headers.extend(location.map(|text| (header::LOCATION, HeaderValue::from_str(text).unwrap())));
            let found = redirect(&from, StatusCode::from_u16(status).unwrap(), &headers);
            let found = found.map(|url| url.map(String::from)).map_err(|error| error.failure);
            assert_eq!(found, expected.map(|url| url.map(str::to_owned)), "{status} {location:?}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::LOCATION, HeaderValue::from_str(&format!("/{}", "a".repeat(MAX_URL))).unwrap());
        assert!(redirect(&from, StatusCode::FOUND, &headers).is_err());
    }
}
