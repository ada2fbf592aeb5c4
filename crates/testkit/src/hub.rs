//! A small hub: a real HTTP server on the loopback that serves datasets from memory.
//!
//! It speaks the part of the Hugging Face API that a reader of datasets needs (revision, tree with pages,
//! resolve) and can be told to misbehave. Every request is kept, with its token, for the test to look at.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// One dataset at one commit.
#[derive(Debug, Clone)]
pub struct HubRepo {
    /// `owner/name`.
    pub name: String,
    /// The commit, 40 hex digits.
    pub commit: String,
    /// Branches and tags that name the commit.
    pub refs: Vec<String>,
    pub files: Vec<HubFile>,
    /// Entries of one page of the list of files.
    pub page: usize,
}

#[derive(Debug, Clone)]
pub struct HubFile {
    pub path: String,
    pub bytes: Vec<u8>,
    /// The SHA-256 (hex) that the list shows, for a file in large-file storage. May be wrong on purpose.
    pub lfs_sha256: Option<String>,
}

/// What goes wrong with a request whose target contains `on`. A fault without a count lasts for ever.
#[derive(Debug, Clone)]
pub struct Fault {
    pub on: String,
    pub times: Option<u32>,
    pub kind: FaultKind,
}

#[derive(Debug, Clone)]
pub enum FaultKind {
    /// Answer with a status and headers, such as `Retry-After: 0`.
    Status(u16, Vec<(&'static str, String)>),
    /// Promise the whole body, send half of it and hang up.
    Truncate,
    /// Send half of the body as if it were all.
    Short,
    /// Send the client to the same target on another host.
    RedirectTo(String),
    /// Answer 401 unless this token comes with the request.
    RequireToken(String),
    /// Accept the request and never answer.
    Silence,
}

/// A request that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub target: String,
    /// The `Authorization` header.
    pub authorization: Option<String>,
}

/// A running hub. It stops when it is dropped.
pub struct FakeHub {
    address: SocketAddr,
    state: Arc<State>,
    server: Option<JoinHandle<()>>,
}

struct State {
    repos: Vec<HubRepo>,
    faults: Mutex<Vec<Fault>>,
    seen: Mutex<Vec<Seen>>,
    stop: AtomicBool,
}

impl FakeHub {
    /// Starts a hub on a free port of the loopback.
    ///
    /// # Panics
    /// When the loopback cannot be used.
    pub fn start(repos: Vec<HubRepo>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let state =
            Arc::new(State { repos, faults: Mutex::default(), seen: Mutex::default(), stop: AtomicBool::new(false) });
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

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn fault(&self, on: &str, times: Option<u32>, kind: FaultKind) {
        lock(&self.state.faults).push(Fault { on: on.to_owned(), times, kind });
    }

    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.state.seen).clone()
    }
}

impl Drop for FakeHub {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::SeqCst);
        // One last connection wakes the listener up.
        drop(TcpStream::connect(self.address));
        if let Some(server) = self.server.take() {
            drop(server.join());
        }
    }
}

struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

fn serve(state: &State, mut stream: TcpStream) -> std::io::Result<()> {
    let Some(seen) = read_request(&stream)? else { return Ok(()) };
    lock(&state.seen).push(seen.clone());
    let mut answer = state.answer(&seen.target);
    let mut sent = usize::MAX;
    match state.take_fault(&seen) {
        None => {}
        Some(FaultKind::Status(status, headers)) => answer = Answer { status, headers, body: b"{}".to_vec() },
        Some(FaultKind::Truncate) => sent = answer.body.len() / 2,
        Some(FaultKind::Short) => answer.body.truncate(answer.body.len() / 2),
        Some(FaultKind::RedirectTo(host)) => {
            let location = format!("{host}{}", seen.target);
            answer = Answer { status: 302, headers: vec![("Location", location)], body: Vec::new() };
        }
        Some(FaultKind::RequireToken(_)) => answer = Answer { status: 401, headers: Vec::new(), body: Vec::new() },
        Some(FaultKind::Silence) => {
            // Until the client gives up and closes its end.
            return stream.read(&mut [0]).map(drop);
        }
    }
    write!(stream, "HTTP/1.1 {} X\r\nConnection: close\r\nContent-Length: {}\r\n", answer.status, answer.body.len())?;
    for (name, value) in &answer.headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    stream.write_all(b"\r\n")?;
    stream.write_all(&answer.body[..answer.body.len().min(sent)])
}

fn read_request(stream: &TcpStream) -> std::io::Result<Option<Seen>> {
    let mut lines = BufReader::new(stream.take(64 << 10)).lines();
    let Some(first) = lines.next().transpose()? else { return Ok(None) };
    let Some(target) = first.split(' ').nth(1) else { return Ok(None) };
    let mut seen = Seen { target: target.to_owned(), authorization: None };
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("authorization") {
            seen.authorization = Some(value.trim().to_owned());
        }
    }
    Ok(Some(seen))
}

impl State {
    fn take_fault(&self, seen: &Seen) -> Option<FaultKind> {
        let mut faults = lock(&self.faults);
        let fault = faults.iter_mut().find(|fault| {
            seen.target.contains(&fault.on)
                && fault.times != Some(0)
                && !matches!(&fault.kind, FaultKind::RequireToken(token)
                    if seen.authorization.as_deref() == Some(&format!("Bearer {token}")))
        })?;
        fault.times = fault.times.map(|times| times - 1);
        Some(fault.kind.clone())
    }

    fn answer(&self, target: &str) -> Answer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = decode(path);
        self.repos.iter().find_map(|repo| repo.answer(&path, query)).unwrap_or(Answer {
            status: 404,
            headers: Vec::new(),
            body: br#"{"error":"Repository not found"}"#.to_vec(),
        })
    }
}

impl HubRepo {
    fn answer(&self, path: &str, query: &str) -> Option<Answer> {
        let api = format!("/api/datasets/{}", self.name);
        if let Some(revision) = path.strip_prefix(&format!("{api}/revision/")) {
            let known = self.refs.iter().any(|name| name == revision) || revision == self.commit;
            return known.then(|| ok(json!({"id": self.name, "sha": self.commit, "private": false})));
        }
        if path == format!("{api}/tree/{}", self.commit) {
            return Some(self.page_of_tree(query));
        }
        let file = path.strip_prefix(&format!("/datasets/{}/resolve/{}/", self.name, self.commit))?;
        let file = self.files.iter().find(|candidate| candidate.path == file)?;
        Some(Answer { status: 200, headers: Vec::new(), body: file.bytes.clone() })
    }

    fn page_of_tree(&self, query: &str) -> Answer {
        let cursor = query.split('&').find_map(|part| part.strip_prefix("cursor="));
        let start: usize = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        let end = self.files.len().min(start + self.page.max(1));
        let mut entries = vec![json!({"type": "directory", "path": "data", "size": 0, "oid": "0".repeat(40)})];
        for file in &self.files[start..end] {
            let mut entry = json!({"type": "file", "path": file.path, "size": file.bytes.len(), "oid": "0".repeat(40)});
            if let Some(sha) = &file.lfs_sha256 {
                entry["lfs"] = json!({"oid": sha, "size": file.bytes.len(), "pointerSize": 130});
            }
            entries.push(entry);
        }
        let mut answer = ok(Value::Array(entries));
        if end < self.files.len() {
            let url = format!("https://hub.example/api/datasets/{}/tree/x?recursive=true&cursor={end}", self.name);
            answer.headers.push(("Link", format!("<{url}>; rel=\"next\"")));
        }
        answer
    }
}

fn ok(body: Value) -> Answer {
    Answer {
        status: 200,
        headers: vec![("Content-Type", "application/json".to_owned())],
        body: body.to_string().into(),
    }
}

fn decode(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| byte == b'%') {
            Some(decoded) => {
                out.push(decoded);
                rest = &after[2..];
            }
            None => {
                out.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
