//! What makes two runs the same run.

use proofmark_canon::json::EncodeError;
use proofmark_canon::{Digest, RunId};
use serde::Serialize;

use super::assets::{AssetRole, Assets, HashMode};
use super::plan::Plan;
use crate::path::RelPath;

/// Changes when the meaning of anything below changes.
const SCHEMA: &str = "proofmark.run/1";

/// Returns the id of the run that a plan describes: the digest of the resolved suite, the digests of
/// its datasets (in the suite's order) and of its assets. Host, path, time and harness version do not count.
pub fn run_id(plan: &Plan, datasets: &[Digest], assets: &Assets) -> Result<RunId, EncodeError> {
    #[derive(Serialize)]
    struct Identity<'a> {
        assets: Vec<AssetIdentity<'a>>,
        datasets: &'a [Digest],
        schema: &'static str,
        suite: &'a Plan,
    }
    #[derive(Serialize)]
    struct AssetIdentity<'a> {
        digest: Digest,
        mode: HashMode,
        path: &'a RelPath,
        role: AssetRole,
    }
    let assets = assets
        .iter()
        .map(|(role, path, asset)| AssetIdentity { digest: asset.digest, mode: asset.mode, path, role })
        .collect();
    let bytes = proofmark_canon::to_vec(&Identity { assets, datasets, schema: SCHEMA, suite: plan })?;
    Ok(RunId::from_digest(&Digest::of(&bytes)))
}
