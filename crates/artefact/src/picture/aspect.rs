//! Width to height.

use std::str::FromStr;

/// Two whole numbers from 1 to 10000, written `16:9`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AspectRatio {
    width: u32,
    height: u32,
}

impl AspectRatio {
    /// Whether a picture has this ratio, with a hundredth of its width to spare: no whole number of pixels may fit.
    pub fn fits(self, width: u32, height: u32) -> bool {
        let (found, wanted) = (u64::from(width) * u64::from(self.height), u64::from(height) * u64::from(self.width));
        found.abs_diff(wanted) * 100 <= wanted
    }
}

impl std::fmt::Display for AspectRatio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.width, self.height)
    }
}

impl FromStr for AspectRatio {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let side = |text: &str| {
            let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|side| is_plain && (1..=10_000).contains(side))
        };
        let (width, height) = text.split_once(':').ok_or(EXPECTED)?;
        Ok(Self { width: side(width).ok_or(EXPECTED)?, height: side(height).ok_or(EXPECTED)? })
    }
}

const EXPECTED: &str = "two numbers from 1 to 10000 such as `16:9`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_has_a_hundredth_to_spare() {
        for (ratio, width, height, fits) in [
            ("16:9", 1920, 1080, true),
            ("16:9", 1366, 768, true),
            ("16:9", 1344, 768, false),
            ("1:1", 100, 100, true),
            ("1:1", 101, 100, true),
            ("1:1", 102, 100, false),
            ("1:1", 99, 100, true),
            ("1:1", 98, 100, false),
            ("10000:1", u32::MAX, u32::MAX, false),
        ] {
            assert_eq!(ratio.parse::<AspectRatio>().unwrap().fits(width, height), fits, "{ratio} {width}x{height}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "16", "16:", ":9", "16/9", "0:1", "1:0", "1:10001", "+1:1", "1.5:1", "1:1:1", " 1:1"] {
            assert!(text.parse::<AspectRatio>().is_err(), "{text}");
        }
    }
}
