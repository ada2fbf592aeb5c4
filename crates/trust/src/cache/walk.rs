//! The whole store, for those who look after it.

use proofmark_artefact::judgment::Entry;
use proofmark_canon::Digest;

use super::Cache;
use super::entry::Flaw;
use super::error::CacheError;
use super::folder::{Opened, Shard};
use super::index::{Contents, Whereabouts};
use super::memory::Memory;

/// One shard with everything checked.
#[derive(Debug)]
pub struct ShardView {
    pub shard: Shard,
    /// Of the file.
    pub bytes: u64,
    /// Why its list does not hold.
    pub list: Option<Flaw>,
    /// What its list names: by key, then in the order in which it came.
    pub held: Vec<Held>,
    /// Lines that no list vouches for: number from 1, the key of the question where there is one.
    pub strays: Vec<(usize, Option<Digest>, Flaw)>,
}

/// One entry that a list names.
#[derive(Debug)]
pub struct Held {
    pub key: Digest,
    pub entry: Result<Entry, Flaw>,
}

/// What to throw away.
#[derive(Debug, Clone, Copy, Default)]
pub struct Retain {
    /// Throw away what cannot be believed.
    pub only_believed: bool,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// What was thrown away, and what is left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gone {
    pub entries: u64,
    /// Entries and lines that could not be believed.
    pub flawed: u64,
    pub bytes: u64,
    pub left: u64,
}

impl Cache {
    /// The shards that have a file, in order, and the names among them that are none of ours.
    pub fn shards(&self) -> Result<(Vec<Shard>, Vec<String>), CacheError> {
        self.folder.shards()
    }

    /// The shards that were written once and are gone.
    pub fn gone(&self) -> Result<Vec<Shard>, CacheError> {
        self.folder.gone()
    }

    /// How much was set aside: files and bytes.
    pub fn set_aside(&self) -> Result<(u64, u64), CacheError> {
        self.folder.count_set_aside()
    }

    /// Removes what was set aside.
    pub fn clear_set_aside(&self) -> Result<(), CacheError> {
        self.folder.clear_set_aside()
    }

    /// Reads a shard and checks every signature in it.
    pub fn view(&self, shard: Shard) -> Result<ShardView, CacheError> {
        let (contents, bytes) = self.contents(shard)?;
        let mut held: Vec<Held> = contents
            .named
            .iter()
            .map(|(named, whereabouts)| {
                let entry = match whereabouts {
                    Whereabouts::Here(number) => {
                        self.believe_line(contents.line(*number), named).map(|one| one.entry).map_err(|mut flaw| {
                            flaw.detail = format!("shard {shard}: line {}: {}", number + 1, flaw.detail);
                            flaw
                        })
                    }
                    Whereabouts::Elsewhere(_, flaw) | Whereabouts::Lost(flaw) => Err(flaw.clone()),
                };
                Held { key: named.key, entry }
            })
            .collect();
        held.sort_by_key(|one| one.key);
        let strays = contents.strays.iter().map(|(number, key, flaw)| (number + 1, *key, flaw.clone())).collect();
        Ok(ShardView { shard, bytes, list: contents.list, held, strays })
    }

    /// The questions of which judgments were seen before that are gone.
    pub fn rolled_back(&self) -> Result<Vec<(Digest, Flaw)>, CacheError> {
        let mut lost = Vec::new();
        for (key, _) in self.memory.as_ref().map_or(Ok(Vec::new()), Memory::all)? {
            let view = self.view(Shard::of(&key))?;
            let there = view.held.iter().filter(|held| held.key == key).filter_map(|held| held.entry.as_ref().ok());
            let digests =
                there.filter_map(|entry| Some(Digest::of(&entry.judgment.canonical().ok()?))).collect::<Vec<_>>();
            lost.extend(self.missed(&key, &digests)?.map(|flaw| (key, flaw)));
        }
        Ok(lost)
    }

    /// Throws away what is not wanted any more. What is said of a question stays or goes as a whole: a conflict of which
    /// one side is thrown away would be a lie.
    pub fn retain(&self, what: Retain, is_wanted: impl Fn(&Digest, &[&Entry]) -> bool) -> Result<Gone, CacheError> {
        if !what.dry_run {
            self.signer()?;
        }
        let mut gone = Gone::default();
        for shard in self.folder.shards()?.0 {
            let view = self.view(shard)?;
            let flawed = view.held.iter().filter(|one| one.entry.is_err()).count() + view.strays.len();
            let mut unwanted = Vec::new();
            for of_one in view.held.chunk_by(|a, b| a.key == b.key) {
                let entries: Vec<&Entry> = of_one.iter().filter_map(|one| one.entry.as_ref().ok()).collect();
                if !entries.is_empty() && !is_wanted(&of_one[0].key, &entries) {
                    gone.entries += entries.len() as u64;
                    unwanted.push(of_one[0].key);
                } else {
                    gone.left += entries.len() as u64;
                }
            }
            let is_healed = what.only_believed && (flawed > 0 || view.list.is_some());
            if is_healed {
                gone.flawed += flawed as u64;
            }
            if unwanted.is_empty() && !is_healed {
                continue;
            }
            gone.bytes += self.discard(shard, view.bytes, &unwanted, what)?;
        }
        Ok(gone)
    }

    /// Writes a shard without some questions; returns how many bytes that saves.
    fn discard(&self, shard: Shard, before: u64, keys: &[Digest], what: Retain) -> Result<u64, CacheError> {
        // Read again: another process may have written since.
        let mut draft = self.draft(shard, |key| what.only_believed || keys.binary_search(key).is_ok())?;
        for key in keys {
            draft.drop_question(key);
        }
        let saved = before.saturating_sub(draft.size());
        if what.dry_run {
            return Ok(saved);
        }
        self.commit(draft)?;
        if let Some(memory) = &self.memory {
            memory.remember(&keys.iter().map(|key| (*key, Vec::new())).collect::<Vec<_>>())?;
        }
        Ok(saved)
    }

    fn contents(&self, shard: Shard) -> Result<(Contents, u64), CacheError> {
        let path = self.folder.path(shard);
        Ok(match self.folder.open_shard(shard)? {
            Opened::File(file, metadata) => {
                let bytes = metadata.len();
                (Contents::load(&file, self.place(shard), &self.access.trust).map_err(CacheError::io(&path))?, bytes)
            }
            Opened::NotFile => (Contents::unreadable(format!("shard {shard} is a link or a folder, not a file")), 0),
            Opened::Gone | Opened::Never => (Contents::unreadable(format!("the file of shard {shard} is gone")), 0),
        })
    }
}
