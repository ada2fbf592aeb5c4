//! Asks a search engine.

use std::time::Duration;

use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_artefact::suite::solver::AgentToolPlan;
use proofmark_canon::Value;
use reqwest::header::{self, HeaderName, HeaderValue};
use reqwest::{StatusCode, Url};

use super::client::{Client, Reply};
use super::engine::{Hit, PRESETS, Preset};
use super::fetch::{seconds, status_line};
use super::html::line;
use super::rules::{Rules, Way, address_of};
use super::{Network, WebError};
use crate::build::Surroundings;
use crate::output::cut;
use crate::tool::{Call, Calling, Failure, Tool, ToolError, ToolOutput};

/// The `web_search` tool.
pub struct Search {
    definition: ToolPlan,
    client: Client,
    engine: &'static Preset,
    address: Url,
    key: Option<Key>,
    results: u32,
    max_output: u64,
    timeout: Duration,
    /// Before the engine is asked again.
    pause: Duration,
}

/// A key on its way. It is never shown.
struct Key {
    header: (HeaderName, HeaderValue),
    text: String,
}

/// The largest reply.
const MAX_REPLY: u64 = 8 << 20;
/// What the engines take, at most.
const MAX_QUERY: usize = 400;
/// How often an engine that has no time is asked again.
const RETRIES: u32 = 3;
/// The longest pause that an engine may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(20);

impl Search {
    pub fn new(plan: &AgentToolPlan, world: &Surroundings) -> Result<Self, WebError> {
        Self::on(plan, world, &Network::default(), Duration::from_secs(1))
    }

    pub(super) fn on(
        plan: &AgentToolPlan,
        world: &Surroundings,
        network: &Network,
        pause: Duration,
    ) -> Result<Self, WebError> {
        let AgentToolPlan::WebSearch {
            engine,
            base_url,
            api_key_env,
            results,
            allow_private,
            block_domains,
            max_output,
            timeout,
        } = plan
        else {
            return Err(WebError::OtherPlan);
        };
        let engine = Preset::of(*engine);
        let rules = Rules::new(allow_private, block_domains)?;
        let base = base_url.as_deref().or(engine.base).unwrap_or_default();
        let address = engine.address(base).ok_or(WebError::BadBase)?;
        let host = address.host_str().unwrap_or_default();
        // What is known of the address without looking it up is better said now than to every sample.
        match rules.check_address(&address, network.judge) {
            Ok(Way::Guarded) if is_this_machine(host) => return Err(WebError::Private(host.to_owned())),
            Ok(_) => {}
            Err(_) if address_of(host).is_some() => return Err(WebError::Private(host.to_owned())),
            Err(_) => return Err(WebError::BadBase),
        }
        let key = key(engine, &address, base_url.is_some(), api_key_env.as_deref(), world)?;
        let definition = crate::build::definition(
            "web_search",
            "Searches the web and returns a numbered list of pages: title, address and a few words of each. Use \
             `web_fetch`, where it is there, to read one.",
            &[("query", "string", "What to search for, in at most 400 characters.", true)],
        );
        Ok(Self {
            definition,
            client: Client::new(rules, network)?,
            engine,
            address,
            key,
            results: *results,
            max_output: *max_output,
            timeout: seconds(*timeout),
            pause,
        })
    }

    async fn search(&self, query: &str) -> Result<ToolOutput, ToolError> {
        let mut pause = self.pause;
        let mut left = RETRIES;
        loop {
            let mut request = self.engine.request(&self.address, query, self.results);
            let source = request.url().to_string();
            if let Some(Key { header: (name, value), .. }) = &self.key {
                request.headers_mut().insert(name, value.clone());
            }
            let reply = self.client.ask(request).await?;
            let status = reply.status();
            // It has no time for us, and says so at once: plans of engines count searches by the second.
            if left > 0 && matches!(status.as_u16(), 429 | 503) {
                tokio::time::sleep(wanted_pause(&reply).unwrap_or(pause)).await;
                (left, pause) = (left - 1, pause * 2);
                continue;
            }
            if !status.is_success() {
                return Err(self.refusal(status));
            }
            let body = reply.read(MAX_REPLY).await?;
            if body.is_cut {
                return Err(ToolError::new(Failure::TooLarge, "the search engine's reply is too long"));
            }
            let hits = self.engine.hits(&body.bytes).ok_or_else(|| {
                ToolError::new(Failure::Unavailable, "the search engine's reply cannot be understood")
            })?;
            let content = cut(self.render(&hits).into_bytes(), self.max_output);
            return Ok(ToolOutput { content, source: Some(source), is_error: false });
        }
    }

    fn render(&self, hits: &[Hit]) -> String {
        let mut out = String::new();
        let (mut shown, mut blocked) = (0, 0);
        for hit in hits {
            if shown == self.results {
                break;
            }
            // What cannot be read as an address cannot be compared with what is blocked either.
            let Some(url) = address_to_show(&hit.url) else { continue };
            if self.client.rules().blocked(&url).is_some() {
                blocked += 1;
                continue;
            }
            shown += 1;
            let title = line(&hit.title, 300);
            let title = if title.is_empty() { "(no title)" } else { &title };
            out.push_str(&format!("{shown}. {title}\n   {url}\n"));
            let snippet = line(&hit.snippet, 2000);
            if !snippet.is_empty() {
                out.push_str(&format!("   {snippet}\n"));
            }
        }
        if shown == 0 {
            out.push_str("No results.\n");
        }
        match blocked {
            0 => {}
            1 => out.push_str("\n1 result left out: blocked domain\n"),
            more => out.push_str(&format!("\n{more} results left out: blocked domains\n")),
        }
        // A server that the suite chose may say anything.
        match &self.key {
            Some(Key { text, .. }) if text.len() >= 6 => out.replace(text.as_str(), "***"),
            _ => out,
        }
    }

    /// Nothing of the reply is repeated: engines repeat keys.
    fn refusal(&self, status: StatusCode) -> ToolError {
        let what = match status.as_u16() {
            401 | 403 if self.key.is_some() => "it refuses the key".to_owned(),
            403 if self.engine.name == "searxng" => "it does not give results as JSON to us".to_owned(),
            400 | 422 => return ToolError::bad_arguments("the search engine cannot use this query; make it simpler"),
            429 => "there were too many searches; try again later".to_owned(),
            300..=399 => "it sends one elsewhere, and is not followed".to_owned(),
            _ => status_line(status),
        };
        ToolError::new(Failure::Unavailable, format!("the search engine did not answer: {what}"))
    }
}

impl Tool for Search {
    fn definition(&self) -> &ToolPlan {
        &self.definition
    }

    fn call<'a>(&'a self, call: Call<'a>) -> Calling<'a> {
        Box::pin(async move {
            let query = call.args.get("query").and_then(Value::as_str).map(|query| line(query, usize::MAX));
            let query =
                query.ok_or_else(|| ToolError::bad_arguments("`web_search` needs the argument `query`, a string"))?;
            if query.is_empty() || query.chars().count() > MAX_QUERY {
                return Err(ToolError::bad_arguments(format!("`query` has 1 to {MAX_QUERY} characters")));
            }
            match tokio::time::timeout(self.timeout, self.search(&query)).await {
                Ok(result) => result,
                Err(_) => Err(ToolError::new(Failure::Timeout, "the search engine did not answer in time")),
            }
        })
    }
}

/// The variable that holds a tool's key, whose value nobody may write down.
pub fn key_variable(plan: &AgentToolPlan) -> Option<&str> {
    match plan {
        AgentToolPlan::WebSearch { engine, api_key_env, .. } => api_key_env.as_deref().or(Preset::of(*engine).key),
        _ => None,
    }
}

/// Finds the key, and refuses to send it where it does not belong.
///
/// A suite is somebody else's text. It may name an address and a variable, but an engine's usual key goes to that engine
/// only, and the keys of anything that is no search engine go nowhere from here.
fn key(
    engine: &Preset,
    address: &Url,
    is_suites_choice: bool,
    named: Option<&str>,
    world: &Surroundings,
) -> Result<Option<Key>, WebError> {
    let host = address.host_str().unwrap_or_default();
    let is_local = is_this_machine(host);
    let home = |preset: &Preset| {
        preset
            .base
            .and_then(|base| preset.address(base))
            .is_some_and(|home| home.host_str() == Some(host) && address.port().is_none())
    };
    let name = match (named, engine.key) {
        (Some(name), _) => name,
        (None, None) => return Ok(None),
        (None, Some(usual)) if is_suites_choice && !home(engine) => {
            return Err(WebError::KeyNotNamed(usual.to_owned(), engine.base.unwrap_or_default()));
        }
        (None, Some(usual)) => usual,
    };
    let owner = PRESETS.iter().find(|preset| preset.key == Some(name));
    let is_ours = match owner {
        Some(owner) => home(owner) || is_local,
        None => {
            let own = name.strip_prefix(engine.name.to_ascii_uppercase().as_str());
            name.starts_with("SEARCH_") || own.is_some_and(|rest| rest.starts_with('_'))
        }
    };
    if !is_ours {
        return Err(WebError::KeyElsewhere { name: name.to_owned(), host: host.to_owned() });
    }
    if address.scheme() != "https" && !is_local {
        return Err(WebError::Unencrypted(host.to_owned()));
    }
    let text = (world.variable)(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| WebError::NoKey(name.to_owned()))?;
    let header = engine.key_header(&text).ok_or_else(|| WebError::BadKey(name.to_owned()))?;
    Ok(Some(Key { header, text }))
}

fn is_this_machine(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    host == "localhost"
        || host.ends_with(".localhost")
        || address_of(host).is_some_and(|address| address.to_canonical().is_loopback())
}

fn address_to_show(text: &str) -> Option<Url> {
    let url = (text.len() <= 2048).then(|| Url::parse(text).ok())??;
    let is_plain = matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
    is_plain.then_some(url)
}

fn wanted_pause(reply: &Reply) -> Option<Duration> {
    let seconds: u64 = reply.header(header::RETRY_AFTER)?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_PAUSE))
}
