//! Requests to the hub: bounded, tried again when that makes sense, the token only to the hub itself.

use std::io::Write;
use std::time::Duration;

use proofmark_artefact::path::RelPath;
use proofmark_canon::json::{self, Integers};
use proofmark_canon::{Digest, Hasher, Value};
use reqwest::header::{AUTHORIZATION, HeaderMap, LINK, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url};

use super::cache::{Cache, failed};
use super::error::HubProblem;
use super::{Entry, Repo, Scope, is_commit, pick};
use crate::dataset::context::HubContext;
use crate::dataset::names::show;
use proofmark_model::Secret;

const ATTEMPTS: u32 = 5;
const REDIRECTS: usize = 5;
/// The longest pause that the hub may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// The largest answer to a question about a repository.
const MAX_ANSWER: usize = 32 << 20;
const MAX_ENTRIES: usize = 200_000;
const MAX_PAGES: usize = 2_000;

pub(super) struct Client {
    http: reqwest::Client,
    endpoint: Url,
    repo: Repo,
    token: Option<Secret>,
    pause: Duration,
}

/// Why one attempt failed.
enum Failure {
    Final(HubProblem),
    /// Worth another try, after the pause that the hub asked for.
    Passing(HubProblem, Option<Duration>),
}

impl Client {
    pub(super) fn new(hub: &HubContext, repo: &Repo) -> Result<Self, HubProblem> {
        let bad = || HubProblem::Endpoint(show(&hub.endpoint));
        let endpoint = Url::parse(hub.endpoint.trim_end_matches('/')).map_err(|_| bad())?;
        let host = endpoint.host_str().filter(|_| matches!(endpoint.scheme(), "http" | "https")).ok_or_else(bad)?;
        // A user name or password in it would end up in messages.
        if !endpoint.username().is_empty() || endpoint.password().is_some() || endpoint.query().is_some() {
            return Err(bad());
        }
        let is_loopback = is_loopback(host);
        if endpoint.scheme() == "http" && !is_loopback && hub.token.is_some() {
            return Err(HubProblem::PlainEndpoint);
        }
        // rustls has no default provider in this build. Losing the race to install one is fine.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("proofmark/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(hub.timeout.min(Duration::from_secs(15)))
            .read_timeout(hub.timeout);
        if is_loopback {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|source| transport("the client", source))?;
        Ok(Self { http, endpoint, repo: repo.clone(), token: hub.token.clone(), pause: hub.pause })
    }

    /// Asks which commit a revision is.
    pub(super) async fn resolve(&self, revision: &str) -> Result<String, HubProblem> {
        let what = format!("revision `{}`", show(revision));
        let url = self.url(&format!("api/datasets/{}/revision/{}", self.repo, encode(revision, false)))?;
        let (answer, _) = self.ask(&url, &what).await?;
        match answer.get("sha").and_then(Value::as_str) {
            Some(sha) if is_commit(sha) => Ok(sha.to_owned()),
            _ => Err(HubProblem::Answer { what, why: "it names no commit".to_owned() }),
        }
    }

    /// Lists the files of a commit.
    pub(super) async fn list(&self, commit: &str, scope: Scope) -> Result<Vec<Entry>, HubProblem> {
        let what = "the list of files";
        let base = self.url(&format!("api/datasets/{}/tree/{commit}", self.repo))?;
        let mut url = base.clone();
        url.set_query(Some("recursive=true"));
        let mut entries = Vec::new();
        for _ in 0..MAX_PAGES {
            let (page, next) = self.ask(&url, what).await?;
            let refuse = |why: &str| HubProblem::Answer { what: what.to_owned(), why: why.to_owned() };
            for entry in page.as_array().ok_or_else(|| refuse("it is not a list"))? {
                entries.extend(parse_entry(entry, scope)?);
                if entries.len() > MAX_ENTRIES {
                    return Err(refuse("the repository has too many files"));
                }
            }
            let Some(query) = next else { return Ok(entries) };
            // Only the cursor is taken over: the next page is on this hub, whatever host the header names.
            url = base.clone();
            url.set_query(Some(&query));
        }
        Err(HubProblem::Answer { what: what.to_owned(), why: "it has no last page".to_owned() })
    }

    /// Fetches a file to the cache and returns the digest of its bytes.
    pub(super) async fn download(&self, commit: &str, entry: &Entry, cache: &Cache) -> Result<Digest, HubProblem> {
        let path = encode(entry.path.as_str(), true);
        let url = self.url(&format!("datasets/{}/resolve/{commit}/{path}", self.repo))?;
        let what = format!("`{}`", show(entry.path.as_str()));
        self.with_retries(async || self.download_once(&url, &what, entry, cache).await).await
    }

    async fn download_once(&self, url: &Url, what: &str, entry: &Entry, cache: &Cache) -> Result<Digest, Failure> {
        let mut response = self.get(url, what).await?;
        let mut file = cache.start(&entry.path).map_err(Failure::Final)?;
        let (mut hasher, mut size) = (Hasher::new(), 0u64);
        let mismatch = |found| HubProblem::Size { path: entry.path.to_string(), expected: entry.size, found };
        while let Some(chunk) = response.chunk().await.map_err(|error| passing(what, error))? {
            size += chunk.len() as u64;
            if size > entry.size {
                return Err(Failure::Final(mismatch(size)));
            }
            hasher.update(&chunk);
            let written = file.write_all(&chunk);
            written.map_err(failed("write a file", file.path())).map_err(Failure::Final)?;
        }
        if size < entry.size {
            return Err(Failure::Passing(mismatch(size), None));
        }
        let found = hasher.finish();
        if let Some(expected) = entry.sha256.filter(|expected| *expected != found) {
            return Err(Failure::Final(HubProblem::Sha256 { path: entry.path.to_string(), expected, found }));
        }
        cache.keep(&entry.path, file, found).map_err(Failure::Final)?;
        Ok(found)
    }

    /// Asks for JSON; returns it and the query of the next page, when there is one.
    async fn ask(&self, url: &Url, what: &str) -> Result<(Value, Option<String>), HubProblem> {
        self.with_retries(async || {
            let mut response = self.get(url, what).await?;
            let next = next_query(response.headers());
            let mut body = Vec::new();
            let refuse = |why| Failure::Final(HubProblem::Answer { what: what.to_owned(), why });
            while let Some(chunk) = response.chunk().await.map_err(|error| passing(what, error))? {
                if body.len() + chunk.len() > MAX_ANSWER {
                    return Err(refuse(format!("it is longer than {MAX_ANSWER} bytes")));
                }
                body.extend_from_slice(&chunk);
            }
            let value = json::parse_with(&body, Integers::AsText).map_err(|error| refuse(error.to_string()))?;
            Ok((value, next))
        })
        .await
    }

    async fn with_retries<T>(&self, attempt: impl AsyncFn() -> Result<T, Failure>) -> Result<T, HubProblem> {
        let mut pause = self.pause;
        for number in 1.. {
            match attempt().await {
                Ok(value) => return Ok(value),
                Err(Failure::Final(problem)) => return Err(problem),
                Err(Failure::Passing(problem, _)) if number == ATTEMPTS => return Err(problem),
                Err(Failure::Passing(_, asked)) => {
                    tokio::time::sleep(asked.unwrap_or(pause).min(MAX_PAUSE)).await;
                    pause = pause.saturating_mul(2);
                }
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Sends one request and follows its redirects.
    async fn get(&self, url: &Url, what: &str) -> Result<Response, Failure> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            let mut request = self.http.get(url.clone());
            if let Some(token) = &self.token
                && url.origin() == self.endpoint.origin()
            {
                request = request.header(AUTHORIZATION, format!("Bearer {}", token.reveal()));
            }
            let response = request.send().await.map_err(|error| passing(what, error))?;
            if !response.status().is_redirection() {
                return judge(response, what);
            }
            url = redirected(&url, response.headers())
                .map_err(|why| Failure::Final(HubProblem::Redirect { what: what.to_owned(), why }))?;
        }
        Err(Failure::Final(HubProblem::Redirect { what: what.to_owned(), why: "too many redirects" }))
    }

    fn url(&self, path: &str) -> Result<Url, HubProblem> {
        let text = format!("{}/{path}", self.endpoint.as_str().trim_end_matches('/'));
        Url::parse(&text).map_err(|_| HubProblem::Endpoint(show(&text)))
    }
}

fn judge(response: Response, what: &str) -> Result<Response, Failure> {
    let (status, what) = (response.status(), what.to_owned());
    match status {
        status if status.is_success() => Ok(response),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            Err(Failure::Final(HubProblem::Denied { what, status: status.as_u16() }))
        }
        StatusCode::NOT_FOUND => Err(Failure::Final(HubProblem::NotFound { what })),
        StatusCode::TOO_MANY_REQUESTS => {
            let after = retry_after(response.headers());
            Err(Failure::Passing(HubProblem::Busy { what, attempts: ATTEMPTS }, after))
        }
        status if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT => {
            Err(Failure::Passing(HubProblem::Status { what, status: status.as_u16() }, retry_after(response.headers())))
        }
        status => Err(Failure::Final(HubProblem::Status { what, status: status.as_u16() })),
    }
}

fn redirected(from: &Url, headers: &HeaderMap) -> Result<Url, &'static str> {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok()).ok_or("it names no place")?;
    let to = from.join(location).map_err(|_| "it is not a URL")?;
    match (from.scheme(), to.scheme()) {
        (_, "https") | ("http", "http") => Ok(to),
        _ => Err("it is not encrypted"),
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// The query of the page that a `Link` header calls next.
fn next_query(headers: &HeaderMap) -> Option<String> {
    let links = headers.get(LINK)?.to_str().ok()?;
    // A URL in angle brackets may hold a comma, so links are cut at their opening bracket.
    links.split('<').skip(1).find_map(|link| {
        let (url, parameters) = link.split_once('>')?;
        let is_next = parameters.split([';', ',']).any(|p| matches!(p.trim(), "rel=\"next\"" | "rel=next"));
        is_next.then(|| url.split_once('?').map(|(_, query)| query.to_owned())).flatten()
    })
}

/// Reads one entry of a listing; folders and files that are not looked for give `None`.
fn parse_entry(entry: &Value, scope: Scope) -> Result<Option<Entry>, HubProblem> {
    let refuse = |why: &str| HubProblem::Answer { what: "the list of files".to_owned(), why: why.to_owned() };
    let text = entry.get("path").and_then(Value::as_str).ok_or_else(|| refuse("an entry has no path"))?;
    if entry.get("type").and_then(Value::as_str) != Some("file") {
        return Ok(None);
    }
    let path: RelPath = match text.parse::<RelPath>() {
        Ok(path) if path.as_str() == text => path,
        _ => return Err(HubProblem::UnsafePath(show(text))),
    };
    if scope == Scope::Data && pick::kind_of(&path, b',').is_none() && !path.as_str().ends_with(".py") {
        return Ok(None);
    }
    let lfs = entry.get("lfs").filter(|lfs| !lfs.is_null());
    let size = lfs.and_then(|lfs| lfs.get("size")).or_else(|| entry.get("size")).and_then(Value::as_u64);
    let sha256 = match lfs.and_then(|lfs| lfs.get("oid")).and_then(Value::as_str) {
        None => None,
        Some(oid) => {
            let oid = oid.strip_prefix("sha256:").unwrap_or(oid);
            Some(format!("sha256:{oid}").parse().map_err(|_| refuse("a file has an odd `lfs.oid`"))?)
        }
    };
    Ok(Some(Entry { path, size: size.ok_or_else(|| refuse("a file has no size"))?, sha256 }))
}

fn passing(what: &str, source: reqwest::Error) -> Failure {
    Failure::Passing(transport(what, source), None)
}

/// The URL is left out: after a redirect it may hold a signature.
fn transport(what: &str, source: reqwest::Error) -> HubProblem {
    HubProblem::Transport { what: what.to_owned(), source: source.without_url() }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Percent-encodes everything that is not unreserved, keeping `/` where it separates parts.
fn encode(text: &str, keep_slash: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            b'/' if keep_slash => out.push('/'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_for_a_url() {
        assert_eq!(encode("refs/convert/parquet", false), "refs%2Fconvert%2Fparquet");
        assert_eq!(encode("data/a b?#é%.csv", true), "data/a%20b%3F%23%C3%A9%25.csv");
    }

    #[test]
    fn only_the_query_of_the_next_page_is_taken() {
        for (header, want) in [
            (
                r#"<https://other.example/api/x?recursive=true&cursor=a,b>; rel="next""#,
                Some("recursive=true&cursor=a,b"),
            ),
            (r#"<https://h/p?a=1>; rel="prev", <https://h/p?a=3>; rel="next""#, Some("a=3")),
            (r#"<https://h/p?a=1>; rel="last""#, None),
            ("nonsense", None),
        ] {
            let headers = HeaderMap::from_iter([(LINK, header.parse().unwrap())]);
            assert_eq!(next_query(&headers).as_deref(), want);
        }
    }

    #[test]
    fn a_redirect_never_drops_encryption() {
        let to = |from: &str, location: &str| {
            let headers = HeaderMap::from_iter([(LOCATION, location.parse().unwrap())]);
            redirected(&from.parse().unwrap(), &headers).map(|url| url.to_string())
        };
        assert_eq!(to("https://h/a", "/b?c").as_deref(), Ok("https://h/b?c"));
        assert_eq!(to("https://h/a", "http://h/b"), Err("it is not encrypted"));
        assert_eq!(to("http://h/a", "file:///etc/passwd"), Err("it is not encrypted"));
    }

    #[test]
    fn listings_are_read_strictly() {
        let entry =
            |text: &str| parse_entry(&json::parse(text.as_bytes()).unwrap(), Scope::Data).map_err(|e| e.to_string());
        let oid = "ab".repeat(32);
        let good = entry(&format!(r#"{{"type":"file","path":"a.csv","size":130,"lfs":{{"oid":"{oid}","size":9}}}}"#));
        let good = good.unwrap().unwrap();
        assert_eq!((good.size, good.sha256.map(|d| d.hex())), (9, Some(oid)));
        assert_eq!(entry(r#"{"type":"directory","path":"a"}"#), Ok(None));
        assert_eq!(entry(r#"{"type":"file","path":"README.md","size":1}"#), Ok(None));
        for (text, want) in [
            (
                r#"{"type":"file","path":"../a.csv","size":1}"#,
                "the hub lists `../a.csv`, which is not a path inside the repository",
            ),
            (
                r#"{"type":"file","path":"a.csv"}"#,
                "the hub's answer to the list of files is not usable: a file has no size",
            ),
            (
                r#"{"type":"file","path":"a.csv","size":1,"lfs":{"oid":"x"}}"#,
                "the hub's answer to the list of files is not usable: a file has an odd `lfs.oid`",
            ),
        ] {
            assert_eq!(entry(text), Err(want.to_owned()));
        }
    }

    #[test]
    fn a_token_does_not_travel_in_the_clear() {
        let repo: Repo = "a/b".parse().unwrap();
        let mut hub = HubContext::new("http://hub.example", "/nowhere");
        assert!(Client::new(&hub, &repo).is_ok());
        hub.token = Some(Secret::new("hf_x"));
        assert!(matches!(Client::new(&hub, &repo), Err(HubProblem::PlainEndpoint)));
        for endpoint in ["", "huggingface.co", "ftp://h", "https://user:pass@h"] {
            hub.endpoint = endpoint.to_owned();
            assert!(matches!(Client::new(&hub, &repo), Err(HubProblem::Endpoint(_))), "{endpoint}");
        }
    }
}
