//! Parts of results that are demanded later.

use serde_json::Value;

use crate::support::{empty, json_lines};

#[test]
fn a_part_of_a_result_is_shown_by_who_holds_it_and_checked_without_the_rest() {
    let env = empty();
    env.put(
        "suite.yaml",
        r#"name: region
models: [{id: script, model: "offline:scripted", params: {file: script.yaml}}]
tasks:
  - id: t
    dataset: {format: inline, id: id, rows: [{id: a, input: "q", target: x}]}
    solver: {type: agent, tools: [{type: bash}]}
    scorers: [{type: exact}]
"#,
    );
    env.put(
        "script.yaml",
        "agents: {a: [{calls: [{name: bash, args: {command: \"seq 1 4000\"}}, {name: bash, args: {command: \"echo short\"}}]}, {text: x}]}\n",
    );
    env.run(&["run", "suite.yaml", "--run-dir", "run", "--record-evidence", "--evidence-full-bodies"]).expect(0);
    let steps = json_lines(&env, "run/trajectories.jsonl")[0]["steps"].clone();
    let places: Vec<usize> =
        (0..steps.as_array().unwrap().len()).filter(|at| steps[at]["type"] == "tool_result").collect();
    let (long, short) = (places[0].to_string(), places[1].to_string());
    let whole: String = (1..=4000).map(|number| format!("{number}\n")).collect();
    let (offset, length) = (9000.to_string(), 5000.to_string());
    let show = ["region", "show", "run", "t/a", "--step", &long, "--offset", &offset, "--length", &length];
    env.run(&[&show[..], &["--out", "part.json"]].concat()).expect(0);

    // Who checks has the trajectories and no body.
    std::fs::rename(env.path("run/bodies"), env.path("bodies")).unwrap();
    let checked = env.run(&["region", "check", "run", "part.json"]).expect(0);
    let first = whole[9000..].lines().nth(1).unwrap();
    let _ = checked.says(&["ok:", "5,000 bytes from 9,000 on", first]);

    // Another byte, another place, another length: none of it is what the tool returned.
    let part: Value = serde_json::from_str(&env.text("part.json")).unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut part = part.clone();
        change(&mut part);
        env.put("forged.json", part.to_string());
        env.run(&["region", "check", "run", "forged.json"])
    };
    let text = part["proof"]["chunks"][0]["bytes"].as_str().unwrap().to_owned();
    let flipped = format!("{}{}", if text.starts_with('A') { "B" } else { "A" }, &text[1..]);
    let _ = changed(&|part| part["proof"]["chunks"][0]["bytes"] = flipped.clone().into()).expect(1).says(&["FAIL"]);
    let _ = changed(&|part| part["proof"]["offset"] = 13_000.into()).expect(1).says(&["FAIL"]);
    let _ = changed(&|part| part["proof"]["length"] = 50_000.into()).expect(1).says(&["FAIL"]);
    let _ = changed(&|part| part["step"] = 0.into()).expect(2).complains(&["not the result of a tool"]);
    let _ = changed(&|part| part["format"] = "x".into()).expect(2).complains(&["proofmark.region"]);

    // The body may be had from elsewhere, and must be the one.
    let _ = env.run(&show).expect(2).complains(&["--body"]);
    env.put("whole.txt", &whole);
    env.run(&[&show[..], &["--body", "whole.txt"]].concat()).expect(0);
    env.put("whole.txt", whole.replace("3000", "3001"));
    let _ = env.run(&[&show[..], &["--body", "whole.txt"]].concat()).expect(2).complains(&["not the one"]);
    let of_short = ["region", "show", "run", "t/a", "--step", &short, "--offset", "0", "--length", "1"];
    let _ = env.run(&of_short).expect(2).complains(&["stands whole in the trajectory"]);
}
