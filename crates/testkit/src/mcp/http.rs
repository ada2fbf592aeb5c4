//! The server behind an address: streamable HTTP on the loopback, a brain for each session.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use serde_json::Value;

use super::brain::{Act, Brain, flood_head};

/// A running server. It stops when it is dropped.
pub struct McpServer {
    address: SocketAddr,
    state: Arc<State>,
    server: Option<JoinHandle<()>>,
}

/// A request that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// `POST`, `GET` or `DELETE`.
    pub verb: String,
    /// The method of the message.
    pub method: String,
    pub session: Option<String>,
    pub authorization: Option<String>,
}

struct State {
    manners: Vec<String>,
    sessions: Mutex<BTreeMap<String, Brain>>,
    next: AtomicUsize,
    heard: Mutex<Vec<Heard>>,
    is_changed: AtomicBool,
    stop: AtomicBool,
}

impl McpServer {
    /// Starts a server on a free port of the loopback. Beside the manners of a [`Brain`]: `events` answers with
    /// streams of events, `listening` lets clients listen and hangs up on them, `locked` answers 401 without a key,
    /// `moved` redirects.
    ///
    /// # Panics
    /// When the loopback cannot be used.
    pub fn start(manners: &[&str]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let state = Arc::new(State {
            manners: manners.iter().map(|manner| (*manner).to_owned()).collect(),
            sessions: Mutex::default(),
            next: AtomicUsize::new(1),
            heard: Mutex::default(),
            is_changed: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        let server = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.stop.load(Ordering::SeqCst) {
                    break;
                }
                let state = Arc::clone(&shared);
                if let Ok(stream) = stream {
                    // A client that hangs up is its own business.
                    std::thread::spawn(move || serve(&state, stream).ok());
                }
            }
        });
        Self { address, state, server: Some(server) }
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn heard(&self) -> Vec<Heard> {
        lock(&self.state.heard).clone()
    }

    /// Sessions that nobody has ended.
    pub fn open_sessions(&self) -> usize {
        lock(&self.state.sessions).len()
    }

    /// Describes its tools otherwise in every session from now on.
    pub fn change(&self) {
        self.state.is_changed.store(true, Ordering::SeqCst);
    }
}

impl Drop for McpServer {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::SeqCst);
        // One last connection wakes the listener up.
        drop(TcpStream::connect(self.address));
        if let Some(server) = self.server.take() {
            drop(server.join());
        }
    }
}

/// Answers one request and hangs up.
fn serve(state: &State, stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let header = |name: &str| {
        head.iter().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let verb = head.first().and_then(|line| line.split(' ').next()).unwrap_or_default().to_owned();
    let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let session = header("mcp-session-id");
    let authorization = header("authorization");
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    lock(&state.heard).push(Heard { verb: verb.clone(), method, session: session.clone(), authorization });
    let has = |manner: &str| state.manners.iter().any(|known| known == manner);
    if has("moved") {
        return reply(stream, "307 Temporary Redirect", "Location: http://127.0.0.1:9/elsewhere\r\n", b"");
    }
    if has("locked") && header("authorization").is_none() {
        return reply(stream, "401 Unauthorized", "WWW-Authenticate: Bearer\r\n", b"");
    }
    match verb.as_str() {
        "POST" => post(state, stream, session, &message),
        "DELETE" => {
            lock(&state.sessions).remove(&session.unwrap_or_default());
            reply(stream, "204 No Content", "", b"")
        }
        "GET" if has("listening") => {
            let notice = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
            reply(stream, "200 OK", "Content-Type: text/event-stream\r\n", notice.as_bytes())
        }
        _ => reply(stream, "405 Method Not Allowed", "", b""),
    }
}

fn post(state: &State, stream: TcpStream, session: Option<String>, message: &Value) -> std::io::Result<()> {
    let is_modern = state.manners.iter().any(|manner| manner == "modern");
    let (session, mut brain) = match (session, message["method"].as_str()) {
        (None, Some("initialize")) if !is_modern => {
            let id = format!("session-{}", state.next.fetch_add(1, Ordering::SeqCst));
            lock(&state.sessions).insert(id.clone(), Brain::new(&state.manners));
            (id, Brain::new(&state.manners))
        }
        (None, _) if is_modern => (String::new(), Brain::new(&state.manners)),
        (None, _) => return reply(stream, "400 Bad Request", "Content-Type: text/plain\r\n", b"no session"),
        (Some(id), _) => match lock(&state.sessions).get(&id).cloned() {
            Some(brain) => (id, brain),
            None => return reply(stream, "404 Not Found", "", b""),
        },
    };
    if state.is_changed.load(Ordering::SeqCst) {
        brain.change();
    }
    let act = brain.hear(message);
    if !session.is_empty() {
        lock(&state.sessions).insert(session.clone(), brain.clone());
    }
    match act {
        Act::Say(messages) if messages.is_empty() => reply(stream, "202 Accepted", "", b""),
        Act::Say(messages) => say(stream, &brain, &session, &messages),
        Act::Hang | Act::Interrogate(_) => {
            // Until the client has had enough, or the test.
            let mut stream = stream;
            drop(stream.read(&mut [0]));
            Ok(())
        }
        Act::Die if brain.has("events") => {
            reply(stream, "200 OK", "Content-Type: text/event-stream\r\n", b": soon\n\n")
        }
        Act::Die => Ok(()),
        Act::Babble => {
            let event = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
            flood(stream, "text/event-stream", "", event.as_bytes())
        }
        Act::Flood if brain.has("events") => {
            flood(stream, "text/event-stream", &format!("data: {}", flood_head(&message["id"])), &[b'x'; 1 << 16])
        }
        Act::Flood => flood(stream, "application/json", &flood_head(&message["id"]), &[b'x'; 1 << 16]),
    }
}

fn say(stream: TcpStream, brain: &Brain, session: &str, messages: &[Value]) -> std::io::Result<()> {
    let session = if session.is_empty() { String::new() } else { format!("Mcp-Session-Id: {session}\r\n") };
    if brain.has("events") {
        let events: String = messages.iter().map(|message| format!("event: message\ndata: {message}\n\n")).collect();
        return reply(stream, "200 OK", &format!("{session}Content-Type: text/event-stream\r\n"), events.as_bytes());
    }
    // Without a stream there is room for the answer only.
    let answer = messages.last().map(Value::to_string).unwrap_or_default();
    reply(stream, "200 OK", &format!("{session}Content-Type: application/json\r\n"), answer.as_bytes())
}

/// A gigabyte: the reader has to stop it.
fn flood(mut stream: TcpStream, kind: &str, head: &str, text: &[u8]) -> std::io::Result<()> {
    let start = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n");
    stream.write_all(format!("{start}{head}").as_bytes())?;
    (0..(1 << 30) / text.len()).try_for_each(|_| stream.write_all(text))
}

fn reply(mut stream: TcpStream, status: &str, headers: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
