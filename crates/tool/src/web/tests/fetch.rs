//! Pages of every kind, and servers that misbehave.

use std::time::Instant;

use proofmark_artefact::suite::solver::Engine;
use proofmark_testkit::certificate::{Authority, Validity};
use proofmark_testkit::tls::Front;

use super::search::world;
use super::server::{Answer, Server, page};
use super::*;
use crate::build::Toolbox;

async fn fetched(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Result<ToolOutput, ToolError> {
    let server = Server::start(PUBLIC, answer).await;
    get(&fetcher(&Names::new(&[]), &[], &[]), &server.url("/page?a=1#part")).await
}

fn raw(head: &str, body: &[u8]) -> Answer {
    Answer::Bytes([head.replace('\n', "\r\n").as_bytes(), body].concat())
}

#[tokio::test]
async fn a_page_comes_as_text_with_its_address() {
    let server = Server::start(PRIVATE, |_| {
        page("200 OK", "text/html; charset=utf-8", "<title>T</title><p>A <a href='/b'>link</a> é")
    })
    .await;
    let entry = format!("127.0.0.1:{}", server.port());
    let tool = fetcher(&Names::new(&[]), &[&entry], &[]);
    let output = get(&tool, &server.url("/page?a=1#part")).await.unwrap();
    assert_eq!(text(&output), format!("T\n\nA link ({}) é", server.url("/b")));
    assert_eq!(output.source, Some(server.url("/page?a=1")));
    assert!(!output.is_error);

    let request = server.requests().remove(0).to_ascii_lowercase();
    let mut lines: Vec<&str> = request.trim_end().lines().collect();
    assert_eq!(lines.remove(0), "get /page?a=1 http/1.1");
    let mut names: Vec<&str> = lines.iter().map(|line| line.split(':').next().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent"]);
    assert!(lines.contains(&"accept-encoding: identity"));
    assert!(lines.contains(&format!("user-agent: proofmark-agent/{}", env!("CARGO_PKG_VERSION")).as_str()));
}

#[tokio::test]
async fn the_tools_are_built_from_a_plan() {
    let server = Server::start(PRIVATE, |_| page("200 OK", "application/json", r#"{"results":[]}"#)).await;
    let entry = format!("127.0.0.1:{}", server.port());
    let search = AgentToolPlan::WebSearch {
        engine: Engine::Searxng,
        base_url: Some(server.url("")),
        api_key_env: None,
        results: 5,
        allow_private: vec![entry.clone()],
        block_domains: Vec::new(),
        max_output: 5_000,
        timeout: 20.0,
    };
    let plans = [plan(&[&entry], &["blocked.example"]), search];
    let toolbox = Toolbox::build(&plans, &world(&[])).await.unwrap();
    let names: Vec<String> = toolbox.definitions().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["web_fetch", "web_search"]);
    let fetch = toolbox.get("web_fetch").unwrap();
    assert_eq!(text(&call(&**fetch, "url", &server.url("/")).await.unwrap()), r#"{"results":[]}"#);
    let search = toolbox.get("web_search").unwrap();
    assert_eq!(text(&call(&**search, "query", "x").await.unwrap()), "No results.\n");

    let error = Toolbox::build(&[plan(&["*"], &[])], &world(&[])).await.err().unwrap();
    assert_eq!(error.to_string(), "the tool `web_fetch`: `*` is not a host that can be allowed or blocked");
    assert!(error.hint().is_some());
}

#[tokio::test]
async fn text_of_every_kind_can_be_read() {
    for (content_type, body, expected) in [
        ("application/json", &b"{\"a\": 1}"[..], "{\"a\": 1}"),
        ("text/plain", b"<b>a</b>\r\n\x1b[31mred\x07", "<b>a</b>\n[31mred"),
        ("text/plain; charset=latin1", b"caf\xe9 \x80", "café €"),
        ("text/html", b"<meta charset=windows-1252><p>\x93x\x94", "“x”"),
        ("text/plain", b"a\xff\xfeb", "a\u{fffd}\u{fffd}b"),
        ("text/plain", b"\xff\xfea\0b\0", "ab"),
        ("application/rss+xml", b"<rss/>", "<rss/>"),
        ("text/plain", b"", "[the page has no text]"),
        ("text/html", b"<script>x</script>", "[the page has no text]"),
        (
            "text/html; charset=koi8-r",
            b"<p>abc",
            "abc\n\n[the page's charset `koi8-r` is not known: characters may be wrong]\n",
        ),
    ] {
        let output = fetched(move |_| page("200 OK", content_type, body)).await.unwrap();
        assert_eq!(text(&output), expected, "{content_type}");
    }
    let untold = |body: &'static str| move |_: &str| raw("HTTP/1.1 200 OK\n\n", body.as_bytes());
    assert_eq!(text(&fetched(untold("\n<!DOCTYPE html><p>x")).await.unwrap()), "x");
    assert_eq!(text(&fetched(untold("x <p> y")).await.unwrap()), "x <p> y");
}

#[tokio::test]
async fn a_page_that_is_not_there_is_an_error_with_its_text() {
    let output = fetched(|_| page("404 Gone Fishing", "text/html", "<h1>Nothing here")).await.unwrap();
    assert_eq!((text(&output), output.is_error), ("HTTP 404 Not Found\n\n# Nothing here", true));
    assert!(output.source.unwrap().ends_with("/page?a=1"));
    let output = fetched(|_| page("500 x", "image/png", "\x00")).await.unwrap();
    assert_eq!((text(&output), output.is_error), ("HTTP 500 Internal Server Error", true));
    let output = fetched(|_| raw("HTTP/1.1 302 Found\ncontent-length: 0\n\n", b"")).await.unwrap();
    assert_eq!((text(&output), output.is_error), ("HTTP 302 Found\n\n[the page has no text]", true));
    let output = fetched(|_| raw("HTTP/1.1 204 No Content\n\n", b"")).await.unwrap();
    assert_eq!((text(&output), output.is_error), ("[the page has no text]", false));
}

#[tokio::test]
async fn what_is_no_text_is_refused_with_its_type_and_size() {
    let error = fetched(|_| page("200 OK", "application/zip", vec![0; 1234])).await.unwrap_err();
    assert_eq!(error.failure, Failure::Refused);
    assert_eq!(error.message, "the page cannot be read: it is `application/zip`, 1234 bytes");
    let error = fetched(|_| page("200 OK", "text/plain", b"PK\x03\x04\0\0\0")).await.unwrap_err();
    assert_eq!((error.failure, error.message.as_str()), (Failure::Refused, "the page cannot be read: it is not text"));
    let endless =
        |_: &str| Answer::Endless(b"HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\n\r\n".to_vec(), vec![7; 1000]);
    let error = fetched(endless).await.unwrap_err();
    assert_eq!(error.message, "the page cannot be read: it is `video/mp4`, of unknown size");
    for content_type in ["application/pdf", "text/plain"] {
        let output = fetched(move |_| page("200 OK", content_type, "%PDF-1.7 ...")).await.unwrap();
        assert_eq!(text(&output), "[a PDF document, 12 bytes: its text cannot be read with this tool]");
        assert!(output.is_error);
    }
    // A bomb is not unpacked.
    let packed =
        |_: &str| raw("HTTP/1.1 200 OK\ncontent-type: text/html\ncontent-encoding: gzip\n\n", &[0x1f, 0x8b, 8]);
    let error = fetched(packed).await.unwrap_err();
    assert_eq!(error.failure, Failure::Refused);
    assert!(error.message.contains("packed"), "{error}");
}

#[tokio::test]
async fn a_body_without_end_is_cut() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n".to_vec();
    let output = fetched(move |_| Answer::Endless(head.clone(), "aé".repeat(500).into_bytes())).await.unwrap();
    assert!(output.content.len() <= 5_000);
    assert!(text(&output).ends_with(" bytes of a longer output]\n"), "{}", text(&output));

    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<p>begin".to_vec();
    let output = fetched(move |_| Answer::Endless(head.clone(), b"<br>".repeat(100))).await.unwrap();
    assert_eq!(text(&output), "begin\n\n[cut: only the first 100000 bytes of the page were read]\n");
}

#[tokio::test]
async fn bombs_of_html_are_read_in_time() {
    for unit in ["<", "<div>", "<a href=x>y", "<!--", "&#"] {
        let started = Instant::now();
        let body = unit.repeat(100_000 / unit.len());
        fetched(move |_| page("200 OK", "text/html", &body)).await.unwrap();
        assert!(started.elapsed().as_secs() < 10, "{unit}");
    }
}

#[tokio::test]
async fn servers_that_misbehave_are_told_apart() {
    let many_headers: String = (0..5_000).map(|at| format!("x-{at}: y\r\n")).collect();
    let long_header = "y".repeat(2_000_000);
    let ok = "HTTP/1.1 200 OK\ncontent-type: text/plain\n";
    for (what, bytes, expected) in [
        ("breaks off", raw(&format!("{ok}content-length: 100\n\n"), b"half"), "the reply broke off"),
        ("bad chunks", raw(&format!("{ok}transfer-encoding: chunked\n\n"), b"zz\r\nx"), "the reply broke off"),
        ("no HTTP", raw("SSH-2.0-OpenSSH\n", b""), "no reply that could be read came back"),
        ("nothing", raw("", b""), "no reply that could be read came back"),
        ("many headers", raw(&format!("HTTP/1.1 200 OK\n{many_headers}\n"), b""), "no reply that could be read"),
        ("a long header", raw(&format!("HTTP/1.1 200 OK\nx: {long_header}\n\n"), b""), "no reply that could be read"),
        ("two lengths", raw(&format!("{ok}content-length: 1\ncontent-length: 2\n\n"), b"ab"), "no reply"),
    ] {
        let Answer::Bytes(bytes) = bytes else { unreachable!("made above") };
        let error = fetched(move |_| Answer::Bytes(bytes.clone())).await.unwrap_err();
        assert_eq!(error.failure, Failure::Unavailable, "{what}: {error}");
        assert!(error.message.contains(expected), "{what}: {error}");
    }
    let tool = fetcher(&Names::new(&[]), &[], &[]);
    let gone = Server::start(PUBLIC, |_| page("200 OK", "text/plain", "")).await;
    let url = gone.url("/");
    drop(gone);
    tokio::task::yield_now().await;
    let error = get(&tool, &url).await.unwrap_err();
    assert_eq!(
        (error.failure, error.message),
        (Failure::Unavailable, "`127.0.0.2`: the connection was refused".into())
    );
}

#[tokio::test]
async fn a_server_that_keeps_one_waiting_is_left() {
    let mut plan = plan(&[], &[]);
    if let AgentToolPlan::WebFetch { timeout, .. } = &mut plan {
        *timeout = 0.3;
    }
    let tool = Fetch::on(&plan, &network(&Names::new(&[]))).unwrap();
    for bytes in [&b""[..], b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n", b"HTTP/1.1 200 OK\r\n\r\nhalf"] {
        let server = Server::start(PUBLIC, move |_| Answer::Silence(bytes.to_vec())).await;
        let error = get(&tool, &server.url("/")).await.unwrap_err();
        assert_eq!((error.failure, error.message.as_str()), (Failure::Timeout, "`127.0.0.2` did not answer in time"));
    }
}

#[tokio::test]
async fn a_certificate_of_nobody_is_not_trusted() {
    let behind = Server::start(PUBLIC, |_| page("200 OK", "text/plain", "x")).await;
    let address = behind.url("").trim_start_matches("http://").parse().unwrap();
    let identity = Authority::new("nobody").issue("box.example", Validity::Now);
    // It starts a runtime of its own, which no other may wait for.
    let front = std::thread::spawn(move || Front::start(&identity, &["http/1.1"], address)).join().unwrap();
    let entry = format!("box.example:{}", front.port());
    let tool = fetcher(&Names::new(&[("box.example", &[&[PRIVATE]])]), &[&entry], &[]);
    let error = get(&tool, &format!("https://{entry}/")).await.unwrap_err();
    assert_eq!(error.failure, Failure::Unavailable);
    assert_eq!(error.message, "`box.example`: its certificate is not to be trusted");
    assert!(behind.requests().is_empty());
}
