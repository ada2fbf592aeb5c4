//! Puts finished records back in order and counts them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use proofmark_artefact::manifest::PriceEntry;
use proofmark_artefact::record::{Judged, Status, Usage};
use proofmark_artefact::report::{self, BadRecord, Grid, Selection, Selector};
use proofmark_artefact::stats::{AggregateError, Aggregator, Facts, Shape, Verdict};
use proofmark_artefact::store::{AtomicFile, Claim, names};
use proofmark_artefact::summary::Summary;
use tokio::sync::Semaphore;

use crate::evidence::EvidenceNote;
use crate::journal::Journal;
use crate::ready::Ready;

/// One finished sample.
pub struct Finished {
    pub ordinal: u64,
    pub task: usize,
    pub item: u64,
    pub model: usize,
    pub condition: usize,
    pub status: Status,
    pub error_class: Option<String>,
    /// The program of a scorer failed, which may go otherwise the next time.
    pub program_failed: bool,
    pub usage: Usage,
    pub answered_by: Option<String>,
    pub verdicts: Vec<Verdict>,
    /// Of judge scorers.
    pub judged: Vec<Judged>,
    /// The lines of its judgments.
    pub judgments: Vec<u8>,
    pub lines: Lines,
}

/// The lines of a sample, in one piece: a run makes millions of them.
#[derive(Debug)]
pub struct Lines {
    /// The record, then its trajectories, each with its line end.
    text: Vec<u8>,
    record: usize,
    evidence: Evidence,
}

/// What became of the evidence of a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// Nobody wants any.
    Off,
    Kept,
    /// Why there is none although there should be.
    Failed(String),
}

impl Lines {
    /// A record, and behind it whatever there is of evidence.
    pub fn new(text: Vec<u8>, record: usize, evidence: Evidence) -> Self {
        Self { text, record, evidence }
    }

    pub fn record(&self) -> &[u8] {
        &self.text[..self.record]
    }

    /// `None` when evidence is off, or failed.
    pub fn trajectory(&self) -> Option<&[u8]> {
        (self.evidence == Evidence::Kept).then(|| &self.text[self.record..])
    }
}

impl Finished {
    /// The bytes of its texts.
    fn size(&self) -> usize {
        self.lines.text.len() + self.judgments.len()
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    pub done: u64,
    pub errors: u64,
    pub samples: u64,
    /// Input and output together.
    pub tokens: u64,
    /// In US dollars, of the models whose price is known.
    pub cost_usd: f64,
}

/// Someone who watches a run.
pub trait Observer: Send {
    fn progress(&mut self, progress: Progress);
}

/// Everything that the records of a run came to.
pub struct Collected {
    pub done: u64,
    pub records: AtomicFile,
    pub trajectories: Option<AtomicFile>,
    /// `None` when no scorer asks judges.
    pub judgments: Option<AtomicFile>,
    pub status_counts: BTreeMap<Status, u64>,
    /// Conditions that produced a scored sample, in the suite's order.
    pub effective: Vec<bool>,
    pub summary: Summary,
    /// `None` when no report is wanted.
    pub selection: Option<Selection>,
}

/// Records could not be collected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    #[error("cannot write to `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("a record does not fit the run it belongs to")]
    Aggregate(#[from] AggregateError),
    #[error("a record cannot be shown")]
    Select(#[from] BadRecord),
}

/// How long finished samples wait for others before the journal is synced.
const SYNC_EVERY: Duration = Duration::from_millis(20);
/// How many finished samples are synced at once.
const BATCH: usize = 8192;
/// Bytes of records that may wait in memory for an older one; the rest waits on disk.
const HELD_BYTES: usize = 32 << 20;

/// Receives finished samples in any order.
pub struct Collector {
    dir: PathBuf,
    journal: Arc<Journal>,
    window: Arc<Semaphore>,
    observer: Box<dyn Observer>,
    waiting: Waiting,
    progress: Progress,
    records: AtomicFile,
    trajectories: Option<AtomicFile>,
    judgments: Option<AtomicFile>,
    note: Option<EvidenceNote>,
    status_counts: BTreeMap<Status, u64>,
    effective: Vec<bool>,
    aggregator: Aggregator,
    prices: Vec<Option<PriceEntry>>,
    selector: Option<Selector>,
}

impl Collector {
    pub fn new(
        ready: &Ready,
        claim: &Claim,
        journal: Arc<Journal>,
        window: Arc<Semaphore>,
        observer: Box<dyn Observer>,
        want_report: bool,
    ) -> Result<Self, CollectError> {
        let dir = claim.dir().to_owned();
        let work = dir.join(names::WORK);
        let create = |name: &str| {
            let path = dir.join(name);
            AtomicFile::create_in(&work, &path).map_err(|source| CollectError::Io { path, source })
        };
        let plan = &ready.plan;
        // A failure that was noted before a kill cannot be undone: the evidence stays off.
        let note_path = claim.work_file(names::EVIDENCE);
        let note_error = |source| CollectError::Io { path: note_path.clone(), source };
        let note = plan.evidence.record.then(|| EvidenceNote::open(&note_path)).transpose().map_err(note_error)?;
        let is_fine = match &note {
            Some(note) => note.failure().map_err(note_error)?.is_none(),
            None => false,
        };
        let grid = Grid { tasks: plan.tasks.len(), models: plan.models.len(), conditions: plan.conditions.len() };
        let prices = (ready.prices.clone(), ready.judge_prices.clone());
        let shape = Shape::of_plan(&ready.plan, ready.run_id, prices.0, prices.1);
        Ok(Self {
            records: create(names::RECORDS)?,
            trajectories: is_fine.then(|| create(names::TRAJECTORIES)).transpose()?,
            judgments: ready.has_judges().then(|| create(names::JUDGMENTS)).transpose()?,
            note,
            journal,
            window,
            observer,
            waiting: Waiting { work: work.clone(), next: 0, held: BTreeMap::new(), held_bytes: 0, spill: None },
            progress: Progress { samples: ready.samples(), ..Progress::default() },
            status_counts: BTreeMap::new(),
            effective: vec![false; ready.plan.conditions.len()],
            selector: want_report.then(|| Selector::new(grid, report::Limits::default())),
            aggregator: Aggregator::new(shape),
            prices: ready.prices.clone(),
            dir,
        })
    }

    /// Collects until everyone who asks is done.
    pub fn collect(mut self, receiver: &Receiver<Box<Finished>>) -> Result<Collected, CollectError> {
        let mut batch = Vec::new();
        self.observer.progress(self.progress);
        let mut open = true;
        while open {
            open = fill(&mut batch, receiver);
            if batch.is_empty() {
                continue;
            }
            // A sample counts only when its journal line is on disk. With the last ones the run's own files follow at once,
            // and the journal goes.
            let is_last = self.progress.done + batch.len() as u64 == self.progress.samples;
            if !is_last {
                let path = || self.dir.join(names::WORK).join(names::JOURNAL);
                self.journal.sync().map_err(|source| CollectError::Io { path: path(), source })?;
            }
            for finished in batch.drain(..) {
                self.watch(&finished);
                self.waiting.put(finished)?;
            }
            while let Some(finished) = self.waiting.take_next()? {
                self.count(&finished)?;
                self.window.add_permits(1);
            }
            self.observer.progress(self.progress);
        }
        Ok(Collected {
            done: self.progress.done,
            records: self.records,
            trajectories: self.trajectories,
            judgments: self.judgments,
            status_counts: self.status_counts,
            effective: self.effective,
            summary: self.aggregator.finish(),
            selection: self.selector.map(Selector::finish),
        })
    }

    /// What people who watch the run are told, in the order in which samples come: one that is late must not hide what
    /// was spent on the others.
    fn watch(&mut self, finished: &Finished) {
        self.progress.done += 1;
        self.progress.tokens += finished.usage.input_tokens + finished.usage.output_tokens;
        if let Some(price) = &self.prices[finished.model] {
            self.progress.cost_usd += price.cost(finished.usage);
        }
        self.progress.errors += u64::from(finished.status != Status::Success);
    }

    fn count(&mut self, finished: &Finished) -> Result<(), CollectError> {
        let dir = &self.dir;
        let io_error = |name: &str| {
            let path = dir.join(name);
            move |source| CollectError::Io { path, source }
        };
        self.records.write_all(finished.lines.record()).map_err(io_error(names::RECORDS))?;
        if let Some(file) = &mut self.trajectories {
            let failed = match (finished.lines.trajectory(), &finished.lines.evidence) {
                (Some(line), _) => file.write_all(line).err().map(|error| error.to_string()),
                (None, Evidence::Failed(why)) => Some(why.clone()),
                (None, _) => Some("a sample has no trajectory".to_owned()),
            };
            if let (Some(why), Some(note)) = (failed, &self.note) {
                // The run goes on without evidence, and says so. Should even that be impossible, it stops.
                let reason = format!("the trajectory of sample {} could not be written: {why}", finished.ordinal);
                note.fail(&reason).map_err(io_error(names::EVIDENCE))?;
                self.trajectories = None;
            }
        }
        if let Some(file) = &mut self.judgments {
            file.write_all(&finished.judgments).map_err(io_error(names::JUDGMENTS))?;
        }
        *self.status_counts.entry(finished.status).or_default() += 1;
        self.effective[finished.condition] |= !finished.verdicts.is_empty();
        self.aggregator.push(&Facts {
            task: finished.task,
            item: finished.item,
            model: finished.model,
            condition: finished.condition,
            usage: finished.usage,
            answered_by: finished.answered_by.as_deref(),
            scores: &finished.verdicts,
            unscored: finished.status == Status::Success && finished.verdicts.is_empty(),
        })?;
        finished.judged.iter().for_each(|judged| self.aggregator.judged(judged));
        if let Some(selector) = &mut self.selector {
            let facts = report::Facts {
                task: finished.task,
                model: finished.model,
                condition: finished.condition,
                status: finished.status,
                passed: finished.verdicts.first().map(|verdict| verdict.passed),
                error_class: finished.error_class.as_deref(),
            };
            selector.push(&facts, || finished.lines.record().trim_ascii_end().into())?;
        }
        Ok(())
    }
}

/// Waits for finished samples; returns whether more can come.
#[expect(clippy::vec_box, reason = "they come boxed, and go on so")]
fn fill(batch: &mut Vec<Box<Finished>>, receiver: &Receiver<Box<Finished>>) -> bool {
    let Ok(first) = receiver.recv() else { return false };
    batch.push(first);
    // Sleeping here, and not in `recv`, saves a wake-up for every sample that comes meanwhile. Whoever knows that none
    // comes any more wakes it.
    std::thread::park_timeout(SYNC_EVERY);
    while batch.len() < BATCH {
        match receiver.try_recv() {
            Ok(finished) => batch.push(finished),
            Err(TryRecvError::Empty) => return true,
            Err(TryRecvError::Disconnected) => return false,
        }
    }
    true
}

/// Finished samples that wait for an older one.
struct Waiting {
    work: PathBuf,
    next: u64,
    held: BTreeMap<u64, Held>,
    held_bytes: usize,
    spill: Option<(File, u64)>,
}

/// A sample that waits, with its texts in memory or in the spill file.
struct Held {
    finished: Box<Finished>,
    /// Offset, length of the lines, length of the judgments.
    spilled: Option<(u64, usize, usize)>,
}

impl Waiting {
    fn put(&mut self, mut finished: Box<Finished>) -> Result<(), CollectError> {
        let size = finished.size();
        let mut spilled = None;
        if finished.ordinal != self.next && self.held_bytes + size > HELD_BYTES {
            let io_error = |source| CollectError::Io { path: self.work.clone(), source };
            let (file, end) = match &mut self.spill {
                Some(spill) => spill,
                None => self.spill.insert((tempfile::tempfile_in(&self.work).map_err(io_error)?, 0)),
            };
            let lines = std::mem::take(&mut finished.lines.text);
            let judgments = std::mem::take(&mut finished.judgments);
            file.write_all_at(&lines, *end).map_err(io_error)?;
            file.write_all_at(&judgments, *end + lines.len() as u64).map_err(io_error)?;
            spilled = Some((*end, lines.len(), judgments.len()));
            *end += size as u64;
        } else {
            self.held_bytes += size;
        }
        self.held.insert(finished.ordinal, Held { finished, spilled });
        Ok(())
    }

    /// Returns the next sample in order, if it is here.
    fn take_next(&mut self) -> Result<Option<Box<Finished>>, CollectError> {
        let Some(mut held) = self.held.remove(&self.next) else { return Ok(None) };
        self.next += 1;
        if let Some((offset, lines, judgments)) = held.spilled {
            let io_error = |source| CollectError::Io { path: self.work.clone(), source };
            let (file, _) = self.spill.as_mut().ok_or_else(|| io_error(io::Error::other("the spill file is gone")))?;
            held.finished.lines.text = vec![0; lines];
            file.read_exact_at(&mut held.finished.lines.text, offset).map_err(io_error)?;
            held.finished.judgments = vec![0; judgments];
            file.read_exact_at(&mut held.finished.judgments, offset + lines as u64).map_err(io_error)?;
        } else {
            self.held_bytes -= held.finished.size();
        }
        if self.held.is_empty() {
            // Nothing refers to the spill file any more; its space goes back.
            self.spill = None;
        }
        Ok(Some(held.finished))
    }
}
