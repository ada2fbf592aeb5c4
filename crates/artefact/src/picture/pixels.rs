//! Pictures decoded within a bound.

use std::io::Cursor;
use std::panic::AssertUnwindSafe;

use image::{ImageFormat, ImageReader};

use super::sniff::{Facts, Format, sniff};
use super::{MAX_PIXELS, PictureError};

/// Pixels in rows from top to bottom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    pub width: u32,
    pub height: u32,
    /// One byte a channel.
    pub data: Vec<u8>,
}

/// Decodes to red, green and blue; what is transparent lies on white. Of an animation the first picture counts.
///
/// A picture of more than `max_pixels`, or of more than [`MAX_PIXELS`], is refused before anything is decoded.
pub fn decode_rgb(bytes: &[u8], max_pixels: u64) -> Result<Pixels, PictureError> {
    let Facts { format, width, height, .. } = sniff(bytes)?;
    let limit = max_pixels.min(MAX_PIXELS);
    let pixels = u64::from(width) * u64::from(height);
    if pixels > limit {
        return Err(PictureError::TooLarge { width, height, limit });
    }
    let kind = match format {
        Format::Png => ImageFormat::Png,
        Format::Jpeg => ImageFormat::Jpeg,
        Format::Gif => ImageFormat::Gif,
        Format::Webp => ImageFormat::WebP,
    };
    let failed = |why: String| PictureError::Decode { format, why: crate::text::excerpt(&why, 120) };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), kind);
    let mut limits = image::Limits::default();
    limits.max_image_width = Some(width);
    limits.max_image_height = Some(height);
    // Four channels of 16 bits, and what a decoder needs besides.
    limits.max_alloc = Some(pixels * 8 + (16 << 20));
    reader.limits(limits);
    // The decoders are others' code and the bytes are a stranger's: a bug in there must not end the run.
    let decoded = std::panic::catch_unwind(AssertUnwindSafe(|| reader.decode()))
        .map_err(|_| failed("the decoder gave up".to_owned()))?
        .map_err(|error| failed(error.to_string()))?;
    if (decoded.width(), decoded.height()) != (width, height) {
        return Err(failed("its pixels are not as many as it says".to_owned()));
    }
    let rgba = decoded.into_rgba8();
    let mut data = Vec::with_capacity(rgba.len() / 4 * 3);
    for pixel in rgba.as_raw().chunks_exact(4) {
        let alpha = u32::from(pixel[3]);
        data.extend(pixel[..3].iter().map(|c| ((u32::from(*c) * alpha + 255 * (255 - alpha) + 127) / 255) as u8));
    }
    Ok(Pixels { width, height, data })
}

/// Decodes to luma (ITU-R BT.601), in integers.
pub fn decode_grey(bytes: &[u8], max_pixels: u64) -> Result<Pixels, PictureError> {
    let Pixels { width, height, data } = decode_rgb(bytes, max_pixels)?;
    let luma = |rgb: &[u8]| (299 * u32::from(rgb[0]) + 587 * u32::from(rgb[1]) + 114 * u32::from(rgb[2]) + 500) / 1000;
    Ok(Pixels { width, height, data: data.chunks_exact(3).map(|rgb| luma(rgb) as u8).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::png;
    use image::{DynamicImage, RgbImage, RgbaImage};
    use proptest::prelude::*;

    fn written(image: &DynamicImage, kind: ImageFormat) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        image.write_to(&mut out, kind).unwrap();
        out.into_inner()
    }

    fn blocks() -> RgbImage {
        RgbImage::from_fn(32, 24, |x, y| image::Rgb([(x / 8 * 60) as u8, (y / 8 * 80) as u8, 128]))
    }

    #[test]
    fn all_four_formats_are_decoded() {
        let picture = DynamicImage::from(blocks());
        for (kind, largest) in
            [(ImageFormat::Png, 0), (ImageFormat::WebP, 0), (ImageFormat::Gif, 0), (ImageFormat::Jpeg, 40)]
        {
            let pixels = decode_rgb(&written(&picture, kind), MAX_PIXELS).unwrap();
            assert_eq!((pixels.width, pixels.height), (32, 24));
            let off = pixels.data.iter().zip(blocks().as_raw()).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(off <= Some(largest), "{kind:?}: {off:?}");
        }
    }

    #[test]
    fn what_is_transparent_lies_on_white_and_grey_is_luma() {
        let see_through = RgbaImage::from_raw(2, 1, vec![0, 0, 0, 0, 255, 0, 0, 128]).unwrap();
        let bytes = written(&see_through.into(), ImageFormat::Png);
        assert_eq!(decode_rgb(&bytes, MAX_PIXELS).unwrap().data, [255, 255, 255, 255, 127, 127]);
        assert_eq!(decode_grey(&bytes, MAX_PIXELS).unwrap().data, [255, 165]);
    }

    #[test]
    fn a_picture_with_too_many_pixels_is_refused_before_it_is_decoded() {
        let bytes = png::encode_rgb(10, 10, &[0; 300]);
        let error = decode_rgb(&bytes, 99).unwrap_err();
        assert_eq!(error, PictureError::TooLarge { width: 10, height: 10, limit: 99 });
        // A bomb: a few bytes that claim 2^60 pixels.
        let mut bomb = bytes;
        bomb[16..24].copy_from_slice(&[0x3f, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0xff]);
        assert!(matches!(decode_rgb(&bomb, u64::MAX), Err(PictureError::TooLarge { limit: MAX_PIXELS, .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_damaged_picture_is_an_error_or_a_picture_and_never_a_panic(
            kind in 0usize..4, at in any::<usize>(), byte in any::<u8>(), cut in any::<usize>(),
        ) {
            let kind = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP, ImageFormat::Gif][kind];
            let mut bytes = written(&blocks().into(), kind);
            let at = at % bytes.len();
            bytes[at] = byte;
            if cut % 3 == 0 {
                bytes.truncate(cut % bytes.len());
            }
            if let Ok(pixels) = decode_rgb(&bytes, 1 << 20) {
                prop_assert_eq!(pixels.data.len() as u64, u64::from(pixels.width) * u64::from(pixels.height) * 3);
            }
        }
    }
}
