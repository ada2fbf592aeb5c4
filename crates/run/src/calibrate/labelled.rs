//! All labels before all judges.

use std::cell::Cell;

use proofmark_artefact::calibration::shape::LabelSet;
use proofmark_artefact::calibration::{Calibration, Labelled, Ruling, Subject};

use super::at_once::at_once;
use super::cases::LabelledCase;
use super::probe::{ProbeCase, choose, probe};
use super::rule::{Said, ask, rule, without_first};
use super::{Bench, CalibrateError};

/// What is wanted of a calibration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// How often every label is put before every judge; at least 1.
    pub repeats: u32,
    /// How many failing answers are attacked.
    pub probe: Option<usize>,
}

/// Puts every label before every judge, as often as is wished, and measures what they say.
pub async fn calibrate(
    bench: Bench<'_>,
    subject: Subject,
    cases: &[LabelledCase],
    labels: LabelSet,
    wish: Wish,
) -> Result<Calibration, CalibrateError> {
    let scorer = without_first(bench.scorer);
    let (judges, repeats) = (&scorer.judges, wish.repeats.max(1));
    let total = (cases.len() * judges.len()) as u64 * u64::from(repeats);
    let done = Cell::new(0);
    let jobs = cases
        .iter()
        .flat_map(|case| judges.iter().flat_map(move |judge| (0..repeats).map(move |repeat| (case, *judge, repeat))));
    let jobs = jobs.map(|(case, judge, repeat)| {
        let (scorer, done) = (&scorer, &done);
        async move {
            let mut said = ask(scorer, &case.case(), bench.desk, judge, repeat).await?;
            said.forget_reasons();
            done.set(done.get() + 1);
            (bench.tell)(done.get(), total);
            Ok::<Said, CalibrateError>(said)
        }
    });
    let said = at_once(bench.at_once, jobs).await?;
    // By label, then by judge, then by repeat.
    let at =
        |case: usize, judge: usize, repeat: usize| &said[(case * judges.len() + judge) * repeats as usize + repeat];
    let rulings = |of: &dyn Fn(usize, usize) -> Ruling| -> Vec<Vec<Ruling>> {
        (0..cases.len()).map(|case| (0..repeats as usize).map(|repeat| of(case, repeat)).collect()).collect()
    };
    let each: Vec<Vec<Vec<Ruling>>> =
        (0..judges.len()).map(|judge| rulings(&|case, repeat| rule(&scorer, [at(case, judge, repeat)]).0)).collect();
    let panel = (judges.len() > 1)
        .then(|| rulings(&|case, repeat| rule(&scorer, (0..judges.len()).map(|judge| at(case, judge, repeat))).0));
    let probe = match wish.probe {
        Some(most) => {
            let failing = cases.iter().filter(|case| !case.labelled.passed);
            let failing: Vec<ProbeCase<'_>> =
                failing.map(|case| ProbeCase { id: &case.id, case: case.case() }).collect();
            Some(probe(bench, &choose(failing, most)).await?)
        }
        None => None,
    };
    let labelled: Vec<Labelled> = cases.iter().map(|case| case.labelled.clone()).collect();
    Ok(Calibration::new(subject, labels, &labelled, &each, panel.as_deref(), probe))
}
