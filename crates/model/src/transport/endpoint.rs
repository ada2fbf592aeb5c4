//! One address that is asked, shared by all models behind it.

use std::sync::OnceLock;
use std::time::Duration;

use proofmark_artefact::suite::config::Limits;
use reqwest::Url;
use reqwest::header::HeaderMap;

use super::breaker::Breaker;
use super::http::{Deadlines, header};
use super::limit::{Gate, Rates};
use super::retry::Patience;
use crate::ask::Stop;
use crate::build::BuildError;
use crate::secret::{Redactor, Secret};

/// An address and the manners towards it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) client: reqwest::Client,
    /// Without a slash at its end.
    pub(crate) base: String,
    /// The same without user and query, as it may be written down.
    pub(crate) shown: String,
    /// What is the same for every request: the key, and what the suite adds.
    pub(crate) headers: HeaderMap,
    pub(crate) gate: Gate,
    pub(crate) breaker: Breaker,
    pub(crate) deadlines: Deadlines,
    pub(crate) patience: Patience,
    pub(crate) redactor: Redactor,
    /// Requests at once, at most.
    pub(crate) most: usize,
    /// Set by the first reply after which nobody need ask any more.
    pub(crate) stopped: OnceLock<Stop>,
}

/// How a key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyIn {
    Bearer,
    Header(&'static str),
}

/// What an endpoint is made of.
pub(crate) struct Address<'a> {
    pub(crate) base: &'a str,
    pub(crate) key: Option<(KeyIn, &'a Secret)>,
    pub(crate) headers: Vec<(&'a str, &'a str)>,
}

/// How many questions at once, when nobody says: a start, and where to stop growing.
const START: usize = 16;
const MOST: usize = 128;

/// Manners as the command line and the suite want them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manners {
    pub(crate) limits: Limits,
    /// From the command line; the number of questions at once, also in the beginning.
    pub(crate) concurrency: Option<usize>,
    /// The longest first pause before a retry.
    pub(crate) first_pause: Duration,
    /// How long a dead endpoint is waited for.
    pub(crate) patience: Duration,
}

impl Endpoint {
    pub(crate) fn new(address: &Address<'_>, manners: &Manners) -> Result<Self, BuildError> {
        let base = address.base.trim_end_matches('/');
        let bad = || BuildError::new(format!("`{base}` is not an address"), "write `https://host/path`".to_owned());
        let url = Url::parse(base).map_err(|_| bad())?;
        let host = url.host_str().ok_or_else(bad)?;
        let is_local = is_loopback(host);
        if url.scheme() == "http" && !is_local && address.key.is_some() {
            return Err(BuildError::new(
                format!("a key would go to `{host}` unencrypted"),
                "use `https://`, or leave the key out".to_owned(),
            ));
        }
        let mut headers = HeaderMap::new();
        headers.insert(reqwest::header::CONTENT_TYPE, reqwest::header::HeaderValue::from_static("application/json"));
        let key = address.key.map(|(way, key)| match way {
            KeyIn::Bearer => ("authorization", format!("Bearer {}", key.reveal())),
            KeyIn::Header(name) => (name, key.reveal().to_owned()),
        });
        let plain = address.headers.iter().map(|(name, value)| (*name, (*value).to_owned(), false));
        for (name, value, is_secret) in plain.chain(key.map(|(name, value)| (name, value, true))) {
            let (name, value) = header(name, &value, is_secret).ok_or_else(|| {
                let what = if is_secret {
                    "the key has a character that no header can hold".to_owned()
                } else {
                    format!("the header `{name}` cannot be sent")
                };
                BuildError::new(what, None)
            })?;
            headers.insert(name, value);
        }
        let seconds = |given: Option<f64>, default| Duration::from_secs_f64(given.unwrap_or(default));
        let limits = &manners.limits;
        let deadlines = Deadlines {
            connect: seconds(limits.connect_timeout, 10.0),
            first_byte: seconds(limits.first_byte_timeout, 300.0),
            total: seconds(limits.total_timeout, 600.0),
        };
        let (start, most) = match (manners.concurrency, limits.max_connections) {
            (Some(wanted), cap) => {
                let most = cap.map_or(wanted, |cap| wanted.min(cap as usize));
                (most, most)
            }
            (None, cap) => {
                let most = cap.map_or(MOST, |cap| cap as usize);
                (START.min(most), most)
            }
        };
        let rates = Rates {
            start,
            most,
            requests_per_minute: limits.requests_per_minute,
            tokens_per_minute: limits.tokens_per_minute,
        };
        // rustls has no default provider in this build. Losing the race to install one is fine.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("proofmark/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(deadlines.connect)
            .pool_max_idle_per_host(most)
            .tcp_nodelay(true);
        if is_local {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|_| BuildError::new("cannot prepare connections", None))?;
        Ok(Self {
            client,
            base: base.to_owned(),
            shown: shown(&url),
            headers,
            gate: Gate::new(rates),
            breaker: Breaker::new(manners.patience),
            deadlines,
            patience: Patience { retries: limits.max_retries.unwrap_or(5), first_pause: manners.first_pause },
            redactor: Redactor::new(address.key.map(|(_, key)| key.clone()).into_iter().collect()),
            most,
            stopped: OnceLock::new(),
        })
    }
}

/// Scheme, host and path.
fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = url.path().trim_end_matches('/');
    format!("{}://{}{port}{path}", url.scheme(), url.host_str().unwrap_or_default())
}

/// Whether a host is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The suite's limits with a model's own on top.
pub(crate) fn merge(suite: Option<Limits>, model: Option<Limits>) -> Limits {
    let (suite, model) = (suite.unwrap_or_default(), model.unwrap_or_default());
    Limits {
        max_connections: model.max_connections.or(suite.max_connections),
        requests_per_minute: model.requests_per_minute.or(suite.requests_per_minute),
        tokens_per_minute: model.tokens_per_minute.or(suite.tokens_per_minute),
        max_retries: model.max_retries.or(suite.max_retries),
        connect_timeout: model.connect_timeout.or(suite.connect_timeout),
        first_byte_timeout: model.first_byte_timeout.or(suite.first_byte_timeout),
        total_timeout: model.total_timeout.or(suite.total_timeout),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_of_an_address_has_no_user_and_no_query() {
        for (base, want) in [
            ("https://host/v1", "https://host/v1"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("https://me:pw@host:444/a/b?key=x#y", "https://host:444/a/b"),
        ] {
            assert_eq!(shown(&Url::parse(base).unwrap()), want);
        }
    }
}
