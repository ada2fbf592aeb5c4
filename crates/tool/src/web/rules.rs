//! Where an agent may go.
//!
//! Everything here is decided on the address as the client itself reads it: two readings of one text are how such checks
//! are got around.

use std::net::IpAddr;

use reqwest::Url;

use super::WebError;
use crate::tool::{Failure, ToolError};

/// What a suite allows and forbids.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    allow_private: Vec<Allowed>,
    /// As the client writes hosts, without a dot at the end.
    block_domains: Vec<String>,
}

/// A host that may be reached wherever it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Allowed {
    host: String,
    /// `None` for all of them.
    port: Option<u16>,
}

/// By which way an address may be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Only where all of its host's addresses are public.
    Guarded,
    /// Wherever it is: the suite names it.
    Open,
}

/// Says whether an address is public. Always [`is_public`](super::address::is_public), but for tests.
pub(super) type Judge = fn(IpAddr) -> bool;

impl Rules {
    pub(super) fn new(allow_private: &[String], block_domains: &[String]) -> Result<Self, WebError> {
        let allow_private = allow_private.iter().map(|entry| Allowed::parse(entry)).collect::<Result<_, _>>()?;
        let blocked = |entry: &String| match Allowed::parse(entry)? {
            Allowed { host, port: None } => Ok(host),
            Allowed { .. } => Err(WebError::BadHost(entry.clone())),
        };
        Ok(Self { allow_private, block_domains: block_domains.iter().map(blocked).collect::<Result<_, _>>()? })
    }

    pub(super) fn has_exceptions(&self) -> bool {
        !self.allow_private.is_empty()
    }

    /// Checks all that can be known of an address before its host is looked up.
    pub(super) fn check(&self, url: &Url, judge: Judge) -> Result<Way, ToolError> {
        if let Some(domain) = self.blocked(url) {
            return Err(refused(format!("`{domain}` is blocked for this benchmark; look elsewhere")));
        }
        self.check_address(url, judge)
    }

    /// The same without the blocked domains: for the search engine itself.
    pub(super) fn check_address(&self, url: &Url, judge: Judge) -> Result<Way, ToolError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("only addresses with `http:` and `https:` can be fetched"));
        }
        // Not repeated: it may be a secret.
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("addresses with a user name or a password are not fetched"));
        }
        let host = host_of(url).ok_or_else(|| refused("the address has no host"))?;
        if self.allows(host, url.port_or_known_default()) {
            return Ok(Way::Open);
        }
        // The client connects to these without looking anything up.
        match address_of(host) {
            Some(address) if !judge(address) => Err(private(host)),
            _ => Ok(Way::Guarded),
        }
    }

    /// The entry that blocks an address.
    pub(super) fn blocked(&self, url: &Url) -> Option<&str> {
        let host = host_of(url)?;
        let is_below = |domain: &str| host.strip_suffix(domain).is_some_and(|left| left.ends_with('.'));
        self.block_domains.iter().find(|domain| host == *domain || is_below(domain)).map(String::as_str)
    }

    fn allows(&self, host: &str, port: Option<u16>) -> bool {
        self.allow_private
            .iter()
            .any(|allowed| allowed.host == host && (allowed.port.is_none() || allowed.port == port))
    }
}

impl Allowed {
    /// Reads `host` or `host:port` the way the client reads addresses.
    fn parse(entry: &str) -> Result<Self, WebError> {
        let bad = || WebError::BadHost(entry.to_owned());
        let (host, port) = match entry.rsplit_once(':') {
            // An IPv6 address without its brackets.
            Some((head, _)) if head.contains(':') && !head.ends_with(']') && !entry.ends_with(']') => {
                (format!("[{entry}]"), None)
            }
            Some((head, port)) if !entry.ends_with(']') => {
                let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
                let port = port.parse().ok().filter(|port| is_number && *port != 0);
                (head.to_owned(), Some(port.ok_or_else(bad)?))
            }
            _ => (entry.to_owned(), None),
        };
        if host.contains(['/', '\\', '@', '?', '#', '*', '%']) || host.contains(char::is_whitespace) {
            return Err(bad());
        }
        let url = Url::parse(&format!("http://{host}/")).map_err(|_| bad())?;
        if url.port().is_some() {
            return Err(bad());
        }
        let host = host_of(&url).filter(|host| !host.is_empty()).ok_or_else(bad)?;
        Ok(Self { host: host.to_owned(), port })
    }
}

/// The host as the client writes it, without the dots that a name may end with.
fn host_of(url: &Url) -> Option<&str> {
    url.host_str().map(|host| host.trim_end_matches('.'))
}

/// The address that a host is, when it is one and no name.
pub(super) fn address_of(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn refused(message: impl Into<String>) -> ToolError {
    ToolError::new(Failure::Refused, message)
}

/// The address itself is not told: it would map a network that the agent has no business in.
pub(super) fn private(host: &str) -> ToolError {
    refused(format!("`{host}` is not on the public internet and is not fetched"))
}

#[cfg(test)]
mod tests {
    use super::super::address::is_public;
    use super::*;

    fn rules(allow_private: &[&str], block_domains: &[&str]) -> Rules {
        let own = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>();
        Rules::new(&own(allow_private), &own(block_domains)).unwrap()
    }

    fn check(rules: &Rules, url: &str) -> Result<Way, String> {
        rules.check(&Url::parse(url).unwrap(), is_public).map_err(|error| {
            assert_eq!(error.failure, Failure::Refused);
            error.message
        })
    }

    #[test]
    fn private_addresses_are_refused_however_they_are_written() {
        let rules = rules(&[], &[]);
        for url in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f000001:8080/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "https://127.0.0.1./",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:a9fe:a9fe]/latest/meta-data",
            "http://169.254.169.254/latest/meta-data/",
            "http://[fd00:ec2::254]/",
            "http://１２７.１/",
            "http:\\\\10.0.0.1\\",
            "http:127.0.0.1",
            "http://0/",
            "http://[64:ff9b::192.168.0.1]/",
        ] {
            let message = check(&rules, url).unwrap_err();
            assert!(message.ends_with("is not on the public internet and is not fetched"), "{url}: {message}");
        }
        for url in ["http://8.8.8.8/", "https://example.com:8443/x?y=1", "http://[2606:4700:4700::1111]/"] {
            assert_eq!(check(&rules, url), Ok(Way::Guarded), "{url}");
        }
    }

    #[test]
    fn other_schemes_and_credentials_are_refused_and_not_repeated() {
        let rules = rules(&["127.0.0.1"], &[]);
        for url in ["file:///etc/passwd", "ftp://example.com/", "gopher://127.0.0.1:6379/_", "data:text/html,x"] {
            assert!(check(&rules, url).unwrap_err().contains("`http:` and `https:`"), "{url}");
        }
        for url in ["http://canary@example.com/", "http://:canary@example.com/", "http://a.example:80@127.0.0.1/"] {
            let message = check(&rules, url).unwrap_err();
            assert!(message.contains("user name or a password") && !message.contains("canary"), "{message}");
        }
    }

    #[test]
    fn exceptions_hold_for_exactly_what_they_name() {
        let rules = rules(&["127.0.0.1:8080", "localhost:80", "[::1]", "fd00::7", "wiki.corp", "[fd00::8]:443"], &[]);
        for url in [
            "http://127.0.0.1:8080/x",
            "https://127.0.0.1:8080/",
            "http://0x7f.1:8080/",
            "http://localhost/",
            "http://LOCALHOST.:80/",
            "http://[::1]/",
            "http://[::1]:99/",
            "http://[fd00::7]:1/",
            "https://wiki.corp/",
            "http://wiki.corp:8000/",
            "https://[fd00::8]/",
        ] {
            assert_eq!(check(&rules, url), Ok(Way::Open), "{url}");
        }
        for url in
            ["http://127.0.0.1/", "http://127.0.0.2:8080/", "http://[::ffff:127.0.0.1]:8080/", "http://[fd00::8]/"]
        {
            assert!(check(&rules, url).is_err(), "{url}");
        }
        for url in ["https://localhost/", "http://localhost:8080/", "http://a.wiki.corp/", "http://corp/"] {
            assert_eq!(check(&rules, url), Ok(Way::Guarded), "{url}");
        }
    }

    #[test]
    fn a_domain_is_blocked_with_everything_below_it() {
        let rules = rules(&["hub.example"], &["huggingface.co", "Bücher.example.", "hub.example", "1.1.1.1"]);
        for (url, domain) in [
            ("https://huggingface.co/datasets", "huggingface.co"),
            ("https://HUGGINGFACE.CO./", "huggingface.co"),
            ("https://cdn-lfs.huggingface.co/x", "huggingface.co"),
            ("https://a.b.huggingface.co:8443/", "huggingface.co"),
            ("https://huggingface%2Eco/", "huggingface.co"),
            ("https://ｈuggingface。co/", "huggingface.co"),
            ("http://xn--bcher-kva.example/", "xn--bcher-kva.example"),
            ("http://www.BÜCHER.example../", "xn--bcher-kva.example"),
            ("http://hub.example/", "hub.example"),
            ("http://1.1.257/", "1.1.1.1"),
            ("http://0x01010101/", "1.1.1.1"),
        ] {
            let message = format!("`{domain}` is blocked for this benchmark; look elsewhere");
            assert_eq!(check(&rules, url), Err(message), "{url}");
        }
        for url in ["https://nothuggingface.co/", "https://huggingface.co.example/", "https://co/", "http://11.1.1.1/"]
        {
            assert!(check(&rules, url).is_ok(), "{url}");
        }
    }

    #[test]
    fn an_entry_that_is_no_host_is_refused() {
        let own = |entry: &str| [entry.to_owned()];
        for entry in [
            "",
            ".",
            "*.example.com",
            "a b",
            "example.com/x",
            "me@example.com",
            "example.com:",
            "example.com:0",
            "example.com:70000",
            "example.com:+80",
            "1.2.3.999",
            "[::1",
            "::1]",
            "http://example.com",
            "a:1:2x",
            "[::1]:80:80",
        ] {
            assert!(Rules::new(&own(entry), &[]).is_err(), "{entry}");
            assert!(Rules::new(&[], &own(entry)).is_err(), "{entry}");
        }
        assert!(Rules::new(&[], &own("example.com:80")).is_err());
    }
}
