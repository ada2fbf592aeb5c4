//! Plain HTTP/1.1 to a server on this machine.
//!
//! Whoever asks drives the connection: no other task is woken for a reply, and a connection is back among the idle ones
//! when the last byte was read. A short request is one write, its reply is one read, and neither makes anything that
//! is thrown away with it. There is no TLS, no proxy and no redirect here.

mod framing;
mod head;

use std::future::poll_fn;
use std::io::{self, ErrorKind, Write as _};
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use reqwest::Url;
use reqwest::header::{
    ACCEPT, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderValue, TRANSFER_ENCODING, USER_AGENT,
};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::TcpStream;

use self::framing::{BreaksRules, Framing};
use self::head::{Bad, Begun};
use super::broken::{no_head, on_connecting, on_connection};
use super::http::{Deadlines, Failure, timed_out};
use super::link::Cut;

pub(crate) use self::head::Head;

/// A body up to this length goes out together with its head.
const SHORT_BODY: usize = 16 << 10;
/// Room for what is read: at first, and at most when that is used to the full.
const FIRST_ROOM: usize = 8 << 10;
const MOST_ROOM: usize = 64 << 10;
/// The longest head of a reply.
const LONGEST_HEAD: usize = 400 << 10;

/// Connections to one server.
#[derive(Debug)]
pub(crate) struct Plain {
    host: String,
    port: u16,
    /// What the server is called in requests.
    authority: HeaderValue,
    agent: &'static str,
    idle: Arc<Idle>,
}

/// Connections that nobody uses.
#[derive(Debug)]
struct Idle {
    wires: Mutex<Vec<Wire>>,
    most: usize,
}

/// One connection.
#[derive(Debug)]
struct Wire {
    stream: TcpStream,
    /// The last request.
    request: Vec<u8>,
    /// Room for what is read. What was read and not used yet is `come` of it.
    room: Vec<u8>,
    come: Range<usize>,
}

/// A reply whose body is read by whoever holds it.
pub(crate) struct Driven {
    head: Head,
    framing: Framing,
    /// How long the body says it is.
    announced: u64,
    stays_open: bool,
    /// `None` when the connection is over.
    wire: Option<Wire>,
    idle: Arc<Idle>,
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
        let idle = Arc::new(Idle { wires: Mutex::new(Vec::new()), most });
        (base.scheme() == "http").then_some(Self { host, port, authority, agent, idle })
    }

    pub(super) async fn post(
        &self,
        url: &Url,
        headers: &HeaderMap,
        body: &[u8],
        deadlines: &Deadlines,
    ) -> Result<Driven, Failure> {
        // An idle connection may have been closed meanwhile. A request that never left goes out on another one.
        while let Some(mut wire) = self.idle.take() {
            if !wire.is_quiet() {
                continue;
            }
            self.write_request(&mut wire.request, url, headers, body);
            match wire.ask(body).await {
                Ok(begun) => return Ok(self.driven(begun, wire)),
                Err(NoReply::NeverLeft(_)) => {}
                Err(NoReply::Failed(failure)) => return Err(failure),
            }
        }
        let connecting = tokio::time::timeout(deadlines.connect, self.connect()).await;
        let mut wire = connecting.map_err(|_| timed_out("a connection", deadlines.connect))??;
        self.write_request(&mut wire.request, url, headers, body);
        match wire.ask(body).await {
            Ok(begun) => Ok(self.driven(begun, wire)),
            Err(NoReply::NeverLeft(error)) => Err(on_connection(&error)),
            Err(NoReply::Failed(failure)) => Err(failure),
        }
    }

    pub(super) fn hang_up(&self) {
        // They are closed when the lock is free again.
        drop(self.idle.take_all());
    }

    fn driven(&self, begun: Begun, wire: Wire) -> Driven {
        let Begun { head, framing, stays_open } = begun;
        let announced = framing.announced().unwrap_or(0);
        Driven { head, framing, announced, stays_open, wire: Some(wire), idle: Arc::clone(&self.idle) }
    }

    /// The head, and a body that is short.
    fn write_request(&self, request: &mut Vec<u8>, url: &Url, headers: &HeaderMap, body: &[u8]) {
        request.clear();
        let mut push = |parts: &[&[u8]]| parts.iter().for_each(|part| request.extend_from_slice(part));
        // What an address holds behind its host is what a request can hold.
        push(&[b"POST ", url.path().as_bytes()]);
        if let Some(query) = url.query() {
            push(&[b"?", query.as_bytes()]);
        }
        push(&[b" HTTP/1.1\r\n"]);
        // Where the message goes and where it ends is not for a suite to say.
        let ours = [HOST, ACCEPT, USER_AGENT, CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION];
        for (name, value) in headers.iter().filter(|(name, _)| !ours.contains(name)) {
            push(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
        }
        push(&[b"host: ", self.authority.as_bytes(), b"\r\naccept: */*\r\nuser-agent: ", self.agent.as_bytes()]);
        // Writing into memory does not fail.
        let _ = write!(request, "\r\ncontent-length: {}\r\n\r\n", body.len());
        if body.len() <= SHORT_BODY {
            request.extend_from_slice(body);
        }
    }

    async fn connect(&self) -> Result<Wire, Failure> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.map_err(|error| on_connecting(&error))?;
        // Without it a small request would wait for the acknowledgement of the one before.
        drop(stream.set_nodelay(true));
        Ok(Wire { stream, request: Vec::new(), room: vec![0; FIRST_ROOM], come: 0..0 })
    }
}

impl Idle {
    fn take(&self) -> Option<Wire> {
        self.wires.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn take_all(&self) -> Vec<Wire> {
        std::mem::take(&mut *self.wires.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, wire: Wire) {
        let mut wires = self.wires.lock().unwrap_or_else(PoisonError::into_inner);
        if wires.len() < self.most {
            wires.push(wire);
        }
    }
}

/// Why no reply came.
enum NoReply {
    /// Not a byte of the request went out.
    NeverLeft(io::Error),
    Failed(Failure),
}

impl Wire {
    /// Whether the connection can be used: the server has neither closed it nor said anything unasked. It costs nothing
    /// as long as nothing has come.
    fn is_quiet(&self) -> bool {
        matches!(self.stream.try_read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    /// Sends the request and the rest of its body, and reads the head of the reply.
    async fn ask(&mut self, body: &[u8]) -> Result<Begun, NoReply> {
        let rest = if body.len() <= SHORT_BODY { &[][..] } else { body };
        let (mut sent, mut broken) = (0, None);
        self.come = 0..0;
        poll_fn(|cx| {
            // A server may answer before it has read everything, and close: what it said counts.
            while broken.is_none() && sent < self.request.len() + rest.len() {
                let left = match sent.checked_sub(self.request.len()) {
                    None => &self.request[sent..],
                    Some(sent) => &rest[sent..],
                };
                match Pin::new(&mut self.stream).poll_write(cx, left) {
                    Poll::Ready(Ok(0)) => broken = Some(ErrorKind::WriteZero.into()),
                    Poll::Ready(Ok(length)) => sent += length,
                    Poll::Ready(Err(error)) if sent == 0 => return Poll::Ready(Err(NoReply::NeverLeft(error))),
                    Poll::Ready(Err(error)) => broken = Some(error),
                    Poll::Pending => break,
                }
            }
            self.poll_head(cx, &mut broken).map_err(NoReply::Failed)
        })
        .await
    }

    /// Reads until there is a head that is not followed by another one.
    fn poll_head(&mut self, cx: &mut Context<'_>, broken: &mut Option<io::Error>) -> Poll<Result<Begun, Failure>> {
        loop {
            let come = &self.room[self.come.clone()];
            if !come.is_empty() {
                match Begun::parse(come) {
                    Ok(Some((begun, length))) => {
                        self.come.start += length;
                        if begun.is_interim() {
                            continue;
                        }
                        return Poll::Ready(Ok(begun));
                    }
                    Ok(None) if come.len() <= LONGEST_HEAD => {}
                    Ok(None) => return Poll::Ready(Err(no_head(true))),
                    Err(bad) => return Poll::Ready(Err(no_head(bad == Bad::TooLong))),
                }
            }
            let read = ready!(self.poll_read(cx)).and_then(|length| match length {
                0 => Err(io::Error::other("nothing more comes")),
                _ => Ok(()),
            });
            if let Err(error) = read {
                return Poll::Ready(Err(on_connection(broken.as_ref().unwrap_or(&error))));
            }
        }
    }

    /// Reads once, behind what has come already. Returns how much, which is nothing when the server has closed.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.come.is_empty() {
            self.come = 0..0;
        } else if self.come.end == self.room.len() {
            self.room.copy_within(self.come.clone(), 0);
            self.come = 0..self.come.len();
        }
        if self.come.end == self.room.len() {
            // A head that does not fit: there is an end to how long it may be.
            self.room.resize(self.room.len() * 2, 0);
        }
        let mut room = ReadBuf::new(&mut self.room[self.come.end..]);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut room))?;
        let length = room.filled().len();
        self.come.end += length;
        if self.come == (0..self.room.len()) && self.room.len() < MOST_ROOM {
            // Much is to come, it seems.
            self.room.resize(self.room.len() * 2, 0);
        }
        Poll::Ready(Ok(length))
    }
}

impl Driven {
    pub(super) fn head(&self) -> &Head {
        &self.head
    }

    pub(super) fn announced(&self) -> u64 {
        self.announced
    }

    /// The next part of the body, where it was read to; `None` at the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<&[u8]>, Cut> {
        let part = poll_fn(|cx| self.poll_part(cx)).await?;
        Ok(part.and_then(|part| self.wire.as_ref()?.room.get(part)))
    }

    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Range<usize>>, Cut>> {
        loop {
            if self.framing.is_over() {
                self.release();
                return Poll::Ready(Ok(None));
            }
            let Some(wire) = &mut self.wire else { return Poll::Ready(Ok(None)) };
            let come = &wire.room[wire.come.clone()];
            if !come.is_empty() {
                let (part, used) = match self.framing.take(come) {
                    Ok(taken) => taken,
                    Err(BreaksRules) => return Poll::Ready(Err(self.cut(true))),
                };
                let start = wire.come.start;
                wire.come.start += used;
                if !part.is_empty() {
                    return Poll::Ready(Ok(Some(start + part.start..start + part.end)));
                }
                continue;
            }
            match ready!(wire.poll_read(cx)) {
                Ok(0) if self.framing == Framing::UntilClosed => self.wire = None,
                Ok(0) | Err(_) => return Poll::Ready(Err(self.cut(false))),
                Ok(_) => {}
            }
        }
    }

    fn cut(&mut self, breaks_rules: bool) -> Cut {
        self.wire = None;
        Cut { breaks_rules }
    }

    /// Gives the connection back when the body is over.
    fn release(&mut self) {
        if let Some(mut wire) = self.wire.take()
            // What nobody asked for must not answer the next question.
            && wire.come.is_empty()
            && self.stays_open
        {
            if wire.room.len() > MOST_ROOM {
                wire.room = vec![0; FIRST_ROOM];
            }
            self.idle.put(wire);
        }
    }
}
