//! Whether a manifest fits together, before it is held against the other files.

use std::collections::{BTreeMap, BTreeSet};

use super::codes;
use super::finding::{Findings, Place, quote};
use crate::manifest::{MANIFEST_SCHEMA, Manifest};
use crate::store::names::{MANIFEST, RECORDS};

const PLACE: Place<'static> = Place { file: MANIFEST, line: None, key: None };

pub(super) fn check_manifest(manifest: &Manifest, findings: &mut Findings) {
    if manifest.schema_version != MANIFEST_SCHEMA {
        findings.push(codes::VERSION, PLACE, || {
            format!("schema_version is {}, expected {MANIFEST_SCHEMA}", manifest.schema_version)
        });
    }
    if manifest.records_file != RECORDS {
        findings.push(codes::MANIFEST_REFERENCE, PLACE, || {
            format!("records_file is {}, expected `{RECORDS}`", quote(&manifest.records_file))
        });
    }
    check_created_at(manifest, findings);
    check_names(manifest, findings);
    check_datasets(manifest, findings);
    check_models(manifest, findings);
    if manifest.sampling.n == 0 {
        findings.push(codes::RANGE, PLACE, || "sampling.n is 0, expected at least 1".to_owned());
    }
    if manifest.determinism.deterministic_artifacts && manifest.platform.is_some() {
        findings.push(codes::PLATFORM, PLACE, || {
            "platform is set, but deterministic_artifacts is on; expected null".to_owned()
        });
    }
}

fn check_created_at(manifest: &Manifest, findings: &mut Findings) {
    let (first, last) = (manifest.run_id.spine(0), manifest.run_id.spine(manifest.record_count));
    let found = &manifest.created_at;
    // Moments of one width sort as texts do.
    if found.len() != first.len() || !(first.as_str()..=last.as_str()).contains(&found.as_str()) {
        findings.push(codes::CREATED_AT, PLACE, || {
            format!("created_at is {}, expected a moment from `{first}` to `{last}`", quote(found))
        });
    }
}

fn check_names(manifest: &Manifest, findings: &mut Findings) {
    let conditions = &manifest.conditions;
    once("task", manifest.tasks.iter().map(|task| task.id.as_str()), findings);
    let models = manifest.models.iter().chain(&manifest.judges);
    once("model", models.map(|model| model.id.as_str()), findings);
    once("condition", conditions.requested.iter().map(String::as_str), findings);
    for task in &manifest.tasks {
        once("scorer", task.scorers.iter().map(String::as_str), findings);
        if task.scorers.is_empty() {
            findings.push(codes::MANIFEST_REFERENCE, PLACE, || format!("task {} has no scorer", quote(&task.id)));
        }
    }
}

fn once<'a>(kind: &str, names: impl Iterator<Item = &'a str>, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            findings.push(codes::TWICE, PLACE, || format!("{kind} {} stands twice; expected it once", quote(name)));
        }
    }
}

fn check_datasets(manifest: &Manifest, findings: &mut Findings) {
    let mut rows = BTreeMap::new();
    for dataset in &manifest.datasets {
        if rows.insert(dataset.task.as_str(), dataset.rows).is_some() {
            findings
                .push(codes::TWICE, PLACE, || format!("task {} has two datasets; expected one", quote(&dataset.task)));
        }
    }
    for task in &manifest.tasks {
        match rows.remove(task.id.as_str()) {
            None => findings.push(codes::MANIFEST_REFERENCE, PLACE, || {
                format!("task {} has no dataset; expected one", quote(&task.id))
            }),
            Some(rows) if rows != task.items => findings.push(codes::ROWS, PLACE, || {
                format!(
                    "the dataset of task {} gave {rows} rows, but the task has {} items",
                    quote(&task.id),
                    task.items
                )
            }),
            Some(_) => {}
        }
    }
    for task in rows.keys() {
        findings.push(codes::MANIFEST_REFERENCE, PLACE, || {
            format!("a dataset belongs to task {}, which the run does not have", quote(task))
        });
    }
}

fn check_models(manifest: &Manifest, findings: &mut Findings) {
    for model in manifest.models.iter().chain(&manifest.judges) {
        let expected = model.model.split_once(':').map_or(model.model.as_str(), |(provider, _)| provider);
        if model.provider != expected {
            findings.push(codes::MANIFEST_REFERENCE, PLACE, || {
                format!(
                    "the provider of model {} is {}, but {} names {}",
                    quote(&model.id),
                    quote(&model.provider),
                    quote(&model.model),
                    quote(expected)
                )
            });
        }
    }
}
