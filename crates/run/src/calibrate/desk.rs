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
/// The most judgments that are remembered; more are still on the shelf.
const MAX_KNOWN: usize = 65_536;

impl Seen {
    fn remember(&mut self, key: &Digest, entry: &Entry) {
        if self.known.len() < MAX_KNOWN {
            self.known.insert(*key, entry.clone());
        }
    }
}

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
                seen.remember(key, entry);
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
        self.with(|seen| seen.remember(key, &entry));
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proofmark_artefact::judgment::IntegrityReason;
    use proofmark_artefact::record::Output;
    use proofmark_artefact::suite::plan::ModelPlan;
    use proofmark_canon::Map;
    use proofmark_model::{Model, Reply};

    use super::super::rule::{Said, ask};
    use super::super::testing::{case, says, scorer};
    use super::*;

    /// Finds nothing, complains each time, and counts what it is given.
    #[derive(Default)]
    struct Suspicious(AtomicUsize);

    impl Shelf for Suspicious {
        fn find(&self, key: &Digest, _: &Question) -> (Option<Entry>, Option<IntegrityEvent>) {
            let reason = IntegrityReason::Unsigned;
            (None, Some(IntegrityEvent { detail: "no signature".into(), key: *key, reason, signer: None }))
        }

        fn keep(&self, _: &Digest, judgment: Judgment) -> Result<Entry, String> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(Entry { judgment, signature: None })
        }
    }

    struct Passing;

    impl Model for Passing {
        fn ask<'a>(&'a self, _: Ask<'a>) -> Asking<'a> {
            let output = Output { text: says("pass").unwrap(), ..Output::default() };
            let usage = Usage { input_tokens: 10, output_tokens: 3 };
            Box::pin(async move { Ok(Reply::Answered { finish_reason: "stop".into(), output, usage }.into()) })
        }
    }

    #[tokio::test]
    async fn what_was_asked_is_kept_remembered_and_counted() {
        let judge = Judge {
            plan: ModelPlan::named("j0", "openai:gpt-4.1"),
            model: Arc::new(Passing),
            params: Arc::new(Map::new()),
            serving: String::new(),
        };
        let (judges, shelf) = ([judge], Suspicious::default());
        let desk = ShelfDesk::new(&judges, &shelf, "2026-01-01T00:00:00.000Z");
        for repeat in [0, 0, 1, 0] {
            let said = ask(&scorer(), &case("An answer."), &desk, 0, repeat).await.unwrap();
            assert!(matches!(said, Said::Opinions(opinions) if opinions[0].passed && opinions.len() == 1));
        }
        // Two repeats, each asked once.
        assert_eq!((desk.asked(), shelf.0.load(Ordering::Relaxed), desk.events().len()), (2, 2, 2));
        assert_eq!(desk.usage(), [Usage { input_tokens: 20, output_tokens: 6 }]);
    }
}
