//! Every way to tamper with a warm cache: each is a miss and an event with its reason, and the run's result is right.

use std::path::{Path, PathBuf};

use proofmark_artefact::judgment::{Entry, Signed};
use proofmark_canon::json;
use proofmark_testkit::command::TestEnv;
use proofmark_testkit::tree::copy;
use proofmark_trust::key::Purpose;
use serde_json::Value;

use super::{judged, key, reasons, run};
use crate::support::PLANE_1;

/// The shards of the cache, by name.
fn shards(env: &TestEnv) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(env.path("cache/shards")).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

/// Head and entries of a shard.
fn lines(shard: &Path) -> Vec<String> {
    std::fs::read_to_string(shard).unwrap().lines().map(ToOwned::to_owned).collect()
}

fn put(shard: &Path, lines: &[String]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    proofmark_testkit::tree::put(shard, text);
}

fn canonical(value: &Value) -> String {
    String::from_utf8(json::to_vec(value).unwrap()).unwrap()
}

/// A warm cache of three judgments, and the run that warmed it.
fn warm() -> TestEnv {
    let env = judged();
    assert_eq!(run(&env, "cold"), 3);
    assert_eq!(shards(&env).len(), 3, "the three questions are in three shards");
    copy(&env.path("cache"), &env.path("kept"));
    env
}

/// Runs with the cache as it is now: the result must be that of the cold run, with these events and so many questions.
/// Then puts the cache back.
#[track_caller]
fn check(env: &TestEnv, what: &str, asked_again: usize, expected: &[&str]) {
    let _ = std::fs::remove_dir_all(env.path("run"));
    assert_eq!(run(env, "run"), asked_again, "{what}: questions");
    assert_eq!(reasons(env, "run"), expected, "{what}: reasons");
    for name in PLANE_1.iter().filter(|name| **name != "trajectories.jsonl") {
        assert_eq!(env.bytes(&format!("run/{name}")), env.bytes(&format!("cold/{name}")), "{what}: {name}");
    }
    // It heals: the next run asks nobody and has nothing to complain of.
    let _ = std::fs::remove_dir_all(env.path("again"));
    assert_eq!(run(env, "again"), 0, "{what}: healed");
    assert_eq!(reasons(env, "again"), [""; 0], "{what}: healed");
    std::fs::remove_dir_all(env.path("cache")).unwrap();
    copy(&env.path("kept"), &env.path("cache"));
}

/// Every value in a tree, changed: the new tree and where the change is.
fn changes(value: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                for (place, changed) in changes(member) {
                    let mut whole = members.clone();
                    whole[name] = changed;
                    all.push((format!("{name}.{place}"), Value::Object(whole)));
                }
            }
        }
        Value::String(text) => {
            // Another character of the same kind, so that the form stays what it was.
            let other = match text.pop_last() {
                (rest, '0') => format!("{rest}1"),
                (rest, last) if last.is_ascii_hexdigit() => format!("{rest}0"),
                (rest, _) => format!("{rest}x"),
            };
            all.push((String::new(), Value::String(other)));
        }
        Value::Number(number) => all.push((String::new(), Value::from(number.as_f64().unwrap() + 1.0))),
        Value::Null => all.push((String::new(), Value::from("x"))),
        Value::Bool(flag) => all.push((String::new(), Value::from(!flag))),
        Value::Array(_) => {}
    }
    all
}

trait PopLast {
    fn pop_last(&self) -> (&str, char);
}

impl PopLast for String {
    fn pop_last(&self) -> (&str, char) {
        let last = self.chars().last().unwrap_or(' ');
        (&self[..self.len() - if self.is_empty() { 0 } else { last.len_utf8() }], last)
    }
}

#[test]
fn every_field_of_an_entry_is_under_the_signature() {
    let env = warm();
    let shard = &shards(&env)[0];
    let whole = lines(shard);
    let entry: Value = serde_json::from_str(&whole[1]).unwrap();
    let all = changes(&entry);
    assert!(all.len() >= 20, "{}", all.len());
    for (place, changed) in all {
        put(shard, &[whole[0].clone(), canonical(&changed)]);
        let expected: &[&str] = match place.as_str() {
            "signature.signer." => &["unknown_signer"],
            "signature.value." => &["altered"],
            _ => &["altered"],
        };
        let _ = std::fs::remove_dir_all(env.path("run"));
        assert_eq!(run(&env, "run"), 1, "{place}: questions");
        let found = reasons(&env, "run");
        assert!(
            found.len() == 1 && (found == expected || found == ["malformed"] || found == ["missing"]),
            "{place}: {found:?}"
        );
        assert_eq!(env.bytes("run/records.jsonl"), env.bytes("cold/records.jsonl"), "{place}");
        std::fs::remove_dir_all(env.path("cache")).unwrap();
        copy(&env.path("kept"), &env.path("cache"));
    }
}

#[test]
fn what_is_done_to_the_files_of_a_cache_is_found() {
    let env = warm();
    let all = shards(&env);
    let [first, second] = [&all[0], &all[1]].map(|shard| lines(shard));

    put(&all[0], &[first[0].clone(), second[1].clone()]);
    put(&all[1], &[second[0].clone(), first[1].clone()]);
    check(&env, "entries swapped", 2, &["misplaced"]);

    put(&all[0], &second);
    put(&all[1], &first);
    check(&env, "files swapped", 2, &["list"]);

    let bytes = std::fs::read(&all[0]).unwrap();
    proofmark_testkit::tree::put(&all[0], &bytes[..bytes.len() - 40]);
    check(&env, "cut off inside the entry", 1, &["malformed"]);

    put(&all[0], &first[..1]);
    check(&env, "the tail deleted", 1, &["missing"]);

    proofmark_testkit::tree::put(&all[0], &bytes[..40]);
    check(&env, "cut off inside the list", 1, &["list"]);

    put(&all[0], &first[1..]);
    check(&env, "the list deleted", 1, &["list"]);

    put(&all[0], &[first[0].clone(), canonical(&serde_json::from_str::<Value>(&first[1]).unwrap()["judgment"])]);
    check(&env, "a bare judgment", 1, &["malformed"]);
}

/// An entry of the first shard, signed by somebody else or by nobody.
#[track_caller]
fn resigned(env: &TestEnv, change: impl FnOnce(&mut Entry)) {
    let shard = &shards(env)[0];
    let whole = lines(shard);
    let mut entry: Entry = serde_json::from_str(&whole[1]).unwrap();
    change(&mut entry);
    put(shard, &[whole[0].clone(), canonical(&serde_json::to_value(&entry).unwrap())]);
}

fn sign(entry: &mut Entry, seed: u8) {
    let canonical = entry.judgment.canonical().unwrap();
    let value = key(seed).sign(Purpose::Judgment, &canonical).to_string();
    entry.signature = Some(Signed { signer: key(seed).public().fingerprint().to_string(), value });
}

#[test]
fn whoever_else_signs_is_not_believed() {
    let env = warm();
    resigned(&env, |entry| entry.signature = None);
    check(&env, "unsigned", 1, &["unsigned"]);

    resigned(&env, |entry| {
        entry.judgment.said.verdict = "pass".to_owned();
        sign(entry, 2);
    });
    check(&env, "signed by another key", 1, &["unknown_signer"]);

    resigned(&env, |entry| {
        entry.judgment.said.verdict = "pass".to_owned();
        let signer = key(1).public().fingerprint().to_string();
        sign(entry, 2);
        entry.signature.as_mut().unwrap().signer = signer;
    });
    check(&env, "signed by another key in the name of ours", 1, &["altered"]);
}

#[test]
fn an_entry_cannot_be_replayed_under_another_task() {
    let env = warm();
    let all = shards(&env);
    let (good, bad) = {
        let verdict = |shard: &Path| -> String {
            let entry: Entry = serde_json::from_str(&lines(shard)[1]).unwrap();
            entry.judgment.said.verdict
        };
        let good = all.iter().find(|shard| verdict(shard) == "pass").unwrap();
        (good, all.iter().find(|shard| verdict(shard) == "fail").unwrap())
    };
    // The verdict that passed, in the place of one that failed, with its own signature.
    let (passing, failing) = (lines(good), lines(bad));
    put(bad, &[failing[0].clone(), passing[1].clone()]);
    check(&env, "replayed", 1, &["misplaced"]);
    // And beside it.
    put(bad, &[failing[0].clone(), passing[1].clone(), failing[1].clone()]);
    let _ = std::fs::remove_dir_all(env.path("run"));
    run(&env, "run");
    assert_eq!(env.bytes("run/records.jsonl"), env.bytes("cold/records.jsonl"));
}

#[test]
fn an_older_verdict_does_not_come_back() {
    let env = judged();
    // The judge was too kind once; asked again, it is not.
    env.put("suite.yaml", super::SUITE.replace("\"offline:judge\"}", "\"offline:judge\", params: {leniency: 1}}"));
    assert_eq!(run(&env, "kind"), 3);
    let passes = |dir: &str| super::json(&env, &format!("{dir}/summary.json"))["totals"]["counts"]["passed"].clone();
    assert_eq!(passes("kind"), 4);
    copy(&env.path("cache"), &env.path("kept"));
    // The same question, answered otherwise: one entry after the other says `fail` and supersedes what was said.
    let mut stricter = 0;
    for shard in shards(&env) {
        let entry: Entry = serde_json::from_str(&lines(&shard)[1]).unwrap();
        stricter += usize::from(entry.judgment.said.verdict == "pass");
    }
    assert_eq!(stricter, 3);
    let access = proofmark_trust::cache::Access {
        trust: std::sync::Arc::new(
            proofmark_trust::policy::Trust::default().with(key(1).public(), proofmark_trust::policy::Role::Judge),
        ),
        signer: Some(std::sync::Arc::new(key(1))),
        memory: Some(env.path("state/proofmark/judge-cache-seen.jsonl")),
        now: "2026-01-01T00:00:00Z".to_owned(),
    };
    let cache = proofmark_trust::cache::Cache::open(&env.path("cache"), access).unwrap();
    for shard in shards(&env) {
        let entry: Entry = serde_json::from_str(&lines(&shard)[1]).unwrap();
        let mut judgment = entry.judgment.clone();
        judgment.said.verdict = "fail".to_owned();
        judgment.supersedes = Some(proofmark_canon::Digest::of(&entry.judgment.canonical().unwrap()));
        cache.insert(judgment).unwrap();
    }
    drop(cache);
    let run_here = |dir: &str| {
        let _ = std::fs::remove_dir_all(env.path(dir));
        let _ = std::fs::remove_file(env.path("asked.log"));
        let call = super::signing(&env, &["run", "suite.yaml", "--run-dir", dir], 1);
        call.env("XDG_STATE_HOME", env.path("state")).run().expect(0);
        super::asked(&env) - 4
    };
    assert_eq!(run_here("strict"), 0);
    assert_eq!(passes("strict"), 1);
    // Somebody puts the folder back to what it was, signatures and all.
    std::fs::remove_dir_all(env.path("cache")).unwrap();
    copy(&env.path("kept"), &env.path("cache"));
    assert_eq!(run_here("rolled"), 3, "the judge is asked, and not the old verdict taken");
    assert_eq!(reasons(&env, "rolled"), ["rolled_back"]);
}

#[test]
fn a_revoked_or_expired_key_is_not_believed_any_more() {
    let env = warm();
    let public = key(1).public().to_ssh_line("old");
    env.put("old.pub", format!("{public}\n"));
    let keys = |arguments: &[&str]| {
        let arguments = [&["keys"], arguments, &["--trust", "trust.json"]].concat();
        env.call(&arguments).env("PROOFMARK_HOME", env.path("home")).run().expect(0);
    };
    keys(&["trust", "old.pub", "--name", "old", "--role", "judge"]);
    keys(&["revoke", "old", "--reason", "compromised"]);
    let _ = std::fs::remove_file(env.path("asked.log"));
    let run = ["run", "suite.yaml", "--run-dir", "run", "--trust", "trust.json"];
    super::signing(&env, &run, 2).run().expect(0).complains(&["3 entries of the judge cache could not be believed"]);
    assert_eq!(reasons(&env, "run"), ["revoked"]);
    assert_eq!(env.bytes("run/records.jsonl"), env.bytes("cold/records.jsonl"));
    // The key itself is refused.
    super::signing(&env, &["run", "suite.yaml", "--run-dir", "other", "--trust", "trust.json"], 1)
        .run()
        .expect(2)
        .complains(&["the judge's key cannot be used"]);
}
