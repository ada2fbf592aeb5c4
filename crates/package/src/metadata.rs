//! `metadata.json`: everything in it follows from the files of the run.

use std::collections::{BTreeMap, BTreeSet};

use proofmark_artefact::manifest::{Harness, Manifest};
use proofmark_artefact::package::metadata::GitEntry;
use proofmark_artefact::package::{Allowance, Inputs, METADATA_FORMAT, METADATA_VERSION, Metadata};
use proofmark_artefact::suite::config::Format;
use proofmark_artefact::summary::Summary;
use proofmark_artefact::witness::Block;

/// What only the sealer knows.
#[derive(Debug, Clone)]
pub struct Said {
    pub allowances: Vec<Allowance>,
    pub inputs: Inputs,
    pub name: Option<String>,
    pub sealed_with: Harness,
}

/// Describes a run.
pub fn describe(manifest: &Manifest, summary: &Summary, block: &Block, said: Said) -> Metadata {
    let is_gaia = |format: &str| format == Format::Gaia.as_str();
    let gaia = manifest.datasets.iter().filter(|dataset| is_gaia(&dataset.format));
    let splits: BTreeSet<Option<&String>> = gaia.map(|dataset| dataset.split.as_ref()).collect();
    let gaia_split = match splits.into_iter().collect::<Vec<_>>()[..] {
        [Some(split)] => Some(split.clone()),
        _ => None,
    };
    let agents = manifest.tasks.iter().filter_map(|task| Some((&task.id, task.agent.as_ref()?)));
    let tools: BTreeMap<_, _> = agents.map(|(id, agent)| (id.clone(), agent.tools.clone())).collect();
    Metadata {
        allowances: said.allowances,
        answered_by: summary.answered_by.clone(),
        conditions: manifest.conditions.clone(),
        cost_usd: summary.totals.cost_usd,
        counts: summary.totals.counts,
        datasets: manifest.datasets.clone(),
        format: METADATA_FORMAT.to_owned(),
        gaia_split,
        git: GitEntry { commit: block.repo_commit.clone(), dirty: block.git_dirty },
        harness: manifest.harness.clone(),
        inputs: said.inputs,
        invoked_at: block.invoked_at.clone(),
        judges: manifest.judges.clone(),
        models: manifest.models.clone(),
        name: said.name,
        resumed: block.resumed,
        run_id: manifest.run_id,
        sampling: manifest.sampling.clone(),
        sealed_with: said.sealed_with,
        suite: manifest.name.clone(),
        tools,
        usage: summary.totals.usage,
        version: METADATA_VERSION,
        voting_attempts: manifest.sampling.voting_attempts.unwrap_or(1),
    }
}
