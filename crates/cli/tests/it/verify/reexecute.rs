//! Rung 4: a run over HTTP, rough as real ones are, made again without a network.

use std::time::Duration;

use proofmark_serve::mock::{Config, Faults, Latency, Times};
use proofmark_testkit::command::TestEnv;

use crate::live::{call_live, env, provider, questions, suite};
use crate::support::small;

/// A run with retries, 429s and jitter, and its cassette in `tape`. The provider is gone.
fn rough_run(cassette: &str) -> TestEnv {
    let env = env();
    questions(&env, 30);
    suite(
        &env,
        "  - {id: openai, model: \"openai:mock-1\"}\n  - {id: anthropic, model: \"anthropic:mock-1\"}\n  \
         - {id: gemini, model: \"gemini:mock-1\"}\n",
        "conditions: {whole: {params: {stream: false}}, streamed: {params: {stream: true}}}\n\
         limits: {max_retries: 1, total_timeout: 5}\nevidence: {record: true}",
    );
    let faults: Faults = "429=10,500=6,truncated=5,reset=3,malformed=3,refusal=5".parse().unwrap();
    let latency = Latency::Lognormal { median: Duration::from_millis(3), sigma: 0.8 };
    let server = provider(Config { faults, fault_times: Times::AtMost(2), latency, ..Config::default() });
    let run = ["run", "suite.yaml", "--run-dir", "run", "--cassette", cassette, "--allow-errors", "100%"];
    call_live(&env, &server, &run).run().expect(0);
    let records = env.text("run/records.jsonl");
    assert!(records.contains("rate_limited") && records.contains("\"status\":\"error\""));
    assert!(env.text("run/telemetry.jsonl").contains("\"outcome\":\"retried\""));
    drop(server.stop());
    env
}

#[test]
fn a_rough_run_comes_out_byte_for_byte_without_a_network() {
    let env = rough_run("tape");
    let before = (env.tree("run"), env.tree("tape"));
    env.run(&["verify", "run", "--reexecute", "--cassette", "tape"]).expect(0).says(&[
        "ok    records.jsonl: comes out byte for byte",
        "ok    manifest.json: comes out byte for byte",
        "ok    report.html: comes out byte for byte",
        "verdict: holds",
        "reached: rung 4 of 5 (re-execution)\n",
    ]);
    assert!(before.0.changes(&env.tree("run")).is_empty() && before.1.changes(&env.tree("tape")).is_empty());
    // Without the evidence the rung cannot be reached, and that is not a success.
    for arguments in [&["--reexecute"][..], &["--rung", "4"], &["--reexecute", "--cassette", "nowhere"]] {
        let ran = env.run(&[&["verify", "run"][..], arguments].concat()).expect(2);
        let ran = ran.says(&["reached: rung 3 of 5 (scores); rung 4 (re-execution) could not be checked"]);
        assert!(ran.stdout.contains("cassette"), "{ran}");
    }
    env.run(&["verify", "run"]).expect(0).says(&["reached: rung 3 of 5 (scores)"]);
}

#[test]
fn a_cassette_in_the_run_directory_is_known_and_used() {
    let env = rough_run("tape");
    std::fs::rename(env.path("tape"), env.path("run/cassette")).unwrap();
    env.run(&["verify", "run", "--rung", "4"])
        .expect(0)
        .says(&["skip  cassette: beside the run: recorded calls", "reached: rung 4 of 5 (re-execution)"]);
}

#[test]
fn a_damaged_cassette_is_a_failure_and_a_missing_entry_is_missing_evidence() {
    let env = rough_run("tape");
    let names = env.tree("tape").names();
    let entry = names.iter().find(|name| name.ends_with(".json.zst")).unwrap();
    let whole = env.bytes(&format!("tape/{entry}"));
    env.put(&format!("tape/{entry}"), &whole[..whole.len() - 3]);
    let run = ["verify", "run", "--reexecute", "--cassette", "tape"];
    env.run(&run)
        .expect(1)
        .says(&[&format!("FAIL  {entry}: entry of the cassette"), "rung 4 (re-execution) does not hold"]);
    std::fs::remove_file(env.path(&format!("tape/{entry}"))).unwrap();
    env.run(&run).expect(2).says(&["is not on the cassette", "rung 4 (re-execution) could not be checked"]);
}

#[test]
fn another_answer_on_the_cassette_gives_other_bytes_which_are_named() {
    // The same run with other answers gives a cassette whose entries are all in order.
    let env = rough_run("tape");
    let server = provider(Config { answer_as: Some("another".to_owned()), ..Config::default() });
    let run = ["run", "suite.yaml", "--run-dir", "other", "--cassette", "other-tape", "--allow-errors", "100%"];
    call_live(&env, &server, &run).run().expect(0);
    let ran = env.run(&["verify", "run", "--reexecute", "--cassette", "other-tape"]).expect(1);
    ran.says(&["FAIL  records.jsonl:1: comes out byte for byte: it differs from byte"]);
}

#[test]
fn offline_models_need_no_cassette() {
    let env = small();
    env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(0);
    env.run(&["verify", "run", "--reexecute"]).expect(0).says(&["reached: rung 4 of 5 (re-execution)\n"]);
}

const TASKS: &str = "tasks:
  - id: words
    dataset: {format: jsonl, path: data.jsonl, id: id}
    prompt: \"{{ input }}\"
    scorers: [{type: command, name: judge, command: [sh, judge.sh]}]
";

#[test]
fn programs_of_a_stranger_are_not_started_unless_allowed() {
    let env = small();
    let root = env.root().display();
    env.put("judge.sh", format!("echo ran >> {root}/judge.log\nread line\nprintf '{{\"passed\":true}}\\n'\n"));
    env.put("model.sh", format!("echo ran >> {root}/model.log\ncat\n"));
    let models = format!(
        "[{{id: own, model: \"command:own\", command: {{run: [sh, {root}/model.sh], version: [{root}/model.sh]}}}}]"
    );
    env.put("suite.yaml", format!("name: programs\nmodels: {models}\n{TASKS}"));
    env.run(&["run", "suite.yaml", "--run-dir", "run", "--cassette", "tape", "--allow-errors", "100%"]).expect(0);
    for log in ["judge.log", "model.log"] {
        assert!(env.path(log).exists(), "{log}");
        std::fs::remove_file(env.path(log)).unwrap();
    }
    env.run(&["verify", "run"]).expect(0).says(&["reached: rung 3 of 5 (scores), with gaps", "it runs a program"]);
    env.run(&["verify", "run", "--reexecute", "--cassette", "tape"]).expect(2).says(&["--run-commands"]);
    env.run(&["verify", "run", "--live", "1"]).expect(2).says(&["--run-commands"]);
    assert!(!env.path("judge.log").exists() && !env.path("model.log").exists());
    env.run(&["verify", "run", "--reexecute", "--cassette", "tape", "--run-commands"])
        .expect(0)
        .says(&["reached: rung 4 of 5"]);
    // The model answers from the cassette; the scorer was allowed.
    assert!(env.path("judge.log").exists() && !env.path("model.log").exists());
}
