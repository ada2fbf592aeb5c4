//! What differs between two records of one key.
//!
//! Members are compared as canonical text; only scores that differ are parsed. The run's id, the
//! ordinal, the seed and the time spine follow from the suite and make no class: a changed seed shows
//! in what was sent.
//!
//! An item that was edited under its id is `input_changed`. When its verdict turned too, it is also a
//! `regression` or an `improvement`, since a gate must not be blind to it; both classes stand side by
//! side, the counts say how many regressions came with another input, and every format shows it.

use std::collections::BTreeMap;
use std::path::Path;

use super::class::{Class, Classes};
use super::error::{DiffError, parse_line};
use super::kind::{Kinds, TrajectoryKind};
use super::scan::{RecordRow, record};
use crate::record::{Score, Voting};

/// Returns the classes of a pair. `kinds` is what the trajectories say; what the records say of them is added.
pub(super) fn classify(
    a: RecordRow<'_>,
    b: RecordRow<'_>,
    kinds: &mut Kinds,
    tolerance: f64,
    paths: [&Path; 2],
) -> Result<Classes, DiffError> {
    let differs = |member| a.value(member) != b.value(member);
    let mut classes = Classes::default();
    let mut put = |class, is: bool| {
        if is {
            classes.insert(class);
        }
    };
    let output_changed = differs(record::OUTPUT) || differs(record::FINISH_REASON);
    put(Class::OutputChanged, output_changed);
    put(Class::StatusChanged, differs(record::STATUS) || differs(record::ERROR));
    put(Class::InputChanged, differs(record::INPUT) || differs(record::EXPECTED) || differs(record::PROVIDER));
    kinds.put(TrajectoryKind::Turns, differs(record::TURNS));
    kinds.put(TrajectoryKind::Tools, differs(record::TOOL_CALLS));
    if differs(record::VOTING) {
        compare_votes(a, b, kinds, paths)?;
    }
    put(Class::TrajectoryChanged, kinds.is_change());
    if differs(record::SCORES) {
        let verdicts = |row: RecordRow<'_>, path| -> Result<Verdicts, DiffError> {
            let scores = parse_line(path, row.line, row.value(record::SCORES), "list of scores")?;
            Ok(Verdicts { scores, answered: row.value(record::STATUS) == b"\"success\"" })
        };
        let turned = compare(&verdicts(a, paths[0])?, &verdicts(b, paths[1])?, output_changed, tolerance);
        put(Class::Regression, turned.regressed);
        put(Class::Improvement, turned.improved && !turned.regressed);
        put(Class::ScoreChanged, turned.moved);
    }
    if classes.is_empty() && (differs(record::USAGE) || !kinds.is_empty()) {
        classes.insert(Class::UsageChanged);
    }
    Ok(classes)
}

fn compare_votes(a: RecordRow<'_>, b: RecordRow<'_>, kinds: &mut Kinds, paths: [&Path; 2]) -> Result<(), DiffError> {
    let votes = |row: RecordRow<'_>, path| -> Result<Option<Voting>, DiffError> {
        let text = row.value(record::VOTING);
        if text.is_empty() { Ok(None) } else { parse_line(path, row.line, text, "vote").map(Some) }
    };
    match (votes(a, paths[0])?, votes(b, paths[1])?) {
        (Some(a), Some(b)) => {
            let of = |voting: &Voting| (voting.chosen, voting.rule, voting.votes);
            kinds.put(TrajectoryKind::Chosen, of(&a) != of(&b));
            kinds.put(TrajectoryKind::Attempts, a.answers.len() != b.answers.len());
            kinds.put(TrajectoryKind::Answer, a.answers.iter().zip(&b.answers).any(|(a, b)| a != b));
        }
        _ => kinds.put(TrajectoryKind::Attempts, true),
    }
    Ok(())
}

/// The scores of one side.
struct Verdicts {
    scores: Vec<Score>,
    /// Whether the sample ended well: a scorer that is missing then is no longer in the suite.
    answered: bool,
}

impl Verdicts {
    fn by_name(&self) -> BTreeMap<&str, &Score> {
        // Names are unique in a run of ours; of others the first one counts.
        self.scores.iter().rev().map(|score| (score.scorer.as_str(), score)).collect()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Turned {
    regressed: bool,
    improved: bool,
    moved: bool,
}

fn compare(a: &Verdicts, b: &Verdicts, output_changed: bool, tolerance: f64) -> Turned {
    let mut turned = Turned::default();
    let (named_a, named_b) = (a.by_name(), b.by_name());
    for (name, before) in &named_a {
        let Some(after) = named_b.get(name) else {
            turned.regressed |= before.passed && !b.answered;
            turned.moved |= b.answered;
            continue;
        };
        match (before.passed, after.passed) {
            (true, false) => turned.regressed = true,
            (false, true) => turned.improved = true,
            _ => {
                let distance = (before.value - after.value).abs();
                let unexplained = distance <= 0.0 && !output_changed && before.explanation != after.explanation;
                turned.moved |= beyond(distance, tolerance) || unexplained;
            }
        }
    }
    for (_, after) in named_b.iter().filter(|(name, _)| !named_a.contains_key(*name)) {
        turned.improved |= after.passed && !a.answered;
        turned.moved |= a.answered;
    }
    turned
}

/// Whether a distance is more than the tolerance, forgiving what subtraction rounds: 0.4 - 0.3 is
/// not more than 0.1.
fn beyond(distance: f64, tolerance: f64) -> bool {
    const ROUNDING: f64 = 1e-12;
    // `max` turns NaN to 0.
    let tolerance = tolerance.max(0.0);
    distance > if tolerance > 0.0 { tolerance + ROUNDING } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::sample::{record as sample, score};
    use crate::diff::scan::{RECORD, Row};
    use crate::record::{Output, Record, SampleError, Status};

    fn classes(change: impl Fn(&mut Record, &mut Record), tolerance: f64) -> String {
        let (mut a, mut b) = (sample("t", "i", "m", "c", 0), sample("t", "i", "m", "c", 0));
        change(&mut a, &mut b);
        let bytes = [&a, &b].map(|record| proofmark_canon::to_vec(record).unwrap());
        let ends = [0, 1].map(|at| RECORD.scan(&bytes[at]).unwrap());
        let [a, b] = [0, 1].map(|at| Row { shape: &RECORD, bytes: &bytes[at], ends: &ends[at], line: 1, offset: 0 });
        let path = Path::new("records.jsonl");
        let classes = classify(a, b, &mut Kinds::default(), tolerance, [path, path]).unwrap();
        classes.iter().map(Class::as_str).collect::<Vec<_>>().join(" ")
    }

    fn fail(record: &mut Record) {
        record.status = Status::Timeout;
        record.error = Some(SampleError { class: "timeout".into(), message: "no answer".into() });
        record.output = None;
        record.finish_reason = None;
        record.scores.clear();
    }

    #[test]
    fn noise_makes_no_class() {
        let noise = |_: &mut Record, b: &mut Record| {
            b.run_id = proofmark_canon::RunId::from_digest(&proofmark_canon::Digest::of(b"other"));
            b.ordinal = 9;
            b.seed = proofmark_canon::seed::SampleSeed::derive(8, "x");
            b.started_at = "2001-01-01T00:00:00.000Z".into();
        };
        assert_eq!(classes(noise, 0.0), "");
        assert_eq!(classes(|_, _| {}, 0.0), "");
    }

    #[test]
    fn each_member_has_its_class() {
        let text = |text: &str| Some(Output::of_text(text.to_owned()));
        assert_eq!(classes(|_, b| b.output = text("no"), 0.0), "output_changed");
        assert_eq!(classes(|_, b| b.finish_reason = Some("length".into()), 0.0), "output_changed");
        assert_eq!(classes(|_, b| b.expected = proofmark_canon::Value::Null, 0.0), "input_changed");
        assert_eq!(classes(|_, b| b.input.messages.clear(), 0.0), "input_changed");
        assert_eq!(classes(|_, b| b.input.fingerprint = proofmark_canon::Digest::of(b"z"), 0.0), "input_changed");
        assert_eq!(classes(|_, b| b.provider = "other".into(), 0.0), "input_changed");
        assert_eq!(classes(|_, b| b.turns = 2, 0.0), "trajectory_changed");
        assert_eq!(classes(|_, b| b.tool_calls = 2, 0.0), "trajectory_changed");
        assert_eq!(classes(|_, b| b.usage.input_tokens = 2, 0.0), "usage_changed");
        let both = |_: &mut Record, b: &mut Record| {
            b.usage.input_tokens = 2;
            b.output = text("no");
        };
        assert_eq!(classes(both, 0.0), "output_changed");
    }

    #[test]
    fn verdicts_that_turn_are_regressions_and_improvements() {
        assert_eq!(classes(|_, b| b.scores = vec![score("exact", false, 0.0)], 0.0), "regression");
        assert_eq!(classes(|a, _| a.scores = vec![score("exact", false, 0.0)], 0.0), "improvement");
        let lost = "regression output_changed status_changed";
        assert_eq!(classes(|_, b| fail(b), 0.0), lost);
        assert_eq!(classes(|a, _| fail(a), 0.0), lost.replace("regression", "improvement"));
        let failed_anyway = |a: &mut Record, b: &mut Record| {
            a.scores = vec![score("exact", false, 0.0)];
            fail(b);
        };
        assert_eq!(classes(failed_anyway, 0.0), "output_changed status_changed");
        let mixed = |a: &mut Record, b: &mut Record| {
            a.scores = vec![score("x", true, 1.0), score("y", false, 0.0)];
            b.scores = vec![score("x", false, 0.0), score("y", true, 1.0)];
        };
        assert_eq!(classes(mixed, 0.0), "regression");
        let edited = |_: &mut Record, b: &mut Record| {
            b.expected = proofmark_canon::Value::Null;
            b.scores = vec![score("exact", false, 0.0)];
        };
        assert_eq!(classes(edited, 0.0), "regression input_changed");
    }

    #[test]
    fn a_value_that_moves_within_the_tolerance_is_no_change() {
        let moved = |from: f64, to: f64| {
            move |a: &mut Record, b: &mut Record| {
                a.scores[0].value = from;
                b.scores[0].value = to;
            }
        };
        assert_eq!(classes(moved(0.4, 0.3), 0.0), "score_changed");
        assert_eq!(classes(moved(0.4, 0.3), 0.1), "");
        assert_eq!(classes(moved(0.4, 0.29), 0.1), "score_changed");
        assert_eq!(classes(moved(0.4, 0.3), f64::NAN), "score_changed");
        let explained = |_: &mut Record, b: &mut Record| b.scores[0].explanation = "other words".into();
        assert_eq!(classes(explained, 0.0), "score_changed");
    }

    #[test]
    fn a_scorer_that_came_or_went_is_a_changed_score_and_no_regression() {
        assert_eq!(classes(|_, b| b.scores.push(score("new", true, 1.0)), 0.0), "score_changed");
        assert_eq!(classes(|_, b| b.scores.clear(), 0.0), "score_changed");
        assert_eq!(classes(|_, b| b.scores = vec![score("renamed", false, 0.0)], 0.0), "score_changed");
    }
}
