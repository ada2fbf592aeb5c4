//! The way to an endpoint: the full client, or plain HTTP to this machine.

use bytes::Bytes;
use reqwest::header::HeaderMap;
use reqwest::{Method, Url};

use super::broken::{before_reply, breaks_rules};
use super::http::{Deadlines, Failure};
use super::plain::{Driven, Plain};

/// A way to an endpoint.
#[derive(Debug)]
pub(crate) enum Link {
    /// TLS, proxies, HTTP/2. With the proxy, where there is one.
    Full(reqwest::Client, Option<String>),
    /// None of it, for a server on this machine: there the client's own work is what limits the rate.
    Plain(Plain),
}

/// The head of a reply, and its body to come.
pub(crate) enum Reply {
    Full(reqwest::Response),
    Plain(Driven),
}

/// A body that cannot be read to its end.
pub(crate) struct Cut {
    /// It breaks the rules of HTTP, and did not just end too early.
    pub(crate) breaks_rules: bool,
}

impl Link {
    /// Posts a body and returns when the head of the reply is there.
    pub(crate) async fn post(
        &self,
        url: &Url,
        headers: &HeaderMap,
        body: Bytes,
        deadlines: &Deadlines,
    ) -> Result<Reply, Failure> {
        match self {
            Self::Full(client, proxy) => {
                let mut request = reqwest::Request::new(Method::POST, url.clone());
                headers.clone_into(request.headers_mut());
                *request.body_mut() = Some(body.into());
                let response = client.execute(request).await.map_err(|error| {
                    let failure = before_reply(&error, deadlines);
                    match (failure, proxy) {
                        // It may be the proxy that is dead, and not whoever is behind it.
                        (Failure::Broken(class, why), Some(proxy)) => Failure::Broken(class, through(&why, proxy)),
                        (failure, _) => failure,
                    }
                })?;
                Ok(Reply::Full(response))
            }
            Self::Plain(plain) => plain.post(url, headers, body, deadlines).await.map(Reply::Plain),
        }
    }

    /// A message about the way to the endpoint, with the proxy on it.
    pub(crate) fn told(&self, message: String) -> String {
        match self {
            Self::Full(_, Some(proxy)) => through(&message, proxy),
            _ => message,
        }
    }

    /// Closes idle connections. Those of the full client end with the runtime.
    pub(crate) fn hang_up(&self) {
        if let Self::Plain(plain) = self {
            plain.hang_up();
        }
    }

    /// Lets the connection of a reply that was read go back to the others, where that takes tasks of its own. Whoever
    /// asks before that opens one more.
    pub(crate) async fn settle(&self) {
        if let Self::Full(..) = self {
            for _ in 0..2 {
                tokio::task::yield_now().await;
            }
        }
    }
}

fn through(message: &str, proxy: &str) -> String {
    format!("{message} (through the proxy {proxy})")
}

impl Reply {
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Full(response) => response.status().as_u16(),
            Self::Plain(reply) => reply.head().status.as_u16(),
        }
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        match self {
            Self::Full(response) => response.headers(),
            Self::Plain(reply) => &reply.head().headers,
        }
    }

    /// How long the body says it is.
    pub(crate) fn announced(&self) -> u64 {
        match self {
            Self::Full(response) => response.content_length().unwrap_or(0),
            Self::Plain(reply) => reply.announced(),
        }
    }

    /// The next part of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Cut> {
        match self {
            Self::Full(response) => response.chunk().await.map_err(|error| Cut { breaks_rules: breaks_rules(&error) }),
            Self::Plain(reply) => reply.chunk().await.map_err(|error| Cut { breaks_rules: breaks_rules(&error) }),
        }
    }
}
