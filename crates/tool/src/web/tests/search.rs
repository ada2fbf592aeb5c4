//! Each engine against a server that answers as documented, and worse.

use std::time::Duration;

use proofmark_artefact::suite::solver::Engine;

use super::super::{Search, WebError};
use super::server::{Answer, Server, moved, page};
use super::*;
use crate::build::Surroundings;

const KEY: &str = "key-canary-0123456789";

/// An environment with these variables.
pub(super) fn world(variables: &[(&str, &str)]) -> Surroundings {
    let variables: BTreeMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Surroundings {
        variable: Arc::new(move |name| variables.get(name).cloned()),
        program_path: None,
        suite_root: "/nowhere".into(),
        allow_unsandboxed: false,
        hidden: Vec::new(),
        scratch: None,
    }
}

struct Wanted<'a> {
    engine: Engine,
    base_url: Option<&'a str>,
    api_key_env: Option<&'a str>,
    allow_private: &'a [&'a str],
    block_domains: &'a [&'a str],
}

impl Wanted<'_> {
    fn build(&self, variables: &[(&str, &str)]) -> Result<Search, WebError> {
        let own = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
        let plan = AgentToolPlan::WebSearch {
            engine: self.engine,
            base_url: self.base_url.map(str::to_owned),
            api_key_env: self.api_key_env.map(str::to_owned),
            results: 2,
            allow_private: own(self.allow_private),
            block_domains: own(self.block_domains),
            max_output: 5_000,
            timeout: 20.0,
        };
        let names = Names::new(&[]);
        Search::on(&plan, &world(variables), &network(&names), Duration::from_millis(1))
    }
}

/// A tool for an engine behind a server of a test.
fn searcher(engine: Engine, server: &Server, block_domains: &[&str]) -> Search {
    let base = server.url("/base");
    let entry = format!("127.0.0.1:{}", server.port());
    let api_key_env = (engine != Engine::Searxng).then_some("SEARCH_API_KEY");
    let wanted = Wanted { engine, base_url: Some(&base), api_key_env, allow_private: &[&entry], block_domains };
    wanted.build(&[("SEARCH_API_KEY", KEY)]).unwrap()
}

async fn searched(
    engine: Engine,
    answer: impl Fn(&str) -> Answer + Send + Sync + 'static,
) -> (Result<ToolOutput, ToolError>, Vec<String>) {
    let server = Server::start(PRIVATE, answer).await;
    let result = call(&searcher(engine, &server, &["blocked.example"]), "query", " what\nis é? ").await;
    (result, server.requests())
}

const ENGINES: [Engine; 3] = [Engine::Searxng, Engine::Brave, Engine::Tavily];

/// A documented reply with these results.
fn reply(engine: Engine, results: &str) -> String {
    match engine {
        Engine::Brave => format!(r#"{{"type":"search","web":{{"results":[{results}]}}}}"#),
        _ => format!(r#"{{"query":"q","results":[{results}],"response_time":1.5}}"#),
    }
}

fn result(engine: Engine, title: &str, url: &str, snippet: &str) -> String {
    let name = if engine == Engine::Brave { "description" } else { "content" };
    format!(r#"{{"title":"{title}","url":"{url}","{name}":"{snippet}","score":0.5}}"#)
}

#[tokio::test]
async fn results_are_numbered_and_blocked_ones_left_out() {
    for engine in ENGINES {
        let results = [
            result(engine, "One", "https://a.example/1?x=y", "First\\n thing"),
            result(engine, "Gold", "https://data.blocked.example./gold", "the gold answer"),
            result(engine, "Odd", "javascript:alert(1)", "no"),
            result(engine, "", "http://b.example/", "\\u001b[31m"),
            result(engine, "Three", "https://c.example/", "beyond what was asked for"),
        ];
        let body = reply(engine, &results.join(","));
        let (output, _) = searched(engine, move |_| page("200 OK", "application/json", &body)).await;
        let output = output.unwrap();
        let expected = "1. One\n   https://a.example/1?x=y\n   First thing\n2. (no title)\n   http://b.example/\n   [31m\n\
            \n1 result left out: blocked domain\n";
        assert_eq!(text(&output), expected, "{engine:?}");
        assert!(!output.is_error);

        let body = reply(engine, "");
        let (output, _) = searched(engine, move |_| page("200 OK", "application/json", &body)).await;
        assert_eq!(text(&output.unwrap()), "No results.\n");
    }
}

#[tokio::test]
async fn each_engine_is_asked_as_it_documents() {
    for (engine, line, headers, body) in [
        (Engine::Searxng, "get /base/search?q=what+is+%c3%a9%3f&format=json http/1.1", vec![], ""),
        (
            Engine::Brave,
            "get /base/web/search?q=what+is+%c3%a9%3f&count=2&text_decorations=false http/1.1",
            vec![format!("x-subscription-token: {KEY}")],
            "",
        ),
        (
            Engine::Tavily,
            "post /base/search http/1.1",
            vec![format!("authorization: bearer {KEY}"), "content-type: application/json".to_owned()],
            r#"{"max_results":2,"query":"what is é?"}"#,
        ),
    ] {
        let (output, requests) = searched(engine, move |_| page("200 OK", "application/json", reply(engine, ""))).await;
        let source = output.unwrap().source.unwrap();
        assert!(source.starts_with("http://127.0.0.1:") && !source.contains(KEY), "{source}");
        let request = requests[0].to_lowercase();
        let (head, sent) = request.split_once("\r\n\r\n").unwrap();
        assert_eq!(head.lines().next(), Some(line));
        for header in headers {
            assert!(head.contains(&format!("\r\n{header}")), "{head}");
        }
        assert_eq!(sent, body);
        assert_eq!(head.contains(KEY), engine != Engine::Searxng);
        assert!(head.contains("\r\naccept: application/json"));
    }
}

#[tokio::test]
async fn an_engine_that_fails_is_not_repeated() {
    let echo = format!(r#"{{"detail":{{"error":"Unauthorized: {KEY}"}}}}"#);
    for engine in ENGINES {
        for (status, failure, expected) in [
            ("401 Unauthorized", Failure::Unavailable, "did not answer: "),
            ("403 Forbidden", Failure::Unavailable, "did not answer: it "),
            ("422 Unprocessable", Failure::BadArguments, "cannot use this query"),
            ("429 Too Many Requests", Failure::Unavailable, "too many searches"),
            ("432 Plan Limit", Failure::Unavailable, "HTTP 432"),
            ("500 x", Failure::Unavailable, "HTTP 500 Internal Server Error"),
        ] {
            let body = echo.clone();
            let (result, requests) = searched(engine, move |_| page(status, "application/json", &body)).await;
            let error = result.unwrap_err();
            assert_eq!(error.failure, failure, "{engine:?} {status}");
            assert!(error.message.contains(expected), "{engine:?} {status}: {error}");
            assert!(!error.message.contains("canary"), "{error}");
            assert_eq!(requests.len(), if status.starts_with("429") { 4 } else { 1 });
        }
        for body in ["<html>blocked</html>", "", "{\"results\": [", "[]", "{\"web\": 3}"] {
            let (result, _) = searched(engine, move |_| page("200 OK", "application/json", body)).await;
            let error = result.unwrap_err();
            assert_eq!(error.failure, Failure::Unavailable, "{engine:?} {body}");
            assert_eq!(error.message, "the search engine's reply cannot be understood");
        }
    }
}

#[tokio::test]
async fn an_engine_without_time_is_asked_again() {
    let count = Arc::new(Mutex::new(0));
    let (result, requests) = searched(Engine::Brave, move |_| {
        let mut count = count.lock().unwrap();
        *count += 1;
        match *count {
            1 => page("429 x", "application/json", "{}"),
            2 => Answer::Bytes(b"HTTP/1.1 503 x\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n".to_vec()),
            _ => page("200 OK", "application/json", reply(Engine::Brave, "")),
        }
    })
    .await;
    assert_eq!(text(&result.unwrap()), "No results.\n");
    assert_eq!(requests.len(), 3);
}

#[tokio::test]
async fn a_key_goes_nowhere_else_and_never_into_a_result() {
    let elsewhere = Server::start(PRIVATE, |_| page("200 OK", "application/json", "{}")).await;
    let to = elsewhere.url("/");
    let (result, _) = searched(Engine::Tavily, move |_| moved(&to)).await;
    let error = result.unwrap_err();
    assert!(error.message.contains("is not followed"), "{error}");
    assert!(elsewhere.requests().is_empty());

    let results = result_with_key();
    let (output, _) = searched(Engine::Tavily, move |_| page("200 OK", "application/json", &results)).await;
    assert_eq!(text(&output.unwrap()), "1. your ***\n   https://a.example/?k=***\n   ***\n");
}

fn result_with_key() -> String {
    let url = format!("https://a.example/?k={KEY}");
    reply(Engine::Tavily, &result(Engine::Tavily, &format!("your {KEY}"), &url, KEY))
}

#[tokio::test]
async fn a_reply_beyond_all_measure_is_not_read() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"results\":[".to_vec();
    let (result, _) = searched(Engine::Searxng, move |_| Answer::Endless(head.clone(), b"{},".repeat(10_000))).await;
    assert_eq!(failure(result), Some(Failure::TooLarge));
}

#[tokio::test]
async fn queries_have_a_length() {
    let server = Server::start(PRIVATE, |_| page("200 OK", "application/json", reply(Engine::Searxng, ""))).await;
    let tool = searcher(Engine::Searxng, &server, &[]);
    for query in ["", " \n", &"é".repeat(401)] {
        assert_eq!(failure(call(&tool, "query", query).await), Some(Failure::BadArguments));
    }
    assert_eq!(failure(call(&tool, "q", "x").await), Some(Failure::BadArguments));
    assert!(server.requests().is_empty());
    assert!(call(&tool, "query", &"é".repeat(400)).await.is_ok());
}

#[test]
fn keys_are_paired_with_their_engines_only() {
    let variables = [
        ("BRAVE_API_KEY", KEY),
        ("TAVILY_API_KEY", KEY),
        ("OPENAI_API_KEY", KEY),
        ("SEARCH_API_KEY", KEY),
        ("SEARXNG_PROXY_API_KEY", KEY),
        ("TAVILY_BAD_API_KEY", "a\nb"),
        ("TAVILY_EMPTY_API_KEY", " "),
    ];
    let of = |engine, base_url, api_key_env| {
        let wanted =
            Wanted { engine, base_url, api_key_env, allow_private: &["localhost", "10.0.0.1"], block_domains: &[] };
        wanted.build(&variables).map(drop)
    };
    use Engine::{Brave, Searxng, Tavily};
    for (engine, base, name) in [
        (Brave, None, None),
        (Tavily, None, None),
        (Tavily, None, Some("SEARCH_API_KEY")),
        (Brave, Some("https://api.search.brave.com/res/v1"), None),
        (Brave, Some("https://mirror.example"), Some("SEARCH_API_KEY")),
        (Brave, Some("http://localhost:8080"), Some("BRAVE_API_KEY")),
        (Searxng, Some("http://searx.example"), None),
        (Searxng, Some("https://searx.example"), Some("SEARXNG_PROXY_API_KEY")),
    ] {
        let built = of(engine, base, name);
        assert!(built.is_ok(), "{engine:?} {base:?} {name:?}: {built:?}");
    }
    let elsewhere = |error: &WebError| matches!(error, WebError::KeyElsewhere { .. });
    let unnamed = |error: &WebError| matches!(error, WebError::KeyNotNamed(..));
    let unencrypted = |error: &WebError| matches!(error, WebError::Unencrypted(_));
    type Test<'a> = &'a dyn Fn(&WebError) -> bool;
    let cases: [(Engine, Option<&str>, Option<&str>, Test<'_>); 13] = [
        (Brave, Some("https://mirror.example"), None, &unnamed),
        (Brave, Some("https://api.search.brave.com:8443"), None, &unnamed),
        (Brave, Some("https://api.search.brave.com.example"), None, &unnamed),
        (Brave, Some("https://mirror.example"), Some("BRAVE_API_KEY"), &elsewhere),
        (Searxng, Some("https://mirror.example"), Some("TAVILY_API_KEY"), &elsewhere),
        (Tavily, None, Some("BRAVE_API_KEY"), &elsewhere),
        (Tavily, None, Some("OPENAI_API_KEY"), &elsewhere),
        (Searxng, Some("https://mirror.example"), Some("OPENAI_API_KEY"), &elsewhere),
        (Brave, Some("http://mirror.example"), Some("SEARCH_API_KEY"), &unencrypted),
        (Brave, Some("http://10.0.0.1"), Some("SEARCH_API_KEY"), &unencrypted),
        (Tavily, None, Some("TAVILY_BAD_API_KEY"), &|error| matches!(error, WebError::BadKey(_))),
        (Tavily, None, Some("TAVILY_EMPTY_API_KEY"), &|error| matches!(error, WebError::NoKey(_))),
        (Tavily, None, Some("TAVILY_OTHER_API_KEY"), &|error| matches!(error, WebError::NoKey(_))),
    ];
    for (engine, base, name, is_expected) in cases {
        let error = of(engine, base, name).unwrap_err();
        assert!(is_expected(&error), "{engine:?} {base:?} {name:?}: {error:?}");
        assert!(!format!("{error} {error:?} {:?}", error.hint()).contains("canary"));
    }
}

#[test]
fn an_engine_in_a_private_network_must_be_allowed() {
    let of = |base_url, allow_private| {
        let wanted = Wanted {
            engine: Engine::Searxng,
            base_url: Some(base_url),
            api_key_env: None,
            allow_private,
            block_domains: &["searx.example"],
        };
        wanted.build(&[]).map(drop)
    };
    for base in
        ["http://localhost:8888", "http://127.0.0.1:8888", "http://[::1]:8888", "http://10.1.2.3", "http://x.localhost"]
    {
        let error = of(base, &[]).unwrap_err();
        assert!(matches!(error, WebError::Private(_)), "{base}: {error:?}");
        assert!(error.hint().unwrap().contains("allow_private"));
    }
    assert!(of("http://localhost:8888", &["localhost:8888"]).is_ok());
    assert!(of("http://localhost:8888", &["localhost:8889"]).is_err());
    // What is blocked is blocked for pages, not for the engine itself.
    assert!(of("https://searx.example", &[]).is_ok());
    for base in ["", "nonsense", "ftp://searx.example", "https://me:canary@searx.example"] {
        let error = of(base, &[]).unwrap_err();
        assert!(matches!(error, WebError::BadBase), "{base}: {error:?}");
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}
