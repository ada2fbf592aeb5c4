//! What a failure means and what to do about it.

use proofmark_artefact::suite::plan::ModelPlan;
use proofmark_model::preset::Preset;
use proofmark_model::{Class, Surroundings};

/// A model that did not answer.
pub(super) struct Patient<'a> {
    pub(super) plan: &'a ModelPlan,
    pub(super) surroundings: &'a Surroundings,
    /// Where it was asked; `None` for programs.
    pub(super) base: Option<String>,
    /// The variable that says so.
    pub(super) base_from: Option<&'a str>,
    pub(super) status: Option<i32>,
    /// How long the provider asks to wait.
    pub(super) pause_ms: Option<f64>,
}

/// Variables that name a proxy, as the HTTP client reads them.
pub(super) const PROXIES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// The proxy variables that are set. Their values may hold passwords and are not looked at.
pub(super) fn proxies(surroundings: &Surroundings) -> Vec<&'static str> {
    let is_set = |name: &&str| (surroundings.variable)(name).is_some_and(|value| !value.is_empty());
    PROXIES.into_iter().filter(is_set).collect()
}

/// A key that is set and stays at home, because a suite's address is not its provider's.
pub(super) fn withheld_key(plan: &ModelPlan, surroundings: &Surroundings) -> Option<String> {
    let preset = Preset::find(plan.provider())?;
    if plan.api_key_env.is_some() || plan.base_url.is_none() {
        return None;
    }
    let variable = surroundings.key_is_in(preset)?;
    Some(format!(
        "{variable} is set, but a suite's `base_url` never gets the key of {}; name a variable of that server's own in \
         `api_key_env`, or set {} yourself if you trust it",
        preset.name, preset.base_env
    ))
}

impl Patient<'_> {
    /// What to do about a failure of a class.
    pub(super) fn advice(&self, class: &str) -> Option<String> {
        let class = Class::ALL.into_iter().find(|known| known.as_str() == class)?;
        let is_program = self.plan.provider() == "command";
        Some(match class {
            // A program knows best how one logs in.
            Class::Auth | Class::BadRequest if is_program => return None,
            Class::Auth => self.key(),
            Class::BadRequest if self.status == Some(404) => {
                format!("check the model's name `{}` and the address {}", self.plan.model_id(), self.place())
            }
            Class::BadRequest => {
                format!("check the model's name `{}` and its parameters: the model was reached", self.plan.model_id())
            }
            Class::ContextLength => "the model was reached, but the question does not fit into it".to_owned(),
            Class::Network | Class::EndpointDown => self.network(),
            Class::Timeout if is_program => "run the program by hand: it may be waiting for something".to_owned(),
            Class::Timeout => format!(
                "is the model still being loaded at {}? A run waits longer than this check does: see `limits`",
                self.place()
            ),
            Class::RateLimited => {
                let wait = match self.pause_ms {
                    Some(pause) => format!("the provider asks to wait {} s; ", (pause / 1000.0).ceil()),
                    None => String::new(),
                };
                format!(
                    "{wait}wait, check the account's quota, and lower `limits` (`max_connections`, \
                     `requests_per_minute`, `tokens_per_minute`) for the run"
                )
            }
            Class::Malformed if is_program => {
                "check what the program writes against `output` and `pointer` of its `command`".to_owned()
            }
            Class::Malformed => {
                let path = if self.speaks_openai() { "; such servers want `/v1` at its end" } else { "" };
                format!("is this really the API of {} at {}?{path}", self.plan.provider(), self.place())
            }
            Class::Truncated | Class::StreamCut => {
                "the connection breaks off: look for a proxy in between, or try `stream: false`".to_owned()
            }
            Class::Server => format!(
                "the server at {} is there and fails: try later; behind a gateway, look whether the model runs",
                self.place()
            ),
            Class::Empty => {
                "the model was reached and said nothing: check its parameters (`stop`, `max_tokens`)".to_owned()
            }
            Class::ContentFilter | Class::Refusal => {
                "the model was reached and declines a harmless question: check the account's filters".to_owned()
            }
            Class::Runner => "run the program by hand, with the arguments of its `command`".to_owned(),
            Class::Unsupported => {
                "the model cannot take this at all: check `output`, `api` and its parameters".to_owned()
            }
        })
    }

    fn speaks_openai(&self) -> bool {
        !matches!(self.plan.provider(), "anthropic" | "gemini" | "cloudflare" | "ollama" | "mistral" | "cohere")
    }

    fn key(&self) -> String {
        let preset = Preset::find(self.plan.provider());
        let set = preset.and_then(|preset| self.surroundings.key_is_in(preset));
        match (&self.plan.api_key_env, set, preset) {
            (Some(name), ..) => format!("check the key in {name} and the account behind it"),
            (None, Some(name), _) => format!("check the key in {name} and the account behind it"),
            (None, None, Some(Preset { keys: [usual, ..], .. })) => format!("it wants a key: export {usual}=…"),
            _ => "it wants a key: name the variable that holds it in `api_key_env`".to_owned(),
        }
    }

    fn network(&self) -> String {
        if self.is_local() && self.place().starts_with("https:") {
            let place = self.place();
            return format!(
                "is the server up at {place}, and its certificate trusted? SSL_CERT_FILE can name its authority"
            );
        }
        if self.is_local() {
            return format!("is the server up? Nobody answers at {}", self.place());
        }
        match proxies(self.surroundings).as_slice() {
            [] => format!("check the address {} and the network; no proxy is set", self.place()),
            set => format!("check the address {}, the network, and the proxy in {}", self.place(), set.join(", ")),
        }
    }

    fn is_local(&self) -> bool {
        let host = self.base.as_deref().and_then(|base| base.split_once("://")).map_or("", |(_, rest)| rest);
        ["localhost", "127.", "[::1]"].iter().any(|start| host.starts_with(start))
    }

    /// The address and who says so.
    fn place(&self) -> String {
        let base = self.base.as_deref().unwrap_or("its address");
        match (self.base_from, &self.plan.base_url) {
            (Some(variable), _) => format!("{base} (from {variable})"),
            (None, Some(_)) => format!("{base} (from the suite)"),
            (None, None) => base.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn surroundings(set: &'static [&'static str]) -> Surroundings {
        Surroundings {
            variable: Arc::new(|name| set.contains(&name).then(|| "secret-value".into())),
            ..Surroundings::none()
        }
    }

    fn advice(model: &str, base: &str, set: &'static [&'static str], class: Class) -> String {
        let (plan, surroundings) = (ModelPlan::named("m", model), surroundings(set));
        let patient = Patient {
            plan: &plan,
            surroundings: &surroundings,
            base: Some(base.to_owned()),
            base_from: None,
            status: None,
            pause_ms: None,
        };
        patient.advice(class.as_str()).unwrap_or_default()
    }

    #[test]
    fn each_class_has_advice_and_none_shows_a_value() {
        for class in Class::ALL {
            let text = advice("openai:x", "https://api.openai.com/v1", &["OPENAI_API_KEY", "HTTPS_PROXY"], class);
            assert!(!text.is_empty() && !text.contains("secret-value"), "{class:?}: {text}");
        }
        assert_eq!(advice("command:codex", "", &[], Class::Auth), "");
    }

    #[test]
    fn advice_names_the_variable_the_place_and_the_proxy() {
        let key = |set| advice("gemini:x", "https://g", set, Class::Auth);
        assert!(key(&["GOOGLE_API_KEY"]).contains("in GOOGLE_API_KEY"));
        assert!(key(&["GEMINI_API_KEY_FILE"]).contains("in GEMINI_API_KEY_FILE"));
        assert!(key(&[]).contains("export GEMINI_API_KEY="));
        assert!(advice("compatible:x", "https://h/v1", &[], Class::Auth).contains("`api_key_env`"));
        let network = |base, set| advice("vllm:x", base, set, Class::Network);
        assert!(network("http://localhost:8000/v1", &["HTTPS_PROXY"]).starts_with("is the server up?"));
        assert!(network("https://localhost/v1", &[]).contains("SSL_CERT_FILE"));
        assert!(network("https://h/v1", &["HTTPS_PROXY"]).contains("the proxy in HTTPS_PROXY"));
        assert!(network("https://h/v1", &[]).contains("no proxy is set"));
    }

    #[test]
    fn a_key_that_stays_at_home_is_explained() {
        let mut plan = ModelPlan::named("m", "anthropic:x");
        let surroundings = surroundings(&["ANTHROPIC_API_KEY"]);
        assert_eq!(withheld_key(&plan, &surroundings), None);
        plan.base_url = Some("https://elsewhere.example".to_owned());
        assert!(withheld_key(&plan, &surroundings).unwrap().contains("never gets the key of anthropic"));
    }
}
