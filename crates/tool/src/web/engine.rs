//! What search engines are asked, and what they answer.

use proofmark_artefact::suite::solver::Engine;
use proofmark_canon::json::{Integers, parse_with};
use proofmark_canon::{Map, Value};
use reqwest::header::{self, HeaderName, HeaderValue};
use reqwest::{Method, Request, Url};

use super::entity::decode;

/// How an engine is spoken to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Preset {
    pub(super) engine: Engine,
    pub(super) name: &'static str,
    /// Where it is, unless the suite says otherwise; `None` when everybody has their own.
    pub(super) base: Option<&'static str>,
    /// Behind the base.
    path: &'static str,
    /// The variable that usually holds its key; `None` when it needs none.
    pub(super) key: Option<&'static str>,
}

/// Something that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) snippet: String,
}

pub(super) const PRESETS: [Preset; 3] = [
    Preset { engine: Engine::Searxng, name: "searxng", base: None, path: "/search", key: None },
    Preset {
        engine: Engine::Brave,
        name: "brave",
        base: Some("https://api.search.brave.com/res/v1"),
        path: "/web/search",
        key: Some("BRAVE_API_KEY"),
    },
    Preset {
        engine: Engine::Tavily,
        name: "tavily",
        base: Some("https://api.tavily.com"),
        path: "/search",
        key: Some("TAVILY_API_KEY"),
    },
];

impl Preset {
    pub(super) fn of(engine: Engine) -> &'static Self {
        match engine {
            Engine::Searxng => &PRESETS[0],
            Engine::Brave => &PRESETS[1],
            Engine::Tavily => &PRESETS[2],
        }
    }

    /// The address that is asked.
    pub(super) fn address(&self, base: &str) -> Option<Url> {
        Url::parse(&format!("{}{}", base.trim_end_matches('/'), self.path)).ok().filter(Url::has_host)
    }

    /// The header that a key travels in.
    pub(super) fn key_header(&self, key: &str) -> Option<(HeaderName, HeaderValue)> {
        let (name, text) = match self.engine {
            Engine::Brave => (HeaderName::from_static("x-subscription-token"), key.to_owned()),
            // SearXNG itself has no keys; what stands before it takes the usual one.
            Engine::Tavily | Engine::Searxng => (header::AUTHORIZATION, format!("Bearer {key}")),
        };
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    }

    /// A question, without the key.
    pub(super) fn request(&self, address: &Url, query: &str, count: u32) -> Request {
        let mut url = address.clone();
        let mut request = match self.engine {
            Engine::Searxng => {
                url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
                Request::new(Method::GET, url)
            }
            Engine::Brave => {
                let mut pairs = url.query_pairs_mut();
                pairs.append_pair("q", query).append_pair("count", &count.to_string());
                // Without the tags that would mark the words of the query.
                pairs.append_pair("text_decorations", "false");
                drop(pairs);
                Request::new(Method::GET, url)
            }
            Engine::Tavily => {
                let mut body = Map::new();
                body.insert("max_results", count);
                body.insert("query", query);
                let mut request = Request::new(Method::POST, url);
                *request.body_mut() = Some(Value::Object(body).to_canonical().into());
                let json = HeaderValue::from_static("application/json");
                request.headers_mut().insert(header::CONTENT_TYPE, json);
                request
            }
        };
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        request
    }

    /// What a reply found. `None` when it is none of this engine's.
    pub(super) fn hits(&self, body: &[u8]) -> Option<Vec<Hit>> {
        let reply = parse_with(body, Integers::AsText).ok()?;
        let (list, snippet) = match self.engine {
            // Without any page of the web, there is no `web`.
            Engine::Brave => match reply.as_object()?.get("web") {
                None | Some(Value::Null) => return Some(Vec::new()),
                Some(web) => (web.get("results")?, "description"),
            },
            Engine::Searxng | Engine::Tavily => (reply.get("results")?, "content"),
        };
        let hit = |entry: &Value| {
            let text = |name| entry.get(name).and_then(Value::as_str).unwrap_or_default();
            // Brave writes its texts as HTML.
            let clean = |text: &str| match self.engine {
                Engine::Brave => decode(&text.replace("<strong>", "").replace("</strong>", "")).into_owned(),
                _ => text.to_owned(),
            };
            Hit { title: clean(text("title")), url: text("url").to_owned(), snippet: clean(text(snippet)) }
        };
        Some(list.as_array()?.iter().map(hit).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(title: &str, url: &str, snippet: &str) -> Hit {
        Hit { title: title.into(), url: url.into(), snippet: snippet.into() }
    }

    #[test]
    fn replies_are_read_as_they_are_documented() {
        let searxng = br#"{"query":"q","number_of_results":0,"results":[{"url":"https://a.example/","title":"A",
            "content":"about a","engine":"x","score":1.5},{"url":"https://b.example/","title":"B"}],"answers":[],
            "suggestions":["s"],"unresponsive_engines":[["x","timeout"]]}"#;
        let found = Preset::of(Engine::Searxng).hits(searxng).unwrap();
        assert_eq!(found, [hit("A", "https://a.example/", "about a"), hit("B", "https://b.example/", "")]);

        let brave =
            br#"{"type":"search","query":{"original":"q"},"web":{"type":"search","results":[{"title":"A &amp; B",
            "url":"https://a.example/","description":"<strong>x</strong> &lt; y","extra_snippets":["no"]}]}}"#;
        let found = Preset::of(Engine::Brave).hits(brave).unwrap();
        assert_eq!(found, [hit("A & B", "https://a.example/", "x < y")]);
        assert_eq!(Preset::of(Engine::Brave).hits(br#"{"type":"search","query":{}}"#), Some(vec![]));

        let tavily = br#"{"query":"q","answer":null,"images":[],"results":[{"title":"A","url":"https://a.example/",
            "content":"about <a>","score":0.81,"raw_content":null}],"response_time":"1.67"}"#;
        let found = Preset::of(Engine::Tavily).hits(tavily).unwrap();
        assert_eq!(found, [hit("A", "https://a.example/", "about <a>")]);
    }

    #[test]
    fn what_is_no_reply_is_seen() {
        for engine in [Engine::Searxng, Engine::Brave, Engine::Tavily] {
            for body in [&b""[..], b"<html>", b"[]", b"null", b"{\"results\":", b"\xff", b"{\"results\":{},\"web\":1}"]
            {
                assert_eq!(Preset::of(engine).hits(body), None, "{engine:?} {body:?}");
            }
            let odd = br#"{"results":[1,{"title":2}],"web":{"results":[1,{"title":2}]}}"#;
            assert_eq!(Preset::of(engine).hits(odd).unwrap(), [Hit::default(), Hit::default()]);
        }
    }

    #[test]
    fn requests_are_as_documented_and_cannot_be_broken_out_of() {
        let of = |engine: Engine, base: &str| {
            let preset = Preset::of(engine);
            let request = preset.request(&preset.address(base).unwrap(), "a&format=html \"é\"#?", 7);
            let body = request.body().and_then(|body| body.as_bytes()).map(<[u8]>::to_vec).unwrap_or_default();
            (request.method().to_string(), request.url().to_string(), String::from_utf8(body).unwrap())
        };
        let query = "q=a%26format%3Dhtml+%22%C3%A9%22%23%3F";
        assert_eq!(
            of(Engine::Searxng, "http://s.example/sub/"),
            ("GET".into(), format!("http://s.example/sub/search?{query}&format=json"), String::new())
        );
        let brave = format!("https://api.search.brave.com/res/v1/web/search?{query}&count=7&text_decorations=false");
        let base = Preset::of(Engine::Brave).base.unwrap();
        assert_eq!(of(Engine::Brave, base), ("GET".into(), brave, String::new()));
        let body = r##"{"max_results":7,"query":"a&format=html \"é\"#?"}"##;
        let base = Preset::of(Engine::Tavily).base.unwrap();
        assert_eq!(of(Engine::Tavily, base), ("POST".into(), "https://api.tavily.com/search".into(), body.into()));
    }
}
