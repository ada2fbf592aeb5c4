//! `proofmark cache`: what there is, whether it is believed, taken along and thrown away.

use std::fs;

use proofmark_artefact::judgment::{Entry, JUDGMENT_SCHEMA, Judgment, Question, Said, Signed};
use proofmark_artefact::record::Usage;
use proofmark_canon::{Digest, Map};
use proofmark_testkit::command::{Call, Ran, TestEnv};
use proofmark_trust::key::{PrivateKey, Purpose};
use proofmark_trust::keyfile::KeyFile;

use crate::support::{empty, json_lines};

/// A folder with a judge's key that is believed.
fn bench() -> TestEnv {
    let env = empty();
    home(&env, &["keys", "new", "judge", "--role", "judge", "--no-passphrase"]).run().expect(0);
    env
}

fn home(env: &TestEnv, arguments: &[&str]) -> Call {
    let call = env.call(arguments).env("PROOFMARK_HOME", env.path("home"));
    call.env("XDG_STATE_HOME", env.path("state")).env("PROOFMARK_CACHE_DIR", env.path("cached"))
}

fn cache(env: &TestEnv, arguments: &[&str]) -> Ran {
    home(env, &[&["cache"], arguments].concat()).run()
}

fn key(env: &TestEnv) -> PrivateKey {
    KeyFile::parse(&env.bytes("home/keys/judge.pem")).unwrap().open(None).unwrap().key
}

fn judgment(number: u32, verdict: &str) -> Judgment {
    Judgment {
        judged_at: format!("2026-01-{:02}T00:00:00Z", number % 28 + 1),
        question: Question {
            answer: Digest::of(number.to_string().as_bytes()),
            expected: None,
            judge: if number.is_multiple_of(2) { "openai:even" } else { "anthropic:odd" }.into(),
            params: Map::new(),
            prompt: Digest::of(b"prompt"),
            rubric: Digest::of(b"rubric"),
            serving: String::new(),
            task_id: format!("essays/{number}"),
            vote: 0,
        },
        said: Said {
            answered_by: None,
            asked: 1,
            reason: "it \u{1b}[31mseems\u{1b}[0m so".into(),
            reply: Digest::of(b"reply"),
            score: Some(0.5),
            usage: Usage::default(),
            verdict: verdict.into(),
        },
        schema_version: JUDGMENT_SCHEMA,
        supersedes: None,
    }
}

fn line(judgment: Judgment, key: &PrivateKey) -> String {
    let value = key.sign(Purpose::Judgment, &judgment.canonical().unwrap()).to_string();
    let signed = Signed { signer: key.public().fingerprint().to_string(), value };
    to_line(&Entry { judgment, signature: Some(signed) })
}

fn to_line(entry: &Entry) -> String {
    String::from_utf8(proofmark_canon::to_vec(entry).unwrap()).unwrap() + "\n"
}

/// Ten entries on nine questions, in the user's own cache.
fn filled() -> TestEnv {
    let env = bench();
    let key = key(&env);
    let mut text: String = (0..9).map(|number| line(judgment(number, "pass"), &key)).collect();
    text.push_str(&line(judgment(3, "fail"), &key));
    env.put("given.jsonl", text);
    cache(&env, &["import", "given.jsonl"]).expect(0).says(&[
        "10 entries added",
        "1 of them in conflict with what was there",
        "0 there already",
    ]);
    env
}

/// The file of the shard of a question.
fn shard(env: &TestEnv, number: u32) -> std::path::PathBuf {
    let key = judgment(number, "").question.key().unwrap().hex();
    env.path(&format!("cached/judgments/shards/{}.jsonl", &key[..3]))
}

#[test]
fn a_cache_is_counted_listed_and_shown() {
    let env = filled();
    cache(&env, &["stats"]).expect(0).says(&[
        "10 on 9 questions",
        "conflicts: 1",
        "judge (SHA256:",
        "openai:even, 5 entries",
    ]);
    let stats = cache(&env, &["stats", "--format", "json"]).expect(0).json();
    assert_eq!((&stats["entries"], &stats["conflicts"], &stats["flawed"]), (&10.into(), &1.into(), &0.into()));
    assert_eq!((&stats["oldest"], &stats["newest"]), (&"2026-01-01T00:00:00Z".into(), &"2026-01-09T00:00:00Z".into()));

    let count = |arguments: &[&str]| {
        let listed = cache(&env, &[&["ls", "--format", "json"], arguments].concat()).expect(0).json();
        (listed["entries"].as_array().unwrap().len(), listed["more"].as_bool().unwrap())
    };
    assert_eq!(count(&[]), (10, false));
    assert_eq!(count(&["--limit", "4"]), (4, true));
    assert_eq!(count(&["--limit", "0"]), (10, false));
    assert_eq!(count(&["--judge", "openai:"]), (5, false));
    assert_eq!(count(&["--task", "essays"]), (10, false));
    assert_eq!(count(&["--task", "essay"]), (0, false));
    assert_eq!(count(&["--task", "essays/3"]), (2, false));
    assert_eq!(count(&["--signer", "judge"]), (10, false));
    assert_eq!(count(&["--signer", "SHA256:nobody"]), (0, false));
    assert_eq!(count(&["--conflicts"]), (2, false));
    cache(&env, &["ls", "--conflicts"]).expect(0).says(&["counts", "conflict", "2 entries"]);

    let digits = judgment(3, "").question.key().unwrap().hex();
    let shown = cache(&env, &["show", &digits[..12]]).expect(0);
    assert!(!shown.stdout.contains('\u{1b}'), "{}", shown.stdout);
    shown.says(&["essays/3", "pass, score 0.5 (counts)", "fail, score 0.5 (conflict)"]);
    let shown = cache(&env, &["show", &format!("sha256:{digits}"), "--format", "json"]).expect(0).json();
    assert_eq!((shown["entries"].as_array().unwrap().len(), &shown["counts"]), (2, &0.into()));
    cache(&env, &["show", "ffffffffffff"]).expect(2);
    cache(&env, &["show", "abc"]).expect(2);
}

#[test]
fn a_cache_goes_out_and_in_again_with_its_signers() {
    let env = filled();
    cache(&env, &["verify"]).expect(0).says(&["10 entries", "1 conflict", "all believed"]);
    cache(&env, &["export", "-o", "out.jsonl"]).expect(0);
    let keys: Vec<Digest> = json_lines(&env, "out.jsonl")
        .into_iter()
        .map(|value| serde_json::from_value::<Entry>(value).unwrap().judgment.question.key().unwrap())
        .collect();
    assert!(keys.len() == 10 && keys.is_sorted());
    assert_eq!(cache(&env, &["export"]).expect(0).stdout, env.text("out.jsonl"));
    // Another judge takes it in: the lists are signed anew, the entries are not.
    home(&env, &["keys", "new", "second", "--role", "judge", "--no-passphrase"]).run().expect(0);
    cache(&env, &["import", "out.jsonl", "--cache", "shared"]).expect(2);
    cache(&env, &["import", "out.jsonl", "--cache", "shared", "--key", "second"]).expect(0);
    cache(&env, &["export", "--cache", "shared", "-o", "again.jsonl"]).expect(0);
    assert_eq!(env.text("again.jsonl"), env.text("out.jsonl"));
    cache(&env, &["verify", "--cache", "shared"]).expect(0);
    cache(&env, &["import", "out.jsonl", "--cache", "shared", "--key", "second"]).expect(0).says(&["10 there already"]);
}

#[test]
fn what_is_not_believed_is_named_left_out_and_can_be_set_aside() {
    let env = filled();
    let file = shard(&env, 4);
    let text = fs::read_to_string(&file).unwrap().replacen("\"pass\"", "\"fail\"", 1);
    proofmark_artefact::store::write_atomic(&file, text.as_bytes()).unwrap();
    fs::remove_file(shard(&env, 5)).unwrap();
    let verified = cache(&env, &["verify", "--format", "json"]).expect(1).json();
    let findings: Vec<&str> =
        verified["findings"].as_array().unwrap().iter().map(|finding| finding["reason"].as_str().unwrap()).collect();
    assert_eq!(findings, ["missing", "altered"]);
    assert_eq!(verified["entries"], 8);
    let digits = judgment(4, "").question.key().unwrap();
    cache(&env, &["verify"]).expect(1).says(&["altered", &digits.short(), "2 not believed"]);
    cache(&env, &["show", &digits.hex()]).expect(0).says(&["not believed", "altered"]);
    let exported = cache(&env, &["export"]).expect(1);
    assert_eq!(exported.stdout.lines().count(), 8);
    assert!(exported.stderr.contains("1 entry left out"), "{}", exported.stderr);
    cache(&env, &["gc", "--untrusted", "--dry-run"]).expect(0).says(&["would be set aside"]);
    cache(&env, &["gc", "--untrusted"]).expect(0).says(&["set aside"]);
    cache(&env, &["import", "given.jsonl"]).expect(0).says(&["2 entries added", "8 there already"]);
    cache(&env, &["verify"]).expect(0);
    cache(&env, &["stats"]).expect(0).says(&["set aside: 1 file"]);
    cache(&env, &["gc", "--set-aside"]).expect(0).says(&["1 file that had been set aside removed"]);
}

#[test]
fn a_cache_put_back_to_an_older_state_is_found_out() {
    let env = filled();
    let file = shard(&env, 3);
    let key = key(&env);
    env.put("one.jsonl", line(judgment(3, "pass"), &key));
    // The same store without the conflict: signed by a judge, all in order.
    cache(&env, &["gc", "--older-than", "0", "--cache", "cached/judgments"]).expect(0);
    cache(&env, &["import", "one.jsonl"]).expect(0);
    let older = fs::read(&file).unwrap();
    cache(&env, &["import", "given.jsonl"]).expect(0);
    cache(&env, &["verify"]).expect(0);
    proofmark_artefact::store::write_atomic(&file, &older).unwrap();
    cache(&env, &["verify"]).expect(1).says(&["rolled_back"]);
}

#[test]
fn strangers_are_refused_by_line() {
    let env = bench();
    let stranger = PrivateKey::from_secret(&[9; 32]);
    let unsigned = to_line(&Entry { judgment: judgment(2, "pass"), signature: None });
    let altered = line(judgment(3, "pass"), &key(&env)).replace("\"pass\"", "\"fail\"");
    let good = line(judgment(4, "pass"), &key(&env));
    let long = format!("{}\n", "x".repeat(3 << 20));
    let text = [line(judgment(1, "pass"), &stranger), unsigned, altered, "{}\n".into(), long, good].concat();
    env.put("given.jsonl", text);
    let ran = cache(&env, &["import", "given.jsonl"]).expect(1).says(&["1 entry added", "5 refused"]);
    for want in [
        "given.jsonl:1: unknown_signer",
        "given.jsonl:2: unsigned",
        "given.jsonl:3: altered",
        "given.jsonl:4: malformed",
        "given.jsonl:5: malformed",
    ] {
        assert!(ran.stderr.contains(want), "{want}: {}", ran.stderr);
    }
    cache(&env, &["verify"]).expect(0).says(&["1 entry in 1 shard"]);
}

#[test]
fn what_is_old_or_of_others_is_thrown_away_by_question() {
    let env = filled();
    cache(&env, &["gc", "--older-than", "36500"]).expect(0).says(&["0 entries thrown away", "10 left"]);
    cache(&env, &["gc", "--keep-signer", "judge"]).expect(0).says(&["0 entries thrown away", "10 left"]);
    cache(&env, &["gc", "--keep-signer", "SHA256:nobody", "--dry-run"])
        .expect(0)
        .says(&["10 entries would be", "0 left"]);
    cache(&env, &["verify"]).expect(0).says(&["10 entries"]);
    cache(&env, &["gc", "--older-than", "1"]).expect(0).says(&["10 entries thrown away", "0 left"]);
    cache(&env, &["verify"]).expect(0).says(&["0 entries"]);
    let ran = cache(&env, &["gc"]).expect(2);
    assert!(ran.stderr.contains("--older-than DAYS"), "{}", ran.stderr);
}

#[test]
fn folders_that_are_no_cache_are_refused_with_a_hint() {
    let env = bench();
    for command in ["stats", "ls", "verify", "export"] {
        let ran = cache(&env, &[command]).expect(2);
        assert!(ran.stderr.contains("there is no judge cache in") && ran.stderr.contains("hint: "), "{}", ran.stderr);
    }
    assert!(!env.path("cached").exists(), "looking makes nothing");
    env.put("old/3fa9.json", "{\"verdict\":true}");
    env.put("given.jsonl", line(judgment(1, "pass"), &key(&env)));
    for arguments in [&["stats", "--cache", "old"][..], &["import", "given.jsonl", "--cache", "old"]] {
        let ran = cache(&env, arguments).expect(2);
        assert!(ran.stderr.contains("holds other files") && ran.stderr.contains("unsigned"), "{}", ran.stderr);
    }
    assert_eq!(fs::read_dir(env.path("old")).unwrap().count(), 1);
    env.put("newer/format.json", "{\"id\":\"x\",\"schema\":\"proofmark.judge-cache/2\"}");
    let ran = cache(&env, &["stats", "--cache", "newer"]).expect(2);
    assert!(ran.stderr.contains("proofmark.judge-cache/2"), "{}", ran.stderr);
}

#[test]
fn without_a_key_that_may_judge_nothing_is_taken_in() {
    let env = empty();
    env.put("given.jsonl", line(judgment(1, "pass"), &PrivateKey::from_secret(&[9; 32])));
    let ran = cache(&env, &["import", "given.jsonl"]).expect(2);
    assert!(ran.stderr.contains("keys new"), "{}", ran.stderr);
    home(&env, &["keys", "new", "me", "--role", "submitter", "--no-passphrase"]).run().expect(0);
    let ran = cache(&env, &["import", "given.jsonl", "--key", "me"]).expect(2);
    assert!(ran.stderr.contains("would not be believed") && ran.stderr.contains("keys trust"), "{}", ran.stderr);
}
