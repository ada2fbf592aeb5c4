//! AUD-8: marks, totals and denominators that do not follow from the answers.

use std::io;

use proofmark_artefact::audit::{Coverage, Evidence, Severity};
use proofmark_artefact::spill::{MARK, Sorter, mark};
use proofmark_artefact::text::excerpt;
use proofmark_artefact::validate;
use proofmark_run::rescore::FindingKind;

use super::{Checking, Outcome, Scene, Subject};
use crate::credit::{Credit, is_marked};
use crate::input::gold::Gold;
use crate::kept::{Kept, MAX_EVIDENCE, finding, finding_of_all};
use crate::sample::{Claim, ClaimKind, Mark, Origin, Sample};
use crate::shelf::{Earliest, SORT};

pub(super) struct Rescore {
    coverage: Coverage,
    /// Why the first mark that cannot be had again cannot.
    unknown: Option<String>,
    samples: u64,
    passed: u64,
    /// What is wrong with marks.
    marks: Kept,
    /// What is wrong with gold answers.
    golds: Kept,
    /// Items of the given dataset that have a result.
    asked: Sorter<MARK>,
    has_asked: bool,
}

impl Default for Rescore {
    fn default() -> Self {
        Self {
            coverage: Coverage::default(),
            unknown: None,
            samples: 0,
            passed: 0,
            marks: Kept::default(),
            golds: Kept::default(),
            asked: Sorter::new(SORT, None),
            has_asked: false,
        }
    }
}

impl Checking for Rescore {
    fn take(&mut self, scene: &Scene<'_>, subject: &Subject<'_>) -> io::Result<()> {
        let Subject { sample, credit, .. } = subject;
        self.samples += 1;
        self.passed += u64::from(sample.is_credited());
        if is_marked(sample) {
            self.mark(scene, sample, credit);
        }
        let Some(gold) = scene.samples.gold_of(sample.task) else { return Ok(()) };
        self.asked.push(mark(sample.item.as_bytes()))?;
        self.has_asked = true;
        self.golds.extend(against_row(scene, sample, gold)?);
        Ok(())
    }

    fn finish(self: Box<Self>, scene: &Scene<'_>) -> io::Result<Outcome> {
        let mut outcome = Outcome { coverage: self.coverage, ..Outcome::default() };
        contradictions(scene, &mut outcome.kept);
        outcome.kept.append(self.marks);
        if let Some(why) = self.unknown {
            let Coverage { of, seen } = outcome.coverage;
            outcome.gaps.push(format!("{} of {of} marks cannot be had again: {}", of - seen, excerpt(&why, 160)));
        }
        // Totals and rates that somebody claims against those of the marks.
        let (total, passed) = (self.samples as f64, self.passed as f64);
        let claims = scene.facts.claims.iter();
        outcome.kept.extend(claims.filter_map(|claim| claim_of(claim, total, passed, outcome.coverage.of > 0)));
        outcome.kept.append(self.golds);
        if self.has_asked {
            dropped(scene, self.asked, &mut outcome.kept)?;
        }
        against_suite(scene, &mut outcome);
        Ok(outcome)
    }
}

impl Rescore {
    /// Holds a mark against the verdict of the rule.
    fn mark(&mut self, scene: &Scene<'_>, sample: &Sample, credit: &Credit) {
        self.coverage.of += 1;
        // With the suite at hand every record was made again; what its own texts allow does not matter.
        let is_seen = scene.rescored.is_some() || !matches!(credit, Credit::Unknown(_));
        self.coverage.seen += u64::from(is_seen);
        if let (Credit::Unknown(why), false) = (credit, is_seen) {
            self.unknown.get_or_insert_with(|| why.clone());
        }
        self.marks.extend(odd_mark(scene, sample, credit));
    }
}

/// What did not fit while reading: results that stand twice, records that are no records of their run.
fn contradictions(scene: &Scene<'_>, kept: &mut Kept) {
    kept.extend(scene.facts.contradictions.iter().map(|contradiction| Evidence {
        finding: contradiction.finding.to_owned(),
        gold: None,
        message: contradiction.message.clone(),
        place: contradiction.place.clone(),
        sample: contradiction.sample.as_ref().map(|id| excerpt(id, 200)),
        severity: Severity::Critical,
    }));
    kept.omit(scene.facts.contradictions_omitted);
    let Some(validated) = scene.validated else { return };
    let errors = validated.findings.iter().filter(|finding| finding.severity == validate::Severity::Error);
    kept.extend(errors.map(|error| Evidence {
        finding: error.code.to_owned(),
        gold: None,
        message: error.message.clone(),
        place: Some(match error.line {
            Some(line) => format!("{} line {line}", error.file),
            None => error.file.clone(),
        }),
        sample: error.key.clone(),
        severity: Severity::Critical,
    }));
    kept.omit(validated.total - validated.findings.len() as u64);
}

/// What is wrong with a mark.
fn odd_mark(scene: &Scene<'_>, sample: &Sample, credit: &Credit) -> Option<Evidence> {
    let place = format!("{}, result {}", scene.facts.results_name, sample.number);
    let (name, message) = match (&sample.mark, credit) {
        (Mark::Malformed(what), _) => ("mark_malformed", format!("{what}, expected true or false")),
        (_, Credit::Unsupported) => {
            let answer = scene.reveal.text(sample, sample.answer.as_deref().unwrap_or_default(), 80);
            ("mark_unsupported", format!("marked as correct, but the answer is {answer}"))
        }
        (_, _) if sample.other_verdict.is_some() => {
            ("verdict_differs", sample.other_verdict.clone().unwrap_or_default())
        }
        // Somebody who understates his own score deceives nobody; it shows that the marks are not the scorer's.
        (Mark::Wrong, Credit::None { deserved: true }) if scene.facts.origin == Origin::Foreign => {
            let message = "marked as wrong, but the answer is the gold answer under the rule";
            let mut evidence = finding(Severity::Info, "mark_too_low", sample, message);
            evidence.place = Some(place);
            return Some(evidence);
        }
        _ => return None,
    };
    let mut evidence = finding(Severity::Critical, name, sample, message);
    evidence.gold = scene.reveal.gold(sample);
    evidence.place = Some(place);
    Some(evidence)
}

/// How far a rounded rate may be from the exact one.
const ROUNDING: f64 = 0.005_001;

fn claim_of(claim: &Claim, total: f64, passed: f64, marked: bool) -> Option<Evidence> {
    let value = match &claim.value {
        Ok(value) => *value,
        Err(words) => {
            let message = format!("`{}` is `{words}`, expected a number", claim.place);
            return Some(finding_of_all(Severity::Critical, "claim_malformed", message));
        }
    };
    let (is, is_so) = match claim.kind {
        ClaimKind::Total => (total, (value - total).abs() < 0.5),
        ClaimKind::Passed if marked => (passed, (value - passed).abs() < 0.5),
        ClaimKind::Rate if marked => {
            let rate = passed / total;
            // Some give percent.
            let is_percent = value > 1.0 && (value / 100.0 - rate).abs() <= ROUNDING / 10.0;
            (rate, (value - rate).abs() <= ROUNDING || is_percent)
        }
        _ => return None,
    };
    // Too small a denominator makes any rate look better, apart from one that is whole already: there is nothing to gain when
    // every result passed.
    let is_harmless = claim.kind == ClaimKind::Total && value < total && passed >= total;
    let severity = if is_harmless { Severity::Warn } else { Severity::Critical };
    let message = format!("`{}` is {value}, but the results give {}", claim.place, shown(is));
    (!is_so).then(|| finding_of_all(severity, "total_differs", message))
}

/// A count, or a rate with four digits.
fn shown(number: f64) -> String {
    if number.fract() == 0.0 { number.to_string() } else { format!("{number:.4}") }
}

/// A gold answer against that of the dataset itself.
fn against_row(scene: &Scene<'_>, sample: &Sample, gold: &Gold) -> io::Result<Option<Evidence>> {
    let Some(row) = gold.find(&sample.item)? else {
        let message = "the dataset has no such task";
        return Ok(Some(finding(Severity::Critical, "unknown_task", sample, message)));
    };
    if !sample.has_gold() || row.answer.is_null() || is_same(&row.answer, &sample.gold) {
        return Ok(None);
    }
    let message = "the gold answer of the results is not that of the dataset";
    let mut evidence = finding(Severity::Critical, "gold_differs", sample, message);
    evidence.gold = scene.reveal.gold(sample);
    Ok(Some(evidence))
}

/// Tasks of the dataset that have no result, where all had to have one.
fn dropped(scene: &Scene<'_>, asked: Sorter<MARK>, kept: &mut Kept) -> io::Result<()> {
    let level = scene.facts.tasks.first().and_then(|task| task.level);
    let tasks = scene.facts.tasks.iter().enumerate();
    let mut of_gold = tasks.filter(|(at, _)| scene.samples.gold_of(*at).is_some());
    let Some(gold) = scene.samples.gold().filter(|_| !of_gold.any(|(_, task)| task.is_part)) else { return Ok(()) };
    let mut ids = Earliest::new(MAX_EVIDENCE);
    gold.others(asked.finish()?.into_walk()?, |row| {
        if level.is_none() || row.level.is_none() || row.level.map(u64::from) == level {
            ids.push(row.id);
        }
    })?;
    let (ids, omitted) = ids.into_parts();
    for id in ids {
        let evidence = finding_of_all(Severity::Critical, "dropped_task", "a task of the dataset has no result");
        kept.push(Evidence { sample: Some(excerpt(&id, 200)), ..evidence });
    }
    kept.omit(omitted);
    Ok(())
}

fn is_same(a: &proofmark_canon::Value, b: &proofmark_canon::Value) -> bool {
    a == b || a.to_plain_text().trim() == b.to_plain_text().trim()
}

/// What came of making every record again.
fn against_suite(scene: &Scene<'_>, outcome: &mut Outcome) {
    let Some(rescored) = scene.rescored else { return };
    outcome.kept.extend(rescored.findings.iter().map(|found| {
        Evidence {
            finding: match found.kind {
                FindingKind::Score => "score_differs",
                FindingKind::Dropped => "dropped_sample",
                FindingKind::Doubled => "duplicate_sample",
                FindingKind::Added => "added_sample",
                FindingKind::Summary | FindingKind::Manifest => "total_differs",
                _ => "record_differs",
            }
            .to_owned(),
            gold: None,
            message: excerpt(&found.message, 300),
            place: Some(match found.line {
                Some(line) => format!("{} line {line}", found.file),
                None => found.file.clone(),
            }),
            sample: found.key.clone(),
            severity: Severity::Critical,
        }
    }));
    outcome.kept.omit(rescored.found - rescored.findings.len() as u64);
    if let Some(why) = rescored.not_rerun.iter().find(|why| why.contains("scorer")) {
        outcome.coverage.seen = 0;
        outcome.gaps.push(format!("not scored again: {}", excerpt(why, 200)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_holds_when_it_is_what_the_marks_give() {
        for (kind, value, want) in [
            (ClaimKind::Total, 3.0, true),
            (ClaimKind::Total, 165.0, false),
            (ClaimKind::Passed, 2.0, true),
            (ClaimKind::Passed, 3.0, false),
            (ClaimKind::Rate, 2.0 / 3.0, true),
            (ClaimKind::Rate, 0.67, true),
            (ClaimKind::Rate, 66.67, true),
            (ClaimKind::Rate, 0.99, false),
            (ClaimKind::Rate, 68.0, false),
        ] {
            let claim = Claim { place: "summary.x".into(), kind, value: Ok(value) };
            assert_eq!(claim_of(&claim, 3.0, 2.0, true).is_none(), want, "{claim:?}");
        }
        let smaller = Claim { place: "metadata.total_questions".into(), kind: ClaimKind::Total, value: Ok(1.0) };
        let severity = |passed| claim_of(&smaller, 3.0, passed, true).unwrap().severity;
        assert_eq!((severity(2.0), severity(3.0)), (Severity::Critical, Severity::Warn));
        let malformed = Claim { value: Err("NaN".into()), ..smaller };
        assert_eq!(claim_of(&malformed, 3.0, 3.0, true).unwrap().finding, "claim_malformed");
        let unmarked = Claim { place: "summary.passed".into(), kind: ClaimKind::Passed, value: Ok(9.0) };
        assert_eq!(claim_of(&unmarked, 3.0, 0.0, false), None, "nobody has marked anything");
    }

    #[test]
    fn a_mark_that_nothing_supports_is_critical() {
        use super::super::testing::{credited, findings, outcome_of};
        let wrong = |sample: Sample| Sample { mark: Mark::Wrong, ..sample };
        let facts = crate::sample::Facts::default();
        for (sample, want) in [
            (credited("t", "Paris", "Paris"), vec![]),
            (credited("t", "banana split", "Paris"), vec![("mark_unsupported", Severity::Critical)]),
            (credited("t", "Gaudi", "Antoni Gaudi"), vec![]),
            (wrong(credited("t", "Paris", "Paris")), vec![("mark_too_low", Severity::Info)]),
            (wrong(credited("t", "Rome", "Paris")), vec![]),
            (
                Sample { mark: Mark::Malformed("`correct` is a string: false".into()), ..credited("t", "x", "x") },
                vec![("mark_malformed", Severity::Critical)],
            ),
            (
                Sample { other_verdict: Some("it differs".into()), ..credited("t", "x", "x") },
                vec![("verdict_differs", Severity::Critical)],
            ),
        ] {
            let outcome = outcome_of::<Rescore>(std::slice::from_ref(&sample), &[], &facts);
            assert!(outcome.coverage.is_whole());
            assert_eq!(findings(outcome), want, "{sample:?}");
        }
        let no_gold = Sample { gold: proofmark_canon::Value::Null, ..credited("t", "x", "x") };
        let outcome = outcome_of::<Rescore>(&[no_gold], &[], &facts);
        assert_eq!((outcome.coverage, outcome.gaps.len()), (Coverage { of: 1, seen: 0 }, 1));
    }
}
