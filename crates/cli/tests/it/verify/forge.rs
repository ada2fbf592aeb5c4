//! Edits by somebody who knows how a run is pinned and makes every digest right again: rung 3 finds them.

use std::path::Path;

use proofmark_artefact::manifest::Manifest;
use proofmark_artefact::rebuild::rebuild;
use proofmark_artefact::store::{RunDir, digest_file, names, write_atomic};
use proofmark_artefact::summary::Summary;
use proofmark_artefact::witness::{Block, markdown};
use proofmark_canon::json;
use proofmark_testkit::command::TestEnv;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::live_run;

fn load<T: DeserializeOwned>(dir: &Path, name: &str) -> T {
    serde_json::from_slice(&std::fs::read(dir.join(name)).unwrap()).unwrap()
}

fn save<T: Serialize>(dir: &Path, name: &str, value: &T) {
    let mut bytes = json::to_vec(value).unwrap();
    bytes.push(b'\n');
    write_atomic(&dir.join(name), &bytes).unwrap();
}

/// Makes every digest of a run right again, as somebody would who wants nothing to be noticed.
fn repin(dir: &Path) {
    let digest = |name: &str| digest_file(&dir.join(name)).unwrap().0;
    let mut manifest: Manifest = load(dir, names::MANIFEST);
    for (name, pin) in &mut manifest.artifacts {
        *pin = digest(name);
    }
    save(dir, names::MANIFEST, &manifest);
    let mut block: Block = load(dir, names::REPLAY);
    let summary: Summary = load(dir, names::SUMMARY);
    write_atomic(&dir.join(names::REPORT_MD), markdown::render(&block, &summary).unwrap().as_bytes()).unwrap();
    for (name, pin) in &mut block.artifacts {
        *pin = digest(name);
    }
    save(dir, names::REPLAY, &block);
}

/// Makes summary and page anew from the records that are there.
fn remake(dir: &Path) {
    let rebuilt = rebuild(&RunDir::open(dir).unwrap()).unwrap();
    write_atomic(&dir.join(names::SUMMARY), &rebuilt.summary).unwrap();
    write_atomic(&dir.join(names::REPORT_HTML), &rebuilt.report).unwrap();
}

/// Edits the records, and everything that follows from them.
fn forge_records(env: &TestEnv, edit: impl Fn(Vec<String>) -> Vec<String>) {
    let lines = env.text("run/records.jsonl").lines().map(ToOwned::to_owned).collect();
    env.put("run/records.jsonl", edit(lines).join("\n") + "\n");
}

#[test]
fn a_run_that_was_only_repinned_still_holds() {
    let env = live_run();
    let before = env.tree("run");
    remake(&env.path("run"));
    repin(&env.path("run"));
    assert!(before.changes(&env.tree("run")).is_empty());
}

#[test]
fn a_better_score_with_every_digest_made_right_is_found_by_scoring_again() {
    let env = live_run();
    let lines: Vec<String> = env.text("run/records.jsonl").lines().map(ToOwned::to_owned).collect();
    let line = lines.iter().position(|line| line.contains("\"passed\":false")).expect("an answer that failed");
    forge_records(&env, |mut lines| {
        lines[line] =
            lines[line].replace("\"passed\":false", "\"passed\":true").replace("\"value\":0}", "\"value\":1}");
        lines
    });
    remake(&env.path("run"));
    repin(&env.path("run"));
    env.run(&["verify", "run", "--rung", "2"]).expect(0).says(&["reached: rung 2 of 5 (artefacts)"]);
    let place = format!("FAIL  records.jsonl:{}: scores[0]", line + 1);
    let ran = env.run(&["verify", "run"]).expect(1);
    let ran = ran.says(&[&place, "reached: rung 2 of 5 (artefacts); rung 3 (scores) does not hold"]);
    let key = serde_json::from_str::<serde_json::Value>(&lines[line]).unwrap()["key"].as_str().unwrap().to_owned();
    assert!(ran.stdout.contains(&key), "{ran}");
}

#[test]
fn a_dropped_record_with_every_digest_made_right_is_named() {
    let env = live_run();
    let lines: Vec<String> = env.text("run/records.jsonl").lines().map(ToOwned::to_owned).collect();
    let dropped: serde_json::Value = serde_json::from_str(&lines[7]).unwrap();
    forge_records(&env, |mut lines| {
        lines.remove(7);
        lines
    });
    repin(&env.path("run"));
    let ran = env.run(&["verify", "run"]).expect(1);
    let key = dropped["key"].as_str().unwrap();
    assert!(ran.stdout.lines().any(|line| line.contains("FAIL  records.jsonl") && line.contains(key)), "{ran}");
}

#[test]
fn a_lying_total_with_every_digest_made_right_is_named() {
    let env = live_run();
    let mut summary: Summary = load(&env.path("run"), names::SUMMARY);
    summary.totals.counts.passed += 1;
    save(&env.path("run"), names::SUMMARY, &summary);
    repin(&env.path("run"));
    env.run(&["verify", "run", "--rung", "2"]).expect(0);
    let ran = env.run(&["verify", "run"]).expect(1);
    let named = |line: &str| line.starts_with("  FAIL  summary.json") && line.contains("totals.counts.passed");
    assert!(ran.stdout.lines().any(named), "{ran}");
}

#[test]
fn another_answer_in_the_page_or_in_the_trajectories_is_found() {
    for (name, from, to) in
        [("report.html", "<title>", "<title>x"), ("trajectories.jsonl", "\"bytes\":6", "\"bytes\":7")]
    {
        let env = live_run();
        let text = env.text(&format!("run/{name}"));
        assert!(text.contains(from), "{name}");
        env.put(&format!("run/{name}"), text.replacen(from, to, 1));
        repin(&env.path("run"));
        let ran = env.run(&["verify", "run"]).expect(1);
        assert!(ran.stdout.lines().any(|line| line.starts_with("  FAIL  ") && line.contains(name)), "{ran}");
    }
}

#[test]
fn a_manifest_that_disowns_its_witness_is_found() {
    let env = live_run();
    let dir = env.path("run");
    // Pins made right in the sidecar alone, or in the manifest alone.
    for name in [names::MANIFEST, names::REPLAY] {
        let kept = std::fs::read(dir.join(name)).unwrap();
        let page = env.bytes("run/report.html");
        env.put("run/report.html", [&page[..], b" "].concat());
        repin(&dir);
        env.put(&format!("run/{name}"), kept);
        let ran = env.run(&["verify", "run"]).expect(1);
        assert!(
            ran.stdout.contains("FAIL  report.html: digest") || ran.stdout.contains("FAIL  manifest.json: digest"),
            "{ran}"
        );
        env.put("run/report.html", page);
        repin(&dir);
    }
}
