//! The example of judge scorers, offline.

use std::path::Path;

use proofmark_testkit::command::TestEnv;
use serde_json::Value;

use super::support::{assert_same_run, empty, json_lines};

/// A copy of the example.
fn example() -> TestEnv {
    let env = empty();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/judge");
    for name in ["suite.yaml", "answers.yaml", "rubric.md", "data/questions.jsonl"] {
        env.put(name, std::fs::read(folder.join(name)).unwrap());
    }
    env
}

fn verdicts(env: &TestEnv, run: &str) -> Vec<(String, bool, String)> {
    let verdict = |record: &Value| {
        let score = &record["scores"][0];
        let stage = score["judge"]["stage"].as_str().unwrap().to_owned();
        (record["key"].as_str().unwrap().replace("/assistant/default/0", ""), score["passed"] == true, stage)
    };
    json_lines(env, &format!("{run}/records.jsonl")).iter().map(verdict).collect()
}

#[test]
fn the_example_is_judged_as_its_readme_says_and_always_the_same() {
    let env = example();
    for (dir, concurrency) in [("one", "1"), ("many", "16")] {
        let options = ["--record-evidence", "--concurrency", concurrency];
        env.run(&[&["run", "suite.yaml", "--run-dir", dir], &options[..]].concat()).expect(0);
    }
    assert_same_run(&env.path("one"), &env.path("many"), "1 and 16 at once");
    let found = verdicts(&env, "one");
    let found: Vec<(&str, bool, &str)> =
        found.iter().map(|(key, passed, stage)| (key.as_str(), *passed, stage.as_str())).collect();
    assert_eq!(
        found,
        [
            ("help/returns", true, "exact"),
            ("help/shipping", false, "judge"),
            ("help/warranty", true, "judge"),
            ("help/hours", true, "judge"),
            ("help/refund", false, "judge"),
            ("help/gift", true, "normalised"),
            ("against-old/returns", true, "judge"),
            ("against-old/shipping", true, "judge"),
            ("against-old/warranty", true, "judge"),
            ("against-old/hours", true, "judge"),
            ("against-old/refund", false, "judge"),
            ("against-old/gift", true, "judge"),
        ]
    );
    let records = json_lines(&env, "one/records.jsonl");
    let why = records[4]["scores"][0]["explanation"].as_str().unwrap();
    assert!(why.contains("gullible 3 of 3 votes pass (\"the answer asks for it\")"), "{why}");
}

#[test]
fn a_judge_that_does_not_keep_to_the_form_is_an_error_and_never_a_pass() {
    let env = example();
    let suite = env.text("suite.yaml");
    let strict = "{id: strict, model: \"offline:judge\"}";
    assert!(suite.contains(strict));
    let with = |misfits: u32| {
        suite.replace(strict, &format!("{{id: strict, model: \"offline:judge\", params: {{misfits: {misfits}}}}}"))
    };
    env.put("once.yaml", with(1));
    env.run(&["run", "once.yaml", "--run-dir", "once"]).expect(0);
    let asked: Vec<u64> = json_lines(&env, "once/judgments.jsonl")
        .iter()
        .filter(|line| line["judgment"]["question"]["params"]["misfits"] == 1)
        .map(|line| line["judgment"]["said"]["asked"].as_u64().unwrap())
        .collect();
    assert!(!asked.is_empty() && asked.iter().all(|asked| *asked == 2), "{asked:?}");
    env.put("twice.yaml", with(2));
    env.run(&["run", "twice.yaml", "--run-dir", "twice"]).expect(1);
    for record in json_lines(&env, "twice/records.jsonl") {
        let is_decided =
            ["help/returns/", "help/gift/"].iter().any(|key| record["key"].as_str().unwrap().starts_with(key));
        if !is_decided {
            assert_eq!((&record["status"], &record["error"]["class"]), (&"error".into(), &"scorer".into()), "{record}");
            assert!(record["error"]["message"].as_str().unwrap().contains("does not have the declared form"));
        }
    }
}
