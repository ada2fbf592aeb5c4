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
/// Limits and prices do not count either: they change how a run goes and what it costs, not what is asked.
///
/// Everything it takes is in a run directory: `config.resolved.yaml` and the manifest.
pub fn run_id(suite: &Value, datasets: &[Digest], assets: &[AssetEntry]) -> Result<RunId, EncodeError> {
    let suite = &without_manners(suite);
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

/// Takes out what is not identity: `limits`, `judge_cache` and `audit` of the suite, `limits` and `price` of its models.
fn without_manners(suite: &Value) -> Value {
    let mut suite = suite.clone();
    if let Value::Object(members) = &mut suite {
        members.remove("limits");
        members.remove("judge_cache");
        members.remove("audit");
        for list in ["models", "judges"] {
            let Some(Value::Array(mut models)) = members.remove(list) else { continue };
            for model in &mut models {
                if let Value::Object(model) = model {
                    model.remove("limits");
                    model.remove("price");
                }
            }
            members.insert(list, models);
        }
    }
    suite
}
