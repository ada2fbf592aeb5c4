//! Pictures that can be foretold: a chequered pattern out of a digest, as PNG.

use proofmark_artefact::picture::png::encode_rgb;
use proofmark_canon::Digest;

/// The largest side, so that a request cannot ask for more memory than a small picture needs.
pub(super) const MAX_SIDE: u32 = 2048;

/// Draws the picture of a digest: two colours and eight by eight fields. Sides are cut to [`MAX_SIDE`] and are at least 1.
pub(super) fn draw(digest: &Digest, width: u32, height: u32) -> Vec<u8> {
    let (width, height) = (width.clamp(1, MAX_SIDE), height.clamp(1, MAX_SIDE));
    let seed = digest.as_bytes();
    let (colours, fields) = ([&seed[..3], &seed[3..6]], &seed[8..16]);
    let mut pixels = Vec::with_capacity(width as usize * height as usize * 3);
    for y in 0..height {
        let field = fields[(y * 8 / height) as usize];
        for x in 0..width {
            pixels.extend(colours[usize::from(field >> (x * 8 / width) & 1)]);
        }
    }
    encode_rgb(width, height, &pixels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_the_size_that_was_asked_for() {
        let bytes = draw(&Digest::of(b"a cat"), 100, 30);
        assert_eq!(bytes[16..24], [0, 0, 0, 100, 0, 0, 0, 30]);
        assert_eq!(draw(&Digest::of(b"a cat"), 100, 30), bytes);
        assert_ne!(draw(&Digest::of(b"a dog"), 100, 30), bytes);
        assert_eq!(draw(&Digest::of(b"a cat"), 0, u32::MAX)[16..24], [0, 0, 0, 1, 0, 0, 8, 0]);
    }
}
