//! One address that is asked, shared by all models behind it.

use std::ffi::OsString;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use proofmark_artefact::suite::config::Limits;
use reqwest::Url;
use reqwest::header::HeaderMap;

use super::breaker::Breaker;
use super::http::{Deadlines, header};
use super::limit::{Gate, Rates};
use super::link::Link;
use super::plain::Plain;
use super::proxy;
use super::retry::Patience;
use crate::ask::Stop;
use crate::build::BuildError;
use crate::secret::{Redactor, Secret};

/// An address and the manners towards it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) link: Link,
    /// Without a slash at its end.
    pub(crate) base: String,
    /// What is the same for every request: the key, and what the suite adds.
    pub(crate) headers: HeaderMap,
    pub(crate) gate: Gate,
    pub(crate) breaker: Breaker,
    pub(crate) deadlines: Deadlines,
    pub(crate) patience: Patience,
    pub(crate) redactor: Redactor,
    /// Requests at once, at most.
    pub(crate) most: usize,
    /// What the surroundings lack before anything can be asked.
    pub(crate) missing: Option<Stop>,
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
    /// Looks up variables of the environment: those that name proxies.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<OsString>,
    pub(crate) key: Option<(KeyIn, &'a Secret)>,
    pub(crate) headers: Vec<(&'a str, &'a str)>,
}

/// Who may sign for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Roots {
    /// Whom the system trusts, or SSL_CERT_FILE and SSL_CERT_DIR.
    System,
    /// Nobody.
    None,
}

/// What we call ourselves.
const AGENT: &str = concat!("proofmark/", env!("CARGO_PKG_VERSION"));

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
        let url = parse_base(base)?;
        let host = url.host_str().unwrap_or_default();
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
        let plain = if is_local { Plain::new(&url, AGENT, most) } else { None };
        // rustls has no default provider in this build. Losing the race to install one is fine.
        drop(rustls::crypto::ring::default_provider().install_default());
        let builder = |roots: Roots| {
            let builder = reqwest::Client::builder()
                .user_agent(AGENT)
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(deadlines.connect)
                .pool_max_idle_per_host(most)
                .tcp_nodelay(true);
            let is_direct = is_local || proxy::is_never(address.variable);
            let builder = if is_direct { builder.no_proxy() } else { builder };
            let builder = if roots == Roots::None { builder.tls_certs_only([]) } else { builder };
            builder.build()
        };
        let mut missing = if is_local { None } else { proxy::check(address.variable, url.scheme()).err() };
        let link = match plain {
            // Nothing will be encrypted, and reading the system's roots would cost more than a whole short run.
            Some(plain) => Link::Plain(plain),
            None => {
                let client = builder(Roots::System).or_else(|_| {
                    missing.get_or_insert_with(|| {
                        BuildError::new(
                            "no certificates of authorities were found on this system, so nobody can be trusted",
                            "install them (`ca-certificates`), or let SSL_CERT_FILE name a file that holds them"
                                .to_owned(),
                        )
                    });
                    builder(Roots::None)
                });
                let proxy = if is_local { None } else { proxy::of(address.variable, &url) };
                Link::Full(client.map_err(|_| BuildError::new("cannot prepare connections", None))?, proxy)
            }
        };
        Ok(Self {
            link,
            base: base.to_owned(),
            headers,
            gate: Gate::new(rates),
            breaker: Breaker::new(manners.patience),
            deadlines,
            patience: Patience { retries: limits.max_retries.unwrap_or(5), first_pause: manners.first_pause },
            redactor: Redactor::new(address.key.map(|(_, key)| key.clone()).into_iter().collect()),
            most,
            missing: missing.map(|BuildError { message, hint }| Stop { message, hint }),
            stopped: OnceLock::new(),
        })
    }
}

/// Reads the address of an endpoint: a scheme, a host, a path, and nothing that may be a secret.
///
/// The address is kept in runs and shown in messages. One that cannot be read is not shown either: somebody may have put
/// a key where the address belongs.
pub(crate) fn parse_base(base: &str) -> Result<Url, BuildError> {
    let hint = || "write `https://host/path`; a key belongs into its own variable".to_owned();
    let url = Url::parse(base).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let url = url.ok_or_else(|| BuildError::new("what should be the address of a provider is none", hint()))?;
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        let host = url.host_str().unwrap_or_default();
        return Err(BuildError::new(format!("the address on `{host}` holds more than a host and a path"), hint()));
    }
    Ok(url)
}

/// Whether a host is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
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
    fn an_address_is_a_host_and_a_path_and_is_not_repeated_otherwise() {
        for base in ["https://api.openai.com/v1", "http://[::1]:8000", "http://localhost"] {
            assert!(parse_base(base).is_ok(), "{base}");
        }
        for base in [
            "sk-canary",
            "https://me:canary@host/v1",
            "https://canary@host",
            "https://host/v1?key=canary",
            "https://host/#canary",
            "ftp://host/canary",
            "https:///:canary",
        ] {
            let error = parse_base(base).unwrap_err();
            assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        }
    }

    #[test]
    fn this_machine_has_several_names() {
        for host in ["localhost", "127.0.0.1", "127.8.8.8", "[::1]", "[::ffff:127.0.0.1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.example", "127.0.0.1.example", "0.0.0.0", "[::2]", "[::ffff:10.0.0.1]", "", "["] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
