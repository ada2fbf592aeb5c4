//! What tests of the cache share.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proofmark_artefact::judgment::{JUDGMENT_SCHEMA, Judgment, Question, Said};
use proofmark_artefact::record::Usage;
use proofmark_canon::{Digest, Map};

use super::{Access, Cache, Found};
use crate::key::PrivateKey;
use crate::policy::{Role, Trust};

pub(super) const NOW: &str = "2026-03-01T12:00:00Z";

pub(super) fn question(number: u32) -> Question {
    let mut params = Map::new();
    params.insert("max_tokens", 512_u32);
    Question {
        answer: Digest::of(format!("answer {number}").as_bytes()),
        expected: Some(Digest::of(b"gold")),
        judge: "openai:judge".into(),
        params,
        prompt: Digest::of(format!("prompt {number}").as_bytes()),
        rubric: Digest::of(b"rubric"),
        serving: String::new(),
        task_id: format!("task/{number}"),
        vote: 0,
    }
}

pub(super) fn judgment(number: u32, verdict: &str) -> Judgment {
    Judgment {
        judged_at: NOW.into(),
        question: question(number),
        said: Said {
            answered_by: Some("judge-2026".into()),
            asked: 1,
            reason: format!("because of {number}"),
            reply: Digest::of(verdict.as_bytes()),
            score: Some(0.75),
            usage: Usage { input_tokens: 10, output_tokens: 5 },
            verdict: verdict.into(),
        },
        schema_version: JUDGMENT_SCHEMA,
        supersedes: None,
    }
}

/// Numbers of questions that share the shard of the first one, that one first.
pub(super) fn neighbours(count: usize) -> Vec<u32> {
    let shard = |number: u32| super::Shard::of(&question(number).key().unwrap());
    let want = shard(0);
    (0..).filter(|number| shard(*number) == want).take(count).collect()
}

pub(super) fn key(seed: u8) -> Arc<PrivateKey> {
    Arc::new(PrivateKey::from_secret(&[seed; 32]))
}

/// A judge's access: it signs with key 1, which is trusted.
pub(super) fn access() -> Access {
    let trust = Arc::new(Trust::default().with(key(1).public(), Role::Judge));
    Access { trust, signer: Some(key(1)), memory: None, now: NOW.into() }
}

pub(super) fn cache(dir: &Path) -> Cache {
    Cache::open_or_make(dir, [7; 16], access()).unwrap()
}

/// The file of the shard that a question is in.
pub(super) fn file_of(cache: &Cache, number: u32) -> PathBuf {
    cache.folder.path(super::Shard::of(&question(number).key().unwrap()))
}

/// Writes a file in place of another, as someone would who does not care about the store.
pub(super) fn tamper(path: &Path, bytes: &[u8]) {
    let _ = std::fs::remove_file(path);
    std::fs::File::create(path).unwrap().write_all(bytes).unwrap();
}

/// The verdict that is found, or the reason why none is, or a dash.
pub(super) fn verdict(cache: &Cache, number: u32) -> String {
    match cache.lookup(&question(number)).unwrap() {
        Found::Hit(hit) => hit.entry.judgment.said.verdict,
        Found::Miss => "-".into(),
        Found::Bad(event) => format!("{:?}", event.reason),
    }
}
