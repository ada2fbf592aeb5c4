//! Agents at their limits: every call is in the evidence, and nothing that holds the gold can be handed out.

use proofmark_testkit::command::TestEnv;
use serde_json::{Value, json};

use crate::support::{empty, json, json_lines};

/// A suite of one agent, whose script says what it does.
fn agent(solver: &str, script: &str) -> TestEnv {
    let env = empty();
    env.put(
        "suite.yaml",
        format!(
            r#"name: edges
models: [{{id: script, model: "offline:scripted", params: {{file: script.yaml}}}}]
tasks:
  - id: t
    dataset: {{format: jsonl, path: data.jsonl, id: id}}
    solver: {{type: agent, {solver}}}
    scorers: [{{type: exact}}]
"#
        ),
    );
    env.put("data.jsonl", "{\"id\":\"a\",\"input\":\"q\",\"target\":\"x\"}\n");
    env.put("script.yaml", script);
    env
}

/// Runs it, makes it again from what was recorded, and returns the trajectory and the record.
fn ran(env: &TestEnv) -> (Value, Value) {
    env.run(&["run", "suite.yaml", "--run-dir", "run", "--record-evidence", "--evidence-full-bodies"]).expect(0);
    env.run(&["validate", "run"]).expect(0);
    env.run(&["verify", "run", "--reexecute"]).expect(0).says(&["reached: rung 4 of 5"]);
    (json_lines(env, "run/trajectories.jsonl")[0].clone(), json_lines(env, "run/records.jsonl")[0].clone())
}

/// What each call was, and how its result failed.
fn calls(trajectory: &Value) -> Vec<(String, String)> {
    let steps = trajectory["steps"].as_array().unwrap();
    let of = |kind: &str| steps.iter().filter(|step| step["type"] == kind).cloned().collect::<Vec<Value>>();
    let (calls, results) = (of("tool_call"), of("tool_result"));
    assert_eq!(calls.len(), results.len());
    let told = |(call, result): (&Value, &Value)| {
        (call["args"].to_string(), result["error"].as_str().unwrap_or("fine").to_owned())
    };
    calls.iter().zip(&results).map(told).collect()
}

const FOUR: &str = r#"{name: calculator, args: {expression: "1"}}, {name: calculator, args: {expression: "2"}}, {name: calculator, args: {expression: "3"}}, {name: calculator, args: {expression: "4"}}"#;

#[test]
fn calls_that_nobody_carried_out_are_in_the_evidence() {
    let expression = |number: u32| json!({"expression": number.to_string()}).to_string();
    let (fine, not) = ("fine".to_owned(), "not_carried_out".to_owned());

    let env =
        agent("tools: [{type: calculator}], max_tool_calls: 2", &format!("agents: {{a: [{{calls: [{FOUR}]}}]}}\n"));
    let (trajectory, record) = ran(&env);
    let all = [(1, &fine), (2, &fine), (3, &not), (4, &not)];
    assert_eq!(calls(&trajectory), all.map(|(number, end)| (expression(number), end.clone())));
    assert_eq!((trajectory["stop"].as_str(), record["tool_calls"].as_u64()), (Some("max_tool_calls"), Some(4)));

    let submit =
        "agents: {a: [{calls: [{name: submit, args: {answer: x}}, {name: calculator, args: {expression: \"9\"}}]}]}\n";
    let (trajectory, record) = ran(&agent("tools: [{type: submit}, {type: calculator}]", submit));
    assert_eq!(calls(&trajectory)[1], (expression(9), not.clone()));
    assert_eq!((trajectory["final_answer"].as_str(), record["scores"][0]["passed"].as_bool()), (Some("x"), Some(true)));

    let slow = "agents: {a: [{calls: [{name: bash, args: {command: \"sleep 20\"}}, {name: bash, args: {command: \"echo late\"}}]}]}\n";
    let (trajectory, _) = ran(&agent("tools: [{type: bash}], timeout: 0.7", slow));
    let ends: Vec<String> = calls(&trajectory).into_iter().map(|(_, end)| end).collect();
    assert_eq!((trajectory["stop"].as_str(), ends), (Some("timeout"), vec!["timeout".to_owned(), not]));
}

#[test]
fn an_answer_that_was_cut_says_so() {
    let (trajectory, record) =
        ran(&agent("tools: [{type: calculator}]", "agents: {a: [{text: \"It is prob\", cut: true}]}\n"));
    assert_eq!((trajectory["stop"].as_str(), record["finish_reason"].as_str()), (Some("length"), Some("length")));
    assert_eq!(trajectory["final_answer"], "It is prob");
}

#[test]
fn an_agent_that_ends_without_an_answer_says_why_also_without_evidence() {
    let solver = "tools: [{type: calculator}], final_answer: {pattern: \"ANSWER: (.*)\"}";
    let env = agent(solver, "agents: {a: [{text: \"who knows\"}]}\n");
    let (trajectory, record) = ran(&env);
    assert!(trajectory["no_answer"].as_str().unwrap().contains("ANSWER"), "{trajectory}");
    assert_eq!(record["finish_reason"], "no_answer");
    env.run(&["run", "suite.yaml", "--run-dir", "bare", "--record-evidence=false"]).expect(0);
    assert_eq!(json_lines(&env, "bare/records.jsonl")[0]["finish_reason"], "no_answer");
    env.run(&["verify", "bare"]).expect(0);
}

#[test]
fn a_conversation_that_no_longer_fits_ends_or_loses_its_older_results() {
    let read = "{name: bash, args: {command: \"head -c 3000 /dev/zero | tr '\\\\0' z\"}}";
    let script = format!(
        "agents: {{a: [{{calls: [{read}]}}, {{calls: [{read}]}}, {{calls: [{read}]}}, {{text: x}}]}}\nfits: 7000\n"
    );
    let (trajectory, record) = ran(&agent("tools: [{type: bash}]", &script));
    assert_eq!((trajectory["stop"].as_str(), record["status"].as_str()), (Some("context_overflow"), Some("success")));
    assert_eq!(record["scores"][0]["passed"], false);
    let (trajectory, record) = ran(&agent("tools: [{type: bash}], on_overflow: drop_results", &script));
    assert_eq!((trajectory["stop"].as_str(), record["scores"][0]["passed"].as_bool()), (Some("answered"), Some(true)));
    let steps = trajectory["steps"].as_array().unwrap();
    let dropped = steps.iter().filter(|step| step["type"] == "prompt" && step["role"] == "tool").count();
    assert!(dropped >= 1, "what the model no longer saw is in the evidence: {trajectory}");
    // The model takes nothing at all: there is nothing left to drop.
    let tiny = "agents: {a: [{text: x}]}\nfits: 0\n";
    let (trajectory, _) = ran(&agent("tools: [{type: bash}], on_overflow: drop_results", tiny));
    assert_eq!((trajectory["stop"].as_str(), trajectory["turns"].as_u64()), (Some("context_overflow"), Some(0)));
}

#[test]
fn the_prompts_of_the_text_protocol_stand_in_the_order_in_which_the_model_saw_them() {
    let (trajectory, _) = ran(&agent("protocol: text, tools: [{type: calculator}]", "agents: {a: [{text: x}]}\n"));
    let roles: Vec<&str> = (0..2).map(|at| trajectory["steps"][at]["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user"]);
}

#[test]
fn a_file_with_the_gold_is_not_handed_out_under_any_name() {
    let reads = "agents: {a: [{calls: [{name: file_read, args: {path: data.jsonl}}]}, {text: x}]}\n";
    let env = agent("tools: [{type: file_read}]", reads);
    let with_files = env.text("suite.yaml").replace("id: id}", "id: id, files: [file]}");
    env.put("suite.yaml", with_files);
    let row = |file: &str| format!("{{\"id\":\"a\",\"input\":\"q\",\"target\":\"x\",\"file\":\"{file}\"}}\n");
    for (file, link) in [("data.jsonl", None), ("soft.txt", Some(true)), ("hard.txt", Some(false))] {
        env.put("data.jsonl", row(file));
        match link {
            None => {}
            Some(true) => std::os::unix::fs::symlink("data.jsonl", env.path(file)).unwrap(),
            Some(false) => std::fs::hard_link(env.path("data.jsonl"), env.path(file)).unwrap(),
        }
        let ran = env.run(&["run", "suite.yaml", "--run-dir", "run"]);
        let _ = ran.expect(2).complains(&[file, "gold answers"]);
        assert!(!env.path("run").exists(), "{file}");
    }
    let server = "tools: [{type: mcp, name: s, command: [python3, \"{suite}/s.py\"], files: [s.py, copy.jsonl]}]";
    let env = agent(server, "agents: {a: [{text: x}]}\n");
    env.put("s.py", "");
    env.put("copy.jsonl", env.bytes("data.jsonl"));
    let _ = env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(2).complains(&["`s`", "copy.jsonl", "gold"]);
}

#[test]
fn a_run_without_a_sandbox_is_not_submittable() {
    let script = "agents: {a: [{calls: [{name: bash, args: {command: \"echo x\"}}]}, {text: \"{result}\"}]}\n";
    let env = agent("tools: [{type: bash, sandbox: none}]", script);
    let run = ["run", "suite.yaml", "--run-dir", "run", "--allow-unsandboxed", "--submit-intent"];
    env.run(&run).expect(1).complains(&["not submittable", "without a sandbox"]);
    assert_eq!(json(&env, "run/report.replay.json")["submittable"], false);
}

#[test]
fn a_gate_on_trajectories_that_are_not_there_has_not_passed() {
    let env = agent("tools: [{type: calculator}]", "agents: {a: [{text: x}]}\n");
    let run = |dir: &str, evidence: &str| {
        let flag = format!("--record-evidence={evidence}");
        env.run(&["run", "suite.yaml", "--run-dir", dir, &flag]).expect(0);
    };
    run("with", "true");
    run("without", "false");
    run("without-too", "false");
    let gate = |a: &str, b: &str| env.run(&["diff", a, b, "--fail-on", "trajectory"]);
    gate("with", "with").expect(0);
    let _ = gate("with", "without").expect(2).complains(&["could not be checked", "B has none", "--record-evidence"]);
    let _ = gate("without", "with").expect(2).complains(&["A has none"]);
    let _ = gate("without", "without-too").expect(2).complains(&["neither"]);
    env.run(&["diff", "without", "without-too", "--fail-on", "regressions"]).expect(0);
}

#[test]
fn the_way_to_go_on_names_what_makes_the_run() {
    let env = agent("tools: [{type: calculator}]", "agents: {a: [{text: x}]}\n");
    let rows: String = (0..40).map(|at| format!("{{\"id\":\"i{at}\",\"input\":\"q\",\"target\":\"x\"}}\n")).collect();
    env.put("data.jsonl", rows);
    env.put("script.yaml", "default: x\n");
    let run = ["run", "suite.yaml", "--run-dir", "run", "--submit-intent", "--max-items", "30", "--only", "task=t"];
    let stopped = env.run(&[&run[..], &["--max-tokens", "20", "--concurrency", "1"]].concat());
    let _ = stopped.expect(2).complains(&["--resume --only task=t --max-items 30 --submit-intent"]);
    env.run(&[&run[..], &["--resume"]].concat()).expect(0);
}

/// Prompts of exactly 2 KiB and one byte more, and characters across every cut.
#[test]
fn prompts_and_arguments_are_cut_where_they_should_be() {
    let env = agent("tools: [{type: calculator}]", "");
    let inputs =
        ["q".repeat(2048), "q".repeat(2049), format!("{}é", "q".repeat(2047)), format!("{}😀", "q".repeat(2046))];
    let rows =
        inputs.iter().enumerate().map(|(at, input)| json!({"id": format!("i{at}"), "input": input, "target": "x"}));
    env.put("data.jsonl", rows.map(|row| format!("{row}\n")).collect::<String>());
    // The canonical JSON of the arguments begins with {"expression":", and the character stands across byte 8,192.
    let argument = format!("{}é", "1".repeat(8192 - r#"{"expression":""#.len() - 1));
    let mut script = String::from("agents:\n");
    for at in 0..inputs.len() {
        let call = format!("{{name: calculator, args: {{expression: \"{argument}\"}}}}");
        script.push_str(&format!("  i{at}: [{{calls: [{call}]}}, {{text: x}}]\n"));
    }
    env.put("script.yaml", script);
    let _ = ran(&env);
    let lines = json_lines(&env, "run/trajectories.jsonl");
    let prompt = |at: usize| {
        let step = &lines[at]["steps"][0];
        (step["bytes"].as_u64().unwrap(), step["head"].as_str().unwrap().len())
    };
    assert_eq!([0, 1, 2, 3].map(prompt), [(2048, 2048), (2049, 2048), (2049, 2047), (2050, 2046)]);
    let call = &lines[0]["steps"][2];
    assert_eq!((call["type"].as_str(), call["args_truncated"].as_bool()), (Some("tool_call"), Some(true)));
    let head = call["args"].as_str().unwrap();
    assert!(head.len() == 8191 && head.ends_with('1') && !head.contains('\u{fffd}'), "{}", head.len());
    // Whole they are among the bodies.
    let whole = json!({"expression": argument}).to_string();
    let digest = proofmark_canon::Digest::of(whole.as_bytes());
    assert_eq!(call["args_sha256"], digest.to_string());
    assert!(env.path(&format!("run/bodies/{}.zst", digest.hex())).exists());
}
