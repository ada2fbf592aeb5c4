//! Where judges are asked outside of a run.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use proofmark_artefact::judgment::{Entry, IntegrityEvent, Judgment, Question};
use proofmark_artefact::record::Usage;
use proofmark_artefact::telemetry::Attempt;
use proofmark_canon::Digest;
use proofmark_model::{Ask, Asking, AttemptLog, Hint, Request};

use crate::judge::{Desk, Judge, Shelf};

/// Asks, keeps judgments where a run keeps them, and remembers them for as long as it is there.
pub struct ShelfDesk<'a> {
    judges: &'a [Judge],
    shelf: &'a dyn Shelf,
    judged_at: &'a str,
    seen: Mutex<Seen>,
}

/// What has happened at a desk.
#[derive(Debug, Clone, Default, PartialEq)]
struct Seen {
    /// Looked up, never walked.
    known: HashMap<Digest, Entry>,
    events: Vec<IntegrityEvent>,
    asked: u64,
    usage: Vec<Usage>,
}

/// The most integrity events that are remembered.
const MAX_EVENTS: usize = 1000;

impl<'a> ShelfDesk<'a> {
    pub fn new(judges: &'a [Judge], shelf: &'a dyn Shelf, judged_at: &'a str) -> Self {
        let seen = Seen { usage: vec![Usage::default(); judges.len()], ..Seen::default() };
        Self { judges, shelf, judged_at, seen: Mutex::new(seen) }
    }

    /// How often judges were asked, and not only looked up.
    pub fn asked(&self) -> u64 {
        self.with(|seen| seen.asked)
    }

    /// What each judge spent, in the suite's order.
    pub fn usage(&self) -> Vec<Usage> {
        self.with(|seen| seen.usage.clone())
    }

    /// What a cache could not vouch for; the judge was asked again.
    pub fn events(&self) -> Vec<IntegrityEvent> {
        self.with(|seen| seen.events.clone())
    }

    fn with<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Desk for ShelfDesk<'_> {
    fn judge(&self, at: usize) -> &Judge {
        &self.judges[at]
    }

    fn known(&self, key: &Digest, question: &Question) -> Option<Entry> {
        if let Some(entry) = self.with(|seen| seen.known.get(key).cloned()) {
            return Some(entry);
        }
        let (entry, event) = self.shelf.find(key, question);
        self.with(|seen| {
            seen.events.extend(event.filter(|_| seen.events.len() < MAX_EVENTS));
            if let Some(entry) = &entry {
                seen.known.insert(*key, entry.clone());
            }
        });
        entry
    }

    fn ask<'a>(&'a self, judge: usize, request: &'a Request, hint: Hint<'a>) -> Asking<'a> {
        Box::pin(async move {
            let asked = self.judges[judge].model.ask(Ask { request, hint, log: &Unheard }).await?;
            let spent = asked.reply.usage();
            self.with(|seen| {
                seen.asked += 1;
                let usage = &mut seen.usage[judge];
                usage.input_tokens = usage.input_tokens.saturating_add(spent.input_tokens);
                usage.output_tokens = usage.output_tokens.saturating_add(spent.output_tokens);
            });
            Ok(asked)
        })
    }

    fn keep(&self, key: &Digest, judgment: Judgment) -> Result<Entry, String> {
        let entry = self.shelf.keep(key, judgment)?;
        self.with(|seen| drop(seen.known.insert(*key, entry.clone())));
        Ok(entry)
    }

    fn judged_at(&self) -> &str {
        self.judged_at
    }
}

/// Nobody writes down the attempts: there is no run directory.
struct Unheard;

impl AttemptLog for Unheard {
    fn attempt(&self, _: &Attempt) {}
}
