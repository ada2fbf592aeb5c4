//! When steps happened, as far as they say it.

use proofmark_canon::{Map, Value};
use serde::{Deserialize, Serialize};

use crate::input::fields::first;

/// Moments of a trajectory, in milliseconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    pub first: Option<i64>,
    pub last: Option<i64>,
    /// The first step that is long before one that it follows, and by how many seconds.
    pub backwards: Option<(usize, i64)>,
}

const AT: &[&str] = &["timestamp", "ts", "at", "time", "created_at", "started_at"];
/// Tools that run beside each other are not written down in the order in which they began.
const DISORDER_MS: i64 = 60_000;

impl Times {
    /// Takes those of another trajectory of the same sample: attempts may have run beside each other.
    pub fn join(&mut self, other: Self) {
        self.first = self.first.into_iter().chain(other.first).min();
        self.last = self.last.max(other.last);
        self.backwards = self.backwards.or(other.backwards);
    }

    /// Takes a step's moment.
    pub(super) fn take(&mut self, number: usize, map: &Map) {
        let Some(at) = first(map, AT).and_then(|(_, value)| moment(value)) else { return };
        if let Some(last) = self.last.filter(|last| last - at > DISORDER_MS)
            && self.backwards.is_none()
        {
            self.backwards = Some((number, (last - at) / 1000));
        }
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
    }
}

/// A moment in milliseconds since 1970: RFC 3339, also without a zone, or a number that can only be one of our days.
pub fn moment(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => of_text(text.trim()),
        Value::Number(number) => match number.get() {
            seconds if (1e9..1e11).contains(&seconds) => Some((seconds * 1e3) as i64),
            millis if (1e12..1e14).contains(&millis) => Some(millis as i64),
            micros if (1e15..1e17).contains(&micros) => Some((micros / 1e3) as i64),
            _ => None,
        },
        _ => None,
    }
}

fn of_text(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let is = |at: usize, signs: &[u8]| text.as_bytes().get(at).is_some_and(|byte| signs.contains(byte));
    if !(is(4, b"-") && is(7, b"-") && is(10, b"Tt ") && is(13, b":") && is(16, b":")) {
        return None;
    }
    let days = days(number(0, 4)?, number(5, 7)?, number(8, 10)?)?;
    let seconds = number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    let rest = &text[19..];
    let digits = rest.strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let (fraction, zone) = if digits > 0 { rest.split_at(digits + 1) } else { ("", rest) };
    let millis: i64 = fraction.get(1..).map_or(Some(0), |text| format!("{text:0<3}").get(..3)?.parse().ok())?;
    let offset = match zone.as_bytes() {
        [] | [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), rest @ ..] => {
            let rest: String = rest.iter().filter(|byte| **byte != b':').map(|byte| char::from(*byte)).collect();
            let (hours, minutes) =
                (rest.get(..2)?.parse::<i64>().ok()?, rest.get(2..4).unwrap_or("0").parse::<i64>().ok()?);
            (hours * 60 + minutes) * if *sign == b'-' { -60 } else { 60 }
        }
        _ => return None,
    };
    Some((days * 86_400 + seconds - offset) * 1000 + millis)
}

/// Days since 1970 of a day of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_canon::json;

    #[test]
    fn moments_are_read_as_they_are_usually_written() {
        for (text, want) in [
            ("\"1970-01-01T00:00:00Z\"", Some(0)),
            ("\"2026-07-03T10:00:00Z\"", Some(1_783_072_800_000)),
            ("\"2026-07-03T12:00:00+02:00\"", Some(1_783_072_800_000)),
            ("\"2026-07-03 12:00:00.25+0200\"", Some(1_783_072_800_250)),
            ("\"2026-07-03T10:00:00\"", Some(1_783_072_800_000)),
            ("\"2000-02-29T00:00:00Z\"", Some(951_782_400_000)),
            ("1783072800", Some(1_783_072_800_000)),
            ("1783072800000", Some(1_783_072_800_000)),
            ("12.5", None),
            ("\"yesterday\"", None),
            ("\"2026-13-03T10:00:00Z\"", None),
            ("\"2026-07-03T10:00:00é\"", None),
            ("\"2026-07-03T10:00:00+é\"", None),
        ] {
            assert_eq!(moment(&json::parse(text.as_bytes()).unwrap()), want, "{text}");
        }
    }
}
