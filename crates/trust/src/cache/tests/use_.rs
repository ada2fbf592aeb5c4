//! Everyday use.

use std::fs;
use std::sync::Arc;

use proofmark_artefact::judgment::{Entry, IntegrityReason, Judgment};
use proofmark_canon::Digest;

use super::super::testing::{NOW, access, cache, file_of, judgment, key, neighbours, question, verdict};
use super::super::{Access, Cache, CacheError, Found, Inserted, Retain, check_line};
use crate::policy::{Role, Trust};

#[test]
fn a_judgment_is_found_by_its_question_and_by_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path());
    assert_eq!(verdict(&cache, 1), "-");
    assert!(matches!(cache.insert(judgment(1, "pass")).unwrap(), Inserted::New(_)));
    assert_eq!(verdict(&cache, 1), "pass");
    let base = question(1);
    let mut params = base.params.clone();
    params.insert("max_tokens", 513_u32);
    let others = [
        proofmark_artefact::judgment::Question { answer: Digest::of(b"x"), ..base.clone() },
        proofmark_artefact::judgment::Question { expected: Some(Digest::of(b"x")), ..base.clone() },
        proofmark_artefact::judgment::Question { expected: None, ..base.clone() },
        proofmark_artefact::judgment::Question { rubric: Digest::of(b"x"), ..base.clone() },
        proofmark_artefact::judgment::Question { prompt: Digest::of(b"x"), ..base.clone() },
        proofmark_artefact::judgment::Question { judge: "openai:other".into(), ..base.clone() },
        proofmark_artefact::judgment::Question { task_id: "task/2".into(), ..base.clone() },
        proofmark_artefact::judgment::Question { serving: "elsewhere".into(), ..base.clone() },
        proofmark_artefact::judgment::Question { vote: 1, ..base.clone() },
        proofmark_artefact::judgment::Question { params, ..base },
    ];
    for other in others {
        assert_eq!(cache.lookup(&other).unwrap(), Found::Miss, "{other:?}");
    }
}

#[test]
fn another_process_finds_what_was_added_and_sees_what_is_added_later() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (cache(dir.path()), cache(dir.path()));
    let numbers = neighbours(3);
    for number in &numbers {
        assert_eq!(verdict(&two, *number), "-");
        one.insert(judgment(*number, "pass")).unwrap();
        assert_eq!(verdict(&two, *number), "pass");
        two.insert(judgment(*number, "pass")).unwrap();
    }
    let text = fs::read_to_string(file_of(&one, 0)).unwrap();
    assert_eq!(text.lines().count(), 1 + numbers.len());
}

#[test]
fn what_agrees_is_kept_once_and_what_does_not_is_kept_as_a_conflict() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path());
    cache.insert(judgment(1, "pass")).unwrap();
    let mut worded = judgment(1, "pass");
    worded.said.reason = "other words".into();
    let Inserted::Same(kept) = cache.insert(worded).unwrap() else { panic!() };
    assert_eq!(kept.judgment, judgment(1, "pass"));
    let Inserted::Conflict { against, .. } = cache.insert(judgment(1, "fail")).unwrap() else { panic!() };
    assert_eq!(against.judgment, judgment(1, "pass"));
    let Found::Hit(hit) = cache.lookup(&question(1)).unwrap() else { panic!() };
    assert_eq!(hit.entry.judgment, judgment(1, "pass"), "the first one stands");
    let others: Vec<Judgment> = hit.others.into_iter().map(|entry| entry.judgment).collect();
    assert_eq!(others, [judgment(1, "fail")]);
    assert!(matches!(cache.insert(judgment(1, "fail")).unwrap(), Inserted::Same(_)));
}

#[test]
fn a_judgment_that_replaces_another_counts_and_the_other_is_still_shown() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path());
    cache.insert(judgment(1, "pass")).unwrap();
    let earlier = Digest::of(&judgment(1, "pass").canonical().unwrap());
    cache.insert(Judgment { supersedes: Some(earlier), ..judgment(1, "fail") }).unwrap();
    let Found::Hit(hit) = cache.lookup(&question(1)).unwrap() else { panic!() };
    assert_eq!((hit.entry.judgment.said.verdict.as_str(), hit.others.len()), ("fail", 1));
}

#[test]
fn many_judgments_go_in_at_once_and_the_same_one_twice_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path());
    let numbers = neighbours(4);
    let mut all: Vec<Judgment> = numbers.iter().map(|number| judgment(*number, "pass")).collect();
    all.push(judgment(numbers[0], "pass"));
    all.push(judgment(numbers[1], "fail"));
    let inserted = cache.insert_all(all).unwrap();
    assert!(matches!(inserted[..4], [Inserted::New(_), Inserted::New(_), Inserted::New(_), Inserted::New(_)]));
    assert!(matches!(inserted[4..], [Inserted::Same(_), Inserted::Conflict { .. }]));
    assert!(numbers.iter().all(|number| verdict(&cache, *number) == "pass"));
}

#[test]
fn without_a_key_the_cache_is_read_and_not_written() {
    let dir = tempfile::tempdir().unwrap();
    cache(dir.path()).insert(judgment(1, "pass")).unwrap();
    let reader = Cache::open(dir.path(), Access { signer: None, ..access() }).unwrap();
    assert!(!reader.is_writable());
    assert_eq!(verdict(&reader, 1), "pass");
    let error = reader.insert(judgment(2, "pass")).unwrap_err();
    assert!(matches!(error, CacheError::ReadOnly) && error.hint().is_some());
}

#[test]
fn a_key_that_is_not_trusted_as_judge_adds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for trust in [Trust::default(), Trust::default().with(key(1).public(), Role::Submitter)] {
        let cache = Cache::open_or_make(dir.path(), [7; 16], Access { trust: Arc::new(trust), ..access() }).unwrap();
        let error = cache.insert(judgment(1, "pass")).unwrap_err();
        assert!(matches!(error, CacheError::SignerNotTrusted(_)), "{error}");
        assert!(error.hint().unwrap().contains("keys trust"));
        assert_eq!(verdict(&cache, 1), "-");
    }
}

#[test]
fn imported_entries_keep_their_signer_and_strangers_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let sign = |seed: u8, number| super::super::entry::sign(judgment(number, "pass"), &key(seed)).unwrap();
    let trust = Trust::default().with(key(1).public(), Role::Judge).with(key(2).public(), Role::Judge);
    let cache = Cache::open_or_make(dir.path(), [7; 16], Access { trust: Arc::new(trust), ..access() }).unwrap();
    let unsigned = Entry { judgment: judgment(4, "pass"), signature: None };
    let outcomes = cache.insert_signed(&[sign(2, 1), sign(3, 2), sign(1, 3), unsigned]).unwrap();
    let reasons: Vec<Option<IntegrityReason>> =
        outcomes.iter().map(|outcome| outcome.as_ref().err().map(|flaw| flaw.reason)).collect();
    assert_eq!(reasons, [None, Some(IntegrityReason::UnknownSigner), None, Some(IntegrityReason::Unsigned)]);
    let Found::Hit(hit) = cache.lookup(&question(1)).unwrap() else { panic!() };
    assert_eq!(hit.entry.signature.unwrap().signer, key(2).public().fingerprint().to_string());
    assert_eq!((verdict(&cache, 2), verdict(&cache, 3), verdict(&cache, 4)), ("-".into(), "pass".into(), "-".into()));
}

#[test]
fn a_line_of_an_entry_is_checked_alone() {
    let entry = super::super::entry::sign(judgment(1, "pass"), &key(1)).unwrap();
    let line = proofmark_canon::to_vec(&entry).unwrap();
    assert_eq!(check_line(&line, &access().trust).unwrap(), entry);
    for at in 0..line.len() {
        let mut changed = line.clone();
        changed[at] ^= 1;
        assert!(check_line(&changed, &access().trust).is_err(), "byte {at}");
    }
}

#[test]
fn an_entry_that_is_too_long_is_an_error_and_leaves_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path());
    cache.insert(judgment(1, "pass")).unwrap();
    let mut long = judgment(2, "pass");
    long.said.reason = "x".repeat(2 << 20);
    assert!(matches!(cache.insert(long), Err(CacheError::EntryTooLarge { .. })));
    assert_eq!((verdict(&cache, 1), verdict(&cache, 2)), ("pass".into(), "-".into()));
}

#[test]
fn a_conflict_is_thrown_away_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path());
    let numbers = neighbours(2);
    cache.insert(judgment(numbers[0], "pass")).unwrap();
    cache.insert(judgment(numbers[0], "fail")).unwrap();
    cache.insert(judgment(numbers[1], "pass")).unwrap();
    let is_wanted = |_: &Digest, entries: &[&Entry]| entries.len() == 1;
    let dry = cache.retain(Retain { dry_run: true, ..Retain::default() }, is_wanted).unwrap();
    assert_eq!((dry.entries, dry.left), (2, 1));
    assert_eq!(verdict(&cache, numbers[0]), "pass", "nothing was done yet");
    assert_eq!(cache.retain(Retain::default(), is_wanted).unwrap(), dry);
    assert_eq!((verdict(&cache, numbers[0]), verdict(&cache, numbers[1])), ("-".into(), "pass".into()));
}

#[test]
fn lists_say_when_and_by_whom_they_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path());
    cache.insert(judgment(0, "pass")).unwrap();
    let text = fs::read_to_string(file_of(&cache, 0)).unwrap();
    let head: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(head["written_at"], NOW);
    assert_eq!(head["store"], cache.id());
    assert_eq!(head["signer"], key(1).public().fingerprint().to_string());
    assert_eq!(head["entries"][0]["digest"], Digest::of(text.lines().nth(1).unwrap().as_bytes()).to_string());
}
