//! Writes PNG files whose bytes never change.

use super::deflate::zlib;

/// Encodes rows of red, green and blue, top to bottom. Every row has the filter "none".
///
/// # Panics
/// When a side is 0 or there are not three bytes for every pixel: nobody outside can cause that.
pub fn encode_rgb(width: u32, height: u32, pixels: &[u8]) -> Vec<u8> {
    assert!(width > 0 && height > 0, "a picture has pixels");
    let stride = width as usize * 3;
    assert_eq!(pixels.len(), stride * height as usize, "three bytes for every pixel");
    let mut rows = Vec::with_capacity(pixels.len() + height as usize);
    for row in pixels.chunks_exact(stride) {
        rows.push(0);
        rows.extend_from_slice(row);
    }
    let mut header = Vec::with_capacity(13);
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    // Eight bits a channel, RGB, the only compression and filter method, not interlaced.
    header.extend([8, 2, 0, 0, 0]);
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(b"IHDR", &header, &mut out);
    chunk(b"IDAT", &zlib(&rows), &mut out);
    chunk(b"IEND", &[], &mut out);
    out
}

fn chunk(kind: &[u8; 4], body: &[u8], out: &mut Vec<u8>) {
    out.extend((body.len() as u32).to_be_bytes());
    out.extend(kind);
    out.extend_from_slice(body);
    out.extend(crc32(&[kind, body]).to_be_bytes());
}

/// The checksum of PNG annex D, over several pieces.
fn crc32(pieces: &[&[u8]]) -> u32 {
    let mut crc = u32::MAX;
    for byte in pieces.iter().copied().flatten() {
        crc = TABLE[usize::from(crc as u8 ^ byte)] ^ crc >> 8;
    }
    !crc
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut crc = at as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { 0xedb8_8320 ^ crc >> 1 } else { crc >> 1 };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{MAX_PIXELS, decode_rgb};
    use proofmark_canon::Digest;
    use proptest::prelude::*;

    #[test]
    fn the_bytes_of_a_picture_never_change() {
        assert_eq!(crc32(&[b"1234", b"56789"]), 0xcbf4_3926);
        let pixels: Vec<u8> = (0..40 * 30 * 3).map(|at| (at * at / 7 % 256) as u8).collect();
        let bytes = encode_rgb(40, 30, &pixels);
        assert_eq!(Digest::of(&bytes).short(), "618e05b1562f");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn another_decoder_reads_what_was_written(
            width in 1u32..60, height in 1u32..40, noise in prop::collection::vec(any::<u8>(), 1..400), plain in any::<bool>(),
        ) {
            let length = (width * height * 3) as usize;
            // Short patterns repeat, which is what the compressor looks for.
            let pattern = if plain { &noise[..1 + noise.len() / 40] } else { &noise[..] };
            let pixels: Vec<u8> = pattern.iter().copied().cycle().take(length).collect();
            let decoded = decode_rgb(&encode_rgb(width, height, &pixels), MAX_PIXELS).unwrap();
            prop_assert_eq!((decoded.width, decoded.height, decoded.data), (width, height, pixels));
        }
    }
}
