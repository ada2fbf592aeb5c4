//! Servers behind an address.

use std::time::{Duration, Instant};

use proofmark_testkit::certificate::{Authority, Validity};
use proofmark_testkit::mcp::http::McpServer;
use proofmark_testkit::tls::Front;
use proofmark_tool::{BuildError, Failure, Workspace};

use crate::mcp::{Plan, Suite, call, peak_memory, text, until};

#[tokio::test]
async fn an_address_gives_the_same_tools_and_results_as_a_program() {
    let suite = Suite::new();
    let program = suite.build(&suite.program(&[])).await.unwrap();
    for manners in [&[][..], &["events"], &["modern"], &["modern", "events"], &["paged", "shuffled"], &["listening"]] {
        let server = McpServer::start(manners);
        let toolbox = suite.build(&Plan::url(server.url())).await.unwrap();
        assert_eq!(toolbox.definitions(), program.definitions(), "{manners:?}");
        let workspace = Workspace::empty();
        assert_eq!(text(&toolbox, "echo", Some("grüße"), &workspace).await, "grüße", "{manners:?}");
        assert_eq!(text(&toolbox, "structured", None, &workspace).await, r#"{"a":[1.5,null],"b":2}"#);
        assert_eq!(text(&toolbox, "progress", None, &workspace).await, "done");
        assert!(call(&toolbox, "fail", None, &workspace).await.unwrap().is_error);
        let refused = call(&toolbox, "refuse", None, &workspace).await.unwrap_err();
        assert_eq!(refused.message, "the server `kit` refused the call: `text` is needed");
        toolbox.leave(&workspace).await;
        until("every session is ended", || server.open_sessions() == 0).await;
    }
}

#[tokio::test]
async fn samples_share_no_session_at_an_address() {
    let (suite, server) = (Suite::new(), McpServer::start(&[]));
    let toolbox = suite.build(&Plan::url(server.url())).await.unwrap();
    let (one, two) = (Workspace::empty(), Workspace::empty());
    tokio::join!(text(&toolbox, "remember", Some("a"), &one), text(&toolbox, "remember", Some("b"), &two));
    assert_eq!(text(&toolbox, "recall", None, &one).await, "a");
    assert_eq!(text(&toolbox, "recall", None, &two).await, "b");
    assert_eq!(server.open_sessions(), 2);
    toolbox.leave(&one).await;
    until("one session is ended", || server.open_sessions() == 1).await;
    drop(toolbox);
    until("a session that nobody has any more is ended", || server.open_sessions() == 0).await;
}

#[tokio::test]
async fn a_call_that_hangs_or_breaks_off_is_told_and_the_next_one_works() {
    for manners in [&[][..], &["events"]] {
        let (suite, server) = (Suite::new(), McpServer::start(manners));
        let toolbox = suite.build(&Plan { timeout: Some(3.0), ..Plan::url(server.url()) }).await.unwrap();
        let workspace = Workspace::empty();
        assert_eq!(call(&toolbox, "hang", None, &workspace).await.unwrap_err().failure, Failure::Timeout);
        assert_eq!(text(&toolbox, "echo", Some("again"), &workspace).await, "again");
        let started = Instant::now();
        assert_eq!(call(&toolbox, "die", None, &workspace).await.unwrap_err().failure, Failure::Unavailable);
        assert!(started.elapsed() < Duration::from_secs(3), "it does not wait for the timeout");
        assert_eq!(text(&toolbox, "echo", Some("again"), &workspace).await, "again");
    }
}

#[tokio::test]
async fn an_address_that_says_too_much_is_left() {
    for (manners, tool) in [(&[][..], "flood"), (&["events"], "flood"), (&["events"], "babble")] {
        let (suite, server) = (Suite::new(), McpServer::start(manners));
        let toolbox = suite.build(&Plan::url(server.url())).await.unwrap();
        let workspace = Workspace::empty();
        let error = call(&toolbox, tool, None, &workspace).await.unwrap_err();
        assert_eq!(error.failure, Failure::TooLarge, "{manners:?} {tool}");
        assert_eq!(text(&toolbox, "echo", Some("again"), &workspace).await, "again");
    }
    assert!(peak_memory() < 256 << 20, "{} bytes", peak_memory());
}

#[tokio::test]
async fn tools_that_changed_at_an_address_may_not_be_called() {
    let (suite, server) = (Suite::new(), McpServer::start(&[]));
    let toolbox = suite.build(&Plan::url(server.url())).await.unwrap();
    server.change();
    let error = call(&toolbox, "recall", None, &Workspace::empty()).await.unwrap_err();
    assert_eq!(error.failure, Failure::Refused);
}

#[tokio::test]
async fn a_key_is_sent_and_a_missing_one_is_told() {
    let (suite, server) = (Suite::new(), McpServer::start(&["locked"]));
    let error = suite.build(&Plan::url(server.url())).await.err().unwrap();
    assert!(error.to_string().ends_with("answered with status 401"), "{error}");
    assert!(error.hint().unwrap().contains("api_key_env"));
    let with_key = |name| Plan { api_key_env: Some(name), ..Plan::url(server.url()) };
    let error = suite.build(&with_key("ABSENT_API_KEY")).await.err().unwrap();
    assert!(error.to_string().ends_with("the variable `ABSENT_API_KEY`, which holds its key, is not set"), "{error}");
    let before = server.heard().len();
    let toolbox = suite.build(&with_key("LIT_API_KEY")).await.unwrap();
    // A server that sends the key back does not get it into a result.
    let echoed = text(&toolbox, "echo", Some("it was s3cr3t-and-long"), &Workspace::empty()).await;
    assert_eq!(echoed, "it was ***");
    let heard = server.heard().split_off(before);
    assert!(
        heard.len() > 5 && heard.iter().all(|heard| heard.authorization.as_deref() == Some("Bearer s3cr3t-and-long"))
    );
}

#[tokio::test]
async fn an_address_that_leads_elsewhere_or_nowhere_is_told() {
    let (suite, server) = (Suite::new(), McpServer::start(&["moved"]));
    let error = suite.build(&Plan::url(server.url())).await.err().unwrap();
    assert!(error.to_string().ends_with("answered with status 307"), "{error}");
    assert!(error.hint().unwrap().contains("redirects"), "{:?}", error.hint());
    let url = server.url();
    drop(server);
    let error = suite.build(&Plan::url(url)).await.err().unwrap();
    assert!(matches!(error, BuildError::Mcp { .. }));
    assert!(error.to_string().contains("cannot be reached"), "{error}");
}

#[test]
fn a_server_whose_certificate_nobody_signed_is_not_spoken_to() {
    let (suite, server) = (Suite::new(), McpServer::start(&[]));
    let identity = Authority::new("nobody").issue("localhost", Validity::Now);
    let front = Front::start(&identity, &["http/1.1"], server.address());
    let plan =
        Plan { api_key_env: Some("LIT_API_KEY"), ..Plan::url(format!("https://localhost:{}/mcp", front.port())) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(suite.build(&plan)).err().unwrap();
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    assert!(front.seen().connections > 0 && server.heard().is_empty());
}
