//! Judgments added.

use std::collections::{BTreeMap, BTreeSet};

use proofmark_artefact::judgment::{Entry, Judgment};
use proofmark_canon::Digest;

use super::Cache;
use super::entry::{self, Flaw};
use super::error::CacheError;
use super::folder::Shard;
use super::standing::{Believed, Beside, beside};

/// What became of a judgment that was to be added.
#[derive(Debug, Clone, PartialEq)]
pub enum Inserted {
    /// It is the first of its question.
    New(Entry),
    /// This one, which is there, says the same; it was not added.
    Same(Entry),
    /// It was added, and says something else than the one that counted so far.
    Conflict { entry: Entry, against: Box<Entry> },
}

/// What an insertion does to the memory of what was seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Recall {
    /// The judge was asked: what is there now is what is to be expected.
    Renew,
    /// Nobody was asked: what was seen and is gone is still gone.
    Grow,
}

impl Cache {
    /// Signs a judgment and adds it.
    pub fn insert(&self, judgment: Judgment) -> Result<Inserted, CacheError> {
        let inserted = self.insert_all(vec![judgment])?.pop();
        Ok(inserted.expect("one went in, one comes out"))
    }

    /// Signs judgments and adds them; each shard is written once.
    pub fn insert_all(&self, judgments: Vec<Judgment>) -> Result<Vec<Inserted>, CacheError> {
        let signer = self.signer()?;
        let entries = judgments.into_iter().map(|judgment| entry::sign(judgment, signer));
        self.put(entries.collect::<Result<_, _>>()?, Recall::Renew)
    }

    /// Adds entries that others signed; they keep their signers. What is not believed is refused.
    pub fn insert_signed(&self, entries: &[Entry]) -> Result<Vec<Result<Inserted, Flaw>>, CacheError> {
        let lines = entries.iter().map(entry::encode).collect::<Result<Vec<_>, _>>()?;
        self.insert_lines(&lines)
    }

    /// [`Cache::insert_signed`] for entries as they are written, a line each.
    pub fn insert_lines(&self, lines: &[Vec<u8>]) -> Result<Vec<Result<Inserted, Flaw>>, CacheError> {
        self.signer()?;
        let mut flaws = Vec::with_capacity(lines.len());
        let mut believed = Vec::new();
        for line in lines {
            match entry::check_line(line, &self.access.trust) {
                Ok(entry) => {
                    believed.push(entry);
                    flaws.push(None);
                }
                Err(flaw) => flaws.push(Some(flaw)),
            }
        }
        let mut inserted = self.put(believed, Recall::Grow)?.into_iter();
        let outcome = |flaw: Option<Flaw>| flaw.map_or_else(|| inserted.next().map(Ok), |flaw| Some(Err(flaw)));
        Ok(flaws.into_iter().filter_map(outcome).collect())
    }

    /// Adds entries that are believed.
    fn put(&self, entries: Vec<Entry>, recall: Recall) -> Result<Vec<Inserted>, CacheError> {
        let mut shards = BTreeMap::<Shard, Vec<(usize, Digest)>>::new();
        for (at, entry) in entries.iter().enumerate() {
            let key = entry.judgment.question.key()?;
            shards.entry(Shard::of(&key)).or_default().push((at, key));
        }
        let mut inserted: Vec<Option<Inserted>> = entries.iter().map(|_| None).collect();
        for (shard, members) in shards {
            let keys: BTreeSet<Digest> = members.iter().map(|(_, key)| *key).collect();
            let mut draft = self.draft(shard, |key| keys.contains(key))?;
            for (at, key) in members {
                let entry = entries[at].clone();
                let there = draft.believed.get(&key).map_or(&[][..], Vec::as_slice);
                let against = match beside(there, &entry.judgment) {
                    Beside::Same(same) => {
                        inserted[at] = Some(Inserted::Same(there[same].entry.clone()));
                        continue;
                    }
                    Beside::Against(other) => Some(there[other].entry.clone()),
                    Beside::First => None,
                };
                let canonical = entry.judgment.canonical()?;
                draft.push(key, entry::encode(&entry)?, Believed { entry: entry.clone(), canonical });
                inserted[at] = Some(match against {
                    Some(against) => Inserted::Conflict { entry, against: Box::new(against) },
                    None => Inserted::New(entry),
                });
            }
            let there: Vec<(Digest, Vec<Digest>)> =
                draft.believed.iter().map(|(key, all)| (*key, all.iter().map(Believed::digest).collect())).collect();
            if draft.is_changed {
                self.commit(draft)?;
            }
            self.note(&there, recall)?;
        }
        Ok(inserted.into_iter().flatten().collect())
    }

    fn note(&self, there: &[(Digest, Vec<Digest>)], recall: Recall) -> Result<(), CacheError> {
        let Some(memory) = &self.memory else { return Ok(()) };
        let mut news = Vec::new();
        for (key, digests) in there {
            if recall == Recall::Renew || memory.seen(key)?.iter().all(|digest| digests.contains(digest)) {
                news.push((*key, digests.clone()));
            }
        }
        memory.remember(&news)
    }
}
