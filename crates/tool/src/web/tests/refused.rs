//! Ways to a private address that must not lead there.

use super::server::{Server, moved, page, path};
use super::*;

/// A server that nobody may reach.
async fn secret() -> Server {
    Server::start(PRIVATE, |_| page("200 OK", "text/plain", "the secret")).await
}

#[tokio::test]
async fn no_way_of_writing_an_address_reaches_this_machine() {
    let secret = secret().await;
    let port = secret.port();
    let tool = Fetch::new(&plan(&[], &[]), &super::search::world(&[])).unwrap();
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "１２７.０.０.１",
        "127%2e0.0.1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        // Looked up by the system.
        "localhost",
        "LOCALHOST",
    ] {
        let error = get(&tool, &format!("http://{host}:{port}/")).await.unwrap_err();
        assert_eq!(error.failure, Failure::Refused, "{host}: {error}");
        assert!(error.message.ends_with("is not on the public internet and is not fetched"), "{host}: {error}");
    }
    assert!(secret.requests().is_empty());
}

#[tokio::test]
async fn a_name_is_judged_by_all_of_its_addresses() {
    let secret = secret().await;
    let names = Names::new(&[
        ("evil.example", &[&[PRIVATE]]),
        ("mixed.example", &[&[PUBLIC, PRIVATE]]),
        ("mapped.example", &[&["::ffff:127.0.0.2"]]),
        ("metadata.example", &[&["169.254.169.254"]]),
        ("empty.example", &[&[]]),
    ]);
    let tool = fetcher(&names, &[], &[]);
    for (host, expected) in [
        ("evil.example", Failure::Refused),
        ("mixed.example", Failure::Refused),
        ("mapped.example", Failure::Refused),
        ("metadata.example", Failure::Refused),
        ("empty.example", Failure::NotFound),
        ("unknown.example", Failure::NotFound),
    ] {
        let error = get(&tool, &format!("http://{host}:{}/", secret.port())).await.unwrap_err();
        assert_eq!(error.failure, expected, "{host}");
        assert!(error.message.contains(host) && !error.message.contains("127.0"), "{error}");
    }
    assert!(secret.requests().is_empty());
}

#[tokio::test]
async fn a_name_that_changes_after_the_check_gains_nothing() {
    let secret = secret().await;
    let open = Server::start_at(&format!("{PUBLIC}:{}", secret.port()), |_| page("200 OK", "text/plain", "open")).await;
    let names = Names::new(&[("rebind.example", &[&[PUBLIC], &[PRIVATE]])]);
    let tool = fetcher(&names, &[], &[]);
    let url = format!("http://rebind.example:{}/", secret.port());
    // There is one look at the name, and the connection goes where that look led.
    assert_eq!(text(&get(&tool, &url).await.unwrap()), "open");
    assert_eq!(names.asked().len(), 1);
    // Another connection is another look.
    assert_eq!(failure(get(&tool, &url).await), Some(Failure::Refused));
    assert_eq!(names.asked().len(), 2);
    assert_eq!(open.requests().len(), 1);
    assert!(secret.requests().is_empty());
}

#[tokio::test]
async fn every_redirect_is_checked_as_if_it_were_the_first_address() {
    let secret = secret().await;
    let port = secret.port();
    let names = Names::new(&[("evil.example", &[&[PRIVATE]]), ("blocked.example", &[&[PUBLIC]])]);
    let tool = fetcher(&names, &[], &["blocked.example"]);
    for (location, expected) in [
        (format!("http://127.0.0.1:{port}/"), "is not on the public internet"),
        (format!("http://2130706433:{port}/"), "is not on the public internet"),
        (format!("//[::ffff:127.0.0.1]:{port}/"), "is not on the public internet"),
        (format!("http://evil.example:{port}/"), "is not on the public internet"),
        (format!("http://me:canary@127.0.0.2:{port}/"), "user name or a password"),
        (format!("http://www.blocked.example:{port}/"), "`blocked.example` is blocked for this benchmark"),
        ("file:///etc/passwd".to_owned(), "only addresses with `http:` and `https:`"),
        ("ftp://127.0.0.2/".to_owned(), "only addresses with `http:` and `https:`"),
        (format!("gopher://127.0.0.1:{port}/_x"), "only addresses with `http:` and `https:`"),
        ("data:text/plain,x".to_owned(), "only addresses with `http:` and `https:`"),
    ] {
        let to = location.clone();
        let open = Server::start(PUBLIC, move |_| moved(&to)).await;
        let error = get(&tool, &open.url("/")).await.unwrap_err();
        assert_eq!(error.failure, Failure::Refused, "{location}: {error}");
        assert!(error.message.contains(expected) && !error.message.contains("canary"), "{location}: {error}");
        assert_eq!(open.requests().len(), 1);
    }
    assert!(secret.requests().is_empty());
}

#[tokio::test]
async fn a_chain_of_redirects_ends() {
    let open = Server::start(PUBLIC, |request| match path(request) {
        "/loop" => moved("/loop"),
        "/0" => page("200 OK", "text/plain", "there"),
        other => moved(&format!("/{}?q=1#x", other[1..2].parse::<u32>().unwrap() - 1).replace("/0?q=1", "/0")),
    })
    .await;
    let tool = fetcher(&Names::new(&[]), &[], &[]);
    let error = get(&tool, &open.url("/loop")).await.unwrap_err();
    assert_eq!((error.failure, open.requests().len()), (Failure::Unavailable, 6));
    let output = get(&tool, &open.url("/5")).await.unwrap();
    assert_eq!((text(&output), output.source.clone()), ("there", Some(open.url("/0"))));
    assert_eq!(failure(get(&tool, &open.url("/6")).await), Some(Failure::Unavailable));
    assert!(open.requests().iter().all(|request| !request.contains("referer")));
}

#[tokio::test]
async fn what_is_allowed_is_no_door_to_its_neighbours() {
    let secret = secret().await;
    let to = secret.url("/");
    let allowed = Server::start(PRIVATE, move |_| moved(&to)).await;
    let entry = format!("127.0.0.1:{}", allowed.port());
    let named = format!("box.example:{}", allowed.port());
    let names = Names::new(&[("box.example", &[&[PRIVATE]])]);
    let tool = fetcher(&names, &[&entry, &named], &[]);
    assert_eq!(failure(get(&tool, &allowed.url("/")).await), Some(Failure::Refused));
    assert_eq!(failure(get(&tool, &secret.url("/")).await), Some(Failure::Refused));
    // The same name at another port.
    assert_eq!(failure(get(&tool, &format!("http://box.example:{}/", secret.port())).await), Some(Failure::Refused));
    assert_eq!(allowed.requests().len(), 1);
    assert!(secret.requests().is_empty());
}

#[tokio::test]
async fn addresses_that_are_none_are_told_apart_from_forbidden_ones() {
    let tool = fetcher(&Names::new(&[]), &[], &["blocked.example"]);
    for (url, expected) in [
        ("", Failure::BadArguments),
        ("example.org/page", Failure::BadArguments),
        ("http://", Failure::BadArguments),
        ("http://[::1", Failure::BadArguments),
        ("http://a b/", Failure::BadArguments),
        ("file:///etc/passwd", Failure::Refused),
        ("javascript:alert(1)", Failure::Refused),
        ("http://me:canary@127.0.0.2/", Failure::Refused),
        ("https://sub.BLOCKED.example./", Failure::Refused),
    ] {
        let error = get(&tool, url).await.unwrap_err();
        assert_eq!(error.failure, expected, "{url}: {error}");
        assert!(!error.message.contains("canary"));
    }
    assert_eq!(
        failure(get(&tool, &format!("http://127.0.0.2/{}", "a".repeat(9000))).await),
        Some(Failure::BadArguments)
    );
    assert_eq!(failure(call(&tool, "uri", "http://127.0.0.2/").await), Some(Failure::BadArguments));
    let workspace = Workspace::empty();
    for args in [Value::Null, Value::Array(vec![]), Value::from("http://127.0.0.2/")] {
        let result = tool.call(Call { args: &args, workspace: &workspace }).await;
        assert_eq!(failure(result), Some(Failure::BadArguments));
    }
}
