//! Parts of a body that can be demanded later: the commitment, the proof, its check.

use std::ops::Range;

use data_encoding::BASE64;
use proofmark_canon::merkle::{self, Tree};
use proofmark_canon::{Digest, json};
use serde::{Deserialize, Serialize};

use crate::trajectory::Chunks;

/// How long every chunk but the last is: small enough that a demanded region gives little else away.
pub const CHUNK_BYTES: u32 = 4 * 1024;

/// The longest chunk that a commitment may ask for.
const MAX_CHUNK_BYTES: u32 = 1024 * 1024;
/// The most chunks that one proof shows.
const MAX_SHOWN: usize = 4096;

/// A region of a body with what ties it to the body's commitment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The chunks that hold the region, in order.
    pub chunks: Vec<ProvenChunk>,
    /// How many bytes were demanded.
    pub length: u64,
    /// The first of these bytes.
    pub offset: u64,
}

/// One chunk and the way from it to the root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvenChunk {
    /// The bytes, in base64 with padding.
    pub bytes: String,
    /// The hashes beside the way to the root, the lowest first.
    pub path: Vec<Digest>,
}

/// A region cannot be shown, or what was shown is not the region.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    #[error("bytes {offset} to {end} are not a region of a body of {bytes} bytes")]
    OutOfRange { offset: u64, end: u64, bytes: u64 },
    #[error("the region takes {chunks} chunks; at most {MAX_SHOWN} can be shown at once")]
    TooLong { chunks: u64 },
    #[error("chunks of {0} bytes are not supported")]
    ChunkSize(u32),
    #[error("the body is not the one that was committed to")]
    OtherBody,
    #[error("the proof shows {found} chunks, but the region takes {expected}")]
    ChunkCount { found: usize, expected: u64 },
    #[error("chunk {0} is not base64")]
    NotBase64(u64),
    #[error("chunk {index} has {found} bytes, but the body's has {expected}")]
    ChunkLength { index: u64, found: u64, expected: u64 },
    #[error("chunk {0} is not the one that was committed to")]
    Changed(u64),
}

impl Chunks {
    /// Commits to a content.
    pub fn of(content: &[u8]) -> Self {
        let mut tree = Tree::new();
        for chunk in content.chunks(CHUNK_BYTES as usize) {
            tree.push(chunk);
        }
        Self { chunk_bytes: CHUNK_BYTES, root: tree.root() }
    }

    /// Shows a region of the content that was committed to.
    pub fn prove(&self, content: &[u8], region: Range<u64>) -> Result<Proof, ProofError> {
        let shown = self.chunks_of(&region, content.len() as u64)?;
        let parts: Vec<&[u8]> = content.chunks(self.chunk_bytes as usize).collect();
        let leaves: Vec<Digest> = parts.iter().map(|part| merkle::leaf_hash(part)).collect();
        if merkle::root(&leaves) != self.root {
            return Err(ProofError::OtherBody);
        }
        // The region lies within the content, so every index is one of a leaf.
        let chunks = shown.map(|index| index as usize).filter_map(|index| {
            let path = merkle::prove_inclusion(&leaves, index)?;
            Some(ProvenChunk { bytes: BASE64.encode(parts[index]), path })
        });
        Ok(Proof { chunks: chunks.collect(), length: region.end - region.start, offset: region.start })
    }

    /// Checks a proof against the commitment and the length of the whole body; returns the region's bytes.
    pub fn verify(&self, bytes: u64, proof: &Proof) -> Result<Vec<u8>, ProofError> {
        let region = proof.offset..proof.offset.saturating_add(proof.length);
        let shown = self.chunks_of(&region, bytes)?;
        let (chunk_bytes, first) = (u64::from(self.chunk_bytes), shown.start);
        let expected = shown.end - shown.start;
        if proof.chunks.len() as u64 != expected {
            return Err(ProofError::ChunkCount { found: proof.chunks.len(), expected });
        }
        let mut content = Vec::new();
        for (index, chunk) in shown.zip(&proof.chunks) {
            let expected = chunk_bytes.min(bytes - index * chunk_bytes);
            // Before anything is decoded: a chunk can be no longer than its text.
            if chunk.bytes.len() as u64 > expected.div_ceil(3) * 4 {
                return Err(ProofError::ChunkLength { index, found: chunk.bytes.len() as u64 / 4 * 3, expected });
            }
            let part = BASE64.decode(chunk.bytes.as_bytes()).map_err(|_| ProofError::NotBase64(index))?;
            if part.len() as u64 != expected {
                return Err(ProofError::ChunkLength { index, found: part.len() as u64, expected });
            }
            let (size, leaf) = (bytes.div_ceil(chunk_bytes), merkle::leaf_hash(&part));
            if !merkle::verify_inclusion(&self.root, size, index, &leaf, &chunk.path) {
                return Err(ProofError::Changed(index));
            }
            content.extend(part);
        }
        let from = (region.start - first * chunk_bytes) as usize;
        Ok(content[from..from + proof.length as usize].to_vec())
    }

    /// The chunks that hold a region of a body.
    fn chunks_of(&self, region: &Range<u64>, bytes: u64) -> Result<Range<u64>, ProofError> {
        if self.chunk_bytes == 0 || self.chunk_bytes > MAX_CHUNK_BYTES {
            return Err(ProofError::ChunkSize(self.chunk_bytes));
        }
        if region.start >= region.end || region.end > bytes {
            return Err(ProofError::OutOfRange { offset: region.start, end: region.end, bytes });
        }
        let chunk_bytes = u64::from(self.chunk_bytes);
        let chunks = region.start / chunk_bytes..region.end.div_ceil(chunk_bytes);
        let count = chunks.end - chunks.start;
        if count > MAX_SHOWN as u64 {
            return Err(ProofError::TooLong { chunks: count });
        }
        Ok(chunks)
    }
}

impl Proof {
    /// The proof as canonical JSON, to be sent to whom demanded the region.
    pub fn to_json(&self) -> Result<Vec<u8>, json::EncodeError> {
        json::to_vec(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn body(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 31 + at / 251) as u8).collect()
    }

    proptest! {
        #[test]
        fn every_region_can_be_shown_and_checked(length in 1usize..40_000, a: prop::sample::Index, b: prop::sample::Index) {
            let content = body(length);
            let (a, b) = (a.index(length), b.index(length));
            let region = a.min(b)..a.max(b) + 1;
            let chunks = Chunks::of(&content);
            let proof = chunks.prove(&content, region.start as u64..region.end as u64).unwrap();
            let text = proof.to_json().unwrap();
            let proof: Proof = serde_json::from_slice(&text).unwrap();
            prop_assert_eq!(chunks.verify(length as u64, &proof).unwrap(), &content[region]);
        }

        #[test]
        fn what_was_changed_does_not_pass(at in 0usize..9000, whole in 9001u64..60_000) {
            let content = body(9000);
            let chunks = Chunks::of(&content);
            let proof = chunks.prove(&content, at as u64..at as u64 + 1).unwrap();
            let mut other = proof.clone();
            let mut bytes = BASE64.decode(other.chunks[0].bytes.as_bytes()).unwrap();
            bytes[at % CHUNK_BYTES as usize] ^= 1;
            other.chunks[0].bytes = BASE64.encode(&bytes);
            prop_assert_eq!(chunks.verify(9000, &other), Err(ProofError::Changed(at as u64 / 4096)));
            // A tree of another shape cannot be passed off either, save where the way to the root is the same.
            if whole.div_ceil(4096) > 4 {
                prop_assert!(chunks.verify(whole, &proof).is_err());
            }
        }
    }

    #[test]
    fn what_cannot_be_shown_is_refused() {
        let content = body(5000);
        let chunks = Chunks::of(&content);
        let refused = |region: Range<u64>| chunks.prove(&content, region).is_err();
        assert!(refused(0..0) && refused(5000..5001) && refused(4999..5001) && refused(u64::MAX..u64::MAX));
        #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
        let is_refused = refused(7..3);
        assert!(is_refused);
        assert_eq!(chunks.prove(&content[1..], 0..1), Err(ProofError::OtherBody));
        let proof = chunks.prove(&content, 4000..4200).unwrap();
        assert_eq!(proof.chunks.len(), 2);
        let mut fewer = proof.clone();
        fewer.chunks.pop();
        assert_eq!(chunks.verify(5000, &fewer), Err(ProofError::ChunkCount { found: 1, expected: 2 }));
        let mut swapped = proof.clone();
        swapped.chunks.swap(0, 1);
        assert!(chunks.verify(5000, &swapped).is_err());
        let mut long = proof.clone();
        long.chunks[0].bytes = "A".repeat(1 << 20);
        assert!(matches!(chunks.verify(5000, &long), Err(ProofError::ChunkLength { .. })));
        let mut garbage = proof.clone();
        garbage.chunks[0].bytes = "?".repeat(8);
        assert_eq!(chunks.verify(5000, &garbage), Err(ProofError::NotBase64(0)));
        for chunk_bytes in [0, u32::MAX] {
            let odd = Chunks { chunk_bytes, ..chunks };
            assert_eq!(odd.verify(5000, &proof), Err(ProofError::ChunkSize(chunk_bytes)));
        }
        let far = Proof { offset: u64::MAX, length: u64::MAX, ..proof };
        assert!(chunks.verify(u64::MAX, &far).is_err());
    }

    #[test]
    fn the_root_is_that_of_the_chunks() {
        let content = body(8193);
        let leaves = [&content[..4096], &content[4096..8192], &content[8192..]].map(merkle::leaf_hash);
        assert_eq!(Chunks::of(&content).root, merkle::root(&leaves));
    }
}
