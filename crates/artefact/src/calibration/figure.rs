//! Shares and figures with their intervals, or the reason why there is none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::estimate::{rounded, rounded_interval};
use crate::stats::interval::{LEVEL, wilson};
use crate::summary::{Interval, Method};

/// A part of a whole, with Wilson's interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Share {
    pub count: u64,
    /// Null when there is nothing to count in.
    pub interval: Option<Interval>,
    pub of: u64,
    /// Why there is no value; null when there is one.
    pub reason: Option<String>,
    /// `count` divided by `of`.
    pub value: Option<f64>,
}

impl Share {
    /// A share; `reason` says why there is none when the whole is empty.
    pub fn new(count: u64, of: u64, reason: &str) -> Self {
        if of == 0 {
            return Self { count, interval: None, of, reason: Some(reason.to_owned()), value: None };
        }
        let interval = Some(rounded_interval(wilson(count as f64, of)));
        Self { count, interval, of, reason: None, value: Some(rounded(count as f64 / of as f64)) }
    }
}

/// A number that is not a share: a coefficient, a difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Null when none can be given; `reason` says why.
    pub interval: Option<Interval>,
    /// How many labels it rests on.
    pub labels: u64,
    /// Why value or interval is missing; null when both are there.
    pub reason: Option<String>,
    pub value: Option<f64>,
}

impl Figure {
    pub fn missing(labels: u64, reason: impl Into<String>) -> Self {
        Self { interval: None, labels, reason: Some(reason.into()), value: None }
    }

    pub fn new(value: f64, interval: Interval, labels: u64) -> Self {
        let interval = Some(rounded_interval(interval));
        Self { interval, labels, reason: None, value: Some(rounded(value)) }
    }

    /// A value without an interval.
    pub fn bare(value: f64, labels: u64, reason: impl Into<String>) -> Self {
        Self { interval: None, labels, reason: Some(reason.into()), value: Some(rounded(value)) }
    }

    /// Whether the interval lies on one side of zero.
    pub fn is_clear(&self) -> bool {
        self.interval.is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0)
    }
}

/// The difference of two shares of different labels, the first minus the second: Newcombe's interval, which is made of the
/// two Wilson intervals.
pub fn difference(first: &Share, second: &Share) -> Figure {
    let labels = first.of + second.of;
    if first.of == 0 || second.of == 0 {
        let reason = if first.of == 0 { &first.reason } else { &second.reason };
        return Figure::missing(labels, reason.clone().unwrap_or_default());
    }
    let part = |share: &Share| (share.count as f64 / share.of as f64, wilson(share.count as f64, share.of));
    let ((p, one), (q, two)) = (part(first), part(second));
    let apart = |a: f64, b: f64| (a * a + b * b).sqrt();
    let value = p - q;
    let low = value - apart(p - one.low, two.high - q);
    let high = value + apart(one.high - p, q - two.low);
    Figure::new(value, clamped(low, high, Method::Wilson), labels)
}

/// An interval within -1 and 1.
pub(super) fn clamped(low: f64, high: f64, method: Method) -> Interval {
    Interval { high: high.clamp(-1.0, 1.0), level: LEVEL, low: low.clamp(-1.0, 1.0), method }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_wilsons_interval_and_an_empty_one_a_reason() {
        let share = Share::new(8, 10, "nothing");
        let interval = share.interval.unwrap();
        assert_eq!((share.value, interval.low, interval.high), (Some(0.8), 0.490162, 0.943318));
        let none = Share::new(0, 0, "people passed every answer");
        assert_eq!((none.value, none.interval), (None, None));
        assert_eq!(none.reason.as_deref(), Some("people passed every answer"));
    }

    #[test]
    fn a_difference_has_newcombes_interval() {
        // Newcombe (1998), method 10: 56 of 70 against 48 of 80, 9 of 10 against 3 of 10, 10 of 10 against 0 of 10.
        for (one, two, low, high) in
            [((56, 70), (48, 80), 0.0524, 0.3339), ((9, 10), (3, 10), 0.1705, 0.8090), ((10, 10), (0, 10), 0.6075, 1.0)]
        {
            let found = difference(&Share::new(one.0, one.1, ""), &Share::new(two.0, two.1, ""));
            let interval = found.interval.unwrap();
            assert!((interval.low - low).abs() < 6e-5 && (interval.high - high).abs() < 6e-5, "{interval:?}");
            assert!(found.is_clear());
        }
        let none = difference(&Share::new(0, 0, "no long ones"), &Share::new(1, 2, ""));
        assert_eq!((none.value, none.reason.as_deref(), none.labels), (None, Some("no long ones"), 2));
        assert!(!none.is_clear());
    }
}
