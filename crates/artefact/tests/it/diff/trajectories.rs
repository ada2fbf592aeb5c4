//! Runs of agents compared: attempts, votes, and what differs in how answers were earned.

use super::*;
use proofmark_artefact::diff::{TrajectoryChange, TrajectoryKind};
use proofmark_artefact::record::{Voting, VotingRule};
use proofmark_artefact::trajectory::StopReason;

const KEY: &str = "capitals/fr/small/raw/0";

fn call(name: &str, args: &str) -> Step {
    Step::tool_call(name, &Value::from(args)).unwrap()
}

fn result(name: &str, text: &str) -> Step {
    Step::tool_result(name, text.as_bytes(), None, false, None, None)
}

fn output(text: &str, tokens: u64) -> Step {
    Step::model_output(text, Some(Usage { input_tokens: tokens, output_tokens: 2 }))
}

/// Every sample was worked at by an agent, `attempts` times.
fn agents(attempts: u32) -> Run {
    let mut run = Run::new();
    let mut all = Vec::new();
    for record in &mut run.records {
        record.turns = 2 * attempts;
        record.tool_calls = 2 * attempts;
        for attempt in 0..attempts {
            let mut line = trajectory(record);
            line.attempt = (attempts > 1).then_some(attempt);
            line.stop = Some(StopReason::Answered);
            line.turns = 2;
            line.steps = vec![
                Step::prompt(Role::User, "?"),
                output("let me see", 10),
                call("search", "capital"),
                result("search", "a list"),
                call("fetch", "page"),
                result("fetch", "a page"),
                output("so it is", 20),
            ];
            all.push(line);
        }
        if attempts > 1 {
            let answers = vec![record.output.as_ref().map(|output| output.text.clone()); attempts as usize];
            record.voting = Some(Voting { answers, chosen: Some(0), rule: VotingRule::Majority, votes: attempts });
        }
    }
    run.trajectories = Some(all);
    run
}

/// Edits one attempt at the sample.
fn edit(mut run: Run, attempt: usize, edit: impl FnOnce(&mut Trajectory)) -> Run {
    let lines = run.trajectories.as_mut().unwrap();
    edit(lines.iter_mut().filter(|line| line.key.as_str() == KEY).nth(attempt).unwrap());
    run
}

fn kinds(comparison: &Comparison) -> String {
    let kinds: Vec<String> =
        comparison.trajectory_kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    kinds.join(", ")
}

fn of_first(comparison: &Comparison) -> &TrajectoryChange {
    assert_eq!(comparison.changes[0].key.as_str(), KEY);
    comparison.changes[0].trajectory.as_ref().unwrap()
}

#[test]
fn runs_of_agents_with_and_without_votes_are_identical_to_their_copies() {
    for attempts in [1, 3] {
        let comparison = compare(&agents(attempts), &agents(attempts));
        assert!(comparison.identical && comparison.changed == 0 && comparison.trajectory_kinds.is_empty());
        assert_eq!((comparison.matched, comparison.unchanged), (6, 6));
    }
}

#[test]
fn every_kind_is_counted_told_and_gated() {
    type Edit = fn(&mut Trajectory);
    let edits: [(Edit, &str); 9] = [
        (|t| t.steps[2] = call("look", "capital"), "tools 1"),
        (|t| t.steps.swap(2, 4), "order 1"),
        (|t| t.steps[2] = call("search", "town"), "arguments 1"),
        (|t| t.steps[3] = result("search", "nothing"), "results 1"),
        (|t| t.steps[1] = output("hm", 10), "outputs 1"),
        (|t| t.steps[0] = Step::prompt(Role::User, "!"), "prompts 1"),
        (|t| t.turns = 3, "turns 1"),
        (|t| t.stop = Some(StopReason::MaxTurns), "stop 1"),
        (|t| t.final_answer = Some("Lyon".to_owned()), "answer 1"),
    ];
    for (change, want) in edits {
        for (attempts, at) in [(1, 0), (3, 2)] {
            for suite in ["one", "two"] {
                let mut b = edit(agents(attempts), at, change);
                b.suite = suite;
                let comparison = compare(&agents(attempts), &b);
                assert_eq!((found(&comparison).as_str(), kinds(&comparison).as_str()), ("trajectory_changed 1", want));
                let told = of_first(&comparison);
                assert_eq!(told.kinds.len(), 1);
                assert_eq!(diff::gate(&comparison, &gates(&["trajectory"]))[0].message, format!("1 sample ({want})"));
                assert!(diff::gate(&comparison, &gates(&["regressions"])).is_empty());
                // The test's manifest names no agent; with votes or without, the kinds are there.
                assert!(format::text(&comparison, &[], &Default::default()).contains(want));
            }
        }
    }
}

#[test]
fn what_differs_is_told_by_attempt_and_in_every_format() {
    let b = edit(agents(3), 1, |line| {
        line.steps[2] = call("search", "a\u{1b}[31m town");
        line.steps.truncate(4);
        line.turns = 1;
        line.stop = Some(StopReason::MaxTurns);
        line.final_answer = None;
        line.no_answer = Some("it had no turns left".to_owned());
    });
    let dir = TempDir::new().unwrap();
    let [a, b] = [("a", agents(3)), ("b", b)].map(|(name, run)| {
        let dir = dir.path().join(name);
        run.write(&dir);
        // Only a manifest that discloses votes or agents has its trajectories read once more.
        let mut manifest = RunDir::open(&dir).unwrap().manifest().clone();
        manifest.sampling.voting_attempts = Some(3);
        put(&dir.join(names::MANIFEST), &proofmark_canon::to_vec(&manifest).unwrap());
        RunDir::open(&dir).unwrap()
    });
    let comparison = diff::diff(&a, &b, &Options::default()).unwrap();
    let told: Vec<String> = of_first(&comparison)
        .differences
        .iter()
        .map(|it| format!("{} {:?}: {:?} {:?}", it.kind, it.attempt, it.a.as_deref(), it.b.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            r#"tools Some(1): Some("search, fetch") Some("search")"#,
            r#"arguments Some(1): Some("call 1: search \"capital\"") Some("call 1: search \"a\\u001b[31m town\"")"#,
            r#"turns Some(1): Some("2") Some("1")"#,
            r#"stop Some(1): Some("answered") Some("max_turns")"#,
            r#"answer Some(1): Some("Paris") Some("none: it had no turns left")"#,
        ]
    );
    let text = format::text(&comparison, &[], &Default::default());
    assert!(text.contains("steps     differ in tools, arguments, turns, stop, answer"), "{text}");
    assert!(text.contains("tools     attempt 1: search, fetch → search"), "{text}");
    assert!(!text.contains('\u{1b}'));
    let markdown = format::markdown(&comparison, &[], 5);
    assert!(markdown.contains("- attempt 1, stop: answered\n+ attempt 1, stop: max_turns"), "{markdown}");
    let json = format::json(&comparison, &[]).unwrap();
    assert!(json.contains(r#""kinds":["tools","arguments","turns","stop","answer"]"#), "{json}");
    let github = format::github(&comparison, &gates(&["trajectory"]), &[]);
    assert!(github.contains("steps differ in tools, arguments, turns, stop, answer"), "{github}");
}

#[test]
fn another_vote_and_another_number_of_attempts_are_trajectory_changes() {
    let vote = |record: &mut Record| record.voting.as_mut().unwrap().chosen = Some(2);
    let comparison = compare(&agents(3), &agents(3).change(KEY, vote));
    assert_eq!((found(&comparison).as_str(), kinds(&comparison).as_str()), ("trajectory_changed 1", "chosen 1"));
    let told = &of_first(&comparison).differences[0];
    assert_eq!(told.kind, TrajectoryKind::Chosen);
    assert!(told.b.as_deref().unwrap().starts_with("attempt 2 counts: "), "{told:?}");
    let comparison = compare(&agents(3), &agents(2));
    assert_eq!(comparison.counts.trajectory_changed, 6);
    assert_eq!(kinds(&comparison), "attempts 6, chosen 6, tools 6, turns 6");
    let comparison = compare(&agents(1), &agents(3));
    assert_eq!(kinds(&comparison), "attempts 6, tools 6, turns 6");
}

#[test]
fn other_tokens_of_a_turn_are_usage_and_no_other_trajectory() {
    let b = edit(agents(1), 0, |line| line.steps[1] = output("let me see", 11));
    let comparison = compare(&agents(1), &b);
    assert_eq!((found(&comparison).as_str(), kinds(&comparison).as_str()), ("usage_changed 1", ""));
    assert!(comparison.changes[0].trajectory.is_none());
}

#[test]
fn steps_that_are_none_are_an_error_with_their_line() {
    let dir = TempDir::new().unwrap();
    let (a, b) = (agents(1).write(&dir.path().join("a")), agents(1).write(&dir.path().join("b")));
    let path = b.file(names::TRAJECTORIES);
    let text = std::fs::read_to_string(&path).unwrap();
    put(&path, text.replacen("\"type\":\"tool_call\"", "\"type\":\"tool_fall\"", 1).as_bytes());
    let error = diff::diff(&a, &b, &Options::default()).unwrap_err();
    assert!(matches!(&error, DiffError::Shape { line: 1, .. }), "{error}");
}
