//! The samples of a run, one after the other, in the suite's order.

use std::sync::{Arc, OnceLock};

use proofmark_artefact::record::Message;
use proofmark_artefact::suite::plan::Plan;
use proofmark_artefact::suite::problem::Place;
use proofmark_artefact::suite::solver::SolverPlan;
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, Hasher, SampleKey, json};
use proofmark_model::{File, Hint, Reply, Request};

use crate::agent::Earned;
use crate::attach::{self, AttachError};
use crate::dataset::{DatasetError, Item, Items};
use crate::journal::{Done, JournalError, Replay};
use crate::prompt::PromptError;
use crate::ready::Ready;
use crate::sample::Came;

/// An item and the prompts that were made from it, shared by its samples.
pub struct Work {
    pub task: usize,
    pub item: Arc<Item>,
    /// By condition, made when first needed.
    prompts: Vec<OnceLock<Result<Prompt, PromptError>>>,
    /// The bytes of its attachments, read when first needed.
    files: OnceLock<Result<Arc<[File]>, AttachError>>,
}

/// A prompt as it is sent, and its canonical text.
#[derive(Clone)]
pub struct Prompt {
    pub messages: Arc<[Message]>,
    pub canonical: Arc<[u8]>,
}

/// One sample to be had.
pub struct Unit {
    pub ordinal: u64,
    pub work: Arc<Work>,
    pub model: usize,
    pub condition: usize,
    pub sample: u32,
    /// What the journal has for it.
    pub journalled: Option<Journalled>,
}

/// An answer that came before the run was interrupted.
pub struct Journalled {
    pub fingerprint: Digest,
    pub reply: Reply,
    pub earned: Option<Earned>,
}

impl Journalled {
    pub(crate) fn came(self) -> Came {
        Came { reply: self.reply, earned: self.earned }
    }
}

/// The samples cannot be listed to their end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Work {
    /// Returns the prompt of the item under a condition.
    pub fn prompt(&self, ready: &Ready, condition: usize) -> Result<&Prompt, PromptError> {
        let made = self.prompts[condition].get_or_init(|| {
            let mut messages = ready.prompts.render(self.task, condition, &self.item)?;
            ready.attachments.attach(&self.item, &mut messages);
            if ready.plan.tasks[self.task].solver.as_ref().is_some_and(SolverPlan::sees_files) {
                attach::name_files(&mut messages);
            }
            let mut canonical = Vec::new();
            json::to_writer(&messages, &mut canonical).map_err(|error| PromptError {
                message: error.to_string(),
                hint: None,
                place: Place::top(),
            })?;
            Ok(Prompt { messages: messages.into(), canonical: canonical.into() })
        });
        made.as_ref().map_err(Clone::clone)
    }
}

impl Work {
    /// Returns the bytes of the item's attachments.
    pub fn files(&self, ready: &Ready) -> Result<Arc<[File]>, AttachError> {
        if self.item.files.is_empty() {
            return Ok(Arc::default());
        }
        self.files.get_or_init(|| ready.attachments.bytes(&self.item)).clone()
    }
}

impl Unit {
    pub fn key(&self, plan: &Plan) -> SampleKey {
        let task = &plan.tasks[self.work.task].id;
        let model = &plan.models[self.model].id;
        SampleKey::new(task, &self.work.item.id, model, &plan.conditions[self.condition].id, self.sample)
    }

    /// What the harness knows about the item.
    pub fn hint<'a>(&'a self, key: &'a SampleKey) -> Hint<'a> {
        let item = &self.work.item;
        Hint {
            key: key.as_str(),
            ordinal: self.ordinal,
            item_id: &item.id,
            item_index: item.index,
            sample: self.sample,
            attempt: 0,
            expected: &item.expected,
            choices: item.choices.as_deref(),
        }
    }

    /// Returns what is sent for the sample, and the digest of all of it.
    pub fn request(&self, ready: &Ready, key: &SampleKey) -> Result<(Request, Digest), PromptError> {
        let prompt = self.work.prompt(ready, self.condition)?;
        let params = &ready.params[self.model][self.condition];
        let seed = SampleSeed::derive(ready.plan.seed, key.as_str());
        let mut hasher = Hasher::new();
        hasher
            .part(b"proofmark.input/1")
            .part(ready.plan.models[self.model].model.as_bytes())
            .part(&params.canonical)
            .part(&seed.get().to_be_bytes())
            .part(&prompt.canonical);
        // What only some have is a further part, so that the others keep their fingerprints.
        let serving = &ready.serving[self.model];
        let tools = &ready.tools[self.work.task];
        if !serving.is_empty() || !tools.canonical.is_empty() {
            hasher.part(serving).part(&tools.canonical);
        }
        let request = Request {
            messages: Arc::clone(&prompt.messages),
            // Read when it is really asked.
            files: Arc::default(),
            turns: Vec::new(),
            tools: Arc::clone(&tools.list),
            params: Arc::clone(&params.merged),
            seed,
        };
        Ok((request, hasher.finish()))
    }
}

/// Gives the samples in the suite's order: task, item, model, condition, index.
pub struct Source {
    ready: Arc<Ready>,
    task: usize,
    items: Option<Items>,
    current: Option<Arc<Work>>,
    model: usize,
    condition: usize,
    sample: u32,
    ordinal: u64,
    done: Arc<Done>,
    replay: Option<Replay>,
}

impl Source {
    pub fn new(ready: Arc<Ready>, done: Arc<Done>, replay: Option<Replay>) -> Self {
        let (model, condition, sample) = (0, 0, 0);
        Self { ready, task: 0, items: None, current: None, model, condition, sample, ordinal: 0, done, replay }
    }

    pub fn next_unit(&mut self) -> Result<Option<Unit>, SourceError> {
        let work = match &self.current {
            Some(work) => Arc::clone(work),
            None => match self.next_work()? {
                Some(work) => Arc::clone(self.current.insert(work)),
                None => return Ok(None),
            },
        };
        let ordinal = self.ordinal;
        let mut journalled = None;
        if self.done.contains(ordinal)
            && let Some(replay) = &mut self.replay
        {
            journalled = replay.take(ordinal)?.map(|e| Journalled {
                fingerprint: e.fingerprint,
                reply: e.reply,
                earned: e.earned,
            });
        }
        let unit =
            Unit { ordinal, work, model: self.model, condition: self.condition, sample: self.sample, journalled };
        self.advance();
        Ok(Some(unit))
    }

    fn advance(&mut self) {
        let plan = &self.ready.plan;
        self.ordinal += 1;
        self.sample += 1;
        if self.sample < plan.sampling.n {
            return;
        }
        self.sample = 0;
        self.condition += 1;
        if self.condition < plan.conditions.len() {
            return;
        }
        self.condition = 0;
        self.model += 1;
        if self.model < plan.models.len() {
            return;
        }
        self.model = 0;
        self.current = None;
    }

    fn next_work(&mut self) -> Result<Option<Arc<Work>>, SourceError> {
        loop {
            let Some(prepared) = self.ready.datasets.get(self.task) else { return Ok(None) };
            let items = match &mut self.items {
                Some(items) => items,
                None => self.items.insert(prepared.items()?),
            };
            if let Some(item) = items.next() {
                let prompts = (0..self.ready.plan.conditions.len()).map(|_| OnceLock::new()).collect();
                return Ok(Some(Arc::new(Work {
                    task: self.task,
                    item: Arc::new(item?),
                    prompts,
                    files: OnceLock::new(),
                })));
            }
            self.items = None;
            self.task += 1;
        }
    }
}
