//! Tools, files, log-probabilities, pictures and programs, from the suite to the record.

use std::os::unix::fs::PermissionsExt as _;

use proofmark_serve::mock::Config;
use serde_json::{Value, json};

use super::{call_live, env, lines, outcomes, provider, questions, suite};

const WIRES: &str = "  - {id: openai, model: \"openai:mock-1\"}\n  \
                     - {id: responses, model: \"openai:mock-1\", api: responses}\n  \
                     - {id: anthropic, model: \"anthropic:mock-1\"}\n  - {id: gemini, model: \"gemini:mock-1\"}\n  \
                     - {id: mistral, model: \"mistral:mock-1\"}\n  - {id: cohere, model: \"cohere:mock-1\"}\n  \
                     - {id: ollama, model: \"ollama:mock-1\"}\n";

#[test]
fn a_call_of_a_tool_is_an_answer_that_can_be_scored() {
    let server = provider(Config::default());
    let env = env();
    for streamed in [false, true] {
        env.put(
            "suite.yaml",
            format!(
                r#"
name: tools
models:
{WIRES}
conditions: {{c: {{params: {{stream: {streamed}}}}}}}
tasks:
  - id: weather
    dataset:
      format: inline
      rows: [{{id: a, input: 'call:get_weather {{"city":"Paris","days":2}}', target: '[{{"arguments":{{"city":"Paris","days":2}},"name":"get_weather"}}]'}}]
      id: id
    tools:
      - {{name: get_weather, description: Looks it up, parameters: {{type: object, properties: {{city: {{type: string}}, days: {{type: integer}}}}}}}}
    scorers: [{{type: exact}}, {{type: json_schema, schema: {{type: array}}}}]
"#
            ),
        );
        let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run", "--overwrite"]).run();
        assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
        for record in lines(&env, "run/records.jsonl") {
            let expected = json!([{"arguments": {"city": "Paris", "days": 2}, "name": "get_weather"}]);
            assert_eq!(record["output"]["tool_calls"], expected, "{record}");
            assert_eq!(record["finish_reason"], "tool_calls", "{record}");
            assert_eq!((&record["tool_calls"], &record["scores"][0]["passed"]), (&json!(1), &json!(true)), "{record}");
        }
        assert_eq!(env.run(&["validate", "run"]).code, 0);
    }
}

/// A picture of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

#[test]
fn files_of_rows_are_sent_hashed_and_part_of_the_runs_identity() {
    let server = provider(Config::default());
    let env = env();
    env.put("pictures/a.png", PNG);
    env.put("notes.txt", "some notes");
    env.put(
        "data.jsonl",
        "{\"id\":\"a\",\"input\":\"what is it?\",\"picture\":\"pictures/a.png\",\"target\":\"what is it?\"}\n",
    );
    env.put(
        "suite.yaml",
        "name: files\nmodels:\n  - {id: openai, model: \"openai:mock-1\"}\n  - {id: anthropic, model: \"anthropic:mock-1\"}\n  \
         - {id: gemini, model: \"gemini:mock-1\"}\n  - {id: ollama, model: \"ollama:mock-1\"}\ntasks:\n  - id: look\n    \
         dataset: {format: jsonl, path: data.jsonl, id: id, files: [picture]}\n    scorers: [{type: includes}]\n",
    );
    let run = |dir: &str| {
        let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", dir]).run();
        assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
        assert_eq!(env.run(&["validate", dir]).code, 0);
        serde_json::from_str::<Value>(&env.text(&format!("{dir}/manifest.json"))).unwrap()
    };
    let manifest = run("first");
    let asset = &manifest["assets"][0];
    assert_eq!((&asset["role"], &asset["path"]), (&json!("attachment"), &json!("pictures/a.png")));
    for record in lines(&env, "first/records.jsonl") {
        let attached = &record["input"]["messages"][0]["attachments"][0];
        assert_eq!((&attached["digest"], &attached["media_type"]), (&asset["digest"], &json!("image/png")), "{record}");
    }
    // Each request carried the bytes.
    let smallest = lines(&env, "first/telemetry.jsonl").iter().map(|a| a["request_bytes"].as_u64().unwrap()).min();
    assert!(smallest > Some(PNG.len() as u64), "{smallest:?}");
    let mut other = PNG.to_vec();
    other.push(0);
    env.put("pictures/a.png", other);
    assert_ne!(run("second")["run_id"], manifest["run_id"]);
    // A file that a wire has no place for is not asked about.
    env.put("pictures/a.bin", "binary");
    env.put("data.jsonl", env.text("data.jsonl").replace("a.png", "a.bin"));
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "third"]).run();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let found = outcomes(&lines(&env, "third/records.jsonl"));
    assert_eq!(found.keys().collect::<Vec<_>>(), ["skipped/unsupported"], "{found:?}");
}

#[test]
fn a_file_outside_of_the_suites_folder_is_refused() {
    let env = env();
    env.put("secret.txt", "private");
    env.put("suite/suite.yaml", "name: s\nmodels: [{id: e, model: \"offline:echo\"}]\ntasks:\n  - id: t\n    dataset: {format: jsonl, path: d.jsonl, files: [f]}\n    scorers: [{type: exact}]\n");
    std::os::unix::fs::symlink(env.path("secret.txt"), env.path("suite/link.txt")).unwrap();
    for name in ["../secret.txt", "/etc/passwd", "link.txt"] {
        env.put("suite/d.jsonl", format!("{{\"input\":\"a\",\"f\":\"{name}\"}}\n"));
        let ran = env.run(&["run", "suite/suite.yaml", "--run-dir", "run"]);
        assert_eq!(ran.code, 2, "{name}: {}", ran.stdout);
        assert!(!ran.stderr.contains("private"), "{}", ran.stderr);
    }
}

#[test]
fn log_probabilities_are_kept_where_they_are_offered() {
    let server = provider(Config::default());
    let env = env();
    questions(&env, 1);
    suite(&env, "  - {id: m, model: \"openai:mock-1\", params: {logprobs: true, top_logprobs: 2}}", "");
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let record = &lines(&env, "run/records.jsonl")[0];
    let tokens = record["output"]["logprobs"].as_array().unwrap();
    let text: String = tokens.iter().map(|token| token["token"].as_str().unwrap()).collect();
    assert_eq!(text, record["output"]["text"].as_str().unwrap());
    assert!(tokens.iter().all(|token| token["logprob"].as_f64().is_some_and(|p| p <= 0.0)));
}

#[test]
fn pictures_come_from_three_providers_and_are_kept_by_their_digest() {
    let server = provider(Config::default());
    let env = env();
    env.put("data.jsonl", "{\"id\":\"a\",\"input\":\"a red house\"}\n{\"id\":\"b\",\"input\":\"a blue house\"}\n");
    env.put(
        "suite.yaml",
        "name: paint\nmodels:\n  - {id: openai, model: \"openai:gpt-image-1\", output: image}\n  \
         - {id: gemini, model: \"gemini:image-1\", output: image}\n  \
         - {id: cloudflare, model: \"cloudflare:@cf/black-forest-labs/flux-1-schnell\", output: image}\ntasks:\n  - id: paint\n    \
         dataset: {format: jsonl, path: data.jsonl, id: id}\n    scorers: [{type: image, format: png}]\n",
    );
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run();
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let records = lines(&env, "run/records.jsonl");
    assert_eq!(records.len(), 6);
    for record in &records {
        let image = &record["output"]["images"][0];
        let name = image["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let bytes = env.bytes(&format!("run/outputs/{name}.png"));
        assert_eq!(image["bytes"].as_u64(), Some(bytes.len() as u64), "{record}");
    }
    assert_eq!(env.run(&["validate", "run"]).code, 0);
    assert!(env.text("run/report.html").contains("data:image/png;base64,"));
}

#[test]
fn a_program_answers_and_a_silent_change_of_model_is_on_record() {
    let env = env();
    questions(&env, 2);
    // As `claude -p --output-format json` would: the second question falls back to another model.
    env.put(
        "bin/claude",
        r#"#!/bin/sh
if [ "$1" = --version ]; then echo "2.0.1 (Claude Code)"; exit 0; fi
prompt=$(cat)
model=claude-big; [ "$prompt" = "item 1" ] && model=claude-small
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","usage":{"input_tokens":3,"output_tokens":2},"modelUsage":{"%s":{"name":"%s","inputTokens":3,"outputTokens":2}}}\n' "$prompt" "$model" "$model"
"#,
    );
    std::fs::set_permissions(env.path("bin/claude"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = "run: [claude, \"{model}\"], output: json, model_pointer: /modelUsage/claude-small/name";
    let models = format!(
        "  - {{id: cc, model: \"command:claude-code\", command: {{model: claude-big}}}}\n  \
         - {{id: free, model: \"command:claude-code\"}}\n  \
         - {{id: mine, model: \"command:mine\", command: {{{run}, model: claude-small}}}}\n  \
         - {{id: own, model: \"command:mine\", command: {{{run}, model: small-1}}}}"
    );
    suite(&env, &models, "");
    let path = format!("{}:/usr/bin:/bin", env.path("bin").display());
    let ran = env.call(&["run", "suite.yaml", "--run-dir", "run"]).env("PATH", path).env("HOME", env.root()).run();
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let records = lines(&env, "run/records.jsonl");
    let by_cc = records.iter().filter(|record| record["model"] == "cc");
    let answered: Vec<Value> = by_cc.map(|record| record["output"]["answered_by"].clone()).collect();
    assert_eq!(answered, ["claude-big", "claude-small"]);
    // A fallback is another model than the one that the program was told to use, and nothing else is one.
    let (page, report) = (env.text("run/report.html"), env.text("run/report.md"));
    let rows: Vec<&str> = report.lines().filter(|line| line.contains("claude-") && line.starts_with("| ")).collect();
    assert_eq!(
        rows,
        [
            "| cc | claude-big | claude-big | as asked | 1 |",
            "| cc | claude-big | claude-small | **another model** | 1 |",
            "| free | command:claude-code | claude-big | the program chose | 1 |",
            "| free | command:claude-code | claude-small | the program chose | 1 |",
            "| mine | claude-small | claude-small | as asked | 1 |",
            "| own | small-1 | claude-small | **another model** | 1 |",
        ]
    );
    assert_eq!(page.matches("(another model)").count(), 2, "{page}");
    assert_eq!(page.matches("Another model answered.").count(), 2);
    assert!(page.contains("asked for <code>small-1</code>, but 1 sample was answered by"), "{page}");
    let told: Vec<&str> = ran.stdout.lines().filter(|line| line.contains("answered by")).collect();
    assert_eq!(
        told,
        [
            "cc: asked for claude-big, but 1 sample answered by claude-small",
            "own: asked for small-1, but 1 sample answered by claude-small"
        ]
    );
    assert_eq!(env.run(&["validate", "run"]).code, 0);
    for attempt in lines(&env, "run/telemetry.jsonl") {
        assert!(attempt["request_id"].is_null() && attempt["status"] == 0, "{attempt}");
    }
    let manifest: Value = serde_json::from_str(&env.text("run/manifest.json")).unwrap();
    assert_eq!(manifest["models"][0]["seed"], "ignored");
}

#[test]
fn an_agent_calls_its_tools_over_every_wire_and_is_made_again_from_its_cassette() {
    let server = provider(Config::default());
    let env = env();
    for streamed in [false, true] {
        env.put(
            "suite.yaml",
            format!(
                r#"
name: agents
models:
{WIRES}
conditions: {{c: {{params: {{stream: {streamed}}}}}}}
evidence: {{record: true}}
tasks:
  - id: sums
    dataset:
      format: inline
      id: id
      rows:
        - {{id: one, input: 'call:calculator {{"expression":"6*7"}}', target: "42"}}
        - {{id: two, input: 'call:calculator {{"expression":"1/0"}} and call:calculator {{"expression":"2+3"}}', target: "5"}}
    solver: {{type: agent, tools: [{{type: calculator}}]}}
    scorers: [{{type: exact}}]
"#
            ),
        );
        let arguments = ["run", "suite.yaml", "--run-dir", "run", "--overwrite", "--cassette", "tape"];
        let ran = call_live(&env, &server, &arguments).run();
        assert_eq!(ran.code, 0, "{}\n{}\n{}", ran.stdout, ran.stderr, env.text("run/records.jsonl"));
        let records = lines(&env, "run/records.jsonl");
        assert_eq!(records.len(), 14);
        for record in &records {
            assert_eq!(record["scores"][0]["passed"], true, "{record}");
            let calls = if record["item_id"] == "one" { 1 } else { 2 };
            assert_eq!((&record["turns"], &record["tool_calls"]), (&json!(2), &json!(calls)), "{record}");
        }
        let trajectories = lines(&env, "run/trajectories.jsonl");
        let steps = |at: usize| trajectories[at]["steps"].as_array().unwrap().clone();
        let kinds: Vec<String> = steps(7).iter().map(|step| step["type"].as_str().unwrap().to_owned()).collect();
        let round = ["tool_call", "tool_result", "tool_call", "tool_result"];
        assert_eq!(kinds, [&["prompt", "model_output"][..], &round, &["model_output"]].concat());
        // What tools were called with and returned does not depend on the wire.
        for at in 8..14 {
            let tools = |at: usize| -> Vec<Value> {
                steps(at).into_iter().filter(|step| step["type"].as_str().unwrap().starts_with("tool")).collect()
            };
            assert_eq!(tools(at), tools(7), "{at}");
        }
        // Two calls of a model for each sample, each with its request id, in the order of the records.
        let telemetry = lines(&env, "run/telemetry.jsonl");
        assert_eq!(telemetry.iter().filter(|attempt| attempt["call"] == 1).count(), 14);
        assert_eq!(env.run(&["validate", "run"]).code, 0);
        let verified = env.run(&["verify", "run", "--reexecute", "--cassette", "tape"]);
        assert_eq!(verified.code, 0, "{}\n{}", verified.stdout, verified.stderr);
        assert!(verified.stdout.contains("reached: rung 4 of 5"), "{}", verified.stdout);
    }
}
