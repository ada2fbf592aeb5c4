//! How a run ends: exit codes, what is printed, and what is on disk afterwards.

use proofmark_testkit::command::TestEnv;
use serde_json::Value;

use crate::support::{PLANE_1, SMALL, assert_same_run, empty, json, json_lines, run_id, small};

/// Twenty items of which the default schedule of `offline:faulty` fails fifteen, ten of them with the one below.
fn faulty() -> TestEnv {
    let env = small();
    env.put(
        "suite.yaml",
        SMALL.replace("offline:echo\"", "offline:faulty\", params: {schedule: [ok, error, ok, timeout]}"),
    );
    let rows = (0..20).map(|at| format!("{{\"id\":\"i{at}\",\"input\":\"{at}\",\"target\":\"{at}\"}}\n"));
    env.put("data.jsonl", rows.collect::<String>());
    env
}

#[test]
fn a_run_with_errors_says_how_many_and_exits_1() {
    let env = faulty();
    let ran = env.run(&["run", "suite.yaml", "--run-dir", "out"]).expect(1);
    let ran = ran.complains(&["error: 10 of 20 samples errored", "hint: the report lists them; permit some with"]);
    // The results are printed all the same, and the run is whole.
    ran.says(&["20 samples, run ", "out/report.html"]);
    let manifest = json(&env, "out/manifest.json");
    assert_eq!(
        manifest["status_counts"],
        serde_json::json!({"success": 10, "error": 5, "timeout": 5, "rate_limited": 0, "skipped": 0})
    );
    env.run(&["validate", "out"]).expect(0);
    let counts = &json(&env, "out/summary.json")["totals"]["counts"];
    assert_eq!((&counts["attempted"], &counts["errored"], &counts["scored"]), (&20.into(), &10.into(), &10.into()));
}

#[test]
fn errors_are_permitted_by_number_or_share() {
    let env = faulty();
    for (at, (allowed, code)) in
        [("0", 1), ("9", 1), ("10", 0), ("1000", 0), ("0%", 1), ("49.9%", 1), ("50%", 0), ("100%", 0)]
            .into_iter()
            .enumerate()
    {
        let dir = format!("out-{at}");
        let ran = env.run(&["run", "suite.yaml", "--run-dir", &dir, "--allow-errors", allowed]).expect(code);
        match code {
            0 => ran.complains(&["warning: 10 of 20 samples errored (allowed by --allow-errors)"]),
            _ => ran.complains(&["error: 10 of 20 samples errored"]),
        };
        assert_same_run_but_evidence(&env, "out-0", &dir);
    }
    // Without errors nothing is said about them.
    let env = small();
    let ran = env.run(&["run", "suite.yaml", "--run-dir", "out", "--allow-errors", "0"]).expect(0);
    assert_eq!(ran.stderr, "", "{ran}");
}

fn assert_same_run_but_evidence(env: &TestEnv, a: &str, b: &str) {
    for name in PLANE_1.iter().filter(|name| **name != "trajectories.jsonl") {
        assert_eq!(env.bytes(&format!("{a}/{name}")), env.bytes(&format!("{b}/{name}")), "{name} of {b}");
    }
}

/// A task for every scorer that judges by the answer, and a model that says "banana" to all of them.
const BANANA: &str = r#"name: banana
models: [{id: monkey, model: "offline:scripted", params: {file: monkey.yaml}}]
tasks:
  - id: text
    dataset: {format: inline, rows: [{input: a, target: Paris}, {input: b, target: "42"}, {input: c, target: "a, b"}]}
    scorers:
      - {type: exact, ignore_case: true, ignore_punctuation: true}
      - {type: includes, ignore_case: true}
      - {type: regex, pattern: '(\w+)', group: 1}
      - {type: regex, name: digits, pattern: '\d+'}
      - {type: gaia}
      - {type: set, ignore_case: true}
      - {type: json_schema, schema: {}}
      - {type: command, command: [sh, judge.sh]}
  - id: number
    dataset: {format: inline, rows: [{input: a, target: 7}, {input: b, target: 0}, {input: c, target: -1.5}]}
    scorers: [{type: numeric, tolerance: 0.5}, {type: gaia}, {type: exact}]
  - id: choice
    dataset: {format: inline, rows: [{input: a, choices: [apple, pear], target: pear}, {input: b, choices: [x, y, z], target: A}]}
    scorers: [{type: choice}]
"#;

#[test]
fn a_model_that_answers_banana_everywhere_scores_0_everywhere() {
    let env = empty();
    env.put("suite.yaml", BANANA);
    env.put("monkey.yaml", "default: banana\n");
    let judge = "while IFS= read -r line; do\n  case $line in\n    *'\"answer\":\"Paris\"'*) echo '{\"passed\":true}' ;;\n    *) echo '{\"passed\":false}' ;;\n  esac\ndone\n";
    env.put("judge.sh", judge);
    env.run(&["run", "suite.yaml", "--run-dir", "out"]).expect(0);
    let summary = json(&env, "out/summary.json");
    let cells = summary["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 8 + 3 + 1);
    for cell in cells {
        assert_eq!(cell["estimate"]["mean"], 0.0, "{cell}");
        assert_eq!(cell["counts"]["passed"], 0, "{cell}");
        assert!(cell["counts"]["scored"].as_u64().unwrap() >= 2, "{cell}");
    }
    assert_eq!(summary["totals"]["counts"]["passed"], 0);
    for record in json_lines(&env, "out/records.jsonl") {
        assert_eq!((&record["status"], &record["output"]["text"]), (&"success".into(), &"banana".into()));
    }
    // The same scorers do pass what is right.
    env.put("monkey.yaml", "patterns: [{match: 'a', answer: Paris}]\ndefault: banana\n");
    env.run(&["run", "suite.yaml", "--run-dir", "right", "--only", "task=text"]).expect(0);
    let right = json(&env, "right/summary.json");
    let passed: Vec<(&str, u64)> = right["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| (cell["scorer"].as_str().unwrap(), cell["counts"]["passed"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        passed,
        [
            ("exact", 1),
            ("includes", 1),
            ("regex", 1),
            ("digits", 0),
            ("gaia", 1),
            ("set", 1),
            ("json_schema", 0),
            ("command", 1)
        ]
    );
}

#[test]
fn a_dry_run_counts_and_touches_nothing() {
    let env = small();
    env.put(
        "suite.yaml",
        SMALL.replace("name: small", "name: small\nsampling: {n: 5}\nconditions: {raw: {}, loud: {system: Shout}}"),
    );
    let before = env.tree("");
    let ran = env.run(&["run", "suite.yaml", "--dry-run"]).expect(0);
    let ran = ran.says(&[
        "words  exact        4             0     40",
        "samples an item: 1 models × 2 conditions × n = 5 gives 10",
        "estimated calls: 40, as many at once as the endpoints bear",
        " would go to runs/small-",
        "nothing was asked and nothing was written",
    ]);
    assert_eq!(ran.stderr, "");
    let plan = env.run(&["run", "suite.yaml", "--dry-run", "--format", "json", "--run-dir", "there"]).expect(0).json();
    assert_eq!((&plan["format"], &plan["version"]), (&"proofmark.plan".into(), &1.into()));
    assert_eq!((&plan["samples"], &plan["run_dir"]), (&40.into(), &"there".into()));
    let task = serde_json::json!({"calls": 40, "items": 4, "rows_skipped": 0, "scorers": ["exact"], "task": "words"});
    assert_eq!(plan["tasks"], serde_json::json!([task]));
    assert!(before.changes(&env.tree("")).is_empty());
    // The plan is the plan of the run.
    env.run(&["run", "suite.yaml", "--run-dir", "out"]).expect(0);
    assert_eq!(plan["run_id"], run_id(&env, "out").as_str());
    // Also where a run is: it is not looked at.
    let before = env.tree("");
    env.run(&["run", "suite.yaml", "--dry-run", "--run-dir", "out"]).expect(0);
    assert!(before.changes(&env.tree("")).is_empty());
}

const GRID: &str = r#"name: grid
models: [{id: one, model: "offline:echo"}, {id: two, model: "offline:echo"}]
conditions: {raw: {}, loud: {system: Shout}}
tasks:
  - {id: words, dataset: {format: jsonl, path: data.jsonl, id: id}, scorers: [{type: exact}]}
  - {id: again, dataset: {format: jsonl, path: data.jsonl, id: id, limit: 3}, scorers: [{type: exact}]}
"#;

#[test]
fn a_part_of_a_suite_is_a_run_of_its_own() {
    let env = small();
    env.put("suite.yaml", GRID);
    env.run(&["run", "suite.yaml", "--run-dir", "whole"]).expect(0);
    assert_eq!(json(&env, "whole/manifest.json")["record_count"], (4 + 3) * 4);
    let mut ids = vec![run_id(&env, "whole")];
    for (at, (flags, records, resolved)) in [
        (vec!["--max-items", "2"], (2 + 2) * 4, "limit: 2"),
        (vec!["--max-items", "100"], (4 + 3) * 4, "limit: 100"),
        (vec!["--only", "task=again"], 3 * 4, "- id: raw"),
        (vec!["--only", "model=two"], (4 + 3) * 2, "- id: two"),
        (vec!["--only", "condition=loud", "--only", "model=one"], 4 + 3, "- id: loud"),
        (vec!["--record-evidence"], (4 + 3) * 4, "record: true"),
        (vec!["--no-strict-serialization"], (4 + 3) * 4, "strict_serialization: false"),
        (vec!["--no-deterministic-artifacts"], (4 + 3) * 4, "deterministic_artifacts: false"),
    ]
    .into_iter()
    .enumerate()
    {
        let dir = format!("part-{at}");
        env.run(&[&["run", "suite.yaml", "--run-dir", &dir][..], &flags].concat()).expect(0);
        assert_eq!(json(&env, &format!("{dir}/manifest.json"))["record_count"], records, "{flags:?}");
        assert!(env.text(&format!("{dir}/config.resolved.yaml")).contains(resolved), "{flags:?}");
        let id = run_id(&env, &dir);
        assert!(!ids.contains(&id), "{flags:?} does not change the run id");
        ids.push(id);
        // What was left out is left out of the resolved suite: it alone gives the part again.
        let again = format!("again-{at}");
        env.run(&["run", &format!("{dir}/config.resolved.yaml"), "--run-dir", &again]).expect(0);
        assert_eq!(run_id(&env, &again), run_id(&env, &dir), "{flags:?}");
        assert_eq!(env.bytes(&format!("{dir}/records.jsonl")), env.bytes(&format!("{again}/records.jsonl")));
    }
    let only = env.text("part-3/config.resolved.yaml");
    assert!(!only.contains("id: one"), "{only}");
    // Which samples are asked changes the run, not what a sample is.
    let of = |dir: &str, key: &str| {
        let records = json_lines(&env, &format!("{dir}/records.jsonl"));
        let record = records.into_iter().find(|record| record["key"] == key).unwrap();
        (record["input"].clone(), record["seed"].clone(), record["output_fingerprint"].clone())
    };
    assert_eq!(of("whole", "again/b/two/loud/0"), of("part-2", "again/b/two/loud/0"));
}

#[test]
fn how_a_run_is_made_is_not_part_of_it() {
    let env = small();
    env.put("suite.yaml", format!("{SMALL}evidence: {{record: true}}\n"));
    env.run(&["run", "suite.yaml", "--run-dir", "out"]).expect(0);
    env.run(&["harness", "suite.yaml", "--run-dir", "alias", "--concurrency", "2", "--format", "json"]).expect(0);
    assert_same_run(&env.path("out"), &env.path("alias"), "alias, concurrency and format");
}

#[test]
fn the_default_directory_is_named_after_suite_and_run() {
    let env = small();
    let document = env.run(&["run", "suite.yaml", "--format", "json"]).expect(0).json();
    let id = document["run_id"].as_str().unwrap();
    assert_eq!(document["run_dir"], format!("runs/small-{}", &id[..12]));
    assert!(env.path(&format!("runs/small-{}/manifest.json", &id[..12])).is_file());
    assert_eq!(
        (&document["format"], &document["was_complete"], &document["resumed"]),
        (&"proofmark.run".into(), &false.into(), &0.into())
    );
    assert_eq!(document["summary"], json(&env, &format!("runs/small-{}/summary.json", &id[..12])));
    // A name that is no file name does not lead anywhere else.
    env.put("suite.yaml", SMALL.replace("name: small", "name: ../../ö x"));
    let document = env.run(&["run", "suite.yaml", "--format", "json"]).expect(0).json();
    assert!(document["run_dir"].as_str().unwrap().starts_with("runs/--------x-"), "{}", document["run_dir"]);
}

#[test]
fn json_output_is_one_document_also_when_samples_errored() {
    let env = faulty();
    let ran = env.run(&["run", "suite.yaml", "--run-dir", "out", "--format", "json"]).expect(1);
    let document = ran.json();
    assert_eq!(document["summary"]["totals"]["counts"]["errored"], 10);
    assert_eq!(ran.stdout.lines().count(), 1);
    assert!(matches!(document, Value::Object(_)));
}
