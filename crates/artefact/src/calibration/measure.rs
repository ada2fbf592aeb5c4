//! One judge, or a panel, held against what people say.

use proofmark_canon::Digest;
use proofmark_canon::seed::Stream;

use super::bias;
use super::figure::{Figure, Share};
use super::kappa::{Table, kappa};
use super::shape::{Bias, Confusion, Errors, JudgeSubject, Measured, Repeat, Subject, VerdictTable};
use crate::suite::judge::JudgeMode;

/// What the statistics know of a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// Whether people pass the answer.
    pub passed: bool,
    /// The word they gave.
    pub word: Option<String>,
    /// Characters of the answer.
    pub length: u64,
    /// Who wrote it: `provider:model-id`, or `human`.
    pub author: Option<String>,
}

/// What came of putting one label before a judge once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    Ruled {
        passed: bool,
        /// The judge's word, where it gave one and no other.
        word: Option<String>,
        /// For a comparison: how the first pair of votes took the order.
        lean: Option<Lean>,
    },
    /// The judge gave no answer.
    Failed,
    /// Its reply did not have the declared form.
    Misfit,
}

/// What two votes on one pair, in both orders, say of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lean {
    /// The same winner in both orders.
    Steady,
    ToFirst,
    ToSecond,
}

impl Lean {
    /// Of the verdicts on a pair in one order and in the other: `first`, `second` or `tie`, as the judge saw it.
    pub fn of(one: &str, other: &str) -> Self {
        let side = |verdict: &str| match verdict {
            "first" => 1,
            "second" => -1,
            _ => 0,
        };
        // The same winner stands first once and second once.
        match side(one) + side(other) {
            0 => Self::Steady,
            1.. => Self::ToFirst,
            _ => Self::ToSecond,
        }
    }
}

impl Ruling {
    pub fn passed(&self) -> Option<bool> {
        if let Self::Ruled { passed, .. } = self { Some(*passed) } else { None }
    }
}

/// A label with the verdict that it got the first time.
pub(super) struct Judged<'a> {
    pub(super) label: &'a Labelled,
    pub(super) passed: bool,
}

/// Holds the rulings, by label and then by repeat, against the labels. `judge` is `None` for the panel.
pub(super) fn measure(
    subject: &Subject,
    judge: Option<&JudgeSubject>,
    labels: &Digest,
    labelled: &[Labelled],
    rulings: &[Vec<Ruling>],
) -> Measured {
    let name = judge.map_or("", |judge| judge.id.as_str());
    let stream = |what: &str| Stream::new(DOMAIN, &[labels.as_bytes(), name.as_bytes(), what.as_bytes()]);
    let first = || labelled.iter().zip(rulings).filter_map(|(label, rulings)| Some((label, rulings.first()?)));
    let judged: Vec<Judged<'_>> =
        first().filter_map(|(label, ruling)| Some(Judged { label, passed: ruling.passed()? })).collect();
    let (confusion, table) = confusion(&judged);
    let mut errors = Errors::default();
    for (_, ruling) in first() {
        errors.failed += u64::from(*ruling == Ruling::Failed);
        errors.misfit += u64::from(*ruling == Ruling::Misfit);
    }
    let Confusion { true_pass, true_fail, false_pass, false_fail } = confusion;
    let leans = first().filter_map(|(_, ruling)| match ruling {
        Ruling::Ruled { lean, .. } => *lean,
        _ => None,
    });
    Measured {
        accuracy: Share::new(true_pass + true_fail, labelled.len() as u64, "there are no labels"),
        bias: Bias {
            length: bias::length(&judged),
            own_family: bias::own_family(judge, &judged),
            position: bias::position(subject.mode, judge.is_some(), leans),
        },
        confusion,
        errors,
        false_fail: Share::new(false_fail, false_fail + true_pass, "people pass no answer that was judged"),
        false_pass: Share::new(false_pass, false_pass + true_fail, "people fail no answer that was judged"),
        judge: judge.map(|judge| judge.id.clone()),
        kappa: kappa(&table, stream("kappa")),
        repeat: repeat(rulings, stream("repeat")),
        verdicts: words(subject).and_then(|words| verdicts(words, labelled, rulings, stream("verdicts"))),
    }
}

/// The domain of the seeds. It changes when the meaning of a draw does.
const DOMAIN: &str = "proofmark.calibration/1";

fn confusion(judged: &[Judged<'_>]) -> (Confusion, Table) {
    let mut table = Table::new(2);
    judged.iter().for_each(|one| table.add(usize::from(one.label.passed), usize::from(one.passed)));
    let confusion = Confusion {
        false_fail: table.at(1, 0),
        false_pass: table.at(0, 1),
        true_fail: table.at(0, 0),
        true_pass: table.at(1, 1),
    };
    (confusion, table)
}

fn repeat(rulings: &[Vec<Ruling>], stream: Stream) -> Repeat {
    if rulings.iter().all(|repeats| repeats.len() < 2) {
        let reason = "every label was judged once";
        let agreement = Share::new(0, 0, reason);
        return Repeat { agreement, errors: 0, kappa: Figure::missing(0, reason) };
    }
    let (mut same, mut whole, mut errors) = (0, 0, 0);
    let mut table = Table::new(2);
    for repeats in rulings {
        let verdicts: Option<Vec<bool>> = repeats.iter().map(Ruling::passed).collect();
        match verdicts.as_deref() {
            Some([first, second, rest @ ..]) => {
                whole += 1;
                same += u64::from(first == second && rest.iter().all(|verdict| verdict == first));
                table.add(usize::from(*first), usize::from(*second));
            }
            _ => errors += 1,
        }
    }
    let agreement = Share::new(same, whole, "no label has a verdict in every repeat");
    Repeat { agreement, errors, kappa: kappa(&table, stream) }
}

/// The words of a scorer that has more than pass and fail.
fn words(subject: &Subject) -> Option<Vec<String>> {
    match subject.mode {
        JudgeMode::Pairwise => Some(["first", "tie", "second"].map(ToOwned::to_owned).to_vec()),
        JudgeMode::Single if subject.verdicts.len() > 2 => Some(subject.verdicts.keys().cloned().collect()),
        JudgeMode::Single => None,
    }
}

fn verdicts(
    words: Vec<String>,
    labelled: &[Labelled],
    rulings: &[Vec<Ruling>],
    stream: Stream,
) -> Option<VerdictTable> {
    let mut table = Table::new(words.len());
    let place = |word: &Option<String>| words.iter().position(|known| Some(known) == word.as_ref());
    let mut is_empty = true;
    for (label, rulings) in labelled.iter().zip(rulings) {
        if let Some(Ruling::Ruled { word, .. }) = rulings.first()
            && let (Some(people), Some(judge)) = (place(&label.word), place(word))
        {
            table.add(people, judge);
            is_empty = false;
        }
    }
    let row = |row| (0..words.len()).map(|column| table.at(row, column)).collect();
    let counts = (0..words.len()).map(row).collect();
    (!is_empty).then(|| VerdictTable { counts, kappa: kappa(&table, stream), words })
}

#[cfg(test)]
mod tests {
    use super::super::shape::testing::{label, ruled, subject};
    use super::*;

    fn measured(labels: &[Labelled], rulings: &[Vec<Ruling>]) -> Measured {
        let subject = subject();
        measure(&subject, Some(&subject.judges[0]), &Digest::of(b"labels"), labels, rulings)
    }

    #[test]
    fn every_label_is_in_one_place_and_errors_are_never_right() {
        let labels: Vec<Labelled> = [true, true, true, false, false, false, true].map(label).into();
        let rulings: Vec<Vec<Ruling>> =
            [ruled(true), ruled(true), ruled(false), ruled(false), ruled(true), Ruling::Misfit, Ruling::Failed]
                .map(|ruling| vec![ruling])
                .into();
        let found = measured(&labels, &rulings);
        assert_eq!(found.confusion, Confusion { false_fail: 1, false_pass: 1, true_fail: 1, true_pass: 2 });
        assert_eq!(found.errors, Errors { failed: 1, misfit: 1 });
        assert_eq!((found.accuracy.count, found.accuracy.of), (3, 7));
        assert_eq!((found.false_pass.count, found.false_pass.of), (1, 2));
        assert_eq!((found.false_fail.count, found.false_fail.of), (1, 3));
        assert_eq!(found.kappa.labels, 5);
        // (3/5 - 13/25) / (1 - 13/25)
        assert_eq!(found.kappa.value, Some(0.166667));
    }

    #[test]
    fn one_class_gives_reasons_and_no_numbers() {
        let labels: Vec<Labelled> = [true; 4].map(label).into();
        let found = measured(&labels, &vec![vec![ruled(true)]; 4]);
        assert_eq!((found.kappa.value, found.false_pass.value), (None, None));
        assert!(found.kappa.reason.is_some() && found.false_pass.reason.is_some());
        assert_eq!(found.accuracy.value, Some(1.0));
        let nothing = measured(&labels, &vec![vec![Ruling::Failed]; 4]);
        assert_eq!((nothing.accuracy.value, nothing.kappa.value), (Some(0.0), None));
    }

    #[test]
    fn repeats_count_labels_that_stay_the_same() {
        let labels: Vec<Labelled> = [true; 4].map(label).into();
        let rulings = vec![
            vec![ruled(true), ruled(true), ruled(true)],
            vec![ruled(true), ruled(true), ruled(false)],
            vec![ruled(false), ruled(false), ruled(false)],
            vec![ruled(true), Ruling::Misfit, ruled(true)],
        ];
        let found = measured(&labels, &rulings).repeat;
        assert_eq!((found.agreement.count, found.agreement.of, found.errors), (2, 3, 1));
        assert_eq!((found.kappa.value, found.kappa.labels), (Some(1.0), 3));
        let once = measured(&labels, &vec![vec![ruled(true)]; 4]).repeat;
        assert_eq!(
            (once.agreement.value, once.agreement.reason.as_deref()),
            (None, Some("every label was judged once"))
        );
    }

    #[test]
    fn the_same_winner_in_both_orders_is_steady() {
        for (one, other, want) in [
            ("first", "second", Lean::Steady),
            ("second", "first", Lean::Steady),
            ("tie", "tie", Lean::Steady),
            ("first", "first", Lean::ToFirst),
            ("tie", "first", Lean::ToFirst),
            ("second", "second", Lean::ToSecond),
            ("second", "tie", Lean::ToSecond),
        ] {
            assert_eq!(Lean::of(one, other), want, "{one} {other}");
        }
    }

    #[test]
    fn words_are_compared_where_there_are_more_than_two() {
        let mut subject = subject();
        let labels = [Labelled { word: Some("fair".into()), ..label(false) }, label(true)];
        let said = |word: &str| vec![Ruling::Ruled { passed: false, word: Some(word.into()), lean: None }];
        let rulings = [said("bad"), said("good")];
        let of = |subject: &Subject| measure(subject, None, &Digest::of(b"x"), &labels, &rulings).verdicts;
        assert_eq!(of(&subject), None);
        subject.verdicts =
            [("bad", 0.0), ("fair", 0.5), ("good", 1.0)].map(|(word, value)| (word.to_owned(), value)).into();
        // The second label has no word.
        let table = of(&subject).unwrap();
        assert_eq!(table.counts, [[0, 0, 0], [1, 0, 0], [0, 0, 0]]);
        assert_eq!(table.kappa.value, Some(0.0));
    }
}
