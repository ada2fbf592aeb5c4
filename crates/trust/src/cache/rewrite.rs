//! A shard's file replaced, and healed where it was damaged.

use std::collections::BTreeMap;

use proofmark_canon::Digest;

use super::Cache;
use super::entry::{self, Flaw};
use super::error::CacheError;
use super::folder::{Lock, Opened, Shard};
use super::head::{self, Named, Place};
use super::index::{Contents, MAX_SHARD, Whereabouts};
use super::standing::Believed;
use crate::key::PrivateKey;
use crate::policy::Role;

/// What a shard is about to hold. Nobody else can write it meanwhile.
pub(super) struct Draft {
    shard: Shard,
    lock: Lock,
    lines: Vec<(Named, Vec<u8>)>,
    /// Lines that no list vouches for, or that are not believed any more, with the list they stood under.
    aside: Vec<u8>,
    /// Whether the file cannot even be read as lines.
    is_unreadable: bool,
    /// Whether it differs from what is there.
    pub(super) is_changed: bool,
    /// What is believed on the questions that were looked at.
    pub(super) believed: BTreeMap<Digest, Vec<Believed>>,
}

impl Cache {
    /// The key to sign with, if others will believe it.
    pub(super) fn signer(&self) -> Result<&PrivateKey, CacheError> {
        let signer = self.access.signer.as_deref().ok_or(CacheError::ReadOnly)?;
        let fingerprint = signer.public().fingerprint();
        self.access.trust.key(&fingerprint, Role::Judge, &self.access.now).map_err(CacheError::SignerNotTrusted)?;
        Ok(signer)
    }

    /// Reads a shard to replace it. Of the questions that are asked about, only what is believed stays; of others, what
    /// the list vouches for.
    pub(super) fn draft(&self, shard: Shard, is_asked: impl Fn(&Digest) -> bool) -> Result<Draft, CacheError> {
        let lock = self.folder.lock(shard)?;
        let contents = match self.folder.open_shard(shard)? {
            Opened::File(file, _) => Contents::load(&file, self.place(shard), &self.access.trust)
                .map_err(CacheError::io(&self.folder.path(shard)))?,
            Opened::NotFile => Contents::unreadable(String::new()),
            Opened::Never | Opened::Gone => {
                let (lines, aside, believed) = (Vec::new(), Vec::new(), BTreeMap::new());
                return Ok(Draft { shard, lock, lines, aside, is_unreadable: false, is_changed: false, believed });
            }
        };
        let mut draft = Draft {
            shard,
            lock,
            lines: Vec::with_capacity(contents.named.len() + 1),
            aside: Vec::new(),
            is_unreadable: contents.list.is_some() && contents.line_count() == 0,
            is_changed: !contents.is_sound(),
            believed: BTreeMap::new(),
        };
        let mut stays = vec![false; contents.line_count()];
        for (named, whereabouts) in &contents.named {
            let (Whereabouts::Here(number) | Whereabouts::Elsewhere(number, _)) = *whereabouts else { continue };
            let line = contents.line(number);
            if is_asked(&named.key) {
                match self.believe_line(line, named) {
                    Ok(one) => draft.believed.entry(named.key).or_default().push(one),
                    Err(_) => {
                        draft.is_changed = true;
                        continue;
                    }
                }
            }
            stays[number] = true;
            draft.lines.push((*named, line.to_vec()));
        }
        if draft.is_changed {
            // The list goes along: it says what should have been there.
            for number in (0..contents.line_count()).filter(|number| !stays[*number]) {
                draft.aside.extend_from_slice(contents.line(number));
                draft.aside.push(b'\n');
            }
        }
        Ok(draft)
    }

    /// Whether a line that a list names can be believed for itself.
    pub(super) fn believe_line(&self, line: &[u8], named: &Named) -> Result<Believed, Flaw> {
        let read = entry::read_listed(line)?;
        if !self.known.is_checked(&named.digest) {
            entry::check_signature(&read, &self.access.trust)?;
            self.known.note_checked(named.digest);
        }
        if read.entry.judgment.question.key().ok() != Some(named.key) {
            let detail = "the entry answers another question than the list says";
            return Err(Flaw::new(proofmark_artefact::judgment::IntegrityReason::Misplaced, detail));
        }
        Ok(Believed { entry: read.entry, canonical: read.canonical })
    }

    /// Puts a draft in the place of what is there.
    pub(super) fn commit(&self, draft: Draft) -> Result<(), CacheError> {
        let signer = self.signer()?;
        let shard = draft.shard;
        let named = draft.lines.iter().map(|(named, _)| *named).collect();
        let place = Place { shard, store: self.folder.id() };
        let mut bytes = head::sign(named, place, signer, &self.access.now)?;
        let total = bytes.len() + draft.lines.iter().map(|(_, line)| line.len() + 1).sum::<usize>() + 1;
        if total as u64 > MAX_SHARD || bytes.len() > head::MAX_HEAD {
            return Err(CacheError::ShardTooLarge { shard: shard.to_string(), limit: MAX_SHARD });
        }
        bytes.reserve(total - bytes.len());
        bytes.push(b'\n');
        for (_, line) in &draft.lines {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        if draft.is_unreadable {
            self.folder.set_aside_whole(shard)?;
        } else if !draft.aside.is_empty() {
            self.folder.set_aside(shard, &draft.aside)?;
        }
        self.folder.write_shard(shard, &draft.lock, &bytes)
    }
}

impl Draft {
    /// Adds an entry behind the others.
    pub(super) fn push(&mut self, key: Digest, line: Vec<u8>, one: Believed) {
        self.is_changed = true;
        self.lines.push((Named { digest: Digest::of(&line), key }, line));
        self.believed.entry(key).or_default().push(one);
    }

    /// Drops everything on a question.
    pub(super) fn drop_question(&mut self, key: &Digest) {
        self.is_changed = true;
        self.lines.retain(|(named, _)| named.key != *key);
        self.believed.remove(key);
    }

    /// How many bytes the entries take.
    pub(super) fn size(&self) -> u64 {
        self.lines.iter().map(|(_, line)| line.len() as u64 + 1).sum()
    }
}
