//! Keys come from the environment or a private file and go nowhere but to their provider.

use std::os::unix::fs::PermissionsExt as _;

use proofmark_serve::mock::{Config, Fault, Faults, Times};

use super::{call_live, env, provider, questions, suite};

pub(super) const CANARY: &str = "canary-7f3c9a1e5b2d8046";

fn config() -> Config {
    Config { key: Some(proofmark_model::Secret::new(CANARY)), ..Config::default() }
}

/// Nothing that was written or printed has the key in it, or most of it.
pub(super) fn assert_clean(env: &proofmark_testkit::command::TestEnv, printed: &[&str]) {
    let leaks = |bytes: &[u8]| bytes.windows(12).any(|window| CANARY.as_bytes().windows(12).any(|part| part == window));
    for text in printed {
        assert!(!leaks(text.as_bytes()), "{text}");
    }
    for (name, bytes) in env.tree("").files() {
        assert!(name == "key" || !leaks(bytes), "{name} holds the key");
    }
}

#[test]
fn a_key_is_in_no_file_and_no_output_whatever_happens() {
    for (provider_name, model) in
        [("OPENAI", "openai:mock-1"), ("ANTHROPIC", "anthropic:mock-1"), ("GEMINI", "gemini:m")]
    {
        for fault in [None, Some(Fault::ServerError), Some(Fault::Html), Some(Fault::Malformed), Some(Fault::Reset)] {
            let faults = fault.map(Faults::every).unwrap_or_default();
            let server = provider(Config { faults, fault_times: Times::Always, ..config() });
            let env = env();
            questions(&env, 3);
            suite(
                &env,
                &format!("  - {{id: m, model: \"{model}\"}}"),
                "limits: {max_retries: 1}\nevidence: {record: true}",
            );
            let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"])
                .env(&format!("{provider_name}_API_KEY"), CANARY)
                .run();
            assert_eq!(ran.code, i32::from(fault.is_some()), "{}", ran.stderr);
            assert_clean(&env, &[&ran.stdout, &ran.stderr]);
        }
    }
}

#[test]
fn a_refused_key_is_not_repeated_and_neither_are_its_ends() {
    let server = provider(Config { key: Some(proofmark_model::Secret::new("another")), ..Config::default() });
    let env = env();
    questions(&env, 3);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "");
    let run = ["run", "suite.yaml", "--run-dir", "run"];
    let ran = call_live(&env, &server, &run).env("OPENAI_API_KEY", CANARY).run();
    assert_eq!(ran.code, 2);
    assert_clean(&env, &[&ran.stdout, &ran.stderr]);
}

#[test]
fn a_key_file_works_when_nobody_else_can_read_it() {
    let server = provider(config());
    let env = env();
    questions(&env, 1);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "");
    env.put("key", format!("{CANARY}\n"));
    let run = |mode| {
        std::fs::set_permissions(env.path("key"), std::fs::Permissions::from_mode(mode)).unwrap();
        env.call(&["run", "suite.yaml", "--run-dir", "run", "--overwrite"])
            .env("OPENAI_BASE_URL", format!("{}/v1", server.base_url()))
            .env("OPENAI_API_KEY_FILE", env.path("key"))
            .run()
    };
    let ran = run(0o600);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_clean(&env, &[&ran.stdout, &ran.stderr]);
    let ran = run(0o644);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("can be read by others") && ran.stderr.contains("chmod 600"), "{}", ran.stderr);
    assert_clean(&env, &[&ran.stdout, &ran.stderr]);
}

#[test]
fn a_suite_cannot_send_a_key_where_it_does_not_belong() {
    let server = provider(Config::default());
    let env = env();
    questions(&env, 1);
    let elsewhere = "https://models.example/v1";
    for (model, expected) in [
        (
            format!("{{id: m, model: \"compatible:x\", base_url: \"{elsewhere}\", api_key_env: OPENAI_API_KEY}}"),
            "would send the key of openai to `models.example`",
        ),
        (
            format!("{{id: m, model: \"anthropic:x\", base_url: \"{elsewhere}\"}}"),
            "the variable ANTHROPIC_API_KEY is not set",
        ),
        (
            "{id: m, model: \"openai:x\", api_key_env: AWS_SECRET_ACCESS_KEY}".to_owned(),
            "is not the name of a variable",
        ),
        ("{id: m, model: \"openai:x\", headers: {Authorization: x}}".to_owned(), "`Authorization` cannot be set here"),
        (
            "{id: m, model: \"openai:x\", base_url: \"https://me:pw@h/v1\"}".to_owned(),
            "expected `http://` or `https://`",
        ),
        // No host of ours, however it is written.
        (
            "{id: m, model: \"openai:x\", base_url: \"https://[::ffff:203.0.113.5]/v1\"}".to_owned(),
            "OPENAI_API_KEY is not set",
        ),
        (
            "{id: m, model: \"azure:x\", base_url: \"https:///models.example/v1\"}".to_owned(),
            "AZURE_OPENAI_API_KEY is not set",
        ),
        (
            "{id: m, model: \"azure:x\", base_url: \"https://me.cloudapp.azure.com/v1\"}".to_owned(),
            "AZURE_OPENAI_API_KEY is not set",
        ),
        (
            "{id: m, model: \"openai:x\", base_url: \"https:///api.openai.com:443@models.example/v1\"}".to_owned(),
            "holds more than a host and a path",
        ),
        (
            "{id: m, model: \"compatible:x\", base_url: \"http://10.0.0.1/v1\", api_key_env: OWN_API_KEY}".to_owned(),
            "a key would go to `10.0.0.1` unencrypted",
        ),
    ] {
        suite(&env, &format!("  - {model}"), "");
        let ran = env
            .call(&["run", "suite.yaml", "--run-dir", "run"])
            .env("OPENAI_API_KEY", CANARY)
            .env("ANTHROPIC_API_KEY", CANARY)
            .env("AZURE_OPENAI_API_KEY", CANARY)
            .env("OWN_API_KEY", CANARY)
            .env("AWS_SECRET_ACCESS_KEY", CANARY)
            .run();
        assert_eq!(ran.code, 2, "{model}");
        assert!(ran.stderr.contains(expected), "{model}: {}", ran.stderr);
        assert_clean(&env, &[&ran.stdout, &ran.stderr]);
    }
    // An address of the user's is kept and shown, so it may hold no secret either.
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "");
    for base in [CANARY, &format!("https://me:{CANARY}@h/v1"), &format!("https://h/v1?key={CANARY}")] {
        let run = env.call(&["run", "suite.yaml", "--run-dir", "run"]).env("OPENAI_API_KEY", "k");
        let ran = run.env("OPENAI_BASE_URL", base).run();
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert_clean(&env, &[&ran.stdout, &ran.stderr]);
    }
    // Whoever runs it may.
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "");
    assert_eq!(call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run().code, 0);
}
