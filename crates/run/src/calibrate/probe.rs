//! How often attacks inside of a failing answer turn the judge.

use std::cell::Cell;

use proofmark_artefact::calibration::probe::Probed;
use proofmark_artefact::calibration::{Probe, Ruling};
use proofmark_canon::seed::derive;

use super::at_once::at_once;
use super::attacks::{ATTACKS, Attack, Bait, set};
use super::rule::{ask, rule, without_first};
use super::{Bench, CalibrateError};
use crate::judge::{Case, JudgeScorer};

/// An answer that fails, and what it is called in the report.
#[derive(Clone, Copy)]
pub struct ProbeCase<'a> {
    /// The label's id, or the sample's key.
    pub id: &'a str,
    pub case: Case<'a>,
}

/// Chooses which answers are attacked: by the digest of their ids, so that the choice depends neither on their order nor on
/// chance. They stay in their order.
pub fn choose(cases: Vec<ProbeCase<'_>>, most: usize) -> Vec<ProbeCase<'_>> {
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_cached_key(|at| derive("proofmark.probe/1", &[cases[*at].id.as_bytes()]));
    order.truncate(most);
    order.sort_unstable();
    order.into_iter().map(|at| cases[at]).collect()
}

/// Puts each answer before the judges as it is, once more as it is, and with each attack in it.
///
/// Without a first stage: an attack is not to be stopped by a comparison that it was not made for. An answer that the judges
/// pass as it is, or have no verdict on, is not attacked.
pub async fn probe(bench: Bench<'_>, cases: &[ProbeCase<'_>]) -> Result<Probe, CalibrateError> {
    let scorer = without_first(bench.scorer);
    let bait = Bait::new(&scorer.plan);
    let total = cases.len() as u64;
    let done = Cell::new(0);
    let first = at_once(
        bench.at_once,
        cases.iter().map(|one| {
            let scorer = &scorer;
            async move { put(scorer, &one.case, bench, 0).await }
        }),
    )
    .await?;
    let is_failing = |at: usize| first[at].panel.passed() == Some(false);
    // What is asked of each answer that fails: again, and then every attack.
    let tries = (0..cases.len()).filter(|at| is_failing(*at)).flat_map(|at| {
        std::iter::once(None).chain(ATTACKS.iter().map(Some)).map(move |attack: Option<&Attack>| (at, attack))
    });
    let tried = at_once(
        bench.at_once,
        tries.map(|(at, attack)| {
            let (scorer, bait, done) = (&scorer, &bait, &done);
            async move {
                let case = cases[at].case;
                let came = match attack {
                    None => put(scorer, &case, bench, 1).await?,
                    Some(attack) => {
                        let answer = attack.apply(case.answer, bait);
                        put(scorer, &Case { answer: &answer, ..case }, bench, 0).await?
                    }
                };
                done.set(done.get() + 1);
                (bench.tell)(done.get(), total * (ATTACKS.len() as u64 + 1));
                Ok::<_, CalibrateError>(came)
            }
        }),
    )
    .await?;
    // The panel's, then each judge's.
    let of = |who: Option<usize>| -> Vec<Probed> {
        let ruling = |came: &Came| who.map_or_else(|| came.panel.clone(), |judge| came.each[judge].clone());
        let mut tried = tried.iter();
        let probed = cases.iter().zip(&first).map(|(one, came)| {
            let (mut again, mut attacked) = (None, Vec::new());
            if came.panel.passed() == Some(false) {
                again = tried.next().map(ruling);
                let attacks = tried.by_ref().take(ATTACKS.len());
                attacked = attacks.map(|came| (ruling(came), came.explanation.clone())).collect();
            }
            Probed { id: one.id.to_owned(), first: ruling(came), again, attacked }
        });
        probed.collect()
    };
    let judges: Vec<(&str, Vec<Probed>)> = match scorer.judges.as_slice() {
        [_] => Vec::new(),
        all => all
            .iter()
            .enumerate()
            .map(|(at, judge)| (bench.desk.judge(*judge).plan.id.as_str(), of(Some(at))))
            .collect(),
    };
    let attacks: Vec<(&str, &str)> = ATTACKS.iter().map(|attack| (attack.id, attack.class.name())).collect();
    Ok(Probe::new(set(), &attacks, &of(None), &judges))
}

/// What came of putting an answer before all judges.
struct Came {
    panel: Ruling,
    explanation: String,
    /// By judge, in the scorer's order.
    each: Vec<Ruling>,
}

/// What all judges of the scorer rule together, and why.
async fn put(scorer: &JudgeScorer, case: &Case<'_>, bench: Bench<'_>, repeat: u32) -> Result<Came, CalibrateError> {
    let mut said = Vec::with_capacity(scorer.judges.len());
    for judge in &scorer.judges {
        said.push(ask(scorer, case, bench.desk, *judge, repeat).await?);
    }
    let (panel, explanation) = rule(scorer, &said);
    Ok(Came { panel, explanation, each: said.iter().map(|said| rule(scorer, [said]).0).collect() })
}
