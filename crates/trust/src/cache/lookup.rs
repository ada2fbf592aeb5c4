//! A judgment found.

use std::fs::{File, Metadata};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use proofmark_artefact::judgment::{Entry, IntegrityEvent, IntegrityReason, Question};
use proofmark_canon::Digest;

use super::Cache;
use super::entry::{self, Flaw};
use super::error::CacheError;
use super::folder::{Opened, Shard};
use super::head::Place;
use super::index::{Contents, Identity, Index, Spot};
use super::standing::{Believed, standing};

/// What a cache has on a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// A judgment that can be believed.
    Hit(Box<Hit>),
    /// Nothing.
    Miss,
    /// Something that cannot be believed: the judge is to be asked.
    Bad(IntegrityEvent),
}

/// A judgment that can be believed.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The one that counts.
    pub entry: Entry,
    /// Others of the same question that said something else, in the order in which they came.
    pub others: Vec<Entry>,
}

impl Cache {
    /// Looks for a judgment. Signature, signer, place and list are checked each time.
    pub fn lookup(&self, question: &Question) -> Result<Found, CacheError> {
        let key = question.key()?;
        Ok(match self.believe(&key, question)? {
            Ok(Some(hit)) => Found::Hit(Box::new(hit)),
            Ok(None) => Found::Miss,
            Err(flaw) => Found::Bad(flaw.event(key)),
        })
    }

    fn believe(&self, key: &Digest, question: &Question) -> Result<Result<Option<Hit>, Flaw>, CacheError> {
        let shard = Shard::of(key);
        let mut believed = Vec::new();
        match self.folder.open_shard(shard)? {
            Opened::File(file, metadata) => match self.collect(&file, &metadata, key, question)? {
                Ok(found) => believed = found,
                Err(flaw) => return Ok(Err(flaw)),
            },
            Opened::NotFile => {
                let detail = format!("shard {shard} is a link or a folder, not a file");
                return Ok(Err(Flaw::new(IntegrityReason::List, detail)));
            }
            Opened::Gone => {
                let detail = format!("the file of shard {shard} was written once and is gone");
                return Ok(Err(Flaw::new(IntegrityReason::Missing, detail)));
            }
            Opened::Never => {}
        }
        if let Some(flaw) = self.recall(key, &believed)? {
            return Ok(Err(flaw));
        }
        let Some(stands) = standing(&believed) else { return Ok(Ok(None)) };
        let mut others: Vec<Entry> = believed.into_iter().map(|one| one.entry).collect();
        let entry = others.remove(stands);
        Ok(Ok(Some(Hit { entry, others })))
    }

    /// All judgments of a question, if all of them can be believed.
    fn collect(
        &self,
        file: &File,
        metadata: &Metadata,
        key: &Digest,
        question: &Question,
    ) -> Result<Result<Vec<Believed>, Flaw>, CacheError> {
        let shard = Shard::of(key);
        let index = self.index(file, metadata, shard)?;
        if let Some(flaw) = index.flaw(key) {
            return Ok(Err(flaw.clone()));
        }
        let mut believed = Vec::new();
        for spot in index.spots(key) {
            let mut line = vec![0; spot.length as usize];
            file.read_exact_at(&mut line, u64::from(spot.offset)).map_err(CacheError::io(&self.folder.path(shard)))?;
            match self.check(&line, spot, question) {
                Ok(one) => believed.push(one),
                Err(mut flaw) => {
                    flaw.detail = format!("shard {shard}: {}", flaw.detail);
                    return Ok(Err(flaw));
                }
            }
        }
        Ok(Ok(believed))
    }

    fn check(&self, line: &[u8], spot: &Spot, question: &Question) -> Result<Believed, Flaw> {
        // The file was looked at before, and its stamps say that nothing changed. Stamps are not proof.
        if Digest::of(line) != spot.digest {
            return Err(Flaw::new(IntegrityReason::Altered, "the entry is not the one that the list names"));
        }
        let read = entry::read_listed(line)?;
        if !self.known.is_checked(&spot.digest) {
            entry::check_signature(&read, &self.access.trust)?;
            self.known.note_checked(spot.digest);
        }
        if read.entry.judgment.question != *question {
            let flaw = Flaw::new(IntegrityReason::Misplaced, "the entry answers another question");
            let signer = read.entry.signature.as_ref().map_or("", |signed| &signed.signer);
            return Err(flaw.by(signer));
        }
        Ok(Believed { entry: read.entry, canonical: read.canonical })
    }

    /// The index of a file that is open.
    fn index(&self, file: &File, metadata: &Metadata, shard: Shard) -> Result<Arc<Index>, CacheError> {
        let identity = Identity::of(metadata);
        if let Some(index) = self.known.index(shard, identity) {
            return Ok(index);
        }
        let contents = Contents::load(file, self.place(shard), &self.access.trust)
            .map_err(CacheError::io(&self.folder.path(shard)))?;
        let index = Arc::new(Index::new(identity, &contents));
        self.known.keep(shard, Arc::clone(&index));
        Ok(index)
    }

    pub(super) fn place(&self, shard: Shard) -> Place<'_> {
        Place { shard, store: self.folder.id() }
    }

    /// Holds what there is against what was seen before, and remembers what has more than one verdict.
    fn recall(&self, key: &Digest, believed: &[Believed]) -> Result<Option<Flaw>, CacheError> {
        let Some(memory) = &self.memory else { return Ok(None) };
        if believed.len() < 2 && memory.seen(key)?.is_empty() {
            return Ok(None);
        }
        let have: Vec<Digest> = believed.iter().map(Believed::digest).collect();
        let flaw = self.missed(key, &have)?;
        if flaw.is_none() && have.len() > 1 {
            memory.remember(&[(*key, have)])?;
        }
        Ok(flaw)
    }

    /// Whether a judgment that was seen before is not among these.
    pub(super) fn missed(&self, key: &Digest, have: &[Digest]) -> Result<Option<Flaw>, CacheError> {
        let seen = self.memory.as_ref().map_or(Ok(Vec::new()), |memory| memory.seen(key))?;
        Ok(seen.iter().find(|digest| !have.contains(digest)).map(|lost| {
            let detail = format!("a judgment {} of this question was seen before and is gone", lost.short());
            Flaw::new(IntegrityReason::RolledBack, detail)
        }))
    }
}
