//! Which interval a mean is given, and how numbers are rounded before they are written.
//!
//! The independent unit is the item. Samples of one item are alike, and counting them one by one would make
//! intervals too narrow; so a mean is the mean over items of each item's mean over its scored samples. With
//! one sample an item that is the mean over samples.

use proofmark_canon::seed::Stream;

use super::bootstrap::{FEWEST_ITEMS, MOST_ITEMS, Resamples};
use super::histogram::Histogram;
use super::interval::{Bounds, constant, normal, wilson, wilson_mean};
use crate::summary::{Estimate, Interval, Method};

/// One value an item, on the way to an [`Estimate`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    values: Histogram,
    /// Whether some item is more than one sample of value 0 or 1.
    graded: bool,
}

impl Series {
    /// Adds an item's mean. `plain` when it stands on one scored sample whose value was 0 or 1.
    pub fn add(&mut self, mean: f64, plain: bool) {
        self.values.add(mean);
        self.graded |= !plain;
    }

    pub fn merge(&mut self, other: &Self) {
        self.values.merge(&other.values);
        self.graded |= other.graded;
    }

    /// The mean with its interval, rounded; `None` without items.
    pub fn estimate(&self, stream: Stream) -> Option<Estimate> {
        let mean = self.values.mean()?;
        let items = self.values.count();
        let interval = if self.graded {
            mean_interval(&self.values, Bounds::UNIT, stream)?
        } else {
            wilson(self.values.sum(), items)
        };
        Some(Estimate { interval: rounded_interval(interval), items, mean: rounded(mean) })
    }
}

/// Returns the interval of the mean of a histogram; `None` when it is empty.
///
/// - All items alike to a millionth: [`constant`], since resampling would claim certainty.
/// - Fewer than 10 items: [`wilson_mean`], which is too wide rather than too narrow.
/// - Up to 1000 items: the percentile bootstrap.
/// - More: the normal approximation.
pub fn mean_interval(values: &Histogram, bounds: Bounds, stream: Stream) -> Option<Interval> {
    let (mean, items) = (values.mean()?, values.count());
    let (least, greatest) = values.extremes()?;
    if greatest - least < ALIKE {
        return Some(constant(mean, items, bounds));
    }
    if items < FEWEST_ITEMS {
        return Some(wilson_mean(mean, items, bounds));
    }
    if items > MOST_ITEMS {
        return Some(normal(mean, values.variance(), items, bounds));
    }
    let (low, high) = Resamples::draw(values, stream)?.percentiles();
    Some(bounds.interval(low, mean, high, Method::Bootstrap))
}

/// Items closer than this would be written as one.
const ALIKE: f64 = 1e-6;

/// Rounds to six decimals, halves away from zero: the one rule for estimates and interval ends that are written.
///
/// The numbers are the same everywhere without it; it is for the people who read them.
pub fn rounded(x: f64) -> f64 {
    // Adding 0 turns -0 to 0.
    (x * 1e6).round() / 1e6 + 0.0
}

pub fn rounded_interval(interval: Interval) -> Interval {
    Interval { low: rounded(interval.low), high: rounded(interval.high), ..interval }
}

#[cfg(test)]
mod tests {
    use proofmark_canon::{Digest, RunId};

    use super::*;
    use crate::stats::bootstrap;

    fn stream(label: &str) -> Stream {
        bootstrap::stream(&RunId::from_digest(&Digest::of(b"run")), &[label])
    }

    fn estimate(values: impl IntoIterator<Item = f64>, plain: bool) -> Estimate {
        let mut series = Series::default();
        values.into_iter().for_each(|value| series.add(value, plain));
        series.estimate(stream("estimate")).unwrap()
    }

    #[test]
    fn the_method_follows_from_the_data() {
        let grades = |items: u32| (0..items).map(|i| f64::from(i % 3) / 2.0);
        for (items, plain, method) in [
            (1, true, Method::Wilson),
            (5000, true, Method::Wilson),
            (2, false, Method::Wilson),
            (9, false, Method::Wilson),
            (10, false, Method::Bootstrap),
            (1000, false, Method::Bootstrap),
            (1001, false, Method::Normal),
        ] {
            let found = estimate(grades(items), plain);
            assert_eq!((found.interval.method, found.items), (method, u64::from(items)), "{items} {plain}");
        }
    }

    #[test]
    fn nothing_scored_is_no_estimate() {
        assert_eq!(Series::default().estimate(stream("none")), None);
    }

    #[test]
    fn pass_and_fail_give_wilsons_interval() {
        let found = estimate((0..10).map(|i| f64::from(i < 8)), true);
        assert_eq!((found.mean, found.interval.low, found.interval.high), (0.8, 0.490162, 0.943318));
    }

    #[test]
    fn items_that_agree_never_claim_certainty() {
        for (value, items) in [(1.0, 1), (1.0, 5), (0.0, 5), (0.5, 1), (2.0 / 3.0, 7), (1.0, 5000)] {
            let found = estimate(vec![value; items], false);
            assert_eq!(found.interval.method, Method::Wilson);
            assert!(found.interval.high - found.interval.low > 0.5 / items as f64, "{value} {items} {found:?}");
        }
        assert_eq!(Some(estimate([1.0; 5], false).interval.low), Some(0.565518));
    }

    #[test]
    fn numbers_are_rounded_to_six_decimals() {
        for (number, written) in
            [(1.0 / 3.0, "0.333333"), (2.0 / 3.0, "0.666667"), (0.0000005, "0.000001"), (-1e-9, "0"), (1.0, "1")]
        {
            assert_eq!(rounded(number).to_string(), written);
        }
    }

    /// How many of 400 experiments, each of 40 items with 3 samples, have the truth in their interval.
    fn covered(spread: f64, items: u32) -> u32 {
        let mut random = stream("coverage");
        let mut covered = 0;
        for experiment in 0..400 {
            let mut series = Series::default();
            for _ in 0..items {
                // An item is easy or hard by as much as the spread; the mean over all items is 0.6.
                let p = 0.6 + spread * (random.next_unit() * 2.0 - 1.0);
                let passed = (0..3).filter(|_| random.next_unit() < p).count();
                series.add(passed as f64 / 3.0, false);
            }
            let interval = series.estimate(stream(&experiment.to_string())).unwrap().interval;
            covered += u32::from(interval.low <= 0.6 && 0.6 <= interval.high);
        }
        covered
    }

    #[test]
    fn intervals_hold_the_truth_about_as_often_as_they_say() {
        // 95 % of 400 is 380, give or take 9 for two standard deviations; the percentile bootstrap is known
        // to fall a little short.
        for spread in [0.0, 0.4] {
            let covered = covered(spread, 40);
            assert!((364..=396).contains(&covered), "{covered} of 400 at spread {spread}");
        }
    }
}
