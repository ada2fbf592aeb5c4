//! Resampling the mean of a histogram from a named seed.

use proofmark_canon::RunId;
use proofmark_canon::seed::Stream;

use super::histogram::Histogram;

/// How many times the items are drawn anew.
pub const RESAMPLES: usize = 1000;

/// The most items that are resampled; with more of them the normal approximation says the same.
pub const MOST_ITEMS: u64 = 1000;

/// The fewest items worth resampling.
///
/// The percentile interval of fewer items is too narrow. In a simulation of items with three samples each it
/// held the truth 78 % of the time for 4 items, 87 % for 6 and 90 % for 8, but 93 % for 10 and 95 % for 30.
pub const FEWEST_ITEMS: u64 = 10;

/// The domain of the seeds. It changes when the meaning of a draw does.
pub const DOMAIN: &str = "proofmark.bootstrap/1";

/// The stream that belongs to one quantity of one run.
pub fn stream(run_id: &RunId, labels: &[&str]) -> Stream {
    let mut parts: Vec<&[u8]> = vec![run_id.as_bytes()];
    parts.extend(labels.iter().map(|label| label.as_bytes()));
    Stream::new(DOMAIN, &parts)
}

/// The sums of the resamples, in fixed point with [`PLACES`] binary places, in ascending order.
///
/// Integers, so that neither the order of addition nor a comparison can be in doubt.
#[derive(Debug, Clone, PartialEq)]
pub struct Resamples {
    sums: Vec<i64>,
    /// The sum of the items themselves.
    total: i64,
    items: u64,
}

const PLACES: f64 = (1u64 << 40) as f64;

impl Resamples {
    /// Draws N items with replacement, a thousand times; `None` outside [`FEWEST_ITEMS`] ..= [`MOST_ITEMS`].
    pub fn draw(histogram: &Histogram, mut stream: Stream) -> Option<Self> {
        let items = histogram.count();
        if !(FEWEST_ITEMS..=MOST_ITEMS).contains(&items) {
            return None;
        }
        let table = expand(histogram);
        let mut sums: Vec<i64> = (0..RESAMPLES).map(|_| resample(&table, &mut stream)).collect();
        sums.sort_unstable();
        Some(Self { sums, total: table.iter().sum(), items })
    }

    /// The means between which the middle 95 % of the resamples lie: the 25th from either end.
    pub fn percentiles(&self) -> (f64, f64) {
        const CUT: usize = RESAMPLES / 40 - 1;
        (self.mean(self.sums[CUT]), self.mean(self.sums[RESAMPLES - 1 - CUT]))
    }

    /// How often chance alone would move the mean as far from 0 as it is: resamples of the items moved
    /// to mean 0. Counts the data as one more resample, so that it is never 0.
    pub fn two_sided_p(&self) -> f64 {
        let far = self.sums.iter().filter(|sum| (*sum - self.total).abs() >= self.total.abs()).count();
        (far + 1) as f64 / (RESAMPLES + 1) as f64
    }

    fn mean(&self, sum: i64) -> f64 {
        sum as f64 / (PLACES * self.items as f64)
    }
}

/// Returns the items one by one in ascending order, in fixed point with [`PLACES`].
///
/// For up to [`MOST_ITEMS`] items, which never share a bin unless they differ by less than a millionth.
pub(super) fn expand(histogram: &Histogram) -> Vec<i64> {
    let mut table = Vec::new();
    for (value, count) in histogram.bins() {
        let fixed = (value * PLACES).round() as i64;
        table.extend(std::iter::repeat_n(fixed, count as usize));
    }
    table
}

/// Returns the sum of as many items as the table has, drawn from it with replacement.
///
/// Each number of the stream gives two indices by multiply and shift, its upper half first. For up to
/// 1000 items no index is more than a part in four million likelier than another.
fn resample(table: &[i64], stream: &mut Stream) -> i64 {
    let items = table.len() as u64;
    let pick = |half: u64| table[((half * items) >> 32) as usize];
    let mut sum = 0;
    for _ in 0..items / 2 {
        let random = stream.next_u64();
        sum += pick(random >> 32) + pick(random & 0xffff_ffff);
    }
    if items % 2 == 1 {
        sum += pick(stream.next_u64() >> 32);
    }
    sum
}

#[cfg(test)]
mod tests {
    use proofmark_canon::Digest;

    use super::*;
    use crate::stats::interval::{Bounds, normal};

    fn seeded(label: &str) -> Stream {
        stream(&RunId::from_digest(&Digest::of(b"run")), &[label])
    }

    fn uneven(items: u32) -> Histogram {
        (0..items).map(|i| f64::from(i * i % 101) / 100.0).collect()
    }

    #[test]
    fn an_interval_is_the_same_today_as_the_day_it_was_first_drawn() {
        let resamples = Resamples::draw(&uneven(57), seeded("snapshot")).unwrap();
        let (low, high) = resamples.percentiles();
        // Sums and mean by another implementation of the same rule.
        assert_eq!((low.to_bits(), high.to_bits()), (4601563190633376714, 4603574798466934604), "{low} {high}");
    }

    #[test]
    fn it_agrees_with_the_normal_interval_when_items_are_many() {
        for items in [300, 1000] {
            let histogram = uneven(items);
            let (low, high) = Resamples::draw(&histogram, seeded("normal")).unwrap().percentiles();
            let normal = normal(histogram.mean().unwrap(), histogram.variance(), u64::from(items), Bounds::UNIT);
            let width = normal.high - normal.low;
            assert!((low - normal.low).abs() < 0.1 * width && (high - normal.high).abs() < 0.1 * width);
        }
    }

    #[test]
    fn every_item_is_drawn_about_as_often_as_any_other() {
        let mut drawn = [0u32; 7];
        let mut stream = seeded("even");
        for _ in 0..10_000 {
            // Each item is worth a power of eight: the digits of the sum say who was drawn.
            let table: Vec<i64> = (0..7).map(|i| 1 << (3 * i)).collect();
            let sum = resample(&table, &mut stream);
            (0..7).for_each(|i| drawn[i] += (sum >> (3 * i) & 7) as u32);
        }
        assert!(drawn.iter().all(|count| (9_600..10_400).contains(count)), "{drawn:?}");
    }

    #[test]
    fn other_labels_give_another_stream() {
        let draw = |label| Resamples::draw(&uneven(30), seeded(label)).unwrap();
        assert_eq!(draw("a"), draw("a"));
        assert_ne!(draw("a"), draw("b"));
    }

    #[test]
    fn too_few_and_too_many_items_are_not_resampled() {
        for (items, drawn) in [(0, false), (9, false), (10, true), (1000, true), (1001, false)] {
            assert_eq!(Resamples::draw(&uneven(items), seeded("count")).is_some(), drawn, "{items}");
        }
    }

    #[test]
    fn a_p_value_is_high_without_an_effect_and_low_with_one() {
        let p = |values: &mut dyn Iterator<Item = f64>| {
            Resamples::draw(&values.collect(), seeded("p")).unwrap().two_sided_p()
        };
        assert!(p(&mut (0..50).map(|i| f64::from(i % 2) * 2.0 - 1.0)) >= 1.0);
        assert!(p(&mut (0..50).map(|_| 0.0)) >= 1.0);
        assert!(p(&mut (0..50).map(|i| if i % 5 == 0 { -0.5 } else { 0.5 })) < 0.002);
        // A mean one standard error away from 0: about 0.32.
        let p = p(&mut (0..100).map(|i| if i < 55 { 1.0 } else { -1.0 }));
        assert!((0.25..0.45).contains(&p), "{p}");
    }
}
