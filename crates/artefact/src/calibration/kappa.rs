//! Cohen's kappa: agreement beyond what chance would give, with an interval.

use proofmark_canon::seed::Stream;

use super::figure::{Figure, clamped};
use crate::stats::bootstrap::{FEWEST_ITEMS, MOST_ITEMS, RESAMPLES};
use crate::stats::interval::{Z, wilson};
use crate::summary::{Interval, Method};

/// How often two raters chose which pair of categories: a row for the first rater's, a column for the second's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    categories: usize,
    counts: Vec<u64>,
}

impl Table {
    pub fn new(categories: usize) -> Self {
        Self { categories, counts: vec![0; categories * categories] }
    }

    /// Counts one pair; both must be below the number of categories.
    pub fn add(&mut self, row: usize, column: usize) {
        self.counts[row * self.categories + column] += 1;
    }

    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Pairs in which both chose the same.
    pub fn agreed(&self) -> u64 {
        (0..self.categories).map(|at| self.at(at, at)).sum()
    }

    pub fn at(&self, row: usize, column: usize) -> u64 {
        self.counts[row * self.categories + column]
    }

    fn row(&self, row: usize) -> u64 {
        (0..self.categories).map(|column| self.at(row, column)).sum()
    }

    fn column(&self, column: usize) -> u64 {
        (0..self.categories).map(|row| self.at(row, column)).sum()
    }

    /// The sum over categories of row times column: the agreement by chance, times the square of the total.
    fn chance(&self) -> u128 {
        (0..self.categories).map(|at| u128::from(self.row(at)) * u128::from(self.column(at))).sum()
    }

    /// Cohen's kappa; `None` when both raters only ever chose one and the same category, or chose nothing.
    pub fn kappa(&self) -> Option<f64> {
        let (total, chance) = (u128::from(self.total()), self.chance());
        let room = total * total - chance;
        // Integers up to the one division.
        (room > 0).then(|| (total as i128 * i128::from(self.agreed()) - chance as i128) as f64 / room as f64)
    }
}

/// Kappa with its interval.
///
/// - Fewer than 10 labels, and full agreement or none: Wilson's interval of the agreement, with the agreement by chance
///   taken as it is. Resampling would claim certainty.
/// - Up to 1000 labels: the percentile bootstrap over labels.
/// - More: the large-sample variance of Fleiss, Cohen and Everitt (1969).
pub fn kappa(table: &Table, stream: Stream) -> Figure {
    let labels = table.total();
    let Some(value) = table.kappa() else {
        let reason =
            if labels == 0 { "no label has two verdicts" } else { "every verdict is of one and the same class" };
        return Figure::missing(labels, reason);
    };
    let agreed = table.agreed();
    if labels < FEWEST_ITEMS || agreed == 0 || agreed == labels {
        return Figure::new(value, by_wilson(table), labels);
    }
    if labels > MOST_ITEMS {
        return Figure::new(value, by_variance(table, value), labels);
    }
    match by_resampling(table, stream) {
        Some((low, high)) if low < high => {
            Figure::new(value, clamped(low.min(value), high.max(value), Method::Bootstrap), labels)
        }
        Some(_) => Figure::new(value, by_wilson(table), labels),
        None => Figure::bare(value, labels, "one class is too rare for an interval"),
    }
}

fn by_wilson(table: &Table) -> Interval {
    let total = table.total() as f64;
    let chance = table.chance() as f64 / (total * total);
    let beyond = |agreed: f64| (agreed - chance) / (1.0 - chance);
    let agreement = wilson(table.agreed() as f64, table.total());
    clamped(beyond(agreement.low), beyond(agreement.high), Method::Wilson)
}

fn by_variance(table: &Table, kappa: f64) -> Interval {
    let total = table.total() as f64;
    let part = |count: u64| count as f64 / total;
    let chance = table.chance() as f64 / (total * total);
    let (mut same, mut other) = (0.0, 0.0);
    for i in 0..table.categories {
        for j in 0..table.categories {
            let p = part(table.at(i, j));
            if i == j {
                let away = 1.0 - (part(table.row(i)) + part(table.column(i))) * (1.0 - kappa);
                same += p * away * away;
            } else {
                let margins = part(table.column(i)) + part(table.row(j));
                other += p * margins * margins;
            }
        }
    }
    let centre = kappa - chance * (1.0 - kappa);
    let room = (1.0 - chance) * (1.0 - chance);
    let variance = (same + (1.0 - kappa) * (1.0 - kappa) * other - centre * centre) / (total * room);
    let half = Z * variance.max(0.0).sqrt();
    clamped(kappa - half, kappa + half, Method::Normal)
}

/// The middle 95 % of the resamples that have a kappa; `None` when more than a tenth have none.
fn by_resampling(table: &Table, mut stream: Stream) -> Option<(f64, f64)> {
    let total = table.total();
    let mut found = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let mut drawn = Table::new(table.categories);
        for _ in 0..total {
            let mut at = stream.next_below(total);
            let cell = table.counts.iter().position(|count| {
                let is_here = at < *count;
                at = at.saturating_sub(*count);
                is_here
            });
            drawn.counts[cell.expect("below the total: in some cell")] += 1;
        }
        found.extend(drawn.kappa());
    }
    if found.len() < RESAMPLES * 9 / 10 {
        return None;
    }
    found.sort_by(f64::total_cmp);
    let cut = found.len() / 40 - 1;
    Some((found[cut], found[found.len() - 1 - cut]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table<const N: usize>(counts: [[u64; N]; N]) -> Table {
        Table { categories: N, counts: counts.concat() }
    }

    fn stream() -> Stream {
        Stream::new("test", &[])
    }

    #[test]
    fn kappa_gives_the_published_values() {
        for (table, want) in [
            // The three tables with which Cohen's kappa is usually explained.
            (table([[20, 5], [10, 15]]), 0.4),
            (table([[45, 15], [25, 15]]), 0.130435),
            (table([[25, 35], [5, 35]]), 0.259259),
            // Fleiss, Cohen and Everitt (1969): three diagnoses, 200 patients.
            (table([[106, 10, 4], [22, 28, 10], [2, 12, 6]]), 3.0 / 7.0),
            (table([[0, 5], [5, 0]]), -1.0),
            (table([[7, 0], [0, 3]]), 1.0),
            (table([[5, 5], [5, 5]]), 0.0),
            // A judge that passes everything agrees by chance alone.
            (table([[5, 0], [45, 0]]), 0.0),
        ] {
            let found = table.kappa().unwrap();
            assert!((found - want).abs() < 5e-7, "{table:?}: {found}");
        }
    }

    #[test]
    fn one_class_has_no_kappa_and_a_reason() {
        for (table, labels) in [(table([[0, 0], [0, 9]]), 9), (Table::new(2), 0), (table([[1, 0], [0, 0]]), 1)] {
            let found = kappa(&table, stream());
            assert_eq!((found.value, found.interval, found.labels), (None, None, labels));
            assert!(found.reason.is_some());
        }
    }

    #[test]
    fn the_large_sample_interval_is_the_published_one() {
        // Fleiss, Cohen and Everitt give 0.002885 as the variance for their 200 patients.
        let patients = table([[106, 10, 4], [22, 28, 10], [2, 12, 6]]);
        let interval = by_variance(&patients, patients.kappa().unwrap());
        let variance = ((interval.high - interval.low) / 2.0 / Z).powi(2);
        assert!((variance - 0.002885).abs() < 2e-6, "{variance}");
    }

    #[test]
    fn resampling_and_the_large_sample_interval_agree() {
        for counts in [[[400, 60], [80, 460]], [[700, 50], [50, 200]], [[300, 200], [200, 300]]] {
            let table = table(counts);
            let (resampled, large) =
                (kappa(&table, stream()).interval.unwrap(), by_variance(&table, table.kappa().unwrap()));
            assert_eq!(resampled.method, Method::Bootstrap);
            assert!((resampled.low - large.low).abs() < 0.02 && (resampled.high - large.high).abs() < 0.02);
        }
    }

    #[test]
    fn agreement_on_everything_never_claims_certainty() {
        for counts in [[[5, 0], [0, 5]], [[30, 0], [0, 30]], [[500, 0], [0, 500]], [[5000, 0], [0, 5000]]] {
            let found = kappa(&table(counts), stream());
            let interval = found.interval.unwrap();
            assert_eq!((found.value, interval.high, interval.method), (Some(1.0), 1.0, Method::Wilson));
            assert!(interval.low < 1.0, "{interval:?}");
        }
        // A judge that passes everything: every resample has kappa 0.
        let found = kappa(&table([[20, 0], [20, 0]]), stream());
        assert!(found.interval.unwrap().low < 0.0 && found.interval.unwrap().high > 0.0);
    }

    #[test]
    fn a_class_that_resampling_misses_has_no_interval() {
        let found = kappa(&table([[1, 0], [0, 40]]), stream());
        assert_eq!(found.value, Some(1.0));
        let found = kappa(&table([[38, 1], [1, 0]]), stream());
        assert!(found.value.is_some() && found.interval.is_none() == found.reason.is_some(), "{found:?}");
    }

    #[test]
    fn the_same_stream_gives_the_same_interval() {
        let table = table([[40, 6], [8, 46]]);
        assert_eq!(kappa(&table, stream()), kappa(&table, stream()));
        let found = kappa(&table, stream());
        let interval = found.interval.unwrap();
        assert!(interval.low < found.value.unwrap() && found.value.unwrap() < interval.high);
    }
}
