//! Where a shard has what, and what is wrong with it.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;

use memchr::memchr_iter;
use proofmark_artefact::judgment::IntegrityReason;
use proofmark_canon::Digest;

use super::entry::{self, Flaw, Read};
use super::head::{self, Named, Place};
use crate::policy::Trust;

/// The largest file of a shard.
pub(super) const MAX_SHARD: u64 = 64 << 20;
/// As many lines as a file of that size has when they are entries; what has more is something else.
const MAX_LINES: usize = 1 << 17;

/// A shard's file, taken apart.
#[derive(Default)]
pub(super) struct Contents {
    bytes: Vec<u8>,
    /// All lines, the list's among them.
    lines: Vec<Range<usize>>,
    /// Whether the last line has no end.
    is_cut: bool,
    /// Why the list does not hold.
    pub(super) list: Option<Flaw>,
    /// What the list names, in its order.
    pub(super) named: Vec<(Named, Whereabouts)>,
    /// Lines that no list vouches for, with the key of the question they answer, where they answer one.
    pub(super) strays: Vec<(usize, Option<Digest>, Flaw)>,
}

/// Where an entry is that a list names.
#[derive(Debug, Clone)]
pub(super) enum Whereabouts {
    /// On the line on which it should be.
    Here(usize),
    /// On another line.
    Elsewhere(usize, Flaw),
    /// Nowhere.
    Lost(Flaw),
}

impl Contents {
    /// Reads a file and holds every line against the list. The file's position is where it was opened.
    pub(super) fn load(file: &File, place: Place<'_>, trust: &Trust) -> io::Result<Self> {
        let mut bytes = Vec::with_capacity(file.metadata()?.len().min(MAX_SHARD) as usize + 1);
        let read = file.take(MAX_SHARD + 1).read_to_end(&mut bytes)?;
        if read as u64 > MAX_SHARD {
            return Ok(Self::unreadable(format!("shard {} is larger than {MAX_SHARD} bytes", place.shard)));
        }
        Ok(Self::of(bytes, place, trust))
    }

    /// A file of which nothing can be said.
    pub(super) fn unreadable(detail: String) -> Self {
        Self { list: Some(Flaw::new(IntegrityReason::List, detail)), ..Self::default() }
    }

    pub(super) fn of(bytes: Vec<u8>, place: Place<'_>, trust: &Trust) -> Self {
        let mut lines = Vec::new();
        let mut start = 0;
        for end in memchr_iter(b'\n', &bytes) {
            lines.push(start..end);
            start = end + 1;
            if lines.len() > MAX_LINES {
                return Self::unreadable(format!("shard {} has more than {MAX_LINES} lines", place.shard));
            }
        }
        let is_cut = start < bytes.len();
        if is_cut {
            lines.push(start..bytes.len());
        }
        let mut contents = Self { bytes, lines, is_cut, ..Self::default() };
        let first = if is_cut && contents.lines.len() == 1 { None } else { contents.lines.first() };
        let list = match first {
            Some(line) => head::check(&contents.bytes[line.clone()], place, trust),
            None => Err(Flaw::new(IntegrityReason::List, format!("the list of shard {} is cut off", place.shard))),
        };
        match list {
            Ok(named) => contents.hold_against(named, place, trust),
            Err(flaw) => contents.without_list(flaw, place, trust),
        }
        contents
    }

    /// The bytes of a line.
    pub(super) fn line(&self, number: usize) -> &[u8] {
        self.lines.get(number).map_or(&[], |range| &self.bytes[range.clone()])
    }

    /// How many lines there are, the list among them.
    pub(super) fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// Whether the file is what a list says, whole.
    pub(super) fn is_sound(&self) -> bool {
        self.list.is_none()
            && self.strays.is_empty()
            && self.named.len() + 1 == self.lines.len()
            && self.named.iter().all(|(_, whereabouts)| matches!(whereabouts, Whereabouts::Here(_)))
    }

    /// Without a list nothing is believed; lines that are flawed themselves say so.
    fn without_list(&mut self, list: Flaw, place: Place<'_>, trust: &Trust) {
        for number in 0..self.lines.len() {
            let (key, flaw) = self.examine(number, place, trust);
            // The first line is the list that does not hold, unless it is an entry.
            if number > 0 || key.is_some() {
                self.strays.push((number, key, flaw.unwrap_or_else(|| list.clone())));
            }
        }
        self.list = Some(list);
    }

    fn hold_against(&mut self, named: Vec<Named>, place: Place<'_>, trust: &Trust) {
        // Entry `i` of the list belongs on line `i + 1`. When lines are missing or too many, those behind the damage are
        // still where they should be, counted from the end.
        let digests: Vec<Option<Digest>> = (0..self.lines.len())
            .map(|number| (number > 0 && !self.is_cut_off(number)).then(|| Digest::of(self.line(number))))
            .collect();
        let (count, want) = (digests.len(), named.len() + 1);
        let candidates = |at: usize| [Some(at + 1), (at + 1 + count).checked_sub(want)];
        let holds = |number: &usize, digest: &Digest| digests.get(*number).is_some_and(|have| *have == Some(*digest));
        let mut is_claimed = vec![false; count];
        if let Some(list) = is_claimed.first_mut() {
            *list = true;
        }
        let mut found: Vec<Option<Whereabouts>> = Vec::with_capacity(named.len());
        for (at, named) in named.iter().enumerate() {
            let line = candidates(at).into_iter().flatten().find(|number| holds(number, &named.digest));
            if let Some(number) = line {
                is_claimed[number] = true;
            }
            found.push(line.map(Whereabouts::Here));
        }
        if found.iter().any(Option::is_none) {
            // A `HashMap` that is only looked up.
            let by_digest: HashMap<Digest, usize> =
                digests.iter().enumerate().filter_map(|(number, digest)| Some(((*digest)?, number))).collect();
            for (at, named) in named.iter().enumerate() {
                if found[at].is_none()
                    && let Some(&number) = by_digest.get(&named.digest)
                {
                    is_claimed[number] = true;
                    let detail = format!("shard {}: line {} stands on line {}", place.shard, at + 2, number + 1);
                    found[at] = Some(Whereabouts::Elsewhere(number, Flaw::new(IntegrityReason::Misplaced, detail)));
                }
            }
            for (at, named) in named.iter().enumerate() {
                if found[at].is_some() {
                    continue;
                }
                let line = candidates(at).into_iter().flatten().find(|number| is_claimed.get(*number) == Some(&false));
                let flaw = match line {
                    Some(number) => {
                        is_claimed[number] = true;
                        self.stands_for(number, named, place, trust)
                    }
                    None => {
                        let detail =
                            format!("shard {}: line {} is named by the list and is not there", place.shard, at + 2);
                        Flaw::new(IntegrityReason::Missing, detail)
                    }
                };
                found[at] = Some(Whereabouts::Lost(flaw));
            }
        }
        self.named = named.into_iter().zip(found.into_iter().flatten()).collect();
        for (number, is_claimed) in is_claimed.into_iter().enumerate() {
            if !is_claimed {
                let (key, flaw) = self.examine(number, place, trust);
                let unnamed = || {
                    let detail = format!("shard {}: line {} is not named by the list", place.shard, number + 1);
                    Flaw::new(IntegrityReason::List, detail)
                };
                self.strays.push((number, key, flaw.unwrap_or_else(unnamed)));
            }
        }
    }

    /// What is wrong with a line that stands where another should.
    fn stands_for(&self, number: usize, named: &Named, place: Place<'_>, trust: &Trust) -> Flaw {
        let (key, flaw) = self.examine(number, place, trust);
        if let Some(flaw) = flaw {
            return flaw;
        }
        let (reason, what) = if key == Some(named.key) {
            (IntegrityReason::RolledBack, "is another verdict on the question than the one that the list names")
        } else {
            (IntegrityReason::Misplaced, "answers another question than the one that the list names")
        };
        Flaw::new(reason, format!("shard {}: line {} {what}", place.shard, number + 1))
    }

    /// The key of the question that a line answers, and what is wrong with the line itself.
    fn examine(&self, number: usize, place: Place<'_>, trust: &Trust) -> (Option<Digest>, Option<Flaw>) {
        let at = |mut flaw: Flaw| {
            flaw.detail = format!("shard {}: line {}: {}", place.shard, number + 1, flaw.detail);
            flaw
        };
        if self.is_cut_off(number) {
            return (None, Some(at(Flaw::new(IntegrityReason::Malformed, "the line is cut off"))));
        }
        match entry::read_line(self.line(number)) {
            Err(flaw) => (None, Some(at(flaw))),
            Ok(read) => (key_of(&read), entry::check_signature(&read, trust).err().map(at)),
        }
    }

    fn is_cut_off(&self, number: usize) -> bool {
        self.is_cut && number + 1 == self.lines.len()
    }
}

fn key_of(read: &Read) -> Option<Digest> {
    read.entry.judgment.question.key().ok()
}

/// Which file it is, and in which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity([u64; 7]);

impl Identity {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self([
            metadata.dev(),
            metadata.ino(),
            metadata.size(),
            metadata.mtime() as u64,
            metadata.mtime_nsec() as u64,
            // Unlike the time before it, nobody can set this one.
            metadata.ctime() as u64,
            metadata.ctime_nsec() as u64,
        ])
    }
}

/// Where to find each entry of a shard: what is kept in memory of a file.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) identity: Identity,
    pub(super) list: Option<Flaw>,
    /// By key, then in the list's order.
    spots: Vec<Spot>,
    /// By key.
    flaws: Vec<(Digest, Flaw)>,
}

/// Where one entry is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    key: Digest,
    pub(super) digest: Digest,
    pub(super) offset: u32,
    pub(super) length: u32,
}

impl Index {
    pub(super) fn new(identity: Identity, contents: &Contents) -> Self {
        let (mut spots, mut flaws) = (Vec::with_capacity(contents.named.len()), Vec::new());
        for (named, whereabouts) in &contents.named {
            match whereabouts {
                Whereabouts::Here(number) => {
                    let range = contents.lines.get(*number).cloned().unwrap_or_default();
                    let (offset, length) = (range.start as u32, range.len() as u32);
                    spots.push(Spot { key: named.key, digest: named.digest, offset, length });
                }
                Whereabouts::Elsewhere(_, flaw) | Whereabouts::Lost(flaw) => flaws.push((named.key, flaw.clone())),
            }
        }
        let strays = contents.strays.iter().filter_map(|(_, key, flaw)| Some(((*key)?, flaw.clone())));
        flaws.extend(strays);
        // Stable: the order of the list is the order in which judgments came.
        spots.sort_by_key(|spot| spot.key);
        flaws.sort_by_key(|(key, _)| *key);
        Self { identity, list: contents.list.clone(), spots, flaws }
    }

    pub(super) fn spots(&self, key: &Digest) -> &[Spot] {
        equal(&self.spots, key, |spot| &spot.key)
    }

    /// The first thing that is wrong with what there is on a question.
    pub(super) fn flaw(&self, key: &Digest) -> Option<&Flaw> {
        equal(&self.flaws, key, |(key, _)| key).first().map(|(_, flaw)| flaw).or(self.list.as_ref())
    }

    /// How much there is to keep.
    pub(super) fn weight(&self) -> usize {
        // A flaw takes its text along.
        1 + self.spots.len() + 4 * self.flaws.len()
    }
}

/// The items of a sorted list that have a key.
fn equal<'a, T>(items: &'a [T], key: &Digest, key_of: impl Fn(&T) -> &Digest) -> &'a [T] {
    let start = items.partition_point(|item| key_of(item) < key);
    let rest = &items[start..];
    &rest[..rest.partition_point(|item| key_of(item) == key)]
}
