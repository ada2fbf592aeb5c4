//! A small copy of a picture.

use super::scale::resize;
use super::{PictureError, decode_rgb, png};

/// Returns a PNG with no side longer than `max_side`; smaller pictures keep their size. The same bytes everywhere.
pub fn thumbnail(bytes: &[u8], max_side: u32, max_pixels: u64) -> Result<Vec<u8>, PictureError> {
    let pixels = decode_rgb(bytes, max_pixels)?;
    let longest = pixels.width.max(pixels.height);
    let max_side = max_side.max(1);
    if longest <= max_side {
        return Ok(png::encode_rgb(pixels.width, pixels.height, &pixels.data));
    }
    let side = |side: u32| {
        let scaled = (u64::from(side) * u64::from(max_side) + u64::from(longest) / 2) / u64::from(longest);
        (scaled as u32).max(1)
    };
    let small = resize(&pixels, 3, side(pixels.width), side(pixels.height));
    Ok(png::encode_rgb(small.width, small.height, &small.data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{MAX_PIXELS, sniff};

    #[test]
    fn the_longest_side_shrinks_and_the_other_follows() {
        for (width, height, want) in [
            (200, 100, (96, 48)),
            (100, 200, (48, 96)),
            (96, 96, (96, 96)),
            (10, 5, (10, 5)),
            (1000, 1, (96, 1)),
            (97, 96, (96, 95)),
        ] {
            let picture = png::encode_rgb(width, height, &vec![9; (width * height * 3) as usize]);
            let facts = sniff(&thumbnail(&picture, 96, MAX_PIXELS).unwrap()).unwrap();
            assert_eq!((facts.width, facts.height), want, "{width}x{height}");
        }
    }
}
