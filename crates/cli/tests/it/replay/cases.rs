//! The 48 trees of `replay-verify-cases.json`, laid out and verified.

use proofmark_artefact::replay::{hash, js};
use proofmark_testkit::command::{Ran, TestEnv};
use serde_json::Value;

use super::digest;
use crate::support::empty;

fn cases() -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("../../data/replay-verify-cases.json")).unwrap();
    file["cases"].as_array().unwrap().clone()
}

fn lay_out(case: &Value) -> TestEnv {
    let env = empty();
    for (name, content) in case["files"].as_object().unwrap() {
        match content {
            Value::String(text) => env.put(name, text),
            link => {
                let path = env.path(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(link["symlink"].as_str().unwrap(), path).unwrap();
            }
        }
    }
    std::fs::create_dir_all(env.path(case["cwd"].as_str().unwrap())).unwrap();
    env
}

fn verify(env: &TestEnv, case: &Value, more: &[&str]) -> Ran {
    let mut arguments = vec!["verify-replay".to_owned()];
    for argument in case["args"].as_array().unwrap() {
        arguments.push(argument.as_str().unwrap().replace("@CASE@", env.root().to_str().unwrap()));
    }
    arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
    env.call(&arguments).within(&env.path(case["cwd"].as_str().unwrap())).run()
}

/// Everything that would tell what an outside file holds.
fn tells(content: &str) -> Vec<String> {
    let mut tells: Vec<String> = content.lines().map(ToOwned::to_owned).filter(|line| line.len() > 3).collect();
    tells.push(digest(content.as_bytes()));
    tells.extend(js::read(content.as_bytes()).ok().map(|form| form.digest().to_string()));
    tells.extend(hash::canonical(content.as_bytes()).ok().map(|canonical| digest(&canonical)));
    tells.push("sk-live".to_owned());
    tells
}

#[test]
fn every_case_comes_out_as_it_must() {
    let cases = cases();
    assert_eq!(cases.len(), 48);
    let mut wrong = Vec::new();
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        for format in ["text", "json", "github"] {
            let env = lay_out(case);
            let ran = verify(&env, case, &["--format", format]);
            let is_right = match &case["want"] {
                Value::Number(code) => i64::from(ran.code) == code.as_i64().unwrap(),
                _ => ran.code != 0,
            };
            if !is_right {
                wrong.push(format!("{name} as {format}: want {}, got {}\n{ran}", case["want"], ran.code));
            }
            if case["want"] != "refused" {
                continue;
            }
            for (path, content) in case["files"].as_object().unwrap() {
                let (true, Some(content)) = (path.starts_with("outside/"), content.as_str()) else { continue };
                for tell in tells(content) {
                    if ran.stdout.contains(&tell) || ran.stderr.contains(&tell) {
                        wrong.push(format!("{name} as {format} prints `{tell}`\n{ran}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_lossy_hash_says_what_it_does_not_pin() {
    for (name, loss) in [
        ("collision-proto-key", "what stands under `__proto__` is not hashed"),
        ("collision-timestamp-tag", "a date is hashed as `{}`"),
        ("collision-set-tag", "a set is hashed as `{}`"),
        ("collision-nan-inf-null", "`null` is hashed as an infinity or a NaN is"),
    ] {
        let cases = cases();
        let case = cases.iter().find(|case| case["name"] == name).expect(name);
        let ran = verify(&lay_out(case), case, &[]).expect(1);
        assert!(ran.stdout.contains("the hash does not pin the content") && ran.stdout.contains(loss), "{ran}");
    }
}

#[test]
fn a_backfilled_block_is_told_from_a_native_one() {
    let cases = cases();
    let ran = |name: &str| {
        let case = cases.iter().find(|case| case["name"] == name).expect(name);
        verify(&lay_out(case), case, &[]).expect(0)
    };
    assert!(ran("backfilled-true").stdout.contains("  backfilled: the block was reconstructed after the run\n"));
    assert!(!ran("base-ok").stdout.contains("backfilled"));
}

#[test]
fn what_does_not_exist_outside_is_refused_in_the_same_words_as_what_does() {
    let cases = cases();
    let case = cases.iter().find(|case| case["name"] == "symlink-token-outside").unwrap();
    let env = lay_out(case);
    let there = verify(&env, case, &[]).expect(1).stdout;
    std::fs::remove_file(env.path("outside/t.yml")).unwrap();
    let gone = verify(&env, case, &[]).expect(1).stdout;
    assert_eq!(there, gone);
}
