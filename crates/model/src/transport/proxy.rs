//! Whether the variables for proxies can be obeyed.
//!
//! The HTTP client reads them by itself, and takes one that it does not understand for none: what was to go through a
//! proxy would go without one.

use std::ffi::OsString;

use hyper::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;

use crate::build::BuildError;

/// Checks the variables that an address of this scheme is asked through. No value is shown: there may be a password in it.
pub(crate) fn check(variable: &dyn Fn(&str) -> Option<OsString>, scheme: &str) -> Result<(), BuildError> {
    let own = if scheme == "https" { ["HTTPS_PROXY", "https_proxy"] } else { ["HTTP_PROXY", "http_proxy"] };
    for names in [own, ["ALL_PROXY", "all_proxy"]] {
        // As the client does it: the first that is set counts, also when it is empty.
        let Some((name, value)) = names.into_iter().find_map(|name| Some((name, variable(name)?))) else { continue };
        if !value.is_empty() && !value.to_str().is_some_and(is_proxy) {
            return Err(BuildError::new(
                format!("the variable {name} does not hold the address of a proxy"),
                "write `http://host:port` or `socks5h://host:port`, or unset it".to_owned(),
            ));
        }
    }
    Ok(())
}

/// Whether no host at all is to be asked through a proxy. The client takes the star for names alone, not for numbers.
pub(crate) fn is_never(variable: &dyn Fn(&str) -> Option<OsString>) -> bool {
    let except = ["NO_PROXY", "no_proxy"].into_iter().find_map(variable);
    except.and_then(|text| text.into_string().ok()).is_some_and(|text| text.split(',').any(|part| part.trim() == "*"))
}

/// The proxy through which an address is asked, without user and password; `None` when it is asked directly. By the rules
/// of the client, so that a message names the one that is really used.
pub(crate) fn of(variable: &dyn Fn(&str) -> Option<OsString>, url: &Url) -> Option<String> {
    if is_never(variable) {
        return None;
    }
    let text = |names: [&str; 2]| {
        names.into_iter().find_map(variable).and_then(|value| value.into_string().ok()).unwrap_or_default()
    };
    let matcher = Matcher::builder()
        .all(text(["ALL_PROXY", "all_proxy"]))
        .http(text(["HTTP_PROXY", "http_proxy"]))
        .https(text(["HTTPS_PROXY", "https_proxy"]))
        .no(text(["NO_PROXY", "no_proxy"]))
        .build();
    let found = matcher.intercept(&url.as_str().parse().ok()?)?;
    let authority = found.uri().authority()?.as_str();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    Some(format!("{}://{host}", found.uri().scheme_str()?))
}

const SCHEMES: [&str; 6] = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];

fn is_proxy(text: &str) -> bool {
    text.parse::<Uri>().is_ok_and(|uri| {
        let is_known = uri.scheme_str().is_none_or(|scheme| SCHEMES.contains(&scheme));
        is_known && uri.host().is_some_and(|host| !host.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_with(scheme: &str, set: &[(&str, &str)]) -> Result<(), String> {
        let variable = |name: &str| set.iter().find(|(have, _)| *have == name).map(|(_, value)| value.into());
        check(&variable, scheme).map_err(|error| error.message)
    }

    #[test]
    fn the_usual_forms_are_proxies() {
        for value in [
            "",
            "proxy:3128",
            "proxy",
            "10.0.0.1:3128",
            "http://proxy:3128/",
            "http://[::1]:3128",
            "http://me:pass%20word@proxy:3128",
            "https://proxy",
            "socks5h://proxy:1080",
        ] {
            assert_eq!(check_with("https", &[("HTTPS_PROXY", value)]), Ok(()), "{value}");
        }
    }

    #[test]
    fn what_would_be_ignored_is_refused_without_being_shown() {
        for value in ["ftp://proxy", "htps://proxy:1", "http://", "http://me:pa ss@proxy", "/proxy", "socks://proxy"] {
            for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
                let expected = format!("the variable {name} does not hold the address of a proxy");
                assert_eq!(check_with("https", &[(name, value)]), Err(expected), "{value}");
            }
        }
    }

    #[test]
    fn the_proxy_of_an_address_is_named_without_its_password() {
        let of = |url: &str, set: &[(&str, &str)]| {
            let variable = |name: &str| set.iter().find(|(have, _)| *have == name).map(|(_, value)| value.into());
            super::of(&variable, &Url::parse(url).unwrap())
        };
        let (http, https) = ("http://models.test/v1", "https://models.test/v1");
        let named = |text: &str| Some(text.to_owned());
        assert_eq!(of(http, &[]), None);
        assert_eq!(of(http, &[("HTTP_PROXY", "http://me:canary@proxy:3128/x")]), named("http://proxy:3128"));
        assert_eq!(of(https, &[("HTTP_PROXY", "http://proxy:3128")]), None);
        assert_eq!(of(https, &[("https_proxy", "proxy:3128")]), named("http://proxy:3128"));
        assert_eq!(of(https, &[("ALL_PROXY", "socks5h://me:canary@proxy:1080")]), named("socks5h://proxy:1080"));
        for except in ["models.test", ".test", "a, models.test", "*"] {
            assert_eq!(of(http, &[("ALL_PROXY", "http://proxy"), ("NO_PROXY", except)]), None, "{except}");
        }
    }

    #[test]
    fn only_what_would_be_used_is_looked_at() {
        assert_eq!(check_with("http", &[("HTTPS_PROXY", "ftp://x")]), Ok(()));
        assert_eq!(check_with("https", &[("HTTP_PROXY", "ftp://x")]), Ok(()));
        assert_eq!(check_with("https", &[("HTTPS_PROXY", "proxy:1"), ("https_proxy", "ftp://x")]), Ok(()));
    }
}
