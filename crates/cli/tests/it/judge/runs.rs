//! Runs with judges, from the first question to the verification.

use proofmark_testkit::command::TestEnv;
use proofmark_testkit::tree::copy;
use serde_json::{Value, json};

use super::{ANSWERS, SUITE, asked, events, judged, judgments, key, run, run_with, signing};
use crate::support::{PLANE_1, json, json_lines};

/// Has the usual key believed as judge, in `trust.json`.
fn trust_judge(env: &TestEnv) {
    env.put("judge.pub", format!("{}\n", key(1).public().to_ssh_line("judge")));
    let trust = ["keys", "trust", "judge.pub", "--name", "judge", "--role", "judge", "--trust", "trust.json"];
    env.call(&trust).env("PROOFMARK_HOME", env.path("home")).run().expect(0);
}

#[test]
fn a_warm_cache_asks_nobody_and_gives_the_same_bytes() {
    let env = judged();
    assert_eq!(run(&env, "cold"), 3);
    assert_eq!(run(&env, "warm"), 0);
    for name in PLANE_1.iter().filter(|name| **name != "trajectories.jsonl") {
        assert_eq!(env.bytes(&format!("cold/{name}")), env.bytes(&format!("warm/{name}")), "{name}");
    }
    // Also what was signed: the run rests on the same judgments.
    assert_eq!(env.bytes("cold/judgments.jsonl"), env.bytes("warm/judgments.jsonl"));
    for dir in ["cold", "warm"] {
        assert_eq!(events(&env, dir), [json!(null); 0]);
        env.run(&["validate", dir]).expect(0);
    }
    // Without a cache it is the same run.
    assert_eq!(run_with(&env, "off", &["--judge-cache", "off"]), 3);
    for name in PLANE_1.iter().filter(|name| **name != "trajectories.jsonl") {
        assert_eq!(env.bytes(&format!("cold/{name}")), env.bytes(&format!("off/{name}")), "{name}");
    }
}

#[test]
fn the_record_says_which_stage_decided_and_what_each_judge_said() {
    let env = judged();
    run(&env, "run");
    let records = json_lines(&env, "run/records.jsonl");
    let stages: Vec<&Value> = records.iter().map(|record| &record["scores"][0]["judge"]["stage"]).collect();
    assert_eq!(stages, ["judge", "judge", "judge", "exact"]);
    let passed: Vec<&Value> = records.iter().map(|record| &record["scores"][0]["passed"]).collect();
    assert_eq!(passed, [true, false, false, true]);
    let opinion = &records[0]["scores"][0]["judge"]["opinions"][0];
    assert_eq!((&opinion["judge"], &opinion["verdict"]), (&json!("umpire"), &json!("pass")));
    let entries = judgments(&env, "run");
    assert_eq!(entries.len(), 3);
    assert_eq!(opinion["key"], entries[0].judgment.question.key().unwrap().to_string());
    assert_eq!(entries[0].judgment.question.task_id, "help/a");
    assert_eq!(entries[0].signature.as_ref().unwrap().signer, key(1).public().fingerprint().to_string());
    let summary = json(&env, "run/summary.json");
    assert_eq!(summary["judging"]["stages"], json!({"empty": 0, "exact": 1, "judge": 3, "normalised": 0}));
    assert_eq!(summary["judging"]["judges"][0]["opinions"], 3);
}

#[test]
fn another_gold_answer_rubric_judge_or_parameter_never_hits() {
    let env = judged();
    run(&env, "run");
    let changes = [
        ("another rubric", SUITE.replace("Is the answer right?", "Is the answer right at all?")),
        ("another judge", SUITE.replace("\"offline:judge\"", "\"offline:judge\", params: {length_bias: 0.1}")),
        ("another seed", SUITE.replace("seed: 3", "seed: 4")),
        ("reference-free", SUITE.replace("type: judge,", "type: judge, reference: false, first: true,")),
    ];
    for (what, suite) in changes {
        env.put("suite.yaml", suite);
        let _ = std::fs::remove_dir_all(env.path("other"));
        assert_eq!(run(&env, "other"), 3, "{what}");
    }
    env.put("suite.yaml", SUITE);
    env.put("data.jsonl", super::DATA.replace("nine miles", "ten miles"));
    let _ = std::fs::remove_dir_all(env.path("other"));
    assert_eq!(run(&env, "other"), 1, "another gold answer");
    env.put("data.jsonl", super::DATA);
    env.put("answers.yaml", ANSWERS.replace("No idea.", "No idea at all."));
    let _ = std::fs::remove_dir_all(env.path("other"));
    assert_eq!(run(&env, "other"), 1, "another answer");
}

#[test]
fn two_processes_share_a_cache() {
    let env = judged();
    let data: String =
        (0..60).map(|at| format!("{{\"id\":\"{at}\",\"question\":\"{at}?\",\"answer\":\"say {at}\"}}\n")).collect();
    let answers: String = (0..60).map(|at| format!("  \"{at}\": I would say {at}.\n")).collect();
    env.put("data.jsonl", data);
    env.put("answers.yaml", format!("answers:\n{answers}"));
    // The folder is there before, so that both find the same store.
    let start = |dir: &str| signing(&env, &["run", "suite.yaml", "--run-dir", dir], 1).start();
    let (one, two) = (start("one"), start("two"));
    one.wait().expect(0);
    two.wait().expect(0);
    for name in ["records.jsonl", "summary.json", "manifest.json"] {
        assert_eq!(env.bytes(&format!("one/{name}")), env.bytes(&format!("two/{name}")), "{name}");
    }
    trust_judge(&env);
    let stats = ["cache", "--cache", "cache", "--trust", "trust.json", "stats", "--format", "json"];
    let stats = env.run(&stats).expect(0).json();
    assert_eq!(stats["entries"], 60, "{stats:#}");
    assert_eq!((&stats["conflicts"], &stats["flawed"]), (&json!(0), &json!(0)), "{stats:#}");
    let _ = std::fs::remove_file(env.path("asked.log"));
    assert_eq!(run(&env, "three"), 0);
}

#[test]
fn a_reply_in_another_form_is_asked_for_once_more_and_then_an_error() {
    let env = judged();
    env.put("suite.yaml", SUITE.replace("\"offline:judge\"", "\"offline:judge\", params: {misfits: 1}"));
    assert_eq!(run(&env, "once"), 6, "each question was put twice");
    assert_eq!(json(&env, "once/summary.json")["totals"]["counts"]["passed"], 2);
    env.put("suite.yaml", SUITE.replace("\"offline:judge\"", "\"offline:judge\", params: {misfits: 2}"));
    signing(&env, &["run", "suite.yaml", "--run-dir", "twice"], 1)
        .run()
        .expect(1)
        .complains(&["3 of 4 samples errored"]);
    let counts = &json(&env, "twice/summary.json")["totals"]["counts"];
    assert_eq!((&counts["passed"], &counts["errored"]), (&json!(1), &json!(3)));
    let record = &json_lines(&env, "twice/records.jsonl")[0];
    assert_eq!(record["error"]["class"], "scorer");
    assert_eq!(judgments(&env, "twice").len(), 0, "nothing that was not said is kept");
    // What could not be judged then cannot be judged now: that is a gap, and no contradiction.
    signing(&env, &["verify", "twice"], 1).run().expect(0).says(&["reached: rung 3"]);
}

#[test]
fn without_a_key_judgments_are_unsigned_and_every_verification_says_so() {
    let env = judged();
    env.run(&["run", "suite.yaml", "--run-dir", "run"])
        .expect(0)
        .complains(&["judgments are neither signed nor cached", "proofmark keys new"]);
    assert!(!env.path("cache").exists());
    assert!(judgments(&env, "run").iter().all(|entry| entry.signature.is_none()));
    env.run(&["verify", "run"]).expect(0).says(&["3 judgments are not signed", "with gaps"]);
}

#[test]
fn rung_three_believes_signed_judgments_alone() {
    let env = judged();
    run(&env, "run");
    trust_judge(&env);
    let verify = ["verify", "run", "--trust", "trust.json"];
    env.run(&verify).expect(0).says(&["3 judgments signed by SHA256:", "reached: rung 3 of 5 (scores)\n"]);
    env.run(&["verify", "run"]).expect(0).says(&["is not in the trust file", "with gaps"]);
    // A verdict that is changed everywhere, and pinned anew, is still not what the judge signed.
    let forge = |name: &str, from: &str, to: &str| {
        let text = env.text(&format!("run/{name}"));
        assert!(text.contains(from), "{name}: {from}");
        env.put(&format!("run/{name}"), text.replacen(from, to, 1));
    };
    copy(&env.path("run"), &env.path("honest"));
    let before = env.bytes("run/judgments.jsonl");
    forge("judgments.jsonl", "\"verdict\":\"fail\"", "\"verdict\":\"pass\"");
    let digest = |bytes: &[u8]| proofmark_canon::Digest::of(bytes).to_string();
    let (old, new) = (digest(&before), digest(&env.bytes("run/judgments.jsonl")));
    forge("report.replay.json", &old, &new);
    env.run(&verify).expect(1).says(&["FAIL"]);
    env.run(&["verify", "honest", "--trust", "trust.json", "--reexecute"]).expect(0).says(&["reached: rung 4"]);
}

#[test]
fn a_run_that_was_stopped_asks_no_judge_twice() {
    let env = judged();
    let stop =
        ["run", "suite.yaml", "--run-dir", "run", "--judge-cache", "off", "--max-tokens", "900", "--concurrency", "1"];
    signing(&env, &stop, 1).run().expect(2);
    let before = asked(&env);
    assert!(before > 1 && before < 7, "{before}");
    let resume = ["run", "suite.yaml", "--run-dir", "run", "--judge-cache", "off", "--resume"];
    signing(&env, &resume, 1).run().expect(0);
    assert_eq!(asked(&env), 7, "four answers and three judgments, each asked for once");
    run(&env, "whole");
    assert_eq!(env.bytes("run/records.jsonl"), env.bytes("whole/records.jsonl"));
    assert_eq!(judgments(&env, "run").len(), 3);
}

#[test]
fn score_judges_answers_that_are_there_and_shows_what_changed() {
    let env = judged();
    env.put("exact.yaml", SUITE.replace("{type: judge, rubric: \"Is the answer right?\"}", "{type: exact}"));
    env.run(&["run", "exact.yaml", "--run-dir", "plain"]).expect(0);
    let _ = std::fs::remove_file(env.path("asked.log"));
    let score = ["score", "plain", "--suite", "suite.yaml", "--run-dir", "scored"];
    signing(&env, &score, 1).run().expect(0).says(&["help/a/bot/default/0: exact 0 failed → judge 1 passed"]);
    assert_eq!(asked(&env), 3, "the judge alone is asked");
    let block = json(&env, "scored/report.replay.json");
    assert_eq!(block["kind"], "critique");
    assert_eq!(judgments(&env, "scored").len(), 3);
    let _ = std::fs::remove_file(env.path("asked.log"));
    signing(&env, &["score", "plain", "--suite", "suite.yaml", "--run-dir", "warm"], 1).run().expect(0);
    assert_eq!(asked(&env), 0);
    assert_eq!(env.bytes("scored/records.jsonl"), env.bytes("warm/records.jsonl"));
}

#[test]
fn judges_in_a_suite_must_make_sense() {
    let env = judged();
    for (from, to, says) in [
        ("judges:\n  - {id: umpire, model: \"offline:judge\"}\n", "", "the suite has no judge to ask"),
        ("id: umpire", "id: bot", "`bot` is the id of a model already"),
        ("type: judge,", "type: judge, judges: [nobody],", "the suite has no judge `nobody`"),
        ("type: judge,", "type: judge, score: {min: 0, max: 10},", "needs `pass`"),
        ("type: judge,", "type: judge, mode: pairwise, verdicts: {a: 1, b: 0},", "does not go with `mode: pairwise`"),
        ("type: judge,", "type: judge, verdicts: {only: 1},", "2 to 20 verdicts"),
        ("type: judge,", "type: judge, votes: 0,", "expected 1 to 25"),
        ("type: judge,", "type: judge, against: old,", "compared with nothing"),
        ("\"Is the answer right?\"", "\"\"", "the rubric is empty"),
        ("\"Is the answer right?\"", "{file: none.md}", "none.md"),
    ] {
        assert!(SUITE.contains(from), "{from}");
        env.put("suite.yaml", SUITE.replacen(from, to, 1));
        env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(2).complains(&[says]);
    }
}

#[test]
fn attacks_turn_a_gullible_judge_and_are_counted() {
    let env = judged();
    let probe = |dir: &str| {
        let run = ["run", "suite.yaml", "--run-dir", dir, "--probe-judge=2"];
        signing(&env, &run, 1).run().expect(0).says(&["Injection probe"]);
        env.run(&["validate", dir]).expect(0);
        json(&env, &format!("{dir}/judge-probe.json"))[0]["probe"].clone()
    };
    let honest = probe("honest");
    assert_eq!((&honest["answers"]["probed"], &honest["overall"]["flips"]["count"]), (&json!(2), &json!(0)));
    env.put("suite.yaml", SUITE.replace("\"offline:judge\"", "\"offline:judge\", params: {injectable: true}"));
    let gullible = probe("gullible");
    assert!(gullible["overall"]["flips"]["count"].as_u64().unwrap() > 10, "{gullible:#}");
    assert_eq!(gullible["baseline"]["count"], 0, "without an attack it fails them again");
}

#[test]
fn the_report_shows_the_calibration_that_a_run_rests_on_or_that_there_is_none() {
    let env = judged();
    let labels: String = (0..12)
        .map(|at| {
            let (answer, label) = if at % 2 == 0 { ("It is thirty days.", true) } else { ("No idea.", false) };
            json!({"question": format!("{at}: how long?"), "expected": "thirty days", "answer": answer, "label": label})
                .to_string()
                + "\n"
        })
        .collect();
    env.put("labels.jsonl", labels);
    run(&env, "none");
    let none = env.text("none/report.html");
    assert!(none.contains("not calibrated"), "{none}");
    signing(&env, &["calibrate", "suite.yaml", "--labels", "labels.jsonl", "-o", "calibration.json"], 1)
        .run()
        .expect(0);
    let with = SUITE.replace("type: judge,", "type: judge, calibration: calibration.json,");
    env.put("suite.yaml", with.clone());
    run(&env, "calibrated");
    let note = &json(&env, "calibrated/manifest.json")["tasks"][0]["judged"][0]["calibration"];
    assert_eq!(note["fits"], true, "{note:#}");
    assert!(note["text"].as_str().unwrap().contains("accuracy 1.00"), "{note:#}");
    assert!(env.text("calibrated/report.html").contains("accuracy 1.00"));
    // Of another rubric it says nothing.
    env.put("suite.yaml", with.replace("Is the answer right?", "Is it short?"));
    run(&env, "other");
    let note = &json(&env, "other/manifest.json")["tasks"][0]["judged"][0]["calibration"];
    assert_eq!(note["fits"], false, "{note:#}");
    assert!(env.text("other/report.html").contains("says nothing of this judge"));
}
