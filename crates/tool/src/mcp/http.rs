//! A server behind an address: HTTP without redirects, and with an end to what is read.

use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode, Url};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::NeverRetry;
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    HttpStatusError, SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::error::McpError;
use super::meter::{MOST, Meter, Spent};
use crate::build::Surroundings;

/// A server that is there already.
pub(super) struct Address {
    url: String,
    client: reqwest::Client,
    /// The key, as it is sent.
    headers: HeaderMap,
}

/// What is wrong with an exchange.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    #[error(transparent)]
    Exchange(#[from] reqwest::Error),
    #[error(transparent)]
    Spent(#[from] Spent),
    #[error(transparent)]
    Encode(#[from] serde_json::Error),
}

/// Why the last exchange failed, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    Unreachable(String),
    Status(u16),
}

impl Address {
    /// A user names the server, so that it may be on a private network.
    pub(super) fn new(url: &str, key_name: Option<&str>, world: &Surroundings) -> Result<Self, McpError> {
        let unreachable = |what: &str| McpError::Unreachable { url: url.to_owned(), what: what.to_owned() };
        let parsed = Url::parse(url).map_err(|error| unreachable(&error.to_string()))?;
        let mut headers = HeaderMap::new();
        if let Some(name) = key_name {
            let key = (world.variable)(name).filter(|key| !key.is_empty());
            let key = key.ok_or_else(|| McpError::NoKey(name.to_owned()))?;
            if parsed.scheme() != "https" && !is_loopback(&parsed) {
                return Err(McpError::Unencrypted { host: parsed.host_str().unwrap_or_default().to_owned() });
            }
            let value = HeaderValue::from_str(&format!("Bearer {key}"));
            let mut value = value.map_err(|_| McpError::BadKey(name.to_owned()))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        // rustls has no default provider in this build. Losing the race to install one is fine.
        drop(rustls::crypto::ring::default_provider().install_default());
        let builder = reqwest::Client::builder()
            .user_agent(concat!("proofmark/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT)
            .tcp_nodelay(true);
        // A machine without certificates can still speak to a server that needs none.
        let builder = if parsed.scheme() == "https" { builder } else { builder.tls_certs_only([]) };
        let client = builder.build().map_err(|error| unreachable(&causes(&error)))?;
        Ok(Self { url: url.to_owned(), client, headers })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// A session's way to the server, and where its last trouble is kept.
    pub(super) fn connect(&self, meter: &Arc<Meter>) -> (StreamableHttpClientTransport<Client>, Troubles) {
        let troubles = Troubles::default();
        let client = Client {
            client: self.client.clone(),
            headers: self.headers.clone(),
            meter: Arc::clone(meter),
            troubles: Arc::clone(&troubles),
        };
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str()).max_sse_event_size(MOST);
        // A new session in the middle of a sample would have forgotten what the old one knew.
        config.reinit_on_expired_session = false;
        config.retry_config = Arc::new(NeverRetry::default());
        (StreamableHttpClientTransport::with_client(client, config), troubles)
    }
}

/// The last trouble of a session.
pub(super) type Troubles = Arc<Mutex<Option<Trouble>>>;

/// Speaks HTTP for one session.
#[derive(Clone)]
pub(super) struct Client {
    client: reqwest::Client,
    headers: HeaderMap,
    meter: Arc<Meter>,
    troubles: Troubles,
}

type Error = StreamableHttpError<HttpError>;
type Events = Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>;

impl Client {
    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        session: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Response, Error> {
        let mut all: HeaderMap = headers.into_iter().collect();
        if let Some(session) = session
            && let Ok(session) = HeaderValue::from_str(&session)
        {
            all.insert(HeaderName::from_static(SESSION), session);
        }
        all.extend(self.headers.clone());
        *self.troubles.lock().unwrap_or_else(PoisonError::into_inner) = None;
        request.headers(all).send().await.map_err(|error| {
            self.note(Trouble::Unreachable(causes(&error)));
            StreamableHttpError::Client(error.into())
        })
    }

    fn note(&self, trouble: Trouble) {
        *self.troubles.lock().unwrap_or_else(PoisonError::into_inner) = Some(trouble);
    }

    fn status(&self, status: StatusCode) -> Error {
        self.note(Trouble::Status(status.as_u16()));
        HttpStatusError::new(status.as_u16(), None).into()
    }

    /// The body's bytes, counted.
    fn chunks(&self, response: Response) -> impl Stream<Item = Result<Bytes, HttpError>> + Send + use<> {
        let meter = Arc::clone(&self.meter);
        response.bytes_stream().map(move |chunk| {
            let chunk = chunk?;
            meter.take(&chunk, 0)?;
            Ok(chunk)
        })
    }

    fn events(&self, response: Response) -> Events {
        let meter = Arc::clone(&self.meter);
        let events = SseStream::from_bytes_stream(self.chunks(response));
        Box::pin(events.map(move |event| {
            meter.take(b"", 1).map_err(|spent| SseError::Body(Box::new(spent)))?;
            event
        }))
    }

    async fn read(&self, response: Response) -> Result<Vec<u8>, Error> {
        let mut chunks = Box::pin(self.chunks(response));
        let mut body = Vec::new();
        while let Some(chunk) = chunks.next().await {
            body.extend_from_slice(&chunk.map_err(StreamableHttpError::Client)?);
        }
        Ok(body)
    }
}

impl StreamableHttpClient for Client {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Error> {
        let has_session = session.is_some();
        let body = serde_json::to_vec(&message).map_err(|error| StreamableHttpError::Client(error.into()))?;
        let request = self.client.post(&*uri).header(ACCEPT, BOTH).header(CONTENT_TYPE, JSON_MIME_TYPE).body(body);
        let response = self.send(request, session, headers).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            self.note(Trouble::Status(status.as_u16()));
            return Err(StreamableHttpError::SessionExpired);
        }
        let given = response.headers().get(HEADER_SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let kind = content_type(&response);
        if status.is_success() && kind == Some(Kind::Events) {
            return Ok(StreamableHttpPostResponse::Sse(self.events(response), given));
        }
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        if status.is_success() && !is_request {
            // Nobody waits for an answer to what was no question.
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status.is_success() && kind == Some(Kind::Json) {
            let body = self.read(response).await?;
            return Ok(StreamableHttpPostResponse::Json(serde_json::from_slice(&body)?, given));
        }
        if status.is_success() {
            return Err(StreamableHttpError::UnexpectedContentType(None));
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) || !status.is_client_error() {
            return Err(self.status(status));
        }
        let body = self.read(response).await.unwrap_or_default();
        match (serde_json::from_slice(&body), probe(&message)) {
            // The id is ours: what stands before a server refuses without having read it.
            (Ok(ServerJsonRpcMessage::Error(error)), Some(id)) => {
                Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error.error, Some(id)), None))
            }
            (_, Some(id)) => {
                // Old servers refuse a request without a session in their own ways; all mean the old handshake.
                self.note(Trouble::Status(status.as_u16()));
                let error = ErrorData::invalid_request(format!("status {status}"), None);
                Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error, Some(id)), None))
            }
            (Ok(error @ ServerJsonRpcMessage::Error(_)), None) => Ok(StreamableHttpPostResponse::Json(error, given)),
            _ => Err(self.status(status)),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Error> {
        self.send(self.client.delete(&*uri), Some(session), headers).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Error> {
        let mut request = self.client.get(&*uri).header(ACCEPT, EVENT_STREAM_MIME_TYPE);
        if let Some(last_event) = last_event {
            request = request.header(HEADER_LAST_EVENT_ID, last_event);
        }
        let response = self.send(request, session, headers).await?;
        if !response.status().is_success() || content_type(&response) != Some(Kind::Events) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        Ok(self.events(response))
    }
}

/// The id of a message that asks whether the server speaks the newest revision.
fn probe(message: &ClientJsonRpcMessage) -> Option<rmcp::model::RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::DiscoverRequest(_)) => {
            Some(request.id.clone())
        }
        _ => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Json,
    Events,
}

fn content_type(response: &Response) -> Option<Kind> {
    let text = response.headers().get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
    match text.split(';').next()?.trim() {
        JSON_MIME_TYPE => Some(Kind::Json),
        EVENT_STREAM_MIME_TYPE => Some(Kind::Events),
        _ => None,
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// An error with its causes, without the address: that stands in the message already.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = String::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    if text.is_empty() { "the exchange failed".to_owned() } else { text }
}

const BOTH: &str = "application/json, text/event-stream";
const SESSION: &str = "mcp-session-id";
const CONNECT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn world(key: Option<&'static str>) -> Surroundings {
        Surroundings {
            variable: Arc::new(move |name| (name == "X_API_KEY").then_some(key).flatten().map(str::to_owned)),
            program_path: None,
            suite_root: "/".into(),
            allow_unsandboxed: false,
            hidden: Vec::new(),
            scratch: None,
        }
    }

    #[test]
    fn a_key_goes_only_where_nobody_listens() {
        for (url, fits) in [
            ("https://a.example/mcp", true),
            ("http://localhost:1/mcp", true),
            ("http://127.0.0.9:1/mcp", true),
            ("http://[::1]:1/mcp", true),
            ("http://10.0.0.1/mcp", false),
            ("http://localhost.example/mcp", false),
        ] {
            let built = Address::new(url, Some("X_API_KEY"), &world(Some("secret")));
            assert_eq!(built.is_ok(), fits, "{url}");
            assert!(Address::new(url, None, &world(None)).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_key_that_is_not_there_or_cannot_be_sent_is_told() {
        let error = |key| Address::new("https://a.example", Some("X_API_KEY"), &world(key)).err().unwrap();
        assert!(matches!(error(None), McpError::NoKey(_)) && matches!(error(Some("")), McpError::NoKey(_)));
        let bad = error(Some("se\ncret"));
        assert!(matches!(bad, McpError::BadKey(_)) && !bad.to_string().contains("cret"), "{bad}");
    }
}
