//! What follows from the run: metadata, results, the audit, and what had to be allowed.

use std::path::Path;

use proofmark_artefact::audit::{Attestation, Report, format as audit_format};
use proofmark_artefact::package::names::{AUDIT, BUNDLE, METADATA, README, RESULTS};
use proofmark_artefact::package::predicate::{Allowance, AllowanceKind, Predicate};
use proofmark_artefact::package::{Metadata, Stage};
use proofmark_artefact::replay::Status;
use proofmark_artefact::store::{MAX_JSON, read_bounded};
use proofmark_artefact::verify::Check;
use proofmark_canon::json;
use proofmark_trust::public::MAX_PUBLIC_KEY;

use super::{Allowed, chain};
use crate::again::without_place;
use crate::allowances::needed;
use crate::metadata::Said;
use crate::readme::render;
use crate::results::{self, ResultsFile};
use crate::seal::{About, line};

/// Checks what stands beside the run against the run.
pub(super) fn check(folder: &Path, predicate: &Predicate, version: &str) -> Stage {
    let mut stage = Stage::new("derived");
    let about = match About::read(folder) {
        Ok(about) => about,
        Err(error) => {
            let why = without_place(&chain(&error), folder);
            stage.settle(METADATA, "follows from the run", Err(why));
            return stage;
        }
    };
    let metadata = read_metadata(folder);
    match &metadata {
        Err(why) => drop(stage.settle(METADATA, "follows from the run", Err(why.clone()))),
        Ok(metadata) => {
            let said = Said {
                allowances: predicate.allowances.clone(),
                inputs: predicate.inputs,
                name: metadata.name.clone(),
                sealed_with: predicate.sealed_with.clone(),
            };
            let same = about.describe(said) == *metadata;
            let result = if same { Ok(()) } else { Err("the run and the statement say something else".to_owned()) };
            stage.settle(METADATA, "follows from the run", result);
            // What another version wrote for people was written in other words.
            if predicate.sealed_with.version == version {
                let results = results::files_of(about.run.manifest()).unwrap_or_default();
                stage.settle(README, "follows from the metadata", check_readme(folder, metadata, &results));
            } else {
                let note = format!("version {} wrote it", predicate.sealed_with.version);
                stage.push(Check::of(README, "follows from the metadata", Status::Skip).note(note));
            }
        }
    }
    let manifest = about.run.manifest();
    let is_same = predicate.run_id == manifest.run_id
        && predicate.suite == manifest.name
        && predicate.harness == manifest.harness
        && predicate.counts == about.summary.totals.counts;
    let result = if is_same { Ok(()) } else { Err("it says something else than the run".to_owned()) };
    stage.settle(BUNDLE, "says what the run says", result);
    let files = results::files_of(about.run.manifest()).unwrap_or_default();
    match results::check(folder, &about.run, &files) {
        Ok(found) => {
            for (name, result) in found {
                stage.settle(&name, "follows from the records", result);
            }
        }
        Err(error) => {
            let why = without_place(&chain(&error), folder);
            stage.settle(RESULTS, "follows from the records", Err(why));
        }
    }
    stage
}

fn read_metadata(folder: &Path) -> Result<Metadata, String> {
    let bytes = read_bounded(&folder.join(METADATA), MAX_JSON).map_err(|_| "it cannot be read".to_owned())?;
    let body = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let value = json::parse(body).map_err(|error| format!("it is not JSON: {error}"))?;
    let metadata: Metadata = json::from_value(&value).map_err(|error| error.to_string())?;
    match line(&metadata) {
        Ok(canonical) if canonical == bytes => Ok(metadata),
        _ => Err("it is not canonical JSON and one line end".to_owned()),
    }
}

fn check_readme(folder: &Path, metadata: &Metadata, results: &[ResultsFile]) -> Result<(), String> {
    let unreadable = |_| "it cannot be read".to_owned();
    let bytes = read_bounded(&folder.join(README), MAX_JSON).map_err(unreadable)?;
    let signer = folder.join(proofmark_artefact::package::names::SIGNER);
    let text = read_bounded(&signer, MAX_PUBLIC_KEY).map_err(unreadable)?;
    let (key, _) =
        proofmark_trust::key::PublicKey::parse(&String::from_utf8_lossy(&text)).map_err(|error| error.to_string())?;
    let expected = render(metadata, &key, results);
    if expected.as_bytes() == bytes { Ok(()) } else { Err("it says something else".to_owned()) }
}

/// Holds the sealed report against the one that was made now. Returns whether it is the same, and what it says.
///
/// Another version may see more or say it otherwise; that a run is clean which is not is a contradiction all the same.
pub(super) fn compare_audit(
    folder: &Path,
    report: &Report,
    predicate: &Predicate,
    version: &str,
    stage: &mut Stage,
) -> (bool, Option<Attestation>) {
    let bytes = read_bounded(&folder.join(AUDIT), MAX_JSON).unwrap_or_default();
    let value = json::parse(&bytes).ok();
    let sealed: Option<Report> = value.and_then(|value| json::from_value(&value).ok());
    let is_same = audit_format::json(report).is_ok_and(|again| again == bytes);
    let is_other = predicate.sealed_with.version != version;
    let mut settle = |file: &str, check: &str, result: Result<(), String>, is_excusable: bool| match result {
        Err(why) if is_other && is_excusable => {
            let note = format!("{why}; version {} made it", predicate.sealed_with.version);
            stage.push(Check::of(file, check, Status::Skip).note(note));
        }
        result => drop(stage.settle(file, check, result)),
    };
    let is_forged = |said: &Attestation| said.clean && !report.attestation.clean;
    let clean_is_not = || {
        let ids = [&report.attestation.critical_failures[..], &report.attestation.skipped[..]].concat().join(", ");
        Err(format!("it says clean, but the run is not: {ids}"))
    };
    let (result, is_excusable) = match &sealed {
        _ if is_same => (Ok(()), true),
        None => (Err("it is not an audit report of this version".to_owned()), true),
        Some(sealed) if is_forged(&sealed.attestation) => (clean_is_not(), false),
        Some(_) => (Err("auditing the run gives another report".to_owned()), true),
    };
    settle(AUDIT, "is what the audit gives", result, is_excusable);
    let (result, is_excusable) = match &predicate.audit {
        said if *said == report.attestation => (Ok(()), true),
        said if is_forged(said) => (clean_is_not(), false),
        _ => (Err("it says something else of the audit".to_owned()), true),
    };
    settle(BUNDLE, "says what the audit comes to", result, is_excusable);
    (is_same, sealed.map(|sealed| sealed.attestation))
}

/// What spoke against sealing: all of it must be said, and then it is for the verifier to accept it.
pub(super) fn check_allowances(
    folder: &Path,
    predicate: &Predicate,
    audit: &Report,
    allowed: Allowed,
    version: &str,
    stage: &mut Stage,
) {
    let Ok(about) = About::read(folder) else { return };
    // In which words another version speaks of its audit is its own business.
    let is_other = predicate.sealed_with.version != version;
    let counts = |one: &&Allowance| !is_other || one.kind != AllowanceKind::Audit;
    let needed = needed(&about.block, audit);
    let needed: Vec<&Allowance> = needed.iter().filter(counts).collect();
    let said: Vec<&Allowance> = predicate.allowances.iter().filter(counts).collect();
    if needed != said {
        let hidden: Vec<&str> =
            needed.iter().filter(|one| !said.contains(one)).map(|one| one.reason.as_str()).collect();
        let why = match hidden.is_empty() {
            false => format!("it does not say: {}", hidden.join("; ")),
            true => "it says that something was let pass which was not wrong".to_owned(),
        };
        stage.settle(BUNDLE, "says what was let pass", Err(why));
    }
    for allowance in &predicate.allowances {
        let name = format!("fit to be submitted: {}", allowance.kind.as_str());
        let (status, more) = match allowed {
            Allowed::Refuse => (Status::Fail, "; sealed with --allow-dirty, accept it with --allow-dirty"),
            Allowed::Accept => (Status::Skip, ""),
        };
        stage.push(Check::of(BUNDLE, name, status).note(format!("{}{more}", allowance.reason)));
    }
}
