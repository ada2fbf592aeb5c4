//! Other sizes by area, with integers alone.

use super::Pixels;

/// Resizes: each new pixel is the mean of the area it covers, rounded to the nearest.
///
/// An old pixel at `x` covers `x * new .. (x + 1) * new` and a new one `x * old .. (x + 1) * old` of one common scale,
/// so every share is a whole number and the shares of a new pixel add up to the old picture's area.
pub(super) fn resize(pixels: &Pixels, channels: usize, width: u32, height: u32) -> Pixels {
    let area = u64::from(pixels.width) * u64::from(pixels.height);
    let mut data = Vec::with_capacity(width as usize * height as usize * channels);
    let columns: Vec<Vec<(usize, u64)>> = (0..width).map(|x| shares(x, width, pixels.width)).collect();
    for y in 0..height {
        let rows = shares(y, height, pixels.height);
        for column in &columns {
            for channel in 0..channels {
                let mut sum = 0u64;
                for (row, of_row) in &rows {
                    let start = row * pixels.width as usize;
                    let line: u64 = column
                        .iter()
                        .map(|(x, of_column)| u64::from(pixels.data[(start + x) * channels + channel]) * of_column)
                        .sum();
                    sum += line * of_row;
                }
                data.push(((sum + area / 2) / area) as u8);
            }
        }
    }
    Pixels { width, height, data }
}

/// Which old pixels a new one covers, and how much of each.
fn shares(at: u32, new: u32, old: u32) -> Vec<(usize, u64)> {
    let (at, new, old) = (u64::from(at), u64::from(new), u64::from(old));
    let (start, end) = (at * old, (at + 1) * old);
    (start / new..end.div_ceil(new))
        .map(|pixel| (pixel as usize, end.min((pixel + 1) * new) - start.max(pixel * new)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pixel_is_the_mean_of_its_area() {
        let pixels = Pixels { width: 3, height: 2, data: vec![0, 90, 30, 60, 120, 0] };
        assert_eq!(resize(&pixels, 1, 1, 1).data, [50]);
        // (0 + 45 + 60 + 60) / 3 and (45 + 30 + 60 + 0) / 3.
        assert_eq!(resize(&pixels, 1, 2, 1).data, [55, 45]);
        assert_eq!(resize(&pixels, 1, 3, 2), pixels);
        assert_eq!(resize(&pixels, 1, 6, 2).data, [0, 0, 90, 90, 30, 30, 60, 60, 120, 120, 0, 0]);
        let colour = Pixels { width: 2, height: 1, data: vec![0, 10, 20, 100, 30, 40] };
        assert_eq!(resize(&colour, 3, 1, 1).data, [50, 20, 30]);
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_old_side(new in 1u32..200, old in 1u32..5000) {
            let mut before = 0;
            for at in 0..new {
                let shares = shares(at, new, old);
                prop_assert_eq!(shares.iter().map(|(_, share)| share).sum::<u64>(), u64::from(old));
                prop_assert!(shares.iter().all(|(pixel, share)| *pixel < old as usize && *share > 0));
                prop_assert!(shares[0].0 >= before);
                before = shares[0].0;
            }
        }
    }
}
