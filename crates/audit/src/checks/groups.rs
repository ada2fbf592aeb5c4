//! Notes on samples, gathered by what samples have in common.

use std::io;

use proofmark_artefact::spill::{MARK, Sorter, Spot, mark};

use crate::shelf::SORT;

/// Where the note begins: behind the mark of the group and the place of the sample.
const NOTE: usize = MARK + Spot::BYTES;

/// Entries of `N` bytes: 24 for the group and the sample, the rest is the note.
pub(super) struct Groups<const N: usize>(Sorter<N>);

impl<const N: usize> Default for Groups<N> {
    fn default() -> Self {
        Self(Sorter::new(SORT, None))
    }
}

/// What was noted on a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Noted<const N: usize>([u8; N]);

impl<const N: usize> Noted<N> {
    pub(super) fn spot(&self) -> Spot {
        Spot::read(&self.0[MARK..])
    }

    pub(super) fn note(&self) -> &[u8] {
        &self.0[NOTE..]
    }
}

impl<const N: usize> Groups<N> {
    /// Notes something on a sample of a group. A note that is too short ends with zeros.
    pub(super) fn push(&mut self, group: &[u8], spot: Spot, note: &[u8]) -> io::Result<()> {
        let mut entry = [0; N];
        entry[..MARK].copy_from_slice(&mark(group));
        entry[MARK..NOTE].copy_from_slice(&spot.to_bytes());
        entry[NOTE..NOTE + note.len()].copy_from_slice(note);
        self.0.push(entry)
    }

    /// Goes through the groups, each in the order of its samples: `take` gets the first of the group and the one at hand,
    /// which may be the same.
    pub(super) fn each(self, mut take: impl FnMut(&Noted<N>, &Noted<N>)) -> io::Result<()> {
        let mut first: Option<Noted<N>> = None;
        for entry in self.0.finish()?.into_walk()? {
            let this = Noted(entry?);
            let first = match &first {
                Some(first) if first.0[..MARK] == this.0[..MARK] => first,
                _ => first.insert(this),
            };
            take(first, &this);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_come_whole_and_in_the_order_of_their_samples() {
        let mut groups = Groups::<26>::default();
        for at in 0..20_000u64 {
            groups.push(&(at % 7).to_be_bytes(), Spot(20_000 - at), &[at as u8 % 3]).unwrap();
        }
        let (mut sizes, mut last) = (Vec::new(), Spot(0));
        let take = |first: &Noted<26>, this: &Noted<26>| {
            if first == this {
                sizes.push(0);
            } else {
                assert!(this.spot() > last);
            }
            last = this.spot();
            assert_eq!(this.note(), [((20_000 - last.0) as u8 % 3), 0]);
            *sizes.last_mut().unwrap() += 1;
        };
        groups.each(take).unwrap();
        assert_eq!((sizes.len(), sizes.iter().sum::<u32>()), (7, 20_000));
    }
}
