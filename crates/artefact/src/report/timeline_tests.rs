//! What is kept of trajectories, and how it looks.

use super::*;
use crate::manifest::{AgentEntry, PriceEntry};
use crate::record::{Record, Role, Status, Voting, VotingRule};
use crate::report::{fixture, render};
use crate::store::write_atomic;
use crate::suite::solver::Protocol;
use crate::trajectory::{Form, Hit, Scan};
use proofmark_canon::Value;

/// A manifest whose first task an agent worked at.
fn manifest() -> Manifest {
    let mut manifest = fixture::manifest();
    manifest.evidence.recorded = true;
    manifest.tasks[0].agent = Some(AgentEntry { protocol: Protocol::Native, tools: Vec::new() });
    manifest.models[0].price = Some(PriceEntry { as_of: None, input: 1.0, output: 10.0 });
    manifest
}

fn result(name: &str, content: &[u8]) -> Step {
    Step::tool_result(name, content, None, false, None, None)
}

fn trajectory(record: &Record, attempt: Option<u32>, steps: Vec<Step>) -> Trajectory {
    Trajectory {
        attempt,
        final_answer: Some("Paris".to_owned()),
        key: record.key.clone(),
        model: record.model.clone(),
        no_answer: None,
        run_id: record.run_id,
        steps,
        stop: Some(StopReason::Submitted),
        task_id: record.task.clone(),
        turns: 2,
        usage: Usage { input_tokens: 1000, output_tokens: 200 },
    }
}

fn page(records: &[Record], trajectories: &[Trajectory]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let line = |trajectory| [proofmark_canon::to_vec(trajectory).unwrap(), vec![b'\n']].concat();
    let bytes: Vec<u8> = trajectories.iter().flat_map(line).collect();
    write_atomic(&dir.path().join(names::TRAJECTORIES), &bytes).unwrap();
    let mut out = Vec::new();
    render(&manifest(), &fixture::summary(), &fixture::selection(records), dir.path(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_timeline_shows_every_kind_of_step_and_escapes_it() {
    let record = fixture::record(0, Status::Success, Some(true));
    let scan = Scan { gold: vec![Hit { form: Form::Verbatim, length: 5, offset: 123 }], ..Scan::default() };
    let mut found = result("web_<b>fetch", "Paris & more".as_bytes());
    let Step::ToolResult { scan: place, source, .. } = &mut found else { panic!() };
    *place = Some(scan);
    *source = Some("https://example.org/?a=<1>".to_owned());
    let steps = vec![
        Step::prompt(Role::System, "You are \u{202e}an agent"),
        Step::prompt(Role::User, "<script>alert(1)</script>"),
        Step::model_output("I shall look", Some(Usage { input_tokens: 300, output_tokens: 100 })),
        Step::tool_call("web_<b>fetch", &Value::from("<i>")).unwrap(),
        found,
        Step::tool_result("python", b"\xff\x00", None, true, Some("timeout"), None),
        Step::model_output("", None),
        result("python", b""),
    ];
    let page = page(std::slice::from_ref(&record), &[trajectory(&record, None, steps)]);
    for text in [
        "<strong>Trajectory</strong> <span class=\"quiet\">2 turns, 1 tool call, 1,000 tokens in, 200 out, US$ 0.0030; stopped: it handed its answer in</span>",
        "<strong>system</strong>",
        "You are \u{27e8}U+202E\u{27e9}an agent",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "<strong>Turn 1</strong> <span class=\"quiet\">300 tokens in, 100 out, US$ 0.0013</span>",
        "calls <code>web_&lt;b&gt;fetch</code>",
        "&quot;&lt;i&gt;&quot;",
        "from <bdi>https://example.org/?a=&lt;1&gt;</bdi>",
        "the gold answer stands in this result at byte 123, verbatim",
        "<span class=\"bad\">error: timeout</span>",
        "not text",
        "<strong>Turn 2</strong>",
        "says nothing",
        "<strong>Final answer</strong>",
        "<code>trajectories.jsonl</code> by fixed rules",
    ] {
        assert!(page.contains(text), "{text}\n{page}");
    }
    assert!(!page.contains("<script>alert") && !page.contains("<b>fetch"));
    // The policy names the style sheet that is there.
    assert!(page.contains("<ol class=\"steps\">") && page.contains(".steps > li"));
}

#[test]
fn all_attempts_are_shown_with_the_one_that_counts() {
    let mut record = fixture::record(0, Status::Success, Some(true));
    let answers = vec![Some("Lyon".to_owned()), None, Some("Paris".to_owned())];
    record.voting = Some(Voting { answers, chosen: Some(2), rule: VotingRule::TieLast, votes: 1 });
    let mut lines: Vec<Trajectory> =
        (0..3).map(|attempt| trajectory(&record, Some(attempt), vec![Step::model_output("so", None)])).collect();
    lines[1].final_answer = None;
    lines[1].no_answer = Some("it never said <answer>".to_owned());
    lines[1].stop = Some(StopReason::MaxTurns);
    let page = page(std::slice::from_ref(&record), &lines);
    for text in [
        "attempt 2 counts: several answers had as many votes, and the last one counts (1 of 3 attempts)",
        "<li class=\"chosen\"><bdi>Paris</bdi> <span class=\"good\">counts</span></li>",
        "<li><span class=\"quiet\">no answer</span></li>",
        "<strong>Attempt 0</strong> <span class=\"quiet\">",
        "<strong>Attempt 2</strong> <span class=\"good\">counts</span>",
        "stopped: it had no turns left",
        "it never said &lt;answer&gt;",
    ] {
        assert!(page.contains(text), "{text}\n{page}");
    }
    assert_eq!(page.matches("<details class=\"course\">").count(), 3);
}

#[test]
fn long_trajectories_keep_both_ends_and_the_page_stays_small() {
    let records: Vec<Record> = (0..4).map(|at| fixture::record(at, Status::Success, Some(false))).collect();
    let long = "x".repeat(4096);
    let steps = || (0..3000).map(|at| result("t", format!("{at} {long}").as_bytes())).collect::<Vec<_>>();
    let lines: Vec<Trajectory> = records.iter().map(|record| trajectory(record, None, steps())).collect();
    let page = page(&records, &lines);
    assert!(page.len() < 4 * (SAMPLE + STEPS * 400) + 64_000, "{}", page.len());
    assert!(page.contains("2,880 steps left out"));
    for kept in [0, 79, 2960, 2999] {
        assert!(page.contains(&format!("<pre>\n{kept} x")), "{kept}");
    }
    assert!(!page.contains("<pre>\n80 x") && !page.contains("<pre>\n2959 x"));
}

#[test]
fn any_number_of_attempts_takes_no_more_room_than_one() {
    let mut record = fixture::record(0, Status::Success, Some(true));
    record.voting = Some(Voting { answers: vec![None; 60], chosen: Some(57), rule: VotingRule::Majority, votes: 1 });
    let steps = || (0..200).map(|_| result("t", &[b'y'; 4096])).collect::<Vec<_>>();
    let lines: Vec<Trajectory> = (0..60).map(|attempt| trajectory(&record, Some(attempt), steps())).collect();
    let page = page(std::slice::from_ref(&record), &lines);
    assert_eq!(page.matches("<details class=\"course\">").count(), 9);
    assert!(page.contains("<strong>Attempt 57</strong>") && !page.contains("<strong>Attempt 8</strong>"));
    assert!(page.len() < SAMPLE + 9 * STEPS * 400 + 64_000, "{}", page.len());
}

#[test]
fn bad_lines_and_strangers_are_passed_over() {
    let record = fixture::record(0, Status::Success, Some(true));
    let dir = tempfile::tempdir().unwrap();
    let good = proofmark_canon::to_vec(&trajectory(&record, None, Vec::new())).unwrap();
    let mut other = trajectory(&record, None, Vec::new());
    other.key = proofmark_canon::SampleKey::new("x", "y", "z", "c", 0);
    let other = proofmark_canon::to_vec(&other).unwrap();
    let bytes = [b"{}\n[1]\nnot json\n".to_vec(), other, b"\n".to_vec(), good, b"\n{\"key\":\"".to_vec()].concat();
    write_atomic(&dir.path().join(names::TRAJECTORIES), &bytes).unwrap();
    let selection = fixture::selection(std::slice::from_ref(&record));
    let found = Timelines::read(dir.path(), &manifest(), &selection).unwrap();
    assert_eq!((found.0.len(), found.at(0).len(), found.at(1).len()), (1, 1, 0));
}

#[test]
fn single_questions_and_runs_without_evidence_have_none_to_show() {
    let record = fixture::record(0, Status::Success, Some(true));
    let selection = fixture::selection(std::slice::from_ref(&record));
    let dir = tempfile::tempdir().unwrap();
    let read = |manifest: &Manifest| Timelines::read(dir.path(), manifest, &selection).unwrap().is_empty();
    assert!(read(&manifest()), "the file is not there");
    let bytes = [proofmark_canon::to_vec(&trajectory(&record, None, Vec::new())).unwrap(), vec![b'\n']].concat();
    write_atomic(&dir.path().join(names::TRAJECTORIES), &bytes).unwrap();
    assert!(!read(&manifest()));
    let mut without = manifest();
    without.evidence.recorded = false;
    assert!(read(&without));
    let mut single = manifest();
    single.tasks[0].agent = None;
    assert!(read(&single));
}
