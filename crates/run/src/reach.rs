//! What agents and models must not reach: the files that hold the gold answers.
//!
//! A tool sees the item's attachments, and a server of the suite the files that it names. Neither may be the dataset or
//! the suite, under whatever name: a link and a copy hold the same answers.

use std::collections::BTreeSet;
use std::path::Path;

use proofmark_artefact::store::digest_file;
use proofmark_artefact::suite::plan::Plan;
use proofmark_artefact::suite::solver::AgentToolPlan;
use proofmark_canon::Digest;

use crate::attach::Attachments;
use crate::dataset::Prepared;

/// A file with gold answers would be handed to those who are asked for them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{by} `{path}`, which holds the gold answers")]
pub struct GoldInReach {
    by: String,
    path: String,
}

impl GoldInReach {
    pub fn hint(&self) -> &'static str {
        "keep what a model may see in files of its own"
    }
}

/// Fails when the gold answers of a suite are among the files that it hands out.
pub(crate) fn check(
    plan: &Plan,
    suite: &Path,
    root: &Path,
    datasets: &[Prepared],
    attachments: &Attachments,
) -> Result<(), GoldInReach> {
    let mut gold: BTreeSet<Digest> =
        datasets.iter().flat_map(|dataset| &dataset.files).map(|file| file.digest).collect();
    // Rows may stand in the suite itself.
    gold.extend(digest_file(suite).ok().map(|(digest, _)| digest));
    if let Some(entry) = attachments.entries().find(|entry| gold.contains(&entry.digest)) {
        return Err(GoldInReach { by: "a row attaches".to_owned(), path: entry.path });
    }
    for task in &plan.tasks {
        for tool in task.solver.iter().flat_map(|solver| solver.tools()) {
            let AgentToolPlan::Mcp { name, files, .. } = tool else { continue };
            // One that cannot be read is refused where the server is started.
            let is_gold = |path: &Path| digest_file(path).is_ok_and(|(digest, _)| gold.contains(&digest));
            if let Some(path) = files.iter().find(|path| is_gold(&path.under(root))) {
                let by = format!("task `{}` gives its server `{name}` the file", task.id);
                return Err(GoldInReach { by, path: path.to_string() });
            }
        }
    }
    Ok(())
}
