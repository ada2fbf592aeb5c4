//! Which path belongs to whom.

use hyper::{Method, Uri};

/// What was called. Each has one label in the counts, whatever stands in the path's variable parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    Chat,
    Responses,
    Images,
    Models,
    Messages,
    Generate,
    StreamGenerate,
    GeminiModels,
    Ollama,
    OllamaTags,
    Cohere,
    Cloudflare,
    Stats,
    Unknown,
}

impl Endpoint {
    pub(super) const ALL: [Self; 14] = [
        Self::Chat,
        Self::Responses,
        Self::Images,
        Self::Models,
        Self::Messages,
        Self::Generate,
        Self::StreamGenerate,
        Self::GeminiModels,
        Self::Ollama,
        Self::OllamaTags,
        Self::Cohere,
        Self::Cloudflare,
        Self::Stats,
        Self::Unknown,
    ];

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Images => "/v1/images/generations",
            Self::Models => "/v1/models",
            Self::Messages => "/v1/messages",
            Self::Generate => "/v1beta/models/{model}:generateContent",
            Self::StreamGenerate => "/v1beta/models/{model}:streamGenerateContent",
            Self::GeminiModels => "/v1beta/models",
            Self::Ollama => "/api/chat",
            Self::OllamaTags => "/api/tags",
            Self::Cohere => "/v2/chat",
            Self::Cloudflare => "/client/v4/accounts/{id}/ai/run/{model}",
            Self::Stats => "/__stats",
            Self::Unknown => "other",
        }
    }

    pub(super) fn provider(self) -> Provider {
        match self {
            Self::Messages => Provider::Anthropic,
            Self::Generate | Self::StreamGenerate | Self::GeminiModels => Provider::Gemini,
            Self::Ollama | Self::OllamaTags => Provider::Ollama,
            Self::Cohere => Provider::Cohere,
            Self::Cloudflare => Provider::Cloudflare,
            _ => Provider::OpenAi,
        }
    }

    /// Whether it asks a model.
    pub(super) fn asks(self) -> bool {
        !matches!(self, Self::Models | Self::GeminiModels | Self::OllamaTags | Self::Stats | Self::Unknown)
    }
}

/// Whose headers and errors a path has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provider {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
    Cohere,
    Cloudflare,
}

/// A path taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) endpoint: Endpoint,
    /// The model, where the path names it.
    pub(super) model: Option<String>,
    /// Whether a Gemini stream is asked for as events; it is a JSON list otherwise.
    pub(super) is_sse: bool,
    /// Whether the path is known but not with this method.
    pub(super) is_wrong_method: bool,
}

impl Route {
    pub(super) fn of(method: &Method, uri: &Uri) -> Self {
        let path = uri.path();
        let (endpoint, model) = find(path);
        let expected = if endpoint.asks() { Method::POST } else { Method::GET };
        Self {
            endpoint,
            model,
            is_sse: query(uri, "alt").is_some_and(|alt| alt == "sse"),
            is_wrong_method: endpoint != Endpoint::Unknown && *method != expected,
        }
    }
}

fn find(path: &str) -> (Endpoint, Option<String>) {
    if let Some(rest) = path.strip_prefix("/v1beta/models/") {
        // The model may be percent-encoded, the verb never is.
        return match rest.rsplit_once(':') {
            Some((model, "generateContent")) => (Endpoint::Generate, Some(decode(model))),
            Some((model, "streamGenerateContent")) => (Endpoint::StreamGenerate, Some(decode(model))),
            _ => (Endpoint::Unknown, None),
        };
    }
    if let Some(rest) = path.strip_prefix("/client/v4/accounts/") {
        return match rest.split_once("/ai/run/") {
            Some((account, model)) if !account.is_empty() && !model.is_empty() => {
                (Endpoint::Cloudflare, Some(decode(model)))
            }
            _ => match rest.split_once("/ai") {
                // Cloudflare also speaks OpenAI's language.
                Some((_, rest)) => (openai(rest), None),
                None => (Endpoint::Unknown, None),
            },
        };
    }
    let endpoint = match path {
        "/v1/messages" => Endpoint::Messages,
        "/v1beta/models" => Endpoint::GeminiModels,
        "/api/chat" => Endpoint::Ollama,
        "/api/tags" => Endpoint::OllamaTags,
        "/v2/chat" => Endpoint::Cohere,
        "/__stats" => Endpoint::Stats,
        // Where Groq and OpenRouter put OpenAI's paths.
        _ => openai(path.strip_prefix("/openai").or_else(|| path.strip_prefix("/api")).unwrap_or(path)),
    };
    (endpoint, None)
}

fn openai(path: &str) -> Endpoint {
    match path {
        "/v1/chat/completions" => Endpoint::Chat,
        "/v1/responses" => Endpoint::Responses,
        "/v1/images/generations" => Endpoint::Images,
        "/v1/models" => Endpoint::Models,
        _ => Endpoint::Unknown,
    }
}

/// The first value of a name in the query, as it stands there.
pub(super) fn query<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    uri.query()?.split('&').filter_map(|pair| pair.split_once('=')).find(|(have, _)| *have == name).map(|(_, v)| v)
}

/// Takes percent signs out; what is no UTF-8 then is replaced.
pub(super) fn decode(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex =
            after.get(..2).filter(|_| byte == b'%').and_then(|hex| data_encoding::HEXLOWER_PERMISSIVE.decode(hex).ok());
        match hex {
            Some(decoded) => {
                out.extend(decoded);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn route(method: &str, uri: &str) -> Route {
        Route::of(&method.parse().unwrap(), &uri.parse().unwrap())
    }

    #[test]
    fn every_documented_path_is_found() {
        let cases = [
            ("POST", "/v1/chat/completions", Endpoint::Chat, None),
            ("POST", "/openai/v1/chat/completions", Endpoint::Chat, None),
            ("POST", "/api/v1/chat/completions", Endpoint::Chat, None),
            ("POST", "/client/v4/accounts/a/ai/v1/chat/completions", Endpoint::Chat, None),
            ("POST", "/v1/responses", Endpoint::Responses, None),
            ("POST", "/v1/images/generations", Endpoint::Images, None),
            ("GET", "/v1/models", Endpoint::Models, None),
            ("POST", "/v1/messages", Endpoint::Messages, None),
            (
                "POST",
                "/v1beta/models/gemini-2.5-flash:generateContent?key=k",
                Endpoint::Generate,
                Some("gemini-2.5-flash"),
            ),
            ("POST", "/v1beta/models/a:b:streamGenerateContent", Endpoint::StreamGenerate, Some("a:b")),
            ("POST", "/api/chat", Endpoint::Ollama, None),
            ("POST", "/v2/chat", Endpoint::Cohere, None),
            ("POST", "/client/v4/accounts/a/ai/run/%40cf/meta/llama", Endpoint::Cloudflare, Some("@cf/meta/llama")),
            ("GET", "/__stats", Endpoint::Stats, None),
        ];
        for (method, uri, endpoint, model) in cases {
            let route = route(method, uri);
            assert_eq!((route.endpoint, route.model.as_deref()), (endpoint, model), "{uri}");
            assert!(!route.is_wrong_method, "{uri}");
        }
    }

    #[test]
    fn other_paths_are_not() {
        for uri in
            ["/", "/chat/completions", "/v1/chat", "/v1beta/models/x:count", "/client/v4/accounts//ai/run/m", "/v1"]
        {
            assert_eq!(route("POST", uri).endpoint, Endpoint::Unknown, "{uri}");
        }
        assert!(route("GET", "/v1/messages").is_wrong_method);
    }

    #[test]
    fn only_alt_sse_asks_for_events() {
        assert!(route("POST", "/v1beta/models/m:streamGenerateContent?key=k&alt=sse").is_sse);
        assert!(!route("POST", "/v1beta/models/m:streamGenerateContent?alt=json").is_sse);
    }

    #[test]
    fn percent_signs_are_taken_out_where_they_mean_something() {
        assert_eq!(decode("%40cf/a%2fb"), "@cf/a/b");
        assert_eq!(decode("100%"), "100%");
        assert_eq!(decode("%zz%4"), "%zz%4");
    }
}
