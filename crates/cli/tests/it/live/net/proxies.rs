//! Proxies by the usual variables.

use std::net::SocketAddr;

use data_encoding::BASE64;
use proofmark_serve::mock::Config;
use proofmark_testkit::certificate::{Authority, Validity};
use proofmark_testkit::proxy::{Manner, Proxy};
use proofmark_testkit::tls::Front;

use super::super::secrets::{CANARY, assert_clean};
use super::super::{call_live, env, provider, questions, suite};
use super::{RUN, ask, assert_all, trusting, url};

/// Nobody listens on port 9 of this machine.
const NOBODY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9);

#[test]
fn plain_requests_go_through_the_proxy_of_any_usual_variable() {
    for (name, scheme, first) in [
        ("HTTP_PROXY", "http", "POST http://models.test/v1/chat/completions HTTP/1.1\r\n"),
        ("http_proxy", "http", "POST http://models.test/v1/chat/completions HTTP/1.1\r\n"),
        ("ALL_PROXY", "http", "POST http://models.test/v1/chat/completions HTTP/1.1\r\n"),
        ("all_proxy", "socks5h", "socks5 models.test:80"),
    ] {
        let server = provider(Config::default());
        let proxy = Proxy::start(Manner::Forward, server.address());
        let env = env();
        ask(&env, 20, "http://models.test/v1", ", limits: {max_connections: 2}");
        assert_all(&env, &env.call(&RUN).env(name, url(scheme, proxy.address())).run(), "success");
        let seen = proxy.seen();
        assert!((1..=3).contains(&seen.len()), "{} connections for 20 requests", seen.len());
        assert!(seen.iter().all(|head| head.starts_with(first)), "{name}: {seen:?}");
    }
}

#[test]
fn a_tunnel_shows_the_proxy_a_host_and_no_key() {
    let authority = Authority::new("ours");
    let server = provider(Config { key: Some(proofmark_model::Secret::new(CANARY)), ..Config::default() });
    let front = Front::start(&authority.issue("models.test", Validity::Now), &["h2", "http/1.1"], server.address());
    for (name, scheme, first) in [
        ("HTTPS_PROXY", "http", "CONNECT models.test:443 HTTP/1.1\r\n"),
        ("ALL_PROXY", "http", "CONNECT models.test:443 HTTP/1.1\r\n"),
        ("ALL_PROXY", "socks5h", "socks5 models.test:443"),
    ] {
        let proxy = Proxy::start(Manner::Forward, front.address());
        let env = env();
        ask(&env, 3, "https://models.test/v1", ", api_key_env: OWN_API_KEY");
        let run = trusting(&env, &authority.pem()).env("OWN_API_KEY", CANARY).env(name, url(scheme, proxy.address()));
        let ran = run.env("HTTP_PROXY", url("http", NOBODY)).run();
        assert_all(&env, &ran, "success");
        assert_clean(&env, &[&ran.stdout, &ran.stderr, &proxy.seen().concat()]);
        assert!(proxy.seen().iter().all(|head| head.starts_with(first)), "{:?}", proxy.seen());
    }
    assert!(front.seen().chosen.keys().eq(["h2"]), "{:?}", front.seen().chosen);
}

#[test]
fn hosts_without_a_proxy_are_asked_directly() {
    let server = provider(Config::default());
    let proxy = Proxy::start(Manner::Forward, server.address());
    // An address that leads here but is not one of this machine's names.
    let base = format!("http://0.0.0.0:{}/v1", server.address().port());
    for (exceptions, proxied) in [("", true), ("models.test", true), ("models.test, 0.0.0.0", false), ("*", false)] {
        let env = env();
        ask(&env, 1, &base, "");
        let before = proxy.seen().len();
        let ran = env.call(&RUN).env("ALL_PROXY", url("http", proxy.address())).env("NO_PROXY", exceptions).run();
        assert_all(&env, &ran, "success");
        assert_eq!(proxy.seen().len() - before, usize::from(proxied), "NO_PROXY={exceptions}");
    }
}

#[test]
fn this_machine_is_never_asked_through_a_proxy() {
    let server = provider(Config::default());
    let proxy = Proxy::start(Manner::Refuse, NOBODY);
    let env = env();
    questions(&env, 2);
    let port = server.address().port();
    let models = format!(
        "  - {{id: m, model: \"openai:mock-1\"}}\n  \
         - {{id: n, model: \"compatible:x\", base_url: \"http://localhost:{port}/v1\"}}\n"
    );
    suite(&env, &models, "");
    let mut run = call_live(&env, &server, &RUN);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        run = run.env(name, url("http", proxy.address()));
    }
    assert_all(&env, &run.run(), "success");
    assert_eq!(proxy.seen(), [""; 0]);
}

#[test]
fn the_password_of_a_proxy_goes_to_the_proxy_and_nowhere_else() {
    let authority = Authority::new("ours");
    let server = provider(Config::default());
    let front = Front::start(&authority.issue("models.test", Validity::Now), &["http/1.1"], server.address());
    let basic = BASE64.encode(format!("me:{CANARY}").as_bytes());
    let refused = "network: the proxy refuses to serve without its password";
    for (scheme, manner, behind, expected) in [
        ("http", Manner::Forward, server.address(), "success"),
        ("https", Manner::Forward, front.address(), "success"),
        ("http", Manner::Refuse, NOBODY, refused),
        ("https", Manner::Refuse, NOBODY, refused),
    ] {
        let proxy = Proxy::start(manner, behind);
        let env = env();
        ask(&env, 2, &format!("{scheme}://models.test/v1"), "");
        let ran = trusting(&env, &authority.pem())
            .env("ALL_PROXY", format!("http://me:{CANARY}@{}", proxy.address()))
            .env("RUST_LOG", "trace")
            .run();
        assert_all(&env, &ran, expected);
        let seen = proxy.seen();
        assert!(!seen.is_empty() && seen.len() <= 2, "{} connections", seen.len());
        assert!(seen.iter().all(|head| head.contains(&format!("Basic {basic}"))), "{seen:?}");
        assert_clean(&env, &[&ran.stdout, &ran.stderr]);
        for (name, bytes) in env.tree("").files() {
            assert!(!String::from_utf8_lossy(bytes).contains(&basic[8..]), "{name} holds the password");
        }
    }
}

#[test]
fn a_proxy_that_cannot_be_used_is_not_left_out() {
    let server = provider(Config::default());
    let base = format!("http://0.0.0.0:{}/v1", server.address().port());
    let env = env();
    ask(&env, 1, &base, ", limits: {max_retries: 1}");
    for value in [format!("htp://me:{CANARY}@proxy:1"), format!("http://me:{CANARY} @proxy:1")] {
        env.call(&["validate", "suite.yaml"]).env("HTTP_PROXY", &value).run().expect(0);
        let ran = env.call(&RUN).env("HTTP_PROXY", value).run();
        let ran = ran.expect(2).complains(&["the variable HTTP_PROXY does not hold the address of a proxy"]);
        assert_clean(&env, &[&ran.stdout, &ran.stderr]);
    }
    // One that is not there.
    let ran = env.call(&RUN).env("HTTP_PROXY", format!("http://me:{CANARY}@{NOBODY}")).run();
    assert_all(&env, &ran, "network: the connection was refused (through the proxy http://127.0.0.1:9)");
    assert_clean(&env, &[&ran.stdout, &ran.stderr]);
    assert_eq!(server.stats().connections, 0);
}
