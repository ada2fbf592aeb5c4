//! Whether the numbers of a finished run follow from its outputs.
//!
//! Every recorded output is scored again and its record made again from the suite; it must come out byte for byte.
//! So must the trajectories, the counts of the manifest, and the summary. Nothing is asked and nothing is written.
//!
//! - `pairs` records matched with the samples of the suite; `again` one record made again;
//! - `vouched` who signed the judgments that scores rest on;
//! - `earned` how agents came by their answers; `totals` what follows from all of them; `finding` what does not fit; `differ` where two JSON values differ.
//!
//! Memory does not grow with the run, apart from what is out of place.

mod again;
mod differ;
mod earned;
mod finding;
mod pairs;
#[cfg(test)]
mod tests;
mod totals;
mod vouched;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proofmark_artefact::manifest::{AssetRole, Manifest};
use proofmark_artefact::store::{LineError, OpenError, RunDir};
use proofmark_canon::json::EncodeError;
use proofmark_model::price;
use proofmark_trust::policy::Trust;
use tokio::runtime::Runtime;

pub use self::finding::{Finding, FindingKind, MAX_FINDINGS};

use self::again::{Again, Pair, score_again};
use self::earned::Earners;
use self::finding::Findings;
use self::pairs::{Pairs, Step};
use self::totals::Totals;
use self::vouched::Vouched;
use crate::prompt::PromptError;
use crate::publish::PublishError;
use crate::ready::Ready;
use crate::sample::FinishError;
use crate::source::SourceError;

/// How to score again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Start the programs of `command` scorers too. They can do anything that the user can.
    pub run_commands: bool,
}

/// What came of scoring a run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rescored {
    /// Records that were made again, whether or not they came out the same.
    pub records: u64,
    /// The first [`MAX_FINDINGS`], in the order in which they were met.
    pub findings: Vec<Finding>,
    /// All findings, kept or not.
    pub found: u64,
    /// What was not made again, and why. It counts as unchecked.
    pub not_rerun: Vec<String>,
    /// Who signed how many of the judgments that the scores rest on, of those who are believed.
    pub signers: Vec<(String, u64)>,
}

impl Rescored {
    /// Whether everything that was made again came out the same.
    pub fn holds(&self) -> bool {
        self.found == 0
    }
}

/// We could not look.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RescoreError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("cannot read `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot read `{path}`")]
    Line { path: PathBuf, source: LineError },
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Finish(#[from] FinishError),
    #[error(transparent)]
    Publish(#[from] PublishError),
    #[error("the suite has no canonical form")]
    Encode(#[from] EncodeError),
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
    #[error("a part of the check panicked; this is a bug in Proofmark")]
    Panicked,
}

/// Scores the outputs of a finished run again and compares everything that follows from them.
///
/// `ready` is the run's suite, loaded again. `trust` says whose judgments are believed. `progress` hears of samples done and of all of them.
pub fn check(
    mut ready: Ready,
    run_dir: &Path,
    options: Options,
    trust: &Trust,
    progress: &dyn Fn(u64, u64),
) -> Result<Rescored, RescoreError> {
    let dir = RunDir::open(run_dir)?;
    let manifest = dir.manifest();
    let mut findings = Findings::default();
    let mut not_rerun = Vec::new();
    take_over(&mut ready, manifest, &mut findings, &mut not_rerun)?;
    if let Err(error) = ready.use_recorded_judgments(run_dir) {
        not_rerun.push(format!("what judges said: {error}"));
        ready.recorded_judgments = Some(None);
    }
    let ready = Arc::new(ready);
    let samples = ready.samples();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(RescoreError::Runtime)?;
    let mut totals = Totals::new(&ready, &dir)?;
    let mut pairs = Pairs::open(Arc::clone(&ready), &dir)?;
    let mut earners = Earners::open(&ready, &dir)?;
    let mut vouched = Vouched::open(&ready, &dir, trust)?;
    let mut batch = Batch::default();
    progress(0, samples);
    loop {
        let step = pairs.next(&mut findings)?;
        let is_end = step.is_none();
        match step {
            Some(Step::Pair(mut pair)) => {
                if ready.is_of_agent(pair.unit.work.task) {
                    let key = pair.unit.key(&ready.plan);
                    pair.trajectories = earners.next(key.as_str());
                }
                batch.push(*pair);
            }
            Some(Step::Nothing) => continue,
            None => {}
        }
        if is_end || batch.is_full() {
            for again in batch.run(&runtime, &ready, run_dir, options)? {
                if let Some(finished) = &again.finished {
                    vouched.next(&finished.judgments, &again.key, &mut findings)?;
                }
                totals.count(again, &mut findings)?;
            }
            progress(totals.done().min(samples), samples);
        }
        if is_end {
            break;
        }
    }
    runtime.block_on(async {
        for scorer in ready.scorers.iter().flatten() {
            scorer.close().await;
        }
    });
    let signers = vouched.finish(&mut findings, &mut not_rerun)?;
    pairs.finish(&mut findings, &mut not_rerun)?;
    let records = totals.done();
    totals.finish(&ready, &dir, options, &mut findings, &mut not_rerun)?;
    Ok(Rescored { records, found: findings.found, findings: findings.kept, not_rerun, signers })
}

/// Takes over from the manifest what the suite alone does not give, and says where the two part.
fn take_over(
    ready: &mut Ready,
    manifest: &Manifest,
    findings: &mut Findings,
    not_rerun: &mut Vec<String>,
) -> Result<(), RescoreError> {
    for (at, (price, recorded)) in ready.prices.iter_mut().zip(&manifest.models).enumerate() {
        let as_of = recorded.price.as_ref().and_then(|price| price.as_of.as_deref());
        let is_our_table = manifest.harness.version == env!("CARGO_PKG_VERSION") || as_of == Some(price::AS_OF);
        // List prices change with the version; those of the run are what its costs were computed with.
        if ready.plan.models[at].price.is_none() && *price != recorded.price && !is_our_table {
            price.clone_from(&recorded.price);
            let model = &ready.plan.models[at].id;
            not_rerun
                .push(format!("the price of model `{model}`: this version lists another one; the manifest's was used"));
        }
    }
    let outputs: Vec<_> = manifest.assets.iter().filter(|asset| asset.role == AssetRole::Outputs).cloned().collect();
    if !outputs.is_empty() {
        ready.add_outputs(outputs)?;
        not_rerun.push(
            "whether the answers are those of the scored outputs: the answers of the records were used".to_owned(),
        );
    }
    // What agents were told of their tools is what the manifest says: no server is started to ask it.
    ready.use_catalogues(manifest)?;
    if ready.run_id != manifest.run_id {
        findings.push(Finding {
            field: Some("run_id".to_owned()),
            recorded: Some(manifest.run_id.to_string()),
            computed: Some(ready.run_id.to_string()),
            ..Finding::new(
                FindingKind::OtherSuite,
                proofmark_artefact::store::names::MANIFEST,
                "the suite, a dataset or an asset is not the one of this run",
            )
        });
        // Said once; what follows is compared as if it were so.
        ready.run_id = manifest.run_id;
    }
    Ok(())
}

/// Records that are made again at the same time.
#[derive(Default)]
struct Batch {
    pairs: Vec<Pair>,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, pair: Pair) {
        self.bytes += pair.line.len();
        self.pairs.push(pair);
    }

    fn is_full(&self) -> bool {
        const MOST: usize = 512;
        const MOST_BYTES: usize = 8 << 20;
        self.pairs.len() >= MOST || self.bytes >= MOST_BYTES
    }

    /// Makes all of them again and gives them back in order.
    fn run(
        &mut self,
        runtime: &Runtime,
        ready: &Arc<Ready>,
        run_dir: &Path,
        options: Options,
    ) -> Result<Vec<Again>, RescoreError> {
        self.bytes = 0;
        let pairs = std::mem::take(&mut self.pairs);
        let under_way: Vec<_> = pairs
            .into_iter()
            .map(|pair| {
                let (ready, run_dir) = (Arc::clone(ready), run_dir.to_owned());
                runtime.spawn(async move { score_again(&ready, &run_dir, pair, options).await })
            })
            .collect();
        runtime.block_on(async {
            let mut all = Vec::with_capacity(under_way.len());
            for one in under_way {
                all.push(one.await.map_err(|_| RescoreError::Panicked)??);
            }
            Ok(all)
        })
    }
}
