//! Keys stay out of every log and reach no other host.

use proofmark_serve::mock::{Config, Fault, Faults, Times};
use proofmark_testkit::certificate::{Authority, Validity};
use proofmark_testkit::command::Call;
use proofmark_testkit::tls::Front;

use super::super::secrets::{CANARY, assert_clean};
use super::super::{env, provider, questions, suite};
use super::hostile::{Raw, say};
use super::{RUN, assert_all, reasons};

/// A call that would log as much as it can.
fn loud(call: Call, base: &str) -> Call {
    call.env("OPENAI_BASE_URL", base)
        .env("OPENAI_API_KEY", CANARY)
        .env("RUST_LOG", "trace")
        .env("RUST_BACKTRACE", "full")
        .env("RUST_LIB_BACKTRACE", "1")
        .env("SSLKEYLOGFILE", "tls-keys.log")
}

#[test]
fn no_log_level_shows_a_key() {
    let authority = Authority::new("ours");
    let key = |key: &str| Some(proofmark_model::Secret::new(key));
    let server = provider(Config { key: key(CANARY), ..Config::default() });
    let strict = provider(Config { key: key("another"), ..Config::default() });
    let rough =
        provider(Config { faults: Faults::every(Fault::Reset), fault_times: Times::Always, ..Config::default() });
    let front = |host| Front::start(&authority.issue(host, Validity::Now), &["h2"], server.address());
    let (trusted, distrusted) = (front("localhost"), front("models.test"));
    let https = |front: &Front| format!("https://localhost:{}/v1", front.port());
    for (base, code) in [
        (format!("{}/v1", server.base_url()), 0),
        (https(&trusted), 0),
        (https(&distrusted), 1),
        (format!("{}/v1", strict.base_url()), 2),
        (format!("{}/v1", rough.base_url()), 1),
    ] {
        let env = env();
        env.put("trusted.pem", authority.pem());
        questions(&env, 2);
        suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "limits: {max_retries: 1}");
        let ran = loud(env.call(&RUN), &base).env("SSL_CERT_FILE", env.path("trusted.pem")).run();
        assert_eq!(ran.code, code, "{base}: {ran}");
        assert_clean(&env, &[&ran.stdout, &ran.stderr]);
        // Whoever has these can read what was sent.
        assert!(!env.path("tls-keys.log").exists());
    }
}

#[test]
fn a_redirect_takes_no_key_to_another_host() {
    let other = provider(Config::default());
    for status in [301, 302, 303, 307, 308] {
        let location = format!("{}/v1/chat/completions", other.base_url());
        let raw = Raw::start(say(format!("HTTP/1.1 {status} X\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")));
        let env = env();
        questions(&env, 2);
        suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "");
        let ran = loud(env.call(&RUN), &raw.base()).run();
        let expected = format!("malformed: the endpoint redirects (status {status}); redirects are not followed");
        assert_all(&env, &ran, &expected);
        assert_eq!((raw.asked(), reasons(&env)[&expected]), (2, 2));
        assert_clean(&env, &[&ran.stdout, &ran.stderr]);
    }
    assert_eq!(other.stats().connections, 0);
}
