//! The paired tests behind `diff`: pass or fail, and means.

use proofmark_canon::math::normal_tail;
use proofmark_canon::seed::Stream;

use super::bootstrap::{FEWEST_ITEMS, MOST_ITEMS, Resamples, expand};
use super::estimate::mean_interval;
use super::histogram::Histogram;
use super::interval::Bounds;
use crate::summary::Interval;

/// Two-sided p-value of McNemar's exact test: `wins` items went one way and `losses` the other.
///
/// With p = 1/2 for either way, it is twice the probability that the rarer way is at most as frequent as
/// it was, and at most 1. Good to 12 digits; below 1e-290 it may come out as 0.
pub fn mcnemar(wins: u64, losses: u64) -> f64 {
    let n = wins.saturating_add(losses);
    let rarer = wins.min(losses);
    let excess = wins.max(losses) - rarer;
    match n {
        _ if excess <= 1 => 1.0,
        0..=120 => counted(n, rarer),
        121..=MOST_EXACT => walked(n, rarer),
        _ => (2.0 * normal_tail((excess - 1) as f64 / (n as f64).sqrt())).min(1.0),
    }
}

/// Twice the share of outcomes with at most `rarer` of `n`, in integers: the nearest number there is.
fn counted(n: u64, rarer: u64) -> f64 {
    let (mut ways, mut tail) = (1u128, 0u128);
    for i in 0..=u128::from(rarer) {
        tail += ways;
        ways = ways * (u128::from(n) - i) / (i + 1);
    }
    tail as f64 / (1u128 << (n - 1)) as f64
}

/// The same for larger n.
///
/// The terms are walked from the middle of the distribution outwards by the ratio of neighbours and
/// divided by their own total: no power, no factorial, nothing that a platform could round its own way.
/// They vanish some 19 √n steps out, so that the walk stays short.
fn walked(n: u64, rarer: u64) -> f64 {
    let (mut total, mut tail) = (Compensated::default(), Compensated::default());
    // An even n has one middle term, which is its own mirror image; all others count twice in the total.
    let middle = n / 2;
    let mut term = 1.0;
    let mut at = middle;
    loop {
        total.add(if n.is_multiple_of(2) && at == middle { 0.5 * term } else { term });
        if at <= rarer {
            tail.add(term);
        }
        if at == 0 || term < VANISHED {
            break;
        }
        term *= at as f64 / (n - at + 1) as f64;
        at -= 1;
    }
    // `total` holds half of the distribution.
    (tail.value() / total.value()).min(1.0)
}

/// With more discordant items than this the normal approximation stands in.
const MOST_EXACT: u64 = 1_000_000_000;

/// A term this small adds nothing to any result we can represent.
const VANISHED: f64 = 1e-305;

/// Neumaier's sum: carries the rounding errors along.
#[derive(Default)]
struct Compensated {
    sum: f64,
    lost: f64,
}

impl Compensated {
    /// Adds a term that is not negative.
    fn add(&mut self, term: f64) {
        let sum = self.sum + term;
        self.lost += if self.sum >= term { (self.sum - sum) + term } else { (term - sum) + self.sum };
        self.sum = sum;
    }

    fn value(&self) -> f64 {
        self.sum + self.lost
    }
}

/// A mean of paired differences against 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedTest {
    pub difference: f64,
    pub interval: Interval,
    pub items: u64,
    /// Two-sided.
    pub p: f64,
}

/// Tests whether the mean of paired differences in [-1, 1] is 0; `None` without pairs.
///
/// Fewer than 10 pairs by flipping signs, up to 1000 by bootstrap, above by the normal approximation. The p-value
/// is never below 2^(1-N), the least that N pairs can show when either sign is equally likely.
pub fn paired_means(differences: &Histogram, stream: Stream) -> Option<PairedTest> {
    let difference = differences.mean()?;
    let items = differences.count();
    let p = match items {
        0..FEWEST_ITEMS => flipped_signs(&expand(differences)),
        FEWEST_ITEMS..=MOST_ITEMS => Resamples::draw(differences, stream.clone())?.two_sided_p(),
        _ => two_sided_normal(difference, differences.variance(), items),
    };
    // Halving stops where the next half would be 0.
    let least = (1..items.min(1075)).fold(1.0, |p, _| p * 0.5);
    let interval = mean_interval(differences, Bounds::SIGNED, stream)?;
    Some(PairedTest { difference, interval, items, p: p.max(least) })
}

/// The share of all ways to give the differences a sign in which their sum is as far from 0 as it is. For a few
/// pairs only: there are 2^N ways.
fn flipped_signs(differences: &[i64]) -> f64 {
    let ways = 1u32 << differences.len();
    let total: i64 = differences.iter().sum();
    let sum = |way: u32| -> i64 {
        differences.iter().enumerate().map(|(at, d)| if way >> at & 1 == 0 { *d } else { -d }).sum()
    };
    let far = (0..ways).filter(|way| sum(*way).abs() >= total.abs()).count();
    far as f64 / f64::from(ways)
}

/// Two-sided p-value of a mean against 0 from the variance of single items.
pub fn two_sided_normal(mean: f64, variance: f64, items: u64) -> f64 {
    if mean == 0.0 {
        return 1.0;
    }
    // Without any variance the quotient is infinite and its tail 0.
    (2.0 * normal_tail(mean.abs() / (variance / items.max(1) as f64).sqrt())).min(1.0)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these values are exact")]
mod tests {
    use proofmark_canon::{Digest, RunId};

    use super::*;
    use crate::stats::bootstrap;

    #[track_caller]
    fn assert_near(found: f64, expected: f64, digits: f64) {
        assert!((found - expected).abs() <= digits * expected.abs(), "{found:e} is not {expected:e}");
    }

    fn test(values: impl IntoIterator<Item = f64>) -> PairedTest {
        let stream = bootstrap::stream(&RunId::from_digest(&Digest::of(b"run")), &["paired"]);
        paired_means(&values.into_iter().collect(), stream).unwrap()
    }

    #[test]
    fn mcnemar_gives_the_exact_values() {
        // Computed with 50 digits.
        for (wins, losses, p) in [
            (10, 2, 0.038_574_218_75),
            (5, 0, 0.0625),
            (6, 1, 0.125),
            (8, 2, 0.109375),
            (30, 12, 0.007_915_897_334_896_727),
            (100, 60, 0.001_953_728_034_064_342),
            (150, 100, 0.001_883_300_935_076_157),
            (0, 60, 1.734_723_475_976_807e-18),
            (500, 300, 1.526_315_558_153_978_5e-12),
            (2000, 1500, 2.942_363_832_253_335e-17),
            (5200, 4800, 6.593_515_598_672_442e-5),
            (0, 900, 2.366_104_372_333_549_4e-271),
            (500_500, 499_500, 0.317_794_691_363_305_5),
            (502_500, 497_500, 5.762_541_637_740_604e-7),
            (5_001_000, 4_999_000, 0.527_295_856_206_643_8),
            (5_005_000, 4_995_000, 0.001_567_101_905_695_398_5),
            (5_050_000, 4_950_000, 1.798_846_242_552_914e-219),
        ] {
            assert_near(mcnemar(wins, losses), p, 1e-12);
        }
        assert_eq!(mcnemar(10, 2), 0.03857421875);
    }

    #[test]
    fn the_two_ways_can_be_swapped() {
        for (wins, losses) in [(0, 9), (3, 17), (400, 500)] {
            assert_eq!(mcnemar(wins, losses).to_bits(), mcnemar(losses, wins).to_bits());
        }
    }

    #[test]
    fn an_even_split_shows_nothing() {
        for (wins, losses) in [(0, 0), (0, 1), (1, 0), (1, 1), (7, 8), (5_000_000, 5_000_000), (u64::MAX, u64::MAX)] {
            assert_eq!(mcnemar(wins, losses), 1.0, "{wins} {losses}");
        }
    }

    #[test]
    fn a_p_value_falls_as_the_split_grows() {
        let mut last = 1.1;
        for losses in (0..=500).rev() {
            let p = mcnemar(1000 - losses, losses);
            assert!(p <= last && p > 0.0, "{losses}");
            last = p;
        }
        assert_eq!(mcnemar(0, 3000), 0.0);
    }

    #[test]
    fn a_split_too_large_to_walk_is_near_the_walk_at_the_border() {
        let (n, step) = (MOST_EXACT, 50_000);
        assert_near(mcnemar(n / 2 + 1 + step, n / 2 - step), mcnemar(n / 2 + step, n / 2 - step), 1e-3);
        assert_eq!(mcnemar(u64::MAX, 0), 0.0);
    }

    #[test]
    fn the_normal_test_gives_the_textbook_values() {
        assert_near(two_sided_normal(1.959_963_984_540_054, 1.0, 1), 0.05, 1e-12);
        assert_near(two_sided_normal(-0.1, 1.0, 400), 0.045_500_263_896_358_4, 1e-12);
        assert_eq!(two_sided_normal(0.0, 0.0, 5), 1.0);
        assert_eq!(two_sided_normal(0.5, 0.0, 5), 0.0);
    }

    #[test]
    fn a_few_equal_pairs_are_not_called_proof() {
        for (pairs, p) in [(1, 1.0), (2, 0.5), (3, 0.25), (4, 0.125), (5, 0.0625), (8, 0.0078125), (10, 0.001953125)] {
            let found = test(vec![0.25; pairs]);
            assert_eq!(found.p, p, "{pairs}");
            assert!(found.interval.low < 0.25 && found.interval.high > 0.25);
        }
        assert!(test(vec![1.0; 2000]).p > 0.0);
    }

    #[test]
    fn a_few_unequal_pairs_are_tested_by_flipping_signs() {
        // Of the sums ±3 ±2 ±1 two are as far out as 6 and four as far as 4.
        assert_eq!(test([0.3, 0.2, 0.1]).p, 0.25);
        assert_eq!(test([0.3, 0.2, -0.1]).p, 0.5);
        assert_eq!(test([0.5, -0.5]).p, 1.0);
    }

    #[test]
    fn no_difference_is_no_evidence() {
        for pairs in [1, 4, 1000, 1001] {
            assert_eq!(test(vec![0.0; pairs]).p, 1.0);
        }
    }

    #[test]
    fn both_methods_agree_where_they_meet() {
        let values = |pairs: u32| (0..pairs).map(|i| f64::from(i * i % 19) / 18.0 - 0.485);
        let (resampled, normal) = (test(values(1000)), test(values(1001)));
        assert_ne!(resampled.interval.method, normal.interval.method);
        assert!((resampled.p - normal.p).abs() < 0.05, "{} {}", resampled.p, normal.p);
        assert!((resampled.interval.low - normal.interval.low).abs() < 0.004);
    }
}
