//! Closed-form 95 % intervals.

use crate::summary::{Interval, Method};

/// The coverage of every interval we write.
pub const LEVEL: f64 = 0.95;

/// The standard normal quantile at 97.5 %.
pub const Z: f64 = 1.959_963_984_540_054;

/// The range that a quantity cannot leave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    low: f64,
    high: f64,
}

impl Bounds {
    /// A score, or a mean of scores.
    pub const UNIT: Self = Self { low: 0.0, high: 1.0 };
    /// A difference of two scores.
    pub const SIGNED: Self = Self { low: -1.0, high: 1.0 };

    /// Makes an interval inside the bounds that holds the mean it was made for.
    pub(super) fn interval(self, low: f64, mean: f64, high: f64, method: Method) -> Interval {
        // Rounding may put the end of an interval a bit beyond a mean that lies on the bound.
        let (low, high) = (low.min(mean), high.max(mean));
        Interval { high: high.clamp(self.low, self.high), level: LEVEL, low: low.clamp(self.low, self.high), method }
    }
}

/// Wilson's score interval of a proportion. Without trials it is the whole range.
///
/// `successes` may be fractional: of all variables in [0, 1] with a given mean, the one that is
/// only ever 0 or 1 varies most, so that for any other the interval is too wide, never too narrow.
pub fn wilson(successes: f64, trials: u64) -> Interval {
    if trials == 0 {
        return Bounds::UNIT.interval(0.0, 0.0, 1.0, Method::Wilson);
    }
    let n = trials as f64;
    let p = (successes / n).clamp(0.0, 1.0);
    let z2 = Z * Z;
    let scale = 1.0 + z2 / n;
    let centre = (p + z2 / (2.0 * n)) / scale;
    let half = Z * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt() / scale;
    Bounds::UNIT.interval(centre - half, p, centre + half, Method::Wilson)
}

/// [`wilson`] stretched to the bounds: the interval of a mean of which only bounds and count are trusted.
pub fn wilson_mean(mean: f64, items: u64, bounds: Bounds) -> Interval {
    let width = bounds.high - bounds.low;
    let unit = wilson((mean - bounds.low) / width * items as f64, items);
    bounds.interval(bounds.low + unit.low * width, mean, bounds.low + unit.high * width, Method::Wilson)
}

/// The interval of a mean when every item gave the same value, where resampling would claim certainty.
///
/// None of N items differed from the value. Wilson's upper end for 0 of N bounds the share of items
/// that would, and such an item can lie no further away than a bound. For the values 0 and 1 in
/// [0, 1] this is exactly Wilson's interval for 0 of N and N of N.
pub fn constant(value: f64, items: u64, bounds: Bounds) -> Interval {
    let others = wilson(0.0, items).high;
    let low = value - others * (value - bounds.low);
    let high = value + others * (bounds.high - value);
    bounds.interval(low, value, high, Method::Wilson)
}

/// The normal approximation from the mean and the variance of single items.
pub fn normal(mean: f64, variance: f64, items: u64, bounds: Bounds) -> Interval {
    let half = Z * (variance.max(0.0) / items.max(1) as f64).sqrt();
    bounds.interval(mean - half, mean, mean + half, Method::Normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_near(interval: Interval, low: f64, high: f64) {
        assert!(
            (interval.low - low).abs() < 5e-7 && (interval.high - high).abs() < 5e-7,
            "{interval:?} is not {low}..{high}"
        );
    }

    #[test]
    fn wilson_gives_the_published_values() {
        // The two of 263 and 148 are Newcombe's (1998); all were computed again with more digits.
        for (successes, trials, low, high) in [
            (8, 10, 0.490162, 0.943318),
            (0, 10, 0.0, 0.277533),
            (10, 10, 0.722467, 1.0),
            (1, 1, 0.206549, 1.0),
            (5, 5, 0.565518, 1.0),
            (81, 263, 0.255289, 0.366210),
            (15, 148, 0.062386, 0.160487),
            (500_000, 1_000_000, 0.499020, 0.500980),
        ] {
            assert_near(wilson(f64::from(successes), trials), low, high);
        }
    }

    #[test]
    fn wilson_of_nothing_is_everything() {
        assert_near(wilson(0.0, 0), 0.0, 1.0);
    }

    #[test]
    fn wilson_holds_its_proportion_and_stays_in_the_unit_range() {
        for trials in [1u32, 2, 3, 7, 50, 999] {
            for successes in 0..=trials {
                let interval = wilson(f64::from(successes), u64::from(trials));
                let p = f64::from(successes) / f64::from(trials);
                assert!(0.0 <= interval.low && interval.low <= p && p <= interval.high && interval.high <= 1.0);
                assert!(interval.high - interval.low > 1e-4);
            }
        }
    }

    #[test]
    fn a_constant_at_a_bound_is_wilsons_extreme() {
        for items in [1, 5, 40, 2000] {
            let (all, none) = (wilson(items as f64, items), wilson(0.0, items));
            assert_near(constant(1.0, items, Bounds::UNIT), all.low, all.high);
            assert_near(constant(0.0, items, Bounds::UNIT), none.low, none.high);
        }
    }

    #[test]
    fn a_constant_inside_the_bounds_still_has_a_width() {
        assert_near(constant(0.5, 5, Bounds::UNIT), 0.282759, 0.717241);
        assert_near(constant(0.0, 5, Bounds::SIGNED), -0.434482, 0.434482);
        assert_near(constant(1.0, 5, Bounds::SIGNED), 0.131035, 1.0);
    }

    #[test]
    fn a_signed_mean_is_the_unit_one_stretched() {
        let unit = wilson(1.5, 2);
        assert_near(wilson_mean(0.5, 2, Bounds::SIGNED), 2.0 * unit.low - 1.0, 2.0 * unit.high - 1.0);
        assert_near(wilson_mean(0.75, 2, Bounds::UNIT), unit.low, unit.high);
    }

    #[test]
    fn the_normal_interval_is_cut_at_the_bounds() {
        assert_near(normal(0.5, 0.25, 100, Bounds::UNIT), 0.402002, 0.597998);
        assert_near(normal(0.99, 0.25, 4, Bounds::UNIT), 0.500009, 1.0);
        assert_near(normal(-0.9, 1.0, 4, Bounds::SIGNED), -1.0, 0.079982);
    }
}
