//! What is printed, and what scripts rely on.

use serde_json::Value;

use super::live_run;
use crate::support::small;

/// Panics when a document does not have the form that its schema publishes.
#[track_caller]
fn assert_schema(env: &proofmark_testkit::command::TestEnv, name: &str, document: &Value) {
    let schema: Value = serde_json::from_str(&env.run(&["schema", name]).expect(0).stdout).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{name}: {errors:?}");
}

#[test]
fn the_text_says_every_check_the_rung_and_what_it_is_worth() {
    let env = live_run();
    let ran = env.run(&["verify", "run"]).expect(0).says(&[
        "rung 1: inputs\n",
        "  ok    data.jsonl: inputs[1] (raw) in the work tree sha256:",
        "rung 2: artefacts\n",
        "  ok    records.jsonl: digest sha256:",
        "  ok    report.replay.json: request ids of telemetry.jsonl: ",
        "  ok    report.md: follows from the sidecar and the summary\n",
        "rung 3: scores\n",
        "  ok    records.jsonl: scores follow from the outputs: 48 records were made again, byte for byte\n",
        "  ok    report.html: follows from the records\n",
        "verdict: holds\n  reached: rung 3 of 5 (scores)\n  proves: the files are as the run left them",
        "  does not prove: that a model gave the recorded answers",
    ]);
    assert_eq!(ran.stderr, "");
    // Any of the three names means the run, from any folder.
    for path in ["run/report.md", "run/report.replay.json", "run/"] {
        env.run(&["verify", path]).expect(0).says(&["reached: rung 3 of 5"]);
    }
    let whole = env.path("run").display().to_string();
    env.call(&["verify", &whole]).within(std::path::Path::new("/")).run().expect(0).says(&["reached: rung 3 of 5"]);
}

#[test]
fn documents_have_the_form_of_their_schemas_whatever_they_say() {
    let env = live_run();
    let good = env.run(&["verify", "run", "--format", "json"]).expect(0).json();
    assert_schema(&env, "verify", &good);
    assert_eq!((&good["answer"], &good["paths"][0]["reached"]), (&"holds".into(), &3.into()));
    assert_schema(&env, "verify-replay", &env.run(&["verify-replay", "run", "--format", "json"]).expect(0).json());
    env.put("run/report.html", "x");
    let bad = env.run(&["verify", "run", "--format", "json"]).expect(1).json();
    assert_schema(&env, "verify", &bad);
    assert_eq!(bad["paths"][0]["stopped"], "rung 2 (artefacts) does not hold");
    let missing = env.run(&["verify", "nothing", "--format", "json"]).expect(2).json();
    assert_schema(&env, "verify", &missing);
    assert_schema(&env, "verify-replay", &env.run(&["verify-replay", "nothing", "--format", "json"]).expect(2).json());
    let server = crate::live::provider(proofmark_serve::mock::Config::default());
    env.run(&["run", "suite.yaml", "--run-dir", "other", "--dry-run"]).expect(0);
    crate::live::call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "live"]).run().expect(0);
    let live = crate::live::call_live(&env, &server, &["verify", "live", "--live", "2", "--format", "json"]).run();
    assert_schema(&env, "verify", &live.expect(0).json());
}

#[test]
fn a_rung_that_is_asked_for_and_cannot_be_reached_is_no_success() {
    let env = small();
    env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(0);
    env.run(&["verify", "run", "--rung", "3"]).expect(0);
    // The report alone, elsewhere in the same tree: its inputs can be checked and nothing else.
    for name in ["report.md", "report.replay.json"] {
        env.put(&format!("kept/{name}"), env.bytes(&format!("run/{name}")));
    }
    env.run(&["verify", "kept/report.md"])
        .expect(0)
        .says(&["reached: rung 1 of 5 (inputs); rung 2 (artefacts) could not"]);
    env.run(&["verify", "kept/report.md", "--rung", "1"]).expect(0);
    env.run(&["verify", "kept/report.md", "--rung", "2"]).expect(2);
    // A run directory must be whole.
    env.run(&["verify", "kept"]).expect(1).says(&["FAIL  records.jsonl: digest"]);
    std::fs::remove_file(env.path("data.jsonl")).unwrap();
    env.run(&["verify", "run"]).expect(1).says(&["FAIL  data.jsonl", "reached: no rung"]);
}

#[test]
fn several_paths_are_summed_up_and_annotated() {
    let env = small();
    for dir in ["runs/a", "runs/b"] {
        env.run(&["run", "suite.yaml", "--run-dir", dir]).expect(0);
    }
    env.put("runs/b/summary.json", "{}");
    let ran = env.run(&["verify", "runs/*/report.replay.json"]).expect(1);
    ran.says(&["2 paths: 1 hold, 1 do not, 0 could not be checked"]);
    let ran = env.run(&["verify", "runs/a", "runs/b", "--format", "github"]).expect(1);
    ran.says(&[
        "::error file=runs/b,title=Rung 2 (artefacts)::FAIL  summary.json",
        "::notice file=runs/a",
        "proofmark verify: 2 paths",
    ]);
}

#[test]
fn a_run_of_given_answers_is_verified_and_cannot_be_executed_again() {
    let env = small();
    env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(0);
    env.run(&["score", "run", "--suite", "suite.yaml", "--run-dir", "scored"]).expect(0);
    env.run(&["verify", "scored"]).expect(0).says(&["kind critique", "reached: rung 3 of 5 (scores), with gaps"]);
    env.run(&["verify", "scored", "--reexecute"]).expect(2).says(&["no model was asked"]);
    // The answers that were scored are an input.
    env.put("run/records.jsonl", env.text("run/records.jsonl").replacen("three", "four!", 1));
    env.run(&["verify", "scored"]).expect(1).says(&["FAIL  run/records.jsonl: inputs[2]"]);
}

#[test]
fn a_run_that_was_interrupted_is_verified_with_all_its_starts() {
    let env = small();
    let mut rows = String::new();
    (0..400).for_each(|n| rows.push_str(&format!("{{\"id\":\"{n}\",\"input\":\"i{n}\",\"target\":\"i{n}\"}}\n")));
    env.put("data.jsonl", rows);
    let run = ["run", "suite.yaml", "--run-dir", "run", "--concurrency", "1"];
    let journal = env.path("run/.proofmark/journal.jsonl");
    let has_begun = || std::fs::metadata(&journal).is_ok_and(|metadata| metadata.len() > 2000);
    let killed = env.call(&run).env("PROOFMARK_OFFLINE_JITTER_MS", "20").start().kill_when(has_begun);
    assert!(killed);
    env.run(&[&run[..], &["--resume"]].concat()).expect(0);
    let sidecar = env.text("run/report.replay.json");
    assert!(sidecar.contains("\"--resume\"") && sidecar.contains("\"invocations\":[{"));
    env.run(&["verify", "run", "--reexecute"]).expect(0).says(&["reached: rung 4 of 5 (re-execution)\n"]);
    // The second start stands nowhere in the block of the report; an edit of it shows all the same.
    env.put("run/report.replay.json", sidecar.replacen("\"--resume\"", "\"--resumf\"", 1));
    env.run(&["verify", "run"]).expect(1).says(&["FAIL  report.md:"]);
}
