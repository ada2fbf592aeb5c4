//! Outputs that are there already, scored: nothing is asked, nothing is lost, and what changed is shown.

use std::path::Path;

use proofmark_testkit::command::TestEnv;
use proofmark_testkit::tree::copy;
use serde_json::{Value, json};

use crate::support::{SMALL, SMALL_DATA, assert_same_run, empty, json, json_lines, run_id, small};

const RUN: [&str; 4] = ["run", "suite.yaml", "--run-dir", "run"];

/// A folder with a run of the small suite, and a suite with a scorer that accepts every answer of it.
fn scored() -> TestEnv {
    let env = small();
    env.run(&RUN).expect(0);
    env.put("loose.yaml", SMALL.replace("{type: exact}", "{type: regex, pattern: \"th|f|o\"}"));
    env
}

/// What must hold for any run directory that `score` leaves.
#[track_caller]
fn holds(env: &TestEnv, dir: &str) -> Value {
    env.run(&["validate", dir]).expect(0);
    env.run(&["verify-replay", dir]).expect(0).says(&["critique", "verdict: holds"]);
    let block = json(env, &format!("{dir}/report.replay.json"));
    let schema = env.run(&["schema", "replay"]).expect(0).json();
    assert!(jsonschema::draft202012::new(&schema).unwrap().validate(&block).is_ok(), "{block:#}");
    assert_eq!((&block["kind"], &block["submittable"]), (&json!("critique"), &json!(false)));
    for name in ["records.jsonl", "manifest.json", "summary.json", "report.html", "report.md"] {
        assert!(env.path(&format!("{dir}/{name}")).is_file(), "{name}");
    }
    block
}

/// What the command prints as JSON, which fits its schema.
#[track_caller]
fn document(env: &TestEnv, arguments: &[&str], code: i32) -> Value {
    let document = env.run(&[arguments, &["--format", "json"]].concat()).expect(code).json();
    let schema = env.run(&["schema", "score"]).expect(0).json();
    if let Err(error) = jsonschema::draft202012::new(&schema).unwrap().validate(&document) {
        panic!("{error}\n{document:#}");
    }
    document
}

#[test]
fn another_scorer_shows_what_changed_and_asks_nobody() {
    let env = scored();
    let before = env.tree("run");
    let asked = env.path("asked.log");
    let score = ["score", "run", "--suite", "loose.yaml", "--run-dir", "new"];
    let said = env.call(&score).env("PROOFMARK_OFFLINE_ASK_LOG", &asked).run().expect(0);
    said.says(&[
        "task   model  condition  passed before  after  mean before   after",
        "words  echo   default                3      4        75.0%  100.0%",
        "4 of 4 samples changed\n",
        "words/a/echo/default/0: exact 1 passed → regex 1 passed",
        "words/c/echo/default/0: exact 0 failed → regex 1 passed",
        "4 of 4 answers in run/records.jsonl were scored; no model was asked",
    ]);
    assert_eq!(std::fs::read(&asked).unwrap_or_default(), b"");
    assert!(before.changes(&env.tree("run")).is_empty());
    let block = holds(&env, "new");
    let outputs = block["inputs"].as_array().unwrap().iter().find(|input| input["role"] == "outputs").unwrap();
    assert_eq!((&outputs["path"], &outputs["mode"]), (&json!("run/records.jsonl"), &json!("raw")));
    assert_eq!(outputs["hash"], json(&env, "run/manifest.json")["artifacts"]["records.jsonl"]);
    assert_eq!(block["argv"], json!(["proofmark", "score", "run", "--suite", "loose.yaml", "--run-dir", "new"]));
    // The asset has no place, so that the run's id does not depend on where the outputs were.
    let assets = json(&env, "new/manifest.json")["assets"].clone();
    assert_eq!(assets[0]["path"], "records.jsonl");
    // Inputs and answers are those of the run.
    let lines = |dir: &str| json_lines(&env, &format!("{dir}/records.jsonl"));
    for (old, new) in lines("run").iter().zip(&lines("new")) {
        for name in ["key", "input", "output", "output_fingerprint", "usage", "seed", "finish_reason"] {
            assert_eq!(old[name], new[name]);
        }
    }
    env.put("strict.yaml", SMALL.replace("{type: exact}", "{type: regex, name: exact, pattern: \"th|tw\"}"));
    env.run(&["score", "run", "--suite", "strict.yaml", "--run-dir", "strict"])
        .expect(0)
        .says(&["of 4 samples changed: 2 worse, 1 better", "words/a/echo/default/0: exact 1 passed → 0 failed"]);
    let document = document(&env, &["score", "run", "--suite", "strict.yaml", "--run-dir", "strict", "--overwrite"], 0);
    let cell = &document["against"]["cells"][0];
    assert_eq!((&cell["a"]["passed"], &cell["b"]["passed"]), (&json!(3), &json!(2)));
    env.put("run/records.jsonl", "changed");
    env.run(&["verify-replay", "new"]).expect(1).says(&["FAIL", "run/records.jsonl"]);
}

#[test]
fn the_same_scorers_change_nothing_and_the_bytes_are_always_the_same() {
    let env = empty();
    let suite = SMALL
        .replace(
            "models:",
            "sampling: {n: 3}\nevidence: {record: true}\nconditions: {raw: {}, terse: {system: Be brief.}}\nmodels:",
        )
        .replace(
            "tasks:",
            "  - {id: noisy, model: \"offline:noisy\"}\n  - {id: faulty, model: \"offline:faulty\"}\ntasks:",
        );
    env.put("suite.yaml", suite);
    env.put("data.jsonl", SMALL_DATA);
    env.run(&RUN).expect(1);
    let score = |outputs: &str, dir: &str, concurrency: &str| {
        let arguments = ["score", outputs, "--suite", "suite.yaml", "--run-dir", dir, "--concurrency", concurrency];
        env.run(&arguments).expect(1)
    };
    score("run", "one", "1").says(&["nothing changed in 72 samples"]);
    score("run", "many", "64");
    copy(&env.path("run"), &env.path("deep/er/elsewhere"));
    score("deep/er/elsewhere", "moved", "16");
    for dir in ["many", "moved"] {
        assert_same_run(&env.path("one"), &env.path(dir), dir);
    }
    holds(&env, "moved");
    assert_ne!(run_id(&env, "run"), run_id(&env, "one"), "it is another run than the one that asked");
    // Scoring what was scored is a run of its own, with the same answers.
    score("one", "again", "4").says(&["nothing changed"]);
    let diff = env.run(&["diff", "run", "again", "--format", "json"]).expect(0).json();
    assert_eq!((&diff["changed"], &diff["matched"]), (&json!(0), &json!(72)));
}

#[test]
fn a_file_of_outputs_is_matched_by_what_its_lines_say() {
    let env = small();
    env.put("given.yaml", SMALL.replace("offline:echo", "recorded:some-model"));
    env.put(
        "outputs.jsonl",
        "{\"id\":\"d\",\"output\":\"five\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}\n\n\
         {\"key\":\"words/a/echo/default/0\",\"response\":\"uno\",\"more\":[1]}\n\
         {\"task_id\":\"zz\",\"model\":\"some-model\",\"model_answer\":\"x\"}\n\
         {\"item_id\":\"b\",\"error\":\"it broke\"}\n",
    );
    let score = ["score", "outputs.jsonl", "--suite", "given.yaml", "--run-dir", "new"];
    let said = env.run(&score).expect(1);
    said.says(&[
        "3 of 4 answers in outputs.jsonl were scored",
        "1 answer is for a sample that the suite does not have; the first one in line 4: words/zz/echo/default/0",
        "1 sample has no answer",
    ])
    .complains(&["2 of 4 samples errored"]);
    let records = json_lines(&env, "new/records.jsonl");
    let field = |name: &str| records.iter().map(|record| record[name].clone()).collect::<Vec<Value>>();
    assert_eq!(field("status"), ["success", "error", "error", "success"]);
    assert_eq!(field("output"), [json!({"text": "uno"}), Value::Null, Value::Null, json!({"text": "five"})]);
    let classes: Vec<&Value> = records.iter().map(|record| &record["error"]["class"]).collect();
    assert_eq!(classes, [&Value::Null, &json!("reported"), &json!("missing_output"), &Value::Null]);
    assert_eq!(records[3]["scores"][0]["passed"], true);
    assert!(records[1]["scores"].as_array().unwrap().is_empty() && records[2]["scores"].as_array().unwrap().is_empty());
    assert_eq!(records[3]["usage"], json!({"input_tokens": 3, "output_tokens": 1}));
    assert_eq!(holds(&env, "new")["inputs"][2]["path"], "outputs.jsonl");
    env.run(&[&score[..], &["--overwrite", "--allow-errors", "2"]].concat()).expect(0);
    env.run(&score).expect(2).complains(&["already holds a finished run"]);

    let document = document(&env, &[&score[..], &["--overwrite"]].concat(), 1);
    assert_eq!(document["against"], Value::Null);
    let counts = ["answers", "used", "unused", "missing"].map(|name| document["outputs"][name].as_u64().unwrap());
    assert_eq!(counts, [4, 3, 1, 1]);
}

#[test]
fn a_model_whose_answers_are_given_cannot_be_asked() {
    let env = small();
    env.put("given.yaml", SMALL.replace("offline:echo", "recorded:some-model"));
    env.run(&["run", "given.yaml", "--run-dir", "run"]).expect(2).complains(&[
        "error: `recorded:some-model` cannot be asked: its answers are given",
        "hint: score them with `proofmark score OUTPUTS --suite SUITE`",
    ]);
    assert!(!env.path("run").exists());
    env.run(&["validate", "given.yaml"]).expect(0);
}

#[test]
fn what_cannot_be_told_is_refused_and_nothing_is_written() {
    let env = small();
    let two = SMALL.replace("tasks:", "  - {id: other, model: \"offline:echo\"}\ntasks:");
    for (suite, outputs, complaint) in [
        (SMALL, "", "there is no answer in `outputs.jsonl`"),
        (SMALL, "{\"id\":\"a\"}\n", "line 1 of `outputs.jsonl` has no answer"),
        (SMALL, "{\"id\":\"a\",\"output\":\"x\"}\nnot json\n", "line 2 of `outputs.jsonl` is not JSON"),
        (
            SMALL,
            "{\"id\":\"a\",\"output\":\"x\"}\n{\"id\":\"b\",\"output\":\"x\"}\n{\"id\":\"a\",\"output\":\"y\"}\n",
            "lines 1 and 3 of `outputs.jsonl` answer the same sample",
        ),
        (
            SMALL,
            "{\"id\":\"A\",\"output\":\"x\"}\n",
            "hint: the first answer is for `words/A/echo/default/0`, the suite's first sample is `words/a/echo/default/0`",
        ),
        (&two, "{\"id\":\"a\",\"output\":\"x\"}\n", "hint: add `\"model\": \"echo\"` to the line"),
        (SMALL, "{\"id\":\"a\",\"text\":\"x\",\"answer\":\"y\"}\n", "hint: say which one it is: `--output-field text`"),
    ] {
        env.put("suite.yaml", suite);
        env.put("outputs.jsonl", outputs);
        let ran = env.run(&["score", "outputs.jsonl", "--suite", "suite.yaml", "--run-dir", "new"]).expect(2);
        ran.complains(&[complaint]);
        assert!(!env.path("new").exists());
    }
    env.run(&["score", "nowhere", "--suite", "suite.yaml"]).expect(2).complains(&["`nowhere` does not exist"]);
    env.run(&["score", ".", "--suite", "suite.yaml"]).expect(2).complains(&["is not a run directory"]);
    env.put("outputs.jsonl", "{\"id\":\"a\",\"text\":\"x\",\"answer\":\"one\"}\n");
    let score = ["score", "outputs.jsonl", "--suite", "suite.yaml", "--run-dir", "new", "--output-field", "answer"];
    env.run(&score).expect(1);
    assert_eq!(json_lines(&env, "new/records.jsonl")[0]["output"]["text"], "one");
}

#[test]
fn a_run_is_not_replaced_by_its_own_critique() {
    let env = scored();
    let before = env.tree("run");
    for dir in ["run", "./run/../run"] {
        let score = ["score", "run", "--suite", "suite.yaml", "--run-dir", dir, "--overwrite"];
        env.run(&score).expect(2).complains(&["holds the outputs that are to be scored", "choose another `--run-dir`"]);
    }
    assert!(before.changes(&env.tree("run")).is_empty());
    // Records that are not what they should be are not scored in part.
    let records = env.text("run/records.jsonl");
    env.put("run/records.jsonl", records.replacen("\"ordinal\":2", "\"ordinal\":\"2\"", 1));
    let score = ["score", "run", "--suite", "suite.yaml", "--run-dir", "new"];
    env.run(&score).expect(2).complains(&["line 3 of `run/records.jsonl` is not a record"]);
}

#[test]
fn models_need_no_key_and_programs_are_not_started() {
    let env = scored();
    for model in ["openai:gpt-x", "command:mine, command: {run: [sh, -c, \"touch started\"]}"] {
        let (name, rest) = model.split_once(", ").unwrap_or((model, ""));
        let comma = if rest.is_empty() { "" } else { ", " };
        env.put("live.yaml", SMALL.replace("\"offline:echo\"", &format!("{name:?}{comma}{rest}")));
        env.run(&["score", "run", "--suite", "live.yaml", "--run-dir", "new", "--overwrite"]).expect(0);
        let entry = json(&env, "new/manifest.json")["models"][0].clone();
        assert!(entry.get("seed").is_none(), "{entry}");
        assert!(!env.path("started").exists());
        holds(&env, "new");
    }
}

#[test]
fn pictures_are_taken_along_and_a_changed_one_is_refused() {
    let env = empty();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/images");
    for name in ["suite.yaml", "references/harbour.png", "references/desert.png"] {
        env.put(name, std::fs::read(folder.join(name)).unwrap());
    }
    env.run(&RUN).expect(0);
    let score = |dir: &str| env.run(&["score", "run", "--suite", "suite.yaml", "--run-dir", dir]);
    score("new").expect(0).says(&["nothing changed in 2 samples"]);
    assert!(env.tree("run/outputs").changes(&env.tree("new/outputs")).is_empty());
    assert_eq!(env.tree("new/outputs").files().len(), 2);
    holds(&env, "new");
    let picture = env.tree("run/outputs").files()[0].0.clone();
    env.put(&format!("run/outputs/{picture}"), "other bytes");
    score("bad").expect(2).complains(&["cannot be used", "was changed"]);
    std::fs::remove_file(env.path(&format!("run/outputs/{picture}"))).unwrap();
    score("worse").expect(2).complains(&["is not there"]);
}

#[test]
fn outputs_beside_the_suite_are_found_again_and_a_critique_has_no_brief() {
    let env = empty();
    env.put("evals/suite.yaml", SMALL.replace("    prompt:", "    brief: brief.yml\n    prompt:"));
    env.put("evals/data.jsonl", SMALL_DATA);
    env.put("evals/brief.yml", "tone: plain\n");
    env.run(&["run", "evals/suite.yaml", "--run-dir", "runs/a"]).expect(0);
    env.run(&["score", "runs/a", "--suite", "evals/suite.yaml", "--run-dir", "runs/b"]).expect(0);
    let block = holds(&env, "runs/b");
    let inputs: Vec<(&Value, &Value)> =
        block["inputs"].as_array().unwrap().iter().map(|input| (&input["role"], &input["path"])).collect();
    assert_eq!(
        inputs,
        [
            (&json!("suite"), &json!("evals/suite.yaml")),
            (&json!("dataset"), &json!("evals/data.jsonl")),
            (&json!("outputs"), &json!("runs/a/records.jsonl")),
        ]
    );
    assert_eq!(
        block["argv"],
        json!(["proofmark", "score", "runs/a", "--suite", "evals/suite.yaml", "--run-dir", "runs/b"])
    );
    // What is outside of everything that may be named is pinned by its digest alone.
    let out = tempfile::tempdir().unwrap();
    copy(&env.path("runs/a"), &out.path().join("a"));
    let far = out.path().join("a");
    env.run(&["score", far.to_str().unwrap(), "--suite", "evals/suite.yaml", "--run-dir", "runs/c"]).expect(0);
    let block = json(&env, "runs/c/report.replay.json");
    let outputs = &block["inputs"].as_array().unwrap()[2];
    assert_eq!((&outputs["role"], &outputs["path"]), (&json!("outputs"), &Value::Null));
    assert!(!env.text("runs/c/report.replay.json").contains(out.path().to_str().unwrap()));
    assert_same_run_without_trajectories(&env, "runs/b", "runs/c");
}

/// Where the outputs were is witness, not canon.
#[track_caller]
fn assert_same_run_without_trajectories(env: &TestEnv, a: &str, b: &str) {
    for name in ["records.jsonl", "manifest.json", "config.resolved.yaml", "summary.json", "report.html"] {
        assert!(env.bytes(&format!("{a}/{name}")) == env.bytes(&format!("{b}/{name}")), "{name}");
    }
}

#[test]
fn the_page_says_what_happens() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/score.md")).unwrap();
    let fenced = |info: &str, at: usize| {
        let start = page.match_indices(&format!("\n```{info}\n")).nth(at).unwrap().0 + info.len() + 5;
        page[start..start + page[start..].find("```").unwrap()].to_owned()
    };
    let env = empty();
    env.put("suite.yaml", fenced("yaml", 0));
    env.put("data.jsonl", fenced("jsonl", 0));
    env.put("outputs.jsonl", fenced("jsonl", 1));
    let command = fenced("sh", 0);
    let words: Vec<&str> = command.split_whitespace().collect();
    assert_eq!(words[0], "proofmark");
    let text = fenced("text", 0);
    env.run(&words[1..]).expect(1).says(&text.lines().collect::<Vec<_>>());
}
