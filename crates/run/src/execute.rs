//! Asks, scores and records every sample of a run.
//!
//! Everyone who asks takes the next sample of their lane, asks the model, journals the answer, scores
//! it and hands the finished record to the collector, which puts records back in order. At most
//! [`WINDOW`] samples are between the oldest unfinished one and the newest.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use proofmark_artefact::manifest::{Manifest, Platform};
use proofmark_artefact::store::{Claim, ClaimError, OnExisting, OpenError, RunDir, names};
use proofmark_artefact::summary::Summary;
use proofmark_artefact::telemetry::Attempt;
use proofmark_artefact::witness::Sidecar;
use proofmark_canon::{Digest, RunId, SampleKey, Value};
use proofmark_model::{Ask, AttemptLog, Class, Reply, Request, Stop};
use tokio::sync::{Semaphore, watch};

use crate::agent::Sample;
use crate::attach::AttachError;
use crate::begin::Beginning;
use crate::budget::{Budget, Purse, Spent};
use crate::collect::{CollectError, Collector, Finished, Observer};
use crate::evidence::Keeper;
use crate::journal::{Entry, Journal, JournalError};
use crate::judge::{Desk, JudgedFile, JudgmentsError, RecordedDesk, RunDesk, Shelf};
use crate::lanes::{Lanes, Pulled};
use crate::outputs::{self, StoreError};
use crate::prompt::PromptError;
use crate::publish::{PublishError, draft_manifest, publish};
use crate::ready::{AgentError, Ready};
use crate::resume::{self, ResumeError};
use crate::sample::{Came, FinishError, Programs, RecordError, Scoring, finish_sample};
use crate::source::{Source, SourceError, Unit};
use crate::telemetry::Telemetry;
use crate::witness::{Invocation, Witness};

/// How far the newest sample may be ahead of the oldest unfinished one.
pub(crate) const WINDOW: usize = 1 << 18;
/// The same when there is more than one lane: samples of a slow one wait in memory.
const WINDOW_OF_LANES: usize = 1 << 15;
/// Questions at once to models that say nothing about it.
const DEFAULT_CONCURRENCY: usize = 16;
/// How long questions under way may go on when the time is up.
const GRACE: Duration = Duration::from_secs(30);
/// How often it is looked whether they still are.
const LOOK: Duration = Duration::from_millis(20);
/// How long they may go on when the run has failed: what was paid for should still count, but nobody waits out a pause.
const GRACE_AFTER_FAILURE: Duration = Duration::from_secs(10);
/// Finished samples that may wait for the collector. There is room for all of them from the start, so they are boxed.
const QUEUE: usize = 8192;

/// How to run.
pub struct Options {
    pub run_dir: PathBuf,
    pub on_existing: OnExisting,
    /// Questions under way at once, of each endpoint; `None` for what the models think best.
    pub concurrency: Option<usize>,
    pub budget: Budget,
    /// Leave `report.html` out.
    pub skip_report: bool,
    /// Of the harness, for the manifest.
    pub version: String,
    /// For the witness, and for the manifest when the suite turns deterministic artefacts off.
    pub platform: Platform,
    /// For the witness.
    pub invocation: Invocation,
    /// Where judgments are kept beyond the run.
    pub shelf: Arc<dyn Shelf>,
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
    /// Whether the suite or the user wanted evidence; the manifest says whether it was recorded.
    pub wants_evidence: bool,
    /// Why the run cannot be submitted; empty when it can.
    pub not_submittable: Vec<String>,
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
    #[error("{}", stop.message)]
    Stopped { stop: Stop, done: u64, samples: u64 },
    #[error("stopped after {done} of {samples} samples: {spent}")]
    Budget { spent: Spent, done: u64, samples: u64 },
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error("cannot write the telemetry")]
    Telemetry(#[source] std::io::Error),
    #[error("cannot note that the run was started")]
    Witness(#[source] std::io::Error),
    #[error("interrupted after {done} of {samples} samples")]
    Interrupted { done: u64, samples: u64 },
    #[error(transparent)]
    Judgments(#[from] JudgmentsError),
    #[error("cannot write down a judgment")]
    Judged(#[source] std::io::Error),
    #[error("a part of the run panicked; this is a bug in Proofmark")]
    Panicked,
}

/// Runs a suite into a run directory.
pub fn run(ready: Ready, options: Options, observer: Box<dyn Observer>) -> Result<Outcome, RunError> {
    let judges = ready.judges.iter().map(|judge| &judge.model).filter(|_| ready.recorded_judgments.is_none());
    for model in ready.models.iter().chain(judges) {
        model.check_ready().map_err(|stop| RunError::Stopped { stop, done: 0, samples: ready.samples() })?;
    }
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = threads(&ready) {
        runtime.worker_threads(threads);
    }
    let runtime = runtime.enable_all().build().map_err(RunError::Runtime)?;
    let mut ready = ready;
    runtime.block_on(ready.start_agents(&options.run_dir))?;
    let judged_at = options.invocation.invoked_at.clone();
    let claim = Claim::take(&options.run_dir, options.on_existing)?;
    if options.on_existing == OnExisting::Resume && claim.is_finished() {
        let Options { run_dir, invocation, version, platform, .. } = options;
        let witness = Witness::new(&ready, &run_dir, invocation, &version, &platform);
        return already_complete(&ready, claim, &witness);
    }
    let state = resume::open(&ready, &claim)?;
    let resumed = state.done.count;
    let ready = Arc::new(ready);
    let replay = resume::replay(&ready, &state)?;
    // Opened last: it cuts off a torn end, and a run that is refused must stay as it is.
    let telemetry = Arc::new(Telemetry::open(&claim).map_err(RunError::Telemetry)?);
    let beginning = Beginning::start(&ready, &claim, options.invocation, &options.version, &options.platform);
    let beginning = beginning.map_err(RunError::Witness)?;
    let (valid_length, begun) = (state.done.valid_length, beginning.begun());
    let journal = Journal::open(&state.journal_path, ready.run_id, valid_length, Arc::clone(&telemetry), begun.clone());
    let journal = Arc::new(journal.map_err(RunError::Append)?);
    let source = Source::new(Arc::clone(&ready), state.done, Some(replay));
    let judged = JudgedFile::open(&claim, ready.run_id)?;
    let keeper = ready.plan.evidence.full_bodies.then(|| {
        Keeper::open(&claim.dir().join(names::BODIES), &claim.work_file(names::EVIDENCE)).map_err(RunError::Append)
    });
    let keeper = keeper.transpose()?;
    let (of_model, workers) = lanes(&ready, options.concurrency);
    let window = Arc::new(Semaphore::new(if workers.len() > 1 { WINDOW_OF_LANES } else { WINDOW }));
    let (sender, receiver) = sync_channel(QUEUE);
    let collector =
        Collector::new(&ready, &claim, Arc::clone(&journal), Arc::clone(&window), observer, !options.skip_report)?;
    let collecting = std::thread::Builder::new().name("collect".to_owned()).spawn(move || collector.collect(&receiver));
    let collecting = collecting.map_err(RunError::Runtime)?;

    let shared = Arc::new(Shared {
        ready: Arc::clone(&ready),
        // A dead endpoint among given answers is history.
        is_alone: workers.len() == 1 && !ready.is_given(),
        lanes: Lanes::new(source, of_model),
        run_dir: options.run_dir.clone(),
        journal,
        telemetry,
        judged,
        shelf: options.shelf,
        judged_at,
        keeper,
        purse: Purse::new(options.budget, ready.prices.iter().chain(&ready.judge_prices).cloned().collect()),
        window,
        failure: Mutex::new(None),
        failed: watch::channel(false).0,
        stop: options.stop,
    });
    // What a question leaves on this machine must not look like a change that was there before. When the start cannot be
    // noted, nobody has to be asked.
    if ready.asks_elsewhere() || runtime.block_on(begun.wait()).is_ok() {
        runtime.block_on(ask_all(&shared, sender, &workers, options.budget.time));
    } else {
        // The collector ends with it.
        drop(sender);
    }
    let witness = beginning.finish();
    collecting.thread().unpark();
    runtime.block_on(async {
        for scorer in ready.scorers.iter().flatten() {
            scorer.close().await;
        }
    });
    let collected = collecting.join().map_err(|_| RunError::Panicked)??;
    let witness = witness?;
    let samples = ready.samples();
    if let Some(error) = shared.telemetry.take_failure() {
        return Err(RunError::Telemetry(error));
    }
    if let Some(error) = shared.judged.take_failure() {
        return Err(RunError::Judged(error));
    }
    if let Some(failure) = shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(match failure {
            RunError::Stopped { stop, .. } => RunError::Stopped { stop, done: collected.done, samples },
            RunError::Budget { spent, .. } if collected.done < samples => {
                RunError::Budget { spent, done: collected.done, samples }
            }
            other => other,
        });
    }
    if collected.done < samples {
        return Err(RunError::Interrupted { done: collected.done, samples });
    }
    let draft = draft_manifest(&ready, &options.version, &options.platform);
    // Closing connections takes a moment, too. The tools of agents need it to the end.
    let mut runtime = Some(runtime);
    let closing = runtime.take_if(|_| !ready.has_agents());
    let hung_up = Arc::clone(&ready);
    let closing = closing.and_then(|runtime| {
        let close = move || {
            let judges = hung_up.judges.iter().map(|judge| &judge.model);
            hung_up.models.iter().chain(judges).for_each(|model| model.hang_up());
            drop(runtime);
        };
        std::thread::Builder::new().spawn(close).ok()
    });
    let (published, settled) = std::thread::scope(|scope| {
        let settled = scope.spawn(|| shared.telemetry.settle(claim.dir()));
        (publish(&ready, &claim, draft, collected), settled.join())
    });
    let ((manifest, summary), settled) = (published?, settled.map_err(|_| RunError::Panicked)??);
    shared.telemetry.publish(claim.dir()).map_err(RunError::Telemetry)?;
    let not_submittable = witness.publish(&claim, &manifest, &summary, resumed > 0, settled.as_ref())?;
    if let Some(closing) = closing {
        closing.join().map_err(|_| RunError::Panicked)?;
    }
    claim.finish().map_err(|source| PublishError::io(&options.run_dir, source))?;
    let wants_evidence = ready.plan.evidence.record;
    Ok(Outcome {
        run_dir: options.run_dir,
        wants_evidence,
        manifest,
        summary,
        resumed,
        not_submittable,
        was_complete: false,
    })
}

fn already_complete(ready: &Ready, claim: Claim, witness: &Witness) -> Result<Outcome, RunError> {
    let dir = RunDir::open(claim.dir()).map_err(RunError::Finished)?;
    let (found, expected) = (dir.manifest().run_id, ready.run_id);
    let (path, manifest) = (claim.dir().to_owned(), dir.manifest().clone());
    // Killed between the manifest and the witness: what is left to do is to write it.
    let lacks_witness = claim.work_file(names::WORK_HEADER).exists() && !dir.file(names::REPLAY).exists();
    if found == expected && lacks_witness {
        let summary = dir.read_json(names::SUMMARY).map_err(RunError::Finished)?;
        witness.note_start(&Witness::starts_of(&claim)).map_err(RunError::Witness)?;
        let telemetry = Telemetry::open(&claim).map_err(RunError::Telemetry)?;
        let settled = telemetry.settle(claim.dir())?;
        telemetry.publish(claim.dir()).map_err(RunError::Telemetry)?;
        witness.publish(&claim, &manifest, &summary, true, settled.as_ref())?;
    }
    claim.finish().map_err(|source| PublishError::io(&path, source))?;
    if found != expected {
        return Err(RunError::OtherFinished { dir: path, found, expected });
    }
    let summary = dir.read_json(names::SUMMARY).map_err(RunError::Finished)?;
    let resumed = manifest.record_count;
    let not_submittable = if dir.file(names::REPLAY).exists() {
        let path = dir.file(names::REPLAY);
        let sidecar = Sidecar::read(&path).map_err(RunError::Finished)?;
        let sidecar = sidecar.parse().map_err(|source| RunError::Finished(OpenError::NotJson { path, source }))?;
        let reasons = sidecar.get("not_submittable").and_then(Value::as_array).unwrap_or_default();
        reasons.iter().map(Value::to_plain_text).collect()
    } else {
        vec!["the run has no witness".to_owned()]
    };
    let wants_evidence = ready.plan.evidence.record;
    Ok(Outcome { run_dir: path, wants_evidence, manifest, summary, resumed, not_submittable, was_complete: true })
}

/// How many threads ask, when it is not one for every core. Answers that come over the network and are short need little:
/// one thread takes 20,000 of them a second, and two that share the work spend a tenth of it on waking each other.
fn threads(ready: &Ready) -> Option<usize> {
    let is_light = ready.asks_elsewhere() && ready.plan.models.iter().all(|model| !model.makes_images());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    is_light.then_some(cores.div_ceil(2))
}

/// Which lane each model is in, and how many ask in each lane.
fn lanes(ready: &Ready, concurrency: Option<usize>) -> (Vec<usize>, Vec<usize>) {
    let mut names: Vec<&str> = Vec::new();
    let mut workers: Vec<usize> = Vec::new();
    let mut of_model = Vec::new();
    for model in &ready.models {
        let lane = names.iter().position(|name| *name == model.lane()).unwrap_or_else(|| {
            names.push(model.lane());
            workers.push(1);
            names.len() - 1
        });
        let most = model.max_in_flight().unwrap_or(usize::MAX);
        let wanted = concurrency.or(model.max_in_flight()).unwrap_or(DEFAULT_CONCURRENCY);
        workers[lane] = workers[lane].max(wanted.min(most));
        of_model.push(lane);
    }
    (of_model, workers)
}

/// What everyone who asks has in common.
struct Shared {
    ready: Arc<Ready>,
    lanes: Lanes,
    /// There is one lane: when its endpoint is dead, nothing is left to do.
    is_alone: bool,
    run_dir: PathBuf,
    journal: Arc<Journal>,
    telemetry: Arc<Telemetry>,
    judged: JudgedFile,
    shelf: Arc<dyn Shelf>,
    judged_at: String,
    /// Keeps whole bodies, when the suite wants them.
    keeper: Option<Keeper>,
    purse: Purse,
    window: Arc<Semaphore>,
    /// The first thing that went wrong; everyone stops then.
    failure: Mutex<Option<RunError>>,
    /// Turns true with a failure that is more than a spent budget.
    failed: watch::Sender<bool>,
    stop: watch::Receiver<bool>,
}

async fn ask_all(shared: &Arc<Shared>, sender: SyncSender<Box<Finished>>, lanes: &[usize], time: Option<Duration>) {
    let numbered = lanes.iter().enumerate().flat_map(|(lane, workers)| (0..(*workers).max(1)).map(move |_| lane));
    let mut workers: Vec<_> = numbered
        .map(|lane| {
            let (shared, sender) = (Arc::clone(shared), sender.clone());
            tokio::spawn(async move {
                if let Err(error) = work(&shared, lane, &sender).await {
                    shared.fail(error);
                }
            })
        })
        .collect();
    drop(sender);
    let all = async {
        for worker in &mut workers {
            if worker.await.is_err() {
                shared.fail(RunError::Panicked);
            }
        }
    };
    match time {
        None => all.await,
        Some(time) => {
            if tokio::time::timeout(time + GRACE, all).await.is_err() {
                let (done, samples) = (0, 0);
                shared.fail(RunError::Budget { spent: Spent::Time { most: time }, done, samples });
                workers.iter().for_each(tokio::task::JoinHandle::abort);
            }
        }
    }
}

/// Takes samples of a lane until there are none left.
async fn work(shared: &Shared, lane: usize, sender: &SyncSender<Box<Finished>>) -> Result<(), RunError> {
    let mut stop = shared.stop.clone();
    // One for all questions: to begin to listen costs more than to go on.
    let mut halted = std::pin::pin!(shared.halted());
    loop {
        if *stop.borrow() || shared.has_failed() {
            return Ok(());
        }
        let unit = match shared.lanes.pop(lane) {
            Some(unit) => unit,
            None => {
                // The place is taken before the sample, so the oldest sample always has one: no deadlock.
                tokio::select! {
                    biased;
                    permit = shared.window.acquire() => match permit {
                        Ok(permit) => permit.forget(),
                        Err(_) => return Ok(()),
                    },
                    () = shared.lanes.arrived(lane) => continue,
                    _ = stop.changed() => return Ok(()),
                }
                match shared.lanes.pull(lane)? {
                    Pulled::Mine(unit) => *unit,
                    Pulled::Others => continue,
                    Pulled::End => {
                        shared.window.add_permits(1);
                        // Nothing can arrive any more; what did so meanwhile is still to be asked.
                        match shared.lanes.pop(lane) {
                            Some(unit) => unit,
                            None => return Ok(()),
                        }
                    }
                }
            }
        };
        let Some(finished) = answer(shared, unit, halted.as_mut()).await? else { return Ok(()) };
        if sender.send(Box::new(finished)).is_err() {
            // The collector has given up; it says why.
            return Ok(());
        }
    }
}

/// Gets the answer to one sample and scores it. `None` when the run is stopped meanwhile.
async fn answer(
    shared: &Shared,
    unit: Unit,
    mut halted: Pin<&mut impl Future<Output = ()>>,
) -> Result<Option<Finished>, RunError> {
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
        shared.purse.note(unit.model, journalled.reply.usage(), journalled.reply.is_answer());
        return finish(shared, &unit, key, &request, fingerprint, journalled.came(), halted).await;
    }
    let (done, samples) = (0, 0);
    // It stays open until the answer is judged, too.
    let _open = tokio::select! {
        biased;
        open = shared.purse.open(unit.model) => open.map_err(|spent| RunError::Budget { spent, done, samples })?,
        () = halted.as_mut() => return Ok(None),
    };
    if shared.has_failed() {
        return Ok(None);
    }
    let mut request = request;
    let files = unit.work.files(ready)?;
    let hint = unit.hint(&key);
    let stopped = |stop| RunError::Stopped { stop, done, samples };
    let log = Watched { telemetry: &shared.telemetry, is_under_way: AtomicBool::new(false) };
    let Came { reply, earned } = if let Some(agent) = &ready.agents[unit.work.task] {
        let errand = Sample { ready, agent, unit: &unit, request: &request, files, hint, log: &log };
        let earned = tokio::select! {
            biased;
            earned = errand.earn(shared.keeper.as_ref()) => earned.map_err(stopped)?,
            () = halted.as_mut() => return Ok(None),
            most = shared.is_late(&log) => return Err(RunError::Budget { spent: Spent::Time { most }, done, samples }),
        };
        Came { reply: earned.reply(), earned: Some(earned) }
    } else {
        request.files = files;
        let ask = Ask { request: &request, hint, log: &log };
        let asked = tokio::select! {
            biased;
            asked = ready.models[unit.model].ask(ask) => asked.map_err(stopped)?,
            () = halted.as_mut() => return Ok(None),
            most = shared.is_late(&log) => return Err(RunError::Budget { spent: Spent::Time { most }, done, samples }),
        };
        // Stored before it is journalled: what the journal names is there.
        outputs::store(&shared.run_dir, &asked.blobs)?;
        if let Some(keeper) = &shared.keeper {
            request.messages.iter().for_each(|message| keeper.keep(message.content.as_bytes()));
            if let Reply::Answered { output, .. } = &asked.reply {
                keeper.keep(output.text.as_bytes());
            }
        }
        asked.reply.into()
    };
    if let Reply::Failed { class, message, .. } = &reply
        && shared.is_alone
        && class == Class::EndpointDown.as_str()
    {
        // Everything that is left would be skipped: better to stop, and to go on when it is back.
        let hint = Some("check the address and whether the server is up".to_owned());
        return Err(stopped(Stop { message: message.clone(), hint }));
    }
    shared.purse.note(unit.model, reply.usage(), reply.is_answer());
    // Journalled before it is scored: an answer that came is never asked for again.
    let entry = Entry { earned, fingerprint, ordinal: unit.ordinal, reply };
    shared.journal.append(&entry).await.map_err(RunError::Append)?;
    let came = Came { reply: entry.reply, earned: entry.earned };
    finish(shared, &unit, key, &request, fingerprint, came, halted).await
}

/// Scores a sample. `None` when the run is stopped while a judge is asked.
async fn finish(
    shared: &Shared,
    unit: &Unit,
    key: SampleKey,
    request: &Request,
    fingerprint: Digest,
    came: Came,
    halted: Pin<&mut impl Future<Output = ()>>,
) -> Result<Option<Finished>, RunError> {
    let ready = &shared.ready;
    let (run_dir, programs) = (&*shared.run_dir, Programs::Run);
    let (run_desk, recorded_desk);
    let desk: &dyn Desk = match &ready.recorded_judgments {
        None => {
            run_desk = shared.desk();
            &run_desk
        }
        Some(judgments) => {
            recorded_desk = RecordedDesk { judges: &ready.judges, judgments: judgments.as_ref() };
            &recorded_desk
        }
    };
    let scoring = Scoring { run_dir, programs, desk };
    let finishing = finish_sample(ready, scoring, unit, key, request, fingerprint, came);
    let finished = if ready.is_judged(unit.work.task) {
        tokio::select! {
            biased;
            finished = finishing => finished,
            () = halted => return Ok(None),
        }
    } else {
        finishing.await
    };
    match finished {
        Ok(finished) => Ok(Some(finished)),
        Err(FinishError::Record(error)) => Err(error.into()),
        Err(FinishError::Stop(stop)) => Err(RunError::Stopped { stop, done: 0, samples: 0 }),
    }
}

/// The telemetry of one question, which knows whether an attempt is on its way.
struct Watched<'a> {
    telemetry: &'a Telemetry,
    is_under_way: AtomicBool,
}

impl AttemptLog for Watched<'_> {
    fn attempt(&self, attempt: &Attempt) {
        self.is_under_way.store(false, Ordering::Relaxed);
        self.telemetry.attempt(attempt);
    }

    fn sent(&self) {
        self.is_under_way.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn fail(&self, error: RunError) {
        if !matches!(error, RunError::Budget { .. }) {
            self.failed.send_replace(true);
        }
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        // Wakes everyone who waits for a place in the window.
        self.window.close();
    }

    /// Returns when the run is to stop where it is, and nothing that is under way is waited for any longer.
    async fn halted(&self) {
        let mut stop = self.stop.clone();
        tokio::select! {
            biased;
            _ = stop.changed() => {}
            () = self.failed_long_ago() => {}
        }
    }

    /// Returns some time after the run has failed.
    async fn failed_long_ago(&self) {
        let mut failed = self.failed.subscribe();
        // The sender lives in `self`.
        let _ = failed.wait_for(|failed| *failed).await;
        tokio::time::sleep(GRACE_AFTER_FAILURE).await;
    }

    /// Returns the most time that the run may take, when it is over and this question has not left the house. What is on
    /// its way is waited for, for a while.
    async fn is_late(&self, log: &Watched<'_>) -> Duration {
        let Some((most, left)) = self.purse.time_left() else { return std::future::pending().await };
        tokio::time::sleep(left).await;
        while log.is_under_way.load(Ordering::Relaxed) {
            tokio::time::sleep(LOOK).await;
        }
        most
    }

    fn has_failed(&self) -> bool {
        self.window.is_closed()
    }

    fn desk(&self) -> RunDesk<'_> {
        RunDesk {
            judges: &self.ready.judges,
            models: self.ready.models.len(),
            purse: &self.purse,
            log: &*self.telemetry,
            shelf: &*self.shelf,
            judged: &self.judged,
            judged_at: &self.judged_at,
        }
    }
}
