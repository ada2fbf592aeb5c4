//! A block out of what a commit says of a run.

use std::collections::BTreeMap;

use proofmark_canon::Digest;
use proofmark_canon::id::rfc3339;

use super::snapshot::Commit;
use crate::manifest::{AssetEntry, DatasetEntry, HashMode};
use crate::suite::plan::Plan;
use crate::witness::block::{Block, Conditions, HubFile, Kind, ModelEntry, REPLAY_SCHEMA, Role, Sampling, SuiteEntry};
use crate::witness::build::inputs;
use crate::witness::place::Ground;

/// What can be known of a run that left no witness.
#[derive(Debug)]
pub struct Reconstructed<'a> {
    pub commit: &'a Commit,
    pub kind: Kind,
    pub plan: &'a Plan,
    pub ground: &'a Ground,
    /// The structured digest of the suite.
    pub suite: Digest,
    pub datasets: Vec<DatasetEntry>,
    /// By dataset: the files of one of the hub, empty for any other.
    pub hub_files: Vec<Vec<HubFile>>,
    /// Attachments first, then what the suite names, as in a manifest.
    pub assets: Vec<AssetEntry>,
    pub programs: Vec<(Role, String, Digest)>,
    /// The conditions that a manifest beside the report says were scored; otherwise those of the suite.
    pub effective: Option<Vec<String>>,
    pub artifacts: BTreeMap<String, Digest>,
}

/// What nobody wrote down.
pub const UNKNOWN: &str = "unknown";
const NOT_SUBMITTABLE: &str = "the block was backfilled: nothing was recorded while the run was made";

/// Builds a block that says it was backfilled. The same facts give the same block, whenever and wherever.
pub fn build(facts: Reconstructed<'_>) -> Block {
    let Reconstructed { commit, plan, ground, .. } = facts;
    let suite = SuiteEntry { hash: facts.suite, mode: HashMode::Structured, path: ground.suite_path() };
    let requested: Vec<String> = plan.conditions.iter().map(|condition| condition.id.clone()).collect();
    let models = plan.models.iter().map(|model| ModelEntry {
        answered_by: Vec::new(),
        asked: model.command.as_ref().and_then(|command| command.model.clone()),
        base_url: None,
        id: model.id.clone(),
        model: model.model.clone(),
        program: None,
        provider: model.provider().to_owned(),
        provider_request_ids: Vec::new(),
        version: None,
    });
    Block {
        argv: Vec::new(),
        artifacts: facts.artifacts,
        backfilled: true,
        conditions: Conditions { effective: facts.effective.unwrap_or_else(|| requested.clone()), requested },
        // A commit does not say what the work tree was like when the run was made.
        git_dirty: None,
        inputs: inputs(
            facts.kind,
            &suite,
            &|path| ground.path_of(path),
            None,
            (&facts.datasets, &facts.assets),
            (&facts.hub_files, &[]),
            &facts.programs,
        ),
        invocations: Vec::new(),
        invoked_at: rfc3339(commit.committed_at * 1000),
        judge_cache_integrity_events: Vec::new(),
        kind: facts.kind,
        models: models.collect(),
        not_submittable: vec![NOT_SUBMITTABLE.to_owned()],
        platform: UNKNOWN.to_owned(),
        // Of whatever made the report. Our own version here would change the bytes with every release.
        proofmark_version: UNKNOWN.to_owned(),
        repo_commit: Some(commit.id.clone()),
        resumed: false,
        root: ground.root_from_run_dir(),
        root_in_repo: ground.root_in_repo(),
        run_id: None,
        sampling: Sampling { n: plan.sampling.n, seed: None, temperature: None },
        schema_version: REPLAY_SCHEMA,
        submittable: false,
        suite,
        toolchain: UNKNOWN.to_owned(),
    }
}
