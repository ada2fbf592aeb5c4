//! A hash that stays near when a picture changes a little.

use super::scale::resize;
use super::{MAX_PIXELS, PictureError, decode_grey};

/// How many bits a perceptual hash has: the largest distance.
pub const HASH_BITS: u32 = 64;

/// Returns the 64-bit difference hash: luma averaged to 9 by 8 cells; a bit says whether a cell is brighter than its
/// right neighbour. Rows from the top, the highest bit first.
pub fn perceptual_hash(bytes: &[u8]) -> Result<u64, PictureError> {
    let cells = resize(&decode_grey(bytes, MAX_PIXELS)?, 1, 9, 8);
    let bits = cells.data.chunks_exact(9).flat_map(|row| row.windows(2));
    Ok(bits.fold(0, |hash, pair| hash << 1 | u64::from(pair[0] > pair[1])))
}

/// How many bits two hashes differ in: 0 for pictures that look alike, about 32 for two that have nothing in common.
pub fn distance(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::png;

    fn picture(width: u32, height: u32, luma: impl Fn(u32, u32) -> u32) -> Vec<u8> {
        let cells = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let pixels: Vec<u8> = cells.flat_map(|(x, y)| [luma(x * 720 / width, y * 720 / height) as u8; 3]).collect();
        png::encode_rgb(width, height, &pixels)
    }

    #[test]
    fn a_bit_says_which_neighbour_is_brighter() {
        let hash = |luma: fn(u32, u32) -> u32| perceptual_hash(&picture(90, 80, luma)).unwrap();
        assert_eq!(hash(|x, _| x / 4), 0);
        assert_eq!(hash(|x, _| 200 - x / 4), u64::MAX);
        assert_eq!(hash(|_, _| 77), 0);
        assert_eq!(hash(|_, y| y / 4), 0);
        // The upper half falls to the right, the lower half rises.
        assert_eq!(hash(|x, y| if y < 360 { 200 - x / 4 } else { x / 4 }), 0xffff_ffff_0000_0000);
    }

    #[test]
    fn another_size_or_brightness_stays_near_and_another_picture_is_far() {
        let waves = |x: u32, y: u32| (x * y / 60 + x * 3) / 7 % 200;
        let base = perceptual_hash(&picture(144, 128, waves)).unwrap();
        let smaller = perceptual_hash(&picture(72, 64, waves)).unwrap();
        let brighter = perceptual_hash(&picture(144, 128, |x, y| waves(x, y) + 30)).unwrap();
        let other = perceptual_hash(&picture(144, 128, |x, y| waves(719 - x, y))).unwrap();
        assert!(distance(base, smaller) <= 8, "{}", distance(base, smaller));
        assert_eq!(distance(base, brighter), 0);
        assert!(distance(base, other) >= 20, "{}", distance(base, other));
        assert_eq!((distance(0, u64::MAX), distance(base, base)), (HASH_BITS, 0));
    }
}
