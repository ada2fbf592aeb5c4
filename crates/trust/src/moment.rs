//! Moments in UTC.

use std::fmt;
use std::str::FromStr;

/// A moment as RFC 3339 writes it, in UTC. Ordered by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// `YYYY-MM-DDTHH:MM:SS`: these texts are ordered as the moments are.
    seconds: String,
    nanos: u32,
}

/// The text is no moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a moment; expected one in UTC such as 2026-11-16T09:30:00Z")]
pub struct MomentError(String);

impl Moment {
    /// Takes a moment, or a day: then its first second.
    pub fn from_start(text: &str) -> Result<Self, MomentError> {
        if is_day(text) { format!("{text}T00:00:00Z").parse() } else { text.parse() }
    }

    /// Takes a moment, or a day: then its last second.
    pub fn from_end(text: &str) -> Result<Self, MomentError> {
        if is_day(text) { format!("{text}T23:59:59Z").parse() } else { text.parse() }
    }

    /// `YYYYMMDDHHMMSSZ`, as OpenSSH takes it.
    pub fn to_ssh(&self) -> String {
        let digits: String = self.seconds.chars().filter(char::is_ascii_digit).collect();
        format!("{digits}Z")
    }
}

fn is_day(text: &str) -> bool {
    text.len() == 10
}

impl FromStr for Moment {
    type Err = MomentError;

    fn from_str(text: &str) -> Result<Self, MomentError> {
        parse(text).ok_or_else(|| MomentError(text.chars().take(40).collect()))
    }
}

fn parse(text: &str) -> Option<Moment> {
    let bytes = text.strip_suffix('Z')?.as_bytes();
    let (seconds, fraction) = bytes.split_at_checked(19)?;
    let fits = |(byte, form): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form };
    if !seconds.iter().zip(b"0000-00-00T00:00:00").all(fits) {
        return None;
    }
    let number = |at: usize| u32::from(seconds[at] - b'0') * 10 + u32::from(seconds[at + 1] - b'0');
    let year = number(0) * 100 + number(2);
    let (month, day, hour, minute, second) = (number(5), number(8), number(11), number(14), number(17));
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => return None,
    };
    // A leap second is a moment too.
    if !(1..=days).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let nanos = match fraction {
        [] => 0,
        [b'.', digits @ ..] if (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) => {
            let value = digits.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
            value * 10u32.pow(9 - digits.len() as u32)
        }
        _ => return None,
    };
    Some(Moment { seconds: String::from_utf8(seconds.to_vec()).ok()?, nanos })
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.seconds)?;
        if self.nanos != 0 {
            let digits = format!("{:09}", self.nanos);
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_ordered_by_time_whatever_their_fraction() {
        let texts = [
            "0000-01-01T00:00:00Z",
            "2024-02-29T23:59:59Z",
            "2026-11-16T09:30:00Z",
            "2026-11-16T09:30:00.000000001Z",
            "2026-11-16T09:30:00.05Z",
            "2026-11-16T09:30:00.5Z",
            "2026-11-16T09:30:01Z",
            "2026-12-31T23:59:60Z",
            "9999-12-31T23:59:59Z",
        ];
        let moments: Vec<Moment> = texts.iter().map(|text| text.parse().unwrap()).collect();
        assert!(moments.is_sorted_by(|a, b| a < b));
        for (moment, text) in moments.iter().zip(texts) {
            assert_eq!(moment.to_string(), text);
        }
        let [short, long] = ["2026-11-16T09:30:00.5Z", "2026-11-16T09:30:00.500Z"].map(|t| t.parse::<Moment>());
        assert_eq!(short, long);
    }

    #[test]
    fn what_is_no_moment_in_utc_is_refused() {
        for text in [
            "",
            "Z",
            "2026-11-16",
            "2026-11-16T09:30:00",
            "2026-11-16T09:30:00+01:00",
            "2026-11-16 09:30:00Z",
            "2026-11-16t09:30:00z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-11-31T00:00:00Z",
            "2026-11-16T24:00:00Z",
            "2026-11-16T09:60:00Z",
            "2026-11-16T09:30:61Z",
            "2026-11-16T09:30:00.Z",
            "2026-11-16T09:30:00.0000000001Z",
            "2026-11-16T09:30:00.5.5Z",
            "2026-11-16T09:30:0٣Z",
            "+026-11-16T09:30:00Z",
        ] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_day_begins_and_ends() {
        assert_eq!(Moment::from_start("2026-11-16").unwrap().to_string(), "2026-11-16T00:00:00Z");
        assert_eq!(Moment::from_end("2026-11-16").unwrap().to_ssh(), "20261116235959Z");
        assert!(Moment::from_end("2026-11-99").is_err());
        assert!(Moment::from_start("tomorrow").is_err());
    }
}
