//! GAIA from suite to submission: the example, the split without gold answers, the hub, the export.

use std::collections::BTreeSet;
use std::path::Path;

use proofmark_canon::Digest;
use proofmark_testkit::command::TestEnv;
use proofmark_testkit::hub::{FakeHub, FaultKind, HubFile, HubRepo};
use serde_json::Value;

use super::support::{assert_same_run, empty, json, json_lines};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A copy of the example.
fn example() -> TestEnv {
    let env = empty();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gaia");
    for name in ["suite.yaml", "answers.yaml", "mcp_units.py"] {
        env.put(name, std::fs::read(folder.join(name)).unwrap());
    }
    let split = "data/2023/validation";
    for entry in std::fs::read_dir(folder.join(split)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        assert!(entry.metadata().unwrap().len() <= 20_000, "{name}");
        env.put(&format!("{split}/{name}"), std::fs::read(entry.path()).unwrap());
    }
    env
}

/// Which tools a trajectory called, in order.
fn called(trajectory: &Value) -> Vec<&str> {
    let steps = trajectory["steps"].as_array().unwrap().iter();
    steps.filter(|step| step["type"] == "tool_call").map(|step| step["name"].as_str().unwrap()).collect()
}

#[test]
fn the_example_runs_offline_with_real_tools_and_leaves_no_gap_in_its_evidence() {
    let env = example();
    for (dir, concurrency) in [("one", "1"), ("many", "16")] {
        env.run(&["run", "suite.yaml", "--run-dir", dir, "--submit-intent", "--concurrency", concurrency]).expect(0);
    }
    assert_same_run(&env.path("one"), &env.path("many"), "1 and 16 at once");
    let counts = &json(&env, "one/summary.json")["totals"]["counts"];
    assert_eq!((&counts["attempted"], &counts["errored"], &counts["scored"]), (&14.into(), &0.into(), &14.into()));
    let wrong: Vec<String> = json_lines(&env, "one/records.jsonl")
        .iter()
        .filter(|record| record["scores"][0]["passed"] == false)
        .map(|record| record["item_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(wrong, ["l1-pumps", "l2-rain"], "those that are wrong on purpose");

    let trajectories = json_lines(&env, "one/trajectories.jsonl");
    let records = json_lines(&env, "one/records.jsonl");
    let keys = |lines: &[Value]| lines.iter().map(|line| line["key"].clone()).collect::<Vec<_>>();
    assert_eq!(keys(&trajectories), keys(&records), "one trajectory a sample");
    let mut tools = BTreeSet::new();
    for trajectory in &trajectories {
        let called = called(trajectory);
        assert_eq!((called.last(), &trajectory["stop"]), (Some(&"submit"), &"submitted".into()), "{called:?}");
        assert_eq!(called.iter().filter(|name| **name == "submit").count(), 1);
        let results = trajectory["steps"].as_array().unwrap().iter().filter(|step| step["type"] == "tool_result");
        for result in results.clone() {
            // A picture is no text, and `file_read` says so.
            let is_picture = result["source"].as_str().is_some_and(|source| source.ends_with(".png"));
            assert_eq!(result["is_error"], is_picture, "{result}");
        }
        assert_eq!(results.count(), called.len(), "every call has a result");
        tools.extend(called.into_iter().map(str::to_owned));
    }
    assert_eq!(tools.into_iter().collect::<Vec<_>>(), ["calculator", "file_read", "python", "submit", "units_convert"]);
    assert_eq!(called(&trajectories[11]), ["file_read", "units_convert", "calculator", "submit"]);

    assert_eq!(json(&env, "one/report.replay.json")["submittable"], true);
    let manifest = json(&env, "one/manifest.json");
    assert_eq!(manifest["datasets"][0]["split"], "validation");
    assert_eq!(manifest["sampling"]["voting_attempts"], 1);
    env.run(&["validate", "one"]).expect(0);
    let verified = env.run(&["verify", "one"]);
    assert!(!verified.stdout.contains("FAIL"), "{verified}");
    // Running the resolved suite is the same run.
    let again = ["run", "one/config.resolved.yaml", "--root", ".", "--run-dir", "again", "--submit-intent"];
    env.run(&again).expect(0);
    assert_same_run(&env.path("one"), &env.path("again"), "the resolved suite");
    // The annotators' solutions stand beside the questions; nothing of them goes further.
    assert!(env.text("data/2023/validation/metadata.jsonl").contains("CANARY-STEPS"));
    for name in ["records.jsonl", "trajectories.jsonl", "report.html", "report.md", "telemetry.jsonl"] {
        let bytes = std::fs::read(env.path("one").join(name)).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains("CANARY-STEPS"), "{name}");
    }

    let exported = env.run(&["export", "gaia", "one"]).expect(0);
    assert_eq!(exported.stderr, "14 answers\n");
    let lines: Vec<Value> = exported.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids = |name: &str, lines: &[Value]| lines.iter().map(|line| line[name].clone()).collect::<Vec<_>>();
    assert_eq!(ids("task_id", &lines), ids("item_id", &records));
    assert_eq!(lines[8]["model_answer"], "borage, chervil, hyssop, savory, tansy");
    let trace = lines[0]["reasoning_trace"].as_str().unwrap();
    assert!(
        trace.contains("Call calculator: {\"expression\":\"48 - 3 + 27 + 16\"}\nResult of calculator: 88"),
        "{trace}"
    );
    env.run(&["export", "gaia", "one", "--out", "answers.jsonl"]).expect(0);
    assert_eq!(env.text("answers.jsonl"), exported.stdout);
}

const PLAIN: &str = r#"name: plain
models: [{id: script, model: "offline:scripted", params: {file: answers.yaml}}]
tasks:
  - id: gaia
    dataset: {format: gaia, path: data, split: SPLIT}
    scorers: [{type: gaia}]
"#;
const ANSWERS: &str = r#"answers: {a: "It is so.\nFINAL ANSWER: 7", b: "I do not know.\nFINAL ANSWER:"}
"#;

/// Two questions that are asked once, without tools.
fn plain(split: &str, gold: [&str; 2]) -> TestEnv {
    let env = empty();
    env.put("suite.yaml", PLAIN.replace("SPLIT", split));
    env.put("answers.yaml", ANSWERS);
    let row = |id: &str, gold: &str| {
        let row = serde_json::json!({"task_id": id, "Question": "How many?", "Level": "1", "Final answer": gold, "file_name": ""});
        format!("{row}\n")
    };
    env.put(&format!("data/2023/{split}/metadata.jsonl"), row("a", gold[0]) + &row("b", gold[1]));
    env
}

#[test]
fn the_split_without_gold_answers_is_answered_and_not_scored() {
    let env = plain("test", ["?", ""]);
    let ran = env.run(&["run", "suite.yaml", "--run-dir", "r"]).expect(0);
    assert!(ran.stdout.contains("unscored") && !ran.stdout.contains("0.0%"), "{ran}");
    for record in json_lines(&env, "r/records.jsonl") {
        assert_eq!((&record["status"], &record["scores"]), (&"success".into(), &Value::Array(vec![])));
        assert_eq!((&record["expected"], &record["error"]), (&Value::Null, &Value::Null));
    }
    let summary = json(&env, "r/summary.json");
    let want = serde_json::json!({"attempted": 2, "errored": 0, "passed": 0, "scored": 0});
    assert_eq!((&summary["totals"]["counts"], &summary["cells"][0]["estimate"]), (&want, &Value::Null));
    assert_eq!(summary["sampling"], serde_json::json!({"splits": {"gaia": "test"}, "voting_attempts": 1}));
    let manifest = json(&env, "r/manifest.json");
    assert_eq!(
        (&manifest["datasets"][0]["split"], &manifest["sampling"]["voting_attempts"]),
        (&"test".into(), &1.into())
    );
    assert!(env.text("r/report.html").contains("2 samples are unscored:"));
    assert!(env.text("r/report.md").contains("unscored"));
    env.run(&["validate", "r"]).expect(0);
    env.run(&["report", "r"]).expect(0);
    let ran = env.run(&["export", "gaia", "r"]).expect(0);
    assert_eq!(ran.stdout, "{\"model_answer\":\"7\",\"task_id\":\"a\"}\n{\"model_answer\":\"\",\"task_id\":\"b\"}\n");
    assert_eq!(ran.stderr, "2 answers, 1 of them empty, 2 without a trace: evidence was not recorded\n");
}

#[test]
fn scores_cannot_be_removed_from_a_run_that_has_gold_answers() {
    let env = plain("validation", ["7", "8"]);
    env.run(&["run", "suite.yaml", "--run-dir", "r"]).expect(0);
    let records = json_lines(&env, "r/records.jsonl");
    assert_eq!((&records[0]["scores"][0]["passed"], &records[1]["scores"][0]["passed"]), (&true.into(), &false.into()));
    let system = records[0]["input"]["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("end with one line of this form:\nFINAL ANSWER: your answer"), "{system}");
    assert_eq!(records[0]["input"]["messages"][1]["content"], "How many?");
    let mut cheated = records[1].clone();
    cheated["scores"] = Value::Array(vec![]);
    cheated["expected"] = Value::Null;
    let lines = [&records[0], &cheated].map(|record| format!("{}\n", canonical(record))).concat();
    env.put("r/records.jsonl", lines);
    let ran = env.run(&["validate", "r"]).expect(1);
    assert!(ran.stdout.contains("V040"), "{ran}");
    let ran = env.run(&["export", "gaia", "r"]).expect(2);
    assert!(ran.stderr.contains("digest of `records.jsonl` is sha256:"), "{ran}");
}

fn canonical(value: &Value) -> String {
    let value = proofmark_canon::json::parse(value.to_string().as_bytes()).unwrap();
    String::from_utf8(value.to_canonical()).unwrap()
}

#[test]
fn what_cannot_be_exported_says_why() {
    let env = plain("validation", ["7", "8"]);
    let suite = env.text("suite.yaml");
    env.run(&["export", "gaia", "r"]).expect(2).complains(&["error: `r` does not exist"]);
    env.put("unfinished/.proofmark/journal.jsonl", "");
    env.run(&["export", "gaia", "unfinished"]).expect(2).complains(&["error: `unfinished` is an unfinished run"]);
    let two = "models: [{id: script, model: \"offline:scripted\", params: {file: answers.yaml}}, {id: echo, model: \"offline:echo\"}]\nsampling: {n: 2}";
    let models = suite.lines().nth(1).unwrap();
    env.put("suite.yaml", suite.replace(models, two));
    env.run(&["run", "suite.yaml", "--run-dir", "r"]).expect(0);
    for (more, want) in [
        (&[][..], "error: the run has 2 samples of every item"),
        (&["--sample", "0"], "error: the run has several models: `script`, `echo`"),
        (&["--sample", "2", "--model", "echo"], "error: the run has no sample 2; every item has 2, counted from 0"),
        (&["--sample", "1", "--model", "x"], "error: the run has no model `x`; it has `script`, `echo`"),
    ] {
        let arguments = [&["export", "gaia", "r"], more].concat();
        env.run(&arguments).expect(2).complains(&[want]);
    }
    let ran = env.run(&["export", "gaia", "r", "--sample", "1", "--model", "script"]).expect(0);
    assert_eq!(ran.stdout.lines().count(), 2);
    let other = super::support::small();
    other.run(&["run", "suite.yaml", "--run-dir", "r"]).expect(0);
    other
        .run(&["export", "gaia", "r"])
        .expect(2)
        .complains(&["error: the run has no task with a dataset of format `gaia`"]);
}

#[test]
fn a_suite_can_say_nothing_that_the_format_fixes() {
    let env = plain("validation", ["7", "8"]);
    let suite = env.text("suite.yaml");
    for (dataset, want) in [
        ("{format: gaia}", "is either in a folder or on the hub"),
        ("{format: gaia, path: data, repo: a/b, revision: main}", "is either in a folder or on the hub"),
        ("{format: gaia, repo: gaia-benchmark/GAIA}", "a hub dataset needs `revision` or `dataset_hash`"),
        ("{format: gaia, path: data, config: 2024_all}", "expected one of `2023_all`, `2023_level1`"),
        ("{format: gaia, path: data, split: train}", "expected `validation` or `test`"),
        ("{format: gaia, path: data, level: [4]}", "expected a list of levels from 1 to 3"),
        ("{format: gaia, path: data, level: []}", "expected a list of levels from 1 to 3"),
        ("{format: gaia, path: data, level: [1], config: 2023_level2}", "has no question of these levels"),
        ("{format: gaia, path: data, metadata: [Level, Annotator Metadata]}", "leave `metadata` out"),
        ("{format: gaia, path: data, target: task_id}", "leave `target` out"),
        ("{format: jsonl, path: data.jsonl, level: [1]}", "`level` does not belong to a dataset of format `jsonl`"),
    ] {
        env.put("suite.yaml", suite.replace("{format: gaia, path: data, split: validation}", dataset));
        let ran = env.run(&["run", "suite.yaml", "--dry-run"]).expect(2);
        assert!(ran.stderr.contains(want), "{dataset}: {ran}");
    }
}

#[test]
fn the_hub_gives_questions_and_attachments_to_those_who_may_read_it() {
    let row = r#"{"task_id":"a","Question":"How many?","Level":1,"Final answer":"7","file_name":"a.csv","Annotator Metadata":{"Steps":"CANARY-STEPS"}}"#;
    let file = |path: &str, text: &str| HubFile { path: path.into(), bytes: text.into(), lfs_sha256: None };
    let hub = FakeHub::start(vec![HubRepo {
        name: "gaia-benchmark/GAIA".into(),
        commit: COMMIT.into(),
        refs: vec!["main".into()],
        files: vec![file("2023/validation/metadata.jsonl", row), file("2023/validation/a.csv", "n\n7\n")],
        page: 10,
    }]);
    hub.fault("", None, FaultKind::RequireToken("hf_mine".into()));
    let env = empty();
    let dataset = format!("{{format: gaia, repo: gaia-benchmark/GAIA, revision: {COMMIT}}}");
    let solver = "    solver: {type: agent, tools: [{type: file_read}]}\n";
    env.put("suite.yaml", PLAIN.replace("{format: gaia, path: data, split: SPLIT}", &dataset) + solver);
    env.put(
        "answers.yaml",
        "agents: {a: [{calls: [{name: file_read, args: {path: a.csv}}]}, {text: \"FINAL ANSWER: 7\"}]}",
    );
    let call = |token: &str, arguments: &[&str]| {
        let call = env.call(arguments).env("HF_ENDPOINT", hub.endpoint()).env("HF_TOKEN", token);
        call.env("PROOFMARK_CACHE_DIR", env.path("cache")).run()
    };
    let run = ["run", "suite.yaml", "--run-dir", "r", "--submit-intent"];
    call("hf_other", &run).expect(2).complains(&["status 401", "accept its terms on the hub's page first"]);
    call("hf_mine", &run).expect(0);
    let record = &json_lines(&env, "r/records.jsonl")[0];
    assert_eq!((&record["output"]["text"], &record["scores"][0]["passed"]), (&"7".into(), &true.into()));
    let attachment = &record["input"]["messages"][1]["attachments"][0];
    assert_eq!(attachment["name"], "2023/validation/a.csv");
    assert_eq!(attachment["digest"], Digest::of(b"n\n7\n").to_string());
    let manifest = json(&env, "r/manifest.json");
    let dataset = &manifest["datasets"][0];
    assert_eq!((&dataset["revision"], &dataset["split"]), (&COMMIT.into(), &"validation".into()));
    assert_eq!(manifest["assets"][0]["path"], "2023/validation/a.csv");
    // The witness says from where the attachment came, and it is compared with the cache.
    let inputs = json(&env, "r/report.replay.json")["inputs"].clone();
    let attached = inputs.as_array().unwrap().iter().find(|input| input["role"] == "attachment").unwrap();
    assert_eq!(attached["path"], format!("gaia-benchmark/GAIA@{COMMIT}"));
    assert_eq!(attached["files"][0]["path"], "2023/validation/a.csv");
    call("hf_mine", &["validate", "r"]).expect(0);
    call("hf_mine", &["verify-replay", "r"]).expect(0);
    let verified = call("hf_mine", &["verify", "r"]);
    assert!(!verified.stdout.contains("FAIL"), "{verified}");
    env.put(&format!("cache/hub/datasets/gaia-benchmark--GAIA/{COMMIT}/2023/validation/a.csv"), "n\n8\n");
    call("hf_mine", &["verify-replay", "r"]).expect(1);
    for name in ["records.jsonl", "trajectories.jsonl", "report.html"] {
        assert!(!env.text(&format!("r/{name}")).contains("CANARY-STEPS"), "{name}");
    }
}
