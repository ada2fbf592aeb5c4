//! What makes two runs the same run.

use proofmark_canon::json::EncodeError;
use proofmark_canon::{Digest, RunId, Value};
use serde::Serialize;

use crate::manifest::AssetEntry;

/// Changes when the meaning of anything below changes.
const SCHEMA: &str = "proofmark.run/1";

/// Returns the id of the run that a resolved suite describes: the digest of the suite, of the digests of
/// its datasets (in the suite's order) and of its assets. Host, path, time and harness version do not count.
///
/// Everything it takes is in a run directory: `config.resolved.yaml` and the manifest.
pub fn run_id(suite: &Value, datasets: &[Digest], assets: &[AssetEntry]) -> Result<RunId, EncodeError> {
    #[derive(Serialize)]
    struct Identity<'a> {
        assets: &'a [AssetEntry],
        datasets: &'a [Digest],
        schema: &'static str,
        suite: &'a Value,
    }
    let bytes = proofmark_canon::to_vec(&Identity { assets, datasets, schema: SCHEMA, suite })?;
    Ok(RunId::from_digest(&Digest::of(&bytes)))
}
