//! Where a judge errs more than elsewhere: long answers, a place in a comparison, models of its own family.

use proofmark_canon::math::{exp, ln};

use super::family::family;
use super::figure::{Figure, Share, clamped, difference};
use super::measure::{Judged, Lean};
use super::shape::{FamilyBias, JudgeSubject, LengthBias, PositionBias};
use crate::stats::estimate::rounded;
use crate::stats::interval::Z;
use crate::stats::significance::mcnemar;
use crate::suite::judge::JudgeMode;
use crate::summary::Method;

/// Whether long answers are judged more kindly.
pub(super) fn length(judged: &[Judged<'_>]) -> LengthBias {
    let failing: Vec<&Judged<'_>> = judged.iter().filter(|one| !one.label.passed).collect();
    let mut lengths: Vec<u64> = failing.iter().map(|one| one.label.length).collect();
    lengths.sort_unstable();
    // Of an even number the lower one, so that a length is never cut in two.
    let median = lengths.get(lengths.len().saturating_sub(1) / 2).copied();
    let half = |is_longer: bool, reason: &str| {
        let half = failing.iter().filter(|one| (Some(one.label.length) > median) == is_longer);
        let (passes, of) = half.fold((0, 0), |(passes, of), one| (passes + u64::from(one.passed), of + 1));
        Share::new(passes, of, reason)
    };
    let shorter = half(false, "people fail no answer that was judged");
    let reason = if failing.is_empty() {
        "people fail no answer that was judged"
    } else {
        "no failing answer is longer than their median"
    };
    let longer = half(true, reason);
    LengthBias { correlation: correlation(judged), difference: difference(&longer, &shorter), longer, median, shorter }
}

/// Spearman's rank correlation of length with leniency.
fn correlation(judged: &[Judged<'_>]) -> Figure {
    let labels = judged.len() as u64;
    let lengths: Vec<i64> = judged.iter().map(|one| i64::try_from(one.label.length).unwrap_or(i64::MAX)).collect();
    let kindness: Vec<i64> = judged.iter().map(|one| i64::from(one.passed) - i64::from(one.label.passed)).collect();
    if labels < 4 {
        return Figure::missing(labels, "fewer than 4 labels have a verdict");
    }
    let Some(value) = pearson(&ranks(&lengths), &ranks(&kindness)) else {
        let is_right = kindness.iter().all(|kind| *kind == kindness[0]);
        let reason =
            if is_right { "the judge does not err, or always in one way" } else { "all answers are of one length" };
        return Figure::missing(labels, reason);
    };
    if value.abs() >= 1.0 {
        return Figure::bare(value, labels, "a perfect correlation has no interval");
    }
    let centre = 0.5 * ln((1.0 + value) / (1.0 - value));
    let half = Z / ((labels - 3) as f64).sqrt();
    let back = |z: f64| 1.0 - 2.0 / (exp(2.0 * z) + 1.0);
    Figure::new(value, clamped(back(centre - half), back(centre + half), Method::Normal), labels)
}

/// Twice the rank of each value, equal values sharing the mean of their ranks: whole numbers.
fn ranks(values: &[i64]) -> Vec<i64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|at| values[*at]);
    let mut ranks = vec![0; values.len()];
    let mut start = 0;
    for group in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let end = start + group.len();
        group.iter().for_each(|at| ranks[*at] = (start + end) as i64 + 1);
        start = end;
    }
    ranks
}

/// The correlation of two lists of ranks; `None` when one of them does not vary.
fn pearson(x: &[i64], y: &[i64]) -> Option<f64> {
    // Of at most 100,000 ranks up to 200,000 each: far from the ends of an i128.
    let sum = |terms: &mut dyn Iterator<Item = i64>| terms.map(i128::from).sum::<i128>();
    let product = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| i128::from(*a) * i128::from(*b)).sum::<i128>();
    let (n, sx, sy) = (x.len() as i128, sum(&mut x.iter().copied()), sum(&mut y.iter().copied()));
    let (vx, vy) = (n * product(x, x) - sx * sx, n * product(y, y) - sy * sy);
    if vx == 0 || vy == 0 {
        return None;
    }
    let value = (n * product(x, y) - sx * sy) as f64 / ((vx as f64).sqrt() * (vy as f64).sqrt());
    Some(value.clamp(-1.0, 1.0))
}

/// Whether the place of an answer decides.
pub(super) fn position(mode: JudgeMode, is_one_judge: bool, leans: impl Iterator<Item = Lean>) -> PositionBias {
    let reason = match (mode, is_one_judge) {
        (JudgeMode::Single, _) => "answers are judged one at a time",
        (_, false) => "see each judge",
        _ => "no pair has a verdict in both orders",
    };
    let (mut pairs, mut to_first, mut to_second) = (0, 0, 0);
    if mode == JudgeMode::Pairwise && is_one_judge {
        for lean in leans {
            pairs += 1;
            to_first += u64::from(lean == Lean::ToFirst);
            to_second += u64::from(lean == Lean::ToSecond);
        }
    }
    let flips = to_first + to_second;
    let p = (flips > 0).then(|| rounded(mcnemar(to_first, to_second)));
    PositionBias { flips: Share::new(flips, pairs, reason), to_first, to_second, p }
}

/// Whether answers of the judge's own family are judged more kindly.
pub(super) fn own_family(judge: Option<&JudgeSubject>, judged: &[Judged<'_>]) -> FamilyBias {
    let Some(judge) = judge else {
        let reason = "see each judge";
        let none = || Share::new(0, 0, reason);
        return FamilyBias { difference: Figure::missing(0, reason), family: None, others: none(), own: none() };
    };
    let own_family = family(&judge.model);
    let failing = || {
        let failing = judged.iter().filter(|one| !one.label.passed);
        failing.filter_map(|one| Some((family(one.label.author.as_ref()?) == own_family, one.passed)))
    };
    let share = |is_own: bool, reason: &str| {
        let side = failing().filter(|(own, _)| *own == is_own);
        let (passes, of) = side.fold((0, 0), |(passes, of), (_, passed)| (passes + u64::from(passed), of + 1));
        Share::new(passes, of, reason)
    };
    let reason = |side: &str| {
        if judged.iter().all(|one| one.label.author.is_none()) {
            return "not measured: no label names its author".to_owned();
        }
        format!("no answer that people fail and that was judged is by {side}")
    };
    let own = share(true, &reason("the judge's own family"));
    let others = share(false, &reason("another family"));
    FamilyBias { difference: difference(&own, &others), family: Some(own_family), others, own }
}

#[cfg(test)]
mod tests {
    use super::super::measure::Labelled;
    use super::super::shape::testing::{label, subject};
    use super::*;

    fn of_length(length: u64, people: bool) -> Labelled {
        Labelled { length, ..label(people) }
    }

    fn judged(pairs: &[(Labelled, bool)]) -> Vec<Judged<'_>> {
        pairs.iter().map(|(label, passed)| Judged { label, passed: *passed }).collect()
    }

    #[test]
    fn a_judge_that_likes_length_shows_it() {
        // Forty wrong answers: the twenty long ones pass.
        let pairs: Vec<(Labelled, bool)> = (0..40).map(|at| (of_length(10 + at * 10, false), at >= 20)).collect();
        let found = length(&judged(&pairs));
        assert_eq!((found.longer.count, found.longer.of), (20, 20));
        assert_eq!((found.shorter.count, found.shorter.of), (0, 20));
        assert_eq!((found.median, found.difference.value), (Some(200), Some(1.0)));
        assert!(found.difference.is_clear() && found.correlation.is_clear());
        // Ranks 1 to 40 against two halves with ranks 10.5 and 30.5: 0.866.
        assert_eq!(found.correlation.value, Some(0.866296));
    }

    #[test]
    fn a_judge_that_does_not_care_shows_nothing() {
        let pairs: Vec<(Labelled, bool)> = (0..40).map(|at| (of_length(at, false), at % 2 == 0)).collect();
        let found = length(&judged(&pairs));
        assert_eq!((found.longer.count, found.shorter.count), (10, 10));
        assert!(!found.difference.is_clear() && !found.correlation.is_clear());
    }

    #[test]
    fn equal_lengths_and_no_errors_have_reasons() {
        let same: Vec<(Labelled, bool)> = (0..6).map(|at| (of_length(5, false), at < 3)).collect();
        let found = length(&judged(&same));
        assert_eq!(found.difference.reason.as_deref(), Some("no failing answer is longer than their median"));
        assert_eq!(found.correlation.reason.as_deref(), Some("all answers are of one length"));
        let right: Vec<(Labelled, bool)> = (0..6).map(|at| (of_length(at, at < 3), at < 3)).collect();
        assert_eq!(
            length(&judged(&right)).correlation.reason.as_deref(),
            Some("the judge does not err, or always in one way")
        );
        let none = length(&[]);
        assert_eq!((none.median, none.difference.value, none.correlation.value), (None, None, None));
    }

    #[test]
    fn ranks_are_shared_and_the_correlation_is_the_known_one() {
        assert_eq!(ranks(&[10, 20, 20, 5]), [4, 7, 7, 2]);
        // Spearman's for 1 2 3 4 5 against 5 6 7 8 7 is 0.8207826817.
        let found = pearson(&ranks(&[1, 2, 3, 4, 5]), &ranks(&[5, 6, 7, 8, 7])).unwrap();
        assert!((found - 0.820_782_681_7).abs() < 1e-10, "{found}");
        assert_eq!(pearson(&ranks(&[1, 2]), &ranks(&[3, 3])), None);
    }

    #[test]
    fn places_are_counted_for_one_judge_of_pairs() {
        let leans = [Lean::ToFirst, Lean::Steady, Lean::ToFirst, Lean::ToSecond, Lean::ToFirst];
        let found = position(JudgeMode::Pairwise, true, leans.into_iter());
        assert_eq!((found.flips.count, found.flips.of, found.to_first, found.to_second), (4, 5, 3, 1));
        assert_eq!(found.p, Some(0.625));
        for (mode, one, why) in [
            (JudgeMode::Single, true, "answers are judged one at a time"),
            (JudgeMode::Pairwise, false, "see each judge"),
        ] {
            let found = position(mode, one, leans.into_iter());
            assert_eq!((found.flips.of, found.flips.reason.as_deref(), found.p), (0, Some(why), None));
        }
    }

    #[test]
    fn a_judge_that_likes_its_own_shows_it() {
        let by = |author: &str| Labelled { author: Some(author.into()), ..label(false) };
        let mut pairs = Vec::new();
        for at in 0..20 {
            pairs.push((by("openrouter:openai/gpt-4.1"), at < 16));
            pairs.push((by("anthropic:claude-x"), at < 2));
            pairs.push((by("human"), false));
            pairs.push((label(false), true));
        }
        let judge = &subject().judges[0];
        let found = own_family(Some(judge), &judged(&pairs));
        assert_eq!(found.family.as_deref(), Some("openai"));
        assert_eq!((found.own.count, found.own.of), (16, 20));
        assert_eq!((found.others.count, found.others.of), (2, 40));
        assert!(found.difference.is_clear() && found.difference.value == Some(0.75));
        let anonymous = [(label(false), true)];
        let none = own_family(Some(judge), &judged(&anonymous));
        assert_eq!(none.difference.reason.as_deref(), Some("not measured: no label names its author"));
        assert_eq!(own_family(None, &judged(&pairs)).difference.reason.as_deref(), Some("see each judge"));
    }
}
