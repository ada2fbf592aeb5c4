//! Request ids in the witness, secrets in nothing, and a start that is noted in time.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use proofmark_serve::mock::{Config, Faults};
use proofmark_testkit::command::TestEnv;
use serde_json::{Value, json};

use super::{call_live, env, lines, provider, questions, suite};

fn sidecar(env: &TestEnv, dir: &str) -> Value {
    serde_json::from_slice(&env.bytes(&format!("{dir}/report.replay.json"))).unwrap()
}

/// The ids of answered calls by ordinal, out of the telemetry.
fn answered(env: &TestEnv, dir: &str, model: &str) -> Vec<Value> {
    let mut attempts = lines(env, &format!("{dir}/telemetry.jsonl"));
    attempts.retain(|attempt| attempt["outcome"] == "answered" && attempt["model"] == model);
    attempts.sort_by_key(|attempt| attempt["ordinal"].as_u64());
    attempts.into_iter().map(|attempt| attempt["request_id"].clone()).collect()
}

#[test]
fn ids_are_the_providers_one_a_sample_in_record_order() {
    let server = provider(Config { answer_as: Some("mock-1-2026-01-31".to_owned()), ..Config::default() });
    let env = env();
    questions(&env, 5);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "");
    let run = ["run", "suite.yaml", "--run-dir", "run", "--concurrency", "1"];
    call_live(&env, &server, &run).run().expect(0);
    let block = sidecar(&env, "run");
    let ids: Vec<String> = (1..=5).map(|number| format!("req_{number:032x}")).collect();
    let base = format!("{}/v1", server.base_url());
    assert_eq!(
        block["models"],
        json!([{
            "id": "m", "model": "openai:mock-1", "provider": "openai", "answered_by": ["mock-1-2026-01-31"],
            "base_url": base, "provider_request_ids": ids,
        }])
    );
    let report = env.text("run/report.md");
    assert!(report.contains("provider_request_ids: 5 captured\n") && !report.contains(&ids[0]), "{report}");
    assert!(block["artifacts"].get("telemetry.jsonl").is_some());
}

#[test]
fn retries_other_models_and_a_resume_do_not_disturb_the_order() {
    let faults: Faults = "429=20,500=20".parse().unwrap();
    let server = provider(Config { faults, ..Config::default() });
    let env = env();
    questions(&env, 40);
    let models = "  - {id: a, model: \"openai:mock-1\"}\n  - {id: b, model: \"anthropic:mock-1\"}\n  - {id: c, model: \"ollama:m\"}";
    suite(&env, models, "limits: {max_retries: 8}");
    let run = ["run", "suite.yaml", "--run-dir", "run", "--concurrency", "8"];
    let stopped = call_live(&env, &server, &[&run[..], &["--max-tokens", "150"]].concat()).run();
    assert_eq!(stopped.code, 2, "{}", stopped.stderr);
    call_live(&env, &server, &[&run[..], &["--resume"]].concat()).run().expect(0);
    let block = sidecar(&env, "run");
    assert_eq!(block["resumed"], true);
    let attempts = lines(&env, "run/telemetry.jsonl");
    assert!(attempts.iter().any(|attempt| attempt["outcome"] == "retried"));
    for (at, model) in ["a", "b"].iter().enumerate() {
        let ids = block["models"][at]["provider_request_ids"].as_array().unwrap();
        assert!(ids.len() >= 40, "{} ids of {model}", ids.len());
        assert_eq!(*ids, answered(&env, "run", model), "{model}");
    }
    // Ollama sends none.
    assert_eq!(block["models"][2]["provider_request_ids"], json!([]));
}

#[test]
fn canaries_in_argv_addresses_headers_and_variables_are_in_no_file() {
    const KEY: &str = "canary-key-7f3c9a1e5b2d8046";
    const PASSWORD: &str = "canary-password-5b2d80467f3c";
    const QUERY: &str = "canary-query-1e5b2d80467f3c9a";
    let server = provider(Config { key: Some(proofmark_model::Secret::new(KEY)), ..Config::default() });
    let host = server.base_url().replace("http://", "");
    for (base, is_refused) in [
        (format!("http://user:{PASSWORD}@{host}/v1"), true),
        (format!("http://{host}/v1?api_key={QUERY}"), true),
        (format!("http://{host}/v1"), false),
    ] {
        let env = env();
        questions(&env, 2);
        suite(&env, "  - {id: m, model: \"openai:mock-1\", headers: {X-Project: mine}}", "limits: {max_retries: 0}");
        // The directory's name holds the key: what was typed must not be stored.
        let dir = format!("run-{KEY}");
        let ran = env
            .call(&["run", "suite.yaml", "--run-dir", &dir, "--allow-errors=0", "--cassette", "tape"])
            .env("OPENAI_API_KEY", KEY)
            .env("OPENAI_BASE_URL", &base)
            .env("HF_TOKEN", "canary-hub-0123456789")
            .run();
        if is_refused {
            assert_eq!(ran.code, 2, "{}", ran.stderr);
            assert!([KEY, PASSWORD, QUERY].iter().all(|secret| !ran.stderr.contains(secret)), "{}", ran.stderr);
            assert!(!env.path(&dir).exists());
            continue;
        }
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let (files, tape) = (env.tree(&dir), env.tree("tape"));
        assert!(files.names().contains(&"report.replay.json".to_owned()), "{:?}", files.names());
        let unpacked: Vec<(String, Vec<u8>)> = tape
            .files()
            .into_iter()
            .map(|(name, bytes)| match name.ends_with(".zst") {
                true => (name, zstd::decode_all(bytes).unwrap()),
                false => (name, bytes.to_vec()),
            })
            .collect();
        assert_eq!(unpacked.len(), 3, "a header and two entries");
        let unpacked = unpacked.iter().map(|(name, bytes)| (name.clone(), bytes.as_slice()));
        for (name, bytes) in files.files().into_iter().chain(unpacked) {
            let text = String::from_utf8_lossy(bytes);
            for secret in [KEY, PASSWORD, QUERY, "canary", "user:"] {
                assert!(!text.contains(secret), "{name} holds {secret}: {text}");
            }
        }
        assert_eq!(sidecar(&env, &dir)["argv"][4], "run-***");
    }
    // A suite cannot carry one either: it is written down as it is.
    for header in
        ["X-Auth-Token: abc", "Ocp-Apim-Subscription-Key: abc", "X-Other: \"Bearer abc\"", "X-Other: sk-abc123def456"]
    {
        let env = env();
        questions(&env, 1);
        suite(&env, &format!("  - {{id: m, model: \"openai:mock-1\", headers: {{{header}}}}}"), "");
        let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run().expect(2);
        assert!(ran.stderr.contains("cannot be set here"), "{}", ran.stderr);
        assert!(!env.path("run").exists());
    }
}

/// A `git` that first does something else, in a folder of its own; returns the search path that finds it.
fn git_that_first(env: &TestEnv, does: &str) -> String {
    let tools = env.path("tools");
    std::fs::create_dir_all(&tools).unwrap();
    let paths = "/usr/local/bin:/usr/bin:/bin";
    env.put("tools/git", format!("#!/bin/sh\nPATH={paths}\n{does}\nexec git \"$@\"\n"));
    std::fs::set_permissions(env.path("tools/git"), PermissionsExt::from_mode(0o755)).unwrap();
    format!("{}:{paths}", tools.display())
}

fn commit_all(env: &TestEnv) {
    env.put(".gitignore", "tools\nseen\nlog.jsonl\n");
    for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "x"]] {
        let identity = ["-c", "user.email=a@example.org", "-c", "user.name=a"];
        let ran = Command::new("git").arg("-C").arg(env.root()).args(identity).args(arguments).output().unwrap();
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}

#[test]
fn questions_do_not_wait_for_git_and_answers_are_not_kept_before_the_start_is() {
    let env = env();
    questions(&env, 40);
    suite(&env, "  - {id: m, model: \"openai:mock\"}", "");
    // It answers only when somebody was asked, and notes what the journal holds by then.
    let (log, journal) = (env.path("log.jsonl"), env.path("run/.proofmark/journal.jsonl"));
    let waits = format!(
        "until test -s '{}'; do sleep 0.02; done\nsleep 0.2\ncat '{}' >> '{}'",
        log.display(),
        journal.display(),
        env.path("seen").display()
    );
    let path = git_that_first(&env, &waits);
    commit_all(&env);
    let server = provider(Config { log: Some(log), ..Config::default() });
    call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).env("PATH", path).run().expect(0);
    assert_eq!(env.text("seen"), "", "an answer was kept before the start was noted");
    let block = sidecar(&env, "run");
    assert_eq!(block["git_dirty"], false);
    assert_eq!(block["repo_commit"].as_str().map(str::len), Some(40));
}

#[test]
fn a_program_is_not_asked_before_git_has_looked() {
    let env = env();
    questions(&env, 4);
    let model =
        "  - {id: m, model: \"command:cat\", command: {run: [sh, \"{suite}/ask.sh\"], version: [-c, \"echo 1\"]}}";
    suite(&env, model, "");
    env.put("ask.sh", format!("echo x > '{}'\ncat\n", env.path("left").display()));
    let path = git_that_first(&env, "sleep 0.3");
    commit_all(&env);
    let run = ["run", "suite.yaml", "--run-dir", "run"];
    env.call(&run).env("PATH", path).run().expect(0);
    assert!(env.path("left").exists());
    assert_eq!(sidecar(&env, "run")["git_dirty"], false, "what the model left was not there before");
}
