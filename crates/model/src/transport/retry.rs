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

/// Reads `Retry-After`: seconds, or `retry-after-ms` milliseconds. A date is not read: clocks differ.
pub(crate) fn retry_after(seconds: Option<&str>, millis: Option<&str>) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && (0.0..1e9).contains(n));
    let millis = millis.and_then(number).map(|n| n / 1000.0);
    millis.or_else(|| seconds.and_then(number)).map(Duration::from_secs_f64)
}

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
        let seconds = |text| retry_after(Some(text), None);
        assert_eq!(seconds("2"), Some(Duration::from_secs(2)));
        assert_eq!(seconds(" 0.5 "), Some(Duration::from_millis(500)));
        assert_eq!(retry_after(Some("9"), Some("20")), Some(Duration::from_millis(20)));
        for text in ["", "soon", "-1", "NaN", "1e400", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
