//! A multiset of values in [-1, 1] in flat memory.

use std::collections::BTreeMap;

use proofmark_canon::math::ExactSum;

/// Counts of values by bin, with the exact count, sum, sum of squares and extremes beside them.
///
/// A value belongs to the bin `round(value * 2^20) >> level`. The level starts at 0 and rises by one
/// whenever more than [`MOST_BINS`] bins are in use; a bin then falls into the one of half its number.
///
/// The result depends on the values alone, not on the order in which they were added or merged:
/// 1. A value's bin at a level is a function of the value and the level, since shifts compose.
/// 2. The number of bins in use never falls when values are added and never rises with the level.
/// 3. So if some of the values overflow a level then all of them do: the level is never raised too far.
///    It is raised until everything fits: it ends as the lowest level that holds all values.
/// 4. Everything else is a count, a fixed-point sum or an extreme, for which order does not matter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Histogram {
    bins: BTreeMap<i32, Bin>,
    level: u32,
    count: u64,
    sum: ExactSum,
    squares: ExactSum,
    extremes: Option<(f64, f64)>,
}

/// The values that share a bin.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Bin {
    count: u64,
    sum: ExactSum,
}

/// More distinct values than this share bins.
pub const MOST_BINS: usize = 4096;

/// 2^20: the finest bins are this many a unit.
const FINEST: f64 = 1_048_576.0;

impl Histogram {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value; one outside [-1, 1] is moved to the nearer end.
    pub fn add(&mut self, value: f64) {
        // Adding 0 turns -0 to 0: the two are one value, and extremes must not depend on which came first.
        let value = if value.is_nan() { 0.0 } else { value.clamp(-1.0, 1.0) + 0.0 };
        let finest = (value * FINEST).round() as i32;
        let mut exact = ExactSum::default();
        exact.add(value);
        let bin = self.bins.entry(finest >> self.level).or_default();
        bin.count += 1;
        bin.sum.merge(exact);
        self.count += 1;
        self.sum.merge(exact);
        self.squares.add(value * value);
        self.extremes = Some(self.extremes.map_or((value, value), |(low, high)| (low.min(value), high.max(value))));
        self.coarsen();
    }

    pub fn merge(&mut self, other: &Self) {
        let level = self.level.max(other.level);
        self.raise_to(level);
        let shift = level - other.level;
        for (number, theirs) in &other.bins {
            let ours = self.bins.entry(number >> shift).or_default();
            ours.count += theirs.count;
            ours.sum.merge(theirs.sum);
        }
        self.count += other.count;
        self.sum.merge(other.sum);
        self.squares.merge(other.squares);
        self.extremes = match (self.extremes, other.extremes) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, None) | (None, one) => one,
        };
        self.coarsen();
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean of the values themselves, not of their bins; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        self.sum.mean(self.count)
    }

    /// The sum of the values themselves.
    pub fn sum(&self) -> f64 {
        self.sum.value()
    }

    /// The unbiased variance; 0 for fewer than two values.
    pub fn variance(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let (n, sum) = (self.count as f64, self.sum.value());
        // Two sums that nearly cancel may leave a tiny negative number.
        ((self.squares.value() - sum * sum / n) / (n - 1.0)).max(0.0)
    }

    /// The least and the greatest value.
    pub fn extremes(&self) -> Option<(f64, f64)> {
        self.extremes
    }

    /// The bins in ascending order, each as the mean of its values and their count.
    pub fn bins(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.bins.values().filter_map(|bin| Some((bin.sum.mean(bin.count)?, bin.count)))
    }

    fn coarsen(&mut self) {
        while self.bins.len() > MOST_BINS {
            self.raise_to(self.level + 1);
        }
    }

    fn raise_to(&mut self, level: u32) {
        let shift = level - self.level;
        if shift == 0 {
            return;
        }
        let mut coarser: BTreeMap<i32, Bin> = BTreeMap::new();
        for (number, finer) in &self.bins {
            let bin = coarser.entry(number >> shift).or_default();
            bin.count += finer.count;
            bin.sum.merge(finer.sum);
        }
        self.bins = coarser;
        self.level = level;
    }
}

impl FromIterator<f64> for Histogram {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut histogram = Self::new();
        values.into_iter().for_each(|value| histogram.add(value));
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_values() {
        let histogram: Histogram = [0.25, 0.5, 1.0, 0.25].into_iter().collect();
        assert_eq!(histogram.count(), 4);
        assert_eq!(histogram.mean(), Some(0.5));
        assert_eq!(histogram.variance().to_bits(), 0.125f64.to_bits());
        assert_eq!(histogram.extremes(), Some((0.25, 1.0)));
        assert_eq!(histogram.bins().collect::<Vec<_>>(), [(0.25, 2), (0.5, 1), (1.0, 1)]);
    }

    #[test]
    fn an_empty_one_has_no_mean() {
        assert_eq!(Histogram::new().mean(), None);
        assert_eq!(Histogram::new().extremes(), None);
        assert_eq!(Histogram::new().bins().count(), 0);
    }

    #[test]
    fn a_value_alone_in_its_bin_is_kept_to_the_bit() {
        let third: Histogram = [1.0 / 3.0, 1.0 / 3.0].into_iter().collect();
        assert_eq!(third.bins().collect::<Vec<_>>(), [(1.0 / 3.0, 2)]);
    }

    #[test]
    fn values_out_of_range_are_moved_to_it() {
        let histogram: Histogram = [7.0, -7.0, f64::INFINITY, f64::NAN, -0.0].into_iter().collect();
        assert_eq!(histogram.bins().collect::<Vec<_>>(), [(-1.0, 1), (0.0, 2), (1.0, 2)]);
        assert!(histogram.extremes().is_some_and(|(low, _)| low.is_sign_negative()));
    }

    #[test]
    fn bins_never_pass_the_limit_and_lose_nothing() {
        let mut histogram = Histogram::new();
        for i in 0..300_000u32 {
            histogram.add(f64::from(i.wrapping_mul(2_654_435_761)) / f64::from(u32::MAX) * 2.0 - 1.0);
            assert!(histogram.bins.len() <= MOST_BINS);
        }
        // 2^21 bins fit when 2^9 of them share one, but both ends of the range make one too many.
        assert_eq!((histogram.level, histogram.bins.len()), (9, 4096));
        histogram.add(1.0);
        assert_eq!((histogram.level, histogram.bins.len()), (10, 2049));
        assert_eq!(histogram.bins().map(|(_, count)| count).sum::<u64>(), 300_001);
        let of_bins: f64 = histogram.bins().map(|(mean, count)| mean * count as f64).sum();
        assert!((of_bins - histogram.sum()).abs() < 1e-6);
    }

    #[test]
    fn the_level_is_the_lowest_that_holds_all_values() {
        let narrow = |values: u32| (0..values).map(|i| f64::from(i) / FINEST).collect::<Histogram>();
        assert_eq!(narrow(4096).level, 0);
        assert_eq!(narrow(4097).level, 1);
        assert_eq!(narrow(8192).level, 1);
        assert_eq!(narrow(8193).level, 2);
    }
}
