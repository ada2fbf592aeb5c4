//! What an unfinished run refuses to go on with, and who may write into a directory.

use std::process::Command;

use proofmark_canon::{Digest, RunId, seed};
use proofmark_testkit::command::{Ran, TestEnv};

use crate::support::{WITNESS, assert_same_run, empty, json, run_id, small};

const SUITE: &str = r#"name: unfinished
sampling: {n: 2}
models:
  - {id: echo, model: "offline:echo", params: {latency_ms: 8}}
  - {id: noisy, model: "offline:noisy", params: {latency_ms: 8}}
tasks:
  - id: words
    dataset: {format: jsonl, path: words.jsonl, id: id}
    prompt: {file: prompt.md}
    scorers: [{type: includes}]
  - id: numbers
    dataset: {format: csv, path: numbers.csv, id: id, target: value}
    prompt: "{{ text }}"
    scorers: [{type: numeric}]
evidence: {record: true}
"#;
const SAMPLES: usize = 160;
const JOURNAL: &str = "run/.proofmark/journal.jsonl";
const HEADER: &str = "run/.proofmark/run.json";
const RESUME: [&str; 5] = ["run", "suite.yaml", "--run-dir", "run", "--resume"];

fn suite() -> TestEnv {
    let env = empty();
    env.put("suite.yaml", SUITE);
    env.put("prompt.md", "Say {{ input }}");
    let words = (0..20).map(|at| format!("{{\"id\":\"w{at}\",\"input\":\"word {at}\",\"target\":\"word {at}\"}}\n"));
    env.put("words.jsonl", words.collect::<String>());
    let numbers = (0..20).map(|at| format!("n{at},the number {at},{at}\n"));
    env.put("numbers.csv", format!("id,text,value\n{}", numbers.collect::<String>()));
    env
}

/// A suite with a run that was killed when about half of its answers had come.
fn unfinished() -> TestEnv {
    let env = suite();
    let journal = env.path(JOURNAL);
    let enough =
        || std::fs::read(&journal).is_ok_and(|bytes| bytes.iter().filter(|byte| **byte == b'\n').count() >= 70);
    // A busy machine can miss the moment; then the run is made again.
    for _ in 0..5 {
        let run = ["run", "suite.yaml", "--run-dir", "run", "--concurrency", "4", "--overwrite"];
        if env.call(&run).start().kill_when(enough) {
            return env;
        }
    }
    panic!("five runs ended before they could be killed");
}

/// Finishes the unfinished run and compares it with one that was never interrupted.
fn assert_still_resumes(env: &TestEnv) -> Ran {
    let ran = env.run(&RESUME).expect(0);
    env.run(&["run", "suite.yaml", "--run-dir", "whole"]).expect(0);
    assert_same_run(&env.path("whole"), &env.path("run"), "after refusals");
    ran
}

/// Runs a command that must be refused without a trace.
#[track_caller]
fn refuse(env: &TestEnv, arguments: &[&str], complaints: &[&str]) {
    let before = env.tree("");
    let ran = env.run(arguments).expect(2).complains(complaints);
    let changes = before.changes(&env.tree(""));
    assert!(changes.is_empty(), "a refusal changed {changes:?}: {ran}");
    assert!(ran.stdout.is_empty(), "{ran}");
}

#[test]
fn a_changed_input_is_refused_and_changes_nothing() {
    let env = unfinished();
    let moved = "the suite, a dataset or an asset changed since; put it back, or start anew with `--overwrite`";
    for (name, from, to) in [
        ("suite.yaml", "n: 2", "n: 3"),
        ("suite.yaml", "name: unfinished", "name: renamed"),
        ("suite.yaml", "type: includes", "type: exact"),
        ("words.jsonl", "word 19", "word 20"),
        ("words.jsonl", "{\"id\":\"w0\"", "{ \"id\":\"w0\""),
        ("numbers.csv", "n3,the", "n3,The"),
        ("prompt.md", "Say", "Repeat"),
    ] {
        let before = env.text(name);
        assert!(before.contains(from), "{name} lacks {from}");
        env.put(name, before.replacen(from, to, 1));
        refuse(&env, &RESUME, &["error: `run` holds the unfinished run ", ", but the suite now gives ", moved]);
        env.put(name, before);
    }
    for flags in [["--max-items", "3"], ["--only", "task=words"], ["--record-evidence=false", "--concurrency=2"]] {
        refuse(&env, &[&RESUME[..], &flags].concat(), &["holds the unfinished run", moved]);
    }
    assert_still_resumes(&env).says(&["of them resumed"]);
}

#[test]
fn an_edited_journal_is_refused_and_left_as_it_is() {
    let env = unfinished();
    let whole = env.text(JOURNAL);
    let lines: Vec<&str> = whole.lines().collect();
    let with_line = |at: usize, line: &str| {
        let mut lines = lines.clone();
        lines[at] = line;
        format!("{}\n", lines.join("\n"))
    };
    let edit = |at: usize, from: &str, to: &str| {
        assert!(lines[at].contains(from), "{}", lines[at]);
        with_line(at, &lines[at].replacen(from, to, 1))
    };
    let answered = lines.iter().position(|line| line.contains("\"text\":\"Say word")).unwrap();
    let was_changed = format!("error: line {} of the journal `{JOURNAL}` was changed: its digest is", answered + 1);
    let hint = "hint: the run directory was changed by something else; start anew with `--overwrite`";
    let twice = format!("{whole}{}\n", lines[3]);
    let other = {
        // The same suite with another seed: every line is whole, but belongs to another run.
        let other = suite();
        other.put("suite.yaml", SUITE.replace("name: unfinished", "name: unfinished\nseed: 9"));
        let journal = other.path(JOURNAL);
        let running = other.call(&["run", "suite.yaml", "--run-dir", "run"]).start();
        assert!(running.kill_when(|| std::fs::metadata(&journal).is_ok_and(|file| file.len() > 4000)));
        other.text(JOURNAL)
    };
    let cases: Vec<(&str, String, Vec<&str>)> = vec![
        ("an answer", edit(answered, "Say word", "Say ward"), vec![&was_changed]),
        ("a token count", edit(answered, "\"output_tokens\":", "\"output_tokens\":1"), vec![&was_changed]),
        ("a finish reason", edit(answered, "\"stop\"", "\"length\""), vec![&was_changed]),
        ("an ordinal", edit(answered, "\"ordinal\":", "\"ordinal\":9"), vec![&was_changed]),
        (
            "a fingerprint",
            edit(answered, "\"fingerprint\":\"sha256:", "\"fingerprint\":\"sha256:0"),
            vec!["of the journal"],
        ),
        ("a digest", edit(answered, "{\"digest\":\"sha256:", "{\"digest\":\"sha256:x"), vec!["is not an entry"]),
        ("an extra member", edit(answered, "\"ordinal\":", "\"note\":1,\"ordinal\":"), vec![&was_changed]),
        ("a duplicate", twice, vec!["answers sample ", "a second time"]),
        ("garbage", with_line(5, "\u{1b}[31mhello\0"), vec!["line 6 of the journal", "is not an entry"]),
        ("a list", with_line(5, "[]"), vec!["line 6 of the journal", "it has no digest or no entry"]),
        ("an empty line", with_line(5, ""), vec!["line 6 of the journal", "is not an entry"]),
        ("another run", other, vec!["line 1 of the journal", "was changed"]),
    ];
    for (what, text, complaints) in cases {
        env.put(JOURNAL, text);
        let before = env.tree("");
        let ran = env.run(&RESUME).expect(2).complains(&complaints).complains(&[hint]);
        assert!(before.changes(&env.tree("")).is_empty(), "{what}: {:?}", before.changes(&env.tree("")));
        assert!(!ran.stderr.contains('\u{1b}') && ran.stdout.is_empty(), "{what}: {ran}");
    }
    env.put(JOURNAL, &whole);
    assert_still_resumes(&env);
}

/// A journal line as the program would write it.
fn journal_line(run_id: &RunId, body: &str) -> String {
    let digest = seed::derive("proofmark.journal/1", &[run_id.as_bytes(), body.as_bytes()]);
    format!("{{\"digest\":\"{digest}\",\"entry\":{body}}}\n")
}

#[test]
fn an_answer_to_another_question_is_refused_even_when_its_digest_is_right() {
    let env = unfinished();
    let whole = env.text(JOURNAL);
    let run_id: RunId = json(&env, HEADER)["run_id"].as_str().unwrap().parse().unwrap();
    let entry = |ordinal: usize, fingerprint: Digest| {
        format!(
            "{{\"fingerprint\":\"{fingerprint}\",\"ordinal\":{ordinal},\"reply\":{{\"finish_reason\":\"stop\",\
             \"output\":{{\"text\":\"forged\"}},\"type\":\"answered\",\"usage\":{{\"input_tokens\":1,\"output_tokens\":1}}}}}}"
        )
    };
    let forged = journal_line(&run_id, &entry(SAMPLES - 1, Digest::of(b"another question")));
    // A torn end is cut off when a run goes on; not when it is refused.
    env.put(JOURNAL, format!("{whole}{forged}{{\"digest\":\"sha2"));
    refuse(&env, &RESUME, &["sample 159 (`numbers/n19/noisy/default/1`) was asked with other input", "--overwrite"]);
    let beyond = journal_line(&run_id, &entry(SAMPLES, Digest::of(b"")));
    env.put(JOURNAL, format!("{whole}{beyond}"));
    refuse(&env, &RESUME, &["answers sample 160, but the run has only 160"]);
    env.put(JOURNAL, whole);
    assert_still_resumes(&env);
}

#[test]
fn a_broken_header_is_refused_and_left_as_it_is() {
    let env = unfinished();
    let header = env.text(HEADER);
    let other = "0".repeat(32);
    let id = json(&env, HEADER)["run_id"].as_str().unwrap().to_owned();
    for (text, complaint) in [
        (String::new(), "does not say which run it belongs to"),
        ("\0\u{1b}[2J".to_owned(), "does not say which run it belongs to"),
        ("{}".to_owned(), "its version is not 2"),
        (header.replace("\"version\":2", "\"version\":1"), "its version is not 2"),
        (header.replace("run_id", "run"), "it has no run id"),
        (header.replace(&id, "xyz"), "does not say which run it belongs to"),
        (header.replace(&id, &other), "holds the unfinished run 00000000000000000000000000000000"),
        ("[".repeat(60_000), "does not say which run it belongs to"),
        (format!("{{\"x\":\"{}\"}}", "x".repeat(70_000)), "is larger than 65536 bytes"),
    ] {
        env.put(HEADER, text);
        refuse(&env, &RESUME, &[complaint]);
    }
    env.put(HEADER, header);
    assert_still_resumes(&env);
}

#[test]
fn an_entry_that_is_gone_is_asked_again() {
    let env = unfinished();
    let whole = env.text(JOURNAL);
    let left: String =
        whole.lines().enumerate().filter(|(at, _)| at % 7 != 3).map(|(_, line)| format!("{line}\n")).collect();
    let count = left.lines().count();
    env.put(JOURNAL, left);
    assert_still_resumes(&env).says(&[&format!("{count} of them resumed")]);
}

#[test]
fn a_directory_that_another_process_writes_is_refused() {
    let env = suite();
    env.put("suite.yaml", SUITE.replace("latency_ms: 8", "latency_ms: 100"));
    let mut running = env.call(&["run", "suite.yaml", "--run-dir", "run", "--concurrency", "8"]).start();
    let journal = env.path(JOURNAL);
    running.until(|| std::fs::metadata(&journal).is_ok_and(|file| file.len() > 0));
    for mode in [Some("--resume"), Some("--overwrite"), None] {
        let mut arguments = vec!["run", "suite.yaml", "--run-dir", "run"];
        arguments.extend(mode);
        let ran = env.run(&arguments).expect(2);
        ran.complains(&["error: another process is writing `run`", "hint: wait for it, or choose another `--run-dir`"]);
    }
    // Nothing of this reached the process that holds the directory.
    running.wait().expect(0);
    env.run(&["run", "suite.yaml", "--run-dir", "whole", "--concurrency", "64"]).expect(0);
    assert_same_run(&env.path("whole"), &env.path("run"), "a directory that others wanted");
}

#[test]
fn a_finished_run_is_complete_and_not_touched() {
    let env = suite();
    let run = ["run", "suite.yaml", "--run-dir", "run"];
    env.run(&run).expect(0);
    let before = env.tree("");
    let ran = env.run(&RESUME).expect(0).says(&["160 samples", "already complete"]);
    assert!(before.changes(&env.tree("")).is_empty(), "{ran}");
    let document = env.run(&[&RESUME[..], &["--format", "json"]].concat()).expect(0).json();
    assert_eq!((&document["was_complete"], &document["run_id"]), (&true.into(), &run_id(&env, "run").into()));
    refuse(&env, &run, &["error: `run` already holds a finished run", "replace it with `--overwrite`"]);
    env.put("prompt.md", "Repeat {{ input }}");
    refuse(&env, &RESUME, &["`run` holds the finished run ", ", but the suite now gives "]);
    env.put("prompt.md", "Say {{ input }}");
    env.put("run/summary.json", "{}");
    refuse(&env, &RESUME, &["cannot read the finished run", "summary.json"]);
}

#[test]
fn a_finished_run_with_errors_still_says_so_when_it_is_resumed() {
    let env = suite();
    env.put("suite.yaml", SUITE.replace("offline:noisy", "offline:faulty"));
    env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(1);
    env.run(&RESUME).expect(1).complains(&["60 of 160 samples errored"]);
}

#[test]
fn only_a_run_of_ours_is_ever_replaced() {
    let env = suite();
    env.put("thesis/chapter.tex", "years of work");
    env.put("site/manifest.json", "{\"name\":\"a web app\"}");
    env.put("site/records.jsonl", "mine");
    env.put("file", "a file");
    std::os::unix::fs::symlink("thesis", env.path("link")).unwrap();
    for mode in [None, Some("--overwrite"), Some("--resume")] {
        let run =
            |dir: &'static str| ["run", "suite.yaml", "--run-dir", dir].into_iter().chain(mode).collect::<Vec<_>>();
        for dir in ["thesis", "site", "link", "."] {
            refuse(
                &env,
                &run(dir),
                &["is not empty and is not a run of ours", "only run directories are ever overwritten"],
            );
        }
        refuse(&env, &run("file"), &["error: `file` is not a directory"]);
        refuse(&env, &run("file/run"), &["file/run"]);
        refuse(&env, &run(""), &["--run-dir"]);
    }
    refuse(&env, &RESUME, &["error: `run` holds no run to resume", "hint: run without `--resume`"]);
    refuse(&env, &[&RESUME[..], &["--overwrite"]].concat(), &["cannot be used with"]);
}

#[test]
fn a_run_of_ours_is_replaced_when_asked() {
    let env = unfinished();
    refuse(&env, &RESUME[..4], &["error: `run` already holds an unfinished run", "`--resume`", "`--overwrite`"]);
    // Notes that someone put beside the files are not ours to remove.
    env.put("run/notes.txt", "keep");
    env.run(&["run", "suite.yaml", "--run-dir", "whole"]).expect(0);
    let replace = ["run", "suite.yaml", "--run-dir", "run", "--overwrite"];
    env.run(&replace).expect(0);
    assert_same_run(&env.path("whole"), &env.path("run"), "over an unfinished run");
    env.put("prompt.md", "Repeat {{ input }}");
    env.run(&replace).expect(0);
    assert_ne!(run_id(&env, "run"), run_id(&env, "whole"));
    // A run without evidence leaves no trajectories of the one before.
    env.run(&[&replace[..], &["--record-evidence=false", "--skip-report"]].concat()).expect(0);
    let names = env.tree("run").names();
    let plane_1 = ["config.resolved.yaml", "manifest.json", "notes.txt", "records.jsonl"];
    assert_eq!(names, [&plane_1[..], &WITNESS, &["summary.json"]].concat());
}

#[test]
fn an_interrupt_stops_the_run_where_it_is() {
    let env = suite();
    env.put("suite.yaml", SUITE.replace("latency_ms: 8", "latency_ms: 30"));
    let mut running = env.call(&["run", "suite.yaml", "--run-dir", "run", "--concurrency", "4"]).start();
    let journal = env.path(JOURNAL);
    running.until(|| std::fs::metadata(&journal).is_ok_and(|file| file.len() > 2000));
    let sent = Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let ran = running.wait().expect(2).complains(&["error: interrupted after ", " of 160 samples"]);
    ran.complains(&["hint: go on with `proofmark run suite.yaml --run-dir run --resume`"]);
    assert_still_resumes(&env).says(&["of them resumed"]);
}

#[test]
fn a_report_of_an_interrupted_publication_does_not_stay_behind() {
    let env = small();
    env.run(&["run", "suite.yaml", "--run-dir", "r"]).expect(0);
    // The state after a kill between `report.html` and the manifest.
    std::fs::remove_file(env.path("r/manifest.json")).unwrap();
    std::fs::create_dir(env.path("r/.proofmark")).unwrap();
    env.run(&["run", "suite.yaml", "--run-dir", "r", "--resume", "--skip-report"]).expect(0);
    assert!(!env.path("r/report.html").exists());
    env.run(&["validate", "r"]).expect(0);
}
