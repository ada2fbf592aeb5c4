//! Where a run asks its judges, and where judgments of a finished run are looked up.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use proofmark_artefact::judgment::{Entry, IntegrityEvent, Judgment, Question};
use proofmark_artefact::store::{Claim, names};
use proofmark_canon::{Digest, RunId, json};
use proofmark_model::{Ask, Asking, AttemptLog, Class, Hint, Reply, Request};

use super::judgments::{Form, Judgments, JudgmentsError};
use super::{Desk, Judge};
use crate::budget::Purse;

/// Judgments that outlive a run. The judge cache is one.
pub trait Shelf: Send + Sync {
    /// A judgment that can be believed; and what could not be.
    fn find(&self, key: &Digest, question: &Question) -> (Option<Entry>, Option<IntegrityEvent>);

    /// Signs a judgment, if there is a key, and keeps it.
    fn keep(&self, key: &Digest, judgment: Judgment) -> Result<Entry, String>;
}

/// Keeps nothing and signs nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoShelf;

impl Shelf for NoShelf {
    fn find(&self, _: &Digest, _: &Question) -> (Option<Entry>, Option<IntegrityEvent>) {
        (None, None)
    }

    fn keep(&self, _: &Digest, judgment: Judgment) -> Result<Entry, String> {
        Ok(Entry { judgment, signature: None })
    }
}

/// The judges of a run under way.
pub(crate) struct RunDesk<'r> {
    pub(crate) judges: &'r [Judge],
    /// How many models stand before the judges in the purse.
    pub(crate) models: usize,
    pub(crate) purse: &'r Purse,
    pub(crate) log: &'r dyn AttemptLog,
    pub(crate) shelf: &'r dyn Shelf,
    pub(crate) judged: &'r Judged,
    pub(crate) judged_at: &'r str,
}

impl Desk for RunDesk<'_> {
    fn judge(&self, at: usize) -> &Judge {
        &self.judges[at]
    }

    fn known(&self, key: &Digest, question: &Question) -> Option<Entry> {
        if let Some(entry) = self.judged.before(key, question) {
            return Some(entry);
        }
        let (entry, event) = self.shelf.find(key, question);
        if let Some(event) = event {
            self.judged.note_event(&event);
        }
        if let Some(entry) = &entry {
            // What the run rests on is in the run, whatever becomes of the cache.
            self.judged.append(entry);
        }
        entry
    }

    fn ask<'a>(&'a self, judge: usize, request: &'a Request, hint: Hint<'a>) -> Asking<'a> {
        Box::pin(async move {
            let asked = self.judges[judge].model.ask(Ask { request, hint, log: self.log }).await?;
            self.purse.note_judge(self.models + judge, asked.reply.usage());
            Ok(asked)
        })
    }

    fn keep(&self, key: &Digest, judgment: Judgment) -> Result<Entry, String> {
        let entry = self.shelf.keep(key, judgment)?;
        self.judged.append(&entry);
        Ok(entry)
    }

    fn judged_at(&self) -> &str {
        self.judged_at
    }
}

/// The judgments of a run under way, on disk before they count.
pub(crate) struct Judged {
    run_id: RunId,
    /// What an interrupted run left.
    before: Option<Judgments>,
    file: Mutex<Option<File>>,
    events: Mutex<Option<File>>,
    paths: [std::path::PathBuf; 2],
    failure: Mutex<Option<io::Error>>,
}

impl Judged {
    /// Goes on with what an interrupted run left.
    pub(crate) fn open(claim: &Claim, run_id: RunId) -> Result<Self, JudgmentsError> {
        let path = claim.work_file(names::JUDGED);
        let before = Judgments::open(&path, Form::Journalled(run_id))?;
        if let Some(before) = &before {
            let cut = File::options().write(true).open(&path).and_then(|file| file.set_len(before.valid_length()));
            cut.map_err(|source| JudgmentsError::Io { path: path.clone(), source })?;
        }
        let paths = [path, claim.work_file(names::CACHE_EVENTS)];
        let (file, events, failure) = Default::default();
        Ok(Self { run_id, before, file, events, paths, failure })
    }

    fn before(&self, key: &Digest, question: &Question) -> Option<Entry> {
        match self.before.as_ref()?.find(key, question) {
            Ok(entry) => entry,
            Err(error) => {
                self.fail(io::Error::other(error));
                None
            }
        }
    }

    fn append(&self, entry: &Entry) {
        let line = Form::Journalled(self.run_id).encode(entry).map_err(io::Error::other);
        let written = line.and_then(|line| write_line(&self.file, &self.paths[0], &line));
        written.unwrap_or_else(|error| self.fail(error));
    }

    fn note_event(&self, event: &IntegrityEvent) {
        let line = json::to_vec(event).map_err(io::Error::other);
        let written = line.and_then(|mut line| {
            line.push(b'\n');
            write_line(&self.events, &self.paths[1], &line)
        });
        written.unwrap_or_else(|error| self.fail(error));
    }

    fn fail(&self, error: io::Error) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// What went wrong while writing.
    pub(crate) fn take_failure(&self) -> Option<io::Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn write_line(file: &Mutex<Option<File>>, path: &Path, line: &[u8]) -> io::Result<()> {
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    let file = match &mut *file {
        Some(file) => file,
        none => none.insert(File::options().create(true).append(true).open(path)?),
    };
    // One write a line: a kill never leaves half of two.
    file.write_all(line)
}

/// Asks, and keeps nothing.
pub(crate) struct FreshDesk<'r> {
    pub(crate) judges: &'r [Judge],
    /// How many models stand before the judges in the purse.
    pub(crate) models: usize,
    pub(crate) purse: &'r Purse,
    pub(crate) log: &'r dyn AttemptLog,
}

impl Desk for FreshDesk<'_> {
    fn judge(&self, at: usize) -> &Judge {
        &self.judges[at]
    }

    fn known(&self, _: &Digest, _: &Question) -> Option<Entry> {
        None
    }

    fn ask<'a>(&'a self, judge: usize, request: &'a Request, hint: Hint<'a>) -> Asking<'a> {
        Box::pin(async move {
            let asked = self.judges[judge].model.ask(Ask { request, hint, log: self.log }).await?;
            self.purse.note_judge(self.models + judge, asked.reply.usage());
            Ok(asked)
        })
    }

    fn keep(&self, _: &Digest, judgment: Judgment) -> Result<Entry, String> {
        Ok(Entry { judgment, signature: None })
    }

    fn judged_at(&self) -> &str {
        ""
    }
}

/// The judgments of a finished run: nobody is asked.
pub(crate) struct RecordedDesk<'r> {
    pub(crate) judges: &'r [Judge],
    pub(crate) judgments: Option<&'r Arc<Judgments>>,
}

/// What a judge that nobody asks is said to have failed with.
pub(crate) const NOT_RECORDED: &str = "its judgment is not recorded";

impl Desk for RecordedDesk<'_> {
    fn judge(&self, at: usize) -> &Judge {
        &self.judges[at]
    }

    fn known(&self, key: &Digest, question: &Question) -> Option<Entry> {
        self.judgments?.find(key, question).ok().flatten()
    }

    fn ask<'a>(&'a self, _: usize, _: &'a Request, _: Hint<'a>) -> Asking<'a> {
        Box::pin(async { Ok(Reply::failed(Class::Malformed, NOT_RECORDED).into()) })
    }

    fn keep(&self, _: &Digest, judgment: Judgment) -> Result<Entry, String> {
        Ok(Entry { judgment, signature: None })
    }

    fn judged_at(&self) -> &str {
        ""
    }
}
