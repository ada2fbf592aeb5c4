//! Rung 3: the scores follow from the recorded outputs.

use std::path::Path;

use proofmark_artefact::replay::Status;
use proofmark_artefact::store::names;
use proofmark_artefact::verify::records::check_records;
use proofmark_artefact::verify::{Check, Climb, Rung};

use proofmark_trust::policy::Trust;

use super::{Commands, chain};
use crate::ready::Ready;
use crate::rescore::{self, Finding, FindingKind};

/// Checks the records, makes every score and total again, and compares. `ready` is the run's suite, loaded again;
/// `trust` says whose judgments are believed, `version` is that of this program.
pub fn climb_scores(
    ready: Ready,
    dir: &Path,
    commands: Commands,
    trust: &Trust,
    version: &str,
    progress: &dyn Fn(u64, u64),
) -> Climb {
    let mut climb = Climb::new(Rung::Scores);
    let options = rescore::Options { run_commands: commands == Commands::Run };
    let rescored = match rescore::check(ready, dir, options, trust, progress) {
        Ok(rescored) => rescored,
        Err(error) => {
            climb.push(Check::new("scores", Status::Unchecked).note(chain(&error)));
            return climb;
        }
    };
    if let Some(other) = rescored.findings.iter().find(|finding| finding.kind == FindingKind::OtherSuite) {
        // The inputs here are not those of the run: that says nothing about its scores.
        climb.push(Check::of(&other.file, "suite", Status::Unchecked).note(other.message.clone()));
        return climb;
    }
    for finding in &rescored.findings {
        climb.push(check_of(finding));
    }
    climb.add_failed(rescored.found - rescored.findings.len() as u64);
    if rescored.holds() {
        let note = proofmark_artefact::number::counted(rescored.records, "record was", "records were");
        let check = Check::of(names::RECORDS, "scores follow from the outputs", Status::Ok);
        climb.push(check.note(format!("{note} made again, byte for byte")));
        climb.push(Check::of(names::SUMMARY, "totals follow from the scores", Status::Ok));
    }
    for (signer, judgments) in &rescored.signers {
        let note = proofmark_artefact::number::counted(*judgments, "judgment", "judgments");
        climb.push(Check::of(names::JUDGMENTS, "signatures", Status::Ok).note(format!("{note} signed by {signer}")));
    }
    for what in &rescored.not_rerun {
        climb.push(Check::new("not made again", Status::Skip).note(what.clone()));
        climb.add_gap(format!("not made again: {what}"));
    }
    check_records(dir, version, &mut climb);
    climb
}

fn check_of(finding: &Finding) -> Check {
    let mut name = finding.field.clone().unwrap_or_else(|| "record".to_owned());
    if let Some(key) = &finding.key {
        name = format!("{name} of `{key}`");
    }
    Check {
        actual: finding.recorded.clone(),
        expected: finding.computed.clone(),
        ..Check::of(&finding.file, name, Status::Fail).line(finding.line).note(finding.message.clone())
    }
}
