//! How long to wait before a request is tried again.

use std::time::Duration;

use proofmark_canon::seed::Stream;

/// How often and how patiently a request is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    /// Attempts after the first one.
    pub(crate) retries: u32,
    /// The longest first pause; doubled with each attempt.
    pub(crate) first_pause: Duration,
}

/// The longest pause we choose ourselves.
const LONGEST: Duration = Duration::from_secs(30);
/// The longest pause that a provider may ask for. Beyond it the run stops: one that sleeps for hours looks dead, and
/// one that goes on would only be refused again.
pub(super) const LONGEST_ASKED: Duration = Duration::from_secs(120);
/// A deadline that has passed is likely to pass again, and the work may have been paid for.
const TIMEOUT_RETRIES: u32 = 1;

/// Why an attempt failed, as far as trying again goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failed {
    Passing,
    TimedOut,
}

impl Patience {
    /// The pause before the next attempt, or `None` when there is none. `attempt` is the one that failed, from 1.
    ///
    /// The jitter comes from the sample's seed: a run that is made again waits the same.
    pub(crate) fn pause(&self, attempt: u32, why: Failed, asked: Option<Duration>, seed: u32) -> Option<Duration> {
        let most = match why {
            Failed::Passing => self.retries,
            Failed::TimedOut => self.retries.min(TIMEOUT_RETRIES),
        };
        if attempt > most || asked.is_some_and(|asked| asked > LONGEST_ASKED) {
            return None;
        }
        let longest = self.first_pause.saturating_mul(1 << (attempt - 1).min(16)).min(LONGEST);
        let mut stream = Stream::new("proofmark.retry/1", &[&seed.to_be_bytes(), &attempt.to_be_bytes()]);
        let chosen = longest.mul_f64(0.5 + stream.next_unit() / 2.0);
        // Those who were told the same time must not all come back at the same moment.
        Some(asked.map_or(chosen, |asked| asked + chosen.mul_f64(0.25)))
    }
}

/// What a reply says of when to come back.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ComeBack<'a> {
    /// `Retry-After`: seconds or a date.
    pub(crate) after: Option<&'a str>,
    /// `retry-after-ms`, which OpenAI and Azure send.
    pub(crate) after_ms: Option<&'a str>,
    /// `Date`: the server's own clock.
    pub(crate) date: Option<&'a str>,
}

impl ComeBack<'_> {
    /// How long to wait. A date counts from the reply's own, so that it does not matter whose clock is wrong; `now`, in
    /// milliseconds since 1970, stands in for a server that tells no time. One that has passed asks for nothing.
    pub(crate) fn wait(&self, now: impl FnOnce() -> u64) -> Option<Duration> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && (0.0..1e9).contains(n));
        if let Some(millis) = self.after_ms.and_then(number) {
            return Some(Duration::from_secs_f64(millis / 1000.0));
        }
        let after = self.after?;
        if let Some(seconds) = number(after) {
            return Some(Duration::from_secs_f64(seconds));
        }
        let until = http_date(after)?;
        let from = self.date.and_then(http_date).unwrap_or_else(|| now() / 1000);
        Some(Duration::from_secs(until.saturating_sub(from)))
    }
}

/// Reads a date of HTTP (RFC 9110 §5.6.7) as seconds since 1970: `Sun, 06 Nov 1994 08:49:37 GMT`, and the two old forms
/// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`. The name of the day is not held against the date.
fn http_date(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (day, month, year, time) = match words.as_slice() {
        [name, day, month, year, time, "GMT"] if name.ends_with(',') && year.len() == 4 => (*day, *month, *year, *time),
        [name, date, time, "GMT"] if name.ends_with(',') => {
            let mut parts = date.split('-');
            let found = (parts.next()?, parts.next()?, parts.next()?, *time);
            (parts.next().is_none() && found.2.len() == 2).then_some(found)?
        }
        [_, month, day, time, year] if year.len() == 4 => (*day, *month, *year, *time),
        _ => return None,
    };
    let number = |text: &str, most: u64| {
        let is_plain = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| is_plain && *number <= most)
    };
    // Two digits are a year of our time: nobody asks to wait for the last century.
    let year = number(year, 9999)? + if year.len() == 2 { 2000 } else { 0 };
    let month = 1 + MONTHS.iter().position(|name| *name == month)? as u64;
    let day = number(day, 31).filter(|day| *day > 0)?;
    let mut clock = time.split(':');
    let mut part = |most| clock.next().and_then(|text| number(text, most));
    // The last one of a day may be a leap second.
    let (hour, minute, second) = (part(23)?, part(59)?, part(60)?);
    if clock.next().is_some() || year < 1970 {
        return None;
    }
    Some(days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Counts years from March, so that the odd day is the last one of a year.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - DAYS_BEFORE_1970
}

/// From March of the year 0 to January of 1970.
const DAYS_BEFORE_1970: u64 = 719_468;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience { retries: 3, first_pause: Duration::from_millis(500) };

    #[test]
    fn pauses_grow_differ_by_seed_and_end() {
        let pause = |attempt, seed| PATIENCE.pause(attempt, Failed::Passing, None, seed);
        for (attempt, longest) in [(1, 500), (2, 1000), (3, 2000)] {
            for seed in 0..50 {
                let millis = pause(attempt, seed).unwrap().as_millis();
                assert!((longest / 2..=longest).contains(&millis));
            }
        }
        assert_eq!(pause(4, 0), None);
        assert_eq!(pause(1, 7), pause(1, 7));
        assert_ne!(pause(1, 7), pause(1, 8));
    }

    #[test]
    fn what_the_provider_asks_for_is_the_least() {
        let asked = Some(Duration::from_secs(9));
        for seed in 0..50 {
            let pause = PATIENCE.pause(1, Failed::Passing, asked, seed).unwrap();
            assert!(pause >= Duration::from_secs(9) && pause < Duration::from_secs(10));
        }
        assert_eq!(PATIENCE.pause(1, Failed::Passing, Some(Duration::from_secs(3600)), 0), None);
    }

    #[test]
    fn a_deadline_is_given_one_more_chance() {
        assert!(PATIENCE.pause(1, Failed::TimedOut, None, 0).is_some());
        assert!(PATIENCE.pause(2, Failed::TimedOut, None, 0).is_none());
    }

    #[test]
    fn headers_are_read_or_ignored() {
        let seconds = |text| ComeBack { after: Some(text), ..ComeBack::default() }.wait(|| 0);
        assert_eq!(seconds("2"), Some(Duration::from_secs(2)));
        assert_eq!(seconds(" 0.5 "), Some(Duration::from_millis(500)));
        let both = ComeBack { after: Some("9"), after_ms: Some("20"), date: None };
        assert_eq!(both.wait(|| 0), Some(Duration::from_millis(20)));
        for text in ["", "soon", "-1", "NaN", "1e400"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn dates_are_read_in_their_three_forms_and_no_other() {
        for (text, expected) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
            ("Sat, 01 Mar 2025 00:00:00 GMT", 1_740_787_200),
            ("Saturday, 31-Jan-26 23:59:59 GMT", 1_769_903_999),
            ("Sat Jan 31 23:59:59 2026", 1_769_903_999),
        ] {
            assert_eq!(http_date(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "GMT",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 06 Xxx 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Nov 1994 08:49:37:00 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1960 08:49:37 GMT",
            "Sun, 06 Nov 19940 08:49:37 GMT",
            "Sunday, 06-Nov-1994 08:49:37 GMT",
            "1994-11-06T08:49:37Z",
        ] {
            assert_eq!(http_date(text), None, "{text}");
        }
    }

    #[test]
    fn a_date_counts_from_the_servers_clock_or_else_from_ours() {
        let at = "Sun, 06 Nov 1994 08:49:37 GMT";
        let wait = |date, now| ComeBack { after: Some(at), after_ms: None, date }.wait(move || now);
        let ours = 784_111_777_000 - 30_000;
        assert_eq!(wait(Some("Sun, 06 Nov 1994 08:49:30 GMT"), ours), Some(Duration::from_secs(7)));
        assert_eq!(wait(None, ours), Some(Duration::from_secs(30)));
        assert_eq!(wait(Some("yesterday"), ours), Some(Duration::from_secs(30)));
        assert_eq!(wait(Some("Sun, 06 Nov 1994 08:50:00 GMT"), ours), Some(Duration::ZERO));
    }
}
