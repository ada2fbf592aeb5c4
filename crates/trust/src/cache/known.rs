//! What a process knows of a store, bounded.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proofmark_canon::Digest;

use super::folder::{SHARD_COUNT, Shard};
use super::index::{Identity, Index};

/// As many entries as are kept in indexes: about 40 MB of them.
const MAX_WEIGHT: usize = 500_000;
/// As many lines as are remembered as checked: 10 MB.
const MAX_CHECKED: usize = 200_000;

/// Indexes of shards, and the lines whose signatures were checked.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// By the number of the shard; empty before the first one.
    slots: Vec<Option<Slot>>,
    weight: usize,
    clock: u64,
    checked: HashSet<Digest>,
}

#[derive(Debug)]
struct Slot {
    index: Arc<Index>,
    last_used: u64,
}

impl Known {
    /// The index of a shard's file in the state in which it is.
    pub(super) fn index(&self, shard: Shard, identity: Identity) -> Option<Arc<Index>> {
        let mut inner = self.lock();
        inner.clock += 1;
        let now = inner.clock;
        let slot = inner.slots.get_mut(shard.number())?.as_mut()?;
        if slot.index.identity != identity {
            return None;
        }
        slot.last_used = now;
        Some(Arc::clone(&slot.index))
    }

    /// Keeps an index; those that were not used for longest go.
    pub(super) fn keep(&self, shard: Shard, index: Arc<Index>) {
        let mut inner = self.lock();
        let inner = &mut *inner;
        if inner.slots.is_empty() {
            inner.slots.resize_with(SHARD_COUNT, || None);
        }
        inner.forget(shard.number());
        inner.weight += index.weight();
        inner.slots[shard.number()] = Some(Slot { index, last_used: inner.clock });
        while inner.weight > MAX_WEIGHT {
            let others = inner.slots.iter().enumerate().filter(|(number, _)| *number != shard.number());
            let oldest = others.filter_map(|(number, slot)| Some((slot.as_ref()?.last_used, number))).min();
            let Some((_, number)) = oldest else { break };
            inner.forget(number);
        }
    }

    /// Whether the signature of a line with this digest was checked already.
    pub(super) fn is_checked(&self, digest: &Digest) -> bool {
        self.lock().checked.contains(digest)
    }

    pub(super) fn note_checked(&self, digest: Digest) {
        let mut inner = self.lock();
        if inner.checked.len() >= MAX_CHECKED {
            inner.checked.clear();
        }
        inner.checked.insert(digest);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // What is kept is whole between any two statements; a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn forget(&mut self, number: usize) {
        if let Some(slot) = self.slots.get_mut(number).and_then(Option::take) {
            self.weight -= slot.index.weight();
        }
    }
}
