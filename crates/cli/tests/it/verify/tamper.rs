//! Bytes that are flipped, deleted, inserted and cut off, in every file of planes 1 and 2.

use std::fs;
use std::path::Path;

use proofmark_artefact::replay::Answer;
use proofmark_canon::seed::Stream;
use proofmark_testkit::command::TestEnv;

use super::{climb_two, live_run, picture_run};

/// Every file of a run directory, by its name in it.
fn files(env: &TestEnv) -> Vec<(String, Vec<u8>)> {
    env.tree("run").files().into_iter().map(|(name, bytes)| (name, bytes.to_vec())).collect()
}

/// Panics when rungs 1 and 2 do not find an edit, or do not name its file.
#[track_caller]
fn assert_found(env: &TestEnv, name: &str, what: &str) {
    let (outcome, shown) = climb_two(&env.path("run"));
    assert_ne!(outcome.answer, Answer::Holds, "{what} in {name} was not found\n{shown}");
    let named = shown.lines().filter(|line| !line.starts_with("  ok ")).any(|line| line.contains(name));
    assert!(named, "{what} in {name} does not name it\n{shown}");
}

/// Edits a file at chosen places, in the four ways in which bytes can change.
fn edit_everywhere(env: &TestEnv, seed: u64, places: usize) -> usize {
    let mut stream = Stream::new("verify.tamper", &[&seed.to_be_bytes()]);
    let mut edits = 0;
    for (name, whole) in files(env) {
        let path = env.path("run").join(&name);
        let put = |bytes: &[u8]| proofmark_testkit::tree::put(&path, bytes);
        for _ in 0..places {
            let at = stream.next_below(whole.len() as u64) as usize;
            let bit = 1u8 << stream.next_below(8);
            let mut flipped = whole.clone();
            flipped[at] ^= bit;
            let mut deleted = whole.clone();
            deleted.remove(at);
            let mut inserted = whole.clone();
            inserted.insert(at, whole[stream.next_below(whole.len() as u64) as usize]);
            let cut = &whole[..at];
            for (what, bytes) in
                [("a flip", &flipped[..]), ("a deletion", &deleted), ("an insertion", &inserted), ("a cut", cut)]
            {
                // A byte put beside its like changes nothing but the length, which is a change.
                put(bytes);
                assert_found(env, &name, &format!("{what} at byte {at}"));
                edits += 1;
            }
        }
        fs::remove_file(&path).unwrap();
        assert_found(env, &name, "a removal");
        put(&whole);
        edits += 1;
    }
    let (outcome, shown) = climb_two(&env.path("run"));
    assert_eq!((outcome.answer, outcome.reached), (Answer::Holds, 2), "{shown}");
    edits
}

#[test]
fn a_changed_byte_in_any_file_of_a_run_is_found_and_its_file_named() {
    let env = live_run();
    let names: Vec<String> = files(&env).into_iter().map(|(name, _)| name).collect();
    let all = [
        "config.resolved.yaml",
        "manifest.json",
        "records.jsonl",
        "report.html",
        "report.md",
        "report.replay.json",
        "summary.json",
        "telemetry.jsonl",
        "trajectories.jsonl",
    ];
    assert_eq!(names, all);
    let edits = edit_everywhere(&env, 1, 8);
    assert!(edits >= 200, "{edits}");
}

#[test]
fn a_changed_byte_of_a_picture_is_found_and_its_file_named() {
    let env = picture_run();
    assert_eq!(files(&env).iter().filter(|(name, _)| name.starts_with("outputs/")).count(), 2);
    edit_everywhere(&env, 2, 3);
    // One that nobody pinned.
    let extra = format!("outputs/{}.png", proofmark_canon::Digest::of(b"x").hex());
    env.put(&format!("run/{extra}"), b"x");
    assert_found(&env, &extra, "an addition");
}

/// Replaces the first text in a file that follows a mark.
fn replace(env: &TestEnv, name: &str, from: &str, to: &str) {
    let text = env.text(&format!("run/{name}"));
    assert!(text.contains(from), "{name} has no {from}");
    env.put(&format!("run/{name}"), text.replacen(from, to, 1));
}

#[test]
fn a_score_a_total_a_request_id_and_a_number_of_the_report_are_found() {
    let env = live_run();
    let whole = files(&env);
    let ids = env.text("run/report.replay.json");
    let first_id = ids.split("\"provider_request_ids\":[\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let last = first_id.chars().last().unwrap();
    let other_id = format!("{}{}", &first_id[..first_id.len() - 1], if last == '0' { '1' } else { '0' });
    let two: Vec<&str> = ids.split("\"provider_request_ids\":[").nth(1).unwrap().split(',').take(2).collect();
    let swapped = format!("{},{}", two[1], two[0]);
    for (name, from, to) in [
        ("records.jsonl", "\"passed\":true", "\"passed\":false"),
        ("records.jsonl", "\"value\":1", "\"value\":0"),
        ("summary.json", "\"passed\":", "\"passed\":1"),
        ("manifest.json", "\"record_count\":48", "\"record_count\":47"),
        ("report.replay.json", first_id.as_str(), other_id.as_str()),
        ("report.replay.json", &two.join(","), &swapped),
        ("report.replay.json", "\"argv\":[\"", "\"argv\":[\"x"),
        ("report.replay.json", "\"invoked_at\":\"20", "\"invoked_at\":\"19"),
        ("report.replay.json", "\"toolchain\":\"", "\"toolchain\":\"x"),
        ("report.replay.json", "\"n\":1", "\"n\":2"),
        ("report.replay.json", "\"submittable\":true", "\"submittable\":false"),
        ("report.replay.json", "{\"argv\"", "{\"added\":1,\"argv\""),
        ("report.md", "## Results", "## Result"),
        ("report.md", "| 12 |", "| 13 |"),
        ("telemetry.jsonl", "\"status\":200", "\"status\":201"),
        ("report.html", "<title>", "<title>x"),
    ] {
        replace(&env, name, from, to);
        assert_found(&env, name, &format!("{from} to {to}"));
        whole.iter().for_each(|(name, bytes)| env.put(&format!("run/{name}"), bytes));
    }
    env.run(&["verify", "run"]).expect(0).says(&["verdict: holds", "reached: rung 3 of 5 (scores)"]);
}

#[test]
fn the_program_finds_what_the_library_finds() {
    let env = live_run();
    let before = env.tree("run");
    for name in ["records.jsonl", "report.html", "telemetry.jsonl", "report.replay.json"] {
        let whole = env.bytes(&format!("run/{name}"));
        env.put(&format!("run/{name}"), &whole[..whole.len() - 1]);
        let ran = env.run(&["verify", "run"]);
        assert_ne!(ran.code, 0, "{ran}");
        assert!(ran.stdout.lines().any(|line| line.starts_with("  FAIL  ") && line.contains(name)), "{ran}");
        env.put(&format!("run/{name}"), &whole);
    }
    // And leaves everything as it is.
    assert!(before.changes(&env.tree("run")).is_empty());
    assert!(!Path::new("run").exists());
}
