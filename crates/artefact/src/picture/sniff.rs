//! What a picture file is and how large, out of its first bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_BYTES, PictureError};

/// The formats that models make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "PictureFormat")]
pub enum Format {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl Format {
    pub const ALL: [Self; 4] = [Self::Png, Self::Jpeg, Self::Gif, Self::Webp];

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// How the names of such files end in a run directory.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Gif => "gif",
            Self::Webp => "webp",
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::Webp => "WebP",
        }
    }

    pub fn of_media_type(media_type: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.media_type() == media_type)
    }

    pub fn of_extension(extension: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.extension() == extension)
    }
}

/// What a picture file says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    pub format: Format,
    pub media_type: &'static str,
    pub width: u32,
    pub height: u32,
    pub extension: &'static str,
}

/// Reads format and dimensions. No pixel is decoded; the work is at most one pass over the bytes.
pub fn sniff(bytes: &[u8]) -> Result<Facts, PictureError> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(PictureError::TooManyBytes { bytes: bytes.len() as u64 });
    }
    let (format, size) = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        (Format::Png, png_size(bytes)?)
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        (Format::Jpeg, jpeg_size(bytes)?)
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        (Format::Gif, gif_size(bytes)?)
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        (Format::Webp, webp_size(bytes)?)
    } else {
        return Err(PictureError::Unknown);
    };
    let (width, height) = size;
    if width == 0 || height == 0 {
        return Err(PictureError::Malformed { format, why: "has no pixels" });
    }
    Ok(Facts { format, media_type: format.media_type(), width, height, extension: format.extension() })
}

type Size = (u32, u32);

/// The header comes first: length 13, `IHDR`, width and height.
fn png_size(bytes: &[u8]) -> Result<Size, PictureError> {
    let format = Format::Png;
    let short = PictureError::Truncated { format };
    if take::<8>(bytes, 8).ok_or(short.clone())? != *b"\0\0\0\x0dIHDR" {
        return Err(PictureError::Malformed { format, why: "does not start with its header" });
    }
    let side = |at| take::<4>(bytes, at).map(u32::from_be_bytes).ok_or(short.clone());
    let (width, height) = (side(16)?, side(20)?);
    // The standard ends there; decoders differ beyond.
    if width > i32::MAX as u32 || height > i32::MAX as u32 {
        return Err(PictureError::Malformed { format, why: "has a side beyond 2^31" });
    }
    Ok((width, height))
}

/// The dimensions are in the frame header, behind any number of other segments.
fn jpeg_size(bytes: &[u8]) -> Result<Size, PictureError> {
    let format = Format::Jpeg;
    let short = PictureError::Truncated { format };
    let malformed = |why| PictureError::Malformed { format, why };
    let mut at = 2;
    loop {
        if *bytes.get(at).ok_or(short.clone())? != 0xff {
            return Err(malformed("has bytes between its segments"));
        }
        // A marker may be filled up with any number of `ff` before it.
        while *bytes.get(at).ok_or(short.clone())? == 0xff {
            at += 1;
        }
        let marker = bytes[at];
        at += 1;
        match marker {
            // These stand alone.
            0x01 | 0xd0..=0xd7 => continue,
            0x00 | 0xd8 => return Err(malformed("has a marker where none can be")),
            0xd9 | 0xda => return Err(malformed("has no frame header")),
            _ => {}
        }
        let length = usize::from(take::<2>(bytes, at).map(u16::from_be_bytes).ok_or(short.clone())?);
        if length < 2 {
            return Err(malformed("has a segment that is shorter than its length"));
        }
        // Start of frame, whatever the coding; c4, c8 and cc are tables and extensions.
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            if length < 7 {
                return Err(malformed("has a frame header without dimensions"));
            }
            let side = |at| take::<2>(bytes, at).map(u16::from_be_bytes).map(u32::from).ok_or(short.clone());
            return Ok((side(at + 5)?, side(at + 3)?));
        }
        at += length;
    }
}

fn gif_size(bytes: &[u8]) -> Result<Size, PictureError> {
    let short = PictureError::Truncated { format: Format::Gif };
    let side = |at| take::<2>(bytes, at).map(u16::from_le_bytes).map(u32::from).ok_or(short.clone());
    Ok((side(6)?, side(8)?))
}

/// The first chunk says which of three codings it is.
fn webp_size(bytes: &[u8]) -> Result<Size, PictureError> {
    let format = Format::Webp;
    let short = PictureError::Truncated { format };
    let malformed = |why| PictureError::Malformed { format, why };
    match &take::<4>(bytes, 12).ok_or(short.clone())? {
        b"VP8 " => {
            let tag = take::<3>(bytes, 20).ok_or(short.clone())?;
            if tag[0] & 1 != 0 || take::<3>(bytes, 23).ok_or(short.clone())? != [0x9d, 0x01, 0x2a] {
                return Err(malformed("does not start with a key frame"));
            }
            let side = |at| take::<2>(bytes, at).map(|two| u32::from(u16::from_le_bytes(two) & 0x3fff));
            Ok((side(26).ok_or(short.clone())?, side(28).ok_or(short)?))
        }
        b"VP8L" => {
            let [mark, a, b, c, d] = take::<5>(bytes, 20).ok_or(short)?;
            if mark != 0x2f {
                return Err(malformed("lacks the mark of its coding"));
            }
            let bits = u32::from_le_bytes([a, b, c, d]);
            Ok(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => {
            let [a, b, c, d, e, f] = take::<6>(bytes, 24).ok_or(short)?;
            Ok((u32::from_le_bytes([a, b, c, 0]) + 1, u32::from_le_bytes([d, e, f, 0]) + 1))
        }
        _ => Err(malformed("starts with an unknown chunk")),
    }
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::png;
    use proptest::prelude::*;

    fn jpeg(segments: &[(u8, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0xff, 0xd8];
        for (marker, body) in segments {
            bytes.extend([0xff, *marker]);
            bytes.extend((body.len() as u16 + 2).to_be_bytes());
            bytes.extend_from_slice(body);
        }
        bytes
    }

    fn webp(chunk: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let mut bytes = b"RIFF\0\0\0\0WEBP".to_vec();
        bytes.extend(chunk);
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    /// One picture of each kind, 3 wide and 2 high; as much of it as says so.
    fn samples() -> Vec<(Format, Vec<u8>)> {
        let frame = [8, 0, 2, 0, 3, 1];
        vec![
            (Format::Png, png::encode_rgb(3, 2, &[7; 18])),
            (Format::Jpeg, jpeg(&[(0xe0, b"JFIF\0"), (0xdb, &[0; 65]), (0xc0, &frame)])),
            (Format::Jpeg, jpeg(&[(0xe1, &[0xff; 4000]), (0xc4, &[1]), (0xc2, &frame)])),
            (Format::Gif, b"GIF89a\x03\0\x02\0\0\0\0".to_vec()),
            (Format::Gif, b"GIF87a\x03\0\x02\0".to_vec()),
            (Format::Webp, webp(b"VP8 ", &[0, 0, 0, 0x9d, 0x01, 0x2a, 3, 0x40, 2, 0x80])),
            (Format::Webp, webp(b"VP8L", &[0x2f, 2, 0x40, 0, 0])),
            (Format::Webp, webp(b"VP8X", &[0, 0, 0, 0, 2, 0, 0, 1, 0, 0])),
        ]
    }

    #[test]
    fn every_format_says_what_it_is_and_how_large() {
        for (format, bytes) in samples() {
            let facts = sniff(&bytes).unwrap();
            assert_eq!((facts.format, facts.width, facts.height), (format, 3, 2), "{bytes:?}");
            assert_eq!((facts.media_type, facts.extension), (format.media_type(), format.extension()));
            assert_eq!(Format::of_media_type(facts.media_type), Some(format));
            assert_eq!(Format::of_extension(facts.extension), Some(format));
        }
    }

    #[test]
    fn a_picture_that_ends_too_early_is_cut_or_unknown() {
        for (format, bytes) in samples() {
            // All but the last byte of the dimensions, wherever they are.
            for end in 0..bytes.len() {
                match sniff(&bytes[..end]) {
                    Ok(facts) => assert_eq!((facts.width, facts.height), (3, 2)),
                    Err(error) => {
                        let cut = PictureError::Truncated { format };
                        assert!(error == PictureError::Unknown || error == cut, "{end}: {error}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_a_picture_is_refused_with_a_reason() {
        let cases: &[(&[u8], &str)] = &[
            (b"", "not a PNG, JPEG, GIF or WebP"),
            (b"<svg xmlns='x'/>", "not a PNG, JPEG, GIF or WebP"),
            (b"%PDF-1.7", "not a PNG, JPEG, GIF or WebP"),
            (b"RIFF\0\0\0\0WAVEfmt ", "not a PNG, JPEG, GIF or WebP"),
            (b"\x89PNG\r\n\x1a\n\0\0\0\x0dIDAT\0\0\0\x01\0\0\0\x01", "does not start with its header"),
            (b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\0\0\0\0\x01", "has no pixels"),
            (b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\xff\0\0\0\0\0\0\x01", "beyond 2^31"),
            (b"GIF89a\0\0\x01\0", "has no pixels"),
            (b"\xff\xd8\xff\xd9", "has no frame header"),
            (b"\xff\xd8\xff\xda\0\x02", "has no frame header"),
            (b"\xff\xd8\xff\xe0\0\x01", "shorter than its length"),
            (b"\xff\xd8\xff\xe0\0\x02xx", "bytes between its segments"),
            (b"\xff\xd8\xff\xc0\0\x04\x08\0", "without dimensions"),
            (b"RIFF\0\0\0\0WEBPALPH\0\0\0\0", "unknown chunk"),
            (b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2e\0\0\0\0", "the mark of its coding"),
            (b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\x01\0\0\x9d\x01\x2a", "a key frame"),
        ];
        for (bytes, why) in cases {
            let error = sniff(bytes).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_are_sniffed_without_a_panic(
            which in 0usize..9, noise in any::<Vec<u8>>(), at in any::<usize>(), byte in any::<u8>(), cut in any::<usize>(),
        ) {
            let mut bytes = samples().get(which).map_or_else(Vec::new, |(_, bytes)| bytes.clone());
            bytes.extend(noise);
            if !bytes.is_empty() {
                let at = at % bytes.len();
                bytes[at] = byte;
                bytes.truncate(cut % (bytes.len() + 1));
            }
            if let Ok(facts) = sniff(&bytes) {
                prop_assert!(facts.width > 0 && facts.height > 0);
            }
        }
    }
}
