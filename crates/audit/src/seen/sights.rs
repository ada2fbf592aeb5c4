//! What was seen of every sample, in memory that does not grow with them.
//!
//! Trajectories come in any order and a sample may have several; samples are judged in the order of their own file.

use std::io;
use std::sync::Arc;

use proofmark_artefact::spill::{Log, Sorted, Sorter, Spot, Walk};

use super::Seen;
use crate::shelf::{LOG, SORT, decode, encode};

/// Where a sample is, and where what one of its trajectories shows. The latter grows with the file of trajectories.
const ENTRY: usize = 2 * Spot::BYTES;

/// What trajectories show, while they are looked through.
pub struct Sights {
    log: Log,
    order: Sorter<ENTRY>,
    bytes: Vec<u8>,
}

impl Default for Sights {
    fn default() -> Self {
        Self { log: Log::new(LOG, None), order: Sorter::new(SORT, None), bytes: Vec::new() }
    }
}

impl Sights {
    /// Adds what one trajectory of a sample shows.
    pub fn push(&mut self, sample: Spot, seen: &Seen) -> io::Result<()> {
        let at = self.log.push(encode(seen, &mut self.bytes)?)?;
        let mut entry = [0; ENTRY];
        entry[..Spot::BYTES].copy_from_slice(&sample.to_bytes());
        entry[Spot::BYTES..].copy_from_slice(&at.to_bytes());
        self.order.push(entry)
    }

    pub fn finish(self) -> io::Result<Seens> {
        Ok(Seens { log: self.log, order: Arc::new(self.order.finish()?) })
    }
}

/// What all trajectories show.
pub struct Seens {
    log: Log,
    order: Arc<Sorted<ENTRY>>,
}

impl Seens {
    /// Goes through the samples in their order.
    pub fn joined(&self) -> io::Result<Joined<'_>> {
        let mut walk = self.order.walk()?;
        let next = walk.next().transpose()?;
        Ok(Joined { log: &self.log, walk, next })
    }

    /// The moment in the middle of those at which samples begin, where there are enough to have one.
    pub fn usual_moment(&self) -> io::Result<Option<i64>> {
        let (mut moments, mut count) = (Sorter::<8>::new(SORT, None), 0usize);
        let mut joined = self.joined()?;
        while let Some(sample) = joined.next_sample() {
            if let Some(first) = joined.of(sample)?.times.first {
                // Bytes sort as the numbers do once the sign is turned over.
                moments.push((first ^ i64::MIN).to_be_bytes())?;
                count += 1;
            }
        }
        if count < 3 {
            return Ok(None);
        }
        let middle = moments.finish()?.into_walk()?.nth(count / 2).transpose()?;
        Ok(middle.map(|bytes| i64::from_be_bytes(bytes) ^ i64::MIN))
    }
}

/// A walk through the samples that have trajectories.
pub struct Joined<'a> {
    log: &'a Log,
    walk: Walk<ENTRY>,
    next: Option<[u8; ENTRY]>,
}

impl Joined<'_> {
    /// The next sample that has a trajectory.
    fn next_sample(&self) -> Option<Spot> {
        self.next.map(|entry| Spot::read(&entry))
    }

    /// What all trajectories of a sample show. Samples are asked for in their order.
    pub fn of(&mut self, sample: Spot) -> io::Result<Seen> {
        let mut seen = Seen::default();
        while let Some(entry) = self.next.filter(|entry| Spot::read(entry) <= sample) {
            if Spot::read(&entry) == sample {
                seen.join(decode(&self.log.get(Spot::read(&entry[Spot::BYTES..]))?)?);
            }
            self.next = self.walk.next().transpose()?;
        }
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Times;

    fn seen(steps: u64, first: Option<i64>) -> Seen {
        Seen { steps, trajectories: 1, times: Times { first, ..Times::default() }, ..Seen::default() }
    }

    #[test]
    fn trajectories_find_their_samples_in_any_order() {
        for samples in [10, 9_000] {
            let mut sights = Sights::default();
            // Every third sample has none, every other one two.
            for at in (0..samples).rev().chain((0..samples).filter(|at| at % 2 == 0)).filter(|at| at % 3 != 0) {
                sights.push(Spot(at), &seen(at, None)).unwrap();
            }
            let seens = sights.finish().unwrap();
            let mut joined = seens.joined().unwrap();
            for at in 0..samples {
                let times = if at % 3 == 0 { 0 } else { 2 - at % 2 };
                let seen = joined.of(Spot(at)).unwrap();
                assert_eq!((u64::from(seen.trajectories), seen.steps), (times, times * at));
            }
        }
    }

    #[test]
    fn the_usual_moment_is_the_one_in_the_middle() {
        let usual = |moments: &[Option<i64>]| {
            let mut sights = Sights::default();
            for (at, first) in moments.iter().enumerate() {
                sights.push(Spot(at as u64), &seen(1, *first)).unwrap();
            }
            sights.finish().unwrap().usual_moment().unwrap()
        };
        assert_eq!(usual(&[Some(5), None, Some(-3)]), None);
        assert_eq!(usual(&[Some(5), Some(-3), None, Some(-70)]), Some(-3));
        assert_eq!(usual(&[Some(9), Some(1), Some(4), Some(2)]), Some(4));
    }
}
