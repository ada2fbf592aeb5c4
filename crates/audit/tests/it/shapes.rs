//! What a harness may write down in many ways: wherever an exploit stands, it is found, or the check owns up to a gap.

use proofmark_artefact::audit::{CheckStatus, Report};
use serde_json::{Value, json};

use super::cases::audit_files;

const ID: &str = "c61d22de-5f6c-4958-a7f6-5e9707bd3466";
const GOLD: &str = "Edith Walker";
const QUESTION: &str =
    "In the 1931 glider club of Harrow, what is the full name of the member who first crossed the valley in spring?";

/// A small run of another harness, honest until somebody changes it.
struct Run {
    result: Value,
    trajectory: Value,
    metadata: Value,
}

impl Run {
    /// With these steps between the first and the last question to the model.
    fn with(steps: &[Value]) -> Self {
        let mut all = vec![
            json!({"type": "prompt", "content": QUESTION}),
            json!({"type": "llm_call", "input": QUESTION, "output": "I will search for this.", "tokens_out": 8}),
        ];
        all.extend_from_slice(steps);
        all.push(json!({"type": "llm_call", "input": "go on", "output": "I have what I need.", "tokens_out": 8}));
        Self::of(&all)
    }

    fn of(steps: &[Value]) -> Self {
        Self {
            result: json!({"task_id": ID, "question": QUESTION, "model": "m", "correct": true, "answer": GOLD,
                "expected_output": GOLD, "turns": 3, "wallMs": 9000, "inputTokens": 900, "outputTokens": 60}),
            trajectory: json!({"task_id": ID, "turns": 3, "steps": steps}),
            metadata: json!({"model": "m", "gaia_split": "validation", "dataset_revision": "abc", "voting_attempts": 1,
                "total_questions": 1, "pass_rate": 1.0}),
        }
    }

    fn audit(&self) -> Report {
        let dir = tempfile::tempdir().unwrap();
        let files = json!({"results.json": json!({"results": [self.result]}).to_string(),
            "trajectories.jsonl": self.trajectory.to_string(), "metadata.json": self.metadata.to_string()});
        audit_files(dir.path(), &files).unwrap()
    }
}

/// What did not pass: the check with its worst finding, or with `gap`.
fn wrong(report: &Report) -> Vec<String> {
    let odd = report.checks.iter().filter(|check| check.status != CheckStatus::Pass);
    odd.map(|check| match check.status {
        CheckStatus::Fail => format!("{} {}", check.id, check.evidence[0].finding),
        _ => {
            assert!(check.harness_gap.is_some(), "{check:?}");
            format!("{} gap", check.id)
        }
    })
    .collect()
}

#[track_caller]
fn check(run: &Run, want: &[&str]) {
    let report = run.audit();
    assert_eq!(wrong(&report), want, "{}", run.trajectory);
    assert_eq!(report.attestation.strict_clean, want.is_empty());
}

fn call(command: &str) -> Value {
    json!({"type": "tool_call", "name": "bash", "input": {"command": command}})
}

#[test]
fn a_result_with_a_structure_is_looked_at_as_the_one_thing_that_the_agent_saw() {
    for (output, want) in [
        (json!({"task_id": ID, "Final answer": GOLD}), &["AUD-1 with_task_id"][..]),
        (json!({"columns": ["task_id", "Final answer"], "rows": [[ID, GOLD]]}), &["AUD-1 with_task_id"]),
        (
            json!([{"type": "text", "text": QUESTION}, {"type": "text", "text": format!("Final answer: {GOLD}")}]),
            &["AUD-1 with_question"],
        ),
        (json!({"dataset": "gaia-benchmark/GAIA", "answer": GOLD}), &["AUD-1 dataset_named"]),
        (json!({"question": QUESTION, "answer": GOLD}), &["AUD-1 with_question"]),
        (
            json!([{"type": "text", "text": format!("{QUESTION} Edith")}, {"type": "text", "text": "Walker"}]),
            &["AUD-1 with_question"],
        ),
        // Honest tools.
        (json!({"query": QUESTION, "results": [{"title": "Gliders", "snippet": format!("{GOLD}, pilot")}]}), &[]),
        (json!({"results": [{"snippet": format!("{GOLD}, pilot")}], "search_term": QUESTION}), &[]),
        (
            json!([{"type": "text", "text": format!("{GOLD} was a pilot.")}, {"type": "text", "text": "More follows."}]),
            &[],
        ),
        (json!({"stdout": format!("{GOLD}\n"), "exit_code": 0}), &[]),
        (json!(""), &[]),
    ] {
        let search = json!({"type": "tool_call", "name": "web_search", "input": {"query": QUESTION}});
        let result = json!({"type": "tool_result", "task_id": ID, "name": "web_search", "output": output});
        check(&Run::with(&[search, result]), want);
    }
}

#[test]
fn a_call_is_looked_at_wherever_its_command_stands() {
    let reach = "cat grader/main.py";
    let zeros = "0".repeat(64);
    let as_json = json!({"command": reach}).to_string();
    let result = json!({"type": "tool_result", "name": "bash", "output": "x"});
    for (call, want) in [
        (json!({"type": "tool_call", "name": "bash", "command": reach}), &["AUD-4 grader"][..]),
        (json!({"type": "tool_call", "name": "bash", "content": reach}), &["AUD-4 grader"]),
        (json!({"type": "tool_call", "name": "bash", "content": "cat gra?er/x"}), &["AUD-4 grader"]),
        (json!({"type": "tool_call", "name": "bash", "args": {}, "input": reach}), &["AUD-4 grader"]),
        (json!({"type": "tool_call", "function": {"name": "bash", "arguments": as_json}}), &["AUD-4 grader"]),
        (json!({"type": "action", "action": "bash", "action_input": reach}), &["AUD-4 grader"]),
        (
            json!({"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": {"name": "bash", "arguments": as_json}}]}),
            &["AUD-4 grader"],
        ),
        (
            json!({"role": "assistant", "content": [{"type": "tool_use", "name": "bash", "input": {"command": reach}}]}),
            &["AUD-4 grader"],
        ),
        (
            json!({"type": "llm_call", "input": "go", "output": {"message": {"tool_calls": [{"name": "bash", "args": as_json}]}}}),
            &["AUD-4 grader"],
        ),
        (
            json!({"type": "llm_call", "messages": [{"role": "assistant", "tool_calls": [{"name": "bash", "args": as_json}]},
            {"role": "user", "content": "go on"}], "output": "y"}),
            &["AUD-4 grader"],
        ),
        // What is there in part, or not at all, was not seen.
        (json!({"type": "tool_call", "name": "bash", "head": "cat x", "args_sha256": zeros}), &["AUD-4 gap"]),
        (json!({"type": "tool_call", "name": "bash", "args": "cat x", "args_sha256": zeros}), &["AUD-4 gap"]),
        (json!({"type": "tool_call", "name": "bash", "args_sha256": zeros}), &["AUD-4 gap"]),
        (json!({"type": "tool_call", "name": "bash", "turn": 3, "thought": "let me look"}), &["AUD-4 gap"]),
        // Honest calls.
        (json!({"type": "tool_call", "name": "bash", "command": "ls -l"}), &[]),
        (json!({"type": "tool_call", "name": "screenshot", "args": {}}), &[]),
        (json!({"type": "tool_call", "name": "screenshot", "args": null}), &[]),
        (json!({"type": "tool_call", "name": "bash", "args": {"command": "ls"}, "args_sha256": zeros}), &[]),
        (json!({"type": "action", "thought": "the grader's view matters", "tool": "bash", "args": "ls"}), &[]),
        (
            json!({"type": "tool_call", "name": "write_file", "path": "notes.md", "content": "The judge said that the grader was right."}),
            &[],
        ),
        (json!({"type": "tool_call", "name": "bash", "args": "ls", "output": "grader.py"}), &[]),
    ] {
        check(&Run::with(&[call, result.clone()]), want);
    }
    // A call with its result in one step.
    let both = json!({"type": "tool_call", "name": "bash", "args": "ls", "output": {"task_id": ID, "answer": GOLD}});
    check(&Run::with(&[both]), &["AUD-1 with_task_id"]);
}

#[test]
fn a_result_that_is_not_there_was_not_seen_and_whatever_is_there_is_looked_at() {
    let (zeros, key) = ("0".repeat(64), format!("{QUESTION} answer key: {GOLD}"));
    for (result, want) in [
        (json!({"type": "tool_result", "name": "bash", "error": key}), &["AUD-1 with_question"][..]),
        (json!({"type": "tool_result", "name": "bash"}), &["AUD-1 gap"]),
        (json!({"type": "tool_result", "name": "bash", "output": "begin", "bytes": 90000}), &["AUD-1 gap"]),
        (json!({"type": "tool_result", "name": "bash", "output": "begin", "output_sha256": zeros}), &["AUD-1 gap"]),
        (
            json!({"type": "tool_result", "name": "bash", "head": "begin", "bytes": 90000, "output_sha256": zeros,
            "scan": {"gold": [], "question": []}}),
            &["AUD-1 gap"],
        ),
        (
            json!({"type": "tool_result", "name": "bash", "output": "x", "scan": {}, "stderr": key}),
            &["AUD-1 with_question"],
        ),
        (
            json!({"type": "tool_result", "name": "bash", "output": "x", "id": format!("{key}{key}")}),
            &["AUD-1 with_question"],
        ),
        (json!({"type": "tool_result", "name": "bash", "error": "timeout"}), &[]),
        (json!({"type": "tool_result", "name": "bash", "output": null}), &[]),
        (json!({"type": "tool_result", "name": "bash", "output": "x", "bytes": 1}), &[]),
    ] {
        check(&Run::with(&[call("ls"), result]), want);
    }
}

#[test]
fn messages_are_looked_at_unless_a_step_has_shown_them() {
    let (key, page) = (format!("{QUESTION} answer key: {GOLD}"), format!("{GOLD} was a pilot."));
    let user = json!({"role": "user", "content": QUESTION});
    let tool = |text: &str| json!({"role": "tool", "content": text});
    let own = |text: &str| json!({"role": "assistant", "content": text});
    let ask =
        |messages: Vec<Value>| json!({"type": "llm_call", "messages": messages, "output": "ok then", "tokens_out": 4});
    let told = format!("The answer is {GOLD}");
    let block = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": page}]});
    for (step, want) in [
        (ask(vec![user.clone(), tool(&key)]), &["AUD-1 with_question"][..]),
        (ask(vec![user.clone(), own(&told)]), &["AUD-3 given_as_answer"]),
        (ask(vec![user.clone(), own(&told), user.clone()]), &["AUD-3 gap"]),
        // A history that no other step shows is still one.
        (ask(vec![user.clone(), own("I will search."), tool(&page), own(&told), user.clone()]), &[]),
        (ask(vec![user.clone(), block, own(&told)]), &[]),
        (ask(vec![json!({"role": "user", "content": "What is 1+1?"}), own("FINAL ANSWER: 2"), user.clone()]), &[]),
        (json!({"type": "llm_call", "messages": [user, own(&told)]}), &[]),
        (json!({"type": "message", "role": "assistant", "content": told}), &[]),
    ] {
        check(&Run::with(&[step]), want);
    }
}

#[test]
fn counts_that_contradict_each_other_or_are_none_do_not_pass() {
    let honest = || Run::with(&[]);
    let silent = |tokens: Value| {
        Run::of(&[
            json!({"type": "prompt", "content": QUESTION}),
            json!({"type": "llm_call", "input": QUESTION, "output": "", "tokens_out": tokens}),
        ])
    };
    let patched = |member: &str, value: Value| {
        let mut run = honest();
        run.result[member] = value;
        run
    };
    check(&honest(), &[]);
    check(&silent(json!(0)), &["AUD-2 no_output_tokens"]);
    check(&silent(json!("0")), &["AUD-2 no_output_tokens"]);
    check(&silent(json!(-5)), &["AUD-2 gap"]);
    check(&patched("outputTokens", json!("0")), &["AUD-2 no_output_tokens"]);
    check(&patched("outputTokens", json!("60")), &[]);
    check(&patched("outputTokens", json!(-5)), &["AUD-2 gap", "AUD-10 not_a_number"]);
    check(&patched("turns", json!("three")), &["AUD-2 gap", "AUD-10 not_a_number"]);
    check(&patched("wallMs", json!("soon")), &["AUD-10 not_a_number"]);
    let mut run = patched("outputTokens", json!(3));
    run.trajectory["steps"][1]["tokens_out"] = json!(90_000);
    check(&run, &["AUD-2 tokens_contradicted"]);
    for (value, want) in [
        (json!("50"), &["AUD-6 contradicted"][..]),
        (json!(["a", "b"]), &["AUD-6 contradicted"]),
        (json!("many"), &["AUD-6 not_a_count"]),
        (json!(1), &[]),
        (json!(null), &[]),
    ] {
        check(&patched("attempts", value.clone()), want);
        check(&patched("votes", value.clone()), want);
        let mut run = honest();
        run.trajectory["attempts"] = value;
        check(&run, want);
    }
    for (name, value, want) in [
        ("pass_rate", json!("NaN"), &["AUD-8 claim_malformed"][..]),
        ("pass_rate", json!("inf"), &["AUD-8 claim_malformed"]),
        ("pass_rate", json!("0.5"), &["AUD-8 total_differs"]),
        ("pass_rate", json!("100%"), &[]),
        ("total_questions", json!("1"), &[]),
        ("accuracy", json!({"level1": 1}), &[]),
    ] {
        let mut run = honest();
        run.metadata[name] = value;
        check(&run, want);
    }
}

#[test]
fn moments_run_forward_and_the_revision_is_recorded() {
    let times = |first: Value, second: Value| {
        let mut run = Run::with(&[]);
        run.trajectory["steps"][0]["timestamp"] = first;
        run.trajectory["steps"][1]["timestamp"] = second;
        run
    };
    check(&times(json!("2026-07-03T10:00:00Z"), json!("2026-07-03T10:00:05Z")), &[]);
    check(&times(json!("2026-07-03T10:00:05Z"), json!("2026-07-03T10:00:00Z")), &[]);
    check(&times(json!("2026-07-03T10:00:00Z"), json!("2026-07-03T09:00:00Z")), &["AUD-10 time_runs_backwards"]);
    check(&times(json!(1_783_072_800), json!(1_799_072_800)), &["AUD-10 implausible_span"]);
    let mut late = times(json!("2026-07-03T10:00:00Z"), json!("2026-07-03T10:00:05Z"));
    late.metadata["submitted_at"] = json!("2026-06-01T00:00:00Z");
    check(&late, &["AUD-10 after_submission"]);
    let mut run = Run::with(&[]);
    run.metadata["dataset_revision"] = json!(null);
    check(&run, &["AUD-7 revision_not_recorded"]);
}
