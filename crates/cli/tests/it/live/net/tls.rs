//! TLS: who is trusted, and which protocol is spoken inside.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use proofmark_serve::mock::{Config, Latency};
use proofmark_testkit::certificate::{Authority, Validity};
use proofmark_testkit::tls::Front;

use super::super::{env, provider};
use super::{RUN, ask, assert_all, trusting};

#[test]
fn an_unknown_authority_is_refused_at_once() {
    let ours = Authority::new("ours");
    let server = provider(Config::default());
    for (other, why) in [
        (Authority::new("other"), "nobody whom this machine trusts has signed it"),
        // One that only has the name of a trusted one.
        (Authority::new("ours"), "its signature is wrong"),
    ] {
        let front = Front::start(&ours.issue("localhost", Validity::Now), &["http/1.1"], server.address());
        let env = env();
        ask(&env, 3, &format!("https://localhost:{}/v1", front.port()), "");
        let start = Instant::now();
        let ran = trusting(&env, &other.pem()).run();
        assert_all(&env, &ran, &format!("network: the server's certificate was refused: {why}"));
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        let seen = front.seen_after(3);
        assert_eq!((seen.connections, seen.failed), (3, 3), "one attempt each");
    }
    assert_eq!(server.stats().requests, 0);
}

#[test]
fn an_authority_is_trusted_where_the_user_names_it() {
    let (ours, other) = (Authority::new("ours"), Authority::new("other"));
    let server = provider(Config::default());
    let front = Front::start(&ours.issue("localhost", Validity::Now), &["http/1.1"], server.address());
    let env = env();
    ask(&env, 3, &format!("https://localhost:{}/v1", front.port()), "");
    assert_all(&env, &trusting(&env, &[other.pem(), ours.pem()].concat()).run(), "success");
    std::fs::remove_dir_all(env.path("run")).unwrap();
    // Named as `openssl rehash` names them.
    env.put("trusted/0123abcd.0", ours.pem());
    assert_all(&env, &env.call(&RUN).env("SSL_CERT_DIR", env.path("trusted")).run(), "success");
}

#[test]
fn a_certificate_signed_by_itself_is_named_as_such() {
    let authority = Authority::new("ours");
    let server = provider(Config::default());
    let front = Front::start(authority.own(), &[], server.address());
    let env = env();
    ask(&env, 1, &format!("https://localhost:{}/v1", front.port()), "");
    let ran = trusting(&env, &authority.pem()).run();
    assert_all(&env, &ran, "network: the server's certificate was refused: it is signed by itself");
}

#[test]
fn a_certificate_must_be_for_this_host_and_this_day() {
    let authority = Authority::new("ours");
    let server = provider(Config::default());
    for (host, validity, why) in [
        ("localhost", Validity::Past, "it has expired"),
        ("localhost", Validity::Future, "it is not valid yet"),
        ("models.test", Validity::Now, "it is for another host"),
    ] {
        let front = Front::start(&authority.issue(host, validity), &["h2", "http/1.1"], server.address());
        let env = env();
        ask(&env, 2, &format!("https://localhost:{}/v1", front.port()), "");
        let ran = trusting(&env, &authority.pem()).run();
        assert_all(&env, &ran, &format!("network: the server's certificate was refused: {why}"));
        assert_eq!(front.seen_after(2).failed, 2);
    }
    assert_eq!(server.stats().requests, 0);
}

#[test]
fn a_server_that_speaks_no_tls_is_named_as_such() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    // Ends with the test's process.
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").and_then(|()| stream.read(&mut [0; 1024]));
        }
    });
    let env = env();
    ask(&env, 2, &format!("https://localhost:{port}/v1"), ", limits: {max_retries: 1}");
    let ran = trusting(&env, &Authority::new("any").pem()).run();
    assert_all(&env, &ran, "network: TLS could not be agreed on with the server");
}

#[test]
fn a_system_without_authorities_can_ask_itself_and_nobody_else() {
    let server = provider(Config::default());
    let env = env();
    let nothing = |run: &str| env.call(&["run", "suite.yaml", "--run-dir", run]).env("SSL_CERT_FILE", "/nothing/here");
    ask(&env, 2, &format!("https://localhost:{}/v1", server.address().port()), "");
    // The suite is fine all the same.
    env.call(&["validate", "suite.yaml"]).env("SSL_CERT_FILE", "/nothing/here").run().expect(0);
    nothing("none").run().expect(2).complains(&["no certificates of authorities were found", "SSL_CERT_FILE"]);
    ask(&env, 2, &format!("{}/v1", server.base_url()), "");
    assert_all(&env, &nothing("run").run(), "success");
}

#[test]
fn http_2_is_offered_first_and_shares_connections() {
    let authority = Authority::new("ours");
    let server = provider(Config { latency: Latency::Fixed(Duration::from_millis(2)), ..Config::default() });
    for streams in ["", ", params: {stream: true}"] {
        let identity = authority.issue("localhost", Validity::Now);
        let front = Front::start(&identity, &["h2", "http/1.1"], server.address());
        let env = env();
        let base = format!("https://localhost:{}/v1", front.port());
        ask(&env, 200, &base, &format!(", limits: {{max_connections: 8}}{streams}"));
        assert_all(&env, &trusting(&env, &authority.pem()).run(), "success");
        let seen = front.seen();
        assert_eq!((seen.offered, seen.requests, seen.failed), (vec!["h2".to_owned(), "http/1.1".to_owned()], 200, 0));
        // Until the first one has agreed on a protocol nobody knows that one would be enough.
        assert!(seen.connections <= 8 && seen.chosen.keys().eq(["h2"]), "{:?}", seen.chosen);
    }
}

#[test]
fn connections_of_http_1_are_used_again() {
    let authority = Authority::new("ours");
    for protocols in [&["http/1.1"][..], &[]] {
        let server = provider(Config::default());
        let front = Front::start(&authority.issue("localhost", Validity::Now), protocols, server.address());
        let env = env();
        let base = format!("https://localhost:{}/v1", front.port());
        ask(&env, 200, &base, ", limits: {max_connections: 3}");
        assert_all(&env, &trusting(&env, &authority.pem()).run(), "success");
        let stats = server.stop().unwrap();
        assert_eq!(stats.requests, 200);
        // One that is not yet back among the others when the next request comes may have one more opened.
        let connections = stats.connections.max(front.seen().connections);
        assert!(connections <= 4, "{connections} connections");
    }
}
