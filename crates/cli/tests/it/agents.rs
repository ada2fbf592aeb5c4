//! Agents end to end: offline, scripted, with tools that really run.

use proofmark_testkit::command::TestEnv;
use serde_json::{Value, json};

use crate::support::{assert_same_run, empty, json, json_lines};

/// Every kind of step, and every edge of what is kept of one.
const STEPS: &str = r#"name: steps
seed: 5
models: [{id: script, model: "offline:scripted", params: {file: script.yaml}}]
evidence: {record: true}
tasks:
  - id: steps
    dataset: {format: jsonl, path: data.jsonl, id: id, files: [file]}
    system: "You are a careful agent."
    solver:
      type: agent
      tools: [{type: python}, {type: bash}, {type: file_read}, {type: calculator}, {type: submit}]
      max_turns: 6
      max_tool_calls: 5
    scorers: [{type: exact}]
"#;

const STEPS_DATA: &str = r#"{"id":"plain","input":"What is in the file?","target":"4","file":"files/a.csv"}
{"id":"edges","input":"Say much.","target":"done","file":null}
{"id":"bytes","input":"Say bytes.","target":"done","file":null}
{"id":"faults","input":"Do wrong things.","target":"done","file":null}
{"id":"turns","input":"Never end.","target":"x","file":null}
{"id":"calls","input":"Call and call.","target":"x","file":null}
"#;

/// Results of exactly 4 KiB and one byte more, a character across the cut, long arguments, a long prompt of the model.
fn steps_script() -> String {
    let args_fit = "x".repeat(8192 - r#"{"expression":""}"#.len());
    let args_over = format!("{args_fit}y");
    let long_output = format!("{}é tail", "o".repeat(2047));
    format!(
        r#"agents:
  plain:
    - {{text: Let me look., calls: [{{name: file_read, args: {{path: a.csv}}}}]}}
    - {{calls: [{{name: python, args: {{code: "print(sum(int(l.split(',')[1]) for l in open('a.csv')))"}}}}, {{name: calculator, args: {{expression: "1+2*3"}}}}]}}
    - {{calls: [{{name: submit, args: {{answer: "4"}}}}]}}
  edges:
    - {{text: "{long_output}", calls: [{{name: python, args: {{code: "print('a'*4095)"}}}}, {{name: python, args: {{code: "print('a'*4096)"}}}}]}}
    - {{calls: [{{name: python, args: {{code: "print('a'*4095+'é'*9)"}}}}, {{name: calculator, args: {{expression: "{args_fit}"}}}}]}}
    - {{calls: [{{name: submit, args: {{answer: done}}}}]}}
  bytes:
    - {{calls: [{{name: bash, args: {{command: "printf '\\377\\376\\033[31m'"}}}}, {{name: bash, args: {{command: "true"}}}}, {{name: calculator, args: {{expression: "{args_over}"}}}}]}}
    - {{calls: [{{name: submit, args: {{answer: done}}}}]}}
  faults:
    - {{calls: [{{name: nothing, args: {{}}}}, {{name: bash, args: {{command: "echo oh; exit 3"}}}}]}}
    - {{calls: [{{name: file_read, args: {{path: ../script.yaml}}}}]}}
    - {{text: "talk"}}
    - {{calls: [{{name: submit, args: {{answer: done}}}}]}}
  turns:
    - {{calls: []}}
  calls:
    - {{calls: [{{name: calculator, args: {{expression: "1"}}}}, {{name: calculator, args: {{expression: "2"}}}}, {{name: calculator, args: {{expression: "3"}}}}]}}
"#
    )
}

fn steps() -> TestEnv {
    let env = empty();
    env.put("suite.yaml", STEPS);
    env.put("data.jsonl", STEPS_DATA);
    env.put("files/a.csv", "a,1\nb,3\n");
    env.put("script.yaml", steps_script());
    env
}

#[test]
fn every_kind_of_step_is_recorded_as_the_golden_file_says() {
    let env = steps();
    env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(0);
    let found = env.text("run/trajectories.jsonl");
    let golden = include_str!("golden/agent-trajectories.jsonl");
    for (at, (found, golden)) in found.lines().zip(golden.lines()).enumerate() {
        assert_eq!(found, golden, "line {}", at + 1);
    }
    assert_eq!(found.lines().count(), golden.lines().count());
    env.run(&["validate", "run"]).expect(0);
    env.run(&["verify", "run"]).expect(0).says(&["reached: rung 3 of 5"]);
}

/// `cargo test -p proofmark --test it -- --ignored golden_trajectories`, after a change that is meant; read the diff.
#[test]
#[ignore = "writes the golden file"]
fn golden_trajectories_are_written_anew() {
    let env = steps();
    env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(0);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/golden/agent-trajectories.jsonl");
    proofmark_testkit::tree::put(std::path::Path::new(path), env.bytes("run/trajectories.jsonl"));
}

#[test]
fn the_edges_of_heads_are_where_they_should_be() {
    let env = steps();
    env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(0);
    let lines = json_lines(&env, "run/trajectories.jsonl");
    let of = |item: &str| {
        let key = format!("steps/{item}/script/default/0");
        lines.iter().find(|line| line["key"] == key.as_str()).unwrap().clone()
    };
    let results = |line: &Value| -> Vec<Value> {
        line["steps"].as_array().unwrap().iter().filter(|step| step["type"] == "tool_result").cloned().collect()
    };
    let edges = results(&of("edges"));
    // 4,095 letters and a line end are exactly 4 KiB: the head is the whole.
    assert_eq!((edges[0]["bytes"].as_u64(), edges[0]["head"].as_str().unwrap().len()), (Some(4096), 4096));
    assert!(edges[0].get("chunks").is_none(), "{}", edges[0]);
    assert_eq!((edges[1]["bytes"].as_u64(), edges[1]["head"].as_str().unwrap().len()), (Some(4097), 4096));
    assert!(edges[1].get("chunks").is_some());
    // The character across the cut is left out whole.
    assert_eq!(edges[2]["head"].as_str().unwrap().len(), 4095);
    let output = &of("edges")["steps"][2];
    assert_eq!((output["type"].as_str(), output["head"].as_str().unwrap().len()), (Some("model_output"), 2047));
    let calls = |line: &Value| -> Vec<Value> {
        line["steps"].as_array().unwrap().iter().filter(|step| step["type"] == "tool_call").cloned().collect()
    };
    assert_eq!(calls(&of("edges"))[3]["args_truncated"], false);
    let bytes = of("bytes");
    let cut = &calls(&bytes)[2];
    assert_eq!(cut["args_truncated"], true);
    assert_eq!((cut["args_bytes"].as_u64(), cut["args"].as_str().unwrap().len()), (Some(8193), 8192));
    let [raw, empty] = [&results(&bytes)[0], &results(&bytes)[1]];
    assert_eq!((raw["binary"].as_bool(), raw["bytes"].as_u64()), (Some(true), Some(7)));
    assert_eq!(empty["is_error"], false);
    let stops: Vec<&str> = lines.iter().map(|line| line["stop"].as_str().unwrap()).collect();
    assert_eq!(stops, ["submitted", "submitted", "submitted", "submitted", "max_turns", "max_tool_calls"]);
    assert!(of("turns")["no_answer"].as_str().unwrap().contains("max_turns"));
}

#[test]
fn agents_give_the_same_bytes_at_any_concurrency_and_anywhere() {
    let env = many(40);
    let one = ["run", "suite.yaml", "--run-dir", "one", "--concurrency", "1"];
    env.run(&one).expect(0);
    env.call(&["run", "suite.yaml", "--run-dir", "many", "--concurrency", "16"])
        .env("PROOFMARK_OFFLINE_JITTER_MS", "5")
        .run()
        .expect(0);
    assert_same_run(&env.path("one"), &env.path("many"), "concurrency");
    for name in ["suite.yaml", "data.jsonl", "script.yaml"] {
        env.put(&format!("other/place/{name}"), env.bytes(name));
    }
    env.call(&["run", "suite.yaml", "--run-dir", "run"])
        .within(&env.path("other/place"))
        .env("TZ", "Asia/Tokyo")
        .env("LANG", "de_DE.UTF-8")
        .run()
        .expect(0);
    assert_same_run(&env.path("one"), &env.path("other/place/run"), "place");
    for (at, (name, value)) in
        [("LC_ALL", "tr_TR.UTF-8"), ("HOME", "/nonexistent"), ("TMPDIR", "/var/tmp"), ("COLUMNS", "20")]
            .into_iter()
            .enumerate()
    {
        let dir = format!("with-{at}");
        env.call(&["run", "suite.yaml", "--run-dir", &dir, "--concurrency", "16"]).env(name, value).run().expect(0);
        assert_same_run(&env.path("one"), &env.path(&dir), name);
    }
    let masked = format!("umask 077; exec {} run suite.yaml --run-dir masked", env!("CARGO_BIN_EXE_proofmark"));
    let ran = std::process::Command::new("bash").args(["-c", &masked]).current_dir(env.root()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_same_run(&env.path("one"), &env.path("masked"), "umask");
}

/// Items that need a tool, with two attempts each.
fn many(items: usize) -> TestEnv {
    let env = empty();
    env.put(
        "suite.yaml",
        r#"name: many
sampling: {voting_attempts: 2}
models: [{id: script, model: "offline:scripted", params: {file: script.yaml}}]
evidence: {record: true}
tasks:
  - id: sums
    dataset: {format: jsonl, path: data.jsonl, id: id}
    solver: {type: agent, tools: [{type: bash}, {type: calculator}], final_answer: {pattern: "ANSWER: (.*)"}}
    scorers: [{type: exact}]
"#,
    );
    let rows = (0..items)
        .map(|at| json!({"id": format!("i{at}"), "input": format!("{at} twice?"), "target": (2 * at).to_string()}));
    env.put("data.jsonl", rows.map(|row| format!("{row}\n")).collect::<String>());
    let mut script = String::from("agents:\n");
    for at in 0..items {
        script.push_str(&format!(
            "  i{at}:\n    - {{calls: [{{name: bash, args: {{command: \"echo {at} > n; cat n; pwd; ls\"}}}}, \
             {{name: calculator, args: {{expression: \"{at}*2\"}}}}]}}\n    - {{text: \"ANSWER: {{result}}\"}}\n"
        ));
    }
    env.put("script.yaml", script);
    env
}

#[test]
fn a_killed_run_of_agents_is_resumed_to_the_same_bytes_and_no_record_is_without_its_trajectory() {
    let env = many(60);
    env.run(&["run", "suite.yaml", "--run-dir", "whole"]).expect(0);
    let mut kills = 0;
    for (at, answers) in [1, 4, 7, 20, 33, 45].into_iter().enumerate() {
        let dir = format!("killed-{at}");
        let journal = env.path(&format!("{dir}/.proofmark/journal.jsonl"));
        let lines = || std::fs::read(&journal).map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count());
        let call = env.call(&["run", "suite.yaml", "--run-dir", &dir, "--concurrency", "16"]);
        let killed = call.env("PROOFMARK_OFFLINE_JITTER_MS", "3").start().kill_when(|| lines() >= answers);
        // Of the last ones, a fast machine may have come to its end before.
        assert!(killed || answers > 7, "nobody was killed after {answers} answers");
        kills += usize::from(killed);
        if killed {
            let journal = std::fs::read_to_string(&journal).unwrap();
            let (whole, _) = journal.rsplit_once('\n').unwrap();
            for line in whole.lines() {
                let entry: Value = serde_json::from_str(line).unwrap();
                let attempts = entry["entry"]["earned"]["attempts"].as_array().unwrap();
                assert_eq!(attempts.len(), 2);
                assert!(attempts.iter().all(|attempt| attempt["steps"].as_array().unwrap().len() >= 7), "{line}");
            }
        }
        env.run(&["run", "suite.yaml", "--run-dir", &dir, "--resume"]).expect(0);
        assert_same_run(&env.path("whole"), &env.path(&dir), &dir);
    }
    assert!(kills >= 3, "only {kills} were killed");
}

#[test]
fn votes_are_counted_recorded_and_disclosed() {
    let env = empty();
    env.put(
        "suite.yaml",
        r#"name: votes
sampling: {voting_attempts: 3}
models: [{id: script, model: "offline:scripted", params: {file: script.yaml}}]
evidence: {record: true}
tasks:
  - id: towns
    dataset: {format: inline, id: id, split: validation, rows: [{id: mali, input: "Capital of Mali?", target: Bamako}]}
    solver: {type: agent, tools: []}
    scorers: [{type: exact}]
"#,
    );
    env.put(
        "script.yaml",
        "agents: {mali: {attempts: [[{text: Segou}], [{text: Bamako}], [{text: \" bamako. \"}]]}}\n",
    );
    env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(0);
    let record = &json_lines(&env, "run/records.jsonl")[0];
    assert_eq!(
        record["voting"],
        json!({"answers": ["Segou", "Bamako", "bamako."], "chosen": 1, "rule": "majority", "votes": 2})
    );
    assert_eq!((record["output"]["text"].as_str(), record["turns"].as_u64()), (Some("Bamako"), Some(3)));
    let attempts: Vec<u64> =
        json_lines(&env, "run/trajectories.jsonl").iter().map(|line| line["attempt"].as_u64().unwrap()).collect();
    assert_eq!(attempts, [0, 1, 2]);
    assert_eq!(json(&env, "run/manifest.json")["sampling"]["voting_attempts"], 3);
    let disclosed = json!({"splits": {"towns": "validation"}, "voting_attempts": 3});
    assert_eq!(json(&env, "run/summary.json")["sampling"], disclosed);
    env.run(&["validate", "run"]).expect(0);
    env.run(&["verify", "run", "--reexecute"]).expect(0).says(&["reached: rung 4 of 5"]);
    // A vote that the trajectories do not give is found, whatever digests say.
    let forged = env.text("run/records.jsonl").replace("\"chosen\":1", "\"chosen\":0");
    env.put("run/records.jsonl", forged);
    env.run(&["verify", "run"]).expect(1).says(&["FAIL", "records.jsonl"]);
}

#[test]
fn evidence_that_cannot_be_written_lets_the_run_finish_and_is_never_forgotten() {
    let env = empty();
    env.put(
        "suite.yaml",
        r#"name: full
models: [{id: script, model: "offline:scripted", params: {file: script.yaml}}]
tasks:
  - id: words
    dataset: {format: jsonl, path: data.jsonl, id: id}
    scorers: [{type: exact}]
"#,
    );
    let rows = (0..200).map(|at| format!("{{\"id\":\"i{at}\",\"input\":\"q{at}\",\"target\":\"x\"}}\n"));
    env.put("data.jsonl", rows.collect::<String>());
    // The text stands twice in a trajectory and once in every other file, so that only that one outgrows the limit.
    env.put("script.yaml", format!("default: \"{}\"\n", "w".repeat(2000)));
    let limited = format!(
        "trap '' XFSZ; ulimit -f 700; exec {} run suite.yaml --run-dir run --submit-intent --skip-report",
        env!("CARGO_BIN_EXE_proofmark")
    );
    let ran = std::process::Command::new("bash").args(["-c", &limited]).current_dir(env.root()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("the run is not submittable: evidence could not be recorded"), "{said}");
    assert!(!env.path("run/trajectories.jsonl").exists());
    assert_eq!(json_lines(&env, "run/records.jsonl").len(), 200);
    let sidecar = json(&env, "run/report.replay.json");
    assert_eq!(sidecar["submittable"], false);
    assert!(sidecar["not_submittable"][0].as_str().unwrap().contains("could not be recorded"), "{sidecar}");
    assert_eq!(json(&env, "run/manifest.json")["evidence"]["recorded"], false);
    // Going on with it, now that there is room, changes nothing.
    env.run(&["run", "suite.yaml", "--run-dir", "run", "--submit-intent", "--resume", "--skip-report"]).expect(1);
    assert_eq!(json(&env, "run/report.replay.json")["submittable"], false);
}

/// What a tool might look for, written where it might look.
const GOLD: &str = "gold-canary-7f3a";

#[test]
fn no_tool_can_reach_the_gold_the_dataset_the_run_or_the_environment() {
    let env = empty();
    env.put(
        "suite.yaml",
        r#"name: isolated
models: [{id: script, model: "offline:scripted", params: {file: script.yaml}}]
evidence: {record: true, full_bodies: true}
tasks:
  - id: t
    dataset: {format: jsonl, path: data.jsonl, id: id}
    solver: {type: agent, tools: [{type: bash}, {type: python}, {type: file_read}], max_turns: 9}
    scorers: [{type: exact}]
"#,
    );
    env.put("data.jsonl", format!("{{\"id\":\"a\",\"input\":\"q\",\"target\":\"{GOLD}\"}}\n"));
    env.put("cache/judgments/entry", GOLD);
    let root = env.root().display();
    let look = [
        format!("grep -rs {GOLD} / 2>/dev/null | head; true"),
        format!("cat {root}/data.jsonl {root}/run/.proofmark/journal.jsonl {root}/cache/judgments/entry"),
        "env; cat /proc/1/environ /proc/*/environ /proc/*/cmdline | tr '\\\\0' '\\\\n'".to_owned(),
        format!("ls -laR {root}"),
        format!(
            "ls /tmp /root /home /var/tmp; find / -newer /etc/hostname -name '*.jsonl' 2>/dev/null; echo {root} | wc -c"
        ),
    ];
    let calls = look.iter().map(|command| format!("{{name: bash, args: {{command: {:?}}}}}", command));
    let python = format!("import os; print(os.environ); print(open('{root}/data.jsonl').read())");
    env.put(
        "script.yaml",
        format!(
            "agents:\n  a:\n    - {{calls: [{}, {{name: python, args: {{code: {python:?}}}}}, {{name: file_read, args: \
             {{path: \"../data.jsonl\"}}}}]}}\n    - {{text: none}}\n",
            calls.collect::<Vec<_>>().join(", ")
        ),
    );
    env.call(&["run", "suite.yaml", "--run-dir", "run"])
        .env("GOLD_CANARY", GOLD)
        .env("OPENAI_API_KEY", GOLD)
        .run()
        .expect(0);
    let line = &json_lines(&env, "run/trajectories.jsonl")[0];
    let results: Vec<&Value> =
        line["steps"].as_array().unwrap().iter().filter(|step| step["type"] == "tool_result").collect();
    assert_eq!(results.len(), 7);
    for result in results {
        assert!(result.get("scan").is_none(), "{result}");
        assert!(!result["head"].as_str().unwrap().contains(GOLD), "{result}");
    }
    // Without the sandbox the same look finds it: it is the sandbox that hides it, and not a look that sees nothing.
    let open = env.text("suite.yaml").replace("{type: bash}", "{type: bash, sandbox: none}");
    env.put("suite.yaml", open);
    let look =
        format!("agents: {{a: [{{calls: [{{name: bash, args: {{command: {:?}}}}}]}}, {{text: none}}]}}\n", look[1]);
    env.put("script.yaml", look);
    env.run(&["run", "suite.yaml", "--run-dir", "open", "--allow-unsandboxed"]).expect(0);
    assert!(env.text("open/trajectories.jsonl").contains(GOLD));
}

#[test]
fn a_run_with_tools_is_made_again_from_what_they_returned_and_starts_nothing() {
    let env = steps();
    env.run(&["run", "suite.yaml", "--run-dir", "heads"]).expect(0);
    let why = "was not kept whole";
    env.run(&["verify", "heads", "--reexecute"]).expect(2).says(&[why, "--evidence-full-bodies"]);
    env.run(&["run", "suite.yaml", "--run-dir", "run", "--record-evidence", "--evidence-full-bodies"]).expect(0);
    // Without a path to programs nothing could be started.
    let again = env.call(&["verify", "run", "--reexecute"]).env("PATH", "/nowhere").run().expect(0);
    let _ = again.says(&["reached: rung 4 of 5"]);
    let bodies: Vec<_> =
        std::fs::read_dir(env.path("run/bodies")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(bodies.len() > 10);
    // A body that was changed is not the one that the trajectory names.
    let long = "a".repeat(4096) + "\n";
    let digest = proofmark_canon::Digest::of(long.as_bytes());
    env.put(&format!("run/bodies/{}.zst", digest.hex()), b"x");
    let ran = env.run(&["verify", "run", "--reexecute"]);
    assert_ne!(ran.code, 0, "{ran}");
}

#[test]
fn limits_end_a_sample_and_not_the_run() {
    for (limit, finish) in [
        ("max_turns: 2", "max_turns"),
        ("max_tool_calls: 1", "max_tool_calls"),
        ("max_tokens: 30", "max_tokens"),
        ("timeout: 0.7", "timeout"),
    ] {
        let env = empty();
        env.put(
            "suite.yaml",
            format!(
                r#"name: limits
models: [{{id: script, model: "offline:scripted", params: {{file: script.yaml}}}}]
evidence: {{record: true}}
tasks:
  - id: t
    dataset: {{format: inline, id: id, rows: [{{id: a, input: "q", target: x}}]}}
    solver: {{type: agent, tools: [{{type: bash}}], {limit}}}
    scorers: [{{type: exact}}]
"#
            ),
        );
        let command = if finish == "timeout" { "echo a; sleep 20" } else { "echo a" };
        env.put(
            "script.yaml",
            format!("agents: {{a: [{{calls: [{{name: bash, args: {{command: {command:?}}}}}]}}]}}\n"),
        );
        env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(0);
        let record = &json_lines(&env, "run/records.jsonl")[0];
        assert_eq!(record["finish_reason"], finish, "{record}");
        assert_eq!(
            (record["status"].as_str(), record["scores"][0]["passed"].as_bool()),
            (Some("success"), Some(false))
        );
        env.run(&["validate", "run"]).expect(0);
        env.run(&["verify", "run", "--reexecute"]).expect(0).says(&["reached: rung 4 of 5"]);
    }
}

#[test]
fn a_model_without_tool_calling_writes_its_calls_as_text() {
    let env = empty();
    env.put(
        "suite.yaml",
        r#"name: text
models: [{id: script, model: "offline:scripted", params: {file: script.yaml}}]
evidence: {record: true}
tasks:
  - id: t
    dataset: {format: inline, id: id, rows: [{id: a, input: "6 times 7?", target: "42"}]}
    solver: {type: agent, protocol: text, tools: [{type: calculator}], final_answer: {pattern: "It is ([0-9]+)"}}
    scorers: [{type: exact}]
"#,
    );
    env.put(
        "script.yaml",
        "agents:\n  a:\n    - {text: \"```tool\\nnot json\\n```\"}\n    - {text: \"```tool\\n{\\\"name\\\": \\\"calculator\\\", \
         \\\"args\\\": {\\\"expression\\\": \\\"6*7\\\"}}\\n```\"}\n    - {text: \"It is {result}, no: It is 42\"}\n",
    );
    env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(0).says(&["100.0%"]);
    let steps = json_lines(&env, "run/trajectories.jsonl")[0]["steps"].clone();
    let kinds: Vec<&str> = steps.as_array().unwrap().iter().map(|step| step["type"].as_str().unwrap()).collect();
    let round = ["model_output", "tool_call", "tool_result"];
    assert_eq!(kinds, [&["prompt", "prompt"][..], &round, &round, &["model_output"]].concat());
    assert_eq!(steps[4]["error"], "bad_arguments");
    assert!(steps[0]["head"].as_str().unwrap().contains("calculator"), "the catalogue is part of the evidence");
}

#[test]
fn a_sandbox_is_not_left_out_without_a_word_on_the_command_line() {
    let env = empty();
    env.put(
        "suite.yaml",
        r#"name: bare
models: [{id: script, model: "offline:scripted", params: {file: script.yaml}}]
tasks:
  - id: t
    dataset: {format: inline, id: id, rows: [{id: a, input: "q", target: x}]}
    solver: {type: agent, tools: [{type: bash, sandbox: none}]}
    scorers: [{type: exact}]
"#,
    );
    env.put(
        "script.yaml",
        "agents: {a: [{calls: [{name: bash, args: {command: \"echo x\"}}]}, {text: \"{result}\"}]}\n",
    );
    env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(2).complains(&["--allow-unsandboxed"]);
    assert!(!env.path("run").exists());
    env.run(&["run", "suite.yaml", "--run-dir", "run", "--allow-unsandboxed"]).expect(0).says(&["100.0%"]);
    let tools = &json(&env, "run/manifest.json")["tasks"][0]["agent"]["tools"];
    assert_eq!((tools[0]["name"].as_str(), tools[0]["sandbox"].as_str()), (Some("bash"), Some("none")));
    env.run(&["audit", "run"]).expect(1).says(&["the tools of task `t` ran without a sandbox: bash"]);
}
