//! Errors as each provider words them.

use serde_json::{Value, json};

use super::super::route::Provider;

/// Why a request gets no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Problem {
    BadRequest(String),
    NoKey,
    WrongKey,
    NotFound,
    WrongMethod,
    TooLarge,
    /// The conversation does not fit into the model.
    TooLong,
    /// Pictures that the provider will not draw.
    Moderated,
    RateLimited,
    Server,
    Overloaded,
}

impl Problem {
    pub(in super::super) fn status(&self, provider: Provider) -> u16 {
        match self {
            // Gemini knows no 401 for keys.
            Self::WrongKey if provider == Provider::Gemini => 400,
            Self::NoKey if provider == Provider::Gemini => 403,
            Self::BadRequest(_) | Self::TooLong | Self::Moderated => 400,
            Self::NoKey | Self::WrongKey => 401,
            Self::NotFound => 404,
            Self::WrongMethod => 405,
            Self::TooLarge => 413,
            Self::RateLimited => 429,
            Self::Server => 500,
            Self::Overloaded => 529,
        }
    }

    fn message(&self, provider: Provider) -> String {
        match self {
            Self::BadRequest(why) => why.clone(),
            Self::WrongKey if provider == Provider::Gemini => {
                "API key not valid. Please pass a valid API key.".to_owned()
            }
            Self::NoKey if provider == Provider::Anthropic => "x-api-key header is required".to_owned(),
            Self::NoKey => "no API key was given".to_owned(),
            Self::WrongKey => "the API key is wrong".to_owned(),
            Self::NotFound => "there is nothing at this path".to_owned(),
            Self::WrongMethod => "this path is not for this method".to_owned(),
            Self::TooLarge => "the request is larger than 64 MiB".to_owned(),
            Self::TooLong => too_long(provider).to_owned(),
            Self::Moderated => "the prompt was rejected by the safety system".to_owned(),
            Self::RateLimited => "rate limit reached, try again later".to_owned(),
            Self::Server => "the server had an error while processing the request".to_owned(),
            Self::Overloaded => "overloaded".to_owned(),
        }
    }
}

/// Few have a code for it, so the words are each provider's own.
fn too_long(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi | Provider::Cloudflare => {
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please \
             reduce the length of the messages."
        }
        Provider::Anthropic => "prompt is too long: 200001 tokens > 200000 maximum",
        Provider::Gemini => "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
        Provider::Ollama => "the input length exceeds the context length",
        Provider::Cohere => {
            "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a \
             shorter prompt."
        }
    }
}

/// The body of an error.
pub(in super::super) fn error(
    provider: Provider,
    problem: &Problem,
    request_id: Option<&str>,
    retry_after: Option<u32>,
) -> Value {
    let message = problem.message(provider);
    match provider {
        Provider::OpenAi => {
            let (kind, code) = openai(problem);
            json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
        }
        Provider::Anthropic => {
            json!({"type": "error", "error": {"type": anthropic(problem), "message": message}, "request_id": request_id})
        }
        Provider::Gemini => {
            let mut error = json!({"code": problem.status(provider), "message": message, "status": gemini(problem)});
            if *problem == Problem::WrongKey {
                error["details"] = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]);
            }
            if let Some(seconds) = retry_after.filter(|_| *problem == Problem::RateLimited) {
                error["details"] = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo",
                    "retryDelay": format!("{seconds}s")}]);
            }
            json!({"error": error})
        }
        Provider::Ollama => json!({"error": message}),
        Provider::Cohere => json!({"message": message}),
        Provider::Cloudflare => {
            json!({"result": null, "success": false, "messages": [],
                "errors": [{"code": cloudflare(problem), "message": message}]})
        }
    }
}

fn openai(problem: &Problem) -> (&'static str, Option<&'static str>) {
    match problem {
        Problem::NoKey => ("invalid_request_error", None),
        Problem::WrongKey => ("invalid_request_error", Some("invalid_api_key")),
        Problem::NotFound => ("invalid_request_error", Some("unknown_url")),
        Problem::TooLong => ("invalid_request_error", Some("context_length_exceeded")),
        Problem::Moderated => ("image_generation_user_error", Some("moderation_blocked")),
        Problem::RateLimited => ("requests", Some("rate_limit_exceeded")),
        Problem::Server => ("server_error", None),
        Problem::Overloaded => ("server_error", Some("overloaded")),
        Problem::BadRequest(_) | Problem::WrongMethod | Problem::TooLarge => ("invalid_request_error", None),
    }
}

fn anthropic(problem: &Problem) -> &'static str {
    match problem {
        Problem::NoKey | Problem::WrongKey => "authentication_error",
        Problem::NotFound => "not_found_error",
        Problem::TooLarge => "request_too_large",
        Problem::RateLimited => "rate_limit_error",
        Problem::Server => "api_error",
        Problem::Overloaded => "overloaded_error",
        Problem::BadRequest(_) | Problem::TooLong | Problem::Moderated | Problem::WrongMethod => {
            "invalid_request_error"
        }
    }
}

fn gemini(problem: &Problem) -> &'static str {
    match problem {
        Problem::NoKey => "PERMISSION_DENIED",
        Problem::NotFound | Problem::WrongMethod => "NOT_FOUND",
        Problem::RateLimited => "RESOURCE_EXHAUSTED",
        Problem::Server => "INTERNAL",
        Problem::Overloaded => "UNAVAILABLE",
        Problem::BadRequest(_) | Problem::TooLong | Problem::WrongKey | Problem::Moderated | Problem::TooLarge => {
            "INVALID_ARGUMENT"
        }
    }
}

fn cloudflare(problem: &Problem) -> u32 {
    match problem {
        Problem::NoKey | Problem::WrongKey => 10_000,
        Problem::NotFound => 7_000,
        Problem::WrongMethod => 10_405,
        Problem::TooLarge => 3_006,
        // 3036 would say that the day's allocation is used up, which does not pass.
        Problem::RateLimited | Problem::Overloaded => 3_040,
        Problem::Server => 3_046,
        Problem::BadRequest(_) | Problem::TooLong | Problem::Moderated => 5_006,
    }
}
