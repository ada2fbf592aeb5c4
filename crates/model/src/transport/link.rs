//! The way to an endpoint: the full client, or plain HTTP to this machine.

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderValue};
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

/// A part of a body.
pub(crate) enum Chunk<'a> {
    Own(Bytes),
    /// It lies where the connection read it to.
    Lent(&'a [u8]),
}

impl std::ops::Deref for Chunk<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Lent(bytes) => bytes,
        }
    }
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
        body: &Bytes,
        deadlines: &Deadlines,
    ) -> Result<Reply, Failure> {
        match self {
            Self::Full(client, proxy) => {
                let mut request = reqwest::Request::new(Method::POST, url.clone());
                headers.clone_into(request.headers_mut());
                *request.body_mut() = Some(body.clone().into());
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
            Self::Plain(reply) => reply.head().status,
        }
    }

    /// The first value of a header field.
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        match self {
            Self::Full(response) => response.headers().get(name).map(HeaderValue::as_bytes),
            Self::Plain(reply) => reply.head().get(name),
        }
    }

    /// The same as a text; `None` when it is none.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let value = self.header(name)?;
        let is_text = value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
        str::from_utf8(value).ok().filter(|_| is_text)
    }

    /// How long the body says it is.
    pub(crate) fn announced(&self) -> u64 {
        match self {
            Self::Full(response) => response.content_length().unwrap_or(0),
            Self::Plain(reply) => reply.announced(),
        }
    }

    /// The next part of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Chunk<'_>>, Cut> {
        match self {
            Self::Full(response) => match response.chunk().await {
                Ok(chunk) => Ok(chunk.map(Chunk::Own)),
                Err(error) => Err(Cut { breaks_rules: breaks_rules(&error) }),
            },
            Self::Plain(reply) => Ok(reply.chunk().await?.map(Chunk::Lent)),
        }
    }
}
