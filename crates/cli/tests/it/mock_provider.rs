//! `proofmark mock-provider` as a process.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::support::empty;

/// Starts it and waits until it listens; returns its address.
fn start(folder: &std::path::Path, arguments: &[&str]) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["mock-provider", "--exit-with-stdin"])
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("listening on http://").unwrap().to_owned();
    (child, address)
}

fn ask(address: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let method = if body.is_empty() { "GET" } else { "POST" };
    let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}", body.len());
    write!(stream, "{head}\r\n\r\n{body}").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"the capital of Chad"}]}"#;

#[test]
fn it_serves_until_stdin_closes_and_leaves_its_counts() {
    let env = empty();
    env.put("answers.yaml", "patterns:\n  - {match: 'capital of (\\w+)', answer: 'the one of $1'}\ndefault: none\n");
    let (mut child, address) = start(
        env.root(),
        &["--answers", "answers.yaml", "--answer-as", "other", "--stats", "stats.json", "--log", "log"],
    );
    let reply = ask(&address, "/v1/chat/completions", BODY);
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    assert!(reply.contains(r#""content":"the one of Chad""#) && reply.contains(r#""model":"other""#), "{reply}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let stats: serde_json::Value = serde_json::from_slice(&env.bytes("stats.json")).unwrap();
    assert_eq!(stats["by_path"]["/v1/chat/completions"], 1);
    assert_eq!(env.text("log").lines().count(), 1);
}

#[test]
fn a_signal_ends_it_in_good_order() {
    for name in ["TERM", "INT"] {
        let env = empty();
        let (mut child, address) = start(env.root(), &["--fault", "500=100", "--stats", "stats.json"]);
        assert!(ask(&address, "/v1/chat/completions", BODY).starts_with("HTTP/1.1 500 "));
        assert!(Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{name}");
        assert!(env.text("stats.json").contains(r#""500": 1"#));
    }
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let cases: [(&[&str], &str); 6] = [
        (&["--fault", "teapot=1"], "there is no fault `teapot`"),
        (&["--fault", "429=60,500=50"], "add up to 110"),
        (&["--latency", "9..1"], "begins above its end"),
        (&["--latency", "1", "--latency-dist", "lognormal:1,1"], "cannot be used with"),
        (&["--latency-dist", "normal:1,1"], "is not lognormal:MEDIAN,SIGMA"),
        (&["--answers", "missing.yaml"], "missing.yaml"),
    ];
    for (arguments, text) in cases {
        empty().run(&[&["mock-provider"], arguments].concat()).expect(2).complains(&[text]);
    }
    let env = empty();
    env.put("items.yaml", "answers: {france: Paris}\n");
    env.run(&["mock-provider", "--answers", "items.yaml"])
        .expect(2)
        .complains(&["by their ids", "hint: use `patterns`"]);
}
