//! `proofmark audit`: runs of ours and results of others, its formats, its exit codes, what it refuses.

use std::path::Path;

use proofmark_testkit::command::{Ran, TestEnv};
use serde_json::{Value, json};

use super::support::{SMALL, empty, json_lines, small};

/// The GAIA example, run for submission.
fn example() -> TestEnv {
    let env = empty();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gaia");
    let split = "data/2023/validation";
    let beside = std::fs::read_dir(folder.join(split)).unwrap();
    let beside = beside.map(|entry| format!("{split}/{}", entry.unwrap().file_name().into_string().unwrap()));
    let names = ["suite.yaml", "answers.yaml", "mcp_units.py"].map(str::to_owned);
    for name in beside.chain(names) {
        env.put(&name, std::fs::read(folder.join(&name)).unwrap());
    }
    env.run(&["run", "suite.yaml", "--run-dir", "r", "--submit-intent"]).expect(0);
    env
}

fn audit(env: &TestEnv, arguments: &[&str], code: i32) -> Value {
    let arguments = [&["audit"], arguments, &["--format", "json"]].concat();
    env.run(&arguments).expect(code).json()
}

fn check<'r>(report: &'r Value, id: &str) -> &'r Value {
    report["checks"].as_array().unwrap().iter().find(|check| check["id"] == id).unwrap()
}

fn result(id: &str, answer: &str) -> Value {
    json!({"task_id": id, "question": "Which town?", "model": "m", "correct": true, "answer": answer,
        "expected_output": answer, "turns": 2, "wallMs": 900, "inputTokens": 100, "outputTokens": 20})
}

fn trajectory(id: &str) -> Value {
    json!({"task_id": id, "steps": [
        {"type": "prompt", "content": "Which town?"},
        {"type": "llm_call", "input": "Which town?", "output": "let me look"},
        {"type": "tool_call", "name": "web_search", "input": {"query": "towns"}},
        {"type": "tool_result", "name": "web_search", "output": "many towns"},
    ]})
}

fn metadata() -> Value {
    json!({"gaia_split": "validation", "dataset_revision": "abc", "voting_attempts": 1, "total_questions": 2,
        "pass_rate": 1, "model": "m"})
}

const FILES: [&str; 6] =
    ["--results", "results.json", "--trajectories", "trajectories.jsonl", "--metadata", "metadata.json"];

/// An honest run of another harness.
fn foreign() -> TestEnv {
    let env = empty();
    env.put("results.json", json!({"results": [result("t1", "Lyon"), result("t2", "Nantes")]}).to_string());
    env.put("trajectories.jsonl", format!("{}\n{}\n", trajectory("t1"), trajectory("t2")));
    env.put("metadata.json", metadata().to_string());
    env
}

#[test]
fn an_agent_run_for_submission_is_clean_and_has_no_gap() {
    let env = example();
    let report = audit(&env, &["r"], 0);
    let attestation = &report["attestation"];
    assert_eq!((&attestation["clean"], &attestation["strict_clean"]), (&json!(true), &json!(true)), "{attestation}");
    assert_eq!((&attestation["harness_gaps"], &attestation["skipped"]), (&json!([]), &json!([])));
    for check in report["checks"].as_array().unwrap() {
        assert_eq!(
            (&check["status"], &check["coverage"]["seen"]),
            (&json!("pass"), &check["coverage"]["of"]),
            "{check}"
        );
    }
    assert_eq!(check(&report, "AUD-1")["coverage"], json!({"of": 12, "seen": 12}));
    assert_eq!(check(&report, "AUD-8")["coverage"], json!({"of": 14, "seen": 14}));
    // The published schema accepts it.
    let schema: Value = env.run(&["schema", "audit-report"]).expect(0).json();
    if let Err(error) = jsonschema::draft202012::new(&schema).unwrap().validate(&report) {
        panic!("{error}");
    }
    // Away from its suite the run says the same of itself, byte for byte.
    let alone = empty();
    for entry in std::fs::read_dir(env.path("r")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            let name = entry.file_name().into_string().unwrap();
            alone.put(&format!("elsewhere/{name}"), std::fs::read(entry.path()).unwrap());
        }
    }
    assert_eq!(audit(&alone, &["elsewhere"], 0), report);
    // No gold answer can be read in it, unless that was asked for.
    let text = env.run(&["audit", "r", "--format", "json"]).expect(0).stdout;
    let golds: Vec<String> = json_lines(&env, "r/records.jsonl")
        .iter()
        .filter_map(|record| record["expected"].as_str().map(str::to_owned))
        .filter(|gold| gold.len() > 5)
        .collect();
    assert!(golds.len() > 3 && !golds.iter().any(|gold| text.contains(gold.as_str())));
    let shown = env.run(&["audit", "r", "--format", "json", "--reveal-gold"]).expect(0).stdout;
    assert!(golds.iter().any(|gold| shown.contains(gold.as_str())));
}

#[test]
fn the_dataset_itself_agrees_with_the_run_or_tells_on_it() {
    let env = example();
    let report = audit(&env, &["r", "--gold", "data/2023/validation"], 0);
    assert_eq!(report["attestation"]["strict_clean"], true);
    assert!(report["inputs"]["gold"]["sha256"].is_string());
    let other = env.text("data/2023/validation/metadata.jsonl").replace("\"88\"", "\"89\"");
    env.put("other.jsonl", other);
    let report = audit(&env, &["r", "--gold", "other.jsonl"], 1);
    assert_eq!(report["attestation"]["critical_failures"], json!(["AUD-7", "AUD-8"]));
    assert_eq!(check(&report, "AUD-7")["evidence"][0]["finding"], "dataset_differs");
    assert_eq!(check(&report, "AUD-8")["evidence"][0]["finding"], "gold_differs");
}

#[test]
fn a_score_that_was_changed_in_the_records_is_found() {
    let env = small();
    env.run(&["run", "suite.yaml", "--run-dir", "r", "--record-evidence"]).expect(0);
    audit(&env, &["r"], 0);
    let records = env
        .text("r/records.jsonl")
        .replace("\"passed\":false", "\"passed\":true")
        .replace("\"value\":0}", "\"value\":1}");
    env.put("r/records.jsonl", records);
    let report = audit(&env, &["r"], 1);
    assert_eq!(report["attestation"]["critical_failures"], json!(["AUD-8"]));
    let kinds: Vec<&str> = check(&report, "AUD-8")["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .map(|evidence| evidence["finding"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"V002") && kinds.contains(&"mark_unsupported"), "{kinds:?}");
}

#[test]
fn a_run_without_evidence_is_not_clean() {
    let env = small();
    env.run(&["run", "suite.yaml", "--run-dir", "r"]).expect(0);
    let report = audit(&env, &["r"], 1);
    assert_eq!(report["attestation"]["skipped"], json!(["AUD-1", "AUD-2", "AUD-3", "AUD-4"]));
    assert_eq!(check(&report, "AUD-1")["harness_gap"], "3 of 3 samples have no trajectory");
    env.run(&["audit", "r"]).expect(1).says(&["skip  AUD-1", "not all seen: AUD-1, AUD-2, AUD-3, AUD-4)"]);
}

#[test]
fn results_of_others_are_audited_and_the_exit_code_says_what_came_of_it() {
    let env = foreign();
    let with = |more: &[&'static str]| [&["audit"], &FILES[..], more].concat();
    env.run(&with(&[])).expect(0).says(&["verdict: clean"]);
    env.run(&with(&["--strict"])).expect(0);
    env.put("metadata.json", metadata().to_string().replace("\"voting_attempts\":1", "\"voting_attempts\":\"1\""));
    env.run(&with(&[])).expect(0).says(&["warn  AUD-6", "verdict: clean, with warnings (warnings: AUD-6)"]);
    env.run(&with(&["--strict"])).expect(1);
    env.put("metadata.json", metadata().to_string().replace("\"pass_rate\":1", "\"pass_rate\":0.9"));
    env.run(&with(&[])).expect(1).says(&["FAIL  AUD-8", "`metadata.pass_rate` is 0.9, but the results give 1"]);
    // Without trajectories nothing is known of how the answers were come by.
    let report = audit(&env, &FILES[..2], 1);
    assert_eq!(report["attestation"]["skipped"], json!(["AUD-1", "AUD-2", "AUD-3", "AUD-4"]));
}

#[test]
fn the_dataset_tells_changed_dropped_and_added_tasks() {
    let env = foreign();
    let row =
        |id: &str, gold: &str| json!({"task_id": id, "Final answer": gold, "Question": "Which town?"}).to_string();
    let found = |rows: &[String]| {
        env.put("gold.jsonl", rows.join("\n"));
        let arguments = [&FILES[..], &["--gold", "gold.jsonl"]].concat();
        let ran = env.run(&[&["audit"], &arguments[..], &["--format", "json"]].concat());
        let report = ran.json();
        let evidence = check(&report, "AUD-8")["evidence"].as_array().unwrap().clone();
        evidence.iter().map(|entry| entry["finding"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(found(&[row("t1", "Lyon"), row("t2", "Nantes")]).is_empty());
    assert_eq!(found(&[row("t1", "Lyon"), row("t2", "Brest")]), ["gold_differs"]);
    assert_eq!(found(&[row("t1", "Lyon"), row("t2", "Nantes"), row("t3", "Brest")]), ["dropped_task"]);
    assert_eq!(found(&[row("t1", "Lyon")]), ["unknown_task"]);
}

#[test]
fn a_policy_turns_a_finding_down_and_is_seen_to_do_so() {
    let env = foreign();
    env.put("metadata.json", metadata().to_string().replace("\"pass_rate\":1", "\"pass_rate\":0.9"));
    env.put("policy.yaml", "severities: {AUD-8: warn}\nreasons: {AUD-8: rounded by hand}\n");
    let arguments = [&FILES[..], &["--policy", "policy.yaml"]].concat();
    let report = audit(&env, &arguments, 0);
    let check = check(&report, "AUD-8");
    assert_eq!((&check["status"], &check["severity"]), (&json!("fail"), &json!("warn")));
    assert_eq!(
        check["overridden"],
        json!({"by": "policy", "from": "critical", "reason": "rounded by hand", "to": "warn"})
    );
    assert_eq!(report["attestation"]["overridden"], json!(["AUD-8"]));
    let text = env.run(&[&["audit"], &arguments[..]].concat()).expect(0);
    text.says(&["overridden: the policy makes warn of critical: rounded by hand", "turned down: AUD-8"]);
    env.put("policy.yaml", "severities: {AUD-8: pass}\n");
    env.run(&[&["audit"], &arguments[..]].concat()).expect(2).complains(&["the policy `policy.yaml` cannot be used"]);
}

#[test]
fn a_template_that_tells_an_answer_is_an_oracle_and_one_with_examples_is_none() {
    let env = empty();
    let rows = ["Which capital lies on the river Tagus?\tLissabon", "Which capital lies on the Vantaa?\tHelsinki"];
    let rows = rows.iter().enumerate().map(|(at, row)| {
        let (question, target) = row.split_once('\t').unwrap();
        json!({"id": format!("capital-{at}"), "input": question, "target": target}).to_string()
    });
    env.put("data.jsonl", rows.collect::<Vec<_>>().join("\n"));
    let found = |template: &str| {
        let suite = json!({"name": "capitals", "models": [{"id": "echo", "model": "offline:echo"}], "tasks": [{
            "id": "t", "dataset": {"format": "jsonl", "path": "data.jsonl", "id": "id"}, "prompt": template,
            "scorers": [{"type": "includes"}],
        }]});
        env.put("suite.yaml", suite.to_string());
        env.run(&["run", "suite.yaml", "--run-dir", "r", "--overwrite", "--record-evidence"]).expect(0);
        let report = env.run(&["audit", "r", "--format", "json"]).json();
        let evidence = check(&report, "AUD-3")["evidence"].as_array().unwrap().clone();
        let told = evidence.iter().filter(|entry| entry["severity"] == "critical");
        told.map(|entry| entry["sample"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("Be short. {{ input }}"), [""; 0]);
    assert_eq!(found("The correct answer is Lissabon. {{ input }}"), ["t/capital-0/echo/default/0"]);
    assert_eq!(found("{{ input }}\nHint: the answer is Helsinki."), ["t/capital-1/echo/default/0"]);
    let examples = "Q: Which capital lies on the Thames? A: London\nQ: On the Spree? A: Berlin\nQ: On the Tejo? A: Lissabon\nQ: {{ input }} A:";
    assert_eq!(found(examples), [""; 0]);
}

#[test]
fn a_suite_sets_severities_and_a_policy_wins_over_it() {
    let env = small();
    let run_id = |dir: &str| {
        let manifest: Value = serde_json::from_slice(&env.bytes(&format!("{dir}/manifest.json"))).unwrap();
        manifest["run_id"].clone()
    };
    env.run(&["run", "suite.yaml", "--run-dir", "plain"]).expect(0);
    let turned =
        "audit:\n  severities: {AUD-1: info, AUD-2: info, AUD-3: warn, AUD-4: info}\n  reasons: {AUD-1: for fun}\n";
    env.put("suite.yaml", format!("{SMALL}{turned}"));
    env.run(&["run", "suite.yaml", "--run-dir", "r"]).expect(0);
    assert_eq!(run_id("r"), run_id("plain"), "what an audit weighs is not what is asked");
    let report = audit(&env, &["r"], 0);
    assert_eq!(report["attestation"]["overridden"], json!(["AUD-1", "AUD-2", "AUD-3", "AUD-4"]));
    let want = json!({"by": "suite", "from": "critical", "reason": "for fun", "to": "info"});
    assert_eq!((&check(&report, "AUD-1")["overridden"], &check(&report, "AUD-1")["status"]), (&want, &json!("skip")));
    env.run(&["audit", "r"])
        .expect(0)
        .says(&["the suite makes info of critical: for fun", "turned down: AUD-1, AUD-2"]);
    env.run(&["audit", "r", "--strict"]).expect(1);
    env.put("policy.yaml", "severities: {AUD-1: critical}\n");
    let report = audit(&env, &["r", "--policy", "policy.yaml"], 1);
    assert_eq!(report["attestation"]["overridden"], json!(["AUD-2", "AUD-3", "AUD-4"]));
    env.put("suite.yaml", format!("{SMALL}audit: {{severities: {{AUD-12: info}}}}\n"));
    env.run(&["validate", "suite.yaml"]).expect(1).complains(&["AUD-12"]);
}

#[test]
fn the_same_files_give_the_same_bytes_anywhere() {
    let (a, b) = (foreign(), foreign());
    let arguments = [&["audit"], &FILES[..], &["--format", "json", "--audited-at", "2026-07-03T00:00:00Z"]].concat();
    let first = a.run(&arguments).expect(0).stdout;
    assert!(first.contains("\"audited_at\":\"2026-07-03T00:00:00Z\""));
    let other = b.call(&arguments).env("LC_ALL", "tr_TR.UTF-8").env("TZ", "Asia/Kathmandu").env("LANG", "C").run();
    assert_eq!(other.expect(0).stdout, first);
    std::fs::create_dir(b.path("inner")).unwrap();
    let outer: Vec<String> = arguments
        .iter()
        .map(|word| if word.contains('.') { format!("../{word}") } else { (*word).to_owned() })
        .collect();
    assert_eq!(b.call(&outer).within(&b.path("inner")).run().expect(0).stdout, first);
    a.run(&[&arguments[..], &["-o", "report.json"]].concat()).expect(0).complains(&["clean; wrote report.json"]);
    assert_eq!(a.text("report.json"), first);
}

#[test]
fn the_formats_for_others_are_what_they_are_said_to_be() {
    let env = foreign();
    env.put("metadata.json", metadata().to_string().replace("\"pass_rate\":1", "\"pass_rate\":0.9"));
    let format = |name: &str| env.run(&[&["audit"], &FILES[..], &["--format", name]].concat()).expect(1);
    let sarif = format("sarif").json();
    assert_eq!((&sarif["version"], &sarif["runs"][0]["results"][0]["ruleId"]), (&json!("2.1.0"), &json!("AUD-8")));
    assert_eq!(sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap().len(), 11);
    format("junit").says(&["<testsuites name=\"proofmark audit\" tests=\"11\" failures=\"1\">"]);
    format("markdown").says(&["### ❌ Proofmark audit", "| ❌ | AUD-8 re-score | fail | critical | 2/2 |"]);
}

/// Exit 2, with a message that says where, and nothing else.
#[track_caller]
fn refused(env: &TestEnv, what: &str, complaints: &[&str]) -> Ran {
    let ran = env.run(&[&["audit"], &FILES[..]].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{what}: {ran}");
    for complaint in complaints {
        assert!(ran.stderr.contains(complaint), "{what}: {ran}");
    }
    assert!(!ran.stderr.contains("panicked"), "{what}: {ran}");
    ran
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let good = trajectory("t1").to_string();
    let deep = format!("{{\"task_id\":\"t1\",\"steps\":{}", "[".repeat(100_000));
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("truncated", good.as_bytes()[..good.len() / 2].to_vec(), "line 1 of `trajectories.jsonl` is not JSON"),
        ("the second line", format!("{good}\n{{oops\n").into_bytes(), "line 2 of `trajectories.jsonl` is not JSON"),
        ("a name twice", br#"{"task_id":"t1","task_id":"t2","steps":[]}"#.to_vec(), "stands twice"),
        ("a huge number", br#"{"task_id":"t1","turns":1e999,"steps":[]}"#.to_vec(), "is too large"),
        ("depth", deep.into_bytes(), "nested deeper than"),
        ("no text", b"{\"task_id\":\"t1\xff\",\"steps\":[]}".to_vec(), "not valid UTF-8"),
        (
            "an unknown task",
            trajectory("t9").to_string().into_bytes(),
            "a trajectory of `t9`, of which there is no result",
        ),
        ("no task", b"{\"steps\":[]}".to_vec(), "line 1 of `trajectories.jsonl`: a trajectory has no `task_id`"),
        ("no list", b"{\"task_id\":\"t1\",\"steps\":7}".to_vec(), "`steps` is a number, expected a list"),
        ("no step", b"{\"task_id\":\"t1\",\"steps\":[7]}".to_vec(), "step 0: a number, expected an object"),
    ];
    for (what, bytes, complaint) in cases {
        let env = foreign();
        env.put("trajectories.jsonl", bytes);
        refused(&env, what, &[complaint]);
    }
    for (name, text, complaint) in [
        ("results.json", "", "`results.json` holds no results"),
        ("results.json", "{\"results\":[{\"task_id\":\"t1\"", "`results.json` is not JSON"),
        ("results.json", "[{\"task_id\":\"\"}]", "result 1 of `results.json`: a result has no `task_id`"),
        ("metadata.json", "[]", "a list, expected an object"),
        ("metadata.json", "{\"a\":1,\"a\":2}", "`metadata.json` is not JSON"),
    ] {
        let env = foreign();
        env.put(name, text);
        refused(&env, text, &[complaint]);
    }
    for name in ["results.json", "trajectories.jsonl", "metadata.json"] {
        let env = foreign();
        std::fs::remove_file(env.path(name)).unwrap();
        refused(&env, name, &[name]);
        std::fs::create_dir(env.path(name)).unwrap();
        refused(&env, name, &[name]);
    }
}

#[test]
fn a_line_of_a_hundred_megabytes_is_refused() {
    let env = foreign();
    let mut bytes = Vec::from(format!(
        "{}\n{{\"task_id\":\"t2\",\"steps\":[{{\"type\":\"prompt\",\"content\":\"",
        trajectory("t1")
    ));
    bytes.resize(100 << 20, b'x');
    env.put("trajectories.jsonl", bytes);
    refused(&env, "a long line", &["cannot read `trajectories.jsonl`", "line 2 is longer than 67108864 bytes"]);
}

#[test]
fn a_run_that_is_broken_or_unfinished_is_refused() {
    let env = small();
    env.run(&["run", "suite.yaml", "--run-dir", "r", "--record-evidence"]).expect(0);
    let (records, trajectories) = (env.text("r/records.jsonl"), env.text("r/trajectories.jsonl"));
    for (name, text, complaint) in [
        ("records.jsonl", records[..records.len() / 2].to_owned(), "of `r/records.jsonl` is not JSON"),
        (
            "records.jsonl",
            records.replacen("\"task\":\"words\"", "\"task\":\"other\"", 1),
            "a record of no task of the run",
        ),
        ("records.jsonl", records.replacen("\"turns\"", "\"turn\"", 1), "line 1 of `r/records.jsonl`"),
        ("records.jsonl", String::new(), "holds no results"),
        ("trajectories.jsonl", trajectories.replace("words/a", "words/z"), "of which there is no result"),
        ("manifest.json", "{".to_owned(), "`r/manifest.json` is not JSON"),
    ] {
        let before = env.text(&format!("r/{name}"));
        env.put(&format!("r/{name}"), text);
        env.run(&["audit", "r"]).expect(2).complains(&[complaint]);
        env.put(&format!("r/{name}"), before);
    }
    env.run(&["audit", "r"]).expect(0);
    env.put("unfinished/.proofmark/journal.jsonl", "");
    env.run(&["audit", "unfinished"]).expect(2).complains(&["`unfinished` is an unfinished run"]);
}

#[test]
fn arguments_that_do_not_fit_together_are_refused() {
    let env = foreign();
    for arguments in [
        &["audit"][..],
        &["audit", "r", "--results", "results.json"],
        &["audit", "r", "--trajectories", "trajectories.jsonl"],
        &["audit", "--results", "results.json", "--root", "."],
        &["audit", "missing"],
        &["audit", "--results", "results.json", "--audited-at", "yesterday"],
        &["audit", "--results", "results.json", "--gold", "missing.jsonl"],
    ] {
        assert_eq!(env.run(arguments).code, 2, "{arguments:?}");
    }
}

/// Results, trajectories and a dataset of so many tasks; one trajectory and one row have no order in common with the results.
fn many(tasks: u64) -> TestEnv {
    let env = empty();
    let of = |task: u64| (format!("task-{task:05}"), format!("Quellmar {task}"));
    let results: Vec<Value> = (0..tasks).map(|task| result(&of(task).0, &of(task).1)).collect();
    env.put("results.json", json!({"results": results}).to_string());
    let shuffled = || (0..tasks).map(move |task| task * 7_919 % tasks);
    let lines: Vec<String> = shuffled().map(|task| trajectory(&of(task).0).to_string()).collect();
    env.put("trajectories.jsonl", lines.join("\n"));
    let rows =
        shuffled().map(|task| json!({"task_id": of(task).0, "Question": "Which town?", "Final answer": of(task).1}));
    env.put("gold.jsonl", rows.map(|row| format!("{row}\n")).collect::<String>());
    env.put(
        "metadata.json",
        json!({"gaia_split": "validation", "voting_attempts": 1, "total_questions": tasks}).to_string(),
    );
    env
}

#[test]
fn thirty_times_the_tasks_take_no_more_memory() {
    let [few, lots] = [400, 12_000].map(|tasks| {
        let env = many(tasks);
        let arguments = [&["audit"], &FILES[..], &["--gold", "gold.jsonl", "--format", "json"]].concat();
        let (ran, kib) = env.call(&arguments).start().wait_with_memory();
        let report = ran.expect(0).json();
        assert_eq!(report["totals"]["samples"], tasks);
        assert_eq!(report["totals"]["trajectories"], tasks);
        assert_eq!(check(&report, "AUD-1")["coverage"], json!({"of": tasks, "seen": tasks}));
        kib
    });
    // Before what is known of a task went to scratch files, it was twice as much.
    assert!(lots < few + few / 3, "{few} and {lots} KiB");
}
