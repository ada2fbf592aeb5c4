//! Asks, scores and records every sample of a run.
//!
//! Everyone who asks takes the next sample of the plan, asks the model, journals the answer, scores
//! it and hands the finished record to the collector, which puts records back in order. At most
//! [`WINDOW`] samples are between the oldest unfinished one and the newest.

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use proofmark_artefact::manifest::{Manifest, Platform};
use proofmark_artefact::store::{Claim, ClaimError, OnExisting, OpenError, RunDir};
use proofmark_artefact::summary::Summary;
use proofmark_canon::RunId;
use proofmark_model::{Ask, Hint};
use tokio::sync::{Semaphore, watch};

use crate::collect::{CollectError, Collector, Finished, Observer};
use crate::journal::{Entry, Journal, JournalError};
use crate::outputs::{self, StoreError};
use crate::prompt::PromptError;
use crate::publish::{PublishError, draft_manifest, publish};
use crate::ready::Ready;
use crate::resume::{self, ResumeError};
use crate::sample::{RecordError, finish_sample};
use crate::source::{Source, SourceError, Unit};

/// How far the newest sample may be ahead of the oldest unfinished one.
const WINDOW: usize = 1 << 18;
/// Finished samples that may wait for the collector.
const QUEUE: usize = 2048;

/// How to run.
pub struct Options {
    pub run_dir: PathBuf,
    pub on_existing: OnExisting,
    /// Questions under way at once.
    pub concurrency: usize,
    /// Leave `report.html` out.
    pub skip_report: bool,
    /// Of the harness, for the manifest.
    pub version: String,
    /// Recorded only when the suite turns deterministic artefacts off.
    pub platform: Platform,
    /// Turns true when the run should stop where it is; it can be resumed.
    pub stop: watch::Receiver<bool>,
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    pub run_dir: PathBuf,
    pub manifest: Manifest,
    pub summary: Summary,
    /// Samples whose answers were already in the journal.
    pub resumed: u64,
    /// Whether the directory held the finished run already and nothing was done.
    pub was_complete: bool,
}

/// A run did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    #[error(transparent)]
    Claim(#[from] ClaimError),
    #[error(transparent)]
    Resume(#[from] ResumeError),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("cannot write the journal")]
    Append(#[source] std::io::Error),
    #[error(transparent)]
    Output(#[from] StoreError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Collect(#[from] CollectError),
    #[error(transparent)]
    Publish(#[from] PublishError),
    #[error("cannot read the finished run")]
    Finished(#[source] OpenError),
    #[error("`{dir}` holds the finished run {found}, but the suite now gives {expected}")]
    OtherFinished { dir: PathBuf, found: RunId, expected: RunId },
    #[error("cannot start the runtime")]
    Runtime(#[source] std::io::Error),
    #[error(transparent)]
    Stop(proofmark_model::Stop),
    #[error("interrupted after {done} of {samples} samples")]
    Interrupted { done: u64, samples: u64 },
    #[error("a part of the run panicked; this is a bug in Proofmark")]
    Panicked,
}

/// Runs a suite into a run directory.
pub fn run(ready: Ready, options: Options, observer: Box<dyn Observer>) -> Result<Outcome, RunError> {
    let claim = Claim::take(&options.run_dir, options.on_existing)?;
    if options.on_existing == OnExisting::Resume && claim.is_finished() {
        return already_complete(&ready, claim);
    }
    let state = resume::open(&ready, &claim)?;
    let resumed = state.done.count;
    let ready = Arc::new(ready);
    let replay = resume::replay(&ready, &state)?;
    // Opened last: it cuts off a torn end, and a run that is refused must stay as it is.
    let journal =
        Journal::open(&state.journal_path, ready.run_id, state.done.valid_length).map_err(RunError::Append)?;
    let source = Source::new(Arc::clone(&ready), state.done, Some(replay));

    let window = Arc::new(Semaphore::new(WINDOW));
    let (sender, receiver) = sync_channel(QUEUE);
    let sync = journal.sync_handle().map_err(RunError::Append)?;
    let collector = Collector::new(&ready, &claim, sync, Arc::clone(&window), observer, !options.skip_report)?;
    let collecting = std::thread::Builder::new().name("collect".to_owned()).spawn(move || collector.collect(&receiver));
    let collecting = collecting.map_err(RunError::Runtime)?;

    let shared = Arc::new(Shared {
        ready: Arc::clone(&ready),
        run_dir: options.run_dir.clone(),
        source: Mutex::new(source),
        journal,
        window,
        failure: Mutex::new(None),
        stop: options.stop,
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(RunError::Runtime)?;
    runtime.block_on(ask_all(&shared, sender, options.concurrency));
    runtime.block_on(async {
        for scorer in ready.scorers.iter().flatten() {
            scorer.close().await;
        }
    });
    let collected = collecting.join().map_err(|_| RunError::Panicked)??;
    if let Some(failure) = shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(failure);
    }
    let samples = ready.samples();
    if collected.done < samples {
        return Err(RunError::Interrupted { done: collected.done, samples });
    }
    let draft = draft_manifest(&ready, &options.version, &options.platform);
    let (manifest, summary) = publish(&ready, &claim, draft, collected)?;
    claim.finish().map_err(|source| PublishError::io(&options.run_dir, source))?;
    Ok(Outcome { run_dir: options.run_dir, manifest, summary, resumed, was_complete: false })
}

fn already_complete(ready: &Ready, claim: Claim) -> Result<Outcome, RunError> {
    let dir = RunDir::open(claim.dir()).map_err(RunError::Finished)?;
    let (found, expected) = (dir.manifest().run_id, ready.run_id);
    let path = claim.dir().to_owned();
    claim.finish().map_err(|source| PublishError::io(&path, source))?;
    if found != expected {
        return Err(RunError::OtherFinished { dir: path, found, expected });
    }
    let summary = dir.read_json(proofmark_artefact::store::names::SUMMARY).map_err(RunError::Finished)?;
    let manifest = dir.manifest().clone();
    let resumed = manifest.record_count;
    Ok(Outcome { run_dir: path, manifest, summary, resumed, was_complete: true })
}

/// What everyone who asks has in common.
struct Shared {
    ready: Arc<Ready>,
    run_dir: PathBuf,
    source: Mutex<Source>,
    journal: Journal,
    window: Arc<Semaphore>,
    /// The first thing that went wrong; everyone stops then.
    failure: Mutex<Option<RunError>>,
    stop: watch::Receiver<bool>,
}

async fn ask_all(shared: &Arc<Shared>, sender: SyncSender<Finished>, concurrency: usize) {
    let workers: Vec<_> = (0..concurrency.max(1))
        .map(|_| {
            let (shared, sender) = (Arc::clone(shared), sender.clone());
            tokio::spawn(async move {
                if let Err(error) = work(&shared, &sender).await {
                    shared.fail(error);
                }
            })
        })
        .collect();
    drop(sender);
    for worker in workers {
        if worker.await.is_err() {
            shared.fail(RunError::Panicked);
        }
    }
}

/// Takes samples until there are none left.
async fn work(shared: &Shared, sender: &SyncSender<Finished>) -> Result<(), RunError> {
    let mut stop = shared.stop.clone();
    loop {
        if *stop.borrow() || shared.has_failed() {
            return Ok(());
        }
        // The place is taken before the sample, so the oldest sample always has one: no deadlock.
        tokio::select! {
            biased;
            permit = shared.window.acquire() => match permit {
                Ok(permit) => permit.forget(),
                Err(_) => return Ok(()),
            },
            _ = stop.changed() => return Ok(()),
        }
        let unit = shared.source.lock().unwrap_or_else(PoisonError::into_inner).next_unit()?;
        let Some(unit) = unit else { return Ok(()) };
        let Some(finished) = answer(shared, unit, &mut stop).await? else { return Ok(()) };
        if sender.send(finished).is_err() {
            // The collector has given up; it says why.
            return Ok(());
        }
    }
}

/// Gets the answer to one sample and scores it. `None` when the run is stopped meanwhile.
async fn answer(shared: &Shared, unit: Unit, stop: &mut watch::Receiver<bool>) -> Result<Option<Finished>, RunError> {
    let ready = &shared.ready;
    let key = unit.key(&ready.plan);
    let (request, fingerprint) = unit.request(ready, &key)?;
    if let Some(journalled) = unit.journalled {
        // Checked when the run was resumed; a file changed since then must not slip through.
        if journalled.fingerprint != fingerprint {
            let (ordinal, recorded) = (unit.ordinal, journalled.fingerprint);
            let key = key.to_string();
            return Err(JournalError::OtherInput { key, ordinal, recorded, actual: fingerprint }.into());
        }
        let unit = Unit { journalled: None, ..unit };
        let run_dir = &shared.run_dir;
        return Ok(Some(finish_sample(ready, run_dir, &unit, key, &request, fingerprint, journalled.reply).await?));
    }
    let item = &unit.work.item;
    let hint = Hint {
        key: key.as_str(),
        ordinal: unit.ordinal,
        item_id: &item.id,
        item_index: item.index,
        sample: unit.sample,
        expected: &item.expected,
        choices: item.choices.as_deref(),
    };
    let ask = Ask { request: &request, hint, log: &NoLog };
    let asked = tokio::select! {
        biased;
        asked = ready.models[unit.model].ask(ask) => asked.map_err(RunError::Stop)?,
        _ = stop.changed() => return Ok(None),
    };
    // Stored before it is journalled: what the journal names is there.
    outputs::store(&shared.run_dir, &asked.blobs)?;
    let reply = asked.reply;
    // Journalled before it is scored: an answer that came is never asked for again.
    let entry = Entry { fingerprint, ordinal: unit.ordinal, reply };
    shared.journal.append(&entry).map_err(RunError::Append)?;
    Ok(Some(finish_sample(ready, &shared.run_dir, &unit, key, &request, fingerprint, entry.reply).await?))
}

struct NoLog;

impl proofmark_model::AttemptLog for NoLog {
    fn attempt(&self, _: &proofmark_artefact::telemetry::Attempt) {}
}

impl Shared {
    fn fail(&self, error: RunError) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        // Wakes everyone who waits for a place in the window.
        self.window.close();
    }

    fn has_failed(&self) -> bool {
        self.window.is_closed()
    }
}
