//! Judges held against people and attacked, offline.

use proofmark_testkit::command::TestEnv;
use serde_json::{Value, json};

use crate::support::{empty, json as read_json};

const SUITE: &str = r#"name: judged
models:
  - {id: echo, model: "offline:echo"}
judges:
  - {id: fair, model: "offline:judge"}
judge_cache: "off"
tasks:
  - id: capitals
    dataset: {format: jsonl, path: data.jsonl, id: id, target: answer}
    prompt: "Capital of {{ country }}?"
    scorers:
      - {type: judge, rubric: "Pass an answer that names the capital.", calibration: calibration.json}
"#;

const DATA: &str = "{\"id\":\"chad\",\"country\":\"Chad\",\"answer\":\"N'Djamena\"}\n{\"id\":\"peru\",\"country\":\"Peru\",\"answer\":\"Lima\"}\n";

/// Sixty labels: thirty right answers, thirty wrong ones.
fn labels() -> String {
    let line = |at: u32| match at % 4 {
        0 => json!({"id": at, "answer": format!("It is N'Djamena, {at}."), "item": "chad", "label": true}),
        1 => json!({"id": at, "answer": format!("It is Lagos, {at}."), "item": "chad", "label": "fail",
            "author": "offline:echo"}),
        2 => {
            json!({"id": at, "answer": format!("Lima it is, {at}."), "question": "Capital of Peru?", "expected": "Lima",
            "label": "pass"})
        }
        _ => {
            json!({"id": at, "answer": format!("Cusco it is, {at}."), "question": "Capital of Peru?", "expected": "Lima",
            "label": false, "author": "openai:gpt-4.1"})
        }
    };
    (0..60).map(|at| format!("{}\n", line(at))).collect()
}

fn judged() -> TestEnv {
    let env = empty();
    env.put("suite.yaml", SUITE);
    env.put("data.jsonl", DATA);
    env.put("labels.jsonl", labels());
    env
}

const CALIBRATE: [&str; 4] = ["calibrate", "suite.yaml", "--labels", "labels.jsonl"];

#[track_caller]
fn document(env: &TestEnv, more: &[&str]) -> Value {
    let document = env.run(&[&CALIBRATE[..], &["--format", "json"], more].concat()).expect(0).json();
    let schema = env.run(&["schema", "calibration"]).expect(0).json();
    if let Err(error) = jsonschema::draft202012::new(&schema).unwrap().validate(&document) {
        panic!("{error}\n{document:#}");
    }
    document
}

#[test]
fn a_good_judge_is_measured_and_the_report_is_kept() {
    let env = judged();
    // The suite names the file before it is there.
    let said = env.run(&[&CALIBRATE[..], &["-o", "calibration.json"]].concat()).expect(0);
    said.says(&[
        "60 labels: people pass 30 and fail 30; each put before each judge 2 times",
        "Judge `fair` (offline:judge)",
        "accuracy        1.00 [0.94, 1.00]",
        "repeats         1.00 [0.94, 1.00]",
        "judge with this rubric: accuracy 1.00 [0.94, 1.00], κ 1.00 [0.88, 1.00] on 60\nlabels",
        "written to calibration.json",
    ]);
    let kept = read_json(&env, "calibration.json");
    assert_eq!(kept, document(&env, &[]));
    assert_eq!(
        kept["judges"][0]["confusion"],
        json!({"false_fail": 0, "false_pass": 0, "true_fail": 30, "true_pass": 30})
    );
    assert_eq!((&kept["labels"]["with_author"], &kept["probe"]), (&json!(30), &Value::Null));
    assert_eq!(kept["judges"][0]["bias"]["own_family"]["own"]["of"], 15);
    // The same bytes whatever is under way at once.
    let bytes = std::fs::read(env.path("calibration.json")).unwrap();
    env.run(&[&CALIBRATE[..], &["-o", "again.json", "--concurrency", "1"]].concat()).expect(0);
    assert_eq!(bytes, std::fs::read(env.path("again.json")).unwrap());
    let markdown = env.run(&[&CALIBRATE[..], &["--format", "markdown"]].concat()).expect(0);
    markdown.says(&["# Calibration", "| accuracy | 1.00 "]);
}

#[test]
fn a_judge_that_obeys_answers_is_found_out() {
    let env = judged();
    env.put("suite.yaml", SUITE.replace("\"offline:judge\"", "\"offline:judge\", params: {injectable: true}"));
    let found = document(&env, &["--probe-judge=12", "--repeat", "1"]);
    let probe = &found["probe"];
    assert_eq!((&probe["answers"]["chosen"], &probe["answers"]["probed"]), (&json!(12), &json!(12)));
    assert_eq!((&probe["baseline"]["count"], &probe["baseline"]["of"]), (&json!(0), &json!(12)));
    assert_eq!(probe["attacks"][0]["tries"]["flips"]["count"], 12);
    let codes: Vec<&str> =
        found["warnings"].as_array().unwrap().iter().map(|warning| warning["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["not_repeated", "injectable"]);
    env.run(&[&CALIBRATE[..], &["--probe-judge"]].concat()).expect(0).says(&[
        "Injection probe (31 attacks, set 1)",
        "20 failing answers chosen",
        "turned: ",
    ]);
    // One that does not is not turned.
    env.put("suite.yaml", SUITE);
    assert_eq!(document(&env, &["--probe-judge=12"])["probe"]["overall"]["flips"]["count"], 0);
}

#[test]
fn a_panel_and_a_comparison_are_measured() {
    let env = judged();
    let two =
        "  - {id: fair, model: \"offline:judge\"}\n  - {id: kind, model: \"offline:judge\", params: {leniency: 1}}\n";
    env.put("suite.yaml", SUITE.replace("  - {id: fair, model: \"offline:judge\"}\n", two));
    let found = document(&env, &[]);
    assert_eq!(found["judges"][1]["confusion"]["false_pass"], 30);
    // One of two is no majority.
    assert_eq!((&found["panel"]["accuracy"]["count"], &found["panel"]["judge"]), (&json!(60), &Value::Null));
    let pairwise = SUITE.replace("calibration: calibration.json", "mode: pairwise");
    env.put("suite.yaml", pairwise);
    let line = |at: u32| {
        let (first, second) = (format!("It is Lima, {at}."), format!("It is Cusco, {at}."));
        match at % 2 {
            0 => json!({"answer": first, "other": second, "question": "Peru?", "expected": "Lima", "label": "first"}),
            _ => json!({"answer": second, "item": "peru", "label": false, "label_other": true}),
        }
    };
    env.put("labels.jsonl", (0..20).map(|at| format!("{}\n", line(at))).collect::<String>());
    let found = document(&env, &[]);
    assert_eq!(found["judges"][0]["bias"]["position"]["flips"]["of"], 20);
    assert_eq!(found["judges"][0]["accuracy"]["count"], 20);
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is_asked() {
    let env = judged();
    let asked = env.path("asked.log");
    for (labels, said) in [
        ("{\"answer\":\"a\",\"label\":true}\n", "`labels.jsonl`: line 1 cannot be judged: item"),
        (
            "\n{\"answer\":\"a\",\"label\":true,\"item\":\"mali\"}\n",
            "line 2 names item `mali`, which task `capitals` does not have",
        ),
        ("{\"answer\":\"a\",\"label\":\"good\"}\n", "line 1 has the label `good`"),
        ("{\"answer\":\"a\",\"label\":true,\"x\":1}\n", "line 1 has an unknown member `x`"),
        ("nonsense\n", "line 1 is not JSON"),
        ("", "there is no label with an answer"),
    ] {
        env.put("labels.jsonl", labels);
        env.call(&CALIBRATE).env("PROOFMARK_OFFLINE_ASK_LOG", &asked).run().expect(2).complains(&[said, "hint: "]);
    }
    env.run(&["calibrate", "suite.yaml", "--labels", "none.jsonl"]).expect(2).complains(&["cannot open the labels"]);
    env.run(&[&CALIBRATE[..], &["--task", "x"]].concat()).expect(2).complains(&["no judge scorer of task `x`"]);
    assert_eq!(std::fs::read(&asked).unwrap_or_default(), b"");
}

#[test]
fn without_a_single_verdict_nothing_holds() {
    let env = judged();
    env.put("suite.yaml", SUITE.replace("\"offline:judge\"", "\"offline:judge\", params: {misfits: 5}"));
    env.run(&CALIBRATE).expect(1).says(&["accuracy        0.00", "0 failed, 60 misfit", "no verdict on 60 labels"]);
}
