//! Pictures: what a file is and how large it is, and how to look at its pixels.
//!
//! - [`sniff`] format and dimensions out of the first bytes, no pixel decoded; [`AspectRatio`] what they make;
//! - `pixels` decodes within a bound; `scale` makes it smaller with integers alone;
//! - `hash` a perceptual hash; `thumbnail` a small copy; [`png`] our own encoder over `deflate`.
//!
//! What ends up in a report or a score comes from here. PNG and GIF have one reading; how a lossy JPEG or WebP becomes
//! pixels is the decoder's business and may move by a unit with its version.

mod aspect;
mod deflate;
mod hash;
mod pixels;
pub mod png;
mod scale;
mod sniff;
mod thumbnail;

pub use aspect::AspectRatio;
pub use hash::{HASH_BITS, distance, perceptual_hash};
pub use pixels::{Pixels, decode_grey, decode_rgb};
pub use sniff::{Facts, Format, sniff};
pub use thumbnail::thumbnail;

/// The largest picture file that is kept or looked at.
pub const MAX_BYTES: u64 = 64 << 20;

/// The most pixels that are ever decoded: 64 megapixels.
pub const MAX_PIXELS: u64 = 64 << 20;

/// The bytes are not a picture that we can use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    #[error("the picture has {bytes} bytes, more than {MAX_BYTES}")]
    TooManyBytes { bytes: u64 },
    #[error("the bytes are not a PNG, JPEG, GIF or WebP picture")]
    Unknown,
    #[error("the {} picture ends before its dimensions", .format.name())]
    Truncated { format: Format },
    #[error("the {} picture {why}", .format.name())]
    Malformed { format: Format, why: &'static str },
    #[error("the picture has {width}x{height} pixels, more than {limit}")]
    TooLarge { width: u32, height: u32, limit: u64 },
    #[error("cannot decode the {} picture: {why}", .format.name())]
    Decode { format: Format, why: String },
}
