//! What is between us and a provider: TLS, proxies, and servers that mean no good.

mod hostile;
mod keys;
mod proxies;
mod tls;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use proofmark_testkit::command::{Call, Ran, TestEnv};
use serde_json::Value;

use super::{lines, questions, suite};

const RUN: [&str; 4] = ["run", "suite.yaml", "--run-dir", "run"];

/// One model at an address, and some questions.
fn ask(env: &TestEnv, count: usize, base: &str, more: &str) {
    questions(env, count);
    suite(env, &format!("  - {{id: m, model: \"compatible:mock-1\", base_url: \"{base}\"{more}}}"), "");
}

/// Why a sample failed: `class: message`; `success` when it did not.
fn reason(record: &Value) -> String {
    match &record["error"] {
        Value::Null => "success".to_owned(),
        error => format!("{}: {}", error["class"].as_str().unwrap(), error["message"].as_str().unwrap()),
    }
}

/// How often samples ended in which way.
fn reasons(env: &TestEnv) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for record in lines(env, "run/records.jsonl") {
        *counts.entry(reason(&record)).or_default() += 1;
    }
    counts
}

/// All samples ended in the same way.
#[track_caller]
fn assert_all(env: &TestEnv, ran: &Ran, expected: &str) {
    assert_eq!(ran.code, i32::from(expected != "success"), "{ran}");
    let found = reasons(env);
    assert!(found.len() == 1 && found.contains_key(expected), "{found:?}");
}

/// A call with the file of the authorities that it trusts.
fn trusting(env: &TestEnv, pem: &str) -> Call {
    env.put("trusted.pem", pem);
    env.call(&RUN).env("SSL_CERT_FILE", env.path("trusted.pem"))
}

fn url(scheme: &str, address: SocketAddr) -> String {
    format!("{scheme}://{address}")
}
