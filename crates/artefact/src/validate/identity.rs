//! Whether the run id follows from what the run was made of.

use std::path::Path;

use proofmark_canon::Digest;

use super::files::{self, Kind};
use super::finding::{Findings, Place};
use super::{ValidateError, codes};
use crate::manifest::Manifest;
use crate::store::{names, read_bounded};
use crate::suite::identity::run_id;
use crate::yaml;

/// Makes the run id again from `config.resolved.yaml` and the digests in the manifest.
pub(super) fn check_identity(dir: &Path, manifest: &Manifest, findings: &mut Findings) -> Result<(), ValidateError> {
    let path = dir.join(names::CONFIG);
    // What is missing or a link has a finding of its own.
    if files::kind_of(&path)? != Kind::File {
        return Ok(());
    }
    let place = Place::file(names::CONFIG);
    let bytes = match read_bounded(&path, yaml::MAX_BYTES as u64) {
        Ok(bytes) => bytes,
        Err(error) => {
            findings.push(codes::IDENTITY, place, || format!("the resolved suite cannot be read: {error}"));
            return Ok(());
        }
    };
    let suite = match yaml::load_bytes(&bytes) {
        Ok(node) => node.to_value(),
        Err(error) => {
            findings.push(codes::IDENTITY, place, || format!("the resolved suite is not YAML: {error}"));
            return Ok(());
        }
    };
    let datasets: Vec<Digest> = manifest.datasets.iter().map(|dataset| dataset.digest).collect();
    match run_id(&suite, &datasets, &manifest.assets) {
        Ok(actual) if actual == manifest.run_id => {}
        Ok(actual) => {
            let recorded = manifest.run_id;
            findings.push(codes::IDENTITY, Place::file(names::MANIFEST), || {
                format!("the run id is {recorded}, but the resolved suite, the datasets and the assets give {actual}")
            });
        }
        Err(error) => findings.push(codes::IDENTITY, place, || format!("the resolved suite has no digest: {error}")),
    }
    Ok(())
}
