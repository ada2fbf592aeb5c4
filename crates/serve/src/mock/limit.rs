//! How many requests a second are let in.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A bucket that fills at a steady rate and holds one second's worth.
pub(super) struct Bucket {
    rate: f64,
    state: Mutex<(f64, Instant)>,
}

impl Bucket {
    pub(super) fn new(per_second: u32, now: Instant) -> Self {
        let rate = f64::from(per_second.max(1));
        Self { rate, state: Mutex::new((rate, now)) }
    }

    /// Takes one out; false when it is empty.
    pub(super) fn take(&self, now: Instant) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (level, last) = *state;
        let level = (level + now.saturating_duration_since(last).as_secs_f64() * self.rate).min(self.rate);
        let is_there = level >= 1.0;
        *state = (if is_there { level - 1.0 } else { level }, now.max(last));
        is_there
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_gives_its_rate_and_no_more() {
        let start = Instant::now();
        let bucket = Bucket::new(10, start);
        let taken = |at: Duration| (0..100).filter(|_| bucket.take(start + at)).count();
        assert_eq!(taken(Duration::ZERO), 10);
        assert_eq!(taken(Duration::from_millis(350)), 3);
        assert_eq!(taken(Duration::from_secs(60)), 10);
        // A clock that seems to go back gives nothing.
        assert_eq!(taken(Duration::from_secs(1)), 0);
    }
}
