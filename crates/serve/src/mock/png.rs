//! Pictures that can be foretold: a chequered pattern out of a digest, as PNG.
//!
//! Two colours and eight by eight fields, one bit a pixel, in deflate blocks that store and do not compress: the bytes
//! depend on no library.

use proofmark_canon::Digest;

/// The largest side, so that a request cannot ask for more memory than a small picture needs.
pub(super) const MAX_SIDE: u32 = 4096;

/// Draws the picture of a digest. Sides are cut to [`MAX_SIDE`] and are at least 1.
pub(super) fn draw(digest: &Digest, width: u32, height: u32) -> Vec<u8> {
    let (width, height) = (width.clamp(1, MAX_SIDE), height.clamp(1, MAX_SIDE));
    let seed = digest.as_bytes();
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut head = Vec::with_capacity(13);
    head.extend(width.to_be_bytes());
    head.extend(height.to_be_bytes());
    // One bit a pixel, by palette, no interlacing.
    head.extend([1, 3, 0, 0, 0]);
    chunk(&mut out, b"IHDR", &head);
    chunk(&mut out, b"PLTE", &seed[..6]);
    chunk(&mut out, b"IDAT", &stored(&rows(&seed[8..16], width, height)));
    chunk(&mut out, b"IEND", &[]);
    out
}

/// The rows of pixels, each with its filter byte.
fn rows(fields: &[u8], width: u32, height: u32) -> Vec<u8> {
    let stride = width.div_ceil(8) as usize + 1;
    let mut bytes = vec![0; stride * height as usize];
    for (y, row) in bytes.chunks_exact_mut(stride).enumerate() {
        let field = fields[y * 8 / height as usize];
        for x in 0..width as usize {
            if field >> (x * 8 / width as usize) & 1 == 1 {
                row[1 + x / 8] |= 0x80 >> (x % 8);
            }
        }
    }
    bytes
}

/// A zlib stream of stored blocks (RFC 1950, RFC 1951 §3.2.4).
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(0xffff).peekable();
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        out.push(u8::from(blocks.peek().is_none()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    out.extend((b << 16 | a).to_be_bytes());
    out
}

fn chunk(out: &mut Vec<u8>, kind: &[u8; 4], bytes: &[u8]) {
    out.extend((bytes.len() as u32).to_be_bytes());
    let start = out.len();
    out.extend(kind);
    out.extend(bytes);
    let sum = crc32(&out[start..]);
    out.extend(sum.to_be_bytes());
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| sum >> 1 ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_sum_is_the_published_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_picture_has_the_size_that_was_asked_for() {
        let bytes = draw(&Digest::of(b"a cat"), 100, 30);
        assert_eq!(bytes[16..24], [0, 0, 0, 100, 0, 0, 0, 30]);
        assert_eq!(draw(&Digest::of(b"a cat"), 100, 30), bytes);
        assert_ne!(draw(&Digest::of(b"a dog"), 100, 30), bytes);
        assert_eq!(draw(&Digest::of(b"a cat"), 0, u32::MAX)[16..24], [0, 0, 0, 1, 0, 0, 16, 0]);
    }

    #[test]
    fn blocks_hold_what_went_in() {
        for length in [0, 1, 65_535, 65_536, 200_000] {
            let bytes: Vec<u8> = (0..length).map(|n: u32| n as u8).collect();
            let packed = stored(&bytes);
            let (mut at, mut back) = (2, Vec::<u8>::new());
            while at + 4 < packed.len() {
                let size = usize::from(u16::from_le_bytes([packed[at + 1], packed[at + 2]]));
                assert_eq!(packed[at + 3..at + 5], (!(size as u16)).to_le_bytes());
                back.extend(&packed[at + 5..at + 5 + size]);
                at += 5 + size;
            }
            assert_eq!(back, bytes, "{length}");
        }
    }
}
