//! Named sub-seeds and the pseudo-random stream made from one.
//!
//! A seed is derived from its parent and a list of labels by SHA-256, so it depends neither on
//! order nor on how many others are drawn.

use crate::digest::{Digest, Hasher};

/// The seed of one sample: 31 bits, so that every provider's `seed` field can hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct SampleSeed(u32);

impl SampleSeed {
    /// Derives the seed of the sample with this key from the suite's seed.
    pub fn derive(suite_seed: u64, key: &str) -> Self {
        let digest = derive("proofmark.sample-seed/1", &[&suite_seed.to_be_bytes(), key.as_bytes()]);
        let b = digest.as_bytes();
        Self(u32::from_be_bytes([b[0], b[1], b[2], b[3]]) >> 1)
    }

    pub fn get(self) -> u32 {
        self.0
    }
}

/// Returns the digest of the labels under a domain name.
pub fn derive(domain: &str, labels: &[&[u8]]) -> Digest {
    let mut hasher = Hasher::new();
    hasher.part(domain.as_bytes());
    for label in labels {
        hasher.part(label);
    }
    hasher.finish()
}

/// SplitMix64: a small, documented generator whose stream is the same everywhere. Not for secrets.
#[derive(Debug, Clone)]
pub struct Stream(u64);

impl Stream {
    /// Starts the stream that belongs to the labels under a domain name.
    pub fn new(domain: &str, labels: &[&[u8]]) -> Self {
        let digest = derive(domain, labels);
        let b = digest.as_bytes();
        Self(u64::from_be_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `[0, 1)` with 53 random bits.
    pub fn next_unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number in `0..bound` by multiply and shift; the bias is below 2^-32 for bounds below 2^32.
    ///
    /// # Panics
    /// When `bound` is 0.
    pub fn next_below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "an empty range has no member");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_depends_on_its_key_alone() {
        let one = SampleSeed::derive(7, "t/1/m/raw/0");
        assert_eq!(one, SampleSeed::derive(7, "t/1/m/raw/0"));
        assert_ne!(one, SampleSeed::derive(7, "t/1/m/raw/1"));
        assert_ne!(one, SampleSeed::derive(8, "t/1/m/raw/0"));
        assert!(one.get() < 1 << 31);
    }

    #[test]
    fn the_stream_is_the_published_one() {
        // First outputs of SplitMix64 from state 0, as its reference implementation gives them.
        let mut stream = Stream(0);
        assert_eq!(stream.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(stream.next_u64(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn labels_do_not_run_together() {
        assert_ne!(derive("d", &[b"ab", b"c"]), derive("d", &[b"a", b"bc"]));
    }
}
