//! Servers that mean no good: each ends in its class, soon, and in little memory.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::super::{env, lines, questions, suite};
use super::{RUN, assert_all, reason};

/// What a server does with a connection once it has read a request.
type Answer = Box<dyn Fn(&mut TcpStream) -> io::Result<()> + Send + Sync>;

/// A server that answers in its own way and then hangs up. It stops when it is dropped.
pub(super) struct Raw {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Raw {
    pub(super) fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, stopped, answer) = (Arc::clone(&asked), Arc::clone(&stop), Arc::new(answer));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let (count, answer) = (Arc::clone(&count), Arc::clone(&answer));
                std::thread::spawn(move || -> io::Result<()> {
                    let mut stream = stream?;
                    read_request(&stream)?;
                    count.fetch_add(1, Ordering::SeqCst);
                    answer(&mut stream)?;
                    stream.shutdown(std::net::Shutdown::Write)?;
                    // Closing with something unread would reset the connection and lose what was sent.
                    io::copy(&mut stream, &mut io::sink()).map(drop)
                });
            }
        });
        Self { address, asked, stop, thread: Some(thread) }
    }

    pub(super) fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Requests that came in.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // One last connection wakes the listener up.
        drop(TcpStream::connect(self.address));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn read_request(stream: &TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            return reader.read_exact(&mut vec![0; length]);
        }
    }
}

/// Sends these bytes.
pub(super) fn say(bytes: impl Into<Vec<u8>>) -> Answer {
    let bytes = bytes.into();
    Box::new(move |stream| stream.write_all(&bytes))
}

/// Sends the first bytes, then the others over and over again, with a pause before each. Ends when nobody listens.
fn repeat(first: impl Into<Vec<u8>>, over: impl Into<Vec<u8>>, pause: Duration) -> Answer {
    let (first, over) = (first.into(), over.into());
    Box::new(move |stream| {
        stream.write_all(&first)?;
        loop {
            std::thread::sleep(pause);
            stream.write_all(&over)?;
        }
    })
}

const GOOD: &str =
    r#"{"choices":[{"finish_reason":"stop","index":0,"message":{"content":"item 0","role":"assistant"}}],"model":"m"}"#;
const NOW: Duration = Duration::ZERO;
const SOON: Duration = Duration::from_millis(20);

/// A reply with a status, headers (each with its line end) and a body with its length.
fn reply(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// One chunk of a chunked body.
fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Servers by name, each with the class and a part of the message that it must end in.
fn servers() -> Vec<(&'static str, Answer, &'static str)> {
    let head = |header: String| format!("HTTP/1.1 200 OK\r\n{header}\r\nContent-Length: 2\r\n\r\n{{}}");
    let ok = |headers: &str| reply("200 OK", headers, GOOD);
    let after = |first: &str| [first.as_bytes(), &ok("")].concat();
    let too_long = "malformed: the head of the reply is too long";
    let no_http = "malformed: the reply is not HTTP";
    let no_first_byte = "timeout: the first byte did not come within 1 s";
    let truncated = "truncated: the connection ended before the reply did";
    let many = |count: usize| (0..count).map(|n| format!("x-{n}: y\r\n")).collect::<String>();
    vec![
        ("a-huge-header", say(head(format!("x-a: {}", "a".repeat(2 << 20)))), too_long),
        ("many-headers", say(ok(&many(20_000))), too_long),
        ("an-endless-head", repeat("HTTP/1.1 200 OK\r\nx-a: ", vec![b'a'; 1 << 16], NOW), too_long),
        ("an-endless-status", repeat("HTTP/1.1 200 ", vec![b'a'; 1 << 16], NOW), too_long),
        (
            "a-gigabyte-announced",
            say("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n{}"),
            "malformed: the reply is longer than",
        ),
        ("more-than-there-is", say(format!("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{GOOD}")), truncated),
        ("two-lengths", say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x"), no_http),
        ("a-negative-length", say("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}"), no_http),
        (
            "a-length-beyond-numbers",
            say("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n{}"),
            no_http,
        ),
        (
            "a-chunk-of-no-size",
            say(format!("{CHUNKED}zz\r\n{{}}\r\n0\r\n\r\n")),
            "malformed: the reply breaks the rules of HTTP",
        ),
        (
            "a-chunk-beyond-numbers",
            say(format!("{CHUNKED}ffffffffffffffffff\r\n{{}}")),
            "malformed: the reply breaks the rules of HTTP",
        ),
        ("a-chunk-cut-off", say(format!("{CHUNKED}ff\r\n{{}}")), truncated),
        ("no-last-chunk", say([CHUNKED.as_bytes(), &chunk(GOOD.as_bytes())].concat()), truncated),
        (
            "gzip",
            say(reply("200 OK", "Content-Encoding: gzip\r\n", b"\x1f\x8b\x08\0")),
            "malformed: the reply is encoded as `gzip`",
        ),
        ("an-unreadable-encoding", say(ok("Content-Encoding: \u{1b}[31m\u{fffd}\r\n")), no_http),
        ("identity", say(ok("Content-Encoding: identity\r\n")), "success"),
        ("binary-headers", say([b"HTTP/1.1 200 OK\r\nx-request-id: \xff\xfe\r\n", &ok("")[17..]].concat()), "success"),
        ("a-binary-header-name", say(b"HTTP/1.1 200 OK\r\nx\xff: y\r\n\r\n{}".to_vec()), no_http),
        ("a-nul-in-a-header", say(b"HTTP/1.1 200 OK\r\nx: \0\r\n\r\n{}".to_vec()), no_http),
        (
            "a-binary-body",
            say(reply(
                "200 OK",
                "",
                GOOD.bytes().map(|byte| if byte == b'i' { 0xff } else { byte }).collect::<Vec<u8>>(),
            )),
            "malformed: ",
        ),
        (
            "informed-first",
            say(after("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")),
            "success",
        ),
        ("informed-for-ever", repeat("", "HTTP/1.1 102 Processing\r\n\r\n", Duration::from_millis(1)), no_first_byte),
        (
            "another-protocol",
            say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
            "malformed: the reply has status 101",
        ),
        ("http-0.9", say(GOOD), no_http),
        ("http-2-unasked", say(b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64".to_vec()), no_http),
        ("tls-unasked", say(b"\x15\x03\x01\0\x02\x02\x28".to_vec()), no_http),
        ("a-status-of-999", say(reply("999 X", "", GOOD)), "bad_request: "),
        ("a-status-of-099", say(reply("099 X", "", GOOD)), no_http),
        ("no-content", say("HTTP/1.1 204 No Content\r\n\r\n"), "malformed: the reply has status 204"),
        ("a-success-that-is-none", say(reply("203 X", "", "[]")), "malformed: "),
        ("silence", say(""), "network: the connection was closed"),
        ("a-slow-head", repeat("HTTP/1.1 200 OK\r\n", "x-a: y\r\n", SOON), no_first_byte),
        (
            "a-slow-body",
            repeat("HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n", " ", SOON),
            "timeout: the last byte did not come within 2 s",
        ),
        (
            "a-slow-refusal",
            repeat("HTTP/1.1 400 No\r\nContent-Length: 9999\r\n\r\n", " ", SOON),
            "timeout: the last byte did not come within 2 s",
        ),
    ]
}

#[test]
fn every_hostile_reply_ends_in_its_class() {
    let env = env();
    questions(&env, 1);
    let servers: Vec<_> =
        servers().into_iter().map(|(name, answer, class)| (name, Raw::start(answer), class)).collect();
    let models: Vec<String> = servers
        .iter()
        .map(|(name, raw, _)| format!("  - {{id: {name}, model: \"compatible:x\", base_url: \"{}\"}}", raw.base()))
        .collect();
    let limits = "limits: {max_retries: 0, first_byte_timeout: 1, total_timeout: 2}";
    suite(&env, &models.join("\n"), limits);
    let start = Instant::now();
    let ran = env.call(&RUN).run().expect(1);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let records = lines(&env, "run/records.jsonl");
    let found: BTreeMap<&str, String> =
        records.iter().map(|record| (record["model"].as_str().unwrap(), reason(record))).collect();
    let wrong: Vec<String> = servers
        .iter()
        .filter(|(name, _, expected)| !found[name].starts_with(expected))
        .map(|(name, _, expected)| format!("{name}: expected `{expected}`, found `{}`", found[name]))
        .collect();
    assert!(wrong.is_empty(), "{}\n{ran}", wrong.join("\n"));
}

#[test]
fn endless_replies_end_at_a_limit_and_fill_no_memory() {
    let raw = Raw::start(repeat(CHUNKED, chunk(&vec![b' '; 1 << 20]), NOW));
    let env = env();
    questions(&env, 12);
    suite(&env, &format!("  - {{id: m, model: \"compatible:x\", base_url: \"{}\"}}", raw.base()), "");
    let (ran, most) = env.call(&RUN).start().wait_with_memory();
    assert_all(&env, &ran, "malformed: the reply is longer than 134217728 bytes");
    assert_eq!(raw.asked(), 12, "what is too long is not asked for again");
    // Four of the largest at once; all twelve would be more than a gigabyte.
    assert!((100 << 10..700 << 10).contains(&most), "{most} KiB");
}

#[test]
fn a_stream_that_goes_on_after_its_end_is_an_answer() {
    let event = |data: &str| chunk(format!("data: {data}\n\n").as_bytes());
    let part = r#"{"choices":[{"delta":{"content":"item 0"},"finish_reason":"stop","index":0}],"model":"m"}"#;
    let whole = [EVENTS.as_bytes(), &event(part), &event("[DONE]")].concat();
    let comment = chunk(b": still here\n\n");
    for (more, pause) in [(vec![b'a'; 0], NOW), (comment.clone(), SOON), (chunk(&[b'\n'; 1 << 16]), NOW)] {
        let answer = if more.is_empty() { say(whole.clone()) } else { repeat(whole.clone(), more, pause) };
        let raw = Raw::start(answer);
        let env = env();
        questions(&env, 1);
        let model =
            format!("  - {{id: m, model: \"compatible:x\", base_url: \"{}\", params: {{stream: true}}}}", raw.base());
        suite(&env, &model, "limits: {max_retries: 0}");
        let start = Instant::now();
        assert_all(&env, &env.call(&RUN).run(), "success");
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
}

#[test]
fn a_stream_of_one_endless_line_ends_at_a_limit() {
    let raw = Raw::start(repeat(EVENTS, chunk(&vec![b'a'; 1 << 20]), NOW));
    let env = env();
    questions(&env, 1);
    let model =
        format!("  - {{id: m, model: \"compatible:x\", base_url: \"{}\", params: {{stream: true}}}}", raw.base());
    suite(&env, &model, "");
    assert_all(&env, &env.call(&RUN).run(), "malformed: a part of the stream is longer than 33554432 bytes");
}
