//! What of rung 3 follows from the records alone: their form, their order, and the files that are made from them.

use std::path::Path;

use super::ladder::{Check, Climb};
use crate::rebuild::rebuild;
use crate::replay::Status;
use crate::store::{RunDir, names};
use crate::validate::{Severity, validate_run};

/// Codes of warnings that matter here: a picture that no record names, and a summary that could not be made again.
const GRAVE: [&str; 2] = ["V083", "V061"];

/// Checks records and trajectories line by line, and makes summary and report again. `version` is that of this program.
pub fn check_records(dir: &Path, version: &str, climb: &mut Climb) {
    let outcome = match validate_run(dir) {
        Ok(outcome) => outcome,
        Err(error) => {
            climb.push(Check::new("run directory", Status::Unchecked).note(error.to_string()));
            return;
        }
    };
    let mut kept = 0;
    for finding in &outcome.findings {
        // Names that do not belong to the run were the business of the rung below.
        if finding.severity == Severity::Warning && !GRAVE.contains(&finding.code) {
            continue;
        }
        kept += 1;
        let check = Check::of(&finding.file, finding.code, Status::Fail).line(finding.line);
        climb.push(check.note(finding.message.clone()));
    }
    climb.add_failed(outcome.errors.saturating_sub(kept));
    if kept == 0 && outcome.errors == 0 {
        let note = crate::number::counted(outcome.records, "record", "records");
        climb.push(Check::of(names::RECORDS, "form, order and counts", Status::Ok).note(note));
        check_rebuilt(dir, version, climb);
    }
}

/// Summary and report as the records give them.
fn check_rebuilt(dir: &Path, version: &str, climb: &mut Climb) {
    let opened = RunDir::open(dir).map_err(|error| error.to_string());
    let rebuilt = opened.and_then(|run| rebuild(&run).map(|rebuilt| (run, rebuilt)).map_err(|error| error.to_string()));
    let (run, rebuilt) = match rebuilt {
        Ok(both) => both,
        Err(why) => {
            climb.push(Check::of(names::RECORDS, "summary and report", Status::Fail).note(why));
            return;
        }
    };
    let made_by = &run.manifest().harness.version;
    for (name, bytes) in [(names::SUMMARY, &rebuilt.summary), (names::REPORT_HTML, &rebuilt.report)] {
        // A run may leave its report out.
        let Some(pin) = run.manifest().artifacts.get(name) else { continue };
        let check = |status| Check::of(name, "follows from the records", status);
        if *pin == proofmark_canon::Digest::of(bytes) {
            climb.push(check(Status::Ok));
        } else if name == names::REPORT_HTML && made_by != version {
            let made_by = crate::text::excerpt(made_by, 40);
            climb.push(
                check(Status::Skip).note(format!("version {made_by} wrote it, and {version} writes it otherwise")),
            );
            climb.add_gap(format!("whether {name} follows from the records could not be checked"));
        } else {
            climb.push(check(Status::Fail).note("the records give another one"));
        }
    }
}
