//! Plain HTTP/1.1 to a server on this machine.
//!
//! Whoever asks drives the connection: no other task is woken for a reply, and a connection is back among the idle ones
//! when the last byte was read. There is no TLS, no proxy and no redirect here.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper::http::response::Parts;
use hyper_util::rt::TokioIo;
use reqwest::Url;
use reqwest::header::{ACCEPT, HOST, HeaderMap, HeaderValue, USER_AGENT};
use tokio::net::TcpStream;

use super::broken::before_reply_of;
use super::http::{Deadlines, Failure, timed_out};

/// Connections to one server.
#[derive(Debug)]
pub(crate) struct Plain {
    host: String,
    port: u16,
    /// What the server is called in requests.
    authority: HeaderValue,
    agent: HeaderValue,
    idle: std::sync::Arc<Idle>,
}

/// Connections that nobody uses.
#[derive(Debug)]
struct Idle {
    links: Mutex<Vec<Wire>>,
    most: usize,
}

/// One connection.
struct Wire {
    sender: SendRequest<Whole>,
    driver: Pin<Box<Connection<TokioIo<TcpStream>, Whole>>>,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wire")
    }
}

/// A reply whose body is read by whoever holds it.
pub(crate) struct Driven {
    head: Parts,
    body: Incoming,
    wire: Option<Wire>,
    idle: std::sync::Arc<Idle>,
}

impl Plain {
    /// `None` when the address cannot be had in plain HTTP.
    pub(crate) fn new(base: &Url, agent: &'static str, most: usize) -> Option<Self> {
        let host = base.host_str()?.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = base.port_or_known_default()?;
        let authority = match base.port() {
            Some(port) => format!("{}:{port}", base.host_str()?),
            None => base.host_str()?.to_owned(),
        };
        let authority = HeaderValue::from_str(&authority).ok()?;
        let idle = std::sync::Arc::new(Idle { links: Mutex::new(Vec::new()), most });
        (base.scheme() == "http").then_some(Self {
            host,
            port,
            authority,
            agent: HeaderValue::from_static(agent),
            idle,
        })
    }

    pub(super) async fn post(
        &self,
        url: &Url,
        headers: &HeaderMap,
        body: Bytes,
        deadlines: &Deadlines,
    ) -> Result<Driven, Failure> {
        let mut request = self.request(url, headers, body);
        // An idle connection may have been closed meanwhile. A request that never left goes out on another one.
        while let Some(mut wire) = self.idle.take() {
            if !poll_fn(|cx| Poll::Ready(wire.is_alive(cx))).await {
                continue;
            }
            match wire.send(request).await {
                Ok((head, body)) => return Ok(self.driven(head, body, wire)),
                Err((_, Some(unsent))) => request = unsent,
                Err((error, None)) => return Err(before_reply_of(&error)),
            }
        }
        let connecting = tokio::time::timeout(deadlines.connect, self.connect()).await;
        let mut wire = connecting.map_err(|_| timed_out("a connection", deadlines.connect))??;
        match wire.send(request).await {
            Ok((head, body)) => Ok(self.driven(head, body, wire)),
            Err((error, _)) => Err(before_reply_of(&error)),
        }
    }

    pub(super) fn hang_up(&self) {
        // They are closed when the lock is free again.
        drop(self.idle.take_all());
    }

    fn driven(&self, head: Parts, body: Incoming, wire: Wire) -> Driven {
        Driven { head, body, wire: Some(wire), idle: std::sync::Arc::clone(&self.idle) }
    }

    fn request(&self, url: &Url, headers: &HeaderMap, body: Bytes) -> hyper::Request<Whole> {
        let mut request = hyper::Request::new(Whole(Some(body)));
        *request.method_mut() = hyper::Method::POST;
        // What an address holds behind its host is what a request can hold.
        let target = match url.query() {
            Some(query) => format!("{}?{query}", url.path()).parse(),
            None => url.path().parse(),
        };
        if let Ok(target) = target {
            *request.uri_mut() = target;
        }
        let all = request.headers_mut();
        headers.clone_into(all);
        all.insert(HOST, self.authority.clone());
        all.insert(ACCEPT, HeaderValue::from_static("*/*"));
        all.insert(USER_AGENT, self.agent.clone());
        request
    }

    async fn connect(&self) -> Result<Wire, Failure> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.map_err(|error| before_reply_of(&error))?;
        // Without it a small request would wait for the acknowledgement of the one before.
        drop(stream.set_nodelay(true));
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (sender, driver) = shaken.map_err(|error| before_reply_of(&error))?;
        Ok(Wire { sender, driver: Box::pin(driver) })
    }
}

impl Idle {
    fn take(&self) -> Option<Wire> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn take_all(&self) -> Vec<Wire> {
        std::mem::take(&mut *self.links.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, wire: Wire) {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if links.len() < self.most {
            links.push(wire);
        }
    }
}

/// Why no reply came, and the request if it never left.
type NotSent = (hyper::Error, Option<hyper::Request<Whole>>);

impl Wire {
    /// Whether the connection can be used. Reads what the server may have said or closed meanwhile.
    fn is_alive(&mut self, cx: &mut Context<'_>) -> bool {
        self.driver.as_mut().poll(cx).is_pending() && self.sender.is_ready()
    }

    async fn send(&mut self, request: hyper::Request<Whole>) -> Result<(Parts, Incoming), NotSent> {
        let mut reply = std::pin::pin!(self.sender.try_send_request(request));
        let driver = &mut self.driver;
        let mut is_over = false;
        let reply = poll_fn(|cx| {
            if let Poll::Ready(reply) = reply.as_mut().poll(cx) {
                return Poll::Ready(reply);
            }
            // What the connection has to say of its end, the reply says too.
            is_over = is_over || driver.as_mut().poll(cx).is_ready();
            reply.as_mut().poll(cx)
        });
        match reply.await {
            Ok(reply) => Ok(reply.into_parts()),
            Err(mut error) => {
                let unsent = error.take_message();
                Err((error.into_error(), unsent))
            }
        }
    }
}

impl Driven {
    pub(super) fn head(&self) -> &Parts {
        &self.head
    }

    pub(super) fn announced(&self) -> u64 {
        self.body.size_hint().exact().unwrap_or(0)
    }

    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, hyper::Error> {
        loop {
            let frame = poll_fn(|cx| self.poll_body(cx)).await.transpose()?;
            match frame.map(Frame::into_data) {
                None => return Ok(None),
                Some(Ok(data)) => return Ok(Some(data)),
                // Trailers say nothing that we ask for.
                Some(Err(_)) => {}
            }
        }
    }

    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut polled = Pin::new(&mut self.body).poll_frame(cx);
        if polled.is_pending()
            && let Some(wire) = &mut self.wire
        {
            if wire.driver.as_mut().poll(cx).is_ready() {
                // Nothing more comes; what did come is in the body.
                self.wire = None;
            }
            polled = Pin::new(&mut self.body).poll_frame(cx);
        }
        let is_over = match &polled {
            Poll::Ready(None) => true,
            Poll::Ready(Some(Ok(_))) => self.body.is_end_stream(),
            _ => false,
        };
        if is_over && let Some(mut wire) = self.wire.take() {
            // One more turn lets the connection see that it is idle.
            if wire.is_alive(cx) {
                self.idle.put(wire);
            }
        }
        polled
    }
}

/// A body in one piece.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
