//! A store put back to an older state, with every signature in order.

use std::fs;
use std::path::{Path, PathBuf};

use proofmark_artefact::judgment::{IntegrityReason, Judgment};
use proofmark_canon::Digest;

use super::super::testing::{access, file_of, judgment, question, tamper, verdict};
use super::super::{Access, Cache, Found, Retain};

struct Remembering {
    dir: tempfile::TempDir,
}

impl Remembering {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn store(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    /// A process of the same user.
    fn open(&self) -> Cache {
        let memory = Some(self.dir.path().join("state/judge-cache-seen.jsonl"));
        Cache::open_or_make(&self.store(), [7; 16], Access { memory, ..access() }).unwrap()
    }

    /// Two verdicts on question 1; returns the state before the second.
    fn with_conflict(&self) -> PathBuf {
        self.open().insert(judgment(1, "pass")).unwrap();
        let older = self.dir.path().join("older");
        copy(&self.store(), &older);
        let earlier = Digest::of(&judgment(1, "pass").canonical().unwrap());
        self.open().insert(Judgment { supersedes: Some(earlier), ..judgment(1, "fail") }).unwrap();
        assert_eq!(verdict(&self.open(), 1), "fail");
        older
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_store_from_before_a_conflict_is_found_out_and_heals_when_the_judge_was_asked() {
    let world = Remembering::new();
    let older = world.with_conflict();
    fs::remove_dir_all(world.store()).unwrap();
    copy(&older, &world.store());
    let cache = world.open();
    let Found::Bad(event) = cache.lookup(&question(1)).unwrap() else { panic!("the older verdict was believed") };
    assert_eq!(event.reason, IntegrityReason::RolledBack);
    assert_eq!(event.key, question(1).key().unwrap());
    let lost: Vec<Digest> = cache.rolled_back().unwrap().into_iter().map(|(key, _)| key).collect();
    assert_eq!(lost, [event.key]);
    cache.insert(judgment(1, "fail")).unwrap();
    let Found::Hit(hit) = world.open().lookup(&question(1)).unwrap() else { panic!() };
    assert_eq!(hit.others.len(), 1);
    assert!(world.open().rolled_back().unwrap().is_empty());
}

#[test]
fn a_conflict_that_was_only_read_is_remembered_too() {
    let world = Remembering::new();
    // Somebody else made the conflict, with a memory of their own.
    let other = Cache::open_or_make(&world.store(), [7; 16], access()).unwrap();
    other.insert(judgment(1, "pass")).unwrap();
    let older = fs::read(file_of(&other, 1)).unwrap();
    other.insert(judgment(1, "fail")).unwrap();
    assert_eq!(verdict(&world.open(), 1), "pass");
    tamper(&file_of(&other, 1), &older);
    assert_eq!(verdict(&world.open(), 1), "RolledBack");
    assert_eq!(verdict(&other, 1), "pass", "without a memory it cannot be known");
}

#[test]
fn a_store_under_another_path_is_the_same_store_and_one_with_another_id_is_not() {
    let world = Remembering::new();
    let older = world.with_conflict();
    let memory = Some(world.dir.path().join("state/judge-cache-seen.jsonl"));
    let moved = Cache::open(&older, Access { memory: memory.clone(), ..access() }).unwrap();
    assert_eq!(verdict(&moved, 1), "RolledBack");
    let fresh = world.dir.path().join("fresh");
    let fresh = Cache::open_or_make(&fresh, [8; 16], Access { memory, ..access() }).unwrap();
    assert_eq!(verdict(&fresh, 1), "-");
    // Another id does not make the older state believable: its lists name the store.
    let format = older.join("format.json");
    let text = fs::read_to_string(&format).unwrap().replace(&"07".repeat(16), &"09".repeat(16));
    tamper(&format, text.as_bytes());
    let renamed = Cache::open(&older, access()).unwrap();
    assert_eq!(verdict(&renamed, 1), "List");
}

#[test]
fn a_store_that_was_emptied_is_found_out() {
    let world = Remembering::new();
    world.with_conflict();
    for name in ["shards", "locks"] {
        fs::remove_dir_all(world.store().join(name)).unwrap();
    }
    assert_eq!(verdict(&world.open(), 1), "RolledBack");
    assert_eq!(verdict(&world.open(), 2), "-");
}

#[test]
fn what_was_thrown_away_on_purpose_is_not_missed() {
    let world = Remembering::new();
    world.with_conflict();
    world.open().retain(Retain::default(), |_, _| false).unwrap();
    assert_eq!(verdict(&world.open(), 1), "-");
}

#[test]
fn an_import_does_not_make_a_rolled_back_store_believable_unless_it_brings_back_what_is_gone() {
    let world = Remembering::new();
    let older = world.with_conflict();
    let Found::Hit(whole) = world.open().lookup(&question(1)).unwrap() else { panic!() };
    fs::remove_dir_all(world.store()).unwrap();
    copy(&older, &world.store());
    let cache = world.open();
    cache.insert_signed(&whole.others).unwrap();
    assert_eq!(verdict(&cache, 1), "RolledBack");
    cache.insert_signed(&[whole.entry]).unwrap();
    assert_eq!(verdict(&cache, 1), "fail");
}
