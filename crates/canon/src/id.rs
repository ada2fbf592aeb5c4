//! Run ids, sample keys and the time spine.

use std::fmt;
use std::fmt::Write as _;
use std::str::FromStr;

use data_encoding::HEXLOWER;

use crate::digest::Digest;

/// Names a run by what it was made from. Text form: 32 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId([u8; 16]);

impl RunId {
    /// The id is the first half of the digest of everything that determines a run.
    pub fn from_digest(digest: &Digest) -> Self {
        let mut id = [0; 16];
        id.copy_from_slice(&digest.as_bytes()[..16]);
        Self(id)
    }

    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns the moment on the time spine that belongs to an ordinal, as RFC 3339 in UTC.
    ///
    /// Plane 1 never sees a clock. The spine starts somewhere in 2000..2020, chosen by the run id,
    /// and goes one millisecond an ordinal: it orders records and cannot be mistaken for today.
    pub fn spine(&self, ordinal: u64) -> String {
        const YEAR_2000: u64 = 946_684_800;
        const TWENTY_YEARS: u64 = 631_152_000;
        let b = &self.0;
        let start = u64::from_be_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]) % TWENTY_YEARS;
        let millis = (YEAR_2000 + start).saturating_mul(1000).saturating_add(ordinal);
        rfc3339(millis)
    }
}

/// Formats milliseconds since 1970 as `YYYY-MM-DDTHH:MM:SS.mmmZ`.
pub fn rfc3339(millis: u64) -> String {
    let (days, rest) = (millis / 86_400_000, millis % 86_400_000);
    // Days to a civil date, counting eras of 400 years from 0000-03-01.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (seconds, millis) = (rest / 1000, rest % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = String::with_capacity("2000-01-01T00:00:00.000Z".len());
    let parts = [(year, 4, '-'), (month, 2, '-'), (day, 2, 'T'), (hour, 2, ':'), (minute, 2, ':'), (second, 2, '.')];
    for (number, width, then) in parts {
        push_padded(number, width, &mut text);
        text.push(then);
    }
    push_padded(millis, 3, &mut text);
    text.push('Z');
    text
}

/// Appends a number with zeros before it. Every record and every attempt has a time: this is faster than `format!`.
fn push_padded(number: u64, width: u32, text: &mut String) {
    let mut place = 10_u64.pow(width - 1);
    if number / place >= 10 {
        // Writing to a String cannot fail.
        let _ = write!(text, "{number}");
        return;
    }
    while place > 0 {
        text.push(char::from(b'0' + (number / place % 10) as u8));
        place /= 10;
    }
}

impl RunId {
    /// The text form.
    pub fn text(&self) -> [u8; 32] {
        let mut text = [0u8; 32];
        HEXLOWER.encode_mut(&self.0, &mut text);
        text
    }

    /// Hands it over as a string, which is on the stack.
    fn with_text<T>(&self, take: impl FnOnce(&str) -> T) -> T {
        take(std::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not 32 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a run id; expected 32 lower-case hex digits")]
pub struct RunIdError(String);

impl FromStr for RunId {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        let refuse = || RunIdError(text.chars().take(80).collect());
        let bytes = HEXLOWER.decode(text.as_bytes()).map_err(|_| refuse())?;
        Ok(Self(bytes.try_into().map_err(|_| refuse())?))
    }
}

impl serde::Serialize for RunId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_text(|text| serializer.serialize_str(text))
    }
}

impl<'de> serde::Deserialize<'de> for RunId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Names one sample: `task/item/model/condition/i`, each part percent-encoded.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct SampleKey(String);

impl SampleKey {
    pub fn new(task: &str, item: &str, model: &str, condition: &str, sample: u32) -> Self {
        let mut key = String::with_capacity(task.len() + item.len() + model.len() + condition.len() + 8);
        for part in [task, item, model, condition] {
            percent_encode(part, &mut key);
            key.push('/');
        }
        // Writing to a String cannot fail.
        let _ = write!(key, "{sample}");
        Self(key)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SampleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SampleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Appends the text with every byte but RFC 3986's unreserved ones written as `%XX`.
fn percent_encode(text: &str, out: &mut String) {
    for &byte in text.as_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_slashes_and_percent_signs() {
        let key = SampleKey::new("a/b", "50%", "m", "é", 2);
        assert_eq!(key.as_str(), "a%2Fb/50%25/m/%C3%A9/2");
        assert_ne!(SampleKey::new("a", "b/c", "m", "r", 0), SampleKey::new("a/b", "c", "m", "r", 0));
    }

    #[test]
    fn dates_are_right_at_the_edges() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(rfc3339(4_107_542_399_999), "2100-02-28T23:59:59.999Z");
    }

    #[test]
    fn the_spine_moves_with_the_ordinal() {
        let id = RunId::from_digest(&Digest::of(b"x"));
        assert!(id.spine(0) < id.spine(1));
        assert!(id.spine(0).as_str() >= "2000-01-01" && id.spine(0).as_str() < "2021");
        assert_eq!(id.to_string().parse(), Ok(id));
    }
}
