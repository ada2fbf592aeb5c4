//! A judge cache that several processes use at once, and that is killed while it writes.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use proofmark_artefact::judgment::{JUDGMENT_SCHEMA, Judgment, Question, Said};
use proofmark_artefact::record::Usage;
use proofmark_artefact::store::write_atomic;
use proofmark_canon::{Digest, Map};
use proofmark_trust::cache::{Access, Cache, Found};
use proofmark_trust::key::PrivateKey;
use proofmark_trust::policy::{Role, Trust};

fn judgment(number: u32) -> Judgment {
    let text = number.to_string();
    Judgment {
        judged_at: "2026-03-01T12:00:00Z".into(),
        question: Question {
            answer: Digest::of(text.as_bytes()),
            expected: None,
            judge: "openai:judge".into(),
            params: Map::new(),
            prompt: Digest::of(b"prompt"),
            rubric: Digest::of(b"rubric"),
            serving: String::new(),
            task_id: format!("task/{number}"),
            vote: 0,
        },
        said: Said {
            answered_by: None,
            asked: 1,
            reason: "because".into(),
            reply: Digest::of(b"reply"),
            score: None,
            usage: Usage::default(),
            verdict: "pass".into(),
        },
        schema_version: JUDGMENT_SCHEMA,
        supersedes: None,
    }
}

fn open(store: &Path) -> Cache {
    let key = Arc::new(PrivateKey::from_secret(&[1; 32]));
    let trust = Arc::new(Trust::default().with(key.public(), Role::Judge));
    let access = Access { trust, signer: Some(key), memory: None, now: "2026-03-01T12:00:00Z".into() };
    Cache::open_or_make(store, [7; 16], access).unwrap()
}

/// A process that adds judgments and says each one when it is in: this test binary itself, told by a file in its folder.
struct Writer {
    child: Child,
    _folder: tempfile::TempDir,
}

impl Writer {
    fn start(store: &Path, numbers: &[u32]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let numbers = numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        write_atomic(&folder.path().join("job"), format!("{}\n{numbers}\n", store.display()).as_bytes()).unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "cache::a_process_that_writes"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self { child, _folder: folder }
    }

    /// The numbers that it said, up to a count of them.
    fn said(&mut self, count: usize) -> Vec<u32> {
        let lines = BufReader::new(self.child.stdout.take().unwrap()).lines();
        lines.filter_map(|line| line.unwrap().strip_prefix("in ")?.parse().ok()).take(count).collect()
    }
}

#[test]
#[ignore = "started by the others"]
fn a_process_that_writes() {
    let job = fs::read_to_string("job").unwrap();
    let (store, numbers) = job.trim_end().split_once('\n').unwrap();
    let cache = open(&PathBuf::from(store));
    for number in numbers.split(' ').map(|number| number.parse().unwrap()) {
        let judgment = judgment(number);
        if cache.lookup(&judgment.question).unwrap() == Found::Miss {
            cache.insert(judgment).unwrap();
        }
        println!("\nin {number}");
    }
}

/// Every entry of a store that is sound, by the number of its question.
fn all(cache: &Cache) -> Vec<String> {
    let (shards, others) = cache.shards().unwrap();
    assert!(others.is_empty(), "{others:?}");
    let mut found = Vec::new();
    for shard in shards {
        let view = cache.view(shard).unwrap();
        assert!(view.list.is_none() && view.strays.is_empty(), "{view:?}");
        found.extend(view.held.into_iter().map(|held| held.entry.unwrap().judgment.question.task_id));
    }
    found.sort_unstable();
    found
}

#[test]
fn several_processes_lose_no_entry_and_double_none() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    // Half of what each of them adds is the other's too, in another order.
    let one: Vec<u32> = (0..500).collect();
    let two: Vec<u32> = (250..750).rev().collect();
    let mut writers = [Writer::start(&store, &one), Writer::start(&store, &two)];
    for writer in &mut writers {
        assert_eq!(writer.said(usize::MAX).len(), 500);
        assert!(writer.child.wait().unwrap().success());
    }
    let mut want: Vec<String> = (0..750).map(|number| format!("task/{number}")).collect();
    want.sort_unstable();
    assert_eq!(all(&open(&store)), want);
    assert_eq!(open(&store).set_aside().unwrap(), (0, 0));
}

#[test]
fn threads_of_one_process_lose_no_entry_and_double_none() {
    let dir = tempfile::tempdir().unwrap();
    let cache = open(dir.path());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..60 {
                    cache.insert(judgment(number)).unwrap();
                    assert!(matches!(cache.lookup(&judgment(number).question).unwrap(), Found::Hit(_)));
                }
            });
        }
    });
    assert_eq!(all(&cache).len(), 60);
}

#[test]
fn a_process_that_is_killed_while_it_writes_leaves_a_sound_store() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let numbers: Vec<u32> = (0..100_000).collect();
    for round in 0..25 {
        let mut writer = Writer::start(&store, &numbers);
        // What it said before is there already; it is killed at some moment of what comes then.
        let said = writer.said(round * 7 + 1);
        writer.child.kill().unwrap();
        writer.child.wait().unwrap();
        let cache = open(&store);
        let there = all(&cache);
        assert!(said.iter().all(|number| there.contains(&format!("task/{number}"))), "round {round}");
        assert_eq!(cache.set_aside().unwrap(), (0, 0));
    }
    let cache = open(&store);
    cache.insert(judgment(1_000_000)).unwrap();
    assert!(matches!(cache.lookup(&judgment(1_000_000).question).unwrap(), Found::Hit(_)));
}
