//! Determinism controls.

use crate::support::{SMALL, json, json_lines, small};

#[test]
fn the_host_is_recorded_only_when_asked() {
    let env = small();
    let strict = |text: &str| format!("{SMALL}determinism: {text}\n");
    for (at, (suite, flags, strict_serialization, deterministic_artifacts)) in [
        (SMALL.to_owned(), vec![], true, true),
        (SMALL.to_owned(), vec!["--no-deterministic-artifacts"], true, false),
        // Left out, it follows the other one.
        (SMALL.to_owned(), vec!["--no-strict-serialization"], false, false),
        (strict("{strict_serialization: false}"), vec![], false, false),
        (strict("{strict_serialization: false, deterministic_artifacts: true}"), vec![], false, true),
        (strict("{strict_serialization: false, deterministic_artifacts: null}"), vec![], false, false),
        (strict("{deterministic_artifacts: false}"), vec![], true, false),
        (strict("{deterministic_artifacts: true}"), vec!["--no-deterministic-artifacts"], true, false),
        (strict("{deterministic_artifacts: true}"), vec!["--no-strict-serialization"], false, true),
        (strict("{strict_serialization: null}"), vec![], true, true),
    ]
    .into_iter()
    .enumerate()
    {
        env.put("suite.yaml", &suite);
        let dir = format!("out-{at}");
        env.run(&[&["run", "suite.yaml", "--run-dir", &dir][..], &flags].concat()).expect(0);
        let manifest = json(&env, &format!("{dir}/manifest.json"));
        let want = serde_json::json!({
            "deterministic_artifacts": deterministic_artifacts,
            "strict_serialization": strict_serialization,
        });
        assert_eq!(manifest["determinism"], want, "{suite}{flags:?}");
        let platform = match deterministic_artifacts {
            true => serde_json::Value::Null,
            false => serde_json::json!({"arch": std::env::consts::ARCH, "os": std::env::consts::OS}),
        };
        assert_eq!(manifest["platform"], platform, "{suite}{flags:?}");
        assert!(manifest.as_object().unwrap().get("command").unwrap().is_null());
        for record in json_lines(&env, &format!("{dir}/records.jsonl")) {
            assert!(record.as_object().unwrap().get("latency_ms").unwrap().is_null());
        }
        env.run(&["validate", &dir]).expect(0);
    }
}

#[test]
fn an_integer_that_would_lose_digits_is_refused_or_kept_as_text() {
    let env = small();
    env.put("data.jsonl", "{\"id\":\"a\",\"input\":9007199254740993,\"target\":9007199254740993}\n");
    let ran = env.run(&["run", "suite.yaml", "--run-dir", "strict"]).expect(2);
    ran.complains(&[
        "`data.jsonl` line 1: not valid JSON: ",
        "the integer 9007199254740993 is beyond 2^53 and would lose digits",
        "hint: write the number as a string, or set `determinism.strict_serialization: false`",
    ]);
    assert!(!env.path("strict").exists());
    env.run(&["run", "suite.yaml", "--run-dir", "lenient", "--no-strict-serialization"]).expect(0);
    let record = json_lines(&env, "lenient/records.jsonl").remove(0);
    assert_eq!(
        (&record["expected"], &record["output"]["text"]),
        (&"9007199254740993".into(), &"9007199254740993".into())
    );
    assert_eq!(record["scores"][0]["passed"], true);
    env.run(&["validate", "lenient"]).expect(0);
}
